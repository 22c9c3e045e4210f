//===- ComponentView.cpp - A tensor as a component of a cache -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ComponentView.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kvq;

static StringRef getName(Axis axis) {
  static constexpr StringRef kNames[] = {"sequences", "heads", "tokens",
                                         "channels"};
  return kNames[axis];
}

//===----------------------------------------------------------------------===//
// Reading the expressions
//===----------------------------------------------------------------------===//

/// Two axes that one index is split over, x floordiv n and x mod n, are one.
void ComponentView::mergeAxes(ElementTracer &tracer) {
  for (size_t inner = axes.size(); inner-- > 1;) {
    ViewAxis &outerAxis = axes[inner - 1], &innerAxis = axes[inner];
    auto mod = dyn_cast<AffineBinaryOpExpr>(innerAxis.index);
    if (!mod || mod.getKind() != AffineExprKind::Mod ||
        getConstantIndex(mod.getRHS()) != innerAxis.extent ||
        tracer.simplify(mod.getLHS().floorDiv(innerAxis.extent)) !=
            outerAxis.index)
      continue;
    llvm::append_range(outerAxis.sources, innerAxis.sources);
    outerAxis.index = mod.getLHS();
    if (!ShapedType::isDynamic(outerAxis.extent))
      outerAxis.extent *= innerAxis.extent;
    axes.erase(axes.begin() + inner);
  }
}

/// The terms of a sum.
static void collectTerms(AffineExpr expr, SmallVectorImpl<AffineExpr> &terms) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || binary.getKind() != AffineExprKind::Add) {
    terms.push_back(expr);
    return;
  }
  collectTerms(binary.getLHS(), terms);
  collectTerms(binary.getRHS(), terms);
}

/// x or x floordiv n of one dimension x.
static std::optional<std::pair<Axis, int64_t>> matchQuotient(AffineExpr expr) {
  int64_t divisor = 1;
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
      binary && binary.getKind() == AffineExprKind::FloorDiv) {
    std::optional<int64_t> constant = getConstantIndex(binary.getRHS());
    if (!constant)
      return std::nullopt;
    divisor = *constant;
    expr = binary.getLHS();
  }
  auto dimension = dyn_cast<AffineDimExpr>(expr);
  if (!dimension)
    return std::nullopt;
  return std::pair(Axis(dimension.getPosition()), divisor);
}

LogicalResult ComponentView::parseIndex(ElementTracer &tracer,
                                        ViewAxis &viewAxis) {
  SmallVector<AffineExpr> terms;
  collectTerms(viewAxis.index, terms);
  viewAxis.offset = getAffineConstantExpr(0, tracer.context);
  for (AffineExpr term : terms) {
    if (term.isSymbolicOrConstant()) {
      viewAxis.offset = viewAxis.offset + term;
      continue;
    }
    // All heads of one sequence after those of another.
    auto product = dyn_cast<AffineBinaryOpExpr>(term);
    if (product && product.getKind() == AffineExprKind::Mul &&
        product.getLHS() == getAffineDimExpr(kBatch, tracer.context) &&
        isa<AffineConstantExpr>(product.getRHS()) && !viewAxis.isBatchOfHeads) {
      viewAxis.isBatchOfHeads = true;
      continue;
    }
    std::optional<std::pair<Axis, int64_t>> quotient = matchQuotient(term);
    if (!quotient && term.getKind() == AffineExprKind::FloorDiv &&
        term.isFunctionOfDim(kTokens))
      return tracer.fail("its tokens begin within a row or a group of those of "
                         "what it comes from, or where is not known");
    if (!quotient || viewAxis.axis)
      return tracer.fail("axis " + Twine(viewAxis.sources.front()) +
                         " of what it comes from is not read at one index "
                         "after the other");
    std::tie(viewAxis.axis, viewAxis.sharing) = *quotient;
  }
  if (viewAxis.isBatchOfHeads &&
      (viewAxis.axis != kHeads || getConstantIndex(viewAxis.offset) != 0))
    return tracer.fail("axis " + Twine(viewAxis.sources.front()) +
                       " of what it comes from holds other than the heads of "
                       "one sequence after those of another");
  return success();
}

/// Whether `value` is one number, alone or as a constant of a tensor's shape.
static bool isNumber(Value value) {
  DenseElementsAttr constant;
  return !isa<RankedTensorType>(value.getType()) ||
         (matchPattern(value, m_Constant(&constant)) && constant.isSplat());
}

FailureOr<ComponentView> ComponentView::get(ElementTracer &tracer,
                                            TracedElement element) {
  ComponentView view;
  view.source = element.value;
  if (isNumber(element.value))
    return view;
  ArrayRef<int64_t> shape = getShape(element.value);
  for (auto [axis, index] : llvm::enumerate(element.indices))
    view.axes.push_back({{int64_t(axis)}, index, shape[axis], {}, 1, {}});
  view.mergeAxes(tracer);
  llvm::SmallDenseSet<unsigned> seen;
  for (ViewAxis &viewAxis : view.axes) {
    if (failed(view.parseIndex(tracer, viewAxis)))
      return failure();
    bool isRepeated = viewAxis.axis && !seen.insert(*viewAxis.axis).second;
    isRepeated |= viewAxis.isBatchOfHeads && !seen.insert(kBatch).second;
    if (isRepeated)
      return tracer.fail("its " + getName(*viewAxis.axis) +
                         " go along two axes of what it comes from");
  }
  return view;
}

const ComponentView::ViewAxis *ComponentView::find(Axis axis) const {
  const auto *it = llvm::find_if(axes, [&](const ViewAxis &viewAxis) {
    return viewAxis.axis == axis || (axis == kBatch && viewAxis.isBatchOfHeads);
  });
  return it == axes.end() ? nullptr : it;
}

std::optional<int64_t> ComponentView::getSharing(Axis axis) const {
  const ViewAxis *found = find(axis);
  if (!found)
    return std::nullopt;
  return found->sharing;
}

int64_t ComponentView::getRows() const {
  const ViewAxis *rows = find(kTokens);
  if (!rows)
    return 1;
  std::optional<int64_t> offset = getConstantIndex(rows->offset);
  if (ShapedType::isDynamic(rows->extent) || !offset)
    return ShapedType::kDynamic;
  return rows->extent - *offset;
}

LogicalResult
ComponentView::verifyExtents(ElementTracer &tracer,
                             const StorageComponent &component) const {
  StringRef name = stringifyComponentKind(component.kind);
  const ViewAxis *columns = find(kChannels);
  for (const ViewAxis &viewAxis : llvm::reverse(axes)) {
    if (columns && &viewAxis != columns && viewAxis.extent != 1)
      return tracer.fail("the " + name + " of a row do not lie side by side");
    if (&viewAxis == columns)
      break;
  }
  for (Axis axis : {kBatch, kHeads, kTokens, kChannels}) {
    const ViewAxis *found = find(axis);
    int64_t extent = component.shape[axis];
    if (component.given && axis == kBatch && found)
      return tracer.fail("metadata that is given is not the same for all "
                         "sequences");
    if (component.given && axis == kHeads && !found && extent != 1)
      return tracer.fail("metadata that is given is not given for each head");
    // One for all of them, as a cache has one.
    if (!found && extent == 1)
      continue;
    if (!found)
      return tracer.fail("its " + name + " are the same for all " +
                         getName(axis) + ", of which a cache has " +
                         Twine(extent));
    std::optional<int64_t> offset = getConstantIndex(found->offset);
    bool isShort = offset && !ShapedType::isDynamic(found->extent) &&
                   !ShapedType::isDynamic(extent) && !found->isBatchOfHeads &&
                   found->extent - *offset < extent;
    if (isShort)
      return tracer.fail("its " + name + " have " +
                         Twine(found->extent - *offset) + " " + getName(axis) +
                         ", of which a cache has " + Twine(extent));
    if (found->isBatchOfHeads &&
        found->extent != component.shape[kBatch] * component.shape[kHeads])
      return tracer.fail("its " + name +
                         " have heads of sequences along one axis, but not "
                         "all of them");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// The axes in the order of a cache; those with one index stay in their places.
SmallVector<unsigned> ComponentView::getOrder() const {
  SmallVector<unsigned> indexed, order;
  for (unsigned number = 0; number < axes.size(); ++number)
    if (axes[number].axis)
      indexed.push_back(number);
  llvm::sort(indexed, [&](unsigned left, unsigned right) {
    return axes[left].axis < axes[right].axis;
  });
  const unsigned *next = indexed.begin();
  for (unsigned number = 0; number < axes.size(); ++number)
    order.push_back(axes[number].axis ? *next++ : number);
  return order;
}

/// A number as the only element of a component.
static Value buildSingle(OpBuilder &b, Location loc, Value number,
                         RankedTensorType type) {
  TypedAttr constant;
  if (matchPattern(number, m_Constant(&constant))) {
    if (auto elements = dyn_cast<DenseElementsAttr>(constant))
      constant = elements.getSplatValue<TypedAttr>();
    return arith::ConstantOp::create(b, loc,
                                     DenseElementsAttr::get(type, constant));
  }
  return tensor::FromElementsOp::create(b, loc, type, number);
}

/// Each of `axes` by itself.
Value ComponentView::buildMerged(OpBuilder &b, Location loc) const {
  SmallVector<ReassociationIndices> groups;
  for (const ViewAxis &viewAxis : axes)
    groups.emplace_back(viewAxis.sources.begin(), viewAxis.sources.end());
  if (axes.size() == getShape(source).size())
    return source;
  return tensor::CollapseShapeOp::create(b, loc, source, groups);
}

/// A transposed view, which is one of a buffer. Nothing writes to it.
Value ComponentView::buildInOrder(OpBuilder &b, Location loc, Value value,
                                  ArrayRef<unsigned> order) const {
  if (llvm::is_sorted(order))
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  auto bufferType = MemRefType::get(type.getShape(), type.getElementType());
  Value buffer = bufferization::ToBufferOp::create(b, loc, bufferType, value,
                                                   /*read_only=*/true);
  auto map = AffineMap::getPermutationMap(order, b.getContext());
  Value transposed =
      memref::TransposeOp::create(b, loc, buffer, AffineMapAttr::get(map));
  SmallVector<int64_t> shape;
  for (unsigned axis : order)
    shape.push_back(type.getDimSize(axis));
  return bufferization::ToTensorOp::create(b, loc, type.clone(shape),
                                           transposed, /*restrict=*/true);
}

/// What is read of an axis; dynamic where that is all from its offset on.
int64_t ComponentView::getSize(const ViewAxis &viewAxis,
                               const StorageComponent &component) {
  if (viewAxis.isBatchOfHeads)
    return viewAxis.extent;
  return viewAxis.axis ? component.shape[*viewAxis.axis] : 1;
}

Value ComponentView::buildSlice(OpBuilder &b, Location loc,
                                const ElementTracer &tracer, Value value,
                                ArrayRef<unsigned> order,
                                const StorageComponent &component) const {
  bool isWhole = llvm::all_of(axes, [&](const ViewAxis &viewAxis) {
    int64_t size = getSize(viewAxis, component);
    return getConstantIndex(viewAxis.offset) == 0 &&
           (size == viewAxis.extent || ShapedType::isDynamic(size));
  });
  if (isWhole)
    return value;
  SmallVector<OpFoldResult> symbols(tracer.symbols.begin(),
                                    tracer.symbols.end());
  SmallVector<OpFoldResult> offsets, sizes,
      strides(order.size(), b.getIndexAttr(1));
  for (auto [position, number] : llvm::enumerate(order)) {
    const ViewAxis &viewAxis = axes[number];
    offsets.push_back(affine::makeComposedFoldedAffineApply(
        b, loc, AffineMap::get(0, symbols.size(), viewAxis.offset), symbols));
    int64_t size = getSize(viewAxis, component);
    if (!ShapedType::isDynamic(size)) {
      sizes.push_back(b.getIndexAttr(size));
      continue;
    }
    OpFoldResult extent = tensor::getMixedSize(b, loc, value, position);
    sizes.push_back(affine::makeComposedFoldedAffineApply(
        b, loc, b.getAffineDimExpr(0) - b.getAffineDimExpr(1),
        {extent, offsets.back()}));
  }
  return tensor::ExtractSliceOp::create(b, loc, value, offsets, sizes, strides);
}

/// For each position of `order` the axis of a cache that it is. Axes with one
/// index serve where a cache has one that the tensor lacks.
SmallVector<std::optional<unsigned>>
ComponentView::getCacheAxes(ArrayRef<unsigned> order) const {
  SmallVector<std::optional<unsigned>> result;
  unsigned next = 0;
  for (size_t position = 0; position < order.size(); ++position) {
    ArrayRef<unsigned> rest = order.drop_front(position);
    const unsigned *present = llvm::find_if(
        rest, [&](unsigned number) { return bool(axes[number].axis); });
    unsigned bound = kAxes;
    if (present != rest.end())
      bound = axes[*present].isBatchOfHeads ? kBatch : *axes[*present].axis;
    std::optional<unsigned> axis;
    if (axes[rest.front()].axis)
      axis = *axes[rest.front()].axis;
    else if (next < bound)
      axis = next;
    result.push_back(axis);
    if (axis)
      next = *axis + 1;
  }
  return result;
}

/// The four axes of a cache; axes of extent 1 go and come.
Value ComponentView::buildCacheAxes(OpBuilder &b, Location loc, Value value,
                                    ArrayRef<unsigned> order,
                                    const StorageComponent &component) const {
  SmallVector<std::optional<unsigned>> cacheAxes = getCacheAxes(order);
  ArrayRef<int64_t> shape = getShape(value);
  SmallVector<ReassociationIndices> dropped, added;
  SmallVector<int64_t> expanded(kAxes, 1);
  ReassociationIndices group;
  unsigned firstAxis = 0;
  for (auto [position, axis] : llvm::enumerate(cacheAxes)) {
    group.push_back(position);
    if (!axis)
      continue;
    dropped.push_back(std::exchange(group, {}));
    added.emplace_back(
        llvm::to_vector(llvm::seq<int64_t>(firstAxis, *axis + 1)));
    firstAxis = *axis + 1;
    expanded[*axis] = shape[position];
  }
  // What comes after the last one.
  if (!dropped.empty()) {
    llvm::append_range(dropped.back(), group);
    llvm::append_range(added.back(), llvm::seq<int64_t>(firstAxis, kAxes));
  }
  if (const ViewAxis *heads = find(kHeads); heads && heads->isBatchOfHeads)
    for (unsigned axis : {kBatch, kHeads})
      expanded[axis] = component.shape[axis];
  if (dropped.size() < order.size())
    value = tensor::CollapseShapeOp::create(b, loc, value, dropped);
  if (added.size() == kAxes)
    return value;
  auto type = cast<RankedTensorType>(value.getType()).clone(expanded);
  return tensor::ExpandShapeOp::create(b, loc, type, value, added);
}

Value ComponentView::build(OpBuilder &b, Location loc,
                           const ElementTracer &tracer,
                           const StorageComponent &component) const {
  if (isNumber(source))
    return buildSingle(b, loc, source, component.getTensorType());
  SmallVector<unsigned> order = getOrder();
  Value value = buildMerged(b, loc);
  value = buildInOrder(b, loc, value, order);
  value = buildSlice(b, loc, tracer, value, order, component);
  value = buildCacheAxes(b, loc, value, order, component);
  if (value.getType() == component.getTensorType())
    return value;
  return tensor::CastOp::create(b, loc, component.getTensorType(), value);
}
