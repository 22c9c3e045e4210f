// RUN: kvq-opt %s --kvq-report-footprint="output=table capacity=4096" \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=TABLE --match-full-lines --strict-whitespace
// RUN: kvq-opt %s --kvq-report-footprint=output=table -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OPEN
// RUN: kvq-opt %s --kvq-report-footprint="output=json capacity=4096" \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=JSON
// RUN: kvq-opt %s --kvq-report-footprint=capacity=4096 -o /dev/null \
// RUN:   --remarks-filter=kvq-report-footprint --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK
// RUN: kvq-opt %s --kvq-report-footprint -o /dev/null \
// RUN:   --remarks-filter=kvq-report-footprint --remark-format=emitRemark 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REMARK-OPEN

// Without options it is silent, and the module stays as it is.
// RUN: kvq-opt %s --kvq-report-footprint -o %t.mlir 2>&1 | count 0
// RUN: kvq-opt %s | diff - %t.mlir

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>
#exact = #kvq.format<codes = none>

// The example of the pass's documentation.
//      TABLE:footprint of @keys
// TABLE-NEXT:  %arg0: !kvq.cache<1x8x?x128xf16, #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax>, recent = 32>
// TABLE-NEXT:    bytes            4096 tokens             fixed         per token
// TABLE-NEXT:    codes                2080768                 0               512
// TABLE-NEXT:    scales                260096                 0                64
// TABLE-NEXT:    zeros                 260096                 0                64
// TABLE-NEXT:    recent                129024            129024                 0
// TABLE-NEXT:    padding                    0                 0                 0
// TABLE-NEXT:    total                2729984            129024               640
// TABLE-NEXT:    alignment                  0

// OPEN-LABEL: footprint of @keys
//       OPEN: bytes fixed per token
//  OPEN-NEXT: codes 0 512
//  OPEN-NEXT: scales 0 64
//  OPEN-NEXT: zeros 0 64
//  OPEN-NEXT: recent 129024 0
//  OPEN-NEXT: padding 0 0
//  OPEN-NEXT: total 129024 640
//   OPEN-NOT: alignment

// JSON:      "function": "keys",
// JSON-NEXT: "caches": [
// JSON:      "value": "%arg0",
// JSON-NEXT: "type": "!kvq.cache<1x8x?x128xf16, #kvq.format<{{.*}}>, recent = 32>",
// JSON-NEXT: "token_group": 32,
// JSON-NEXT: "capacity": 4096,
// JSON-NEXT: "allocated": {
// JSON-NEXT:   "codes": 2080768,
// JSON-NEXT:   "scales": 260096,
// JSON-NEXT:   "zeros": 260096,
// JSON-NEXT:   "recent": 129024,
// JSON-NEXT:   "padding": 0,
// JSON-NEXT:   "total": 2729984,
// JSON-NEXT:   "alignment": 0
// JSON-NEXT: },
// JSON-NEXT: "fixed": {
// JSON:        "total": 129024
// JSON:      "per_token_group": {
// JSON-NEXT:   "codes": 16384,
// JSON-NEXT:   "scales": 2048,
// JSON-NEXT:   "zeros": 2048,
// JSON-NEXT:   "recent": 0,
// JSON-NEXT:   "padding": 0,
// JSON-NEXT:   "total": 20480,
// JSON:      "temporaries_of_a_call": [],
// JSON-NEXT: "temporaries_of_a_work_item": [],
// JSON-NEXT: "launches": 0,
// JSON-NEXT: "launches_in_control_flow": 0

// REMARK: report-footprint.mlir:[[@LINE+3]]:17: remark: [Analysis] ReportFootprint | Category:kvq-report-footprint | Function=keys |
// REMARK-SAME: Remark="cache %arg0 takes 2729984 bytes for 4096 tokens", codes=2080768, fixed=129024, padding=0, perToken=640, recent=129024, scales=260096, zeros=260096
// REMARK-OPEN: Function=keys | Remark="cache %arg0 takes 20480 bytes for each 32 tokens beside 129024", codes=16384, fixed=129024, padding=0, perToken=640, recent=0, scales=2048, zeros=2048
func.func @keys(%k: !kvq.cache<1x8x?x128xf16, #k, recent = 32>) {
  return
}

// An append gives no new cache, nor does a loop. A type's own capacity counts,
// and a constant that kvq.empty takes, before the option; 3 tokens of 2 heads
// with 4 scales of 2 bytes need 16 bytes more to the next multiple of 64.
// TABLE:footprint of @made
// TABLE-NEXT:  %arg1: !kvq.cache<1x2x3x128xf16, {{.*}}
// TABLE-NEXT:    bytes               3 tokens             fixed         per token
// TABLE-NEXT:    codes                    384                 0               128
// TABLE-NEXT:    scales                    48                 0                16
// TABLE-NEXT:    padding                    0                 0                 0
// TABLE-NEXT:    total                    432                 0               144
// TABLE-NEXT:    alignment                 16
// TABLE-NEXT:  %0: !kvq.cache<2x2x?x64xf32, #kvq.format<codes = none>>
// TABLE-NEXT:    bytes             100 tokens             fixed         per token
// TABLE-NEXT:    values                102400                 0              1024
// TABLE-NEXT:    padding                    0                 0                 0
// TABLE-NEXT:    total                 102400                 0              1024
// TABLE-NEXT:    alignment                  0
// TABLE-NEXT:footprint of @from_components
// OPEN-LABEL: footprint of @made
// OPEN:       bytes 100 tokens
// REMARK: Function=made | Remark="cache %arg1 takes 432 bytes for 3 tokens", codes=384, fixed=0, padding=0, perToken=144, scales=48
// REMARK: Function=made | Remark="cache %0 takes 102400 bytes for 100 tokens", fixed=0, padding=0, perToken=1024, values=102400
// REMARK-NOT: Function=made
func.func @made(%x: tensor<2x2x5x64xf32>, %v: !kvq.cache<1x2x3x128xf16, #v>,
    %lengths: tensor<2xi64>, %n: index) {
  %capacity = arith.constant 100 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cache = kvq.empty (%capacity) : !kvq.cache<2x2x?x64xf32, #exact>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%old = %cache)
      -> !kvq.cache<2x2x?x64xf32, #exact> {
    %new = kvq.append ins(%x : tensor<2x2x5x64xf32>)
        lengths(%lengths : tensor<2xi64>)
        into(%old : !kvq.cache<2x2x?x64xf32, #exact>)
        -> !kvq.cache<2x2x?x64xf32, #exact>
    scf.yield %new : !kvq.cache<2x2x?x64xf32, #exact>
  }
  return
}

// Windows at their full size, whatever the capacity; 3-token groups give bytes
// per token that are no whole number.
// TABLE-NEXT:  %0: !kvq.cache<1x1x7x8xf16, #kvq.format<codes = i8, group = [3, 1], scale = f32, range = absmax>, exact_first = 5, recent = 1>
// TABLE-NEXT:    bytes               7 tokens             fixed         per token
// TABLE-NEXT:    codes                      0                 0                 8
// TABLE-NEXT:    scales                     0                 0            10.667
// TABLE-NEXT:    first                     80                80                 0
// TABLE-NEXT:    recent                    48                48                 0
// TABLE-NEXT:    padding                    0                 0                 0
// TABLE-NEXT:    total                    128               128            18.667
// TABLE-NEXT:    alignment                 64
// TABLE-NOT:{{.}}
func.func @from_components(%codes: tensor<1x1x0x8xi8>, %scales: tensor<1x1x0x8xf32>,
    %first: tensor<1x1x5x8xf16>, %recent: tensor<1x1x3x8xf16>) {
  %0 = kvq.from_components %codes, %scales, %first, %recent
      : tensor<1x1x0x8xi8>, tensor<1x1x0x8xf32>, tensor<1x1x5x8xf16>, tensor<1x1x3x8xf16>
      -> !kvq.cache<1x1x7x8xf16, #kvq.format<codes = i8, group = [3, 1], scale = f32>, exact_first = 5, recent = 1>
  return
}

// Nothing to report.
func.func @nothing(%x: tensor<4xf32>) {
  return
}
func.func private @external(!kvq.cache<1x2x3x128xf16, #v>)
