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
  for (size_t inner = sources.size(); inner-- > 1;) {
    SourceAxis &outerAxis = sources[inner - 1], &innerAxis = sources[inner];
    auto mod = dyn_cast<AffineBinaryOpExpr>(innerAxis.index);
    if (!mod || mod.getKind() != AffineExprKind::Mod ||
        getConstantIndex(mod.getRHS()) != innerAxis.extent ||
        tracer.simplify(mod.getLHS().floorDiv(innerAxis.extent)) !=
            outerAxis.index)
      continue;
    llvm::append_range(outerAxis.axes, innerAxis.axes);
    outerAxis.index = mod.getLHS();
    if (!ShapedType::isDynamic(outerAxis.extent))
      outerAxis.extent *= innerAxis.extent;
    sources.erase(sources.begin() + inner);
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

/// An axis on which several of a cache's lie, heads of sequences, say, or
/// channels of heads, is split into these; what is left over is read at one
/// place.
LogicalResult ComponentView::splitByTerms(ElementTracer &tracer,
                                          unsigned source, ArrayRef<Term> terms,
                                          AffineExpr offset) {
  auto failSplit = [&] {
    return tracer.fail("axis " + Twine(sources[source].axes.front()) +
                       " of what it comes from is not read at one index "
                       "after the other");
  };
  std::optional<int64_t> rest = getConstantIndex(offset);
  if (!rest || *rest < 0)
    return failSplit();
  int64_t extent = sources[source].extent;
  for (auto [index, term] : llvm::enumerate(terms)) {
    int64_t factor = term.factor;
    if (!ShapedType::isDynamic(extent) && extent % factor != 0)
      return failSplit();
    int64_t size = ShapedType::isDynamic(extent) ? extent : extent / factor;
    int64_t digit = *rest / factor;
    *rest %= factor;
    // Nothing runs over into the next place of the axis outside.
    int64_t count = tracer.extents[term.axis];
    bool isInside = term.axis == kChannels || !ShapedType::isDynamic(count);
    if (term.axis != kChannels)
      isInside &= digit + llvm::divideCeilSigned(count, term.sharing) <= size;
    if (index != 0 && !isInside)
      return failSplit();
    axes.push_back({source, size, term.axis, term.sharing,
                    getAffineConstantExpr(digit, tracer.context)});
    extent = factor;
  }
  if (extent != 1)
    axes.push_back({source, extent, std::nullopt, 1,
                    getAffineConstantExpr(*rest, tracer.context)});
  return success();
}

LogicalResult ComponentView::splitAxis(ElementTracer &tracer, unsigned source) {
  SmallVector<AffineExpr> summands;
  collectTerms(sources[source].index, summands);
  AffineExpr offset = getAffineConstantExpr(0, tracer.context);
  SmallVector<Term> terms;
  for (AffineExpr summand : summands) {
    if (summand.isSymbolicOrConstant()) {
      offset = offset + summand;
      continue;
    }
    int64_t factor = 1;
    auto product = dyn_cast<AffineBinaryOpExpr>(summand);
    if (product && product.getKind() == AffineExprKind::Mul)
      if (std::optional<int64_t> constant = getConstantIndex(product.getRHS());
          constant && *constant > 0) {
        factor = *constant;
        summand = product.getLHS();
      }
    std::optional<std::pair<Axis, int64_t>> quotient = matchQuotient(summand);
    if (!quotient && summand.getKind() == AffineExprKind::FloorDiv &&
        summand.isFunctionOfDim(kTokens))
      return tracer.fail("its tokens begin within a row or a group of those of "
                         "what it comes from, or where is not known");
    if (!quotient)
      return tracer.fail("axis " + Twine(sources[source].axes.front()) +
                         " of what it comes from is not read at one index "
                         "after the other");
    terms.push_back({quotient->first, quotient->second, factor});
  }
  int64_t extent = sources[source].extent;
  if (terms.empty()) {
    axes.push_back({source, extent, std::nullopt, 1, offset});
    return success();
  }
  if (terms.size() == 1 && terms.front().factor == 1) {
    axes.push_back(
        {source, extent, terms.front().axis, terms.front().sharing, offset});
    return success();
  }
  llvm::sort(terms, [](const Term &left, const Term &right) {
    return left.factor > right.factor;
  });
  return splitByTerms(tracer, source, terms, offset);
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
    view.sources.push_back({{int64_t(axis)}, index, shape[axis]});
  view.mergeAxes(tracer);
  for (unsigned source = 0; source < view.sources.size(); ++source)
    if (failed(view.splitAxis(tracer, source)))
      return failure();
  llvm::SmallDenseSet<unsigned> seen;
  for (const ViewAxis &viewAxis : view.axes)
    if (viewAxis.axis && !seen.insert(*viewAxis.axis).second)
      return tracer.fail("its " + getName(*viewAxis.axis) +
                         " go along two axes of what it comes from");
  return view;
}

const ComponentView::ViewAxis *ComponentView::find(Axis axis) const {
  const auto *it = llvm::find_if(
      axes, [&](const ViewAxis &viewAxis) { return viewAxis.axis == axis; });
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
                   !ShapedType::isDynamic(extent) &&
                   found->extent - *offset < extent;
    if (isShort)
      return tracer.fail("its " + name + " have " +
                         Twine(found->extent - *offset) + " " + getName(axis) +
                         ", of which a cache has " + Twine(extent));
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
Value ComponentView::buildViewAxes(OpBuilder &b, Location loc) const {
  Value value = source;
  SmallVector<ReassociationIndices> joined, split(sources.size());
  for (const SourceAxis &axis : sources)
    joined.emplace_back(axis.axes.begin(), axis.axes.end());
  if (joined.size() < getShape(value).size())
    value = tensor::CollapseShapeOp::create(b, loc, value, joined);
  if (axes.size() == sources.size())
    return value;
  SmallVector<int64_t> shape;
  for (auto [position, axis] : llvm::enumerate(axes)) {
    split[axis.source].push_back(position);
    shape.push_back(axis.extent);
  }
  auto type = cast<RankedTensorType>(value.getType()).clone(shape);
  return tensor::ExpandShapeOp::create(b, loc, type, value, split);
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
      bound = *axes[*present].axis;
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
                                    ArrayRef<unsigned> order) const {
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
  Value value = buildViewAxes(b, loc);
  value = buildInOrder(b, loc, value, order);
  value = buildSlice(b, loc, tracer, value, order, component);
  value = buildCacheAxes(b, loc, value, order);
  if (value.getType() == component.getTensorType())
    return value;
  return tensor::CastOp::create(b, loc, component.getTensorType(), value);
}
