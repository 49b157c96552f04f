// The `attn` dialect: which attention is computed.
#ifndef FLASHC_DIALECT_ATTN_IR_ATTN_H
#define FLASHC_DIALECT_ATTN_IR_ATTN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Attn/AttnDialect.h.inc"
#include "Attn/AttnEnums.h.inc"

namespace flashc::attn {
/// Whether `attr` is one of the dialect's mask attributes.
bool isMask(mlir::Attribute attr);
/// Whether `#attn.key_length` stands anywhere in the mask.
bool usesKeyLength(mlir::Attribute mask);
/// How many intersections of half planes the mask is the union of, written out
/// without shortening: the size that `tile.mask` would get. Saturates at 2^20.
int64_t countAlternatives(mlir::Attribute mask);

/// Largest distance or length in keys that a mask may name: sums with a
/// sequence length below 2^30 stay inside the GPU's 32-bit index.
inline constexpr int64_t kMaxMaskBound = int64_t(1) << 30;
/// Each alternative is tested for every score of a masked block.
inline constexpr int64_t kMaxMaskAlternatives = 64;

/// `scale`, or its default 1/sqrt(headDim).
double getScaleOrDefault(const std::optional<llvm::APFloat> &scale,
                         int64_t headDim);
/// Arguments of a score region before the captured tensors: score, batch, head,
/// query, key. A gradient region has one more, the gradient of the new score.
inline constexpr unsigned kScoreArguments = 5, kScoreHead = 2, kScoreQuery = 3;
} // namespace flashc::attn

#define GET_ATTRDEF_CLASSES
#include "Attn/AttnAttrs.h.inc"

#include "Attn/AttnInterfaces.h.inc"

#define GET_OP_CLASSES
#include "Attn/AttnOps.h.inc"

#endif // FLASHC_DIALECT_ATTN_IR_ATTN_H
