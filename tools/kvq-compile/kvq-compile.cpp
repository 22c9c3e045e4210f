//===- kvq-compile.cpp - Compiles modules over caches ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "Options.h"

#include "kvq/Target/Compile.h"
#include "kvq/Target/Diagnostics.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

namespace cl = llvm::cl;
using namespace mlir;

static llvm::Error checkAtLeastOne(const cl::opt<int64_t> &option) {
  if (option >= 1 || option.getNumOccurrences() == 0)
    return llvm::Error::success();
  return llvm::createStringError("--" + option.ArgStr +
                                 ": expected at least 1, got " +
                                 llvm::Twine(option.getValue()));
}

/// Whether GPUs are asked for; headers are for both.
static bool isForGPU() {
  switch (emitKind.getValue()) {
  case Emit::LLVM:
  case Emit::Assembly:
  case Emit::Object:
  case Emit::SharedObject:
    return false;
  case Emit::Header:
    return !chips.empty();
  case Emit::PTX:
  case Emit::Cubin:
  case Emit::Fatbin:
  case Emit::Manifest:
    return true;
  }
  llvm_unreachable("unknown kind of output");
}

static llvm::Error compile() {
  for (const cl::opt<int64_t> *option :
       {&splits, &tileTokens, &vectorWidth, &blockSize, &threads})
    if (llvm::Error error = checkAtLeastOne(*option))
      return error;
  if (queryTile < 0)
    return llvm::createStringError("--query-tile: expected at least 0, got " +
                                   llvm::Twine(queryTile.getValue()));
  auto input = llvm::MemoryBuffer::getFileOrSTDIN(inputName, /*IsText=*/true);
  if (!input)
    return llvm::createStringError("cannot read '" + inputName +
                                   "': " + input.getError().message());
  DialectRegistry registry;
  kvq::registerCompilerDialects(registry);
  MLIRContext context(registry);
  context.printOpOnDiagnostic(false);
  auto module = kvq::parseModule(&context, (*input)->getBuffer(),
                                 (*input)->getBufferIdentifier());
  if (!module)
    return module.takeError();

  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (llvm::Error error = isForGPU()
                              ? emitForGPU(**module, os)
                              : emitForCPU(**module, (*input)->getBuffer(), os))
    return error;
  std::error_code code;
  llvm::ToolOutputFile output(outputName, code, llvm::sys::fs::OF_None);
  if (code)
    return llvm::createStringError("cannot write '" + outputName +
                                   "': " + code.message());
  output.os() << bytes;
  output.keep();
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Compiles modules over kvq caches\n");
  return kvq::finishTool("kvq-compile", compile());
}
