//===- GroupMetadata.h - Scales and zeros of groups -------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_IR_GROUPMETADATA_H
#define KVQ_LIB_IR_GROUPMETADATA_H

#include "GroupLoops.h"

namespace mlir::kvq {

/// The f32 of an input element, infinite ones clamped (rule R1).
Value buildElement(OpBuilder &b, Location loc, Value element);

/// The f32 scale and the zero, or null, of an element whose metadata are scale,
/// zero and outer scale, as far as there are these.
std::pair<Value, Value> readMetadata(OpBuilder &b, Location loc,
                                     FormatInterface format,
                                     ValueRange metadata);

/// The metadata of all groups.
struct MetadataTensors {
  /// The scales and, if the format has them, zeros as stored.
  SmallVector<Value> stored;
  /// Those that codes are computed with.
  SmallVector<Value> encode;
};

/// The metadata of the groups of the split `input`, from these and from what is
/// given, written into `inits`.
MetadataTensors measureGroups(OpBuilder &b, Location loc,
                              FormatInterface format, const GroupLoops &loops,
                              Value input, ValueRange given, ValueRange inits);

} // namespace mlir::kvq

#endif // KVQ_LIB_IR_GROUPMETADATA_H
