//===- GPULaunches.cpp - How the kernels of a function are launched -------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPULaunches.h"

#include "kvq/Conversion/Capabilities.h"
#include "kvq/Target/Compile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvq;

/// "argument 1 (codes.0)" as an identifier: argument1_codes_0.
static std::string toIdentifier(StringRef name) {
  std::string identifier;
  for (char c : name)
    if (llvm::isAlnum(c))
      identifier.push_back(c);
    else if (c == '(' || c == '.')
      identifier.push_back('_');
  return identifier;
}

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Whether kernels can take a number of this type.
static bool isNumber(Type type) {
  if (!type.isIntOrIndexOrFloat())
    return false;
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return bits == 1 || (bits >= 8 && bits <= 64 && llvm::isPowerOf2_32(bits));
}

namespace {

/// Describes one function.
class Describer {
public:
  Describer(func::FuncOp function, const Signature &signature)
      : function(function) {
    described.signature = &signature;
  }

  llvm::Expected<FunctionLaunches> run();

private:
  llvm::Error visit(Operation &op);
  llvm::Error addWorkspace(gpu::AllocOp alloc);
  llvm::Error addLaunch(gpu::LaunchFuncOp launch);
  llvm::Expected<KernelArgument> describe(Value operand, unsigned index,
                                          StringRef kernel);
  llvm::Error addExtents(Value array, std::vector<HostExpression> &extents);
  llvm::Error addValues(ArrayRef<Value> values,
                        std::vector<HostExpression> &into);

  func::FuncOp function;
  FunctionLaunches described;
  HostExpressions expressions;
};

} // namespace

llvm::Error Describer::addValues(ArrayRef<Value> values,
                                 std::vector<HostExpression> &into) {
  for (Value value : values) {
    auto expression = expressions.get(value);
    if (!expression)
      return expression.takeError();
    into.push_back(std::move(*expression));
  }
  return llvm::Error::success();
}

llvm::Error Describer::addExtents(Value array,
                                  std::vector<HostExpression> &extents) {
  int64_t rank = cast<MemRefType>(array.getType()).getRank();
  for (unsigned axis : llvm::seq<unsigned>(0, rank)) {
    auto extent = expressions.getExtent(array, axis);
    if (!extent)
      return extent.takeError();
    extents.push_back(std::move(*extent));
  }
  return llvm::Error::success();
}

llvm::Error Describer::addWorkspace(gpu::AllocOp alloc) {
  Value memory = alloc.getMemref();
  unsigned bits = alloc.getType().getElementTypeBitWidth();
  Workspace workspace{"workspace" + std::to_string(described.workspace.size()),
                      int64_t(llvm::divideCeil(bits, 8)),
                      {}};
  if (llvm::Error error = addExtents(memory, workspace.extents))
    return error;
  expressions.setName(memory, workspace.name);
  described.workspace.push_back(std::move(workspace));
  return llvm::Error::success();
}

llvm::Expected<KernelArgument>
Describer::describe(Value operand, unsigned index, StringRef kernel) {
  KernelArgument argument;
  argument.type = operand.getType();
  if (auto type = dyn_cast<MemRefType>(operand.getType())) {
    argument.array = argument.name = expressions.getName(operand);
    if (argument.array.empty() || !type.getLayout().isIdentity())
      return llvm::createStringError(
          "expected arrays of kernel '" + kernel +
          "' that are arguments or allocated by the function, found another "
          "one as operand " +
          llvm::Twine(index));
    if (llvm::Error error = addExtents(operand, argument.extents))
      return std::move(error);
    return argument;
  }
  if (!isNumber(operand.getType()))
    return llvm::createStringError(
        "expected arrays and numbers as operands of kernel '" + kernel +
        "', found " + toText(operand.getType()));
  auto value = expressions.get(operand);
  if (!value)
    return value.takeError();
  argument.value = std::move(*value);
  return argument;
}

llvm::Error Describer::addLaunch(gpu::LaunchFuncOp op) {
  KernelLaunch launch;
  launch.kernel = op.getKernelName().str();
  auto code = SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
      op, op.getKernelAttr());
  if (!code)
    return llvm::createStringError("expected a lowered kernel '" +
                                   launch.kernel + "'");
  launch.staticSharedBytes = getStaticSharedBytes(code);
  if (Value shared = op.getDynamicSharedMemorySize()) {
    auto bytes = expressions.get(shared);
    if (!bytes)
      return bytes.takeError();
    launch.dynamicSharedBytes = std::move(*bytes);
  }
  gpu::KernelDim3 grid = op.getGridSizeOperandValues(),
                  block = op.getBlockSizeOperandValues();
  if (llvm::Error error = addValues({grid.x, grid.y, grid.z}, launch.grid))
    return error;
  if (llvm::Error error = addValues({block.x, block.y, block.z}, launch.block))
    return error;
  llvm::StringSet<> used;
  for (auto [index, operand] : llvm::enumerate(op.getKernelOperands())) {
    auto argument = describe(operand, index, launch.kernel);
    if (!argument)
      return argument.takeError();
    if (argument->name.empty() || !used.insert(argument->name).second)
      argument->name = "value" + std::to_string(index);
    launch.arguments.push_back(std::move(*argument));
  }
  described.launches.push_back(std::move(launch));
  return llvm::Error::success();
}

llvm::Error Describer::visit(Operation &op) {
  if (auto alloc = dyn_cast<gpu::AllocOp>(op))
    return addWorkspace(alloc);
  if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
    return addLaunch(launch);
  if (op.getNumRegions() != 0)
    return llvm::createStringError(
        "expected launches one after the other, found '" +
        op.getName().getStringRef() + "' in '" + function.getName() + "'");
  return llvm::Error::success();
}

llvm::Expected<FunctionLaunches> Describer::run() {
  for (auto [argument, spec] : llvm::zip_equal(
           function.getArguments(), described.signature->arguments)) {
    described.argumentNames.push_back(toIdentifier(spec.name));
    expressions.setName(argument, described.argumentNames.back());
  }
  for (Operation &op : function.getBody().front())
    if (llvm::Error error = visit(op))
      return std::move(error);
  return std::move(described);
}

llvm::Expected<std::vector<FunctionLaunches>>
kvq::describeLaunches(ModuleOp module, ArrayRef<Signature> signatures) {
  if (llvm::Error error = runPipeline(
          module, "builtin.module(func.func(lower-affine,canonicalize,cse))"))
    return std::move(error);
  std::vector<FunctionLaunches> functions;
  for (const Signature &signature : signatures) {
    auto function = module.lookupSymbol<func::FuncOp>(signature.name);
    if (!function || function.getBody().getBlocks().size() != 1)
      return llvm::createStringError("expected a function '" + signature.name +
                                     "' of launches one after the other");
    auto described = Describer(function, signature).run();
    if (!described)
      return described.takeError();
    functions.push_back(std::move(*described));
  }
  return functions;
}
