//===- Policy.cpp - Policies ----------------------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

#include "kvq/IR/Policy.h"
#include "kvq/Target/Compile.h"
#include "kvq/Target/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

static std::string toText(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

static nb::object toCount(std::optional<int64_t> count) {
  return count ? nb::object(nb::int_(*count)) : nb::none();
}

namespace {
/// The policy of a file.
class Policy {
public:
  Policy(const std::string &text, const std::string &name)
      : context(createContext()) {
    auto module = unwrap(parseModule(context.get(), text, name));
    DiagnosticCollector diagnostics(context.get());
    FailureOr<PolicyAttr> found = getOnlyPolicy(*module);
    if (failed(found))
      unwrap(diagnostics.takeError(name + ": not a policy"));
    policy = *found;
  }

  std::string getText() const { return toText(policy); }

  /// (layer, side, first head, end of heads, format, exact_first, recent,
  /// residual) of each cache.
  nb::list choose(int64_t layers, int64_t heads,
                  const std::vector<std::string> &sides) const;

private:
  std::unique_ptr<MLIRContext> context;
  PolicyAttr policy;
};
} // namespace

/// What Python takes of one part.
static nb::tuple toTuple(int64_t layer, const std::string &side,
                         const PolicyPart &part, MLIRContext *context) {
  Attribute format = FormatAttr::getExact(context);
  int64_t exactFirst = 0;
  std::optional<int64_t> recent, residual;
  if (PolicyEntryAttr entry = part.entry) {
    format = entry.getRowFormat();
    exactFirst = entry.getExactFirst();
    recent = entry.getRecent();
    residual = entry.getResidual();
  }
  return nb::make_tuple(layer, side, part.begin, part.end, toText(format),
                        exactFirst, toCount(recent), toCount(residual));
}

nb::list Policy::choose(int64_t layers, int64_t heads,
                        const std::vector<std::string> &sides) const {
  PolicyMatcher matcher(policy);
  DiagnosticCollector diagnostics(context.get(), /*places=*/false);
  auto emitError = [&] {
    return mlir::emitError(UnknownLoc::get(context.get()));
  };
  nb::list choices;
  for (int64_t layer = 0; layer < layers; ++layer) {
    SmallVector<SmallVector<PolicyPart>> found;
    for (const std::string &name : sides) {
      std::optional<CacheSide> side = symbolizeCacheSide(name);
      if (!side)
        throw Error("expected side keys or values, got '" + name + "'");
      auto parts = matcher.match(emitError, {*side, layer}, heads);
      if (failed(parts))
        unwrap(diagnostics.takeError("no policy"));
      found.push_back(std::move(*parts));
    }
    for (auto [name, parts] : llvm::zip_equal(sides, found)) {
      for (ArrayRef<PolicyPart> others : found)
        parts = cutAlike(parts, others);
      for (const PolicyPart &part : parts)
        choices.append(toTuple(layer, name, part, context.get()));
    }
  }
  if (failed(matcher.verifyAllMatched(emitError)))
    unwrap(diagnostics.takeError("no policy"));
  return choices;
}

void python::bindPolicy(nb::module_ &module) {
  nb::class_<Policy>(module, "Policy",
                     "The attribute kvq.policy of a module of nothing else.")
      .def(nb::init<const std::string &, const std::string &>(),
           nb::arg("text"), nb::arg("name"))
      .def("choose", &Policy::choose, nb::arg("layers"), nb::arg("kv_heads"),
           nb::arg("sides"),
           "(layer, side, first head, end of heads, format, exact_first, "
           "recent, residual) of each cache of a model.")
      .def("__str__", &Policy::getText);
}
