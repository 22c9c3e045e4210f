// RUN: kvq-opt %s -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector),canonicalize,cse)' | FileCheck %s

// Ops that write rounds of a few elements, and read each round in any order: one
// load and one shuffle an input, and what the body makes of the place in a round
// is a constant.

// Two codes of a byte: sixteen bytes make a vector of codes.

// CHECK-LABEL: func.func @nibbles
// CHECK-DAG: %[[SHIFTS:.*]] = arith.constant dense<[0, 4, 0, 4, {{.*}}0, 4]> : vector<32xi8>
// CHECK: scf.for
// CHECK: scf.for %[[B:.*]] = %c0 to %c64 step %c16
// CHECK: %[[BYTES:.*]] = vector.load %arg0[%{{.*}}, %[[B]]] : memref<?x64xi8>, vector<16xi8>
// CHECK: %[[TWICE:.*]] = vector.shuffle %[[BYTES]], %[[BYTES]] [0, 0, 1, 1, {{.*}}, 15, 15]
// CHECK: %[[MOVED:.*]] = arith.shrui %[[TWICE]], %[[SHIFTS]]
// CHECK: %[[CODES:.*]] = arith.andi %[[MOVED]]
// CHECK: vector.store %[[CODES]], %{{.*}} : memref<?x128xi8>, vector<32xi8>
func.func @nibbles(%bytes: memref<?x64xi8>, %codes: memref<?x64x2xi8>) {
  %c4 = arith.constant 4 : i8
  %c15 = arith.constant 15 : i8
  linalg.generic {
      indexing_maps = [affine_map<(t, b, i) -> (t, b)>, affine_map<(t, b, i) -> (t, b, i)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%bytes : memref<?x64xi8>) outs(%codes : memref<?x64x2xi8>) {
  ^bb0(%byte: i8, %out: i8):
    %i = linalg.index 2 : index
    %n = arith.index_castui %i : index to i8
    %amount = arith.muli %n, %c4 : i8
    %moved = arith.shrui %byte, %amount : i8
    %code = arith.andi %moved, %c15 : i8
    linalg.yield %code : i8
  }
  return
}

// The way back reads pairs, and has no axis inside a round.

// CHECK-LABEL: func.func @pairs
// CHECK: scf.for
// CHECK: %[[PAIRS:.*]] = vector.load {{.*}}, vector<64xi8>
// CHECK-DAG: %[[LOW:.*]] = vector.shuffle %[[PAIRS]], %[[PAIRS]] [0, 2, 4, {{.*}}, 62]
// CHECK-DAG: %[[HIGH:.*]] = vector.shuffle %[[PAIRS]], %[[PAIRS]] [1, 3, 5, {{.*}}, 63]
// CHECK: %[[MOVED:.*]] = arith.shli %[[HIGH]]
// CHECK: arith.ori %[[LOW]], %[[MOVED]] : vector<32xi8>
func.func @pairs(%codes: memref<?x64x2xi8>, %bytes: memref<?x64xi8>) {
  %c4 = arith.constant 4 : i8
  linalg.generic {
      indexing_maps = [affine_map<(t, b) -> (t, b, 0)>, affine_map<(t, b) -> (t, b, 1)>,
                       affine_map<(t, b) -> (t, b)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%codes, %codes : memref<?x64x2xi8>, memref<?x64x2xi8>) outs(%bytes : memref<?x64xi8>) {
  ^bb0(%low: i8, %high: i8, %out: i8):
    %moved = arith.shli %high, %c4 : i8
    %byte = arith.ori %low, %moved : i8
    linalg.yield %byte : i8
  }
  return
}

// What is there already is read as it is written; rounds that are left over
// after whole vectors make shorter ones.

// CHECK-LABEL: func.func @accumulate
// CHECK: scf.for
// CHECK: vector.load {{.*}}, vector<4xi8>
// CHECK: vector.shuffle {{.*}} [0, 0, 0, 0, 0, 0, 0, 0, 1, {{.*}}, 3]
// CHECK: %[[OLD:.*]] = vector.load {{.*}}, vector<32xi8>
// CHECK: arith.ori %[[OLD]], %{{.*}} : vector<32xi8>
// CHECK: vector.load {{.*}}, vector<1xi8>
// CHECK: arith.ori {{.*}} : vector<8xi8>
// CHECK-NOT: arith.ori
func.func @accumulate(%bits: memref<?x5xi8>, %codes: memref<?x5x8xi8>) {
  %c1 = arith.constant 1 : i8
  linalg.generic {
      indexing_maps = [affine_map<(t, b, i) -> (t, b)>, affine_map<(t, b, i) -> (t, b, i)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%bits : memref<?x5xi8>) outs(%codes : memref<?x5x8xi8>) {
  ^bb0(%byte: i8, %out: i8):
    %i = linalg.index 2 : index
    %amount = arith.index_castui %i : index to i8
    %moved = arith.shrui %byte, %amount : i8
    %bit = arith.andi %moved, %c1 : i8
    %code = arith.ori %out, %bit : i8
    linalg.yield %code : i8
  }
  return
}

// A round that is left over alone is a vector of one lane.

// CHECK-LABEL: func.func @one_left
// CHECK: vector.load {{.*}}, vector<8xi8>
// CHECK: arith.shli {{.*}} : vector<4xi8>
// CHECK: vector.load {{.*}}, vector<2xi8>
// CHECK: arith.shli {{.*}} : vector<1xi8>
func.func @one_left(%x: memref<?x5x2xi8>, %y: memref<?x5xi8>) {
  %c3 = arith.constant 3 : i8
  linalg.generic {
      indexing_maps = [affine_map<(t, b) -> (t, b, 0)>, affine_map<(t, b) -> (t, b)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x5x2xi8>) outs(%y : memref<?x5xi8>) {
  ^bb0(%in: i8, %out: i8):
    %moved = arith.shli %in, %c3 : i8
    linalg.yield %moved : i8
  }
  return
}

// Rounds that are not one after the other in memory are left alone, and so is an
// element whose place in a round depends on the round.

// CHECK-LABEL: func.func @strided
// CHECK-NOT: vector.shuffle
func.func @strided(%bytes: memref<?x64xi8>, %codes: memref<?x64x2xi8, strided<[256, 4, 1]>>) {
  linalg.generic {
      indexing_maps = [affine_map<(t, b, i) -> (t, b)>, affine_map<(t, b, i) -> (t, b, i)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%bytes : memref<?x64xi8>) outs(%codes : memref<?x64x2xi8, strided<[256, 4, 1]>>) {
  ^bb0(%byte: i8, %out: i8):
    linalg.yield %byte : i8
  }
  return
}

// CHECK-LABEL: func.func @depends_on_the_round
// CHECK-NOT: vector.shuffle
func.func @depends_on_the_round(%x: memref<?x16x2xi8>, %y: memref<?x16xi8>) {
  linalg.generic {
      indexing_maps = [affine_map<(t, b) -> (t, b, b mod 2)>, affine_map<(t, b) -> (t, b)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?x16x2xi8>) outs(%y : memref<?x16xi8>) {
  ^bb0(%in: i8, %out: i8):
    linalg.yield %in : i8
  }
  return
}
