//===- InlineAsm.cpp - Inline PTX -----------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What LLVM has no intrinsic for, and what MLIR's ops expand to. An instruction
// is parsed to its name and operands; only single ones are known, but for the
// loop that MLIR waits for an mbarrier in.
//
//===----------------------------------------------------------------------===//

#include "FunctionLowering.h"
#include "Matrix.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir::kvq::emulator;

using Builder = FunctionLowering::Builder;
using llvm::StringRef;

namespace {
/// `name operand, operand;`
struct PTXInstruction {
  StringRef name;
  llvm::SmallVector<StringRef> operands;
};
} // namespace

/// Splits at commas that are not in braces or brackets.
static void splitOperands(StringRef text,
                          llvm::SmallVectorImpl<StringRef> &operands) {
  unsigned depth = 0;
  size_t begin = 0;
  for (auto [index, character] : llvm::enumerate(text)) {
    if (character == '{' || character == '[')
      ++depth;
    else if (character == '}' || character == ']')
      --depth;
    else if (character == ',' && depth == 0) {
      operands.push_back(text.slice(begin, index).trim());
      begin = index + 1;
    }
  }
  if (!text.trim().empty())
    operands.push_back(text.drop_front(begin).trim());
}

static llvm::SmallVector<PTXInstruction> parse(StringRef text) {
  llvm::SmallVector<PTXInstruction> instructions;
  llvm::SmallVector<StringRef> statements;
  text.split(statements, ';', -1, /*KeepEmpty=*/false);
  for (StringRef statement : statements) {
    statement = statement.trim();
    if (statement.empty() || statement == "}")
      continue;
    PTXInstruction &instruction = instructions.emplace_back();
    auto [name, operands] = statement.split(' ');
    instruction.name = name.trim();
    splitOperands(operands, instruction.operands);
  }
  return instructions;
}

static std::optional<int64_t> parseInteger(StringRef text) {
  int64_t value;
  if (text.getAsInteger(0, value))
    return std::nullopt;
  return value;
}

namespace {
/// An inline assembly of one instruction, and what its operands are.
class AsmLowering {
public:
  AsmLowering(FunctionLowering &lowering, llvm::CallInst &call)
      : lowering(lowering), call(call), builder(&call),
        assembly(*llvm::cast<llvm::InlineAsm>(call.getCalledOperand())) {
    auto *structure = llvm::dyn_cast<llvm::StructType>(call.getType());
    numResults =
        structure ? structure->getNumElements() : !call.getType()->isVoidTy();
  }

  llvm::Value *run();

private:
  /// The value of `$N` or of an integer; `[$N]` and `[$N + M]` of an address.
  llvm::Value *getOperand(StringRef text);
  llvm::Value *callHandler(const Operation &operation,
                           llvm::ArrayRef<StringRef> operands);
  llvm::Value *lowerLogic(const PTXInstruction &instruction);
  llvm::Value *lowerLoad(const PTXInstruction &instruction);
  llvm::Value *lowerOperation(const PTXInstruction &instruction);
  llvm::Value *lowerMBarrierWait();

  FunctionLowering &lowering;
  llvm::CallInst &call;
  Builder builder;
  llvm::InlineAsm &assembly;
  unsigned numResults;
};
} // namespace

llvm::Value *AsmLowering::getOperand(StringRef text) {
  if (text.consume_front("[") && text.consume_back("]"))
    text = text.trim();
  if (!text.consume_front("$")) {
    std::optional<int64_t> value = parseInteger(text);
    return value ? builder.getInt32(uint32_t(*value)) : nullptr;
  }
  unsigned index;
  if (text.getAsInteger(10, index) || index < numResults ||
      index - numResults >= call.arg_size())
    return nullptr;
  return call.getArgOperand(index - numResults);
}

llvm::Value *AsmLowering::callHandler(const Operation &operation,
                                      llvm::ArrayRef<StringRef> operands) {
  llvm::SmallVector<llvm::Value *> arguments;
  for (StringRef operand : operands) {
    llvm::Value *value = getOperand(operand);
    if (!value)
      return nullptr;
    arguments.push_back(value);
  }
  return lowering.callHandler(builder, operation, call,
                              describeAssembly(assembly), arguments,
                              call.getType());
}

/// `lop3.b32 d, a, b, c, table`: bit `4a + 2b + c` of the table.
llvm::Value *AsmLowering::lowerLogic(const PTXInstruction &instruction) {
  if (instruction.operands.size() != 5)
    return nullptr;
  llvm::Value *inputs[3];
  for (unsigned i = 0; i != 3; ++i) {
    inputs[i] = getOperand(instruction.operands[i + 1]);
    if (!inputs[i])
      return nullptr;
  }
  auto *table = llvm::dyn_cast_or_null<llvm::ConstantInt>(
      getOperand(instruction.operands[4]));
  if (!table)
    return nullptr;
  llvm::Value *result = builder.getInt32(0);
  for (unsigned row = 0; row != 8; ++row) {
    if (!(table->getZExtValue() >> row & 1))
      continue;
    llvm::Value *term = builder.getInt32(~0u);
    for (unsigned i = 0; i != 3; ++i)
      term = builder.CreateAnd(
          term, row >> (2 - i) & 1 ? inputs[i] : builder.CreateNot(inputs[i]));
    result = builder.CreateOr(result, term);
  }
  return result;
}

/// The bytes of a PTX type, 0 for others.
static unsigned getTypeBytes(StringRef type) {
  for (unsigned bits : {8, 16, 32, 64})
    for (StringRef kind : {"b", "u", "s", "f"})
      if (type == (kind + llvm::Twine(bits)).str())
        return bits / 8;
  return 0;
}

/// `ld.global[.hints][.v2|.v4].type`, of global memory.
llvm::Value *AsmLowering::lowerLoad(const PTXInstruction &instruction) {
  llvm::SmallVector<StringRef> parts;
  instruction.name.split(parts, '.');
  unsigned bytes = getTypeBytes(parts.back());
  if (parts[0] != "ld" || parts.size() < 3 || parts[1] != "global" || !bytes ||
      instruction.operands.size() != 2 || numResults == 0)
    return nullptr;
  // The others are hints: where to cache, and that nobody writes there.
  unsigned count = 1;
  bool acquires = false;
  for (StringRef part : llvm::ArrayRef(parts).drop_front(2).drop_back()) {
    if (part == "v2" || part == "v4")
      count = part == "v2" ? 2 : 4;
    else if (part == "acquire")
      acquires = true;
    else if (part == "volatile" || part == "relaxed" || part == "gpu" ||
             part == "sys" || part == "cta")
      continue;
    else if (!(part == "nc" || part.starts_with("L1::") ||
               part.starts_with("L2::") || part == "ca" || part == "cg" ||
               part == "cs" || part == "lu" || part == "cv"))
      return nullptr;
  }
  llvm::Value *pointer = getOperand(instruction.operands[1]);
  if (!pointer || count != numResults)
    return nullptr;
  auto *structure = llvm::dyn_cast<llvm::StructType>(call.getType());
  llvm::Type *type = structure ? structure->getElementType(0) : call.getType();
  if (lowering.layout.getTypeStoreSize(type) != bytes)
    return nullptr;
  if (pointer->getType()->isIntegerTy(64))
    pointer = builder.CreateIntToPtr(pointer, builder.getPtrTy(Global));
  if (!pointer->getType()->isPointerTy())
    return nullptr;
  checkPointer(lowering, call, pointer, bytes * count, bytes * count,
               /*isWrite=*/false, /*isAtomic=*/false,
               describeAssembly(assembly));
  builder.SetInsertPoint(&call);
  llvm::Value *result = llvm::PoisonValue::get(call.getType());
  for (unsigned i = 0; i != count; ++i) {
    llvm::LoadInst *element =
        builder.CreateLoad(type, builder.CreateConstGEP1_64(type, pointer, i),
                           /*isVolatile=*/true);
    result =
        structure ? builder.CreateInsertValue(result, element, i) : element;
  }
  if (acquires)
    builder.CreateFence(llvm::AtomicOrdering::Acquire);
  return result;
}

/// `mbarrier.try_wait.parity` in a loop: all that MLIR's op does.
llvm::Value *AsmLowering::lowerMBarrierWait() {
  if (call.arg_size() != 3)
    return nullptr;
  return callHandler(Operation{waitForMBarrier, 1, 0, true}, {"$0", "$1"});
}

/// Instructions with an operation of the emulator.
llvm::Value *AsmLowering::lowerOperation(const PTXInstruction &instruction) {
  llvm::ArrayRef<StringRef> operands = instruction.operands;
  StringRef name = instruction.name;
  if (name == "movmatrix.sync.aligned.m8n8.trans.b16" && operands.size() == 2)
    return callHandler(Operation{transposeMatrix}, operands.drop_front());
  if (name == "mbarrier.init.shared.b64" && operands.size() == 2)
    return callHandler(Operation{initializeMBarrier}, operands);
  if (name == "mbarrier.arrive.expect_tx.shared.b64" && operands.size() == 3 &&
      operands[0] == "_")
    return callHandler(
        Operation{arriveAtMBarrier, MBarrierArrival::ExpectedBytes},
        operands.drop_front());
  if (name == "bar.arrive" && operands.size() == 2)
    return callHandler(Operation{arriveAtBarrier, 0, 1, /*flag=*/true},
                       operands);
  if (name == "prmt.b32" && operands.size() == 4) {
    llvm::Value *values[3];
    for (unsigned i = 0; i != 3; ++i)
      if (!(values[i] = getOperand(operands[i + 1])))
        return nullptr;
    return permuteBytes(builder, values[0], values[1], values[2]);
  }
  if (name == "mov.b32" && operands.size() == 2)
    return getOperand(operands[1]);
  if (name == "mov.u32" && operands.size() == 2 && operands[1].starts_with("%"))
    return readSpecialRegister(lowering, builder, operands[1].drop_front());
  // What ptxas is told of a loop.
  if (name.starts_with("prefetch.") || name == ".pragma")
    return llvm::PoisonValue::get(builder.getInt32Ty());
  return nullptr;
}

llvm::Value *AsmLowering::run() {
  StringRef text = assembly.getAsmString();
  if (text.contains("mbarrier.try_wait.parity.shared.b64") &&
      text.contains("bra"))
    return lowerMBarrierWait();
  llvm::SmallVector<PTXInstruction> instructions = parse(text);
  if (instructions.size() != 1)
    return nullptr;
  const PTXInstruction &instruction = instructions.front();
  if (instruction.name == "lop3.b32")
    return lowerLogic(instruction);
  if (instruction.name.starts_with("ld."))
    return lowerLoad(instruction);
  return lowerOperation(instruction);
}

std::string
mlir::kvq::emulator::describeAssembly(const llvm::InlineAsm &assembly) {
  std::string text = "inline assembly '";
  StringRef rest = assembly.getAsmString().trim();
  while (!rest.empty()) {
    auto [word, others] = llvm::getToken(rest);
    text += word;
    rest = others.ltrim();
    text += rest.empty() ? "" : " ";
  }
  return text + "'";
}

llvm::Value *mlir::kvq::emulator::lowerInlineAsm(FunctionLowering &lowering,
                                                 llvm::CallInst &call) {
  return AsmLowering(lowering, call).run();
}
