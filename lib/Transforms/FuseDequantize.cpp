//===- FuseDequantize.cpp - Attention over codes, not over their values ---===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A side of an attention (keys or values) is followed from the operand back to
// the kvq.dequantize that made it. On the way, four numbers say which axes of
// the tensor at hand are the operand's batch, KV heads, tokens and channels, so
// that unit axes may come and go. The components of the cache are then the
// operands of the dequantize, brought to those four axes.
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Passes.h"

#include "kvq/IR/KVQ.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::kvq {
#define GEN_PASS_DEF_FUSEDEQUANTIZEPASS
#include "kvq/Transforms/Passes.h.inc"
} // namespace mlir::kvq

using namespace mlir;
using namespace mlir::kvq;

namespace {

enum Axis : unsigned { kBatch, kHeads, kTokens, kChannels };

/// Stands for an axis of the operand that the tensor at hand does not have; its
/// extent is 1.
constexpr int64_t kAbsent = -1;

/// Follows one side back to its dequantize. `reason` says why not where it
/// fails.
class SideMatcher {
public:
  explicit SideMatcher(Value operand) : value(operand) {}

  LogicalResult match();

  DequantizeOp dequantize;
  /// What a cache stores of it, in the order of its components.
  SmallVector<Value, 3> components;
  /// The axes of `dequantize` that are the operand's.
  std::array<int64_t, 4> axes = {0, 1, 2, 3};
  /// How often each KV head of the codes is repeated in the operand.
  int64_t repeat = 1;
  std::string reason;

private:
  LogicalResult fail(const Twine &why) {
    reason = why.str();
    return failure();
  }
  LogicalResult lookThrough(Operation *producer);
  LogicalResult lookThroughSlice(tensor::ExtractSliceOp slice);
  LogicalResult lookThroughCollapse(tensor::CollapseShapeOp collapse);
  LogicalResult lookThroughExpand(tensor::ExpandShapeOp expand);
  bool lookThroughRepeat(tensor::CollapseShapeOp collapse);
  LogicalResult findComponents();
  LogicalResult checkGiven();

  Value value;
};

} // namespace

//===----------------------------------------------------------------------===//
// Looking through what lies between
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> getShape(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getShape();
}

/// The axes of `group` whose extent is not 1.
static SmallVector<int64_t> getNonUnitAxes(ArrayRef<int64_t> group,
                                           ArrayRef<int64_t> shape) {
  return llvm::filter_to_vector(group,
                                [&](int64_t axis) { return shape[axis] != 1; });
}

/// A slice of the first tokens: attention reads no more than its lengths say,
/// so it reads the same from the whole.
LogicalResult SideMatcher::lookThroughSlice(tensor::ExtractSliceOp slice) {
  ArrayRef<int64_t> source = slice.getSourceType().getShape();
  if (slice.getSourceType().getRank() != slice.getType().getRank())
    return fail("a tensor.extract_slice drops axes");
  for (auto [axis, offset, size, stride] :
       llvm::enumerate(slice.getMixedOffsets(), slice.getMixedSizes(),
                       slice.getMixedStrides())) {
    if (getConstantIntValue(offset) != 0 || getConstantIntValue(stride) != 1)
      return fail("a tensor.extract_slice takes other than the first elements "
                  "of axis " +
                  Twine(axis));
    bool isTokens = axes[kTokens] == int64_t(axis);
    if (!isTokens && (ShapedType::isDynamic(source[axis]) ||
                      getConstantIntValue(size) != source[axis]))
      return fail("a tensor.extract_slice cuts axis " + Twine(axis) +
                  ", which is not the tokens");
  }
  value = slice.getSource();
  return success();
}

/// The axis that `op`, a copy of its input, repeats that along, and its extent.
static std::optional<std::pair<int64_t, int64_t>>
getRepeatedAxis(linalg::LinalgOp op) {
  ArrayRef<int64_t> dimensions;
  SmallVector<int64_t> found;
  if (auto broadcast = dyn_cast<linalg::BroadcastOp>(op.getOperation())) {
    dimensions = broadcast.getDimensions();
  } else if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation())) {
    std::optional<SmallVector<int64_t>> match =
        linalg::isaBroadcastOpInterface(generic);
    if (!match)
      return std::nullopt;
    found = std::move(*match);
    dimensions = found;
  }
  if (dimensions.size() != 1 || op->getNumResults() != 1)
    return std::nullopt;
  int64_t extent = getShape(op->getResult(0))[dimensions.front()];
  if (ShapedType::isDynamic(extent))
    return std::nullopt;
  return std::pair(dimensions.front(), extent);
}

/// Each KV head repeated for its query heads: a broadcast along a new axis
/// behind the heads, which joins them.
bool SideMatcher::lookThroughRepeat(tensor::CollapseShapeOp collapse) {
  auto producer = collapse.getSrc().getDefiningOp<linalg::LinalgOp>();
  if (!producer || axes[kHeads] == kAbsent)
    return false;
  auto repeated = getRepeatedAxis(producer);
  if (!repeated)
    return false;
  auto [repeatedAxis, extent] = *repeated;
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  ReassociationIndices heads = {repeatedAxis - 1, repeatedAxis};
  if (groups[axes[kHeads]] != heads)
    return false;
  for (auto [axis, group] : llvm::enumerate(groups))
    if (int64_t(axis) != axes[kHeads] && group.size() != 1)
      return false;
  // The other groups are single axes, so the collapsed tensor has the very axes
  // of the one that is repeated.
  value = producer.getDpsInputs().front();
  repeat *= extent;
  return true;
}

LogicalResult
SideMatcher::lookThroughCollapse(tensor::CollapseShapeOp collapse) {
  if (lookThroughRepeat(collapse))
    return success();
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  for (int64_t &axis : axes) {
    if (axis == kAbsent)
      continue;
    const ReassociationIndices &group = groups[axis];
    SmallVector<int64_t> joined =
        getNonUnitAxes(group, getShape(collapse.getSrc()));
    if (joined.size() > 1)
      return fail("a tensor.collapse_shape joins axes to axis " + Twine(axis));
    axis = joined.empty() ? group.back() : joined.front();
  }
  value = collapse.getSrc();
  return success();
}

LogicalResult SideMatcher::lookThroughExpand(tensor::ExpandShapeOp expand) {
  for (auto [source, group] :
       llvm::enumerate(expand.getReassociationIndices())) {
    SmallVector<int64_t> split =
        getNonUnitAxes(group, getShape(expand.getResult()));
    if (split.size() > 1)
      return fail("a tensor.expand_shape splits axis " + Twine(source));
  }
  SmallVector<ReassociationIndices> groups = expand.getReassociationIndices();
  for (int64_t &axis : axes) {
    if (axis == kAbsent)
      continue;
    auto *group = llvm::find_if(groups, [&](const ReassociationIndices &group) {
      return llvm::is_contained(group, axis);
    });
    // No group: the source has rank 0.
    if (group == groups.end())
      return fail("a tensor.expand_shape makes its axes from one element");
    SmallVector<int64_t> kept =
        getNonUnitAxes(*group, getShape(expand.getResult()));
    bool isSource = axis == (kept.empty() ? group->back() : kept.front());
    axis = isSource ? std::distance(groups.begin(), group) : kAbsent;
  }
  value = expand.getSrc();
  return success();
}

LogicalResult SideMatcher::lookThrough(Operation *producer) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(producer))
    return lookThroughSlice(slice);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(producer))
    return lookThroughCollapse(collapse);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(producer))
    return lookThroughExpand(expand);
  if (auto cast = dyn_cast<tensor::CastOp>(producer);
      cast && isa<RankedTensorType>(cast.getSource().getType())) {
    value = cast.getSource();
    return success();
  }
  if (isa<arith::ExtFOp, arith::TruncFOp>(producer)) {
    value = producer->getOperand(0);
    return success();
  }
  return fail("made by '" + producer->getName().getStringRef() +
              "', not by a kvq.dequantize");
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

static Value stripCasts(Value value) {
  while (auto cast = value.getDefiningOp<tensor::CastOp>())
    value = cast.getSource();
  return value;
}

/// Whether bytes of one format are those of the other, as far as packing goes.
static bool packAlike(FormatInterface a, FormatInterface b, int64_t headDim) {
  return a.getCodeBits() == b.getCodeBits() &&
         a.hasSignedCodes() == b.hasSignedCodes() &&
         a.getRowLayout(headDim) == b.getRowLayout(headDim);
}

/// The components from which the operands of the dequantize come: packed ones,
/// then the metadata that lies apart.
LogicalResult SideMatcher::findComponents() {
  FormatInterface format = dequantize.getFormat();
  Value codes = stripCasts(dequantize.getInputs().front());
  int64_t headDim = getShape(codes).back();
  RowLayout layout = format.getRowLayout(headDim);
  auto unpack = codes.getDefiningOp<UnpackOp>();
  if (unpack && !packAlike(unpack.getFormat(), format, headDim))
    return fail("its codes are unpacked in another format than they are "
                "dequantized in");
  if (!unpack && !layout.isUnpacked())
    return fail("its codes of " + Twine(format.getCodeBits()) +
                " bits do not come from a kvq.unpack: packing them would copy "
                "the cache");
  if (unpack)
    llvm::append_range(components, unpack.getInputs());
  else
    components.push_back(codes);
  unsigned unpacked = 1;
  bool areStored[] = {layout.storesScales(), layout.storesZeros()};
  for (auto [metadata, isStored] :
       llvm::zip(dequantize.getInputs().drop_front(), areStored)) {
    if (!isStored)
      components.push_back(metadata);
    else if (stripCasts(metadata) != unpack.getResult(unpacked++))
      return fail("its scales or zeros are not those of the records that its "
                  "codes are unpacked from");
  }
  return success();
}

/// What is given is the same for all sequences of a cache, and apart for each
/// head.
LogicalResult SideMatcher::checkGiven() {
  unsigned count = countGivenInputs(dequantize.getFormat());
  for (Value given : dequantize.getInputs().take_back(count)) {
    if (axes[kBatch] != kAbsent && getShape(given)[axes[kBatch]] != 1)
      return fail("metadata that is given is not the same for all sequences");
    if (axes[kHeads] == kAbsent)
      continue;
    int64_t heads = getShape(value)[axes[kHeads]];
    int64_t sharing = dequantize.getFormat().getGroupHeads(heads);
    if (getShape(given)[axes[kHeads]] != heads / sharing)
      return fail("metadata that is given is not given for each head");
  }
  return success();
}

LogicalResult SideMatcher::match() {
  while (!(dequantize = value.getDefiningOp<DequantizeOp>())) {
    Operation *producer = value.getDefiningOp();
    if (!producer)
      return fail("a block argument, not made by a kvq.dequantize");
    if (failed(lookThrough(producer)))
      return failure();
  }
  ArrayRef<int64_t> shape = getShape(value);
  int64_t rank = shape.size();
  if (axes[kTokens] != rank - 2 || axes[kChannels] != rank - 1)
    return fail("its tokens and channels are not the last two axes of the "
                "kvq.dequantize");
  if (dequantize.getFormat().getGroupHeads(/*kvHeads=*/0) != 1 &&
      axes[kHeads] != rank - 3)
    return fail("its heads, which share metadata, are not the axis before the "
                "tokens of the kvq.dequantize");
  int64_t group = dequantize.getFormat().getGroupTokens();
  int64_t tokens = shape[axes[kTokens]];
  if (!ShapedType::isDynamic(tokens) && tokens % group != 0)
    return fail(Twine(tokens) + " tokens are not whole groups of " +
                Twine(group));
  if (failed(checkGiven()))
    return failure();
  return findComponents();
}

//===----------------------------------------------------------------------===//
// Building the cache
//===----------------------------------------------------------------------===//

/// The cache that takes the place of `operand`.
static CacheType getCacheType(const SideMatcher &side, Value operand) {
  SmallVector<int64_t> shape(getShape(operand));
  shape[kHeads] /= side.repeat;
  // All tokens of the codes, where they are known for codes and metadata.
  shape[kTokens] = ShapedType::kDynamic;
  auto getRows = [](Value component) {
    ArrayRef<int64_t> shape = getShape(component);
    return shape[shape.size() - 2];
  };
  DequantizeOp dequantize = side.dequantize;
  if (!ShapedType::isDynamic(getRows(side.components.front())) &&
      llvm::none_of(dequantize.getInputs(), [&](Value input) {
        return ShapedType::isDynamic(getRows(input));
      }))
    shape[kTokens] = getRows(side.components.front());
  FormatInterface format = dequantize.getFormat();
  std::optional<int64_t> recent;
  if (format.getGroupTokens() > 1)
    recent = 0;
  Type elementType = cast<RankedTensorType>(dequantize.getResult(0).getType())
                         .getElementType();
  return CacheType::get(operand.getContext(), shape, elementType, format,
                        /*exactFirst=*/0, recent, /*residual=*/std::nullopt,
                        /*page=*/std::nullopt, /*ring=*/std::nullopt,
                        /*keepFirst=*/0);
}

/// `component` with the four axes of a cache, of which `axes` are there; axes
/// of extent 1 go and come.
static Value buildCacheAxes(OpBuilder &b, Location loc, Value component,
                            ArrayRef<int64_t> axes) {
  SmallVector<int64_t> shape(getShape(component));
  SmallVector<ReassociationIndices> dropped(1), added(1);
  for (int64_t axis = 0, rank = shape.size(); axis < rank; ++axis) {
    dropped.back().push_back(axis);
    if (llvm::is_contained(axes, axis) && axis + 1 < rank)
      dropped.emplace_back();
  }
  SmallVector<int64_t> expandedShape;
  for (auto [position, axis] : llvm::enumerate(axes)) {
    added.back().push_back(position);
    expandedShape.push_back(axis == kAbsent ? 1 : shape[axis]);
    if (axis != kAbsent && position + 1 < axes.size())
      added.emplace_back();
  }
  if (dropped.size() < shape.size())
    component = tensor::CollapseShapeOp::create(b, loc, component, dropped);
  if (added.size() == axes.size())
    return component;
  auto type = cast<RankedTensorType>(component.getType()).clone(expandedShape);
  return tensor::ExpandShapeOp::create(b, loc, type, component, added);
}

static Value buildCast(OpBuilder &b, Location loc, Type type, Value value) {
  if (value.getType() == type)
    return value;
  return tensor::CastOp::create(b, loc, type, value);
}

static Value buildCache(OpBuilder &b, Location loc, const SideMatcher &side,
                        CacheType type) {
  SmallVector<Value> components;
  for (Value component : side.components)
    components.push_back(buildCacheAxes(b, loc, component, side.axes));
  SmallVector<Value> operands;
  for (auto [index, component] : llvm::enumerate(type.getComponents())) {
    RankedTensorType expected = component.getTensorType();
    // The ring of the window, in which no token ever lies: all are flushed.
    if (component.kind == ComponentKind::Recent)
      operands.push_back(
          tensor::EmptyOp::create(b, loc, expected, ValueRange()));
    else
      operands.push_back(buildCast(b, loc, expected, components[index]));
  }
  return FromComponentsOp::create(b, loc, type, operands);
}

/// The flushed tokens of each sequence: all that there are.
static Value buildFlushed(OpBuilder &b, Location loc, const SideMatcher &side,
                          CacheType type) {
  auto resultType = RankedTensorType::get({type.getBatch()}, b.getI64Type());
  if (!ShapedType::isDynamic(type.getCapacity()))
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(resultType, {type.getCapacity()}));
  Value rows = side.components.front();
  int64_t rank = cast<RankedTensorType>(rows.getType()).getRank();
  Value tokens = tensor::DimOp::create(b, loc, rows, rank - 2);
  Value count = arith::IndexCastOp::create(b, loc, b.getI64Type(), tokens);
  return tensor::FromElementsOp::create(
      b, loc, resultType, SmallVector<Value>(type.getBatch(), count));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

/// One side of an attention that is a tensor, and what it was matched to.
struct Side {
  bool isKey;
  SideMatcher matcher;
  bool fuses;

  StringRef getName() const { return isKey ? "keys" : "values"; }
  Value getOperand(AttentionOp op) const {
    return isKey ? op.getKey() : op.getValue();
  }
  Value getOther(AttentionOp op) const {
    return isKey ? op.getValue() : op.getKey();
  }
  // Asked for at each use: operands of an op move when their number changes.
  OpOperand &getMutable(AttentionOp op) const {
    return isKey ? op.getKeyMutable() : op.getValueMutable();
  }
  MutableOperandRange getFlushedMutable(AttentionOp op) const {
    return isKey ? op.getKeyFlushedMutable() : op.getValueFlushedMutable();
  }
};

struct FuseDequantizePass
    : kvq::impl::FuseDequantizePassBase<FuseDequantizePass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops)
      fuse(op);
  }

  void fuse(AttentionOp op);
};

} // namespace

static remark::RemarkOpts getRemarkOpts(AttentionOp op) {
  auto opts = remark::RemarkOpts::name("FuseDequantize")
                  .category("kvq-fuse-dequantize");
  if (auto function = op->getParentOfType<FunctionOpInterface>())
    return opts.function(function.getName());
  return opts;
}

/// Where heads are repeated, both sides have to be read unrepeated: keys and
/// values have the same KV heads.
static void matchRepeats(MutableArrayRef<Side> sides) {
  bool bothFuse = sides.size() == 2 && sides[0].fuses && sides[1].fuses;
  if (bothFuse && sides[0].matcher.repeat == sides[1].matcher.repeat)
    return;
  for (Side &side : sides) {
    if (!side.fuses || (side.matcher.repeat == 1 && !bothFuse))
      continue;
    side.fuses = false;
    side.matcher.reason =
        "its KV heads are repeated " + std::to_string(side.matcher.repeat) +
        " times, and the other side cannot be read with as many repeated";
  }
}

/// Token groups of both sides have to start at the same token.
static void matchGroupOrigins(AttentionOp op, MutableArrayRef<Side> sides) {
  for (Side &side : sides) {
    auto cache = dyn_cast<CacheType>(side.getOther(op).getType());
    if (!side.fuses || !cache || cache.getTokenGroup() == 1 ||
        cache.getExactFirst() == 0 ||
        side.matcher.dequantize.getFormat().getGroupTokens() == 1)
      continue;
    side.fuses = false;
    side.matcher.reason = "its token groups start at token 0, those of the "
                          "other side at token " +
                          std::to_string(cache.getExactFirst());
  }
}

/// Erases what made `value` as far as nothing else uses it.
static void eraseDeadProducers(Value value) {
  llvm::SetVector<Operation *> worklist;
  worklist.insert(value.getDefiningOp());
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (!op || !isOpTriviallyDead(op))
      continue;
    SmallVector<Value> operands(op->getOperands());
    op->erase();
    for (Value operand : operands)
      worklist.insert(operand.getDefiningOp());
  }
}

void FuseDequantizePass::fuse(AttentionOp op) {
  SmallVector<Side> sides;
  for (bool isKey : {true, false}) {
    Value operand = isKey ? op.getKey() : op.getValue();
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    SideMatcher matcher(operand);
    bool fuses = succeeded(matcher.match());
    sides.push_back({isKey, std::move(matcher), fuses});
  }
  matchRepeats(sides);
  matchGroupOrigins(op, sides);

  OpBuilder b(op);
  Location loc = op.getLoc();
  for (Side &side : sides) {
    if (!side.fuses) {
      remark::missed(loc, getRemarkOpts(op))
          << remark::add("{0} are not read as codes", side.getName().str())
          << remark::reason("{0}", side.matcher.reason);
      continue;
    }
    Value operand = side.getOperand(op);
    CacheType type = getCacheType(side.matcher, operand);
    side.getMutable(op).set(buildCache(b, loc, side.matcher, type));
    if (type.hasRecentWindow())
      side.getFlushedMutable(op).assign(
          buildFlushed(b, loc, side.matcher, type));
    else
      side.getFlushedMutable(op).clear();
    eraseDeadProducers(operand);
    remark::passed(loc, getRemarkOpts(op))
        << remark::add("{0} are read as codes", side.getName().str());
  }
}
