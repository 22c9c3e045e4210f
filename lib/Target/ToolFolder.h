//===- ToolFolder.h - Tools that read and write files -----------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_LIB_TARGET_TOOLFOLDER_H
#define KVQ_LIB_TARGET_TOOLFOLDER_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace mlir::kvq {

/// A folder for what a tool reads and writes, which is removed unless the tool
/// has failed.
class ToolFolder {
public:
  explicit ToolFolder(StringRef tool) : tool(tool) {}
  ToolFolder(const ToolFolder &) = delete;
  ~ToolFolder();

  llvm::Error create();

  std::string getPath(const llvm::Twine &name) const {
    return (path + "/" + name).str();
  }

  llvm::Error write(const llvm::Twine &name, StringRef bytes) const;

  /// Runs a command, the path of a program and its arguments. Where it fails,
  /// the error has what it printed and a command that repeats it.
  llvm::Error run(ArrayRef<std::string> command);

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
  read(const llvm::Twine &name) const;

private:
  std::string tool;
  llvm::SmallString<128> path;
  bool keep = false;
};

} // namespace mlir::kvq

#endif // KVQ_LIB_TARGET_TOOLFOLDER_H
