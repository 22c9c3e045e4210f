//===- ComponentView.h - A tensor as a component of a cache -----*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of the place of one element of a tensor says how the tensor is
// seen as a component of a cache: which of its axes are sequences, heads, rows
// of tokens and columns, from where on they are read, and in which order they
// lie. All of that is a view: nothing is copied.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TRANSFORMS_ELEMENTTRACING_COMPONENTVIEW_H
#define KVQ_LIB_TRANSFORMS_ELEMENTTRACING_COMPONENTVIEW_H

#include "ElementTracer.h"

namespace mlir::kvq {

class ComponentView {
public:
  /// Finds the view in which the element at [batch, head, token, column] is
  /// `element`, whose expressions have the columns as kChannels.
  static FailureOr<ComponentView> get(ElementTracer &tracer,
                                      TracedElement element);

  /// Operand heads that share a head, or tokens that share a row; nothing where
  /// there is one index for all of them.
  std::optional<int64_t> getSharing(Axis axis) const;

  /// The rows from the first one that is read on, or dynamic.
  int64_t getRows() const;

  /// Fails, with a reason, where the view does not have the extents of
  /// `component`.
  LogicalResult verifyExtents(ElementTracer &tracer,
                              const StorageComponent &component) const;

  /// The view, of the shape of `component`.
  Value build(OpBuilder &b, Location loc, const ElementTracer &tracer,
              const StorageComponent &component) const;

private:
  /// Axes of the tensor that lie together, as one.
  struct SourceAxis {
    SmallVector<int64_t, 2> axes;
    AffineExpr index;
    int64_t extent;
  };
  /// A source axis, or one of several that it is split into. It is read at
  /// floor(x / sharing) + offset, x being the index of one of the cache's axes,
  /// or at `offset` alone.
  struct ViewAxis {
    unsigned source;
    int64_t extent;
    std::optional<Axis> axis;
    int64_t sharing = 1;
    AffineExpr offset;
  };
  /// A term of an index: floor(x / sharing) * factor.
  struct Term {
    Axis axis;
    int64_t sharing, factor;
  };
  void mergeAxes(ElementTracer &tracer);
  LogicalResult splitAxis(ElementTracer &tracer, unsigned source);
  LogicalResult splitByTerms(ElementTracer &tracer, unsigned source,
                             ArrayRef<Term> terms, AffineExpr offset);
  const ViewAxis *find(Axis axis) const;
  static int64_t getSize(const ViewAxis &viewAxis,
                         const StorageComponent &component);
  SmallVector<unsigned> getOrder() const;

  SmallVector<std::optional<unsigned>>
  getCacheAxes(ArrayRef<unsigned> order) const;

  Value buildViewAxes(OpBuilder &b, Location loc) const;
  Value buildInOrder(OpBuilder &b, Location loc, Value value,
                     ArrayRef<unsigned> order) const;
  Value buildSlice(OpBuilder &b, Location loc, const ElementTracer &tracer,
                   Value value, ArrayRef<unsigned> order,
                   const StorageComponent &component) const;
  Value buildCacheAxes(OpBuilder &b, Location loc, Value value,
                       ArrayRef<unsigned> order) const;

  /// A tensor, or a number, which has no axes.
  Value source;
  SmallVector<SourceAxis> sources;
  SmallVector<ViewAxis> axes;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TRANSFORMS_ELEMENTTRACING_COMPONENTVIEW_H
