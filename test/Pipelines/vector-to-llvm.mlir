// RUN: kvq-opt %s -kvq-vector-to-llvm-pipeline | FileCheck %s

// A memref argument is expanded; the C interface takes its descriptor. Maxima
// keep the sign of zero and NaN; a floor division is expanded.

// CHECK-LABEL: llvm.func @rows(
// CHECK-SAME:    %{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64
// CHECK-SAME:    attributes {llvm.emit_c_interface}
// CHECK-NOT:     unrealized_conversion_cast
// CHECK:         llvm.cond_br
// CHECK:         llvm.intr.maximum({{.*}}) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
// CHECK:         llvm.store {{.*}} : vector<8xf32>, !llvm.ptr
// CHECK-NOT:     unrealized_conversion_cast
// CHECK-LABEL: llvm.func @_mlir_ciface_rows(%{{.*}}: !llvm.ptr, %{{.*}}: i64)
func.func @rows(%m: memref<?xf32>, %groups: index) attributes {llvm.emit_c_interface} {
  %c3 = arith.constant 3 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  %n = arith.floordivsi %groups, %c3 : index
  scf.forall (%i) in (%n) {
    %at = affine.apply affine_map<(d0) -> (d0 * 8)>(%i)
    %v = vector.load %m[%at] : memref<?xf32>, vector<8xf32>
    %max = arith.maximumf %v, %zero : vector<8xf32>
    vector.store %max, %m[%at] : memref<?xf32>, vector<8xf32>
  }
  return
}
