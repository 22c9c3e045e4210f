// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --emit-bytecode %s | kvq-opt | FileCheck %s

// A preset prints as the format it stands for.

// CHECK-DAG: #[[Q4:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax, rule = #kvq.rule<ties = up, quotient = reciprocal, metadata = unrounded, bounds = full, extremum = signed, scale = nearest>, layout = #kvq.layout<codes = planar, bias, record = [scale, codes]>>
// CHECK-DAG: #[[MX:[a-z0-9]+]] = #kvq.format<codes = f8E4M3FN, group = [1, 32], scale = f8E8M0FNU, range = absmax, rule = #kvq.rule<scale = exponent>>
// CHECK-DAG: ![[CACHE:[a-z0-9]+]] = !kvq.cache<1x8x?x128xf16, #[[Q4]]>
// CHECK-NOT: preset

#q4 = #kvq.preset<"ggml.q4_0">

// CHECK-LABEL: func.func private @presets
// CHECK-SAME: [#[[Q4]], #[[MX]]]
func.func private @presets() attributes {f = [#q4, #kvq.preset<"mx.fp8_e4m3">]}

// CHECK-LABEL: func.func private @cache
// CHECK-SAME: ![[CACHE]], ![[CACHE]]
func.func private @cache(!kvq.cache<1x8x?x128xf16, #q4>, !kvq.cache<1x8x?x128xf16, #kvq.preset<"ggml.q4_0">>)
