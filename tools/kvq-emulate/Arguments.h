//===- Arguments.h - Arguments of a kernel, as text ----------- -*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TOOLS_KVQ_EMULATE_ARGUMENTS_H
#define KVQ_TOOLS_KVQ_EMULATE_ARGUMENTS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <memory>
#include <vector>

/// One argument: a number, or memory that the kernel may touch.
class Argument {
public:
  /// Parses `TYPE:NUMBER`, `zeros:BYTES`, `ones:BYTES` (all bits set),
  /// `iota:TYPE:COUNT`, `list:TYPE:NUMBER,...` or `file:PATH`. Memory that
  /// begins with `const-` is read-only. With a shape in front, `2x3@`, it is
  /// what a memref expands to: two pointers, an offset, sizes and strides.
  static llvm::Expected<Argument> parse(llvm::StringRef text);

  /// Adds what the kernel gets: pointers to its arguments.
  void addParameters(llvm::SmallVectorImpl<void *> &parameters);
  /// Prints elements of a type from the beginning on; 0: as many as there are.
  llvm::Error print(llvm::raw_ostream &os, llvm::StringRef type,
                    size_t count) const;

private:
  /// Takes the memory back from the kernels.
  struct Release {
    void operator()(char *memory) const;
  };

  llvm::Error parseMemory(llvm::StringRef kind, llvm::StringRef rest);
  void allocate(size_t size);

  std::vector<uint64_t> values;
  std::unique_ptr<char, Release> memory;
  size_t bytes = 0;
};

#endif // KVQ_TOOLS_KVQ_EMULATE_ARGUMENTS_H
