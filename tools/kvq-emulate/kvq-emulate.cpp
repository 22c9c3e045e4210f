//===- kvq-emulate.cpp - Runs GPU kernels on the CPU ----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "kvq/Emulator/Emulator.h"
#include "kvq/Target/Compile.h"
#include "kvq/Target/Diagnostics.h"
#include "kvq/Target/GPU.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cl = llvm::cl;
using namespace mlir;
using kvq::emulator::Dim3;
using kvq::emulator::LaunchOptions;
using kvq::emulator::Order;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static cl::OptionCategory category("Options of kvq-emulate");

static cl::opt<std::string> inputName(cl::Positional,
                                      cl::desc("<input .mlir, or - >"),
                                      cl::init("-"), cl::cat(category));
static cl::opt<std::string>
    kernelName("kernel", cl::desc("Kernel (default: the only one)"),
               cl::value_desc("name"), cl::cat(category));
static cl::opt<std::string> gridText("grid", cl::desc("Blocks (default: 1)"),
                                     cl::value_desc("x[,y[,z]]"), cl::init("1"),
                                     cl::cat(category));
static cl::opt<std::string>
    blockText("block", cl::desc("Threads in a block (default: 32)"),
              cl::value_desc("x[,y[,z]]"), cl::init("32"), cl::cat(category));
static cl::opt<unsigned> sharedBytes("shared",
                                     cl::desc("Dynamic shared memory"),
                                     cl::value_desc("bytes"), cl::init(0),
                                     cl::cat(category));
static cl::list<std::string> argumentTexts(
    "arg",
    cl::desc("An argument: TYPE:NUMBER, zeros:BYTES, ones:BYTES, "
             "iota:TYPE:COUNT, list:TYPE:NUMBER,... or file:PATH; const- in "
             "front makes memory read-only, 2x3@ a memref of it"),
    cl::value_desc("argument"), cl::cat(category));
static cl::list<std::string> printTexts(
    "print",
    cl::desc("Prints memory after the launch: of the argument with this index"),
    cl::value_desc("index:type[:count]"), cl::cat(category));
static cl::opt<Order>
    order("order", cl::desc("In which order threads and blocks run"),
          cl::values(clEnumValN(Order::Forward, "forward", "by their indices"),
                     clEnumValN(Order::Reverse, "reverse", "the last first"),
                     clEnumValN(Order::Random, "random", "mixed, by --seed")),
          cl::init(Order::Forward), cl::cat(category));
static cl::opt<uint64_t> seed("seed", cl::desc("Of --order=random"),
                              cl::init(0), cl::cat(category));
static cl::opt<unsigned>
    workers("workers",
            cl::desc("Threads of this machine (default: all processors)"),
            cl::init(0), cl::cat(category));
static cl::opt<bool>
    races("races",
          cl::desc("Whether races and reads of unwritten shared memory are "
                   "errors (default: true)"),
          cl::init(true), cl::cat(category));

/// Where kernels that are not in the LLVM dialect yet are for.
static cl::opt<std::string> chip("chip", cl::desc("GPU, as NVIDIA names it"),
                                 cl::init(kvq::NVVMPipelineOptions().chip),
                                 cl::cat(category));
static cl::opt<unsigned>
    ptxVersion("ptx",
               cl::desc("PTX version, 83 for 8.3 (default: the first that has "
                        "the chip)"),
               cl::init(kvq::NVVMPipelineOptions().ptx), cl::cat(category));

static llvm::Expected<Dim3> parseDim3(const cl::opt<std::string> &option) {
  SmallVector<StringRef, 3> parts;
  StringRef(option.getValue()).split(parts, ',');
  uint32_t sizes[3] = {1, 1, 1};
  bool isValid = parts.size() <= 3;
  for (size_t i = 0; isValid && i != parts.size(); ++i)
    isValid = !parts[i].getAsInteger(10, sizes[i]);
  if (!isValid)
    return llvm::createStringError("--" + option.ArgStr +
                                   ": expected x, x,y or x,y,z, got '" +
                                   option + "'");
  return Dim3{sizes[0], sizes[1], sizes[2]};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Parses and lowers the kernels, and translates them as for a GPU, with the
/// places of the instructions.
static llvm::Expected<std::unique_ptr<llvm::Module>>
compile(llvm::LLVMContext &context) {
  auto input = llvm::MemoryBuffer::getFileOrSTDIN(inputName, /*IsText=*/true);
  if (!input)
    return llvm::createStringError("cannot read '" + inputName +
                                   "': " + input.getError().message());
  DialectRegistry registry;
  kvq::registerCompilerDialects(registry);
  MLIRContext mlirContext(registry);
  mlirContext.printOpOnDiagnostic(false);
  auto module = kvq::parseModule(&mlirContext, (*input)->getBuffer(),
                                 (*input)->getBufferIdentifier());
  if (!module)
    return module.takeError();
  std::string pipeline =
      "builtin.module(kvq-kernels-to-nvvm-pipeline{chip=" + chip +
      " ptx=" + std::to_string(ptxVersion) +
      "},gpu.module(convert-nvvm-to-llvm),"
      "ensure-debug-info-scope-on-llvm-func)";
  if (llvm::Error error = kvq::runPipeline(**module, pipeline))
    return error;
  return kvq::translateKernels(**module, context);
}

/// The name of the kernel that is asked for.
static llvm::Expected<std::string> findKernel(const llvm::Module &module) {
  if (!kernelName.empty())
    return kernelName.getValue();
  std::string found;
  for (const llvm::Function &function : module) {
    if (function.getCallingConv() != llvm::CallingConv::PTX_Kernel)
      continue;
    if (!found.empty())
      return llvm::createStringError("expected --kernel, as there are several");
    found = function.getName().str();
  }
  return found;
}

static llvm::Error printArguments(ArrayRef<Argument> arguments) {
  for (StringRef text : printTexts) {
    SmallVector<StringRef, 3> parts;
    text.split(parts, ':');
    size_t index, count = 0;
    if (parts.size() < 2 || parts.size() > 3 ||
        parts[0].getAsInteger(10, index) || index >= arguments.size() ||
        (parts.size() == 3 && parts[2].getAsInteger(10, count)))
      return llvm::createStringError("--print: expected INDEX:TYPE[:COUNT] of "
                                     "one of " +
                                     Twine(arguments.size()) +
                                     " arguments, got '" + text + "'");
    if (llvm::Error error =
            arguments[index].print(llvm::outs(), parts[1], count))
      return llvm::createStringError("--print " + text + ": " +
                                     llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

static llvm::Error emulate() {
  auto grid = parseDim3(gridText);
  if (!grid)
    return grid.takeError();
  auto block = parseDim3(blockText);
  if (!block)
    return block.takeError();
  std::vector<Argument> arguments;
  for (StringRef text : argumentTexts) {
    auto argument = Argument::parse(text);
    if (!argument)
      return llvm::createStringError("--arg " + text + ": " +
                                     llvm::toString(argument.takeError()));
    arguments.push_back(std::move(*argument));
  }
  SmallVector<void *> parameters;
  for (Argument &argument : arguments)
    argument.addParameters(parameters);

  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = compile(*context);
  if (!module)
    return module.takeError();
  auto kernel = findKernel(**module);
  if (!kernel)
    return kernel.takeError();
  auto emulated =
      kvq::emulator::Module::create(std::move(*module), std::move(context));
  if (!emulated)
    return emulated.takeError();
  LaunchOptions options;
  options.order = order;
  options.seed = seed;
  options.workers = workers;
  options.detectRaces = races;
  if (llvm::Error error = (*emulated)->launch(*kernel, *grid, *block,
                                              sharedBytes, parameters, options))
    return error;
  return printArguments(arguments);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Runs GPU kernels on the CPU\n");
  return kvq::finishTool("kvq-emulate", emulate());
}
