//===- Arguments.cpp - Arguments of a kernel, as text ---------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "kvq/Emulator/Emulator.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>
#include <cstring>

using llvm::StringRef;
using mlir::kvq::emulator::GlobalMemory;

//===----------------------------------------------------------------------===//
// Types of elements
//===----------------------------------------------------------------------===//

namespace {
struct ElementType {
  const char *name;
  unsigned bytes;
  /// Null for integers.
  const llvm::fltSemantics *semantics = nullptr;
};
} // namespace

static const ElementType *findType(StringRef name) {
  static const ElementType types[] = {
      {"i8", 1},
      {"i16", 2},
      {"i32", 4},
      {"i64", 8},
      {"f16", 2, &llvm::APFloat::IEEEhalf()},
      {"bf16", 2, &llvm::APFloat::BFloat()},
      {"f32", 4, &llvm::APFloat::IEEEsingle()},
      {"f64", 8, &llvm::APFloat::IEEEdouble()},
      {"e4m3", 1, &llvm::APFloat::Float8E4M3FN()},
      {"e5m2", 1, &llvm::APFloat::Float8E5M2()},
  };
  for (const ElementType &type : types)
    if (name == type.name)
      return &type;
  return nullptr;
}

static llvm::Error failType(StringRef name) {
  return llvm::createStringError(
      "expected a type i8, i16, i32, i64, f16, bf16, f32, f64, e4m3 or e5m2, "
      "got '" +
      name + "'");
}

/// The bits of a number.
static llvm::Expected<uint64_t> parseNumber(const ElementType &type,
                                            StringRef text) {
  llvm::Error error =
      llvm::createStringError("expected a number of type " +
                              llvm::Twine(type.name) + ", got '" + text + "'");
  if (type.semantics) {
    llvm::APFloat number(*type.semantics);
    auto status =
        number.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return error;
    }
    llvm::consumeError(std::move(error));
    return number.bitcastToAPInt().getZExtValue();
  }
  int64_t number;
  if (text.getAsInteger(0, number))
    return error;
  llvm::consumeError(std::move(error));
  return uint64_t(number);
}

static void printElement(llvm::raw_ostream &os, const ElementType &type,
                         uint64_t bits) {
  if (!type.semantics) {
    os << llvm::SignExtend64(bits, 8 * type.bytes);
    return;
  }
  llvm::APFloat number(*type.semantics, llvm::APInt(8 * type.bytes, bits));
  llvm::SmallString<32> text;
  number.toString(text);
  os << text;
}

//===----------------------------------------------------------------------===//
// Argument
//===----------------------------------------------------------------------===//

// Aligned as what a GPU allocates.
static constexpr size_t kAlignment = 256;

void Argument::Release::operator()(char *memory) const {
  GlobalMemory::remove(memory);
  std::free(memory);
}

void Argument::allocate(size_t size) {
  bytes = size;
  memory.reset(static_cast<char *>(std::aligned_alloc(
      kAlignment, llvm::alignTo(std::max<size_t>(size, 1), kAlignment))));
  std::memset(memory.get(), 0, size);
}

llvm::Error Argument::parseMemory(StringRef kind, StringRef rest) {
  if (kind == "zeros" || kind == "ones") {
    size_t size;
    if (rest.getAsInteger(0, size))
      return llvm::createStringError("expected a number of bytes, got '" +
                                     rest + "'");
    allocate(size);
    std::memset(memory.get(), kind == "ones" ? 0xFF : 0, size);
    return llvm::Error::success();
  }
  if (kind == "file") {
    auto file = llvm::MemoryBuffer::getFile(rest, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
    if (!file)
      return llvm::createStringError("cannot read '" + rest +
                                     "': " + file.getError().message());
    allocate((*file)->getBufferSize());
    std::memcpy(memory.get(), (*file)->getBufferStart(), bytes);
    return llvm::Error::success();
  }
  if (kind != "iota" && kind != "list")
    return llvm::createStringError(
        "expected TYPE:NUMBER, zeros:BYTES, ones:BYTES, iota:TYPE:COUNT, "
        "list:TYPE:NUMBER,... or file:PATH, the latter five perhaps behind "
        "const-, got '" +
        kind + "'");
  auto [name, elements] = rest.split(':');
  const ElementType *type = findType(name);
  if (!type)
    return failType(name);
  llvm::SmallVector<StringRef> texts;
  size_t count;
  if (kind == "list") {
    elements.split(texts, ',');
    count = texts.size();
  } else if (elements.getAsInteger(0, count)) {
    return llvm::createStringError("expected a number of elements, got '" +
                                   elements + "'");
  }
  allocate(count * type->bytes);
  for (size_t i = 0; i != count; ++i) {
    std::string index = std::to_string(i);
    auto bits = parseNumber(*type, kind == "list" ? texts[i] : index);
    if (!bits)
      return bits.takeError();
    std::memcpy(memory.get() + i * type->bytes, &*bits, type->bytes);
  }
  return llvm::Error::success();
}

llvm::Expected<Argument> Argument::parse(StringRef text) {
  Argument argument;
  auto [shapeText, described] = text.split('@');
  bool isMemref = text.contains('@');
  auto [kind, rest] = (isMemref ? described : text).split(':');
  const ElementType *type = findType(kind);
  if (type && !isMemref) {
    auto bits = parseNumber(*type, rest);
    if (!bits)
      return bits.takeError();
    argument.values.push_back(*bits);
    return argument;
  }
  bool isWritable = !kind.consume_front("const-");
  if (llvm::Error error = argument.parseMemory(kind, rest))
    return error;
  GlobalMemory::add(argument.memory.get(), argument.bytes, isWritable);
  auto address = reinterpret_cast<uint64_t>(argument.memory.get());
  argument.values.push_back(address);
  if (!isMemref)
    return argument;
  llvm::SmallVector<StringRef> texts;
  shapeText.split(texts, 'x');
  llvm::SmallVector<uint64_t> sizes(texts.size()), strides(texts.size());
  uint64_t stride = 1;
  for (size_t i = texts.size(); i-- != 0; stride *= sizes[i]) {
    if (texts[i].getAsInteger(10, sizes[i]))
      return llvm::createStringError("expected a shape such as 2x3, got '" +
                                     shapeText + "'");
    strides[i] = stride;
  }
  argument.values.push_back(address);
  argument.values.push_back(0);
  llvm::append_range(argument.values, sizes);
  llvm::append_range(argument.values, strides);
  return argument;
}

void Argument::addParameters(llvm::SmallVectorImpl<void *> &parameters) {
  for (uint64_t &value : values)
    parameters.push_back(&value);
}

llvm::Error Argument::print(llvm::raw_ostream &os, StringRef typeName,
                            size_t count) const {
  const ElementType *type = findType(typeName);
  if (!type)
    return failType(typeName);
  size_t available = bytes / type->bytes;
  if (count == 0)
    count = available;
  if (!memory || count > available)
    return llvm::createStringError("expected at most " +
                                   llvm::Twine(available) + " elements, got " +
                                   llvm::Twine(count));
  for (size_t i = 0; i != count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, memory.get() + i * type->bytes, type->bytes);
    os << (i ? ", " : "");
    printElement(os, *type, bits);
  }
  os << "\n";
  return llvm::Error::success();
}
