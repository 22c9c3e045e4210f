//===- GPUHeader.cpp - A C header that says how to launch kernels ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/GPU.h"

#include "HostExpressions.h"
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

static std::string getElementText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// The C type that a scalar is passed as; empty where there is none.
static StringRef getScalarType(Type type) {
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (!type.isIntOrIndexOrFloat())
    return "";
  switch (type.isIndex() ? 64 : type.getIntOrFloatBitWidth()) {
  case 1:
  case 8:
    return "uint8_t";
  case 16:
    return "uint16_t";
  case 32:
    return "int32_t";
  case 64:
    return "int64_t";
  default:
    return "";
  }
}

namespace {

/// Writes what belongs to one function.
class FunctionHeader {
public:
  FunctionHeader(llvm::raw_ostream &os, func::FuncOp function,
                 const Signature &signature, StringRef suffix)
      : os(os), function(function), signature(signature),
        prefix((function.getName() + suffix).str()), suffix(suffix),
        expressions("call->") {}

  llvm::Error write();

private:
  llvm::Error nameValues();
  void writeCall();
  llvm::Error writeWorkspace();
  llvm::Error writeLaunch(gpu::LaunchFuncOp launch, unsigned number);
  llvm::Error writeArguments(gpu::LaunchFuncOp launch, StringRef kernel);
  llvm::Error writeExtents(StringRef name, ArrayRef<Value> extents);
  void writeBytes(const llvm::Twine &name, StringRef expression);

  llvm::raw_ostream &os;
  func::FuncOp function;
  const Signature &signature;
  const std::string prefix;
  const StringRef suffix;
  HostExpressions expressions;
  SmallVector<gpu::AllocOp> workspace;
  SmallVector<gpu::LaunchFuncOp> launches;
};

} // namespace

static std::string getSizeName(StringRef array, unsigned axis) {
  return (array + "_size" + llvm::Twine(axis)).str();
}

/// Names arguments and memory that kernels share, and collects the launches.
llvm::Error FunctionHeader::nameValues() {
  for (auto [argument, spec] :
       llvm::zip_equal(function.getArguments(), signature.arguments))
    expressions.setName(argument, toIdentifier(spec.name));
  for (Operation &op : function.getBody().front()) {
    if (auto alloc = dyn_cast<gpu::AllocOp>(op)) {
      expressions.setName(alloc.getMemref(),
                          "workspace" + std::to_string(workspace.size()));
      workspace.push_back(alloc);
    } else if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op)) {
      launches.push_back(launch);
    } else if (op.getNumRegions() != 0) {
      return llvm::createStringError(
          "--emit=header: expected launches one after the other, found '" +
          op.getName().getStringRef() + "' in '" + function.getName() + "'");
    }
  }
  return llvm::Error::success();
}

void FunctionHeader::writeCall() {
  os << "/* What a call of '" << function.getName()
     << "' takes: arrays as device pointers, and extents that are not fixed.\n"
        "   Arrays are contiguous. */\n"
        "typedef struct {\n";
  for (const ArgumentSpec &spec : signature.arguments) {
    std::string name = toIdentifier(spec.name);
    if (!spec.isArray) {
      os << "  "
         << (spec.kind == ElementKind::Float
                 ? (spec.bits == 32 ? "float" : "double")
                 : "int64_t")
         << " " << name << ";\n";
      continue;
    }
    os << "  uint64_t " << name << "; /* " << spec.getElementText() << " [";
    llvm::interleaveComma(
        llvm::seq<unsigned>(0, spec.shape.size()), os, [&](unsigned axis) {
          int64_t extent = spec.shape[axis];
          ShapedType::isDynamic(extent) ? os << getSizeName(name, axis)
                                        : os << extent;
        });
    os << "]" << (spec.isWritten ? "" : ", not written") << " */\n";
    for (auto [axis, extent] : llvm::enumerate(spec.shape))
      if (ShapedType::isDynamic(extent))
        os << "  int64_t " << getSizeName(name, axis) << ";\n";
  }
  for (gpu::AllocOp alloc : workspace) {
    std::string name = expressions.getName(alloc.getMemref());
    os << "  uint64_t " << name << "; /* " << prefix << "_" << name
       << "_bytes(), any bytes */\n";
  }
  os << "} " << prefix << "_call;\n\n";
}

void FunctionHeader::writeBytes(const llvm::Twine &name, StringRef expression) {
  os << "static inline size_t " << name << "(const " << prefix
     << "_call *call) {\n  (void)call;\n  return " << expression << ";\n}\n";
}

llvm::Error FunctionHeader::writeWorkspace() {
  for (gpu::AllocOp alloc : workspace) {
    MemRefType type = alloc.getType();
    std::string bytes =
        "(size_t)" +
        std::to_string(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
    for (unsigned axis : llvm::seq<unsigned>(0, type.getRank())) {
      auto extent = expressions.getExtent(alloc.getMemref(), axis);
      if (!extent)
        return extent.takeError();
      bytes += " * " + *extent;
    }
    std::string name = prefix + "_" + expressions.getName(alloc.getMemref());
    writeBytes(name + "_bytes", bytes);
  }
  return llvm::Error::success();
}

llvm::Error FunctionHeader::writeExtents(StringRef name,
                                         ArrayRef<Value> extents) {
  os << "static inline void " << name << "(const " << prefix
     << "_call *call, unsigned extents[3]) {\n  (void)call;\n";
  for (auto [axis, extent] : llvm::enumerate(extents)) {
    auto text = expressions.get(extent);
    if (!text)
      return text.takeError();
    os << "  extents[" << axis << "] = (unsigned)(" << *text << ");\n";
  }
  os << "}\n";
  return llvm::Error::success();
}

llvm::Error FunctionHeader::writeArguments(gpu::LaunchFuncOp launch,
                                           StringRef kernel) {
  std::string fields, assignments;
  llvm::raw_string_ostream fieldsOS(fields), os(assignments);
  llvm::StringSet<> used;
  for (auto [index, operand] : llvm::enumerate(launch.getKernelOperands())) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    std::string name = type ? expressions.getName(operand) : "";
    if (type && (name.empty() || !type.getLayout().isIdentity()))
      return llvm::createStringError(
          "--emit=header: expected arrays of kernel '" + kernel +
          "' that are arguments or allocated by the function, found another "
          "one as operand " +
          llvm::Twine(index));
    if (name.empty() || !used.insert(name).second)
      name = "value" + std::to_string(index);
    if (!type) {
      StringRef scalar = getScalarType(operand.getType());
      auto value = expressions.get(operand);
      if (!value)
        return value.takeError();
      if (scalar.empty())
        return llvm::createStringError(
            "--emit=header: expected arrays and numbers as operands of kernel "
            "'" +
            kernel + "', found " + getElementText(operand.getType()));
      fieldsOS << "  " << scalar << " " << name << ";\n";
      os << "  arguments." << name << " = (" << scalar << ")(" << *value
         << ");\n";
      continue;
    }
    // As the kernel takes a memref: two pointers, offset, sizes, strides.
    fieldsOS << "  uint64_t " << name << ", " << name << "_aligned;\n"
             << "  int64_t " << name << "_offset;\n";
    os << "  arguments." << name << " = arguments." << name
       << "_aligned = call->" << expressions.getName(operand) << ";\n"
       << "  arguments." << name << "_offset = 0;\n";
    if (type.getRank() == 0)
      continue;
    fieldsOS << "  int64_t " << name << "_sizes[" << type.getRank() << "], "
             << name << "_strides[" << type.getRank() << "];\n";
    for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
      auto extent = expressions.getExtent(operand, axis);
      if (!extent)
        return extent.takeError();
      os << "  arguments." << name << "_sizes[" << axis << "] = " << *extent
         << ";\n  arguments." << name << "_strides[" << axis << "] = ";
      if (axis == type.getRank() - 1)
        os << "1;\n";
      else
        os << "arguments." << name << "_strides[" << axis + 1
           << "] * arguments." << name << "_sizes[" << axis + 1 << "];\n";
    }
  }
  this->os << "typedef struct {\n"
           << (fields.empty() ? "  uint8_t unused;\n" : fields) << "} "
           << kernel << "_arguments;\n"
           << "static inline " << kernel << "_arguments " << kernel
           << "_get_arguments(const " << prefix << "_call *call) {\n  "
           << kernel << "_arguments arguments;\n  (void)call;\n"
           << assignments << "  return arguments;\n}\n";
  return llvm::Error::success();
}

llvm::Error FunctionHeader::writeLaunch(gpu::LaunchFuncOp launch,
                                        unsigned number) {
  StringRef name = launch.getKernelName();
  std::string kernel = (name + suffix).str();
  auto code = SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
      launch, launch.getKernelAttr());
  if (!code)
    return llvm::createStringError("expected a lowered kernel '" + name + "'");
  os << "\n/* Launch " << number + 1 << " of " << launches.size()
     << ". The structure is what CU_LAUNCH_PARAM_BUFFER_POINTER points to. */\n"
     << "#define " << kernel << "_name \"" << name << "\"\n"
     << "#define " << kernel << "_static_shared_bytes "
     << getStaticSharedBytes(code) << "\n";
  Value shared = launch.getDynamicSharedMemorySize();
  auto bytes = shared ? expressions.get(shared)
                      : llvm::Expected<std::string>(std::string("0"));
  if (!bytes)
    return bytes.takeError();
  writeBytes(kernel + "_dynamic_shared_bytes", "(size_t)" + *bytes);
  gpu::KernelDim3 grid = launch.getGridSizeOperandValues(),
                  block = launch.getBlockSizeOperandValues();
  if (llvm::Error error =
          writeExtents(kernel + "_get_grid", {grid.x, grid.y, grid.z}))
    return error;
  if (llvm::Error error =
          writeExtents(kernel + "_get_block", {block.x, block.y, block.z}))
    return error;
  return writeArguments(launch, kernel);
}

llvm::Error FunctionHeader::write() {
  if (llvm::Error error = nameValues())
    return error;
  writeCall();
  if (llvm::Error error = writeWorkspace())
    return error;
  for (auto [number, launch] : llvm::enumerate(launches))
    if (llvm::Error error = writeLaunch(launch, number))
      return error;
  os << "\n";
  return llvm::Error::success();
}

llvm::Error kvq::emitHeader(ModuleOp module, ArrayRef<Signature> signatures,
                            StringRef chip, bool isSuffixed,
                            llvm::raw_ostream &os) {
  if (llvm::Error error = runPipeline(
          module, "builtin.module(func.func(lower-affine,canonicalize,cse))"))
    return error;
  os << "/* For " << chip << ". */\n\n";
  std::string suffix = isSuffixed ? ("_" + chip).str() : "";
  for (const Signature &signature : signatures) {
    auto function = module.lookupSymbol<func::FuncOp>(signature.name);
    if (!function || function.getBody().getBlocks().size() != 1)
      return llvm::createStringError("--emit=header: expected a function '" +
                                     signature.name +
                                     "' of launches one after the other");
    if (llvm::Error error =
            FunctionHeader(os, function, signature, suffix).write())
      return error;
  }
  return llvm::Error::success();
}
