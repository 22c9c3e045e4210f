//===- GroupLoops.h - Loops over groups of elements -------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops that structured ops over the groups of a format have, and such ops:
// sums and other reductions of each group, elementwise ops on what groups have.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_GROUPLOOPS_H
#define KVQ_LIB_IR_GROUPLOOPS_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// `format` for rows of the type `rows`.
FormatInterface resolveFormat(FormatInterface format, RankedTensorType rows);

/// How many tokens one row of metadata serves.
enum class MetadataRows {
  /// Those of one group, and every group is full.
  PerGroup,
  /// All tokens: they lie in one group.
  Single
};

/// How many rows of metadata serve rows that are full groups of tokens.
MetadataRows getMetadataRows(FormatInterface format);

/// The loops over rows `... x tokens x head_dim`, where each axis that groups
/// divide is split into the groups and what is inside a group.
class GroupLoops {
public:
  GroupLoops(FormatInterface format, RankedTensorType rows,
             MetadataRows metadataRows);

  unsigned size() const { return iterators.size(); }
  /// Maps the loops to an element of the split rows.
  AffineMap getRowsMap() const { return rowsMap; }
  /// Maps the loops to an element of the metadata.
  AffineMap getGroupsMap() const { return groupsMap; }
  /// Maps the loops to an element of metadata of the type `type`, of which an
  /// axis of extent 1 serves all.
  AffineMap getMetadataMap(Type type) const;
  /// Whether an axis runs over what is inside a group.
  bool isInside(int64_t axis) const {
    return iterators[axis] == utils::IteratorType::reduction;
  }
  /// How many elements of a group lie along a loop inside it.
  int64_t getExtentInside(int64_t axis) const { return insideExtents[axis]; }
  /// The iterators of a reduction over each group.
  ArrayRef<utils::IteratorType> getReductionIterators() const {
    return iterators;
  }
  SmallVector<utils::IteratorType> getParallelIterators() const {
    return SmallVector<utils::IteratorType>(size(),
                                            utils::IteratorType::parallel);
  }

  /// `rows`, or a tensor of their leading axes, split as the loops are.
  Value split(OpBuilder &b, Location loc, Value rows) const;
  /// The inverse of `split`, for rows of the type `type`.
  Value join(OpBuilder &b, Location loc, Value value, Type type) const;
  /// How many of the loops run over the first `axes` axes of the rows.
  unsigned countLoops(unsigned axes) const {
    unsigned loops = 0;
    for (const ReassociationIndices &group :
         ArrayRef(reassociation).take_front(axes))
      loops += group.size();
    return loops;
  }

private:
  bool isSplit(Type type) const {
    unsigned axes = cast<RankedTensorType>(type).getRank();
    return countLoops(axes) != axes;
  }

  /// For each axis of the rows, its loops.
  SmallVector<ReassociationIndices> reassociation;
  /// For each axis of the rows, how much of it is inside one group.
  SmallVector<int64_t> groupExtents;
  SmallVector<utils::IteratorType> iterators;
  /// For each loop, its extent if it is inside a group, else 1.
  SmallVector<int64_t> insideExtents;
  AffineMap rowsMap, groupsMap;
};

using GroupBody =
    llvm::function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)>;

/// An elementwise op on groups: `inputs` and `inits` have one element for each
/// (`inputs` perhaps one for all), and `body` makes the new ones of the latter
/// from both.
SmallVector<Value> mapGroups(OpBuilder &b, Location loc, ValueRange inputs,
                             ValueRange inits, GroupBody body);

/// Reductions over each group: `inputs` are the split elements, then what each
/// group has; `body` makes the new results of these and the running ones, which
/// start as `neutrals`. The results have the shape of `scales`.
SmallVector<Value> reduceGroups(OpBuilder &b, Location loc,
                                const GroupLoops &loops, ValueRange inputs,
                                Value scales, ArrayRef<double> neutrals,
                                GroupBody body);

/// The sum over each group of what `body` makes of its elements: `inputs` are
/// the split elements, then what each group has (rule R21).
Value buildGroupSum(
    OpBuilder &b, Location loc, const GroupLoops &loops, ValueRange inputs,
    function_ref<Value(OpBuilder &, Location, ValueRange)> body);

/// An uninitialized tensor shaped as `value`.
Value buildEmptyLike(OpBuilder &b, Location loc, Value value, Type element);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_GROUPLOOPS_H
