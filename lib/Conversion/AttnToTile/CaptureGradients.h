// How the gradients of captured tensors are summed up.
#ifndef FLASHC_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADIENTS_H
#define FLASHC_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADIENTS_H

#include "BackwardKernel.h"

namespace flashc {

/// One attn.add_gradient.
struct AdditionForm {
  /// Which of the gradient region's it is, counted from 0.
  unsigned position;
  /// Its place does not depend on the query (nor on the score), so that a
  /// block's rows can be summed up before it is added.
  bool isForWholeRows;
};

/// All of one capture. Two ways, on a CPU and of a deterministic backward with
/// a fixed order of additions:
///
/// * gathered: every addition is to the element of its own query and key (and
///   of its own batch or head, or none), as that of a bias. A kernel of its own
///   has a program for each block of elements and recomputes the pairs that add
///   to it: nobody else does, and no array is larger than the capture. Where it
///   has an element for each query and key, and no more, they are written as
///   they are; else they are added to an array, as those past the end of a
///   dimension are its last one's too.
///   A main kernel with roles writes them itself, from the tile that it has, or
///   adds them to tiles in memory where batches or heads share them, unless the
///   backward is deterministic: no pair is computed twice, and the kernel
///   beside is there for captures of other sizes, and for what is not finite
///   (docs/decisions/025, 027).
/// * else: the main kernel adds to an array for each batch and key head, whose
///   programs do so in order; those arrays are summed up afterwards.
struct CaptureForm {
  int64_t capture;
  llvm::SmallVector<AdditionForm> additions;
  bool isGathered = false;
  /// Gathered, and what is added is the new score's gradient, once, to 16-bit
  /// elements.
  bool isPlain = false;
  /// Gathered: the dimension that is indexed by batch, head, query and key; -1
  /// for none.
  int64_t batchDim = -1, headDim = -1, queryDim = -1, keyDim = -1;
  /// All others.
  llvm::SmallVector<int64_t> otherDims;
};

/// One for each of the op's `gradients`.
llvm::SmallVector<CaptureForm> findCaptureForms(attn::BackwardOp op);

/// Within the main kernel's step: adds the rows of additions that are for whole
/// rows to `sums` (a rank-1 tile each, in order), and the others to their
/// array.
void buildAdditions(BackwardKernel &kernel, const CaptureForm &form,
                    const QueryBlock &queries, const KeyBlock &keys,
                    const Pair &pair, llvm::SmallVectorImpl<mlir::Value> &sums);
/// How many such sums a form has.
unsigned countRowSums(const CaptureForm &form);
/// Behind a head's query blocks: the sums to their array. Takes as many of
/// `sums` as there are.
void buildRowSums(BackwardKernel &kernel, const CaptureForm &form,
                  mlir::Value batch, mlir::Value head, const KeyBlock &keys,
                  mlir::ValueRange sums);

/// Whether the main kernel has the form's gradient, where sizes allow it: it
/// writes it, or adds to its tiles, or either.
bool isMadeBeside(const BackwardKernel &kernel, const CaptureForm &form);
bool isWrittenBeside(const BackwardKernel &kernel, const CaptureForm &form);
bool isAddedBeside(const BackwardKernel &kernel, const CaptureForm &form);
/// The word for the rows of the form's tiles, of q queries in blocks of kv
/// keys.
std::string wordOfTiles(const CaptureForm &form, int64_t q, int64_t kv);
/// Within the main kernel's step, of a form that is added: `gradient`, as
/// below, to the tiles.
void buildTileSum(BackwardKernel &kernel, const CaptureForm &form,
                  const QueryBlock &queries, const KeyBlock &keys,
                  mlir::Value gradient);
/// Within the main kernel's step, of such a form: `gradient`, the pair's
/// rounded or whole score gradients, to the capture's, if `isExact`.
void buildDirectStore(BackwardKernel &kernel, const CaptureForm &form,
                      const QueryBlock &queries, const KeyBlock &keys,
                      mlir::Value gradient, mlir::Value isExact);
/// Behind its loops: remembers in `redo` that some of `rows`, the sums of dK's
/// rows, is not finite, and so something of what was written.
void buildRedoFlag(BackwardKernel &kernel, const KeyBlock &keys,
                   mlir::Value rows);
/// Whether the capture has an element for each query and key of each batch and
/// head, and no more.
mlir::Value buildIsExact(BackwardKernel &kernel, const CaptureForm &form);

/// The kernel that makes the gradient of its tiles.
void buildTileKernel(BackwardKernel &kernel, llvm::StringRef name,
                     const CaptureForm &form);
/// The kernel of a gathered form.
void buildGatherKernel(BackwardKernel &kernel, llvm::StringRef name,
                       const CaptureForm &form,
                       llvm::ArrayRef<std::string> inputs);
/// From the arrays of sums to the gradient itself.
void buildSumKernel(BackwardKernel &kernel, llvm::StringRef name,
                    const CaptureForm &form);

} // namespace flashc

#endif // FLASHC_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADIENTS_H
