//===- KVQ.h - The kvq dialect: attributes, types, ops ----------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQ_H
#define KVQ_IR_KVQ_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"
#include "mlir/Dialect/SCF/IR/DeviceMappingInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"

#include <vector>

#include "kvq/IR/KVQDialect.h.inc"
#include "kvq/IR/KVQEnums.h.inc"

namespace mlir::kvq {

class CacheType;

/// One reduction over the elements of a group. All are the same bits on every
/// target: the largest and smallest are exact in any order, sums are trees of a
/// given shape (rule R21). The first largest is the first element of the
/// largest magnitude.
enum class RangeStatistic {
  LargestMagnitude,
  Smallest,
  Largest,
  FirstLargest,
  SumOfSquares
};

/// The scale and zero of a group; null values where there are none.
struct GroupMetadata {
  /// As stored.
  Value scale, zero;
  /// Those that codes are computed with.
  Value encodeScale, encodeZero;
};

/// One contiguous array of a cache's storage.
struct StorageComponent {
  ComponentKind kind;
  llvm::SmallVector<int64_t> shape;
  Type elementType;
  /// Alignment of the array's start, in bytes.
  int64_t alignment;
  /// True for what is given when the cache is made and never written after: the
  /// same for all sequences.
  bool given = false;
  /// Of a cache with segments, the segment that it belongs to.
  std::optional<int64_t> segment = std::nullopt;

  /// Its name: that of the kind, and of the segment if there are any.
  std::string getName() const;

  RankedTensorType getTensorType() const {
    return RankedTensorType::get(shape, elementType);
  }
};

/// Fails, with an error, for an attribute without a dialect's prefix that is
/// none of the op's own.
LogicalResult verifyKnownAttributes(Operation *op);

/// A trait of all ops: a misspelt attribute is not ignored.
template <typename ConcreteType>
struct KnownAttributes : OpTrait::TraitBase<ConcreteType, KnownAttributes> {
  static LogicalResult verifyTrait(Operation *op) {
    return verifyKnownAttributes(op);
  }
};

/// Attributes that ops of other dialects may carry.
inline constexpr llvm::StringLiteral kLayerAttrName = "kvq.layer";
inline constexpr llvm::StringLiteral kPolicyAttrName = "kvq.policy";
inline constexpr llvm::StringLiteral kSideAttrName = "kvq.side";
inline constexpr llvm::StringLiteral kUnfusedAttrName = "kvq.unfused";
inline constexpr llvm::StringLiteral kQueryCodesAttrName = "kvq.query_codes";
inline constexpr llvm::StringLiteral kScheduleAttrName = "kvq.schedule";

} // namespace mlir::kvq

namespace mlir::kvq {
class Codec;

namespace detail {
/// A number of a rule, such as 1.0e-6.
FailureOr<APFloat> parseRuleNumber(AsmParser &parser);
void printRuleNumber(AsmPrinter &printer, const APFloat &number);
} // namespace detail
} // namespace mlir::kvq

#include "kvq/IR/RowLayout.h"

#include "kvq/IR/KVQAttrInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "kvq/IR/KVQAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "kvq/IR/KVQTypes.h.inc"

#define GET_OP_CLASSES
#include "kvq/IR/KVQOps.h.inc"

namespace mlir::kvq {

/// True for scales, zeros and outer scales: what goes with codes.
bool goesWithCodes(ComponentKind kind);

/// Fails, with an error of `op`, for a layout that is still to be assigned.
LogicalResult verifyAssignedLayout(Operation *op, CacheType cache);
LogicalResult verifyAssignedLayout(Operation *op, FormatInterface format);

/// How many of the inputs of quantize and dequantize, the last ones, are given:
/// one row for all tokens.
unsigned countGivenInputs(FormatInterface format);

} // namespace mlir::kvq

#endif // KVQ_IR_KVQ_H
