//===- Corpus.h - What cases are made from ----------------------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TEST_FUZZ_CORPUS_H
#define KVQ_TEST_FUZZ_CORPUS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace fuzz {

struct Corpus {
  /// Modules as text, valid or not, without comments.
  std::vector<std::string> texts;
  /// Modules as bytecode.
  std::vector<std::string> bytecode;
  /// Pipelines of kvq: of the RUN lines of the files, and each pass alone.
  std::vector<std::string> pipelines;

  /// Adds the modules of a file: bytecode, or the parts of a file of text.
  llvm::Error addFile(llvm::StringRef path);
  /// Adds those below a folder, in order of their names.
  llvm::Error addFolder(llvm::StringRef path);
};

} // namespace fuzz

#endif // KVQ_TEST_FUZZ_CORPUS_H
