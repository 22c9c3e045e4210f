//===- Ptxas.cpp - PTX to machine code by ptxas ---------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/GPU.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

llvm::Expected<std::string> kvq::findPtxas() {
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
    llvm::sys::path::append(path, "ptxas");
    if (llvm::sys::fs::can_execute(path))
      return std::string(path);
  }
  return llvm::createStringError(
      "expected ptxas of the CUDA toolkit in $CUDA_HOME/bin, on PATH or in "
      "/usr/local/cuda/bin, found it in none; PTX needs no toolkit");
}

static std::string readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().rtrim().str() : std::string();
}

static llvm::Error cannot(const llvm::Twine &what, std::error_code code) {
  return llvm::createStringError("cannot " + what + ": " + code.message());
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
kvq::assemblePTX(StringRef ptx, StringRef chip) {
  llvm::Expected<std::string> ptxas = findPtxas();
  if (!ptxas)
    return ptxas.takeError();
  SmallString<128> folder;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("kvq-ptxas", folder))
    return cannot("make a folder for ptxas", code);
  bool keep = false;
  llvm::scope_exit cleanUp([&] {
    if (!keep)
      llvm::sys::fs::remove_directories(folder);
  });
  std::string input = (folder + "/kernels.ptx").str();
  std::string output = (folder + "/kernels.cubin").str();
  std::string log = (folder + "/ptxas.log").str();
  std::error_code code;
  {
    llvm::raw_fd_ostream os(input, code);
    os << ptx;
  }
  if (code)
    return cannot("write '" + input + "'", code);

  std::string chipOption = ("-arch=" + chip).str();
  SmallVector<StringRef> command = {*ptxas, chipOption, input, "-o", output};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(
      *ptxas, command, /*Env=*/std::nullopt,
      /*Redirects=*/{StringRef(""), StringRef(log), StringRef(log)},
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  if (status != 0) {
    keep = true;
    return llvm::createStringError(
        "ptxas failed: " + readFile(log) + message +
        "\nto repeat it: " + llvm::join(command, " "));
  }
  auto cubin = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!cubin)
    return cannot("read '" + output + "'", cubin.getError());
  // The file goes away before the buffer does.
  return llvm::MemoryBuffer::getMemBufferCopy((*cubin)->getBuffer(), "cubin");
}
