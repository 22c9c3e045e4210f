//===- kvq-compile.cpp - Compiles modules over caches ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/CPUHeader.h"
#include "kvq/Target/CPUTarget.h"
#include "kvq/Target/Compile.h"
#include "kvq/Target/Diagnostics.h"
#include "kvq/Target/GPU.h"
#include "kvq/Target/Signature.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

namespace cl = llvm::cl;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
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
} // namespace

/// Where the defaults of the pipeline's options come from.
static const kvq::CPUPipelineOptions &getDefaults() {
  static const kvq::CPUPipelineOptions defaults;
  return defaults;
}

static cl::OptionCategory category("Options of kvq-compile");

static cl::opt<std::string> inputName(cl::Positional,
                                      cl::desc("<input .mlir, or - >"),
                                      cl::init("-"), cl::cat(category));
static cl::opt<std::string> outputName("o", cl::desc("Output file"),
                                       cl::value_desc("file"), cl::init("-"),
                                       cl::cat(category));
static cl::opt<Emit> emitKind(
    "emit", cl::desc("What to write"),
    cl::values(clEnumValN(Emit::LLVM, "llvm", "optimized LLVM IR, as text"),
               clEnumValN(Emit::Assembly, "asm", "assembly of the target"),
               clEnumValN(Emit::Object, "obj", "an object file"),
               clEnumValN(Emit::SharedObject, "so",
                          "a shared object, linked by the C compiler that $CC "
                          "names, or cc"),
               clEnumValN(Emit::PTX, "ptx", "kernels for NVIDIA GPUs, as text"),
               clEnumValN(Emit::Cubin, "cubin",
                          "kernels for NVIDIA GPUs, assembled by ptxas"),
               clEnumValN(Emit::Fatbin, "fatbin",
                          "kernels for several NVIDIA GPUs in one binary, by "
                          "ptxas and fatbinary"),
               clEnumValN(Emit::Header, "header",
                          "a C header that says how functions are called, or "
                          "with --chip how kernels are launched"),
               clEnumValN(Emit::Manifest, "manifest",
                          "how kernels are launched as JSON, by chip")),
    cl::init(Emit::Object), cl::cat(category));

static cl::opt<int64_t> splits(
    "splits",
    cl::desc("Token ranges per query token, attended to independently "
             "(default: by the schedules or the cost model; 1 on a GPU)"),
    cl::cat(category));
static cl::opt<int64_t>
    tileTokens("tile-tokens",
               cl::desc("Most tokens in a tile (default: by the schedules or "
                        "the cost model; 64 on a GPU)"),
               cl::cat(category));
static cl::opt<int64_t> headsInside(
    "heads-inside",
    cl::desc("Tokens of which a work item reads all KV heads in turn, 0 for a "
             "work item for each head (default: by the schedules or the cost "
             "model)"),
    cl::cat(category));
static cl::opt<int64_t>
    prefetch("prefetch",
             cl::desc("How many tiles ahead lines are prefetched, 0 for none "
                      "(default: by the schedules or the cost model)"),
             cl::cat(category));
static cl::opt<int64_t>
    threads("for-threads",
            cl::desc("Threads that calls run on, which splits are chosen for "
                     "(default: 1)"),
            cl::init(getDefaults().threads), cl::cat(category));
static cl::opt<std::string>
    schedules("schedules",
              cl::desc("Schedules that `python -m kvq_mlir tune` has written"),
              cl::value_desc("file"), cl::cat(category));
static cl::opt<int64_t> queryTile(
    "query-tile",
    cl::desc("Query tokens in a work item (0: by how many there are; for a GPU "
             "1 where a block's memory holds no more)"),
    cl::init(getDefaults().queryTile), cl::cat(category));
static cl::opt<kvq::CodeCopies>
    copies("copies",
           cl::desc("How codes for tensor cores come to a block's memory:"),
           cl::values(clEnumValN(kvq::CodeCopies::Async, "async",
                                 "by cp.async, 16 bytes a lane"),
                      clEnumValN(kvq::CodeCopies::Bulk, "bulk",
                                 "by bulk copies, on chips that have them")),
           cl::init(kvq::CodeCopies::Async), cl::cat(category));
static cl::opt<int64_t>
    vectorWidth("vector-width",
                cl::desc("Elements of f32 in a vector register (default: the "
                         "processor's)"),
                cl::init(getDefaults().vectorWidth), cl::cat(category));
static cl::opt<bool> openMP(
    "openmp",
    cl::desc("Deal work items out to the threads of OpenMP (link with -lomp)"),
    cl::init(getDefaults().openMP), cl::cat(category));
static cl::opt<std::string>
    target("target",
           cl::desc("Triple, such as aarch64-linux-gnu (default: this "
                    "machine's)"),
           cl::value_desc("triple"), cl::cat(category));
static cl::opt<std::string>
    cpu("cpu", cl::desc("Processor, as LLVM names it (default: this one)"),
        cl::cat(category));
static cl::opt<std::string>
    features("features",
             cl::desc("Features beyond the processor's own, +name or -name"),
             cl::value_desc("list"), cl::cat(category));

/// Where the defaults of the GPU pipeline's options come from.
static const kvq::NVVMPipelineOptions &getGPUDefaults() {
  static const kvq::NVVMPipelineOptions defaults;
  return defaults;
}

static cl::list<std::string>
    chips("chip",
          cl::desc("GPUs, as NVIDIA names them; several with --emit=fatbin, "
                   "header or manifest (default: sm_80)"),
          cl::value_desc("chip,..."), cl::CommaSeparated, cl::cat(category));
static cl::opt<unsigned>
    ptxVersion("ptx",
               cl::desc("PTX version, 83 for 8.3 (default: the first that has "
                        "all that the chip can do)"),
               cl::init(getGPUDefaults().ptx), cl::cat(category));
static cl::opt<int64_t> blockSize("block-size",
                                  cl::desc("Threads in a block of a GPU"),
                                  cl::init(getGPUDefaults().blockSize),
                                  cl::cat(category));

//===----------------------------------------------------------------------===//
// Emitters: from a module over caches to the bytes of the output
//===----------------------------------------------------------------------===//

static llvm::Error checkAtLeastOne(const cl::opt<int64_t> &option) {
  if (option >= 1 || option.getNumOccurrences() == 0)
    return llvm::Error::success();
  return llvm::createStringError("--" + option.ArgStr +
                                 ": expected at least 1, got " +
                                 llvm::Twine(option.getValue()));
}

/// What is for GPUs, and means nothing on a processor.
static llvm::Error checkOptionsForCPU() {
  for (const cl::Option *option : std::initializer_list<const cl::Option *>{
           std::addressof(chips), &ptxVersion, &blockSize, &copies})
    if (option->getNumOccurrences() != 0)
      return llvm::createStringError(
          "--" + option->ArgStr +
          ": expected with --emit=ptx, cubin, fatbin, manifest, or header and "
          "--chip; it is for GPUs");
  return llvm::Error::success();
}

/// Sets the options of the pipeline for `processor`.
static void setPipelineOptions(kvq::CPUPipelineOptions &options,
                               const kvq::CPUTarget &processor,
                               const llvm::TargetMachine &machine) {
  if (splits.getNumOccurrences() != 0)
    options.splits = splits;
  if (tileTokens.getNumOccurrences() != 0)
    options.tileTokens = tileTokens;
  if (headsInside.getNumOccurrences() != 0)
    options.headsInside = headsInside;
  if (prefetch.getNumOccurrences() != 0)
    options.prefetch = prefetch;
  options.threads = threads;
  options.schedules = schedules;
  options.queryTile = queryTile;
  options.openMP = openMP;
  kvq::setProcessorOptions(options, processor, machine);
  if (vectorWidth.getNumOccurrences() != 0)
    options.vectorWidth = vectorWidth;
}

/// Gives caches the types that policies and layouts give them.
static llvm::Error assignTypes(ModuleOp module, llvm::StringRef layouts) {
  return kvq::runPipeline(
      module, ("builtin.module(kvq-apply-policy," + layouts + ")").str());
}

/// The header of what `options` make of the module.
static llvm::Error emitHeaderForCPU(ModuleOp module, llvm::StringRef source,
                                    const kvq::CPUPipelineOptions &options,
                                    llvm::raw_ostream &os) {
  if (llvm::Error error = assignTypes(module, "kvq-assign-layout"))
    return error;
  OwningOpRef<ModuleOp> lowered = module.clone();
  if (llvm::Error error = kvq::lowerForCPU(*lowered, options))
    return error;
  return kvq::emitCPUHeader(module, *lowered, source, os);
}

/// Code of a lowered module, of the kind that is asked for.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
generateCode(llvm::Module &module, llvm::TargetMachine &machine) {
  if (emitKind == Emit::Assembly)
    return kvq::emitAssembly(module, machine);
  auto object = kvq::emitObject(module, machine);
  if (!object || emitKind == Emit::Object)
    return object;
  return kvq::linkSharedObject((*object)->getBuffer(),
                               machine.getTargetTriple(), openMP);
}

static llvm::Error emitForCPU(ModuleOp module, llvm::StringRef source,
                              llvm::raw_ostream &os) {
  if (llvm::Error error = checkOptionsForCPU())
    return error;
  if (!schedules.empty() && vectorWidth.getNumOccurrences() != 0)
    return llvm::createStringError("--vector-width: expected without "
                                   "--schedules, whose entries have one");
  kvq::CPUTarget processor = kvq::CPUTarget::get(cpu, features, target);
  auto machine = processor.createTargetMachine();
  if (!machine)
    return machine.takeError();
  kvq::CPUPipelineOptions options;
  setPipelineOptions(options, processor, **machine);
  if (emitKind == Emit::Header)
    return emitHeaderForCPU(module, source, options, os);
  if (llvm::Error error = kvq::lowerForCPU(module, options))
    return error;
  llvm::LLVMContext context;
  auto llvmModule = kvq::translateToLLVM(module, context, **machine);
  if (!llvmModule)
    return llvmModule.takeError();
  kvq::optimize(**llvmModule, **machine);
  if (emitKind == Emit::LLVM) {
    (*llvmModule)->print(os, nullptr);
    return llvm::Error::success();
  }
  auto code = generateCode(**llvmModule, **machine);
  if (!code)
    return code.takeError();
  os << (*code)->getBuffer();
  return llvm::Error::success();
}

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

static llvm::Error emitForGPU(ModuleOp module, llvm::raw_ostream &os) {
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

/// Whether GPUs are asked for; headers are for both.
static bool isForGPU() {
  switch (emitKind) {
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

//===----------------------------------------------------------------------===//
// Driver
//===----------------------------------------------------------------------===//

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
