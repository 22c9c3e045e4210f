//===- Footprint.h - What functions keep and allocate -----------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_FOOTPRINT_H
#define KVQ_TRANSFORMS_FOOTPRINT_H

#include "kvq/IR/Footprint.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <string>
#include <vector>

namespace mlir::kvq {

/// One cache that a function takes or makes.
struct CacheFootprint {
  Value value;
  /// The value as the printed function names it.
  std::string name;
  CacheType type;
  /// Absent where the type leaves it dynamic and nothing else gives it.
  std::optional<int64_t> capacity;
  /// For the capacity, if there is one.
  ByteSplit allocated;
  /// Whatever the capacity.
  ByteSplit fixed;
  /// For each further `type.getTokenGroup()` tokens.
  ByteSplit group;
};

/// Sums of buffer sizes. Each is a number of bytes times a product of extents
/// that are known at run time only: the bytes by the product, which is a list
/// such as `dim(%arg0, 2)`, and empty for sizes that are known.
using BufferBytes = std::map<std::vector<std::string>, int64_t>;

/// What a function needs besides its caches while it runs. Each op counts once.
struct Temporaries {
  /// Allocated once for the function.
  BufferBytes call;
  /// Allocated in a parallel loop or a kernel: by each work item that runs.
  BufferBytes workItem;
  /// Kernel launches that each call makes, and those in control flow, which
  /// says how often they are made.
  unsigned launches = 0;
  unsigned launchesInControlFlow = 0;

  bool empty() const {
    return call.empty() && workItem.empty() && launches == 0 &&
           launchesInControlFlow == 0;
  }
};

struct FunctionFootprint {
  FunctionOpInterface function;
  std::vector<CacheFootprint> caches;
  Temporaries temporaries;

  bool empty() const { return caches.empty() && temporaries.empty(); }
};

/// Measures `function`; caches of dynamic capacity are taken to have `capacity`
/// tokens. Emits an error and fails where a cache has too many bytes to count.
FailureOr<FunctionFootprint> measure(FunctionOpInterface function,
                                     std::optional<int64_t> capacity);

/// Measures all functions of a module with bodies, those that need nothing left
/// out.
FailureOr<std::vector<FunctionFootprint>>
measure(ModuleOp module, std::optional<int64_t> capacity);

/// Prints the functions as tables, or as one JSON array.
void printTables(ArrayRef<FunctionFootprint> functions, raw_ostream &os);
void printJSON(ArrayRef<FunctionFootprint> functions, raw_ostream &os);

/// Bytes for each token, from those of a token group: exact up to three places.
std::string getPerToken(int64_t groupBytes, int64_t tokens);

/// `1024 bytes x dim(%arg0, 2) + 64 bytes`.
std::string toText(const BufferBytes &buffers);

} // namespace mlir::kvq

#endif // KVQ_TRANSFORMS_FOOTPRINT_H
