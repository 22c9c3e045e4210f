//===- CodePacking.h - Codes of a field to and from its bytes ---*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Structured ops that pack codes into bytes and unpack them, in the orders of
// `#kvq.layout`. Tensors are of any rank; the last axis is a field: its
// elements or its bytes.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_CODEPACKING_H
#define KVQ_LIB_IR_CODEPACKING_H

#include "kvq/IR/KVQ.h"

namespace mlir::kvq {

/// `value` with its last axis split into `count` equal ones; as it is for one,
/// unless an axis of one is wanted `always`.
Value splitLastAxis(OpBuilder &b, Location loc, Value value, int64_t count,
                    bool always = false);

int64_t getRank(Value value);
int64_t getLastExtent(Value value);

/// The inverse of `splitLastAxis`: `value` with the last axes of `type` joined.
Value joinLastAxis(OpBuilder &b, Location loc, Value value, Type type);

/// What codes are, beside their parts.
struct CodeKind {
  unsigned bits;
  bool isSigned;
  bool bias;

  static CodeKind get(FormatInterface format, const RowLayout &layout) {
    return {format.getCodeBits(), format.hasSignedCodes(), layout.bias};
  }
};

/// The bits that are stored of an i8 code.
Value buildStored(OpBuilder &b, Location loc, const CodeKind &kind, Value code);

/// One step of unpacking: parts whose bits go into codes together.
struct UnpackStep {
  ArrayRef<CodePart> parts;
  ValueRange fields;
  /// Whether codes hold no bits yet, and whether these are the last.
  bool isFirst, isLast;
};

/// `code`, bits of codes, as what a step writes; `previous` is what is there.
Value finishCode(OpBuilder &b, Location loc, const CodeKind &kind,
                 const UnpackStep &step, Value code, Value previous);

/// Packing and unpacking of a part that is a stream.
Value packStream(OpBuilder &b, Location loc, const CodeKind &kind,
                 const CodePart &part, Value codes, Value bytes);
Value unpackStream(OpBuilder &b, Location loc, const CodeKind &kind,
                   const UnpackStep &step, Value codes);

/// The bytes of `part` of `codes`, written into `bytes`.
Value buildPackedPart(OpBuilder &b, Location loc, const CodeKind &kind,
                      const CodePart &part, Value codes, Value bytes);

/// The codes whose parts lie in `fields`, one for each, written into `codes`.
Value buildUnpackedCodes(OpBuilder &b, Location loc, const CodeKind &kind,
                         ArrayRef<CodePart> parts, ValueRange fields,
                         Value codes);

/// Constants and operations on integers of the type of `value`.
Value buildInteger(OpBuilder &b, Location loc, Type type, uint64_t value);
Value buildShiftLeft(OpBuilder &b, Location loc, Value value, unsigned amount);
Value buildShiftRight(OpBuilder &b, Location loc, Value value, unsigned amount);
Value buildMask(OpBuilder &b, Location loc, Value value, uint64_t mask);
/// `value`, or'ed into `sum` unless that is null.
Value buildOr(OpBuilder &b, Location loc, Value sum, Value value);

/// A parallel generic that writes each element of `init` once, from inputs that
/// are read through `maps`; null maps are identities.
Value buildMap(
    OpBuilder &b, Location loc, ValueRange inputs, ArrayRef<AffineMap> maps,
    Value init,
    llvm::function_ref<Value(OpBuilder &, Location, ValueRange)> buildBody);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_CODEPACKING_H
