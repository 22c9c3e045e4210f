// RUN: kvq-opt %s --kvq-report-footprint -verify-diagnostics -split-input-file
// RUN: not kvq-opt %s --kvq-report-footprint=capacity=-5 -split-input-file 2>&1 \
// RUN:   | FileCheck %s
// CHECK: error: expected a capacity of at least 0, got -5

func.func @too_many_heads(
    // expected-error @below {{expected a cache of fewer than 2^63 bytes, got '!kvq.cache<1x1000000000x1000000000000x128xf16, #kvq.format<codes = none>>' for 1000000000000 tokens}}
    %c: !kvq.cache<1x1000000000x1000000000000x128xf16, #kvq.format<codes = none>>) {
  return
}

// -----

func.func @negative() {
  %n = arith.constant -3 : index
  // expected-error @below {{expected a capacity of at least 0, got -3}}
  %0 = kvq.empty (%n) : !kvq.cache<1x1x?x64xf16, #kvq.format<codes = none>>
  return
}
