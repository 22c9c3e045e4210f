//===- CUDAToolkit.cpp - PTX to machine code by NVIDIA's tools ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/GPU.h"

#include "ToolFolder.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using kvq::ToolFolder;

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

/// Runs a tool of the toolkit in its folder.
static llvm::Error runTool(ToolFolder &folder, StringRef name,
                           ArrayRef<std::string> arguments) {
  llvm::Expected<std::string> program = kvq::findCUDATool(name);
  if (!program)
    return program.takeError();
  SmallVector<std::string> command = {*program};
  command.append(arguments.begin(), arguments.end());
  return folder.run(command);
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
kvq::assemblePTX(StringRef ptx, StringRef chip) {
  ToolFolder folder("ptxas");
  if (llvm::Error error = folder.create())
    return std::move(error);
  if (llvm::Error error = folder.write("kernels.ptx", ptx))
    return std::move(error);
  if (llvm::Error error =
          runTool(folder, "ptxas",
                  {("-arch=" + chip).str(), folder.getPath("kernels.ptx"), "-o",
                   folder.getPath("kernels.cubin")}))
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
  if (llvm::Error error = runTool(folder, "fatbinary", arguments))
    return std::move(error);
  return folder.read("kernels.fatbin");
}
