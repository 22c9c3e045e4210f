//===- Capabilities.cpp - What chips of NVIDIA can do ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Conversion/Capabilities.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::kvq;

static constexpr llvm::StringLiteral kFeatureNames[kNumGPUFeatures] = {
    "asynchronous copies",
    "transposes of matrices",
    "bulk copies",
    "fp8 conversions",
    "fp4 conversions",
    "bf16 matrix products",
    "fp8 matrix products",
    "block-scaled matrix products",
    "warpgroup matrix products",
    "tensor memory"};

/// From the PTX ISA's "PTX ISA Notes" and "Target ISA Notes" of each
/// instruction, and the shared memory of the CUDA programming guide's table of
/// technical specifications per compute capability.
// clang-format off
static constexpr GPUChip kChips[] = {
    //          first  async movm bulk fp8c fp4c bf16 fp8m scal wgmm tmem
    {"sm_80",   70,   {70,   78,  0,   0,   0,   70,  0,   0,   0,   0}, 163 << 10},
    {"sm_89",   78,   {78,   78,  0,   81,  0,   78,  84,  0,   0,   0},  99 << 10},
    {"sm_90a",  80,   {80,   80,  80,  80,  0,   80,  84,  0,   80,  0}, 227 << 10},
    {"sm_100a", 86,   {86,   86,  86,  86,  86,  86,  86,  0,   0,  86}, 227 << 10},
    {"sm_120a", 87,   {87,   87,  87,  87,  87,  87,  87,  87,  0,   0},  99 << 10}};
// clang-format on

/// The PTX versions since the first chip's that LLVM 22 writes.
static constexpr unsigned kPTXVersions[] = {
    70, 71, 72, 73, 74, 75, 76, 77, 78, 80, 81, 82, 83, 84, 85, 86, 87, 88, 90};

StringRef kvq::getName(GPUFeature feature) {
  return kFeatureNames[unsigned(feature)];
}

ArrayRef<GPUChip> kvq::getGPUChips() { return kChips; }

const GPUChip *kvq::findGPUChip(unsigned capability) {
  const GPUChip *best = nullptr;
  for (const GPUChip &chip : kChips) { // in ascending order
    bool isAlone = chip.name.ends_with("a");
    if (isAlone ? chip.getCapability() == capability
                : chip.getCapability() <= capability)
      best = &chip;
  }
  return best;
}

std::string
kvq::listGPUChips(llvm::function_ref<bool(const GPUChip &)> filter) {
  SmallVector<StringRef> names;
  for (const GPUChip &chip : kChips)
    if (filter(chip))
      names.push_back(chip.name);
  return llvm::join(names, ", ");
}

unsigned GPUChip::getCapability() const {
  unsigned capability = 0;
  name.drop_front(strlen("sm_")).rtrim('a').getAsInteger(10, capability);
  return capability;
}

unsigned GPUChip::getDefaultPTX() const {
  return std::max(firstPTX, *llvm::max_element(firstPTXWith));
}

static std::string getVersionText(unsigned ptx) {
  return std::to_string(ptx / 10) + "." + std::to_string(ptx % 10);
}

FailureOr<GPUTarget>
GPUTarget::get(llvm::function_ref<InFlightDiagnostic()> emitError,
               StringRef name, unsigned ptx) {
  const GPUChip *chip =
      llvm::find_if(kChips, [&](const GPUChip &c) { return c.name == name; });
  if (chip == std::end(kChips)) {
    emitError() << "expected one of " << listGPUChips() << " as chip, found '"
                << name << "'";
    return failure();
  }
  unsigned version = ptx == 0 ? chip->getDefaultPTX() : ptx;
  if (version < chip->firstPTX || !llvm::is_contained(kPTXVersions, version)) {
    emitError() << "expected a PTX version that LLVM writes, from "
                << chip->firstPTX << " for " << name << ", found " << version;
    return failure();
  }
  return GPUTarget{chip, version};
}

FailureOr<GPUTarget>
GPUTarget::get(llvm::function_ref<InFlightDiagnostic()> emitError,
               NVVM::NVVMTargetAttr attribute) {
  StringRef features = attribute.getFeatures();
  unsigned ptx;
  if (!features.consume_front("+ptx") || features.getAsInteger(10, ptx)) {
    emitError() << "expected a PTX version such as \"+ptx80\" as the features "
                   "of an #nvvm.target, found \""
                << attribute.getFeatures() << "\"";
    return failure();
  }
  return get(emitError, attribute.getChip(), ptx);
}

bool GPUTarget::has(GPUFeature feature) const {
  unsigned first = chip->firstPTXWith[unsigned(feature)];
  return first != 0 && first <= ptx;
}

LogicalResult
GPUTarget::require(llvm::function_ref<InFlightDiagnostic()> emitError,
                   GPUFeature feature) const {
  if (has(feature))
    return success();
  unsigned first = chip->firstPTXWith[unsigned(feature)];
  if (first != 0)
    return emitError() << "expected PTX " << getVersionText(first)
                       << " or later for " << getName(feature) << " on "
                       << chip->name << ", found " << getVersionText(ptx);
  std::string others = listGPUChips([&](const GPUChip &other) {
    return other.firstPTXWith[unsigned(feature)] != 0;
  });
  return emitError() << "expected a chip with " << getName(feature) << " ("
                     << others << "), found " << chip->name;
}
