// RUN: kvq-opt %s | kvq-opt | FileCheck %s --check-prefix=TYPE
// RUN: kvq-opt %s -kvq-expand-caches | FileCheck %s --check-prefix=EXPAND

#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<2x8x?x128xf16, #f, exact_first = 4, token_major>
!p = !kvq.cache<2x8x?x128xf16, #f, page = 16, token_major>

// TYPE-DAG: !kvq.cache<2x8x?x128xf16, #{{.*}}, exact_first = 4, token_major>
// TYPE-DAG: !kvq.cache<2x8x?x128xf16, #{{.*}}, page = 16, token_major>

// Rows of quantized tokens, and pools of them, have heads inside; exact windows
// do not. A head's rows are strided.
// EXPAND: func.func @load(%[[CODES:[^:]*]]: tensor<2x?x8x128xi8>, %{{[^:]*}}: tensor<2x?x8x4xf16>, %{{[^:]*}}: tensor<2x8x4x128xf16>,
// EXPAND-SAME: %{{[^:]*}}: tensor<?x16x8x128xi8>, %{{[^:]*}}: tensor<?x16x8x4xf16>,
// EXPAND: tensor.extract_slice %[[CODES]][%{{.*}}, %{{.*}}, %{{.*}}, 0] [1, %{{.*}}, 1, 128] [1, 1, 1, 1] : tensor<2x?x8x128xi8> to tensor<?x128xi8>
func.func @load(%c: !c, %p: !p, %b: index, %h: index, %lo: index, %hi: index) -> tensor<?x128xi8> {
  %0:2 = kvq.load_tile %c <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64} : !c -> tensor<?x128xi8>, tensor<?x4xf16>
  return %0#0 : tensor<?x128xi8>
}
