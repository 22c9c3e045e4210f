//===- Inspect.cpp - Formats, cache types and modules as text -----------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"

#include "kvq/IR/GivenValues.h"
#include "kvq/IR/KVQ.h"
#include "kvq/IR/Presets.h"
#include "kvq/Target/Compile.h"
#include "kvq/Target/Diagnostics.h"
#include "kvq/Transforms/Layouts.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/raw_ostream.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace mlir;
using namespace mlir::kvq;
using namespace mlir::kvq::python;

template <typename T> static std::string toText(T printable) {
  std::string text;
  llvm::raw_string_ostream(text) << printable;
  return text;
}

/// A format between the angle brackets.
static std::string toFormatText(Attribute format) {
  std::string text = toText(format);
  StringRef inner = text;
  inner.consume_front("#kvq.format<");
  inner.consume_back(">");
  return inner.str();
}

static nb::str toStr(StringRef text) {
  return nb::str(text.data(), text.size());
}

/// Python's None for a null type.
static nb::object toTextOrNone(Type type) {
  return type ? nb::object(nb::str(toText(type).c_str())) : nb::none();
}

/// Parses `text` with `parse`, or throws what the parser says.
template <typename Parse>
static auto parseOrThrow(MLIRContext *context, Parse parse,
                         const std::string &text) {
  DiagnosticCollector diagnostics(context, /*places=*/false);
  auto parsed = parse(text, context);
  if (!parsed)
    unwrap(diagnostics.takeError("cannot parse '" + text + "'"));
  return parsed;
}

static FormatAttr parseFormatAttr(MLIRContext *context,
                                  const std::string &text) {
  return cast<FormatAttr>(parseOrThrow(
      context,
      [](const std::string &text, MLIRContext *context) {
        // Nothing but a format: `>` in the text would end it early.
        return dyn_cast_or_null<FormatAttr>(
            parseAttribute("#kvq.format<" + text + ">", context));
      },
      text));
}

/// The canonical text between the angle brackets of `#kvq.format<...>`, and the
/// fields by name; those that an exact format lacks are None.
static nb::tuple parseFormat(const std::string &text) {
  std::unique_ptr<MLIRContext> context = createContext();
  FormatAttr format = parseFormatAttr(context.get(), text);
  nb::dict fields;
  fields["codes"] = toText(format.getCodes());
  fields["bits"] = format.getCodeBits();
  fields["signed"] = format.hasSignedCodes();
  fields["integers"] = format.hasIntegerCodes();
  fields["tokens"] = format.getGroupTokens();
  fields["channels"] =
      format.isExact() || format.getChannels() == FormatAttr::kWholeAxis
          ? nb::object(nb::none())
          : nb::object(nb::int_(format.getChannels()));
  fields["static"] = format.hasStaticRange();
  fields["heads"] = format.getHeads() == FormatAttr::kWholeAxis
                        ? nb::object(nb::none())
                        : nb::object(nb::int_(format.getHeads()));
  fields["scale"] = toTextOrNone(format.getScaleType());
  fields["center"] = toTextOrNone(format.getCenterType());
  fields["rotation"] = format.getRotation() == FormatAttr::kWholeAxis
                           ? nb::object(nb::none())
                           : nb::object(nb::int_(format.getRotation()));
  fields["rope"] = toStr(stringifyRopeOrder(format.getRope()));
  fields["core"] = toFormatText(cast<FormatAttr>(format.getCore()));
  fields["outer"] = toTextOrNone(format.getOuterScaleType());
  fields["zero"] = toTextOrNone(format.getZero());
  fields["zero_element"] = toTextOrNone(format.getZeroType());
  fields["zero_kind"] =
      format.getZero()
          ? nb::object(toStr(stringifyZeroKind(format.getZeroKind())))
          : nb::none();
  fields["range"] =
      format.isExact()
          ? nb::object(nb::none())
          : nb::object(toStr(stringifyRangePolicy(format.getRange())));
  fields["layout"] =
      format.hasOpenLayout() ? nb::object(nb::str("auto"))
      : format.getLayout()
          ? nb::object(nb::str(toText(Attribute(format.getLayout())).c_str()))
          : nb::none();
  fields["planar"] = toFormatText(format.withLayout(LayoutAttr()));
  return nb::make_tuple(toFormatText(format), fields);
}

/// The canonical text between the angle brackets of `#kvq.segments<...>`, and
/// for each segment where it ends and the text of its format.
static nb::tuple parseSegments(const std::string &text) {
  std::unique_ptr<MLIRContext> context = createContext();
  auto segments = cast<SegmentsAttr>(parseOrThrow(
      context.get(),
      [](const std::string &text, MLIRContext *context) {
        return dyn_cast_or_null<SegmentsAttr>(
            parseAttribute("#kvq.segments<" + text + ">", context));
      },
      text));
  auto getInner = [](Attribute attribute, StringRef prefix) {
    std::string canonical = toText(attribute);
    StringRef inner = canonical;
    inner.consume_front(prefix);
    inner.consume_back(">");
    return inner.str();
  };
  nb::list parts;
  for (auto [end, format] :
       llvm::zip_equal(segments.getEnds(), segments.getFormats()))
    parts.append(nb::make_tuple(end, getInner(format, "#kvq.format<")));
  return nb::make_tuple(getInner(segments, "#kvq.segments<"), parts);
}

/// Name, attribute, rule, source and notes of each preset.
static nb::list getPresetTable() {
  nb::list table;
  auto text = [](StringRef string) { return string.str(); };
  for (const Preset &preset : getPresets())
    table.append(nb::make_tuple(text(preset.name), preset.getAttribute(),
                                text(preset.rule), text(preset.source),
                                text(preset.notes)));
  return table;
}

/// The text of the attribute that the preset `name` stands for.
static std::string getPresetAttribute(const std::string &name) {
  const Preset *preset = findPreset(name);
  if (!preset)
    throw Error(describeUnknownPreset(name));
  return preset->getAttribute();
}

CacheType python::parseCacheType(MLIRContext *context,
                                 const std::string &text) {
  Type type = parseOrThrow(
      context,
      [](const std::string &text, MLIRContext *context) {
        return parseType(text, context);
      },
      text);
  auto cache = dyn_cast<CacheType>(type);
  if (!cache)
    throw Error("expected a !kvq.cache type, got " + toText(type));
  return cache;
}

/// The canonical text of a cache type, and its fields by name.
static nb::tuple parseCacheTypeText(const std::string &text) {
  std::unique_ptr<MLIRContext> context = createContext();
  CacheType type = parseCacheType(context.get(), text);
  auto orNone = [](std::optional<int64_t> number) {
    return number ? nb::object(nb::int_(*number)) : nb::object(nb::none());
  };
  nb::dict fields;
  fields["batch"] = type.getBatch();
  fields["kv_heads"] = type.getHeads();
  fields["capacity"] = orNone(ShapedType::isDynamic(type.getCapacity())
                                  ? std::nullopt
                                  : std::optional(type.getCapacity()));
  fields["head_dim"] = type.getHeadDim();
  fields["format"] = toText(type.getRowFormat());
  fields["dtype"] = toText(type.getElementType());
  fields["exact_first"] = type.getExactFirst();
  fields["recent"] = orNone(type.getRecent());
  fields["residual"] = orNone(type.getResidual());
  fields["page"] = orNone(type.getPage());
  fields["ring"] = orNone(type.getRing());
  fields["keep_first"] = type.getKeepFirst();
  fields["token_major"] = type.getTokenMajor();
  fields["token_group"] = type.getTokenGroup();
  return nb::make_tuple(toText(Type(type)), fields);
}

/// (name, shape, element type, alignment, given) of each storage component. A
/// pool of `pages`, if given, is as large as that says.
static nb::list getCacheComponents(const std::string &text, int64_t capacity,
                                   std::optional<int64_t> pages) {
  if (capacity < 0)
    throw Error("expected a capacity of at least 0, got " +
                std::to_string(capacity));
  if (pages && *pages < 0)
    throw Error("expected at least 0 pages, got " + std::to_string(*pages));
  std::unique_ptr<MLIRContext> context = createContext();
  CacheType type = parseCacheType(context.get(), text);
  if (pages && !type.isPaged())
    throw Error("expected no pages for a cache that is not paged, got " +
                std::to_string(*pages));
  nb::list components;
  for (const StorageComponent &component :
       pages ? type.getPoolComponents(*pages) : type.getComponents(capacity)) {
    nb::list shape;
    for (int64_t extent : component.shape)
      shape.append(extent);
    components.append(nb::make_tuple(component.getName(), nb::tuple(shape),
                                     toText(component.elementType),
                                     component.alignment, component.given));
  }
  return components;
}

/// The text of the format or segments of a cache once open layouts are
/// assigned, and why its rows do not lie in tiles; None if they do.
static nb::tuple assignLayoutOfText(const std::string &type,
                                    const std::string &side) {
  std::unique_ptr<MLIRContext> context = createContext();
  CacheType cache = parseCacheType(context.get(), type);
  std::optional<CacheSide> known = symbolizeCacheSide(side);
  if (!known)
    throw Error("expected side keys or values, got '" + side + "'");
  AssignedLayout assigned = assignLayout(cache, {*known}, LayoutTarget::CPU);
  return nb::make_tuple(toText(assigned.type.getRowFormat()),
                        assigned.whyPlanar.empty()
                            ? nb::object(nb::none())
                            : nb::object(nb::str(assigned.whyPlanar.c_str())));
}

/// (type, which components of the whole) of the cache that each segment of a
/// cache is.
static nb::list getSegmentCaches(const std::string &text) {
  std::unique_ptr<MLIRContext> context = createContext();
  CacheType type = parseCacheType(context.get(), text);
  nb::list caches;
  for (auto [index, segment] : llvm::enumerate(type.getSegmentCaches())) {
    nb::list components;
    for (unsigned component : type.getSegmentComponents(index))
      components.append(component);
    caches.append(nb::make_tuple(toText(Type(segment)), components));
  }
  return caches;
}

/// How rows of `headDim` channels of a format are packed: (number of bytes of a
/// row, tokens that a row is for, whether it is a record) for each packed
/// component, and whether scales and zeros are among what is packed.
static nb::tuple getPackedRows(const std::string &format, int64_t headDim) {
  std::unique_ptr<MLIRContext> context = createContext();
  auto attr = parseFormatAttr(context.get(), format);
  DiagnosticCollector diagnostics(context.get(), /*places=*/false);
  auto emitError = [&] {
    return mlir::emitError(UnknownLoc::get(context.get()));
  };
  if (failed(attr.verifyHeadDim(emitError, headDim)))
    unwrap(diagnostics.takeError("cannot pack rows"));
  RowLayout layout = attr.getRowLayout(headDim, /*elementType=*/Type());
  nb::list rows;
  for (const PackedRow *row : {&layout.codes, &layout.records})
    if (row->exists())
      rows.append(
          nb::make_tuple(row->getBytes(), row->tokens, row == &layout.records));
  return nb::make_tuple(rows, layout.storesScales(), layout.storesZeros());
}

/// Throws unless `data` may be the storage of a given component.
static void checkGiven(const std::string &type, const std::string &name,
                       nb::bytes data) {
  std::unique_ptr<MLIRContext> context = createContext();
  CacheType cache = parseCacheType(context.get(), type);
  std::vector<CacheType> segments = cache.getSegmentCaches();
  for (const StorageComponent &component : cache.getComponents())
    if (component.given && component.getName() == name)
      return unwrap(checkGivenValues(segments[component.segment.value_or(0)],
                                     component,
                                     StringRef(data.c_str(), data.size())));
  throw Error("no component '" + name + "' is given to " + type);
}

/// Parses and verifies a module; returns it printed.
static std::string parse(const std::string &text) {
  std::unique_ptr<MLIRContext> context = createContext();
  return toText(*unwrap(parseModule(context.get(), text, "<module>")));
}

static std::string runPipelineOnText(const std::string &text,
                                     const std::string &pipeline) {
  nb::gil_scoped_release release;
  std::unique_ptr<MLIRContext> context = createContext();
  auto module = unwrap(parseModule(context.get(), text, "<module>"));
  unwrap(runPipeline(*module, pipeline));
  return toText(*module);
}

void python::bindInspect(nb::module_ &module) {
  module.def("parse_format", &parseFormat, nb::arg("text"),
             "The canonical text of a format, and its fields.");
  module.def("parse_segments", &parseSegments, nb::arg("text"),
             "The canonical text of segments, and the end and format of each.");
  module.def("parse_cache_type", &parseCacheTypeText, nb::arg("text"),
             "The canonical text of a cache type, and its fields.");
  module.def(
      "cache_components", &getCacheComponents, nb::arg("type"),
      nb::arg("capacity"), nb::arg("pages") = nb::none(),
      "(name, shape, element type, alignment, given) of each array that a "
      "cache is stored in, with pages for all sequences where their number is "
      "not "
      "given.");
  module.def(
      "packed_rows", &getPackedRows, nb::arg("format"), nb::arg("head_dim"),
      "([(bytes of a row, tokens of a row, whether it is a record), ...] "
      "of each packed component, whether scales are packed, whether "
      "zeros are).");
  module.def("presets", &getPresetTable,
             "(name, attribute, rule, source, notes) of each preset.");
  module.def("preset_attribute", &getPresetAttribute, nb::arg("name"),
             "The text of the attribute that a preset stands for.");
  module.def(
      "segment_caches", &getSegmentCaches, nb::arg("type"),
      "(type, indices of components) of the cache that each segment of a "
      "cache is; one, the whole, where there are no segments.");
  module.def("assign_layout", &assignLayoutOfText, nb::arg("type"),
             nb::arg("side"),
             "(attribute, reason) of a cache of keys or of values: its format "
             "with layouts for this processor, and why rows do not lie in "
             "tiles, if they do not.");
  module.def("check_given", &checkGiven, nb::arg("type"), nb::arg("name"),
             nb::arg("data"),
             "Checks the bytes of a component that is given to a cache.");
  module.def("parse", &parse, nb::arg("text"),
             "Parses and verifies a module; returns it as MLIR prints it.");
  module.def("run_pipeline", &runPipelineOnText, nb::arg("text"),
             nb::arg("pipeline"),
             "Runs a pass pipeline on a module; returns the module after it.");
}
