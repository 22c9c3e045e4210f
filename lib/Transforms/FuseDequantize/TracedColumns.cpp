//===- TracedColumns.cpp - Elements that differ in their column -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TracedColumns.h"

using namespace mlir;
using namespace mlir::kvq;

/// The axes along which `elements` differ.
static SmallVector<int64_t> getColumnAxes(ArrayRef<TracedElement> elements) {
  SmallVector<int64_t> axes;
  const TracedElement &first = elements.front();
  for (size_t axis = 0; axis < first.indices.size(); ++axis)
    if (llvm::any_of(elements, [&](const TracedElement &element) {
          return element.indices[axis] != first.indices[axis];
        }))
      axes.push_back(axis);
  return axes;
}

FailureOr<TracedColumns> kvq::getColumns(ElementTracer &tracer,
                                         ArrayRef<TracedElement> elements,
                                         StringRef name) {
  TracedColumns result = {elements.front(), {}};
  for (const TracedElement &element : elements)
    if (element.value != result.element.value)
      return tracer.fail("its " + name + " come from several tensors");
  if (!isa<RankedTensorType>(result.element.value.getType())) {
    result.columns.assign(elements.size(), 0);
    return result;
  }
  ArrayRef<int64_t> shape = getShape(result.element.value);
  SmallVector<int64_t> axes = getColumnAxes(elements);
  // Along one axis they are so far from the first one's place, wherever that
  // is.
  auto getPlace = [&](const TracedElement &element, int64_t axis) {
    AffineExpr index = element.indices[axis];
    if (axes.size() == 1)
      index = tracer.simplify(index - elements.front().indices[axis]);
    return getConstantIndex(index);
  };
  for (const TracedElement &element : elements) {
    int64_t column = 0;
    for (int64_t axis : axes) {
      std::optional<int64_t> place = getPlace(element, axis);
      if (!place || (axes.size() > 1 && ShapedType::isDynamic(shape[axis])) ||
          axis - axes.front() >= int64_t(axes.size()))
        return tracer.fail("the columns of its " + name + " are not known");
      column = axes.size() > 1 ? column * shape[axis] + *place : *place;
    }
    result.columns.push_back(column);
  }
  int64_t first = *llvm::min_element(result.columns);
  for (int64_t &column : result.columns)
    column -= first;
  AffineExpr index = getAffineDimExpr(kChannels, tracer.context) + first;
  if (axes.size() == 1)
    index = index + elements.front().indices[axes.front()];
  for (int64_t axis : llvm::reverse(axes)) {
    bool isOuter = axis == axes.front();
    result.element.indices[axis] = isOuter ? index : index % shape[axis];
    index = index.floorDiv(shape[axis]);
  }
  return result;
}
