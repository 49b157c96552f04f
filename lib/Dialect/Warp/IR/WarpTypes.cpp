// Syntax and verifiers of the `warp` dialect's types: fragments, buffers and
// channels.
#include "flashc/Dialect/Warp/IR/Warp.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace flashc::warp;

/// Registers of one block, at most; a fragment past them could only spill.
static constexpr int64_t kMaxElements = 65536;
/// Rows or columns of a slot and slots of a ring, at most: well past any
/// shared memory, so that sizes in bytes never overflow.
static constexpr int64_t kMaxExtent = 65536;

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

// The part that the three types share: <64x128xf16
static ParseResult parseShape(AsmParser &parser,
                              SmallVectorImpl<int64_t> &shape,
                              Type &elementType) {
  return failure(parser.parseLess() ||
                 parser.parseDimensionList(shape, /*allowDynamic=*/false) ||
                 parser.parseType(elementType));
}

static void printShape(AsmPrinter &p, ArrayRef<int64_t> shape,
                       Type elementType) {
  p << '<';
  p.printDimensionList(shape);
  p << 'x' << elementType;
}

// !warp.fragment<128x64xf32>, !warp.fragment<128xf32, partial>,
// !warp.fragment<1x64xf32, of 128>
Type FragmentType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  bool partial = false;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, shape, elementType))
    return {};
  int64_t of = 0;
  if (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("of"))) {
      if (parser.parseInteger(of))
        return {};
    } else {
      if (parser.parseKeyword("partial"))
        return {};
      partial = true;
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<FragmentType>(
      loc, parser.getContext(), ArrayRef(shape), elementType, partial, of);
}

void FragmentType::print(AsmPrinter &p) const {
  printShape(p, getShape(), getElementType());
  if (getPartial())
    p << ", partial";
  if (isColumns())
    p << ", of " << getOf();
  p << '>';
}

LogicalResult FragmentType::verify(EmitError emitError, ArrayRef<int64_t> shape,
                                   Type elementType, bool partial, int64_t of) {
  if (of && (shape.size() != 2 || shape[0] != 1))
    return emitError() << "fragment of column values is 1 x columns, but this "
                          "one has rank "
                       << shape.size() << "; drop 'of'";
  if (shape.empty() || shape.size() > 2)
    return emitError() << "fragment is a tile or its row values, but this one "
                          "has rank "
                       << shape.size() << "; use rank 1 or 2";
  int64_t rows = of ? of : shape[0];
  if (rows <= 0 || rows % 16)
    return emitError() << "fragment has rows in groups of 16 (mma.sync's M), "
                          "but this one has "
                       << rows << "; pad to a multiple of 16";
  if (shape.size() == 2 && (shape[1] <= 0 || shape[1] % 8))
    return emitError() << "fragment has columns in groups of 8 (mma.sync's N), "
                          "but this one has "
                       << shape[1] << "; pad to a multiple of 8";
  if (!elementType.isF16() && !elementType.isBF16() && !elementType.isF32() &&
      !elementType.isInteger(1))
    return emitError() << "fragment holds f16, bf16, f32 or i1, but this one "
                          "holds "
                       << elementType << "; convert the elements first";
  int64_t columns = shape.size() == 2 ? shape[1] : 1;
  if (rows > kMaxElements || columns > kMaxElements / rows)
    return emitError() << "fragment fits a block's " << kMaxElements
                       << " registers, but this one has " << rows << " x "
                       << columns << " elements; choose smaller tiles";
  if (partial && (shape.size() != 1 || !elementType.isF32()))
    return emitError() << "partial fragment is a row sum in f32, but this one "
                          "has rank "
                       << shape.size() << " and holds " << elementType
                       << "; drop 'partial'";
  return success();
}

/// What buffers and channels ask of a slot in shared memory.
static LogicalResult verifySlot(EmitError emitError, StringRef what,
                                ArrayRef<int64_t> shape, Type elementType,
                                int64_t segment) {
  if (shape.size() != 2)
    return emitError() << what
                       << " is a tile in shared memory, but this one "
                          "has rank "
                       << shape.size() << "; use rank 2";
  if (!elementType.isF16() && !elementType.isBF16())
    return emitError() << what << " holds f16 or bf16, but this one holds "
                       << elementType << "; convert the elements first";
  if (shape[0] <= 0 || shape[0] % 8)
    return emitError() << what
                       << " has rows in groups of 8 (the swizzle's "
                          "period), but this one has "
                       << shape[0] << "; pad to a multiple of 8";
  if (segment != 64 && segment != 32 && segment != 16)
    return emitError() << what
                       << " has segments of 64, 32 or 16 elements, but "
                          "this one has "
                       << segment
                       << "; use the largest that divides the columns";
  if (shape[0] > kMaxExtent || shape[1] > kMaxExtent)
    return emitError() << what << " has at most " << kMaxExtent
                       << " rows and columns, but this one has " << shape[0]
                       << " and " << shape[1] << "; choose smaller tiles";
  if (shape[1] <= 0 || shape[1] % segment)
    return emitError() << what
                       << " has whole segments in a row, but this one "
                          "has "
                       << shape[1] << " columns and segments of " << segment
                       << "; use the largest segment that divides the columns";
  return success();
}

/// `, name = number` if it is there.
static ParseResult parseOptionalNumber(AsmParser &parser, StringRef name,
                                       int64_t &number) {
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword(name) || parser.parseEqual() ||
                 parser.parseInteger(number));
}

/// Each part is a tile of its own: whole steps of wgmma's 64 rows.
static LogicalResult verifyParts(EmitError emitError, StringRef what,
                                 ArrayRef<int64_t> shape, int64_t segment,
                                 int64_t parts) {
  if (parts == 1)
    return success();
  if (parts < 1 || parts > 8 || shape[0] != 64 * parts || segment != 64)
    return emitError() << what
                       << " has 1 to 8 parts of 64 rows in segments of 64, but "
                          "this one has "
                       << parts << " parts of " << shape[0]
                       << " rows together in segments of " << segment
                       << "; give each warpgroup 64 rows";
  return success();
}

// !warp.buffer<64x128xf16, 64>, !warp.buffer<128x128xf16, 64, parts = 2>
Type BufferType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t segment, parts = 1;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, shape, elementType) || parser.parseComma() ||
      parser.parseInteger(segment) ||
      parseOptionalNumber(parser, "parts", parts) || parser.parseGreater())
    return {};
  return parser.getChecked<BufferType>(
      loc, parser.getContext(), ArrayRef(shape), elementType, segment, parts);
}

void BufferType::print(AsmPrinter &p) const {
  printShape(p, getShape(), getElementType());
  p << ", " << getSegment();
  if (getParts() != 1)
    p << ", parts = " << getParts();
  p << '>';
}

LogicalResult BufferType::verify(EmitError emitError, ArrayRef<int64_t> shape,
                                 Type elementType, int64_t segment,
                                 int64_t parts) {
  if (failed(verifySlot(emitError, "buffer", shape, elementType, segment)))
    return failure();
  return verifyParts(emitError, "buffer", shape, segment, parts);
}

// !warp.channel<64x128xf16, 64, depth = 2>
Type ChannelType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t segment, depth;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, shape, elementType) || parser.parseComma() ||
      parser.parseInteger(segment) || parser.parseComma() ||
      parser.parseKeyword("depth") || parser.parseEqual() ||
      parser.parseInteger(depth) || parser.parseGreater())
    return {};
  return parser.getChecked<ChannelType>(
      loc, parser.getContext(), ArrayRef(shape), elementType, segment, depth);
}

void ChannelType::print(AsmPrinter &p) const {
  printShape(p, getShape(), getElementType());
  p << ", " << getSegment() << ", depth = " << getDepth() << '>';
}

LogicalResult ChannelType::verify(EmitError emitError, ArrayRef<int64_t> shape,
                                  Type elementType, int64_t segment,
                                  int64_t depth) {
  if (depth < 1 || depth > kMaxExtent)
    return emitError() << "channel is a ring of slots, but this one has depth "
                       << depth << "; use 1 to " << kMaxExtent;
  return verifySlot(emitError, "channel", shape, elementType, segment);
}

BufferType ChannelType::getBufferType() const {
  return BufferType::get(getContext(), getShape(), getElementType(),
                         getSegment());
}

// !warp.ring<176x128xf16, 64, depth = 2>, with `, parts = 2`, `, values = 64`
Type RingType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t segment, depth, parts = 1, values = 0;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, shape, elementType) || parser.parseComma() ||
      parser.parseInteger(segment) || parser.parseComma() ||
      parser.parseKeyword("depth") || parser.parseEqual() ||
      parser.parseInteger(depth))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    bool isValues = succeeded(parser.parseOptionalKeyword("values"));
    if ((!isValues && parser.parseKeyword("parts")) || parser.parseEqual() ||
        parser.parseInteger(isValues ? values : parts))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<RingType>(loc, parser.getContext(), ArrayRef(shape),
                                     elementType, segment, depth, parts,
                                     values);
}

void RingType::print(AsmPrinter &p) const {
  printShape(p, getShape(), getElementType());
  p << ", " << getSegment() << ", depth = " << getDepth();
  if (getParts() != 1)
    p << ", parts = " << getParts();
  if (getValues())
    p << ", values = " << getValues();
  p << '>';
}

LogicalResult RingType::verify(EmitError emitError, ArrayRef<int64_t> shape,
                               Type elementType, int64_t segment, int64_t depth,
                               int64_t parts, int64_t values) {
  if (values < 0 || values % 8 || values > 256 || (values && parts != 1))
    return emitError() << "ring has up to 256 values beside the rows of an "
                          "undivided slot, in groups of 8, but this one has "
                       << values << " and " << parts
                       << " parts; round the values up";
  if (depth < 1 || depth > 64)
    return emitError() << "ring has 1 to 64 slots, but this one has depth "
                       << depth << "; use one of these";
  if (failed(verifySlot(emitError, "ring", shape, elementType, segment)))
    return failure();
  if (segment != 64 || shape[0] / std::max<int64_t>(parts, 1) > 256)
    return emitError() << "ring is filled by TMA in boxes of at most 256 rows "
                          "and segments of 64, but this one has "
                       << shape[0] << " rows in " << parts
                       << " parts and segments of " << segment
                       << "; choose smaller tiles";
  return verifyParts(emitError, "ring", shape, segment, parts);
}

BufferType RingType::getBufferType() const {
  return BufferType::get(getContext(), getShape(), getElementType(),
                         getSegment(), getParts());
}

// !warp.staging<64x64xf32, depth = 2>
Type StagingType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  int64_t depth;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parseShape(parser, shape, elementType) || parser.parseComma() ||
      parser.parseKeyword("depth") || parser.parseEqual() ||
      parser.parseInteger(depth) || parser.parseGreater())
    return {};
  return parser.getChecked<StagingType>(loc, parser.getContext(),
                                        ArrayRef(shape), elementType, depth);
}

void StagingType::print(AsmPrinter &p) const {
  printShape(p, getShape(), getElementType());
  p << ", depth = " << getDepth() << '>';
}

LogicalResult StagingType::verify(EmitError emitError, ArrayRef<int64_t> shape,
                                  Type elementType, int64_t depth) {
  if (shape.size() != 2 || shape[0] != 64 || shape[1] <= 0 || shape[1] % 8 ||
      shape[1] > 256 || !elementType.isF32() || depth < 1 || depth > 8)
    return emitError() << "staging has 1 to 8 slots for 64 rows of f32 in "
                          "groups of 8 columns, but this one has "
                       << depth << " of " << shape << " elements of "
                       << elementType << "; round the columns up";
  return success();
}
