//===- Options.h - Options of kvq-compile -----------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TOOLS_KVQ_COMPILE_OPTIONS_H
#define KVQ_TOOLS_KVQ_COMPILE_OPTIONS_H

#include "kvq/Pipelines/Pipelines.h"

#include "llvm/Support/CommandLine.h"

/// What to write.
enum class Emit {
  LLVM,
  Assembly,
  Object,
  SharedObject,
  PTX,
  Cubin,
  Fatbin,
  Header,
  Manifest
};

extern llvm::cl::OptionCategory category;
extern llvm::cl::opt<std::string> inputName;
extern llvm::cl::opt<std::string> outputName;
extern llvm::cl::opt<Emit> emitKind;
extern llvm::cl::opt<int64_t> splits;
extern llvm::cl::opt<int64_t> tileTokens;
extern llvm::cl::opt<int64_t> headsInside;
extern llvm::cl::opt<int64_t> prefetch;
extern llvm::cl::opt<int64_t> threads;
extern llvm::cl::opt<std::string> schedules;
extern llvm::cl::opt<int64_t> queryTile;
extern llvm::cl::opt<mlir::kvq::CodeCopies> copies;
extern llvm::cl::opt<int64_t> vectorWidth;
extern llvm::cl::opt<bool> openMP;
extern llvm::cl::opt<std::string> target;
extern llvm::cl::opt<std::string> cpu;
extern llvm::cl::opt<std::string> features;
extern llvm::cl::list<std::string> chips;
extern llvm::cl::opt<unsigned> ptxVersion;
extern llvm::cl::opt<int64_t> blockSize;

/// Where the defaults of the GPU pipeline's options come from.
const mlir::kvq::NVVMPipelineOptions &getGPUDefaults();

#endif // KVQ_TOOLS_KVQ_COMPILE_OPTIONS_H
