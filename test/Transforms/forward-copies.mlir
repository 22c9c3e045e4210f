// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(kvq-forward-copies))' | FileCheck %s

// What reads the copy reads the input; what else uses it keeps it.

// CHECK-LABEL: func @read(
// CHECK-SAME:  %[[R:.+]]: tensor<?x4x34xi8>
// CHECK:       %[[CODES:.+]] = tensor.extract_slice %[[R]]
// CHECK-NOT:   linalg.copy
// CHECK:       linalg.generic {{.*}} ins(%[[CODES]] : tensor<?x4x32xi8>)
func.func @read(%r: tensor<?x4x34xi8>, %n: index, %scratch: tensor<?x4x32xi8>, %out: tensor<?x4x32xf32>) -> tensor<?x4x32xf32> {
  %codes = tensor.extract_slice %r[0, 0, 2] [%n, 4, 32] [1, 1, 1] : tensor<?x4x34xi8> to tensor<?x4x32xi8>
  %copy = linalg.copy ins(%codes : tensor<?x4x32xi8>) outs(%scratch : tensor<?x4x32xi8>) -> tensor<?x4x32xi8>
  %0 = linalg.generic {indexing_maps = [affine_map<(t, g, c) -> (t, g, c)>, affine_map<(t, g, c) -> (t, g, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%copy : tensor<?x4x32xi8>) outs(%out : tensor<?x4x32xf32>) {
  ^bb0(%a: i8, %o: f32):
    %1 = arith.sitofp %a : i8 to f32
    linalg.yield %1 : f32
  } -> tensor<?x4x32xf32>
  return %0 : tensor<?x4x32xf32>
}

// CHECK-LABEL: func @kept(
// CHECK:       %[[COPY:.+]] = linalg.copy
// CHECK:       %[[FILLED:.+]] = linalg.fill {{.*}} outs(%[[COPY]] :
// CHECK:       return %[[FILLED]], %[[COPY]]
func.func @kept(%a: tensor<8xi8>, %b: tensor<8xi8>, %zero: i8) -> (tensor<8xi8>, tensor<8xi8>) {
  %copy = linalg.copy ins(%a : tensor<8xi8>) outs(%b : tensor<8xi8>) -> tensor<8xi8>
  %0 = linalg.fill ins(%zero : i8) outs(%copy : tensor<8xi8>) -> tensor<8xi8>
  return %0, %copy : tensor<8xi8>, tensor<8xi8>
}
