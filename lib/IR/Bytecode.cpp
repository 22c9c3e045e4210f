//===- Bytecode.cpp - The version of the dialect in bytecode --------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes and types stand in bytecode as their text, which names its fields:
// what a later version adds, with a default, earlier files need not have. MLIR
// would write their text as well, but read it without looking at the version of
// the dialect, which it does for encodings of a dialect's own. What each
// version changed is in docs/Compatibility.md.
//
//===----------------------------------------------------------------------===//

#include "Bytecode.h"

#include "kvq/IR/KVQ.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;
using namespace mlir::kvq;

namespace {

/// Raised by what files of the version before do not say, or say otherwise.
constexpr uint64_t kBytecodeVersion = 1;

struct Version : DialectVersion {
  explicit Version(uint64_t number) : number(number) {}

  uint64_t number;
};

struct KVQBytecodeInterface : BytecodeDialectInterface {
  explicit KVQBytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(kBytecodeVersion);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number == 0 || number > kBytecodeVersion) {
      reader.emitError() << "expected kvq bytecode of version 1 to "
                         << kBytecodeVersion << ", got version " << number;
      return nullptr;
    }
    return std::make_unique<Version>(number);
  }

  LogicalResult writeAttribute(Attribute attribute,
                               DialectBytecodeWriter &writer) const override {
    return writeText(attribute, writer);
  }
  LogicalResult writeType(Type type,
                          DialectBytecodeWriter &writer) const override {
    return writeText(type, writer);
  }

  Attribute readAttribute(DialectBytecodeReader &reader) const override {
    StringRef text;
    if (failed(reader.readString(text)))
      return {};
    return parseAttribute(text, getContext());
  }
  Type readType(DialectBytecodeReader &reader) const override {
    StringRef text;
    if (failed(reader.readString(text)))
      return {};
    return parseType(text, getContext());
  }

private:
  template <typename T>
  LogicalResult writeText(T value, DialectBytecodeWriter &writer) const {
    std::string text;
    llvm::raw_string_ostream(text) << value;
    // The writer takes strings that outlive it: the context has this one then.
    writer.writeOwnedString(StringAttr::get(getContext(), text).getValue());
    return success();
  }
};

} // namespace

void kvq::addBytecodeInterface(KVQDialect &dialect) {
  dialect.addInterfaces<KVQBytecodeInterface>();
}
