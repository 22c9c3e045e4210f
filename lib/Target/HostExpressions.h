//===- HostExpressions.h - What the host computes ---------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TARGET_HOSTEXPRESSIONS_H
#define KVQ_LIB_TARGET_HOSTEXPRESSIONS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace mlir::kvq {

/// A number that a launch depends on: a constant, the name of a value, or an
/// operator and its operands as an array, `["+", "argument0_size2", 1]`.
/// Operators are those of C, `["?", condition, yes, no]` among them, and `min`,
/// `max` and `ceildiv`.
using HostExpression = llvm::json::Value;

/// The expression in C, with `prefix` before each name.
std::string toC(const HostExpression &expression, llvm::StringRef prefix);

/// Expressions over named values.
class HostExpressions {
public:
  void setName(Value value, std::string name) {
    names[value] = std::move(name);
  }
  /// Of what a cast is of, too; empty where there is none.
  std::string getName(Value value) const;

  llvm::Expected<HostExpression> get(Value value) const;

  /// An extent of a named array or of what is allocated.
  llvm::Expected<HostExpression> getExtent(Value array, unsigned axis) const;

private:
  llvm::DenseMap<Value, std::string> names;
};

/// What an extent of a named array is called.
std::string getSizeName(llvm::StringRef array, unsigned axis);

} // namespace mlir::kvq

#endif // KVQ_LIB_TARGET_HOSTEXPRESSIONS_H
