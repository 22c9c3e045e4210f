//===- CPUHeader.cpp - Functions for processors, for C --------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Target/CPUHeader.h"

#include "ArgumentRoles.h"
#include "HostExpressions.h"
#include "kvq/Target/Signature.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// An argument of the function in C.
struct CArgument {
  std::string name;
  Type elementType;
  bool isArray, isWritten;
  ArrayRef<int64_t> shape;
  std::string comment;

  /// The C type of an element. What C has no type for is its bit pattern.
  StringRef getElement() const;
  /// The C type of the argument.
  std::string getType() const {
    return ((isArray && !isWritten ? "const " : "") + getElement() +
            (isArray ? " *" : " "))
        .str();
  }
  /// An extent in C, of a call.
  std::string getExtent(unsigned axis) const {
    return ShapedType::isDynamic(shape[axis])
               ? "call->" + getSizeName(name, axis)
               : std::to_string(shape[axis]);
  }
  /// The product of the extents from `axis` on.
  std::string getProduct(unsigned axis) const;
};

/// Writes what belongs to one function.
class FunctionHeader {
public:
  FunctionHeader(llvm::raw_ostream &os, FunctionOpInterface function,
                 const Signature &signature, StringRef source)
      : os(os), function(function), signature(signature), source(source) {}

  void write();

private:
  void addArgument(unsigned index);
  /// What an argument of that name is in C: the components of a cache.
  std::vector<CArgument> getParts(BlockArgument argument,
                                  const std::string &name);
  void writeField(const CArgument &argument);
  void writeCall();
  void writeBytes(const CArgument &argument);
  void writePrototype();
  void writeInvoke();

  llvm::raw_ostream &os;
  FunctionOpInterface function;
  const Signature &signature;
  const StringRef source;
  std::vector<CArgument> arguments;
  llvm::StringSet<> names;
};

} // namespace

StringRef CArgument::getElement() const {
  if (elementType.isF32())
    return "float";
  if (elementType.isF64())
    return "double";
  bool isBits = isa<FloatType>(elementType);
  switch (elementType.isIndex() ? 64 : elementType.getIntOrFloatBitWidth()) {
  case 8:
    return isBits ? "uint8_t" : "int8_t";
  case 16:
    return isBits ? "uint16_t" : "int16_t";
  case 32:
    return "int32_t";
  default:
    return "int64_t";
  }
}

std::string CArgument::getProduct(unsigned axis) const {
  if (axis == shape.size())
    return "1";
  std::string product = getExtent(axis);
  for (++axis; axis < shape.size(); ++axis)
    product += " * " + getExtent(axis);
  return product;
}

template <typename T> static std::string toText(T printable) {
  std::string text;
  llvm::raw_string_ostream(text) << printable;
  return text;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Names that an argument takes: its own and its extents'.
static SmallVector<std::string> getFieldNames(const CArgument &argument) {
  SmallVector<std::string> names = {argument.name};
  for (unsigned axis : llvm::seq<unsigned>(0, argument.shape.size()))
    names.push_back(getSizeName(argument.name, axis));
  return names;
}

std::vector<CArgument> FunctionHeader::getParts(BlockArgument argument,
                                                const std::string &name) {
  std::vector<CArgument> parts;
  auto add = [&](const std::string &part, Type elementType,
                 const std::string &comment) {
    const ArgumentSpec &spec =
        signature.arguments[arguments.size() + parts.size()];
    parts.push_back(
        {part, elementType, spec.isArray, spec.isWritten, spec.shape, comment});
  };
  auto cache = dyn_cast<CacheType>(argument.getType());
  if (!cache) {
    add(name, getElementTypeOrSelf(argument.getType()),
        describeUse(argument).str());
    return parts;
  }
  std::string whole = " of " + toText(Type(cache));
  for (const StorageComponent &component : cache.getComponents()) {
    std::string part = name + "_" + component.getName();
    std::replace(part.begin(), part.end(), '.', '_');
    add(part, component.elementType,
        (component.given ? "given: " : "") +
            describeComponent(component.kind).str() + whole);
    whole = "";
  }
  return parts;
}

/// The argument by the name that the source has, or by its number where it has
/// none or names would come twice.
void FunctionHeader::addArgument(unsigned index) {
  auto argument = cast<BlockArgument>(function.getArgument(index));
  std::string name = getNameInSource(argument, source);
  if (name.empty())
    name = "argument" + std::to_string(index);
  auto isTaken = [&](const CArgument &part) {
    return llvm::any_of(getFieldNames(part), [&](const std::string &field) {
      return names.contains(field);
    });
  };
  std::vector<CArgument> parts = getParts(argument, name);
  for (std::string other = "argument" + std::to_string(index);
       llvm::any_of(parts, isTaken); other += "_")
    parts = getParts(argument, other);
  for (CArgument &part : parts) {
    for (const std::string &field : getFieldNames(part))
      names.insert(field);
    arguments.push_back(std::move(part));
  }
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

void FunctionHeader::writeField(const CArgument &argument) {
  os << "  " << argument.getType() << argument.name << "; /* "
     << argument.elementType;
  if (argument.isArray) {
    os << " [";
    llvm::interleaveComma(llvm::seq<unsigned>(0, argument.shape.size()), os,
                          [&](unsigned axis) {
                            std::string extent = argument.getExtent(axis);
                            StringRef name = extent;
                            name.consume_front("call->");
                            os << name;
                          });
    os << "]";
  }
  if (!argument.comment.empty())
    os << ": " << argument.comment;
  os << " */\n";
  for (auto [axis, extent] : llvm::enumerate(argument.shape))
    if (ShapedType::isDynamic(extent))
      os << "  int64_t " << getSizeName(argument.name, axis) << ";\n";
}

void FunctionHeader::writeCall() {
  os << "/* What a call of '" << signature.name
     << "' takes. Arrays are contiguous, their last axis innermost, and "
        "aligned "
        "to\n   their elements; those that are const are only read. Sizes of "
        "caches follow\n   from a capacity as kvq-c/CacheType.h says. */\n"
        "typedef struct {\n";
  for (const CArgument &argument : arguments)
    writeField(argument);
  if (arguments.empty())
    os << "  char unused;\n";
  os << "} " << signature.name << "_call;\n\n";
}

void FunctionHeader::writeBytes(const CArgument &argument) {
  if (!argument.isArray)
    return;
  os << "static inline size_t " << signature.name << "_" << argument.name
     << "_bytes(const " << signature.name
     << "_call *call) {\n  (void)call;\n  return sizeof("
     << argument.getElement() << ") * (size_t)("
     << (argument.shape.empty() ? "1" : argument.getProduct(0)) << ");\n}\n";
}

/// An array is passed as MLIR passes a memref: two pointers, an offset, sizes
/// and strides.
void FunctionHeader::writePrototype() {
  os << "\n#ifdef __cplusplus\nextern \"C\"\n#endif\nvoid " << signature.name
     << "(" << (arguments.empty() ? "void" : "");
  llvm::interleave(
      arguments, os,
      [&](const CArgument &argument) {
        std::string type = StringRef(argument.getType()).rtrim().str();
        os << "\n    " << type;
        if (!argument.isArray)
          return;
        os << ", " << type;
        for (unsigned word = 0; word < 1 + 2 * argument.shape.size(); ++word)
          os << ", int64_t";
      },
      ",");
  os << ");\n";
}

void FunctionHeader::writeInvoke() {
  os << "\n/* Calls '" << signature.name << "'. */\n"
     << "static inline void " << signature.name << "_invoke(const "
     << signature.name << "_call *call) {\n  (void)call;\n  " << signature.name
     << "(";
  llvm::interleave(
      arguments, os,
      [&](const CArgument &argument) {
        os << "\n      call->" << argument.name;
        if (!argument.isArray)
          return;
        os << ", call->" << argument.name << ", 0";
        unsigned rank = argument.shape.size();
        for (unsigned axis = 0; axis < rank; ++axis)
          os << ", " << argument.getExtent(axis);
        for (unsigned axis = 0; axis < rank; ++axis)
          os << ", " << argument.getProduct(axis + 1);
      },
      ",");
  os << ");\n}\n\n";
}

void FunctionHeader::write() {
  for (unsigned index : llvm::seq<unsigned>(0, function.getNumArguments()))
    addArgument(index);
  writeCall();
  for (const CArgument &argument : arguments)
    writeBytes(argument);
  writePrototype();
  writeInvoke();
}

//===----------------------------------------------------------------------===//
// The header
//===----------------------------------------------------------------------===//

/// Fails where C cannot call what `lowered` has of a function.
static llvm::Error checkCallable(ModuleOp lowered, const Signature &signature) {
  std::string start = "function '" + signature.name + "': expected ";
  if (!isIdentifier(signature.name))
    return llvm::createStringError(start + "a name that C takes");
  auto function = lowered.lookupSymbol<LLVM::LLVMFuncOp>(signature.name);
  if (!function)
    return llvm::createStringError(start + "it after the pipeline, got none");
  LLVM::LLVMFunctionType type = function.getFunctionType();
  if (!isa<LLVM::LLVMVoidType>(type.getReturnType()))
    return llvm::createStringError(start +
                                   "no results but arguments, got one of " +
                                   toText(type.getReturnType()));
  if (type.getNumParams() != signature.getNumWords())
    return llvm::createStringError(
        start + llvm::Twine(signature.getNumWords()) +
        " words of arguments, got " + llvm::Twine(type.getNumParams()));
  for (const ArgumentSpec &argument : signature.arguments)
    if (!argument.isArray && argument.kind == ElementKind::Float &&
        argument.bits == 16)
      return llvm::createStringError(
          start + "numbers of f32 or f64, which C has, got one of f16 as " +
          argument.name);
  return llvm::Error::success();
}

llvm::Error kvq::emitCPUHeader(ModuleOp module, ModuleOp lowered,
                               StringRef source, llvm::raw_ostream &os) {
  auto signatures = getSignatures(module);
  if (!signatures)
    return signatures.takeError();
  os << "/* How functions that kvq has compiled are called. */\n\n"
        "#pragma once\n\n#include <stddef.h>\n#include <stdint.h>\n\n";
  for (const Signature &signature : *signatures) {
    if (llvm::Error error = checkCallable(lowered, signature))
      return error;
    auto function = module.lookupSymbol<FunctionOpInterface>(signature.name);
    FunctionHeader(os, function, signature, source).write();
  }
  return llvm::Error::success();
}
