// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse -split-input-file | FileCheck %s

// The groups behind the gap move through scratch, in order; then the window's slots
// rotate, by three reversals.

#f = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
!k = !kvq.cache<2x3x?x64xf16, #f, exact_first = 4, recent = 64>

// CHECK-LABEL: func.func @windows(
// CHECK-SAME:    %[[BEGIN:[^:]*]]: tensor<2xi64>, %[[COUNT:[^:]*]]: tensor<2xi64>, %{{[^:]*}}: tensor<2xi64>, %[[FLUSHED:[^:]*]]: tensor<2xi64>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG:     %[[C95:.*]] = arith.constant 95 : index
// CHECK-DAG:     %[[C3:.*]] = arith.constant 3 : index
// CHECK:         kvq.forall (%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]]) in (%[[C2]], %[[C3]])
// CHECK:           tensor.extract %[[COUNT]][%[[B]]]
// CHECK:           %[[N:.*]] = arith.index_cast
// CHECK:           tensor.extract %[[BEGIN]][%[[B]]]
// CHECK:           tensor.extract %[[FLUSHED]][%[[B]]]
// CHECK:           %[[STORED:.*]] = arith.index_cast
// CHECK:           %[[NOTHING:.*]] = arith.cmpi eq, %[[N]], %[[C0]]
// CHECK:           %[[END:.*]] = arith.select %[[NOTHING]], %[[STORED]], %{{.*}}
// CHECK:             scf.for %[[ROW:.*]] = %[[END]] to %[[STORED]] step %[[C32]] iter_args(%[[CODES:[a-z0-9]*]] =
// CHECK:               %[[TO:.*]] = arith.subi %[[ROW]], %[[N]]
// CHECK:               %[[GROUP:.*]] = tensor.extract_slice %[[CODES]][%[[B]], %[[H]], %[[ROW]], 0] [1, 1, 32, 32]
// CHECK:               %[[SCRATCH:.*]] = linalg.copy ins(%[[GROUP]] :
// CHECK:               %[[PLACE:.*]] = tensor.extract_slice %[[CODES]][%[[B]], %[[H]], %[[TO]], 0] [1, 1, 32, 32]
// CHECK:               linalg.copy ins(%[[SCRATCH]] : {{.*}}) outs(%[[PLACE]] :
// CHECK:             %[[TURN:.*]] = arith.remui %[[N]], %[[C95]]
// CHECK:             %[[HALF:.*]] = arith.divui %[[TURN]], %[[C2]]
// CHECK:             scf.for %{{.*}} = %[[C0]] to %[[HALF]]
// CHECK:             %[[REST:.*]] = arith.subi %[[C95]], %[[TURN]]
// CHECK:             scf.for %{{.*}} = %[[TURN]] to
// CHECK:             scf.for %{{.*}} = %[[C0]] to
func.func @windows(%c: !k, %i: tensor<2xi64>, %k: tensor<2xi64>, %n: tensor<2xi64>, %f: tensor<2xi64>) -> !k {
  %0 = kvq.shift drop(%i, %k : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>)
      flushed(%f : tensor<2xi64>) into(%c : !k) -> !k
  return %0 : !k
}

// -----

// Metadata that heads share moves once.

#f = #kvq.format<codes = i8, group = [1, *], heads = *, scale = f32>
!c = !kvq.cache<2x3x?x64xf16, #f, page = 16>

// CHECK-LABEL: func.func @shared(
// CHECK-SAME:    %{{[^:]*}}: tensor<?x3x16x64xi8>, %{{[^:]*}}: tensor<?x1x16x1xf32>,
// CHECK:           tensor.extract_slice %{{.*}}[%[[PAGE:.*]], 0, %[[ROW:.*]], 0] [1, 3, 1, 64] [1, 1, 1, 1] : tensor<?x3x16x64xi8> to tensor<3x1x64xi8>
// CHECK:           tensor.extract_slice %{{.*}}[%[[PAGE]], 0, %[[ROW]], 0] [1, 1, 1, 1]
func.func @shared(%c: !c, %i: tensor<2xi64>, %k: tensor<2xi64>, %n: tensor<2xi64>, %t: tensor<2x?xi64>) -> !c {
  %0 = kvq.shift drop(%i, %k : tensor<2xi64>, tensor<2xi64>) lengths(%n : tensor<2xi64>)
      pages(%t : tensor<2x?xi64>) into(%c : !c) -> !c
  return %0 : !c
}

// -----

// Keys after RoPE: a group is taken back to values, turned back, rounded to elements
// and quantized again; the window is turned where it lies.

#f = #kvq.format<codes = i4, group = [1, 32], scale = f16>
!k = !kvq.cache<1x2x?x64xf16, #f, recent = 4>

// CHECK-LABEL: func.func @turned(
// CHECK-SAME:    %[[COS:[^:]*]]: tensor<?x24xf32>, %[[SIN:[^:]*]]: tensor<?x24xf32>)
// CHECK:           %[[N:.*]] = arith.index_cast
// CHECK:             scf.for {{.*}} iter_args(%[[CODES:[a-z0-9]*]] =
// CHECK:               %[[ROW:.*]] = tensor.extract_slice %[[CODES]]{{.*}} : tensor<1x2x?x32xi8> to tensor<1x32xi8>
// CHECK:               %[[UNPACKED:.*]] = kvq.unpack {{.*}} ins(%[[ROW]] :
// CHECK:               %[[VALUES:.*]] = kvq.dequantize {{.*}} ins(%[[UNPACKED]], %{{.*}} : tensor<1x64xi8>, tensor<1x2xf16>)
// CHECK:               %[[X:.*]] = tensor.extract_slice %[[VALUES]][0, 0] [1, 24] [1, 1]
// CHECK:               %[[Y:.*]] = tensor.extract_slice %[[VALUES]][0, 24] [1, 24] [1, 1]
// CHECK:               %[[C:.*]] = tensor.extract_slice %[[COS]][%[[N]], 0] [1, 24]
// CHECK:               %[[S:.*]] = tensor.extract_slice %[[SIN]][%[[N]], 0] [1, 24]
// CHECK:               linalg.generic {{.*}} ins(%[[X]], %[[Y]], %[[C]], %[[S]] : {{.*}}) outs(%{{.*}} : tensor<1x24xf16>)
// CHECK:                 %[[BACK:.*]] = arith.negf
// CHECK:                 arith.mulf %{{[^ ]*}}, %{{[^ ]*}} : f32
// CHECK:                 arith.mulf %{{[^ ]*}}, %[[BACK]] : f32
// CHECK:                 arith.subf %{{[^ ]*}}, %{{[^ ]*}} : f32
// CHECK:                 arith.truncf
// CHECK:               linalg.generic {{.*}} ins(%[[X]], %[[Y]], %[[C]], %[[S]] :
// CHECK:               tensor.extract_slice %[[VALUES]][0, 48] [1, 16] [1, 1]
// CHECK:               kvq.quantize
// CHECK:               kvq.pack
// CHECK:           %[[MOVES:.*]] = arith.cmpi ne, %[[N]], %c0
// CHECK:           %[[SLOTS:.*]] = arith.select %[[MOVES]], %c4, %c0
// CHECK:           scf.for %{{.*}} = %c0 to %[[SLOTS]]
// CHECK:             linalg.generic {{.*}} ins({{.*}} : tensor<1x24xf16>, tensor<1x24xf16>, tensor<1x24xf32>, tensor<1x24xf32>)
func.func @turned(%c: !k, %i: tensor<1xi64>, %k: tensor<1xi64>, %n: tensor<1xi64>, %f: tensor<1xi64>,
                  %cos: tensor<?x24xf32>, %sin: tensor<?x24xf32>) -> !k {
  %0 = kvq.shift drop(%i, %k : tensor<1xi64>, tensor<1xi64>) lengths(%n : tensor<1xi64>)
      flushed(%f : tensor<1xi64>) rope(%cos, %sin : tensor<?x24xf32>, tensor<?x24xf32>) into(%c : !k) -> !k
  return %0 : !k
}
