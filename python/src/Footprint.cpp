//===- Footprint.cpp - Bytes of caches ------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

#include "kvq/IR/Footprint.h"
#include "kvq/Target/Compile.h"
#include "kvq/Target/Diagnostics.h"
#include "kvq/Transforms/Footprint.h"

#include "llvm/Support/raw_ostream.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

namespace {
/// A cache type that is asked for bytes many times.
class Footprint {
public:
  explicit Footprint(const std::string &type)
      : context(createContext()), type(parseCacheType(context.get(), type)) {}

  nb::dict getAllocated(int64_t capacity) const {
    return toDict(getAllocatedBytes(type, check("capacity", capacity)));
  }
  nb::dict getRetained(int64_t length) const {
    return toDict(getRetainedBytes(type, check("length", length)));
  }
  nb::dict getTokenGroupBytes() const {
    return toDict(kvq::getTokenGroupBytes(type));
  }
  int64_t getTokenGroup() const { return type.getTokenGroup(); }

private:
  static int64_t check(const char *name, int64_t tokens) {
    if (tokens < 0)
      throw Error(std::string("expected a ") + name + " of at least 0, got " +
                  std::to_string(tokens));
    return tokens;
  }
  static nb::dict toDict(FailureOr<ByteSplit> bytes) {
    if (failed(bytes))
      throw Error("expected a cache of fewer than 2^63 bytes");
    nb::dict dict;
    for (auto [part, size] : bytes->getParts())
      dict[part.str().c_str()] = size;
    dict["total"] = bytes->total;
    dict["alignment"] = bytes->alignment;
    return dict;
  }

  std::unique_ptr<MLIRContext> context;
  CacheType type;
};
} // namespace

/// What the functions of a module keep and allocate after a pipeline, as JSON.
static std::string measureText(const std::string &text,
                               const std::string &pipeline) {
  nb::gil_scoped_release release;
  std::unique_ptr<MLIRContext> context = createContext();
  auto module = unwrap(parseModule(context.get(), text, "<module>"));
  unwrap(runPipeline(*module, pipeline));
  DiagnosticCollector diagnostics(context.get());
  FailureOr<std::vector<FunctionFootprint>> functions =
      measure(*module, /*capacity=*/std::nullopt);
  if (failed(functions))
    unwrap(diagnostics.takeError("nothing to measure"));
  std::string json;
  llvm::raw_string_ostream os(json);
  printJSON(*functions, os);
  return json;
}

void python::bindFootprint(nb::module_ &module) {
  module.def("measure", &measureText, nb::arg("text"), nb::arg("pipeline"),
             "The footprints of a module's functions after a pass pipeline, "
             "as JSON.");
  nb::class_<Footprint>(module, "Footprint",
                        "Bytes of a cache of a type, split by component: "
                        "dicts that end in padding, total and, beside the "
                        "total, alignment.")
      .def(nb::init<const std::string &>(), nb::arg("type"))
      .def("allocated", &Footprint::getAllocated, nb::arg("capacity"),
           "What storage for so many tokens takes.")
      .def("retained", &Footprint::getRetained, nb::arg("length"),
           "What of it holds tokens once each sequence has so many.")
      .def_prop_ro("token_group_bytes", &Footprint::getTokenGroupBytes,
                   "What storage for each further group of tokens takes.")
      .def_prop_ro("token_group", &Footprint::getTokenGroup,
                   "Tokens in a group.");
}
