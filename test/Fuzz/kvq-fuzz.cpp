//===- kvq-fuzz.cpp - Damaged modules, bytecode and pipelines -------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workers.h"

#include "kvq/InitAll.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

#include <random>

using namespace llvm;
using namespace fuzz;

static cl::list<std::string>
    inputs(cl::Positional, cl::OneOrMore,
           cl::desc("<folders of .mlir and .mlirbc, or files to replay>"));
static cl::opt<uint64_t> seed("seed",
                              cl::desc("Of the draws (0: a fresh one)"));
static cl::opt<uint64_t> cases("count", cl::desc("Cases"), cl::init(0));
static cl::opt<uint64_t> seconds("seconds",
                                 cl::desc("After which no more cases begin"),
                                 cl::init(0));
static cl::opt<unsigned> jobs("jobs", cl::desc("Processes"), cl::init(1));
static cl::opt<std::string> folder("save",
                                   cl::desc("Folder for cases with a fault"),
                                   cl::init("fuzz-faults"));
static cl::opt<std::string> knownFile(
    "known",
    cl::desc("File of regular expressions of stack traces and messages "
             "of known faults outside of kvq, one a line, # before "
             "remarks"));
static cl::opt<bool> replay("replay",
                            cl::desc("Run the inputs as they are, each once"));
static cl::opt<int64_t> only("only", cl::desc("Print this case and stop"),
                             cl::init(-1));

static ExitOnError exitOnError("kvq-fuzz: error: ");

static std::vector<std::string> readKnown() {
  if (knownFile.empty())
    return {};
  auto buffer =
      exitOnError(errorOrToExpected(MemoryBuffer::getFile(knownFile)));
  std::vector<std::string> known;
  for (StringRef line : split(buffer->getBuffer(), '\n'))
    if (StringRef text = line.split('#').first.trim(); !text.empty())
      known.push_back(text.str());
  return known;
}

/// Each pass of kvq alone, on what it runs on.
static void addPasses(Corpus &corpus) {
  for (StringRef name :
       {"kvq-apply-policy", "kvq-fuse-dequantize", "kvq-assign-layout",
        "kvq-outline-kernels", "kvq-assign-schedule", "kvq-split-tokens",
        "kvq-split-regions", "kvq-tile-attention", "kvq-decompose-attention",
        "kvq-fold-scales", "kvq-split-segments", "kvq-expand-caches",
        "kvq-decompose-values", "kvq-forward-copies", "kvq-verify-fused",
        "kvq-report-footprint", "convert-kvq-to-vector",
        "convert-kvq-to-gpu"}) {
    corpus.pipelines.push_back(("builtin.module(" + name + ")").str());
    corpus.pipelines.push_back(
        ("builtin.module(func.func(" + name + "))").str());
  }
}

static Corpus readCorpus() {
  Corpus corpus;
  for (const std::string &input : inputs)
    exitOnError(sys::fs::is_directory(input) ? corpus.addFolder(input)
                                             : corpus.addFile(input));
  addPasses(corpus);
  if (corpus.texts.empty())
    exitOnError(createStringError("expected a .mlir file, found none"));
  return corpus;
}

static int report(const Summary &summary) {
  outs() << summary.cases() << " cases: " << summary.invalid << " invalid, "
         << summary.refused << " refused by a pass, " << summary.lowered
         << " lowered, " << summary.known << " known faults outside of kvq, "
         << summary.faults << " faults\n";
  if (summary.faults)
    outs() << "see " << folder << "\n";
  return summary.faults != 0 || summary.cases() == 0;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllGPUToLLVMIRTranslations(registry);
  mlir::registerAllPasses();
  mlir::kvq::registerAllDialects(registry);
  mlir::kvq::registerAllPasses();
  cl::ParseCommandLineOptions(argc, argv, "Damages modules and runs them\n");

  RunOptions options;
  options.count = replay ? inputs.size() : uint64_t(cases);
  options.seconds = seconds;
  options.jobs = std::max(1u, unsigned(jobs));
  options.folder = folder;
  options.known = readKnown();
  if (!options.count && !options.seconds)
    exitOnError(createStringError("expected --count, --seconds or --replay"));
  if (std::error_code error = sys::fs::create_directories(folder))
    exitOnError(createStringError(error, "cannot make " + folder));
  if (replay)
    return report(runCases(
        registry,
        [](uint64_t index) { return exitOnError(Case::load(inputs[index])); },
        options));

  Corpus corpus = readCorpus();
  uint64_t chosen = seed ? uint64_t(seed) : std::random_device()();
  if (only >= 0) {
    Case input = Case::draw(corpus, chosen, only);
    outs() << "// pipeline: " << input.pipeline << "\n" << input.module;
    return 0;
  }
  outs() << "seed " << chosen << ", " << corpus.texts.size() << " modules, "
         << corpus.bytecode.size() << " in bytecode, "
         << corpus.pipelines.size() << " pipelines\n";
  return report(runCases(
      registry,
      [&](uint64_t index) { return Case::draw(corpus, chosen, index); },
      options));
}
