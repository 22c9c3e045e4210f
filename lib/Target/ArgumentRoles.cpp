//===- ArgumentRoles.cpp - What arguments of functions are for ------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentRoles.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Words that C99 or C++ keep, among those that arguments may well be called.
static constexpr llvm::StringLiteral kKeywords[] = {
    "and",       "asm",      "auto",     "bool",     "break",    "case",
    "catch",     "char",     "class",    "const",    "continue", "default",
    "delete",    "do",       "double",   "else",     "enum",     "explicit",
    "export",    "extern",   "false",    "float",    "for",      "friend",
    "goto",      "if",       "inline",   "int",      "long",     "mutable",
    "namespace", "new",      "not",      "operator", "or",       "private",
    "protected", "public",   "register", "restrict", "return",   "short",
    "signed",    "sizeof",   "static",   "struct",   "switch",   "template",
    "this",      "throw",    "true",     "try",      "typedef",  "typename",
    "union",     "unsigned", "using",    "virtual",  "void",     "volatile",
    "while",     "xor"};

bool kvq::isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         !llvm::is_contained(kKeywords, name) && llvm::all_of(name, [](char c) {
           return llvm::isAlnum(c) || c == '_';
         });
}

std::string kvq::getNameInSource(BlockArgument argument, StringRef source) {
  auto place = dyn_cast<FileLineColLoc>(argument.getLoc());
  if (!place || place.getLine() == 0 || place.getColumn() == 0)
    return "";
  StringRef rest = source;
  for (unsigned line = 1; line < place.getLine(); ++line)
    rest = rest.split('\n').second;
  rest = rest.drop_front(std::min<size_t>(place.getColumn() - 1, rest.size()));
  if (!rest.consume_front("%"))
    return "";
  std::string name = rest.take_while([](char c) {
                           return llvm::isAlnum(c) || c == '_' || c == '.' ||
                                  c == '-' || c == '$';
                         })
                         .str();
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return isIdentifier(name) ? name : "";
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

namespace {
/// Operands of an op, absent ones null, and what each is.
using Roles = std::initializer_list<std::pair<Value, StringRef>>;
} // namespace

static constexpr llvm::StringLiteral kPageTable =
    "batch, pages: those of each sequence's quantized tokens, in order";
static constexpr llvm::StringLiteral kRopeTable =
    "positions, pairs of channels: the angles of RoPE";

static StringRef findRole(Value value, Roles roles) {
  for (auto [operand, role] : roles)
    if (operand == value)
      return role;
  return "";
}

static StringRef describeOperand(AttentionOp op, Value value) {
  return findRole(
      value,
      {{op.getQuery(), "batch, query heads, query tokens, channels"},
       {op.getLengths(), "batch: tokens of each sequence"},
       {op.getKeyFlushed(), "batch: quantized keys of each sequence"},
       {op.getValueFlushed(), "batch: quantized values of each sequence"},
       {op.getKeyPages(), kPageTable},
       {op.getValuePages(), kPageTable},
       {op.getPositions(), "batch: the position of the first query token"},
       {op.getMask(), "batch, query heads, query tokens, tokens: added to "
                      "scores, or 0 to mask where integers"},
       {op.getSlopes(), "query heads: of ALiBi"},
       {op.getSinks(), "query heads: logits of the sinks"},
       {op.getCos(), kRopeTable},
       {op.getSin(), kRopeTable},
       {op.getInit(), "batch, query heads, query tokens, channels: the output"},
       {op.getLse(), "batch, query heads, query tokens: the logarithm of the "
                     "sum of exponentials"}});
}

static StringRef describeOperand(AppendOp op, Value value) {
  return findRole(
      value,
      {{op.getTokens(),
        op.isPacked() ? StringRef("tokens, KV heads, channels: new ones")
                      : StringRef("batch, KV heads, new tokens, channels")},
       {op.getLengths(), "batch: tokens of each sequence before the append"},
       {op.getFlushed(), "batch: quantized ones of them"},
       {op.getCounts(), "batch: new tokens of each sequence"},
       {op.getPages(), kPageTable},
       {op.getStarts(), "batch + 1: where the new tokens of each begin"},
       {op.getSlots(), "tokens: page * page size + row, or negative"},
       {op.getPositions(), "tokens: the position of each"},
       {op.getCos(), kRopeTable},
       {op.getSin(), kRopeTable},
       {op.getSaturated(), "batch, KV heads: saturated elements, added to"}});
}

StringRef kvq::describeUse(BlockArgument argument) {
  for (Operation *user : argument.getUsers()) {
    StringRef role = llvm::TypeSwitch<Operation *, StringRef>(user)
                         .Case<AttentionOp, AppendOp>([&](auto op) {
                           return describeOperand(op, argument);
                         })
                         .Default(StringRef());
    if (!role.empty())
      return role;
  }
  return "";
}

StringRef kvq::describeComponent(ComponentKind kind) {
  switch (kind) {
  case ComponentKind::Codes:
    return "packed codes";
  case ComponentKind::Values:
    return "exact elements";
  case ComponentKind::Records:
    return "records of codes and metadata";
  case ComponentKind::Scales:
    return "the scale of each group";
  case ComponentKind::Zeros:
    return "the zero of each group";
  case ComponentKind::OuterScales:
    return "what scales are times";
  case ComponentKind::Means:
    return "the mean of each channel";
  case ComponentKind::Signs:
    return "the sign of each channel, 1 or -1";
  case ComponentKind::First:
    return "the first tokens, exact";
  case ComponentKind::Recent:
    return "the newest tokens, exact, in a ring";
  }
  llvm_unreachable("unknown kind of component");
}
