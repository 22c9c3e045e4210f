//===- Rings.h - When and where rings take workgroup memory -----*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_CONVERSION_KVQTOGPU_RINGS_H
#define KVQ_LIB_CONVERSION_KVQTOGPU_RINGS_H

#include "TensorCore/BlockAttention.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <limits>

namespace mlir::kvq {

/// Bytes of the dynamic memory.
struct MemoryRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();

  void intersect(const MemoryRange &other) {
    begin = std::max(begin, other.begin);
    end = std::min(end, other.end);
  }
};

/// The rings of the block attention of a launch, each of which has the dynamic
/// memory from its begin on while the op copies. A time is an op of the
/// kernel's block before it copies, meanwhile, or behind.
class Rings {
public:
  static FailureOr<Rings> get(gpu::LaunchOp launch);

  bool exist() const { return !uses.empty(); }
  /// The first and the last time of a use.
  std::pair<unsigned, unsigned> getTimes(OpOperand &use) const;
  unsigned getEndOfTime() const { return 3 * places.size(); }

  /// Takes what is not held by other scratch, so many bytes. Fails with an error
  /// where that is too little.
  LogicalResult size(int64_t heldBytes);
  int64_t getBytes() const;
  /// What rings leave of the dynamic memory from one time to another one: all
  /// that there is, and more, where none is used.
  MemoryRange getRange(unsigned first, unsigned last) const;

private:
  struct Use {
    BlockAttentionOp op;
    unsigned time; // before it copies
    int64_t heldBytes; // by what is no scratch
    RingUse ring;
  };

  Block *body = nullptr;
  llvm::DenseMap<Operation *, unsigned> places;
  SmallVector<Use> uses;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_CONVERSION_KVQTOGPU_RINGS_H
