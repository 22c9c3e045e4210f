//===- NestPlan.h - How a structured op becomes loops -----------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOVECTOR_NESTPLAN_H
#define KVQ_LIB_CONVERSION_KVQTOVECTOR_NESTPLAN_H

#include "kvq/Conversion/ByteProducts.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mlir::kvq {

/// A factor of products of integers: an element of an operand, or a part of its
/// bits, as i32.
struct IntegerFactor {
  OpOperand *operand = nullptr;
  /// What the body does with the element, the extension to i32 last. All other
  /// operands of these are constants.
  SmallVector<Operation *, 1> ops;
};

/// A sum of products of integers that is taken before it is scaled: a body that
/// adds `float(extend(x) * extend(y)) * scale`, where neither the scale nor the
/// number of terms keeps them from being added as i32 along some reduced axes,
/// the innermost ones. Exact, where sums of floats round.
struct IntegerSum {
  /// Both depend on `axes`.
  IntegerFactor factors[2];
  /// That of their product to a float.
  Operation *conversion;
  llvm::SmallBitVector axes;
  /// The axis along which two products (four, where it has so many steps) are
  /// added together.
  std::optional<unsigned> pairAxis;
  /// An axis of two steps, the last one of both factors; or of four, where one
  /// factor has two rows of two.
  std::optional<unsigned> packedAxis;
  /// Steps of `pairAxis` that are taken at once.
  int64_t neighbours = 2;
};

/// The decisions about one structured op, made before any IR is written: which
/// axis lies in vector lanes, how many, and how many steps of each parallel
/// axis one block of code handles at once.
struct NestPlan {
  /// Op handles have no const methods.
  mutable linalg::GenericOp op;
  SmallVector<utils::IteratorType> kinds;
  /// Static extents, or ShapedType::kDynamic.
  SmallVector<int64_t> extents;
  /// The axis that lies in the lanes; without one the nest is scalar.
  std::optional<unsigned> laneAxis;
  int64_t lanes = 1;
  /// Steps (of `lanes` elements on the lane axis) in a block; 1 where reduced.
  SmallVector<int64_t> block;
  /// Where lanes are reduced, a parallel axis along which all outputs are
  /// contiguous: `block` steps of it come one after another, and are stored
  /// together.
  std::optional<unsigned> runAxis;
  /// For each output, the op of the body that combines the accumulator with the
  /// new value. Null in nests without a reduction, and where the body is not of
  /// that form (then the lane axis is never a reduced one).
  SmallVector<Operation *> combiners;
  std::optional<IntegerSum> integerSum;
  ByteProducts byteProducts = ByteProducts::None;

  /// Whether an instruction multiplies and adds two neighbours at once.
  bool addsPairs() const {
    return byteProducts != ByteProducts::Neon &&
           byteProducts != ByteProducts::NeonDot &&
           byteProducts != ByteProducts::NeonMixedDot;
  }

  /// Whether steps of `lanes` on the lane axis are products that are added in
  /// pairs, so that accumulators have half as many lanes.
  bool addsNeighbours(int64_t lanes) const {
    return integerSum && reducesLanes() && integerSum->pairAxis == laneAxis &&
           lanes >= 4 && addsPairs();
  }
  bool isReduced(unsigned axis) const {
    return kinds[axis] == utils::IteratorType::reduction;
  }
  bool reducesLanes() const { return laneAxis && isReduced(*laneAxis); }
  bool hasReduction() const;
  /// Elements per step of `axis`.
  int64_t step(unsigned axis) const { return axis == laneAxis ? lanes : 1; }
  /// The axes that an operand's element depends on.
  llvm::SmallBitVector axesOf(OpOperand *operand) const;
  /// For an input that holds a pair of elements for each one along `axis`, side
  /// by side: which of the two is read, 0 or 1.
  std::optional<int64_t> neighbourInPairs(OpOperand *operand,
                                          unsigned axis) const;
};

/// Whether neighbours along `axis` are neighbours in the operand's memory.
bool isContiguousAlong(const NestPlan &plan, OpOperand *operand, unsigned axis);

/// Whether neighbours along `axis` lie apart in the memory of an output that is
/// only written, such as one channel of each pair: lanes are stored one by one.
bool isScatteredAlong(const NestPlan &plan, OpOperand *operand, unsigned axis);

/// Whether neighbours along `axis` are pairs along the packed axis of an
/// integer sum, which lie side by side in the operand's memory.
bool isPackedAlong(const NestPlan &plan, OpOperand *operand, unsigned axis);

/// Finds the integer sum that a nest with known combiners may take.
std::optional<IntegerSum> matchIntegerSum(const NestPlan &plan);

/// Chooses the pairs of an integer sum once the lanes are known; drops a sum
/// that the lanes do not allow.
void choosePairAxis(NestPlan &plan);

/// Whether `op`, of a structured op's body, reads an element of a constant
/// vector at a position that an integer is cast to.
bool isTableLookup(Operation *op);

/// Plans loops over vectors whose f32 elements fill `vectorWidth` lanes. Fails
/// where outputs do not correspond one to one with the parallel iterations.
/// Sums of products of bytes are taken by the instruction that is given.
FailureOr<NestPlan> planNest(linalg::GenericOp op, int64_t vectorWidth,
                             ByteProducts byteProducts);

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOVECTOR_NESTPLAN_H
