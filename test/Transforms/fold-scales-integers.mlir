// RUN: kvq-opt %s --kvq-fold-scales --canonicalize --cse -split-input-file -verify-diagnostics | FileCheck %s
// RUN: kvq-opt %s --kvq-fold-scales=lanes=false --canonicalize --cse -split-input-file -verify-diagnostics | FileCheck %s --check-prefix=THREADS

// With kvq.query_codes the operand that is not codes becomes integers (rule
// R38): the query once for all tiles, probabilities in each.

#token = #kvq.format<codes = i4, group = [1, 16], scale = f16>
#channel_zero = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>

#keys = {
  indexing_maps = [affine_map<(r, t, c) -> (r, c)>, affine_map<(r, t, c) -> (t, c)>,
                   affine_map<(r, t, c) -> (r, t)>],
  iterator_types = ["parallel", "parallel", "reduction"]
}
#values = {
  indexing_maps = [affine_map<(r, c, t) -> (r, t)>, affine_map<(r, c, t) -> (t, c)>,
                   affine_map<(r, c, t) -> (r, c)>],
  iterator_types = ["parallel", "parallel", "reduction"]
}

// CHECK-LABEL: func @keys_token(
// CHECK-SAME:  %[[X:[^:]+]]: tensor<4x64xf32>, %[[C:[^:]+]]: tensor<?x64xi8>, %[[S:[^:]+]]: tensor<?x4xf16>
// CHECK:       %[[XG:.+]] = tensor.expand_shape %[[X]] {{.*}} into tensor<4x4x16xf32>
// CHECK:       %[[A:.+]] = linalg.generic {{.*}} ins(%[[XG]] : tensor<4x4x16xf32>) outs(%{{.+}} : tensor<4x4xi32>)
// CHECK:         %[[ABS:.+]] = math.absf %in
// CHECK:         %[[BITS:.+]] = arith.bitcast %[[ABS]] : f32 to i32
// CHECK:         arith.maxui %out, %[[BITS]]
// CHECK:       %[[F:.+]]:2 = linalg.generic {{.*}} ins(%[[A]] : tensor<4x4xi32>)
// CHECK:         %[[AF:.+]] = arith.bitcast %in : i32 to f32
// CHECK:         arith.divf %[[AF]], %{{.*}} : f32
// CHECK:         arith.divf %{{.*}}, %[[AF]] : f32
// CHECK:       %[[N:.+]] = linalg.generic {{.*}} ins(%[[XG]], %[[F]]#1 : {{.*}}) outs(%{{.+}} : tensor<4x4x16xi16>)
// CHECK:         %[[M:.+]] = arith.mulf %in, %{{.+}} fastmath<contract> : f32
// CHECK:         %[[SUM:.+]] = arith.addf %[[M]], %{{.+}} fastmath<contract> : f32
// CHECK:         %[[I:.+]] = arith.bitcast %[[SUM]] : f32 to i32
// CHECK:         arith.trunci %[[I]] : i32 to i16
// CHECK:       scf.for
// CHECK:         %[[TURNED:.+]] = linalg.generic {indexing_maps = [#[[$ROWS:.+]], #{{.+}}], {{.*}} ins(%{{.+}} : tensor<?x4x8x2xi8>) outs(%{{.+}} : tensor<4x8x?x2xi8>)
// CHECK-NEXT:    ^bb0(%[[CODE:.+]]: i8, %{{.+}}: i8):
// CHECK-NEXT:      linalg.yield %[[CODE]] : i8
// CHECK:         %[[TILE:.+]] = tensor.insert_slice %[[TURNED]] into %{{.+}} : tensor<4x8x?x2xi8> into tensor<4x8x32x2xi8>
// CHECK:         %[[ST:.+]] = linalg.generic {{.*}} ins(%[[S]] : tensor<?x4xf16>) outs(%{{.+}} : tensor<4x?xf16>)
// CHECK:         %[[SCALES:.+]] = tensor.insert_slice %[[ST]] into %{{.+}} : tensor<4x?xf16> into tensor<4x32xf16>
// CHECK:         %[[PAIRS:.+]] = tensor.expand_shape %[[N]] {{.*}} into tensor<4x4x8x2xi16>
// CHECK:         %[[SCORES:.+]] = linalg.generic {{.*}}"parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%[[PAIRS]], %[[TILE]], %[[F]]#0, %[[SCALES]] : tensor<4x4x8x2xi16>, tensor<4x8x32x2xi8>, tensor<4x4xf32>, tensor<4x32xf16>) outs(%{{.+}} : tensor<4x32xf32>)
// CHECK:           %[[L:.+]] = arith.extsi %in : i16 to i32
// CHECK:           %[[R:.+]] = arith.extsi %{{.+}} : i8 to i32
// CHECK:           %[[P:.+]] = arith.muli %[[L]], %[[R]] : i32
// CHECK:           %[[PF:.+]] = arith.sitofp %[[P]] : i32 to f32
// CHECK:           %[[SF:.+]] = arith.extf %{{.+}} : f16 to f32
// CHECK:           %[[FS:.+]] = arith.mulf %{{.+}}, %[[SF]] fastmath<contract> : f32
// CHECK:           %[[PS:.+]] = arith.mulf %[[PF]], %[[FS]] fastmath<contract> : f32
// CHECK:           arith.addf %out, %[[PS]] fastmath<contract> : f32
// CHECK:         tensor.extract_slice %[[SCORES]][0, 0] [4, %{{.+}}] [1, 1]
//
// Rows that are not turned have as many tokens as there are.
//
// THREADS-LABEL: func @keys_token(
// THREADS:      linalg.generic {{.*}}"parallel", "parallel", "reduction", "reduction"]} ins(%{{.+}}, %{{.+}}, %{{.+}} : tensor<4x4x16xi16>, tensor<?x4x16xi8>, tensor<4x?x4xf32>) outs(%{{.+}} : tensor<4x?xf32>)
func.func @keys_token(%q: tensor<4x64xf32>, %c: tensor<?x64xi8>, %s: tensor<?x4xf16>,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %all = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %out) -> tensor<4x?xf32> {
    %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
    %x = kvq.dequantize #token
        ins(%c, %s : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
    %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%acc : tensor<4x?xf32>)
        attrs = {kvq.query_codes = i16} {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.mulf %a, %b fastmath<contract> : f32
      %1 = arith.addf %o, %0 fastmath<contract> : f32
      linalg.yield %1 : f32
    } -> tensor<4x?xf32>
    scf.yield %r : tensor<4x?xf32>
  }
  return %all : tensor<4x?xf32>
}

// For one row of the query it does not pay to turn rows: sums are over lanes.
//
// CHECK-LABEL: func @keys_of_one_row(
// CHECK-SAME:  %[[X:[^:]+]]: tensor<1x64xf32>, %{{[^:]+}}: tensor<?x64xi8>, %[[S:[^:]+]]: tensor<?x4xf16>
// CHECK:       %[[F:.+]]:2 = linalg.generic {{.*}} : tensor<1x4xi32>)
// CHECK:       %[[N:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<1x4x16xi16>)
// CHECK:       scf.for
// CHECK:         %[[FS:.+]] = linalg.generic {{.*}} ins(%[[F]]#0, %[[S]] : tensor<1x4xf32>, tensor<?x4xf16>) outs(%{{.+}} : tensor<1x?x4xf32>)
// CHECK:         linalg.generic {{.*}}"parallel", "parallel", "reduction", "reduction"]} ins(%[[N]], %{{.+}}, %[[FS]] : tensor<1x4x16xi16>, tensor<?x4x16xi8>, tensor<1x?x4xf32>)
func.func @keys_of_one_row(%q: tensor<1x64xf32>, %c: tensor<?x64xi8>, %s: tensor<?x4xf16>,
    %n: index, %out: tensor<1x?xf32>) -> tensor<1x?xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %all = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %out) -> tensor<1x?xf32> {
    %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
    %x = kvq.dequantize #token
        ins(%c, %s : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
    %r = linalg.generic #keys ins(%q, %x : tensor<1x64xf32>, tensor<?x64xf32>) outs(%acc : tensor<1x?xf32>)
        attrs = {kvq.query_codes = i16} {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = arith.mulf %a, %b fastmath<contract> : f32
      %1 = arith.addf %o, %0 fastmath<contract> : f32
      linalg.yield %1 : f32
    } -> tensor<1x?xf32>
    scf.yield %r : tensor<1x?xf32>
  }
  return %all : tensor<1x?xf32>
}

// The scales of a channel go into the query, with one step a row. Integers of 8
// bits are kept as i16, which is what is multiplied; unsigned codes are extended
// as such.
//
// CHECK-LABEL: func @keys_channel(
// CHECK:         arith.divf %{{.+}}, %[[RANGE:.+]] : f32
// CHECK:         arith.divf %[[RANGE]], %{{.+}} : f32
// CHECK:       %[[N:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<4x64xi16>)
// CHECK:       linalg.generic {{.*}} ins(%[[N]], %{{.+}}, %{{.+}} : tensor<4x64xi16>, tensor<?x64xi8>, tensor<4xf32>)
// CHECK:         arith.extsi %in : i16 to i32
// CHECK:         arith.extui %{{.+}} : i8 to i32
func.func @keys_channel(%q: tensor<4x64xf32>, %c: tensor<?x64xi8>, %s: tensor<1x64xf16>, %z: tensor<1x64xf16>,
    %n: index, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #channel_zero ins(%c, %s, %z : tensor<?x64xi8>, tensor<1x64xf16>, tensor<1x64xf16>)
      outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>)
      attrs = {kvq.query_codes = i8} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}

// Probabilities times scales, tokens last as they are summed.
//
// CHECK-LABEL: func @values_token(
// CHECK-SAME:  %[[X:[^:]+]]: tensor<4x?xf32>, %{{[^:]+}}: tensor<?x64xi8>, %[[S:[^:]+]]: tensor<?x4xf16>
// CHECK:       %[[ST:.+]] = linalg.generic {{.*}} ins(%[[S]] : tensor<?x4xf16>) outs(%{{.+}} : tensor<4x?xf16>)
// CHECK:       linalg.generic {{.*}} ins(%[[X]], %[[ST]] : tensor<4x?xf32>, tensor<4x?xf16>) outs(%{{.+}} : tensor<4x4xi32>)
// CHECK:       %[[N:.+]] = linalg.generic {{.*}} ins(%[[X]], %[[ST]], %{{.+}} : {{.*}}) outs(%{{.+}} : tensor<4x4x?xi16>)
// CHECK:       linalg.generic {{.*}} ins(%[[N]], %{{.+}}, %{{.+}} : tensor<4x4x?xi16>, tensor<?x4x16xi8>, tensor<4x4xf32>) outs(%{{.+}} : tensor<4x4x16xf32>)
func.func @values_token(%p: tensor<4x?xf32>, %c: tensor<?x64xi8>, %s: tensor<?x4xf16>,
    %n: index, %out: tensor<4x64xf32>) -> tensor<4x64xf32> {
  %buffer = tensor.empty() : tensor<32x64xf32>
  %tile = tensor.extract_slice %buffer[0, 0] [%n, 64] [1, 1] : tensor<32x64xf32> to tensor<?x64xf32>
  %x = kvq.dequantize #token
      ins(%c, %s : tensor<?x64xi8>, tensor<?x4xf16>) outs(%tile : tensor<?x64xf32>) -> tensor<?x64xf32>
  %r = linalg.generic #values ins(%p, %x : tensor<4x?xf32>, tensor<?x64xf32>) outs(%out : tensor<4x64xf32>)
      attrs = {kvq.query_codes = i16} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x64xf32>
  return %r : tensor<4x64xf32>
}

// -----

#keys = {
  indexing_maps = [affine_map<(r, t, c) -> (r, c)>, affine_map<(r, t, c) -> (t, c)>,
                   affine_map<(r, t, c) -> (r, t)>],
  iterator_types = ["parallel", "parallel", "reduction"]
}
func.func @not_dequantized(%q: tensor<4x64xf32>, %x: tensor<?x64xf32>, %out: tensor<4x?xf32>) -> tensor<4x?xf32> {
  // expected-error@+1 {{expected a contraction with integer codes of one group of tokens, of a bounded number, to use kvq.query_codes}}
  %r = linalg.generic #keys ins(%q, %x : tensor<4x64xf32>, tensor<?x64xf32>) outs(%out : tensor<4x?xf32>)
      attrs = {kvq.query_codes = i16} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %o, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  } -> tensor<4x?xf32>
  return %r : tensor<4x?xf32>
}
