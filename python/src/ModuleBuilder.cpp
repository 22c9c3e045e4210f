//===- ModuleBuilder.cpp - Modules built op by op ------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kvq_mlir/builder.py is made of: ops of any dialect by name, types and
// attributes as text. Values are numbers, in the order in which a function gets
// them, so that Python holds nothing that MLIR may free.
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

#include "kvq/Target/Compile.h"
#include "kvq/Target/Diagnostics.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

namespace {

using Names = std::vector<std::string>;
/// Names and texts.
using Attributes = std::vector<std::pair<std::string, std::string>>;
/// A file and a line of Python.
using Place = std::pair<std::string, int>;

/// A module, and the functions that are built in it.
class ModuleBuilder {
public:
  explicit ModuleBuilder(std::optional<std::string> text);

  /// Adds a function without results, and returns its number.
  size_t addFunction(const std::string &name, const Names &types,
                     const std::vector<Attributes> &attributes,
                     const Place &place);
  std::string getType(size_t function, size_t value) const;
  /// Adds an op behind the others, and returns its results' numbers.
  std::vector<size_t> addOp(size_t function, const std::string &name,
                            const std::vector<size_t> &operands,
                            const Attributes &attributes,
                            const std::optional<Names> &results,
                            const Place &place);
  /// Ends a function, which then has these results.
  void addReturn(size_t function, const std::vector<size_t> &values,
                 const Place &place);

  void verify() const;
  void run(const std::string &pipeline);
  std::string print() const;

private:
  struct Function {
    func::FuncOp op;
    std::vector<Value> values;
  };

  Type parseType(const std::string &text) const;
  Attribute parseAttribute(const std::string &text) const;
  Location getLocation(const Place &place) const;
  /// Throws once passes have run: what they leave is another module.
  void checkUnchanged() const;
  /// A function that can be added to.
  Function &getOpen(size_t function);
  RegisteredOperationName findOp(const std::string &name) const;
  void inferResults(OperationState &state, RegisteredOperationName op) const;

  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
  std::vector<Function> functions;
  bool hasRun = false;
};

} // namespace

/// Throws what a step has reported.
static void check(LogicalResult result, DiagnosticCollector &diagnostics,
                  const llvm::Twine &fallback) {
  if (failed(result))
    unwrap(diagnostics.takeError(fallback));
}

ModuleBuilder::ModuleBuilder(std::optional<std::string> text)
    : context(createContext()) {
  module = text ? unwrap(parseModule(context.get(), *text, "<module>"))
                : OwningOpRef<ModuleOp>(
                      ModuleOp::create(UnknownLoc::get(context.get())));
}

/// What `parse` makes of `text`; throws what the parser says.
template <typename T>
static T parseOrThrow(T (*parse)(StringRef, MLIRContext *),
                      const std::string &text, MLIRContext *context) {
  DiagnosticCollector diagnostics(context, /*places=*/false);
  if (T parsed = parse(text, context))
    return parsed;
  throw Error("cannot parse '" + text +
              "': " + llvm::toString(diagnostics.takeError("it is none")));
}

Type ModuleBuilder::parseType(const std::string &text) const {
  return parseOrThrow<Type>(
      [](StringRef text, MLIRContext *context) {
        return mlir::parseType(text, context);
      },
      text, context.get());
}

Attribute ModuleBuilder::parseAttribute(const std::string &text) const {
  return parseOrThrow<Attribute>(
      [](StringRef text, MLIRContext *context) {
        return mlir::parseAttribute(text, context);
      },
      text, context.get());
}

Location ModuleBuilder::getLocation(const Place &place) const {
  return FileLineColLoc::get(context.get(), place.first, place.second, 1);
}

void ModuleBuilder::checkUnchanged() const {
  if (hasRun)
    throw Error("passes have run on the module: expected to build it before");
}

ModuleBuilder::Function &ModuleBuilder::getOpen(size_t function) {
  checkUnchanged();
  Function &found = functions.at(function);
  Block &body = found.op.getBody().front();
  if (!body.empty() && body.back().hasTrait<OpTrait::IsTerminator>())
    throw Error("function '" + found.op.getName().str() +
                "' has returned: expected no op behind that");
  return found;
}

size_t ModuleBuilder::addFunction(const std::string &name, const Names &types,
                                  const std::vector<Attributes> &attributes,
                                  const Place &place) {
  checkUnchanged();
  if (module->lookupSymbol(name))
    throw Error("expected one function '" + name + "', got another");
  context->loadDialect<func::FuncDialect>();
  SmallVector<Type> arguments;
  for (const std::string &type : types)
    arguments.push_back(parseType(type));
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto op =
      func::FuncOp::create(builder, getLocation(place), name,
                           builder.getFunctionType(arguments, /*results=*/{}));
  for (auto [index, list] : llvm::enumerate(attributes))
    for (const auto &[key, text] : list)
      op.setArgAttr(index, key, parseAttribute(text));
  Block *body = op.addEntryBlock();
  functions.push_back({op, {body->args_begin(), body->args_end()}});
  return functions.size() - 1;
}

std::string ModuleBuilder::getType(size_t function, size_t value) const {
  checkUnchanged();
  std::string text;
  llvm::raw_string_ostream(text)
      << functions.at(function).values.at(value).getType();
  return text;
}

RegisteredOperationName ModuleBuilder::findOp(const std::string &name) const {
  StringRef dialect = StringRef(name).split('.').first;
  if (!context->getOrLoadDialect(dialect))
    throw Error("unknown op '" + name + "': there is no dialect '" +
                dialect.str() + "'");
  if (auto op = RegisteredOperationName::lookup(name, context.get()))
    return *op;
  SmallVector<StringRef> known;
  for (RegisteredOperationName other : context->getRegisteredOperations())
    if (other.getDialectNamespace() == dialect)
      known.push_back(other.stripDialect());
  llvm::sort(known);
  throw Error("unknown op '" + name + "': '" + dialect.str() + "' has " +
              llvm::join(known, ", "));
}

void ModuleBuilder::inferResults(OperationState &state,
                                 RegisteredOperationName op) const {
  auto *interface = op.getInterface<InferTypeOpInterface>();
  if (!interface)
    throw Error("'" + op.getStringRef().str() +
                "': expected the types of its results, which do not follow "
                "from its operands");
  auto emitError = [&] { return mlir::emitError(state.location); };
  DiagnosticCollector diagnostics(context.get());
  DictionaryAttr attributes = state.attributes.getDictionary(context.get());
  auto storage = std::make_unique<char[]>(op.getOpPropertyByteSize() + 1);
  OpaqueProperties properties(storage.get());
  op.initOpProperties(properties, /*init=*/nullptr);
  LogicalResult set =
      op.setOpPropertiesFromAttribute(op, properties, attributes, emitError);
  LogicalResult inferred =
      succeeded(set)
          ? interface->inferReturnTypes(context.get(), state.location,
                                        state.operands, attributes, properties,
                                        state.regions, state.types)
          : failure();
  op.destroyOpProperties(properties);
  check(inferred, diagnostics, "cannot infer the types of results");
}

std::vector<size_t> ModuleBuilder::addOp(size_t function,
                                         const std::string &name,
                                         const std::vector<size_t> &operands,
                                         const Attributes &attributes,
                                         const std::optional<Names> &results,
                                         const Place &place) {
  Function &target = getOpen(function);
  RegisteredOperationName known = findOp(name);
  OperationState state(getLocation(place), known);
  for (size_t operand : operands)
    state.addOperands(target.values.at(operand));
  for (const auto &[key, text] : attributes)
    state.addAttribute(key, parseAttribute(text));
  if (results)
    for (const std::string &type : *results)
      state.addTypes(parseType(type));
  else if (!known.hasTrait<OpTrait::ZeroResults>())
    inferResults(state, known);

  DiagnosticCollector diagnostics(context.get());
  OpBuilder builder = OpBuilder::atBlockEnd(&target.op.getBody().front());
  Operation *op = builder.create(state);
  if (failed(mlir::verify(op))) {
    op->erase();
    unwrap(diagnostics.takeError("not a valid op"));
  }
  std::vector<size_t> numbers;
  for (Value result : op->getResults()) {
    numbers.push_back(target.values.size());
    target.values.push_back(result);
  }
  return numbers;
}

void ModuleBuilder::addReturn(size_t function,
                              const std::vector<size_t> &values,
                              const Place &place) {
  Function &target = getOpen(function);
  SmallVector<Value> results;
  for (size_t value : values)
    results.push_back(target.values.at(value));
  OpBuilder builder = OpBuilder::atBlockEnd(&target.op.getBody().front());
  target.op.setType(builder.getFunctionType(target.op.getArgumentTypes(),
                                            TypeRange(ValueRange(results))));
  func::ReturnOp::create(builder, getLocation(place), results);
}

void ModuleBuilder::verify() const {
  DiagnosticCollector diagnostics(context.get());
  check(mlir::verify(*module), diagnostics, "not a valid module");
}

void ModuleBuilder::run(const std::string &pipeline) {
  verify();
  hasRun = true;
  unwrap(runPipeline(*module, pipeline));
}

std::string ModuleBuilder::print() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.get().print(os);
  return text;
}

void python::bindModuleBuilder(nb::module_ &module) {
  nb::class_<ModuleBuilder>(module, "ModuleBuilder",
                            "A module that is built op by op; kvq_mlir.builder "
                            "wraps it.")
      .def(nb::init<std::optional<std::string>>(), nb::arg("text") = nb::none())
      .def("add_function", &ModuleBuilder::addFunction)
      .def("type_of", &ModuleBuilder::getType)
      .def("add_op", &ModuleBuilder::addOp, nb::arg("function"),
           nb::arg("name"), nb::arg("operands"), nb::arg("attributes"),
           nb::arg("results").none(), nb::arg("place"))
      .def("add_return", &ModuleBuilder::addReturn)
      .def("verify", &ModuleBuilder::verify)
      .def("run", &ModuleBuilder::run)
      .def("__str__", &ModuleBuilder::print);
}
