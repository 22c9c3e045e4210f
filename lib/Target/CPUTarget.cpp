//===- CPUTarget.cpp - Which processor to compile for -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/CPUTarget.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/bit.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

#include <unistd.h>

using namespace mlir::kvq;

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
  });
}

CPUTarget CPUTarget::getHost() {
  std::vector<std::string> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  llvm::sort(features);
  return {llvm::sys::getDefaultTargetTriple(),
          llvm::sys::getHostCPUName().str(), llvm::join(features, ",")};
}

CPUTarget CPUTarget::get(llvm::StringRef cpu, llvm::StringRef features,
                         llvm::StringRef triple) {
  CPUTarget target = getHost();
  if (!triple.empty()) {
    target.triple = llvm::Triple::normalize(triple);
    llvm::Triple other(target.triple),
        host(llvm::sys::getDefaultTargetTriple());
    if (other.getArch() != host.getArch()) {
      target.cpu = other.isX86() ? "x86-64" : "generic";
      target.features.clear();
    }
  }
  if (!cpu.empty()) {
    target.cpu = cpu.str();
    target.features.clear(); // those of the host are not this one's
  }
  if (!target.features.empty() && !features.empty())
    target.features += ",";
  target.features += features.str();
  return target;
}

/// LLVM only prints a warning for a name that it does not know, and goes on.
static llvm::Error checkNames(const CPUTarget &target,
                              const llvm::MCSubtargetInfo &known) {
  if (!known.isCPUStringValid(target.cpu))
    return llvm::createStringError("expected a processor that LLVM knows for " +
                                   target.triple + ", got '" + target.cpu +
                                   "'");
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(target.features).split(features, ',', -1, false);
  for (llvm::StringRef feature : features) {
    llvm::StringRef name = feature;
    if (!name.consume_front("+") && !name.consume_front("-"))
      return llvm::createStringError(
          "expected a feature as +name or -name, got '" + feature + "'");
    bool isKnown = llvm::any_of(
        known.getAllProcessorFeatures(),
        [&](const llvm::SubtargetFeatureKV &kv) { return name == kv.Key; });
    if (!isKnown)
      return llvm::createStringError("expected a feature that LLVM knows for " +
                                     target.triple + ", got '" + name + "'");
  }
  return llvm::Error::success();
}

/// The features that code is generated with, where `target` asks for others.
static std::string getCodeFeatures(const llvm::Target &target,
                                   const llvm::Triple &triple,
                                   const CPUTarget &asked) {
  if (!triple.isX86())
    return asked.features;
  std::vector<std::string> features;
  // LLVM prefers vectors of 256 bits on many processors with AVX-512, whose
  // clock was lower with 512 bits before Ice Lake. That is its guess for code
  // that seldom fills them: ahead of what was asked for, which may say so too.
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target.createMCSubtargetInfo(triple, asked.cpu, asked.features));
  if (info->checkFeatures("+avx512vbmi2"))
    features.push_back("-prefer-256-bit");
  if (!asked.features.empty())
    features.push_back(asked.features);
  // Without the instructions that round to bf16 and flush what is subnormal on
  // the way, whatever the processor's mode: what is stored keeps it (rule R1).
  features.push_back("-avx512bf16,-avxneconvert");
  return llvm::join(features, ",");
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
CPUTarget::createTargetMachine() const {
  initializeTargets();
  llvm::Triple parsedTriple(triple);
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(parsedTriple, error);
  if (!target)
    return llvm::createStringError("expected a target that LLVM knows, got '" +
                                   triple + "': " + error);
  if (parsedTriple.isGPU())
    return llvm::createStringError("expected the target of a CPU, got '" +
                                   triple + "'");
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      target->createMCSubtargetInfo(parsedTriple, "", ""));
  if (llvm::Error unknown = checkNames(*this, *known))
    return std::move(unknown);
  // Default options: no fast-math beyond the flags of single instructions.
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      parsedTriple, cpu, getCodeFeatures(*target, parsedTriple, *this),
      llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return llvm::createStringError("LLVM cannot generate code for " + triple);
  return std::move(machine);
}

/// Calls `ask` with what `machine` says of itself, which is asked about a
/// function.
static void
askMachine(const llvm::TargetMachine &machine,
           llvm::function_ref<void(const llvm::TargetTransformInfo &)> ask) {
  llvm::LLVMContext context;
  llvm::Module module("", context);
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
      llvm::GlobalValue::ExternalLinkage, "f", module);
  ask(machine.getTargetTransformInfo(*function));
}

static int64_t getVectorWidth(const llvm::TargetMachine &machine) {
  constexpr uint64_t kBits = 32;
  uint64_t width = 1;
  askMachine(machine, [&](const llvm::TargetTransformInfo &info) {
    llvm::TypeSize bits = info.getRegisterBitWidth(
        llvm::TargetTransformInfo::RGK_FixedWidthVector);
    width =
        std::max<uint64_t>(llvm::bit_floor(bits.getFixedValue() / kBits), 1);
  });
  return width;
}

DataCaches mlir::kvq::getDataCaches(const CPUTarget &target,
                                    const llvm::TargetMachine &machine) {
  using Level = llvm::TargetTransformInfo::CacheLevel;
  DataCaches caches = {32 << 10, 512 << 10};
  askMachine(machine, [&](const llvm::TargetTransformInfo &info) {
    caches.l1 = info.getCacheSize(Level::L1D).value_or(caches.l1);
    caches.l2 = info.getCacheSize(Level::L2D).value_or(caches.l2);
  });
#ifdef _SC_LEVEL1_DCACHE_SIZE
  // 0 or less where the system does not know.
  if (target.cpu == llvm::sys::getHostCPUName()) {
    if (long bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE); bytes > 0)
      caches.l1 = bytes;
    if (long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); bytes > 0)
      caches.l2 = bytes;
  }
#endif
  return caches;
}

static ByteProducts getX86ByteProducts(const llvm::MCSubtargetInfo &info) {
  if (info.checkFeatures("+avx512vnni,+avx512vl"))
    return ByteProducts::AVX512VNNI;
  return info.checkFeatures("+avxvnni") ? ByteProducts::AVXVNNI
                                        : ByteProducts::None;
}

static ByteProducts getNeonByteProducts(const llvm::MCSubtargetInfo &info) {
  if (info.checkFeatures("+i8mm"))
    return ByteProducts::NeonMixedDot;
  return info.checkFeatures("+dotprod") ? ByteProducts::NeonDot
                                        : ByteProducts::Neon;
}

CPUFeatures CPUFeatures::get(const llvm::TargetMachine &machine) {
  const llvm::MCSubtargetInfo &info = *machine.getMCSubtargetInfo();
  const llvm::Triple &triple = machine.getTargetTriple();
  // What is not known to be there is written out, which is right everywhere.
  CPUFeatures features = {getVectorWidth(machine), ByteProducts::None,
                          /*hasHalf=*/false, /*hasRounding=*/false,
                          /*hasFMA=*/false};
  if (triple.isX86()) {
    features.byteProducts = getX86ByteProducts(info);
    features.hasHalf = info.checkFeatures("+f16c");
    features.hasRounding = info.checkFeatures("+sse4.1");
    features.hasFMA = info.checkFeatures("+fma");
  } else if (triple.isAArch64()) {
    features.byteProducts = getNeonByteProducts(info);
    features.hasHalf = features.hasRounding = features.hasFMA = true;
  }
  return features;
}
