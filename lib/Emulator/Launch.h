//===- Launch.h - Runs the blocks of a grid ------------------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_EMULATOR_LAUNCH_H
#define KVQ_LIB_EMULATOR_LAUNCH_H

#include "Program.h"

#include "kvq/Emulator/Emulator.h"

namespace mlir::kvq::emulator {

llvm::Error launchKernel(const Program &program, const Kernel &kernel,
                         Dim3 grid, Dim3 block, size_t dynamicSharedBytes,
                         llvm::ArrayRef<void *> parameters,
                         const LaunchOptions &options);

} // namespace mlir::kvq::emulator

#endif // KVQ_LIB_EMULATOR_LAUNCH_H
