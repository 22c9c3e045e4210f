//===- GPUHeader.cpp - A C header that says how to launch kernels ---------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/GPU.h"

#include "GPULaunches.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvq;

/// The C type that a number is passed as.
static StringRef getScalarType(Type type) {
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  switch (type.isIndex() ? 64 : type.getIntOrFloatBitWidth()) {
  case 1:
  case 8:
    return "uint8_t";
  case 16:
    return "uint16_t";
  case 32:
    return "int32_t";
  default:
    return "int64_t";
  }
}

namespace {

/// Writes what belongs to one function.
class FunctionHeader {
public:
  FunctionHeader(llvm::raw_ostream &os, const FunctionLaunches &function,
                 StringRef suffix)
      : os(os), function(function),
        prefix(function.signature->name + suffix.str()), suffix(suffix) {}

  void write();

private:
  std::string inC(const HostExpression &expression) const {
    return toC(expression, "call->");
  }
  void writeCall();
  void writeArgument(const ArgumentSpec &spec, StringRef name);
  void writeWorkspace(const Workspace &workspace);
  void writeLaunch(const KernelLaunch &launch, unsigned number);
  void writeArguments(const KernelLaunch &launch, StringRef kernel);
  void writeArray(const KernelArgument &array, llvm::raw_ostream &fields,
                  llvm::raw_ostream &assignments);
  void writeExtents(const llvm::Twine &name, ArrayRef<HostExpression> extents);
  void writeBytes(const llvm::Twine &name, StringRef expression);

  llvm::raw_ostream &os;
  const FunctionLaunches &function;
  const std::string prefix;
  const StringRef suffix;
};

} // namespace

void FunctionHeader::writeArgument(const ArgumentSpec &spec, StringRef name) {
  if (!spec.isArray) {
    os << "  "
       << (spec.kind == ElementKind::Float
               ? (spec.bits == 32 ? "float" : "double")
               : "int64_t")
       << " " << name << ";\n";
    return;
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

void FunctionHeader::writeCall() {
  os << "/* What a call of '" << function.signature->name
     << "' takes: arrays as device pointers, and extents that are not fixed.\n"
        "   Arrays are contiguous. */\n"
        "typedef struct {\n";
  for (auto [spec, name] :
       llvm::zip_equal(function.signature->arguments, function.argumentNames))
    writeArgument(spec, name);
  for (const Workspace &workspace : function.workspace)
    os << "  uint64_t " << workspace.name << "; /* " << prefix << "_"
       << workspace.name << "_bytes(), any bytes */\n";
  os << "} " << prefix << "_call;\n\n";
}

void FunctionHeader::writeBytes(const llvm::Twine &name, StringRef expression) {
  os << "static inline size_t " << name << "(const " << prefix
     << "_call *call) {\n  (void)call;\n  return " << expression << ";\n}\n";
}

void FunctionHeader::writeWorkspace(const Workspace &workspace) {
  std::string bytes = "(size_t)" + std::to_string(workspace.elementBytes);
  for (const HostExpression &extent : workspace.extents)
    bytes += " * " + inC(extent);
  writeBytes(prefix + "_" + workspace.name + "_bytes", bytes);
}

void FunctionHeader::writeExtents(const llvm::Twine &name,
                                  ArrayRef<HostExpression> extents) {
  os << "static inline void " << name << "(const " << prefix
     << "_call *call, unsigned extents[3]) {\n  (void)call;\n";
  for (auto [axis, extent] : llvm::enumerate(extents))
    os << "  extents[" << axis << "] = (unsigned)(" << inC(extent) << ");\n";
  os << "}\n";
}

/// As a kernel takes a memref: two pointers, offset, sizes, strides.
void FunctionHeader::writeArray(const KernelArgument &array,
                                llvm::raw_ostream &fields,
                                llvm::raw_ostream &assignments) {
  StringRef name = array.name;
  fields << "  uint64_t " << name << ", " << name << "_aligned;\n"
         << "  int64_t " << name << "_offset;\n";
  assignments << "  arguments." << name << " = arguments." << name
              << "_aligned = call->" << array.array << ";\n"
              << "  arguments." << name << "_offset = 0;\n";
  int64_t rank = array.extents.size();
  if (rank == 0)
    return;
  fields << "  int64_t " << name << "_sizes[" << rank << "], " << name
         << "_strides[" << rank << "];\n";
  for (int64_t axis = rank - 1; axis >= 0; --axis) {
    assignments << "  arguments." << name << "_sizes[" << axis
                << "] = " << inC(array.extents[axis]) << ";\n  arguments."
                << name << "_strides[" << axis << "] = ";
    if (axis == rank - 1)
      assignments << "1;\n";
    else
      assignments << "arguments." << name << "_strides[" << axis + 1
                  << "] * arguments." << name << "_sizes[" << axis + 1
                  << "];\n";
  }
}

void FunctionHeader::writeArguments(const KernelLaunch &launch,
                                    StringRef kernel) {
  std::string fields, assignments;
  llvm::raw_string_ostream fieldsOS(fields), assignmentsOS(assignments);
  for (const KernelArgument &argument : launch.arguments) {
    if (argument.isArray()) {
      writeArray(argument, fieldsOS, assignmentsOS);
      continue;
    }
    StringRef scalar = getScalarType(argument.type);
    fieldsOS << "  " << scalar << " " << argument.name << ";\n";
    assignmentsOS << "  arguments." << argument.name << " = (" << scalar << ")("
                  << inC(argument.value) << ");\n";
  }
  os << "typedef struct {\n"
     << (fields.empty() ? "  uint8_t unused;\n" : fields) << "} " << kernel
     << "_arguments;\n"
     << "static inline " << kernel << "_arguments " << kernel
     << "_get_arguments(const " << prefix << "_call *call) {\n  " << kernel
     << "_arguments arguments;\n  (void)call;\n"
     << assignments << "  return arguments;\n}\n";
}

void FunctionHeader::writeLaunch(const KernelLaunch &launch, unsigned number) {
  std::string kernel = launch.kernel + suffix.str();
  os << "\n/* Launch " << number + 1 << " of " << function.launches.size()
     << ". The structure is what CU_LAUNCH_PARAM_BUFFER_POINTER points to. */\n"
     << "#define " << kernel << "_name \"" << launch.kernel << "\"\n"
     << "#define " << kernel << "_static_shared_bytes "
     << launch.staticSharedBytes << "\n";
  writeBytes(kernel + "_dynamic_shared_bytes",
             "(size_t)" + inC(launch.dynamicSharedBytes));
  writeExtents(kernel + "_get_grid", launch.grid);
  writeExtents(kernel + "_get_block", launch.block);
  writeArguments(launch, kernel);
}

void FunctionHeader::write() {
  writeCall();
  for (const Workspace &workspace : function.workspace)
    writeWorkspace(workspace);
  for (auto [number, launch] : llvm::enumerate(function.launches))
    writeLaunch(launch, number);
  os << "\n";
}

llvm::Error kvq::emitHeader(ModuleOp module, ArrayRef<Signature> signatures,
                            StringRef chip, bool isSuffixed,
                            llvm::raw_ostream &os) {
  auto functions = describeLaunches(module, signatures);
  if (!functions)
    return functions.takeError();
  os << "/* For " << chip << ". */\n\n";
  std::string suffix = isSuffixed ? ("_" + chip).str() : "";
  for (const FunctionLaunches &function : *functions)
    FunctionHeader(os, function, suffix).write();
  return llvm::Error::success();
}
