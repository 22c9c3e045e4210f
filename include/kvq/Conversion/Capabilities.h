//===- Capabilities.h - What chips of NVIDIA can do -------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The chips that kernels are compiled for. LLVM ends the process where a module
// uses what the chip or the PTX version lacks: who writes such code asks here
// first.
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_CONVERSION_CAPABILITIES_H
#define KVQ_CONVERSION_CAPABILITIES_H

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"

#include <array>

namespace mlir::kvq {

/// Instructions that some chips or PTX versions lack.
enum class GPUFeature {
  AsyncCopy,       // cp.async
  MatrixTranspose, // movmatrix
  BulkCopy,        // cp.async.bulk, and mbarriers that count its bytes
  FP8Conversion,   // cvt of e4m3x2 and e5m2x2
  FP4Conversion,   // cvt of e2m1x2, e2m3x2, e3m2x2 and ue8m0x2
  BF16MMA,         // mma.sync of bf16
  FP8MMA,          // mma.sync of e4m3 and e5m2
  BlockScaledMMA,  // mma.sync with block_scale
  WarpgroupMMA,    // wgmma
  TensorMemory,    // tcgen05
};
inline constexpr unsigned kNumGPUFeatures = 10;

/// In the words of messages, such as "fp8 conversions".
llvm::StringRef getName(GPUFeature feature);

/// A PTX version is written as 10 * major + minor everywhere.
struct GPUChip {
  llvm::StringLiteral name;
  /// The first PTX version that has the chip.
  unsigned firstPTX;
  /// The first one that has a feature on it; 0 where the chip lacks it.
  std::array<unsigned, kNumGPUFeatures> firstPTXWith;
  /// Most bytes of shared memory of a block, static and dynamic.
  int64_t maxSharedBytes;

  /// Its compute capability, 90 of sm_90a.
  unsigned getCapability() const;
  /// The first version that has all that the chip can do.
  unsigned getDefaultPTX() const;
};

llvm::ArrayRef<GPUChip> getGPUChips();

/// The chip whose code runs best on a GPU of a compute capability (90 for 9.0);
/// null where none does. Code for names that end with `a` runs on no other.
const GPUChip *findGPUChip(unsigned capability);

/// "sm_80, sm_89, ...", of the chips for which `filter` holds.
std::string listGPUChips(llvm::function_ref<bool(const GPUChip &)> filter =
                             [](const GPUChip &) { return true; });

/// How many blocks with so many bytes of shared memory a multiprocessor has
/// room for, where one may have at most `mostBytes`: all but what each block
/// takes beside its own.
inline constexpr int64_t countBlocks(int64_t mostBytes, int64_t bytes) {
  constexpr int64_t kReserved = 1024;
  return (mostBytes + kReserved) / (bytes + kReserved);
}

/// Most bytes of shared memory of a block that are not dynamic.
inline constexpr int64_t kMaxStaticSharedBytes = 48 * 1024;

/// Bytes of shared memory of a lowered kernel that are not dynamic.
int64_t getStaticSharedBytes(LLVM::LLVMFuncOp kernel);

/// A chip and the PTX version that is written for it.
struct GPUTarget {
  const GPUChip *chip;
  unsigned ptx;

  /// With `ptx` 0 the version is the chip's default. Fails with an error for a
  /// chip that is not in the table and a version that does not have it.
  static FailureOr<GPUTarget>
  get(llvm::function_ref<InFlightDiagnostic()> emitError, llvm::StringRef chip,
      unsigned ptx);

  /// The same, of the attribute that a `gpu.module` has.
  static FailureOr<GPUTarget>
  get(llvm::function_ref<InFlightDiagnostic()> emitError,
      NVVM::NVVMTargetAttr attribute);

  bool has(GPUFeature feature) const;

  /// Fails with an error that says what has the feature, if this has not.
  LogicalResult require(llvm::function_ref<InFlightDiagnostic()> emitError,
                        GPUFeature feature) const;
};

} // namespace mlir::kvq

#endif // KVQ_CONVERSION_CAPABILITIES_H
