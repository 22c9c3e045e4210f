//===- Case.cpp - One damaged input ---------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Case.h"
#include "Mutator.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace fuzz;

static constexpr StringLiteral kPipelineComment = "// pipeline: ";

//===----------------------------------------------------------------------===//
// Draws
//===----------------------------------------------------------------------===//

/// Most often one that lowers all; else one of the tests', or some passes in
/// any order. One in eight is damaged.
static std::string drawPipeline(Random &random, const Corpus &corpus) {
  static const std::vector<std::string> kWhole = {
      "builtin.module(kvq-cpu-pipeline)", "builtin.module(kvq-tile-pipeline)",
      "builtin.module(kvq-tile-pipeline,kvq-bufferize-pipeline)",
      "builtin.module(kvq-nvvm-pipeline)",
      "builtin.module(kvq-report-footprint)"};
  std::string pipeline;
  if (random.oneIn(3)) {
    pipeline = random.pick(kWhole);
  } else {
    pipeline = random.pick(corpus.pipelines);
  }
  if (random.oneIn(8))
    pipeline = damageText(random, pipeline, random.pick(corpus.pipelines));
  return pipeline;
}

Case Case::draw(const Corpus &corpus, uint64_t seed, uint64_t index) {
  Random random(seed, index);
  Case input;
  if (!corpus.bytecode.empty() && random.oneIn(6)) {
    input.module = damageBytes(random, random.pick(corpus.bytecode));
  } else {
    input.module = random.pick(corpus.texts);
    // One in eight as it is, for the pipeline's sake.
    if (!random.oneIn(8))
      input.module =
          damageText(random, input.module, random.pick(corpus.texts));
  }
  input.pipeline = drawPipeline(random, corpus);
  return input;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

bool Case::isBytecode() const {
  return StringRef(module).starts_with("ML\xefR");
}

static llvm::Error writeFile(const Twine &path, StringRef content) {
  std::error_code error;
  llvm::raw_fd_ostream os(path.str(), error);
  if (error)
    return llvm::createStringError(error, "cannot write " + path);
  os << content;
  return llvm::Error::success();
}

llvm::Error Case::save(StringRef stem) const {
  if (!isBytecode())
    return writeFile(stem + ".mlir",
                     (kPipelineComment + pipeline + "\n" + module).str());
  if (llvm::Error error = writeFile(stem + ".pipeline", pipeline + "\n"))
    return error;
  return writeFile(stem + ".mlirbc", module);
}

llvm::Expected<Case> Case::load(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), "cannot read " + path);
  Case input;
  StringRef content = (*buffer)->getBuffer();
  input.module = content.str();
  input.pipeline = "builtin.module(kvq-cpu-pipeline)";
  if (content.consume_front(kPipelineComment)) {
    auto [pipeline, module] = content.split('\n');
    input.pipeline = pipeline.str();
    input.module = module.str();
  } else if (auto beside = llvm::MemoryBuffer::getFile(path.rsplit('.').first +
                                                       ".pipeline")) {
    input.pipeline = (*beside)->getBuffer().rtrim().str();
  }
  return input;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

namespace {

/// Swallows errors, and keeps what is wrong with them.
class ErrorCheck {
public:
  ErrorCheck(MLIRContext &context, std::string &fault)
      : handler(&context,
                [this](Diagnostic &diagnostic) {
                  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
                    return;
                  ++count;
                  if (StringRef(diagnostic.str()).trim().empty())
                    this->fault = "an error without a message";
                }),
        fault(fault) {}

  /// A failure has to be explained.
  void expectError(StringRef step) {
    if (count == 0 && fault.empty())
      fault = (step + " failed without an error").str();
  }

private:
  ScopedDiagnosticHandler handler;
  std::string &fault;
  unsigned count = 0;
};

} // namespace

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

static std::string writeBytecode(ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  (void)writeBytecodeToFile(module, os);
  return bytes;
}

/// What is written is read as the same module.
static void checkRoundTrip(ModuleOp module, std::string &fault) {
  std::string text = print(module);
  for (const auto &[name, written] :
       {std::pair("text", text),
        std::pair("bytecode", writeBytecode(module))}) {
    auto read = parseSourceString<ModuleOp>(written, module.getContext());
    if (!read)
      fault = std::string(name) + " that was written is not read:\n" + text;
    else if (print(*read) != text)
      fault = std::string(name) + " is read as another module:\n" + text +
              "\nread:\n" + print(*read);
  }
}

Outcome fuzz::run(const Case &input, MLIRContext &context, std::string &fault) {
  ErrorCheck errors(context, fault);
  auto module = parseSourceString<ModuleOp>(input.module, &context);
  if (!module) {
    errors.expectError(input.isBytecode() ? "reading bytecode" : "parsing");
    return Outcome::Invalid;
  }
  // Bytecode may name ops as no text can.
  if (input.isBytecode())
    (void)print(*module);
  else
    checkRoundTrip(*module, fault);
  PassManager manager(&context);
  std::string message;
  llvm::raw_string_ostream os(message);
  StringRef pipeline = input.pipeline;
  if (pipeline.consume_front("builtin.module("))
    pipeline.consume_back(")");
  if (failed(parsePassPipeline(pipeline, manager, os))) {
    if (StringRef(message).trim().empty())
      fault = "a pipeline was refused without an error";
    return Outcome::Refused;
  }
  if (failed(manager.run(*module))) {
    errors.expectError("the pipeline");
    return Outcome::Refused;
  }
  if (failed(verify(*module)))
    fault = "what a pipeline made is not valid";
  return Outcome::Lowered;
}
