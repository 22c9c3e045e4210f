//===- GPUManifest.cpp - How to launch kernels, as JSON -------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/GPU.h"

#include "GPULaunches.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvq;
using llvm::json::Array;
using llvm::json::Object;

static Object describe(const ArgumentSpec &spec, StringRef name) {
  Object argument{{"name", name.str()}, {"element", spec.getElementText()}};
  if (!spec.isArray)
    return argument;
  Array shape;
  for (auto [axis, extent] : llvm::enumerate(spec.shape))
    if (ShapedType::isDynamic(extent))
      shape.push_back(getSizeName(name, axis));
    else
      shape.push_back(extent);
  argument["shape"] = std::move(shape);
  argument["written"] = spec.isWritten;
  return argument;
}

static Object describe(const Workspace &workspace) {
  Array bytes{"*", workspace.elementBytes};
  llvm::append_range(bytes, workspace.extents);
  return Object{{"name", workspace.name}, {"bytes", std::move(bytes)}};
}

static Object describe(const KernelArgument &argument) {
  if (argument.isArray())
    return Object{{"array", argument.array},
                  {"extents", Array(argument.extents)}};
  std::string type = "i64";
  if (!argument.type.isIndex()) {
    type.clear();
    llvm::raw_string_ostream(type) << argument.type;
  }
  return Object{{"value", argument.value}, {"type", type}};
}

static Object describe(const KernelLaunch &launch) {
  Array arguments;
  for (const KernelArgument &argument : launch.arguments)
    arguments.push_back(describe(argument));
  return Object{{"kernel", launch.kernel},
                {"grid", Array(launch.grid)},
                {"block", Array(launch.block)},
                {"dynamic_shared_bytes", launch.dynamicSharedBytes},
                {"static_shared_bytes", launch.staticSharedBytes},
                {"arguments", std::move(arguments)}};
}

llvm::Expected<llvm::json::Value>
kvq::describeKernels(ModuleOp module, ArrayRef<Signature> signatures) {
  auto functions = describeLaunches(module, signatures);
  if (!functions)
    return functions.takeError();
  Object described;
  for (const FunctionLaunches &function : *functions) {
    Array arguments, workspace, launches;
    for (auto [spec, name] :
         llvm::zip_equal(function.signature->arguments, function.argumentNames))
      arguments.push_back(describe(spec, name));
    for (const Workspace &memory : function.workspace)
      workspace.push_back(describe(memory));
    for (const KernelLaunch &launch : function.launches)
      launches.push_back(describe(launch));
    described[function.signature->name] =
        Object{{"arguments", std::move(arguments)},
               {"workspace", std::move(workspace)},
               {"launches", std::move(launches)}};
  }
  return llvm::json::Value(std::move(described));
}
