// RUN: kvq-opt %s --convert-kvq-to-vector | FileCheck %s
// RUN: kvq-opt %s --convert-kvq-to-vector=vector-width=16 | FileCheck %s --check-prefix=WIDE

// Of f32 alone, a block takes as many registers as there are: 5 rows x 2 vectors
// of accumulators, 2 vectors and a number for all lanes, of 16; the 4 rows that
// are left over, apart. With 32 registers 2 rows x 8 vectors.
//
// CHECK-LABEL: func @values(
// CHECK:       scf.for %{{.+}} = %{{.+}} to %c60 step %c5
// CHECK:         scf.for %{{.+}} = %{{.+}} to %c128{{.*}} step %c16
// CHECK-COUNT-10: vector.load {{.*}} : memref<64x128xf32>, vector<8xf32>
// CHECK:           %{{.+}}:10 = scf.for
// CHECK-COUNT-2:     vector.load {{.*}} : memref<?x128xf32>, vector<8xf32>
// CHECK:       scf.for %{{.+}} = %{{.+}} to %c128{{.*}} step %c16
// CHECK:         %{{.+}}:8 = scf.for

// WIDE-LABEL:  func @values(
// WIDE:        scf.for %{{.+}} = %{{.+}} to %c64 step %c2
// WIDE:          %{{.+}}:16 = scf.for
// WIDE-COUNT-8:    vector.load {{.*}} : memref<?x128xf32>, vector<16xf32>
func.func @values(%p: memref<?x64xf32>, %v: memref<?x128xf32>, %o: memref<64x128xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, c, t) -> (t, r)>, affine_map<(r, c, t) -> (t, c)>,
                                   affine_map<(r, c, t) -> (r, c)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : memref<?x64xf32>, memref<?x128xf32>) outs(%o : memref<64x128xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %0 = arith.mulf %a, %b fastmath<contract> : f32
    %1 = arith.addf %s, %0 fastmath<contract> : f32
    linalg.yield %1 : f32
  }
  return
}
