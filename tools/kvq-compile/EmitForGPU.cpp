//===- EmitForGPU.cpp - Kernels and headers for GPUs ----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "Options.h"

#include "kvq/Target/Compile.h"
#include "kvq/Target/GPU.h"
#include "kvq/Target/Signature.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace cl = llvm::cl;
using namespace mlir;

/// What is for processors, and means nothing on a GPU.
static llvm::Error checkOptionsForGPU() {
  if (openMP)
    return llvm::createStringError("--openmp: expected with --emit=llvm, asm, "
                                   "obj or so; a GPU has threads of its own");
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           &headsInside, &prefetch, &threads, &schedules, &vectorWidth, &target,
           &cpu, &features})
    if (option->getNumOccurrences() != 0)
      return llvm::createStringError(
          "--" + option->ArgStr +
          ": expected with --emit=llvm, asm, obj, so, or header without "
          "--chip; it is for processors");
  if (chips.size() > 1 && (emitKind == Emit::PTX || emitKind == Emit::Cubin))
    return llvm::createStringError(
        "--chip: expected one chip with --emit=ptx or cubin, got " +
        llvm::Twine(chips.size()) + "; --emit=fatbin takes several");
  llvm::StringSet<> found;
  for (llvm::StringRef chip : chips)
    if (!found.insert(chip).second)
      return llvm::createStringError("--chip: expected each chip once, got '" +
                                     chip + "' twice");
  return llvm::Error::success();
}

static llvm::Error lowerForChip(ModuleOp module, llvm::StringRef chip) {
  kvq::NVVMPipelineOptions options;
  if (splits.getNumOccurrences() != 0)
    options.splits = splits;
  options.blockSize = blockSize;
  options.chip = chip.str();
  options.ptx = ptxVersion;
  options.queryTile = queryTile;
  options.copies = copies.getValue();
  if (tileTokens.getNumOccurrences() == 0)
    return kvq::lowerForGPUToFit(module, options);
  options.tileTokens = tileTokens;
  return kvq::lowerForGPU(module, options);
}

/// The cubin of a lowered module, and its PTX beside, which later chips run,
/// unless it is for one chip alone.
static llvm::Error addImages(ModuleOp module, const std::string &chip,
                             std::vector<kvq::GPUImage> &images) {
  auto ptx = kvq::emitPTX(module);
  if (!ptx)
    return ptx.takeError();
  auto cubin = kvq::assemblePTX((*ptx)->getBuffer(), chip);
  if (!cubin)
    return cubin.takeError();
  images.push_back({chip, (*cubin)->getBuffer().str(), /*isPTX=*/false});
  if (!llvm::StringRef(chip).ends_with("a"))
    images.push_back({chip, (*ptx)->getBuffer().str(), /*isPTX=*/true});
  return llvm::Error::success();
}

static llvm::Error emitFatbin(ModuleOp module,
                              llvm::ArrayRef<std::string> names,
                              llvm::raw_ostream &os) {
  std::vector<kvq::GPUImage> images;
  for (const std::string &chip : names) {
    OwningOpRef<ModuleOp> lowered = module.clone();
    if (llvm::Error error = lowerForChip(*lowered, chip))
      return error;
    if (llvm::Error error = addImages(*lowered, chip, images))
      return error;
  }
  auto fatbin = kvq::makeFatbin(images);
  if (!fatbin)
    return fatbin.takeError();
  os << (*fatbin)->getBuffer();
  return llvm::Error::success();
}

/// Lowers the module for each chip, and gives what results to `write`, with the
/// signatures of the types that policies and layouts give.
static llvm::Error forEachChip(
    ModuleOp module, llvm::ArrayRef<std::string> names,
    llvm::function_ref<llvm::Error(ModuleOp, llvm::ArrayRef<kvq::Signature>,
                                   llvm::StringRef)>
        write) {
  if (llvm::Error error = assignTypes(module, "kvq-assign-layout{target=gpu}"))
    return error;
  auto signatures = kvq::getSignatures(module);
  if (!signatures)
    return signatures.takeError();
  for (const std::string &chip : names) {
    OwningOpRef<ModuleOp> lowered = module.clone();
    if (llvm::Error error = lowerForChip(*lowered, chip))
      return error;
    if (llvm::Error error = write(*lowered, *signatures, chip))
      return error;
  }
  return llvm::Error::success();
}

static llvm::Error emitHeaders(ModuleOp module,
                               llvm::ArrayRef<std::string> names,
                               llvm::raw_ostream &os) {
  os << "/* How kernels that kvq has compiled are launched. */\n\n"
        "#pragma once\n\n#include <stddef.h>\n#include <stdint.h>\n\n";
  return forEachChip(
      module, names, [&](ModuleOp lowered, auto signatures, StringRef chip) {
        return kvq::emitHeader(lowered, signatures, chip,
                               /*isSuffixed=*/names.size() > 1, os);
      });
}

static llvm::Error emitManifest(ModuleOp module,
                                llvm::ArrayRef<std::string> names,
                                llvm::raw_ostream &os) {
  llvm::json::Object manifest;
  auto describe = [&](ModuleOp lowered, auto signatures,
                      StringRef chip) -> llvm::Error {
    auto kernels = kvq::describeKernels(lowered, signatures);
    if (!kernels)
      return kernels.takeError();
    manifest[chip] = std::move(*kernels);
    return llvm::Error::success();
  };
  if (llvm::Error error = forEachChip(module, names, describe))
    return error;
  os << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(manifest)));
  return llvm::Error::success();
}

llvm::Error emitForGPU(ModuleOp module, llvm::raw_ostream &os) {
  if (llvm::Error error = checkOptionsForGPU())
    return error;
  std::vector<std::string> names(chips.begin(), chips.end());
  if (names.empty())
    names = {getGPUDefaults().chip};
  if (emitKind == Emit::Fatbin)
    return emitFatbin(module, names, os);
  if (emitKind == Emit::Header)
    return emitHeaders(module, names, os);
  if (emitKind == Emit::Manifest)
    return emitManifest(module, names, os);
  if (llvm::Error error = lowerForChip(module, names.front()))
    return error;
  auto ptx = kvq::emitPTX(module);
  if (!ptx)
    return ptx.takeError();
  if (emitKind == Emit::PTX) {
    os << (*ptx)->getBuffer();
    return llvm::Error::success();
  }
  auto cubin = kvq::assemblePTX((*ptx)->getBuffer(), names.front());
  if (!cubin)
    return cubin.takeError();
  os << (*cubin)->getBuffer();
  return llvm::Error::success();
}
