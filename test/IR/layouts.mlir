// RUN: kvq-opt %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --mlir-print-op-generic %s | kvq-opt | FileCheck %s
// RUN: kvq-opt --emit-bytecode %s | kvq-opt | FileCheck %s

// Layouts print their codes always, and what else differs from the default; a
// format prints one that it is given, a planar one too.

// CHECK-DAG: #[[Q4:[a-z0-9]+]] = #kvq.format<codes = i4, group = [1, 32], scale = f16, range = absmax, layout = #kvq.layout<codes = planar, bias, record = [scale, codes]>>
// CHECK-LABEL: func.func private @layouts
// CHECK-SAME: [#kvq.layout<codes = planar>, #kvq.layout<codes = planar<32>>, #kvq.layout<codes = stream, bias>,
// CHECK-SAME: #kvq.layout<codes = stream<8, 2>, record = [scale, zero]>,
// CHECK-SAME: #kvq.layout<codes = reversed, row = [codes, scale_zero]>,
// CHECK-SAME: #kvq.layout<codes = planar, high = stream, bias, record = [scale, high, codes]>,
// CHECK-SAME: #kvq.layout<codes = planar, tile = channel_pairs<64>>, #kvq.layout<codes = planar, bias, tile = token_pairs<16>>,
// CHECK-SAME: #kvq.layout<codes = planar, tile = fragments<32>>]
func.func private @layouts() attributes {layouts = [
  #kvq.layout<codes = planar>,
  #kvq.layout<high = planar<32>, codes = planar<32>>,
  #kvq.layout<bias, codes = stream>,
  #kvq.layout<record = [scale, zero], codes = stream<8, 2>>,
  #kvq.layout<codes = reversed, row = [codes, scale_zero]>,
  #kvq.layout<record = [scale, high, codes], bias, high = stream>,
  #kvq.layout<tile = channel_pairs<64>>, #kvq.layout<tile = token_pairs<16>, bias>,
  #kvq.layout<tile = fragments<32>>]}

#q4 = #kvq.format<layout = #kvq.layout<record = [scale, codes], bias>, codes = i4, group = [1, 32], scale = f16>
#k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16,
                 layout = #kvq.layout<record = [scale, zero]>>

// CHECK-LABEL: func.func @records
// CHECK: kvq.pack #[[Q4]] ins(%{{.*}}, %{{.*}} : tensor<?x64xi8>, tensor<?x2xf16>) outs(%{{.*}} : tensor<?x36xi8>) -> tensor<?x36xi8>
func.func @records(%c: tensor<?x64xi8>, %s: tensor<?x2xf16>, %r: tensor<?x36xi8>) -> (tensor<?x64xi8>, tensor<?x2xf16>) {
  %p = kvq.pack #q4 ins(%c, %s : tensor<?x64xi8>, tensor<?x2xf16>) outs(%r : tensor<?x36xi8>) -> tensor<?x36xi8>
  // CHECK: kvq.unpack #[[Q4]] ins(%{{.*}} : tensor<?x36xi8>)
  // CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<?x64xi8>, tensor<?x2xf16>) -> tensor<?x64xi8>, tensor<?x2xf16>
  %u:2 = kvq.unpack #q4 ins(%p : tensor<?x36xi8>) outs(%c, %s : tensor<?x64xi8>, tensor<?x2xf16>)
      -> tensor<?x64xi8>, tensor<?x2xf16>
  return %u#0, %u#1 : tensor<?x64xi8>, tensor<?x2xf16>
}

// Codes beside records of metadata, with a row for each group of tokens.

// CHECK-LABEL: func.func @beside
// CHECK: kvq.pack {{.*}} ins(%{{.*}} : tensor<64x16xi8>, tensor<2x16xf16>, tensor<2x16xf16>) outs(%{{.*}} : tensor<64x8xi8>, tensor<2x64xi8>)
func.func @beside(%c: tensor<64x16xi8>, %s: tensor<2x16xf16>, %z: tensor<2x16xf16>, %b: tensor<64x8xi8>,
                  %r: tensor<2x64xi8>) -> (tensor<64x8xi8>, tensor<2x64xi8>) {
  %0:2 = kvq.pack #k ins(%c, %s, %z : tensor<64x16xi8>, tensor<2x16xf16>, tensor<2x16xf16>)
      outs(%b, %r : tensor<64x8xi8>, tensor<2x64xi8>) -> tensor<64x8xi8>, tensor<2x64xi8>
  return %0#0, %0#1 : tensor<64x8xi8>, tensor<2x64xi8>
}
