//===- Print.cpp - Footprints as tables and as JSON -----------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Footprint.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::kvq;

template <typename T> static std::string toString(T printable) {
  std::string text;
  llvm::raw_string_ostream(text) << printable;
  return text;
}

std::string kvq::getPerToken(int64_t groupBytes, int64_t tokens) {
  std::string text = llvm::formatv("{0:F3}", double(groupBytes) / tokens);
  StringRef trimmed = StringRef(text).rtrim('0');
  return trimmed.rtrim('.').str();
}

std::string kvq::toText(const BufferBytes &buffers) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      buffers, os,
      [&](const auto &entry) {
        os << entry.second << " bytes";
        for (const std::string &extent : entry.first)
          os << " x " << extent;
      },
      " + ");
  return text;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// One line: a name and right-aligned columns.
static void printLine(raw_ostream &os, StringRef name,
                      ArrayRef<std::string> columns) {
  os << llvm::formatv("    {0,-10}", name);
  for (const std::string &column : columns)
    os << llvm::formatv("{0,18}", column);
  os << "\n";
}

static void printTable(const CacheFootprint &cache, raw_ostream &os) {
  os << "  " << cache.name << ": " << cache.type << "\n";
  SmallVector<std::string> header = {"fixed", "per token"};
  if (cache.capacity)
    header.insert(header.begin(), std::to_string(*cache.capacity) + " tokens");
  printLine(os, "bytes", header);

  auto printBytes = [&](StringRef name, int64_t allocated, int64_t fixed,
                        int64_t group) {
    SmallVector<std::string> columns = {
        std::to_string(fixed), getPerToken(group, cache.type.getTokenGroup())};
    if (cache.capacity)
      columns.insert(columns.begin(), std::to_string(allocated));
    printLine(os, name, columns);
  };
  for (auto [allocated, fixed, group] :
       llvm::zip(cache.allocated.getParts(), cache.fixed.getParts(),
                 cache.group.getParts()))
    printBytes(allocated.first, allocated.second, fixed.second, group.second);
  printBytes("total", cache.allocated.total, cache.fixed.total,
             cache.group.total);
  if (cache.capacity)
    printLine(os, "alignment", std::to_string(cache.allocated.alignment));
}

void kvq::printTables(ArrayRef<FunctionFootprint> functions, raw_ostream &os) {
  for (const FunctionFootprint &footprint : functions) {
    FunctionOpInterface function = footprint.function;
    os << "footprint of @" << function.getName() << "\n";
    for (const CacheFootprint &cache : footprint.caches)
      printTable(cache, os);
    const Temporaries &temporaries = footprint.temporaries;
    if (!temporaries.call.empty())
      os << "  temporaries of a call: " << toText(temporaries.call) << "\n";
    if (!temporaries.workItem.empty())
      os << "  temporaries of a work item: " << toText(temporaries.workItem)
         << "\n";
    if (temporaries.launches != 0)
      os << "  kernel launches: " << temporaries.launches << "\n";
    if (temporaries.launchesInControlFlow != 0)
      os << "  kernel launches in control flow: "
         << temporaries.launchesInControlFlow << "\n";
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeBytes(llvm::json::OStream &json, StringRef name,
                       const ByteSplit &bytes) {
  json.attributeObject(name, [&] {
    for (auto [part, size] : bytes.getParts())
      json.attribute(part, size);
    json.attribute("total", bytes.total);
    json.attribute("alignment", bytes.alignment);
  });
}

static void writeCache(llvm::json::OStream &json, const CacheFootprint &cache) {
  json.object([&] {
    json.attribute("value", cache.name);
    json.attribute("type", toString(cache.type));
    json.attribute("token_group", cache.type.getTokenGroup());
    if (cache.capacity) {
      json.attribute("capacity", *cache.capacity);
      writeBytes(json, "allocated", cache.allocated);
    }
    writeBytes(json, "fixed", cache.fixed);
    writeBytes(json, "per_token_group", cache.group);
  });
}

static void writeBuffers(llvm::json::OStream &json, StringRef name,
                         const BufferBytes &buffers) {
  json.attributeArray(name, [&] {
    for (const auto &[extents, bytes] : buffers)
      json.object([&, &extents = extents, bytes = bytes] {
        json.attribute("bytes", bytes);
        json.attributeArray("times", [&] {
          for (const std::string &extent : extents)
            json.value(extent);
        });
      });
  });
}

static void writeFunction(llvm::json::OStream &json,
                          const FunctionFootprint &footprint) {
  FunctionOpInterface function = footprint.function;
  const Temporaries &temporaries = footprint.temporaries;
  json.object([&] {
    json.attribute("function", function.getName());
    json.attributeArray("caches", [&] {
      for (const CacheFootprint &cache : footprint.caches)
        writeCache(json, cache);
    });
    writeBuffers(json, "temporaries_of_a_call", temporaries.call);
    writeBuffers(json, "temporaries_of_a_work_item", temporaries.workItem);
    json.attribute("launches", temporaries.launches);
    json.attribute("launches_in_control_flow",
                   temporaries.launchesInControlFlow);
  });
}

void kvq::printJSON(ArrayRef<FunctionFootprint> functions, raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/2);
  json.array([&] {
    for (const FunctionFootprint &footprint : functions)
      writeFunction(json, footprint);
  });
  os << "\n";
}
