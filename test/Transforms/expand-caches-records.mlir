// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse -split-input-file | FileCheck %s

// A record of codes and metadata is one component.

#q4 = #kvq.format<codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<bias, record = [scale, codes]>>
!c = !kvq.cache<1x2x?x64xf16, #q4>

// CHECK-LABEL: func.func @load(
// CHECK-SAME:    %[[RECORDS:[^:]*]]: tensor<1x2x?x36xi8>, %[[LO:[^:]*]]: index, %[[HI:[^:]*]]: index)
// CHECK:         %[[N:.*]] = arith.subi %[[HI]], %[[LO]]
// CHECK:         %[[ROWS:.*]] = tensor.extract_slice %[[RECORDS]][0, 1, %[[LO]], 0] [1, 1, %[[N]], 36] {{.*}} to tensor<?x36xi8>
// CHECK:         %[[CODES:.*]] = tensor.extract_slice %{{.*}}[0, 0] [%[[N]], 64] {{.*}} : tensor<16x64xi8> to
// CHECK:         %[[SCALES:.*]] = tensor.extract_slice %{{.*}}[0, 0] [%[[N]], 2] {{.*}} : tensor<16x2xf16> to
// CHECK:         %[[U:.*]]:2 = kvq.unpack #{{.*}} ins(%[[ROWS]] : {{.*}}) outs(%[[CODES]], %[[SCALES]] :
// CHECK:         return %[[U]]#0, %[[U]]#1
func.func @load(%c: !c, %lo: index, %hi: index) -> (tensor<?x64xi8>, tensor<?x2xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:2 = kvq.load_tile %c <codes> at [%c0, %c1] tokens [%lo to %hi] {tile = 16}
      : !c -> tensor<?x64xi8>, tensor<?x2xf16>
  return %0#0, %0#1 : tensor<?x64xi8>, tensor<?x2xf16>
}

// CHECK-LABEL: func.func @append(
// CHECK:         %[[ROW:.*]] = tensor.extract_slice %[[RECORDS:.*]][0, %[[HEAD:.*]], %[[TOKEN:.*]], 0] [1, 1, 1, 36] {{.*}} to tensor<1x36xi8>
// CHECK:         %[[Q:.*]]:2 = kvq.quantize #{{.*}} outs(%{{.*}}, %{{.*}} : tensor<1x64xi8>, tensor<1x2xf16>)
// CHECK:         %[[P:.*]] = kvq.pack #{{.*}} ins(%[[Q]]#0, %[[Q]]#1 : {{.*}}) outs(%[[ROW]] : tensor<1x36xi8>)
// CHECK:         tensor.insert_slice %[[P]] into %[[RECORDS]][0, %[[HEAD]], %[[TOKEN]], 0] [1, 1, 1, 36]
func.func @append(%x: tensor<1x2x?x64xf16>, %n: tensor<1xi64>, %c: !c) -> !c {
  %0 = kvq.append ins(%x : tensor<1x2x?x64xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  return %0 : !c
}

// -----

// Records of metadata are a component beside the codes, with a row for each
// group of tokens; the scales are unpacked for the group of the tile.

#k = #kvq.format<codes = ui8, group = [32, 1], scale = f16, zero = min f16,
                 layout = #kvq.layout<record = [scale, zero]>>
!k = !kvq.cache<1x2x?x64xf16, #k, recent = 0>

// CHECK-LABEL: func.func @load_beside(
// CHECK-SAME:    %[[CODES:[^:]*]]: tensor<1x2x?x64xi8>, %[[RECORDS:[^:]*]]: tensor<1x2x?x256xi8>, %{{[^:]*}}: tensor<1x2x31x64xf16>, %[[LO:[^:]*]]: index, %[[HI:[^:]*]]: index)
// CHECK:         %[[BYTES:.*]] = tensor.extract_slice %[[CODES]][0, 1, %[[LO]], 0]
// CHECK:         %[[GROUP:.*]] = arith.divui %[[LO]], %{{.*}}
// CHECK:         %[[ROW:.*]] = tensor.extract_slice %[[RECORDS]][0, 1, %[[GROUP]], 0] [1, 1, 1, 256] {{.*}} to tensor<1x256xi8>
// CHECK:         kvq.unpack #{{.*}} ins(%[[BYTES]], %[[ROW]] :
// CHECK-SAME:    outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xi8>, tensor<1x64xf16>, tensor<1x64xf16>)
func.func @load_beside(%c: !k, %lo: index, %hi: index) -> (tensor<?x64xi8>, tensor<1x64xf16>, tensor<1x64xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0:3 = kvq.load_tile %c <codes> at [%c0, %c1] tokens [%lo to %hi] {tile = 32}
      : !k -> tensor<?x64xi8>, tensor<1x64xf16>, tensor<1x64xf16>
  return %0#0, %0#1, %0#2 : tensor<?x64xi8>, tensor<1x64xf16>, tensor<1x64xf16>
}

// CHECK-LABEL: func.func @empty(
// CHECK-SAME:    %[[N:.*]]: index)
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK:         %[[GROUPS:.*]] = arith.divui %{{.*}}, %[[C32]]
// CHECK:         bufferization.alloc_tensor(%{{.*}}) : tensor<1x2x?x64xi8>
// CHECK:         bufferization.alloc_tensor(%{{.*}}) : tensor<1x2x?x256xi8>
func.func @empty(%n: index) -> !k {
  %0 = kvq.empty(%n) : !k
  return %0 : !k
}
