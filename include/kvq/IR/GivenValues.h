//===- GivenValues.h - Checks of given components ---------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_GIVENVALUES_H
#define KVQ_IR_GIVENVALUES_H

#include "kvq/IR/KVQ.h"

#include "llvm/Support/Error.h"

namespace mlir::kvq {

/// Checks the elements of a given component of `type`, which are `data` as the
/// cache stores them. Fails with the first one that is not allowed, its place,
/// and what would be.
llvm::Error checkGivenValues(CacheType type, const StorageComponent &component,
                             llvm::StringRef data);

} // namespace mlir::kvq

#endif // KVQ_IR_GIVENVALUES_H
