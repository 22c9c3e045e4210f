//===- Kernel.cpp - Compiled modules, called with arrays ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Bindings.h"

#include "kvq/Target/Compile.h"
#include "kvq/Target/JIT.h"
#include "kvq/Target/Signature.h"
#include "kvq/Transforms/QueryTile.h"
#include "kvq/Transforms/Schedules.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <chrono>

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

namespace {
/// A compiled module.
class Kernel {
public:
  std::unique_ptr<JIT> jit;
  Functions functions;
  double compileSeconds;

  void invoke(nb::str name, nb::handle arguments,
              std::optional<int> threads) const;
};

/// Threads of the parallel regions that this thread enters, until it is gone.
class ThreadCount {
public:
  ThreadCount(const OpenMPRuntime *openMP, std::optional<int> threads)
      : openMP(threads ? openMP : nullptr) {
    if (!this->openMP)
      return;
    before = openMP->getThreads();
    openMP->setThreads(*threads);
  }
  ThreadCount(const ThreadCount &) = delete;
  ~ThreadCount() {
    if (openMP)
      openMP->setThreads(before);
  }

private:
  const OpenMPRuntime *openMP;
  int before = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void Kernel::invoke(nb::str name, nb::handle arguments,
                    std::optional<int> threads) const {
  if (threads && *threads < 1)
    throw Error("expected at least 1 thread, got " + std::to_string(*threads));
  if (threads && !jit->getOpenMP())
    throw Error("a number of threads is given, but no function of this module "
                "was compiled to run on several");
  const Function &function = lookup(functions, name.c_str());
  Arguments call;
  call.addBuffers(function.signature, arguments);
  llvm::SmallVector<void *, 256> addresses = call.getAddresses();
  nb::gil_scoped_release release;
  ThreadCount scope(jit->getOpenMP(), threads);
  function.code.entry(addresses.data());
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// The key of the only attention op of a module.
static std::string getKey(const std::string &text) {
  std::unique_ptr<MLIRContext> context = createContext();
  auto module = unwrap(parseModule(context.get(), text, "<module>"));
  std::vector<std::string> keys;
  module->walk([&](AttentionOp op) { keys.push_back(getScheduleKey(op)); });
  if (keys.size() != 1)
    throw Error("expected a module with one kvq.attention, got " +
                std::to_string(keys.size()));
  return keys.front();
}

static void checkSchedules(const std::string &path) {
  std::unique_ptr<MLIRContext> context = createContext();
  unwrap(ScheduleFile::read(path, context.get()).takeError());
}

static std::unique_ptr<Kernel>
compile(const std::string &text, std::optional<int64_t> splits,
        std::optional<int64_t> tileTokens, std::optional<int64_t> queryTile,
        std::optional<int64_t> vectorWidth, std::optional<int64_t> prefetch,
        int64_t threads, const std::string &schedules, bool openMP,
        const std::string &cpu, const std::string &features,
        const std::string &pipeline) {
  nb::gil_scoped_release release;
  auto start = std::chrono::steady_clock::now();
  std::unique_ptr<MLIRContext> context = createContext();
  auto module = unwrap(parseModule(context.get(), text, "<module>"));
  // Signatures are those of the types that policies and layouts give, and
  // before lowering: afterwards arrays are words like any others.
  unwrap(runPipeline(*module,
                     "builtin.module(kvq-apply-policy,kvq-assign-layout)"));
  std::vector<Signature> signatures = unwrap(getSignatures(*module));
  CPUTarget target = CPUTarget::get(cpu, features);
  if (!pipeline.empty()) {
    unwrap(runPipeline(*module, pipeline));
  } else {
    CPUPipelineOptions options;
    if (splits)
      options.splits = *splits;
    if (tileTokens)
      options.tileTokens = *tileTokens;
    if (queryTile)
      options.queryTile = *queryTile;
    if (prefetch)
      options.prefetch = *prefetch;
    std::unique_ptr<llvm::TargetMachine> machine =
        unwrap(target.createTargetMachine());
    setProcessorOptions(options, target, *machine);
    if (vectorWidth)
      options.vectorWidth = *vectorWidth;
    options.threads = threads;
    options.schedules = schedules;
    options.openMP = openMP;
    unwrap(lowerForCPU(*module, options));
  }
  auto kernel = std::make_unique<Kernel>();
  kernel->jit = unwrap(JIT::create(*module, target));
  kernel->functions =
      unwrap(findFunctions(*kernel->jit, std::move(signatures)));
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  kernel->compileSeconds = seconds.count();
  return kernel;
}

void python::bindKernel(nb::module_ &module) {
  nb::class_<Kernel>(module, "Kernel", "A compiled module.")
      .def("invoke", &Kernel::invoke, nb::arg("name"), nb::arg("arguments"),
           nb::arg("threads") = nb::none(),
           "Calls a function with arrays (and scalars) in the order of its "
           "arguments, caches as their components; on so many threads if it "
           "was compiled with threads, otherwise as many as OpenMP has.")
      .def_ro("compile_seconds", &Kernel::compileSeconds,
              "Time from text to machine code.");
  module.def(
      "query_tile",
      [](int64_t queryTokens, int64_t heads, int64_t channels, bool onGPU) {
        return chooseQueryTile(queryTokens, heads, channels,
                               onGPU ? kGPURowChannels : kCPURowChannels);
      },
      nb::arg("query_tokens"), nb::arg("heads"), nb::arg("channels"),
      nb::kw_only(), nb::arg("on_gpu"),
      "Query tokens in a work item for so many of them, query heads to a KV "
      "head and channels of a row.");
  module.def(
      "compile", &compile, nb::arg("text"), nb::kw_only(),
      nb::arg("splits") = nb::none(), nb::arg("tile_tokens") = nb::none(),
      nb::arg("query_tile") = nb::none(), nb::arg("vector_width") = nb::none(),
      nb::arg("prefetch") = nb::none(), nb::arg("threads") = 1,
      nb::arg("schedules") = "", nb::arg("openmp") = false, nb::arg("cpu") = "",
      nb::arg("features") = "", nb::arg("pipeline") = "",
      "Compiles a module with kvq-cpu-pipeline, or with the pipeline "
      "given as text, for this processor or the one named. schedules: a file "
      "that tune has written.");
  module.def(
      "host_cpu", [] { return CPUTarget::getHost().cpu; },
      "This processor, as LLVM names it.");
  module.def(
      "vector_width",
      [] {
        return CPUFeatures::get(
                   *unwrap(CPUTarget::getHost().createTargetMachine()))
            .vectorWidth;
      },
      "Elements of f32 in a vector register of this processor.");
  module.def("choose_splits", &chooseSplits, nb::arg("items"),
             nb::arg("tokens"), nb::arg("threads"),
             "The cost model's splits for so many work items.");
  module.def("schedule_version", &getScheduleVersion,
             "What files of schedules have to be of.");
  module.def("schedule_key", &getKey, nb::arg("text"),
             "What files of schedules keep the attention op of a module by.");
  module.def("check_schedules", &checkSchedules, nb::arg("path"),
             "Reads a file of schedules; an error where that fails.");
}
