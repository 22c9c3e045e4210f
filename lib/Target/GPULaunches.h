//===- GPULaunches.h - How the kernels of a function are launched -*- C++ -*-=//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TARGET_GPULAUNCHES_H
#define KVQ_LIB_TARGET_GPULAUNCHES_H

#include "HostExpressions.h"
#include "kvq/Target/Signature.h"

namespace mlir::kvq {

/// An argument of a kernel: an array, passed as a memref (two pointers, offset,
/// extents, strides), or a number.
struct KernelArgument {
  std::string name; // of its own in the kernel
  Type type;
  /// Of an array: its name in the function, and the extents.
  std::string array;
  std::vector<HostExpression> extents;
  /// Of a number.
  HostExpression value = nullptr;

  bool isArray() const { return !array.empty(); }
};

struct KernelLaunch {
  std::string kernel;
  std::vector<HostExpression> grid, block; // three each
  HostExpression dynamicSharedBytes = 0;
  int64_t staticSharedBytes;
  std::vector<KernelArgument> arguments;
};

/// Memory that the kernels of a function share.
struct Workspace {
  std::string name;
  int64_t elementBytes;
  std::vector<HostExpression> extents;
};

/// A function of launches one after the other. Values have the names of
/// `signature.arguments` as identifiers, extents those of `getSizeName`.
struct FunctionLaunches {
  const Signature *signature;
  std::vector<std::string> argumentNames;
  std::vector<Workspace> workspace;
  std::vector<KernelLaunch> launches;
};

/// Of each of the functions of a lowered module.
llvm::Expected<std::vector<FunctionLaunches>>
describeLaunches(ModuleOp module, ArrayRef<Signature> signatures);

} // namespace mlir::kvq

#endif // KVQ_LIB_TARGET_GPULAUNCHES_H
