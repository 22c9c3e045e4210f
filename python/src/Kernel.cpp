//===- Kernel.cpp - Compiled modules, called with arrays ----------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

#include "kvq/Target/Compile.h"
#include "kvq/Target/JIT.h"
#include "kvq/Target/Signature.h"
#include "kvq/Transforms/QueryTile.h"
#include "kvq/Transforms/Schedules.h"

#include "llvm/Support/raw_ostream.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <chrono>

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

namespace {
/// A function's code, and what it takes.
struct Function {
  Signature signature;
  JITFunction code;
};

/// The arrays of one call, held until it is over.
struct Buffers {
  llvm::SmallVector<Py_buffer, 24> views;

  Buffers() = default;
  Buffers(const Buffers &) = delete;
  ~Buffers() {
    for (Py_buffer &view : views)
      PyBuffer_Release(&view);
  }
};

/// A compiled module.
class Kernel {
public:
  std::unique_ptr<JIT> jit;
  llvm::StringMap<Function> functions;
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

/// Whether `format`, in the notation of Python's `struct`, is the element type.
/// Signless integers take signed and unsigned ones.
static bool hasElementType(const ArgumentSpec &spec, const Py_buffer &view) {
  const char *format = view.format ? view.format : "B";
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  if (view.itemsize * 8 != spec.bits || !*format || format[1])
    return false;
  llvm::StringRef codes =
      spec.kind == ElementKind::Float ? "efd" : "bBhHiIlLqQ";
  return codes.contains(*format);
}

static bool hasShape(const ArgumentSpec &spec, const Py_buffer &view) {
  if (view.ndim != int(spec.shape.size()))
    return false;
  for (int axis = 0; axis < view.ndim; ++axis)
    if (spec.shape[axis] != ShapedType::kDynamic &&
        spec.shape[axis] != view.shape[axis])
      return false;
  return true;
}

static void printShape(llvm::raw_ostream &os, llvm::ArrayRef<int64_t> shape) {
  os << "[";
  llvm::interleaveComma(shape, os, [&](int64_t extent) {
    ShapedType::isDynamic(extent) ? os << "?" : os << extent;
  });
  os << "]";
}

/// Throws what is wrong with an array that is not as it should be.
[[noreturn]] static void reject(const std::string &function,
                                const ArgumentSpec &spec,
                                const Py_buffer &view) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << function << ", " << spec.name << ": expected a C-contiguous"
     << (spec.isWritten ? ", writable" : "") << " array of "
     << spec.getElementText() << " ";
  printShape(os, spec.shape);
  os << ", got ";
  if (!PyBuffer_IsContiguous(&view, 'C'))
    os << "a strided ";
  else if (spec.isWritten && view.readonly)
    os << "a read-only ";
  else if (reinterpret_cast<uintptr_t>(view.buf) % view.itemsize != 0)
    os << "an unaligned ";
  else
    os << "an ";
  os << "array of '" << (view.format ? view.format : "B") << "' ";
  printShape(os,
             llvm::SmallVector<int64_t>(view.shape, view.shape + view.ndim));
  throw Error(text);
}

/// Appends the words of an array's descriptor.
static void addArray(const std::string &function, const ArgumentSpec &spec,
                     PyObject *object, Buffers &buffers,
                     llvm::SmallVectorImpl<int64_t> &words) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_FORMAT | PyBUF_STRIDES) != 0) {
    PyErr_Clear();
    std::string text = function + ", " + spec.name +
                       ": expected an array, got " + Py_TYPE(object)->tp_name;
    throw nb::type_error(text.c_str());
  }
  buffers.views.push_back(view);
  if (!hasElementType(spec, view) || !hasShape(spec, view) ||
      (spec.isWritten && view.readonly) || !PyBuffer_IsContiguous(&view, 'C') ||
      reinterpret_cast<uintptr_t>(view.buf) % view.itemsize != 0)
    reject(function, spec, view);
  int64_t pointer = reinterpret_cast<intptr_t>(view.buf);
  words.append({pointer, pointer, /*offset=*/0});
  words.append(view.shape, view.shape + view.ndim);
  // Not the buffer's own: NumPy gives any stride to an axis of extent 1.
  size_t strides = words.size();
  words.append(view.ndim, 1);
  for (int axis = view.ndim - 2; axis >= 0; --axis)
    words[strides + axis] = words[strides + axis + 1] * view.shape[axis + 1];
}

static void addScalar(const ArgumentSpec &spec, nb::handle object,
                      llvm::SmallVectorImpl<int64_t> &words) {
  // The code reads as many low bytes as the type has.
  int64_t &word = words.emplace_back(0);
  if (spec.kind == ElementKind::Integer) {
    word = nb::cast<int64_t>(object);
    return;
  }
  double value = nb::cast<double>(object);
  if (spec.bits == 64) {
    std::memcpy(&word, &value, sizeof(value));
  } else if (spec.bits == 32) {
    float narrow = value;
    std::memcpy(&word, &narrow, sizeof(narrow));
  } else {
    throw Error(spec.name + ": a scalar of " + spec.getElementText() +
                " cannot be passed from Python");
  }
}

void Kernel::invoke(nb::str name, nb::handle arguments,
                    std::optional<int> threads) const {
  if (threads && *threads < 1)
    throw Error("expected at least 1 thread, got " + std::to_string(*threads));
  if (threads && !jit->getOpenMP())
    throw Error("a number of threads is given, but no function of this module "
                "was compiled to run on several");
  auto found = functions.find(name.c_str());
  if (found == functions.end())
    throw Error(std::string("no function '") + name.c_str() +
                "' to call in this module");
  const Signature &signature = found->second.signature;
  auto sequence = nb::steal(
      PySequence_Fast(arguments.ptr(), "expected a sequence of arguments"));
  if (!sequence.is_valid())
    throw nb::python_error();
  size_t count = PySequence_Fast_GET_SIZE(sequence.ptr());
  if (count != signature.arguments.size())
    throw Error(signature.name + ": expected " +
                std::to_string(signature.arguments.size()) +
                " arguments, got " + std::to_string(count));

  Buffers buffers;
  llvm::SmallVector<int64_t, 256> words;
  for (size_t i = 0; i < count; ++i) {
    PyObject *object = PySequence_Fast_GET_ITEM(sequence.ptr(), i);
    const ArgumentSpec &spec = signature.arguments[i];
    if (spec.isArray)
      addArray(signature.name, spec, object, buffers, words);
    else
      addScalar(spec, object, words);
  }
  llvm::SmallVector<void *, 256> addresses;
  for (int64_t &word : words)
    addresses.push_back(&word);
  nb::gil_scoped_release release;
  ThreadCount scope(jit->getOpenMP(), threads);
  found->second.code.entry(addresses.data());
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

/// The function's code, checked against what its source says it takes.
static llvm::Expected<JITFunction> findCode(const JIT &jit,
                                            const Signature &signature) {
  const JITFunction *code = jit.lookup(signature.name);
  if (!code)
    return llvm::createStringError(
        "function '" + signature.name +
        "' returns values after lowering; expected all of its results to be "
        "arguments that it overwrites");
  if (code->numArguments != signature.getNumWords())
    return llvm::createStringError(
        "function '" + signature.name + "': expected " +
        std::to_string(signature.getNumWords()) +
        " arguments in LLVM IR, got " + std::to_string(code->numArguments));
  return *code;
}

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
  for (Signature &signature : signatures) {
    JITFunction code = unwrap(findCode(*kernel->jit, signature));
    std::string name = signature.name;
    kernel->functions[name] = {std::move(signature), code};
  }
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
      "query_tile", &chooseQueryTile, nb::arg("query_tokens"), nb::arg("heads"),
      nb::arg("channels"),
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
