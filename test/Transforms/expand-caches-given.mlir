// RUN: kvq-opt %s -kvq-expand-caches -canonicalize -cse -split-input-file | FileCheck %s
// RUN: kvq-opt %s -kvq-cpu-pipeline -split-input-file -o /dev/null

// Given components are read, never written and never copied.

#f = #kvq.format<codes = ui8, group = [*, 8], scale = f16, zero = min f16, range = static>
!c = !kvq.cache<2x3x?x16xf16, #f>

// The work items of an append write the codes alone.
// CHECK-LABEL: func.func @append(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x3x?x16xf16>, %{{[^:]*}}: tensor<2xi64>, %[[CODES:[^:]*]]: tensor<2x3x?x16xi8>, %[[SCALES:[^:]*]]: tensor<1x3x1x2xf16>, %[[ZEROS:[^:]*]]: tensor<1x3x1x2xf16>)
// CHECK:         %[[R:.*]] = kvq.forall (%[[B:[a-z0-9]+]], %[[H:[a-z0-9]+]], %{{.*}}) in ({{.*}}) inits(%{{.*}} = %[[CODES]] : tensor<2x3x?x16xi8>)
// CHECK:             scf.for
// CHECK:               %[[TARGET:.*]] = tensor.extract_slice %{{.*}} to tensor<1x16xi8>
// CHECK-DAG:           %[[S:.*]] = tensor.extract_slice %[[SCALES]][0, %[[H]], 0, 0] [1, 1, 1, 2] [1, 1, 1, 1] : tensor<1x3x1x2xf16> to tensor<1x2xf16>
// CHECK-DAG:           %[[Z:.*]] = tensor.extract_slice %[[ZEROS]][0, %[[H]], 0, 0] [1, 1, 1, 2] [1, 1, 1, 1] : tensor<1x3x1x2xf16> to tensor<1x2xf16>
// CHECK:               kvq.quantize {{.*}} ins(%{{.*}}, %[[S]], %[[Z]] : tensor<1x16xf16>, tensor<1x2xf16>, tensor<1x2xf16>) outs(%[[TARGET]] : tensor<1x16xi8>)
// CHECK:         return %[[R]], %[[SCALES]], %[[ZEROS]]
func.func @append(%x: tensor<2x3x?x16xf16>, %n: tensor<2xi64>, %c: !c) -> !c {
  %r = kvq.append ins(%x : tensor<2x3x?x16xf16>) lengths(%n : tensor<2xi64>)
      into(%c : !c) -> !c
  return %r : !c
}

// CHECK-LABEL: func.func @reorder(
// CHECK-SAME:    %[[CODES:[^:]*]]: tensor<2x3x?x16xi8>, %{{[^:]*}}: tensor<1x3x1x2xf16>, %{{[^:]*}}: tensor<1x3x1x2xf16>, %[[TO:[^:]*]]: tensor<2x3x?x16xi8>, %[[SCALES:[^:]*]]: tensor<1x3x1x2xf16>, %[[ZEROS:[^:]*]]: tensor<1x3x1x2xf16>,
// CHECK:         %[[R:.*]] = kvq.forall {{.*}} inits(%{{.*}} = %[[TO]] : tensor<2x3x?x16xi8>)
// CHECK-COUNT-1:       linalg.copy
// CHECK-NOT:           linalg.copy
// CHECK:         return %[[R]], %[[SCALES]], %[[ZEROS]]
func.func @reorder(%c: !c, %d: !c, %i: tensor<2xi64>, %n: tensor<2xi64>) -> !c {
  %r = kvq.reorder ins(%c : !c) sources(%i : tensor<2xi64>) lengths(%n : tensor<2xi64>)
      into(%d : !c) -> !c
  return %r : !c
}

// A cache without tokens has what it is given.
// CHECK-LABEL: func.func @empty(
// CHECK-SAME:    %[[N:[^:]*]]: index, %[[GIVEN:[^:]*]]: tensor<1x3x1x2xf16>)
// CHECK:         %[[CODES:.*]] = bufferization.alloc_tensor(%{{.*}}) : tensor<2x3x?x16xi8>
// CHECK-NOT:     bufferization.alloc_tensor
// CHECK:         return %[[CODES]], %[[GIVEN]], %[[GIVEN]]
func.func @empty(%n: index, %s: tensor<1x3x1x2xf16>) -> !c attributes {kvq.unfused} {
  %c = kvq.empty(%n) given(%s, %s : tensor<1x3x1x2xf16>, tensor<1x3x1x2xf16>) : !c
  return %c : !c
}

// CHECK-LABEL: func.func @load(
// CHECK-SAME:    %[[CODES:[^:]*]]: tensor<2x3x?x16xi8>, %{{[^:]*}}: tensor<1x3x1x2xf16>, %[[ZEROS:[^:]*]]: tensor<1x3x1x2xf16>, %[[H:[^:]*]]: index)
// CHECK:         %[[ROW:.*]] = tensor.extract_slice %[[ZEROS]][0, %[[H]], 0, 0] [1, 1, 1, 2]
// CHECK:         return %[[ROW]]
func.func @load(%c: !c, %h: index) -> tensor<1x2xf16> {
  %z = kvq.load_given %c <zeros> at [%h] : !c -> tensor<1x2xf16>
  return %z : tensor<1x2xf16>
}
