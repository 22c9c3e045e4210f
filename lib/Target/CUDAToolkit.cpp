//===- CUDAToolkit.cpp - PTX to machine code by NVIDIA's tools ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/GPU.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

llvm::Expected<std::string> kvq::findCUDATool(StringRef name) {
  SmallVector<std::string> folders;
  if (auto home = llvm::sys::Process::GetEnv("CUDA_HOME"))
    folders.push_back(*home + "/bin");
  if (auto path = llvm::sys::Process::GetEnv("PATH")) {
    SmallVector<StringRef> entries;
    StringRef(*path).split(entries, llvm::sys::EnvPathSeparator, -1, false);
    folders.append(entries.begin(), entries.end());
  }
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string &folder : folders) {
    SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    if (llvm::sys::fs::can_execute(path))
      return std::string(path);
  }
  return llvm::createStringError(
      "expected " + name +
      " of the CUDA toolkit in $CUDA_HOME/bin, on PATH or in "
      "/usr/local/cuda/bin, found it in none; PTX needs no toolkit");
}

static std::string readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().rtrim().str() : std::string();
}

static llvm::Error cannot(const llvm::Twine &what, std::error_code code) {
  return llvm::createStringError("cannot " + what + ": " + code.message());
}

namespace {

/// A folder for what a tool reads and writes, which is removed unless the tool
/// has failed.
class ToolFolder {
public:
  explicit ToolFolder(StringRef tool) : tool(tool) {}
  ToolFolder(const ToolFolder &) = delete;
  ~ToolFolder() {
    if (!keep && !path.empty())
      llvm::sys::fs::remove_directories(path);
  }

  llvm::Error create() {
    if (std::error_code code =
            llvm::sys::fs::createUniqueDirectory("kvq-" + tool, path))
      return cannot("make a folder for " + tool, code);
    return llvm::Error::success();
  }

  std::string getPath(const llvm::Twine &name) const {
    return (path + "/" + name).str();
  }

  llvm::Error write(const llvm::Twine &name, StringRef bytes) const;

  /// Runs the tool. Where it fails, the error has what it printed and a command
  /// that repeats it.
  llvm::Error run(ArrayRef<std::string> arguments);

  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
  read(const llvm::Twine &name) const;

private:
  std::string tool;
  SmallString<128> path;
  bool keep = false;
};

} // namespace

llvm::Error ToolFolder::write(const llvm::Twine &name, StringRef bytes) const {
  std::error_code code;
  llvm::raw_fd_ostream os(getPath(name), code);
  if (code)
    return cannot("write '" + getPath(name) + "'", code);
  os << bytes;
  return llvm::Error::success();
}

llvm::Error ToolFolder::run(ArrayRef<std::string> arguments) {
  llvm::Expected<std::string> program = kvq::findCUDATool(tool);
  if (!program)
    return program.takeError();
  SmallVector<StringRef> command = {*program};
  command.append(arguments.begin(), arguments.end());
  std::string log = getPath("log"), message;
  int status = llvm::sys::ExecuteAndWait(
      *program, command, /*Env=*/std::nullopt,
      /*Redirects=*/{StringRef(""), StringRef(log), StringRef(log)},
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  if (status == 0)
    return llvm::Error::success();
  keep = true;
  return llvm::createStringError(tool + " failed: " + readFile(log) + message +
                                 "\nto repeat it: " + llvm::join(command, " "));
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

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
kvq::assemblePTX(StringRef ptx, StringRef chip) {
  ToolFolder folder("ptxas");
  if (llvm::Error error = folder.create())
    return std::move(error);
  if (llvm::Error error = folder.write("kernels.ptx", ptx))
    return std::move(error);
  if (llvm::Error error =
          folder.run({("-arch=" + chip).str(), folder.getPath("kernels.ptx"),
                      "-o", folder.getPath("kernels.cubin")}))
    return std::move(error);
  return folder.read("kernels.cubin");
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
kvq::makeFatbin(ArrayRef<GPUImage> images) {
  ToolFolder folder("fatbinary");
  if (llvm::Error error = folder.create())
    return std::move(error);
  SmallVector<std::string> arguments = {
      "-64", "--create=" + folder.getPath("kernels.fatbin")};
  for (const GPUImage &image : images) {
    std::string kind = image.isPTX ? "ptx" : "elf";
    std::string name = image.chip + "." + kind;
    if (llvm::Error error = folder.write(name, image.bytes))
      return std::move(error);
    arguments.push_back("--image3=kind=" + kind +
                        ",sm=" + StringRef(image.chip).drop_front(3).str() +
                        ",file=" + folder.getPath(name));
  }
  if (llvm::Error error = folder.run(arguments))
    return std::move(error);
  return folder.read("kernels.fatbin");
}
