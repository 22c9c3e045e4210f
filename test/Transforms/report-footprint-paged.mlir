// RUN: kvq-opt %s --kvq-report-footprint=output=table -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OPEN
// RUN: kvq-opt %s --kvq-report-footprint="output=json capacity=4096" \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=JSON

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>

// Of 4096 tokens 4064 are quantized, the last ones of 43 pages of 96 or 16 of 256
// for each of two sequences: 64 or 32 rows of the last page are empty.

// OPEN: footprint of @paged
// OPEN: bytes fixed per token
// OPEN: codes 0 1024
// OPEN: page_tails 0 0
// OPEN: total 258048 1280
// JSON: "function": "paged"
// JSON: "codes": 4161536,
// JSON: "page_tails": 81920,
// JSON-NEXT: "total": 5541888,
func.func @paged(%k: !kvq.cache<2x8x?x128xf16, #k, recent = 32, page = 96>) {
  return
}

// JSON: "function": "tails"
// JSON: "codes": 4161536,
// JSON: "page_tails": 40960,
// JSON-NEXT: "total": 5500928,
func.func @tails(%k: !kvq.cache<2x8x?x128xf16, #k, recent = 32, page = 256>) {
  return
}
