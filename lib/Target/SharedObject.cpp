//===- SharedObject.cpp - Shared objects by the system's C compiler -------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/Compile.h"

#include "ToolFolder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace mlir::kvq;

/// The words of $CC, or `cc`, the first as a path.
static llvm::Expected<SmallVector<std::string>> findCompiler() {
  std::string named = llvm::sys::Process::GetEnv("CC").value_or("");
  SmallVector<StringRef> words;
  StringRef(named).split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (words.empty())
    words = {"cc"};
  auto program = llvm::sys::findProgramByName(words.front());
  if (!program || !llvm::sys::fs::can_execute(*program))
    return llvm::createStringError(
        "--emit=so: expected a C compiler to link with, '" + words.front() +
        "' is not on PATH; $CC names another, and --emit=obj needs none");
  SmallVector<std::string> command(words.begin(), words.end());
  command.front() = *program;
  return command;
}

/// Without $CC the compiler is one for this machine.
static llvm::Error checkMachine(const llvm::Triple &triple) {
  llvm::Triple host(llvm::sys::getProcessTriple());
  if (triple.getArch() == host.getArch() || llvm::sys::Process::GetEnv("CC"))
    return llvm::Error::success();
  return llvm::createStringError(
      "--emit=so: expected $CC to name a C compiler that links for " +
      triple.str() + ", as cc links for " + host.str());
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
kvq::linkSharedObject(StringRef object, const llvm::Triple &triple,
                      bool openMP) {
  if (llvm::Error error = checkMachine(triple))
    return std::move(error);
  llvm::Expected<SmallVector<std::string>> command = findCompiler();
  if (!command)
    return command.takeError();
  ToolFolder folder("cc");
  if (llvm::Error error = folder.create())
    return std::move(error);
  if (llvm::Error error = folder.write("code.o", object))
    return std::move(error);
  // What is missing is missing now, not where the object is loaded.
  for (const char *word : {"-shared", "-Wl,-z,defs", "-o"})
    command->push_back(word);
  command->push_back(folder.getPath("code.so"));
  command->push_back(folder.getPath("code.o"));
  // By file, as Debian has it without headers.
  if (openMP)
    command->push_back("-l:libomp.so.5");
  command->push_back("-lm");
  if (llvm::Error error = folder.run(*command))
    return std::move(error);
  return folder.read("code.so");
}
