//===- ScheduleFile.cpp - Files of schedules ------------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvq/Transforms/Schedules.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::kvq;

/// The version of the file's form.
static constexpr int64_t kForm = 1;

std::string kvq::getScheduleVersion() {
  return "kvq " KVQ_VERSION ", LLVM " LLVM_VERSION_STRING;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// `type` with the axis that does not count left open.
static Type openAxis(Type type) {
  if (auto cache = dyn_cast<CacheType>(type)) {
    SmallVector<int64_t> shape(cache.getShape());
    shape[2] = ShapedType::kDynamic;
    return cache.withShape(shape);
  }
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  if (shape.size() == 4)
    shape[2] = ShapedType::kDynamic;
  return tensor.clone(shape);
}

std::string kvq::getScheduleKey(AttentionOp op) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << openAxis(op.getQuery().getType()) << ", "
     << openAxis(op.getKey().getType()) << ", "
     << openAxis(op.getValue().getType());
  for (auto [name, operand] : {std::pair("mask", Value(op.getMask())),
                               std::pair("slopes", Value(op.getSlopes())),
                               std::pair("rope", Value(op.getCos()))})
    if (operand)
      os << ", " << name;
  if (op.getCausal())
    os << ", causal";
  if (op.getWindow())
    os << ", window = " << *op.getWindow();
  if (op.getSoftcap())
    os << ", softcap";
  if (std::optional<ArrayRef<int64_t>> channels = op.getValueChannels())
    os << ", value_channels = " << channels->front() << " to "
       << channels->back();
  if (op.getQueryCodes())
    os << ", query_codes = " << *op.getQueryCodes();
  return key;
}

std::string ScheduleFile::getEntryKey(StringRef cpu, int64_t threads,
                                      StringRef op) {
  return (cpu + "\n" + Twine(threads) + "\n" + op).str();
}

ScheduleAttr ScheduleFile::find(StringRef cpu, int64_t threads,
                                StringRef op) const {
  return entries.lookup(getEntryKey(cpu, threads, op));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The schedule that `text` is, or null.
static ScheduleAttr parseSchedule(StringRef text, MLIRContext *context) {
  // What is wrong is said below, with the place in the file.
  ScopedDiagnosticHandler handler(context,
                                  [](Diagnostic &) { return success(); });
  return dyn_cast_or_null<ScheduleAttr>(parseAttribute(text, context));
}

llvm::Expected<ScheduleFile> ScheduleFile::read(StringRef path,
                                                MLIRContext *context) {
  auto fail = [&](const Twine &what) {
    return llvm::createStringError("schedules of '" + path + "': " + what);
  };
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return fail(buffer.getError().message());
  auto json = llvm::json::parse((*buffer)->getBuffer());
  if (!json)
    return fail("expected JSON, found " + llvm::toString(json.takeError()));
  const llvm::json::Object *root = json->getAsObject();
  std::optional<int64_t> form;
  if (root)
    form = root->getInteger("kvq_schedules");
  if (!form)
    return fail("expected an object with kvq_schedules, as kvq_mlir tune "
                "writes it");
  if (*form != kForm)
    return fail("expected kvq_schedules of " + Twine(kForm) + ", found " +
                Twine(*form) + ": measure again with kvq_mlir tune");
  StringRef version = root->getString("version").value_or("none");
  if (version != getScheduleVersion())
    return fail("expected what " + getScheduleVersion() + " measured, found " +
                version + ": measure again with kvq_mlir tune");
  const llvm::json::Array *list = root->getArray("entries");
  if (!list)
    return fail("expected a list of entries");

  context->getOrLoadDialect<KVQDialect>();
  ScheduleFile file;
  for (auto [index, value] : llvm::enumerate(*list)) {
    const llvm::json::Object *entry = value.getAsObject();
    std::optional<StringRef> cpu, op, schedule;
    std::optional<int64_t> threads;
    if (entry) {
      cpu = entry->getString("cpu");
      op = entry->getString("op");
      schedule = entry->getString("schedule");
      threads = entry->getInteger("threads");
    }
    if (!cpu || !op || !schedule || !threads)
      return fail("entry " + Twine(index) +
                  ": expected cpu, threads, op and schedule");
    ScheduleAttr attr = parseSchedule(*schedule, context);
    if (!attr)
      return fail("entry " + Twine(index) +
                  ": expected #kvq.schedule<...>, found '" + *schedule + "'");
    file.entries[getEntryKey(*cpu, *threads, *op)] = attr;
  }
  return file;
}
