//===- ArgumentRoles.h - What arguments of functions are for ----*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TARGET_ARGUMENTROLES_H
#define KVQ_LIB_TARGET_ARGUMENTROLES_H

#include "kvq/IR/KVQ.h"

#include "mlir/IR/Value.h"

#include <string>

namespace mlir::kvq {

/// Whether C and C++ take `name` as an identifier.
bool isIdentifier(StringRef name);

/// What `source`, the text that a module was parsed from, calls an argument, as
/// an identifier of C; empty where it has no such name.
std::string getNameInSource(BlockArgument argument, StringRef source);

/// Axes and units of an argument, by the op that takes it; empty where no op
/// says so.
StringRef describeUse(BlockArgument argument);

/// What a storage component holds.
StringRef describeComponent(ComponentKind kind);

} // namespace mlir::kvq

#endif // KVQ_LIB_TARGET_ARGUMENTROLES_H
