//===- Corpus.cpp - What cases are made from ------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Corpus.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include <algorithm>

using namespace llvm;

static std::string withoutComments(StringRef text) {
  std::string kept;
  for (StringRef line : split(text, '\n'))
    if (!line.ltrim().starts_with("//"))
      (kept += line) += '\n';
  return kept;
}

/// The pipelines that a RUN line gives between quotes.
static void collectPipelines(StringRef text,
                             std::vector<std::string> &pipelines) {
  static const Regex kPipeline("--?pass-pipeline='([^']*kvq-[^']*)'");
  for (StringRef line : split(text, '\n')) {
    SmallVector<StringRef> match;
    if (line.contains("RUN:") && kPipeline.match(line, &match) &&
        !match[1].contains("%"))
      pipelines.push_back(match[1].str());
  }
}

Error fuzz::Corpus::addFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(buffer.getError(), "cannot read " + path);
  StringRef content = (*buffer)->getBuffer();
  if (path.ends_with(".mlirbc")) {
    bytecode.push_back(content.str());
    return Error::success();
  }
  collectPipelines(content, pipelines);
  SmallVector<StringRef> parts;
  content.split(parts, "\n// -----");
  for (StringRef part : parts)
    texts.push_back(withoutComments(part));
  return Error::success();
}

Error fuzz::Corpus::addFolder(StringRef path) {
  std::vector<std::string> files;
  std::error_code error;
  for (sys::fs::recursive_directory_iterator it(path, error), end;
       it != end && !error; it.increment(error))
    if (StringRef name = it->path();
        name.ends_with(".mlir") || name.ends_with(".mlirbc"))
      files.push_back(name.str());
  if (error)
    return createStringError(error, "cannot list " + path);
  // Draws pick by position.
  llvm::sort(files);
  for (const std::string &file : files)
    if (Error error = addFile(file))
      return error;
  return Error::success();
}
