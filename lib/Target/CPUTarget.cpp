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

using namespace mlir::kvq;

static void initializeNativeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
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

CPUTarget CPUTarget::get(llvm::StringRef cpu, llvm::StringRef features) {
  CPUTarget target = getHost();
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

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
CPUTarget::createTargetMachine() const {
  initializeNativeTarget();
  llvm::Triple parsedTriple(triple);
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(parsedTriple, error);
  if (!target)
    return llvm::createStringError(error);
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      target->createMCSubtargetInfo(parsedTriple, "", ""));
  if (llvm::Error unknown = checkNames(*this, *known))
    return std::move(unknown);
  // Default options: no fast-math beyond the flags of single instructions.
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      parsedTriple, cpu, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!machine)
    return llvm::createStringError("LLVM cannot generate code for " + triple);
  return std::move(machine);
}

int64_t mlir::kvq::getVectorWidth(const llvm::TargetMachine &machine) {
  // What is preferred is asked about a function.
  llvm::LLVMContext context;
  llvm::Module module("", context);
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), false),
      llvm::GlobalValue::ExternalLinkage, "f", module);
  llvm::TypeSize bits =
      machine.getTargetTransformInfo(*function).getRegisterBitWidth(
          llvm::TargetTransformInfo::RGK_FixedWidthVector);
  constexpr uint64_t kBits = 32;
  return std::max<uint64_t>(llvm::bit_floor(bits.getFixedValue() / kBits), 1);
}

ByteProducts mlir::kvq::getByteProducts(const llvm::TargetMachine &machine) {
  if (!machine.getTargetTriple().isX86())
    return ByteProducts::None;
  const llvm::MCSubtargetInfo *info = machine.getMCSubtargetInfo();
  if (info->checkFeatures("+avx512vnni,+avx512vl"))
    return ByteProducts::AVX512VNNI;
  return info->checkFeatures("+avxvnni") ? ByteProducts::AVXVNNI
                                         : ByteProducts::None;
}
