//===- HostExpressions.h - What the host computes, as C ---------*- C++ -*-===//
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

#include <string>

namespace mlir::kvq {

/// Numbers that launches depend on, as expressions of C over named values.
class HostExpressions {
public:
  /// `prefix` stands before each name.
  explicit HostExpressions(llvm::StringRef prefix) : prefix(prefix) {}

  void setName(Value value, std::string name) {
    names[value] = std::move(name);
  }
  /// Without the prefix, of what a cast is of, too; empty where there is none.
  std::string getName(Value value) const;

  llvm::Expected<std::string> get(Value value) const;

  /// An extent of a named array or of what is allocated.
  llvm::Expected<std::string> getExtent(Value array, unsigned axis) const;

private:
  llvm::Expected<std::string> getBinary(Operation *op) const;

  llvm::StringRef prefix;
  llvm::DenseMap<Value, std::string> names;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TARGET_HOSTEXPRESSIONS_H
