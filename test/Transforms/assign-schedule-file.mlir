// RUN: split-file %s %t && sed -i 's/VERSION/%kvq_schedule_version/' %t/*.json
// RUN: kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/good.json cpu=znver3" | FileCheck %s
// RUN: kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/good.json cpu=znver3 splits=2" | FileCheck %s --check-prefix=GIVEN
// RUN: kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/good.json cpu=znver4" | FileCheck %s --check-prefix=OTHER
// RUN: kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/good.json cpu=znver3 threads=2" | FileCheck %s --check-prefix=OTHER

// The entry of the op, the processor and the number of threads; options first,
// and the cost model for what it leaves open.
// CHECK: schedule = #kvq.schedule<tile = 16, splits = 3, heads_inside = 0, vector_width = 4, prefetch = 1>
// GIVEN: schedule = #kvq.schedule<tile = 16, splits = 2, heads_inside = 0, vector_width = 4, prefetch = 1>
// OTHER: schedule = #kvq.schedule<tile = 32,

// So do pipelines: with vectors of four, as the entry says, and not of eight.
// RUN: kvq-opt %t/op.mlir "-kvq-tile-pipeline=schedules=%t/good.json cpu=znver3" | FileCheck %s --check-prefix=PIPELINE
// RUN: kvq-opt %t/op.mlir "-kvq-cpu-pipeline=schedules=%t/good.json cpu=znver3" | FileCheck %s --check-prefix=CPU --implicit-check-not='vector<8xf32>'
// RUN: kvq-opt %t/op.mlir "-kvq-cpu-pipeline=schedules=%t/good.json cpu=znver4" | FileCheck %s --check-prefix=OTHER-CPU
// PIPELINE: kvq.schedule = #kvq.schedule<vector_width = 4, prefetch = 1>
// CPU: vector<4xf32>
// OTHER-CPU: vector<8xf32>

// RUN: not kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/good.json" 2>&1 | FileCheck %s --check-prefix=NO-CPU
// NO-CPU: error: kvq-assign-schedule: expected a cpu whose entries of the file hold, got none
// RUN: not kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/none.json cpu=znver3" 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: kvq-assign-schedule: schedules of '{{.*}}none.json': No such file
// RUN: not kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/op.mlir cpu=znver3" 2>&1 | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: op.mlir': expected JSON, found
// RUN: not kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/other.json cpu=znver3" 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: other.json': expected an object with kvq_schedules, as kvq_mlir tune writes it
// RUN: not kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/form.json cpu=znver3" 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: form.json': expected kvq_schedules of 1, found 0: measure again with kvq_mlir tune
// RUN: not kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/stale.json cpu=znver3" 2>&1 | FileCheck %s --check-prefix=STALE
// STALE: stale.json': expected what kvq {{.*}}, LLVM {{.*}} measured, found kvq 0.0.1, LLVM 3.1: measure again with kvq_mlir tune
// RUN: not kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/entry.json cpu=znver3" 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: entry.json': entry 0: expected cpu, threads, op and schedule
// RUN: not kvq-opt %t/op.mlir "-kvq-assign-schedule=file=%t/schedule.json cpu=znver3" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// SCHEDULE: schedule.json': entry 0: expected #kvq.schedule<...>, found '#kvq.schedule<tile = 1000>'

// RUN: not kvq-opt %t/op.mlir -kvq-assign-schedule=splits=-1 2>&1 | FileCheck %s --check-prefix=SPLITS
// SPLITS: error: kvq-assign-schedule: expected splits from 0 to 1024, got -1
// RUN: not kvq-opt %t/op.mlir -kvq-assign-schedule=query-tile=4097 2>&1 | FileCheck %s --check-prefix=QUERIES
// QUERIES: error: kvq-assign-schedule: expected 1 to 4096 query tokens in a work item, or 0, got 4097
// RUN: not kvq-opt %t/op.mlir -kvq-assign-schedule=tile-tokens=257 2>&1 | FileCheck %s --check-prefix=TILE
// TILE: error: kvq-assign-schedule: expected tile-tokens from 0 to 256, got 257
// RUN: not kvq-opt %t/op.mlir -kvq-assign-schedule=threads=0 2>&1 | FileCheck %s --check-prefix=THREADS
// THREADS: error: kvq-assign-schedule: expected threads from 1 to

//--- op.mlir
!c = !kvq.cache<1x1x512x128xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>
func.func @f(%q: tensor<1x4x1x128xf32>, %c: !c, %n: tensor<1xi64>) -> tensor<1x4x1x128xf32> {
  %o = kvq.attention ins(%q, %c, %c : tensor<1x4x1x128xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x4x1x128xf32>) {scale = 1.0 : f32, causal, query_codes = i16} -> tensor<1x4x1x128xf32>
  return %o : tensor<1x4x1x128xf32>
}
//--- good.json
{"kvq_schedules": 1, "version": "VERSION", "entries": [
  {"cpu": "znver3", "threads": 1, "schedule": "#kvq.schedule<tile = 16, splits = 3, vector_width = 4>",
   "op": "tensor<1x4x?x128xf32>, !kvq.cache<1x1x?x128xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16, range = absmax>>, !kvq.cache<1x1x?x128xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16, range = absmax>>, causal, query_codes = i16"}]}
//--- other.json
{"entries": []}
//--- form.json
{"kvq_schedules": 0}
//--- stale.json
{"kvq_schedules": 1, "version": "kvq 0.0.1, LLVM 3.1", "entries": []}
//--- entry.json
{"kvq_schedules": 1, "version": "VERSION", "entries": [{"cpu": "znver3"}]}
//--- schedule.json
{"kvq_schedules": 1, "version": "VERSION", "entries": [
  {"cpu": "znver3", "threads": 1, "op": "", "schedule": "#kvq.schedule<tile = 1000>"}]}
