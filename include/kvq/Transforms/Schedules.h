//===- Schedules.h - How attention is cut on a machine ----------*- C++ -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_SCHEDULES_H
#define KVQ_TRANSFORMS_SCHEDULES_H

#include "kvq/IR/KVQ.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace mlir::kvq {

//===----------------------------------------------------------------------===//
// The cost model
//===----------------------------------------------------------------------===//

/// What the cost model asks about a machine.
struct MachineModel {
  int64_t threads = 1;
  /// Elements of f32 in a vector register.
  int64_t vectorWidth = 8;
  int64_t l1Bytes = 32 << 10;
  int64_t l2Bytes = 512 << 10;
};

/// What attention does for each token of a KV head.
struct TokenWork {
  /// Of keys and values, as they are stored.
  int64_t bytes;
  /// Multiplications and additions.
  int64_t operations;
  /// What is kept of it while its tile is worked on.
  int64_t scratchBytes;
};

/// That of an op over caches, with so many query rows.
TokenWork getTokenWork(AttentionOp op, int64_t rows);

/// The splits for so many work items of so many tokens each.
int64_t chooseSplits(int64_t items, int64_t tokens, int64_t threads);

/// Tile, splits and prefetch distance of an op over caches. `queryTile`: query
/// tokens of a work item, 0 for as many as there are.
ScheduleAttr chooseSchedule(AttentionOp op, const MachineModel &machine,
                            int64_t queryTile = 1);

//===----------------------------------------------------------------------===//
// Schedules that were found by measuring
//===----------------------------------------------------------------------===//

/// What schedules of an op over caches are kept by: its types and attributes
/// but for the scale and the schedule; query tokens and capacities are left
/// open.
std::string getScheduleKey(AttentionOp op);

/// The version of kvq and LLVM, whose schedules are no other's.
std::string getScheduleVersion();

/// A file of schedules.
class ScheduleFile {
public:
  /// Reads the file; fails, naming it, where it is not of this form or of
  /// another version.
  static llvm::Expected<ScheduleFile> read(llvm::StringRef path,
                                           MLIRContext *context);

  /// Null where there is none for the op.
  ScheduleAttr find(llvm::StringRef cpu, int64_t threads,
                    llvm::StringRef op) const;

private:
  static std::string getEntryKey(llvm::StringRef cpu, int64_t threads,
                                 llvm::StringRef op);

  llvm::StringMap<ScheduleAttr> entries;
};

} // namespace mlir::kvq

#endif // KVQ_TRANSFORMS_SCHEDULES_H
