// RUN: kvq-opt %s --kvq-decompose-attention --canonicalize --cse --split-input-file | FileCheck %s

// kvq.merge_partials is decomposed by kvq-decompose-attention. $SR indexes splits
// and rows, $R rows, $SRC and $RC the same with channels.

// CHECK-DAG: #[[$SR:.+]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$R:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[$ALL:.+]] = affine_map<(d0) -> (d0)>
// CHECK-DAG: #[[$ROW:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$W:.+]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[$SRC:.+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[$RC:.+]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func @rows(
// CHECK-SAME:  %[[ACCS:[^:]+]]: tensor<4x8x64xf32>, %[[MAXES:[^:]+]]: tensor<4x8xf32>, %[[SUMS:[^:]+]]: tensor<4x8xf32>, %[[ACC:[^:]+]]: tensor<8x64xf32>, %[[MAX:[^:]+]]: tensor<8xf32>, %[[SUM:[^:]+]]: tensor<8xf32>)
// CHECK-DAG:   %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:   %[[LOWEST:.+]] = arith.constant 0xFF800000 : f32

// The largest of the partial maxima.
// CHECK:       %[[NOTHING:.+]] = linalg.fill ins(%[[LOWEST]] : f32)
// CHECK:       %[[TOP:.+]] = linalg.generic {indexing_maps = [#[[$SR]], #[[$R]]], iterator_types = ["reduction", "parallel"]} ins(%[[MAXES]] : {{.*}}) outs(%[[NOTHING]] :
// CHECK:         arith.maximumf

// max' in place of the old maximum, and what the old state weighs beside it, and
// what each partial does. Where no token has been seen at all, weights are
// exp2(-inf - 0), not NaN.
// CHECK:       %[[M:.+]]:2 = linalg.generic {indexing_maps = [#[[$ALL]], #[[$ALL]], #[[$ALL]]], iterator_types = ["parallel"]} ins(%[[TOP]] : {{.*}}) outs(%[[MAX]], %{{.+}} :
// CHECK-NEXT:  ^bb0(%[[IN:.+]]: f32, %[[OUT:.+]]: f32, %{{.+}}: f32):
// CHECK-NEXT:    %[[NEW:.+]] = arith.maximumf %[[IN]], %[[OUT]]
// CHECK-NEXT:    %[[NONE:.+]] = arith.cmpf oeq, %[[NEW]], %[[LOWEST]]
// CHECK-NEXT:    %[[ORIGIN:.+]] = arith.select %[[NONE]], %[[ZERO]], %[[NEW]]
// CHECK-NEXT:    %[[D:.+]] = arith.subf %[[OUT]], %[[ORIGIN]]
// CHECK-NEXT:    math.exp2 %[[D]]
// CHECK:       %[[WEIGHTS:.+]] = linalg.generic {indexing_maps = [#[[$SR]], #[[$R]], #[[$SR]]], iterator_types = ["parallel", "parallel"]} ins(%[[MAXES]], %[[M]]#0 :
// CHECK:         math.exp2

// sum' and acc': the old ones weighed, then the partials, split after split.
// CHECK:       %[[SUM0:.+]] = linalg.generic {indexing_maps = [#[[$ALL]], #[[$ALL]]], iterator_types = ["parallel"]} ins(%[[M]]#1 : {{.*}}) outs(%[[SUM]] :
// CHECK:         arith.mulf
// CHECK:       %[[SUM1:.+]] = linalg.generic {indexing_maps = [#[[$SR]], #[[$SR]], #[[$R]]], iterator_types = ["reduction", "parallel"]} ins(%[[WEIGHTS]], %[[SUMS]] : {{.*}}) outs(%[[SUM0]] :
// CHECK:         arith.mulf
// CHECK-NEXT:    arith.addf
// CHECK:       %[[ACC0:.+]] = linalg.generic {indexing_maps = [#[[$ROW]], #[[$SR]]], iterator_types = ["parallel", "parallel"]} ins(%[[M]]#1 : {{.*}}) outs(%[[ACC]] :
// CHECK:         arith.mulf
// CHECK:       %[[ACC1:.+]] = linalg.generic {indexing_maps = [#[[$W]], #[[$SRC]], #[[$RC]]], iterator_types = ["reduction", "parallel", "parallel"]} ins(%[[WEIGHTS]], %[[ACCS]] : {{.*}}) outs(%[[ACC0]] :
// CHECK:         arith.mulf
// CHECK-NEXT:    arith.addf
// CHECK-NOT:   kvq.
// CHECK:       return %[[ACC1]], %[[M]]#0, %[[SUM1]]
func.func @rows(%accs: tensor<4x8x64xf32>, %maxes: tensor<4x8xf32>,
                %sums: tensor<4x8xf32>, %acc: tensor<8x64xf32>,
                %max: tensor<8xf32>, %sum: tensor<8xf32>)
    -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
  %r:3 = kvq.merge_partials
      ins(%accs, %maxes, %sums : tensor<4x8x64xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
      outs(%acc, %max, %sum : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>)
      -> tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %r#0, %r#1, %r#2 : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// Any number of splits, and several axes of rows.

// CHECK-DAG: #[[$W:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG: #[[$ALL:.+]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[$RC:.+]] = affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>
// CHECK-LABEL: func @several_axes(
// CHECK-SAME:  %[[ACCS:[^:]+]]: tensor<?x2x?x64xf32>, %[[MAXES:[^:]+]]: tensor<?x2x?xf32>
// CHECK:       %[[SPLITS:.+]] = tensor.dim %[[MAXES]], %c0
// CHECK:       %[[ROWS:.+]] = tensor.dim %[[MAXES]], %c2
// CHECK:       tensor.empty(%[[SPLITS]], %[[ROWS]]) : tensor<?x2x?xf32>
// CHECK:       linalg.generic {indexing_maps = [#[[$W]], #[[$ALL]], #[[$RC]]], iterator_types = ["reduction", "parallel", "parallel", "parallel"]} ins(%{{.+}}, %[[ACCS]] :
func.func @several_axes(%accs: tensor<?x2x?x64xf32>, %maxes: tensor<?x2x?xf32>,
                        %sums: tensor<?x2x?xf32>, %acc: tensor<2x?x64xf32>,
                        %max: tensor<2x?xf32>, %sum: tensor<2x?xf32>)
    -> (tensor<2x?x64xf32>, tensor<2x?xf32>, tensor<2x?xf32>) {
  %r:3 = kvq.merge_partials
      ins(%accs, %maxes, %sums : tensor<?x2x?x64xf32>, tensor<?x2x?xf32>, tensor<?x2x?xf32>)
      outs(%acc, %max, %sum : tensor<2x?x64xf32>, tensor<2x?xf32>, tensor<2x?xf32>)
      -> tensor<2x?x64xf32>, tensor<2x?xf32>, tensor<2x?xf32>
  return %r#0, %r#1, %r#2 : tensor<2x?x64xf32>, tensor<2x?xf32>, tensor<2x?xf32>
}
