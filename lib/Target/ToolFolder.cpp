//===- ToolFolder.cpp - Tools that read and write files -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolFolder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvq;

static std::string readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().rtrim().str() : std::string();
}

static llvm::Error cannot(const llvm::Twine &what, std::error_code code) {
  return llvm::createStringError("cannot " + what + ": " + code.message());
}

ToolFolder::~ToolFolder() {
  if (keep || path.empty())
    return;
  // What is left then does no harm.
  [[maybe_unused]] std::error_code code =
      llvm::sys::fs::remove_directories(path);
}

llvm::Error ToolFolder::create() {
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("kvq-" + tool, path))
    return cannot("make a folder for " + tool, code);
  return llvm::Error::success();
}

llvm::Error ToolFolder::write(const llvm::Twine &name, StringRef bytes) const {
  std::error_code code;
  llvm::raw_fd_ostream os(getPath(name), code);
  if (code)
    return cannot("write '" + getPath(name) + "'", code);
  os << bytes;
  return llvm::Error::success();
}

llvm::Error ToolFolder::run(ArrayRef<std::string> command) {
  SmallVector<StringRef> words(command.begin(), command.end());
  std::string log = getPath("log"), message;
  int status = llvm::sys::ExecuteAndWait(
      words.front(), words, /*Env=*/std::nullopt,
      /*Redirects=*/{StringRef(""), StringRef(log), StringRef(log)},
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  if (status == 0)
    return llvm::Error::success();
  keep = true;
  return llvm::createStringError(tool + " failed: " + readFile(log) + message +
                                 "\nto repeat it: " + llvm::join(words, " "));
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
ToolFolder::read(const llvm::Twine &name) const {
  auto bytes = llvm::MemoryBuffer::getFile(getPath(name), /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return cannot("read '" + getPath(name) + "'", bytes.getError());
  // The file goes away before the buffer does.
  return llvm::MemoryBuffer::getMemBufferCopy((*bytes)->getBuffer());
}
