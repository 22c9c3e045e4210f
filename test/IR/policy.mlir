// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --mlir-print-op-generic %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --emit-bytecode %s | kvq-opt | FileCheck %s

#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
#v = #kvq.format<codes = i4, group = [1, 32], scale = f16>

// CHECK-DAG: #[[V:format[0-9]*]] = #kvq.format<codes = i4
// CHECK-DAG: #[[K:format[0-9]*]] = #kvq.format<codes = ui4
// CHECK-DAG: #[[EXACT:format[0-9]*]] = #kvq.format<codes = none>
// CHECK: kvq.policy = #kvq.policy<<side = keys, format = #[[K]], exact_first = 4, recent = 64>,
// CHECK-SAME: <side = values, format = #[[V]]>,
// CHECK-SAME: <layers = [0, 30:32], format = #[[EXACT]]>,
// CHECK-SAME: <side = keys, layers = [7], heads = [0:2, 5], format = #[[K]], residual = 32>>
module attributes {kvq.policy = #kvq.policy<
    <format = #k, side = keys, recent = 64, exact_first = 4>,
    <side = values, format = #v>,
    <layers = [0:1, 30:32], format = #kvq.format<codes = none>>,
    <side = keys, layers = [7], heads = [0:2, 5], format = #k, residual = 32>
  >} {
  // CHECK: func.func private @labels(!cache {kvq.layer = 3 : i64, kvq.side = #kvq.side<values>})
  func.func private @labels(!kvq.cache<1x8x?x128xf16, #kvq.format<codes = none>>
                            {kvq.layer = 3, kvq.side = #kvq.side<values>})
}
