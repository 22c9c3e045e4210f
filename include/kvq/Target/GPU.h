//===- GPU.h - Kernels for NVIDIA GPUs --------------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TARGET_GPU_H
#define KVQ_TARGET_GPU_H

#include "kvq/Pipelines/Pipelines.h"

#include "kvq/Target/Signature.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace mlir::kvq {

/// Runs `kvq-nvvm-pipeline`, up to kernels in the LLVM dialect.
llvm::Error lowerForGPU(ModuleOp module, const NVVMPipelineOptions &options);

/// The same with as many tokens in a tile as options say, or fewer, halved
/// until the scratch of a block fits into its shared memory; and if none do,
/// with one query token in a block.
llvm::Error lowerForGPUToFit(ModuleOp module, NVVMPipelineOptions &options);

/// The kernels of a lowered module as code generation takes them: translated,
/// and optimized for the target that they have.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateKernels(ModuleOp module, llvm::LLVMContext &context);

/// Runs `kvq-launches-to-llvm-pipeline` on a lowered module: what is left are
/// functions for the host, that launch its kernels.
llvm::Error lowerLaunches(ModuleOp module);

/// Generates the PTX of a lowered module's kernels. Needs nothing but LLVM.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> emitPTX(ModuleOp module);

/// Writes the part of a C header that says how the kernels of a lowered module
/// are launched: their names, arguments, geometry and memory. With `isSuffixed`
/// names end with the chip's, so that a header can have several.
llvm::Error emitHeader(ModuleOp module, llvm::ArrayRef<Signature> signatures,
                       llvm::StringRef chip, bool isSuffixed,
                       llvm::raw_ostream &os);

/// The same as JSON: of each function its `arguments`, the `workspace` that its
/// kernels share, and its `launches`. Numbers that depend on sizes of arguments
/// are expressions: a name, or an operator of C (or `min`, `max`, `ceildiv`)
/// and its operands as an array.
llvm::Expected<llvm::json::Value>
describeKernels(ModuleOp module, llvm::ArrayRef<Signature> signatures);

/// The path of a tool of the CUDA toolkit: in `bin` of the folder that
/// CUDA_HOME names, on PATH, or in /usr/local/cuda/bin.
llvm::Expected<std::string> findCUDATool(llvm::StringRef name);

/// Assembles PTX to machine code for `chip` with ptxas. Where ptxas fails, the
/// error has what it printed and a command that repeats it, and the PTX is kept
/// for that.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
assemblePTX(llvm::StringRef ptx, llvm::StringRef chip);

/// Code for one chip: a cubin, or PTX, which later chips run, too.
struct GPUImage {
  std::string chip;
  std::string bytes;
  bool isPTX;
};

/// Puts code for several chips into one binary, with fatbinary.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
makeFatbin(llvm::ArrayRef<GPUImage> images);

} // namespace mlir::kvq

#endif // KVQ_TARGET_GPU_H
