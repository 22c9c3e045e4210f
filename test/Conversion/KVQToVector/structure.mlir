// RUN: kvq-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(convert-kvq-to-vector),canonicalize,cse)' | FileCheck %s

// Lanes along the reduced channels, 4 rows x 2 tokens of accumulators; each
// key vector is converted once for the rows. Channel groups lie next to each
// other in the result: four are reduced and stored as one vector.

// CHECK-LABEL: func @keys
// CHECK:       %[[ODD:.*]] = arith.remui %{{.*}}, %c2
// CHECK:       %[[EVEN:.*]] = arith.subi %{{.*}}, %[[ODD]]
// CHECK:       scf.for %[[T:.*]] = %c0 to %[[EVEN]] step %c2
// CHECK-NOT:     scf.for
// CHECK:         vector.load %{{.*}}[%c0, %c0, %c0] : memref<4x4x32xf32>, vector<8xf32>
// CHECK:         %[[K0:.*]] = vector.load %{{.*}}[%[[T]], %c0, %c0] : memref<?x4x32xi8>, vector<8xi8>
// CHECK:         arith.sitofp %[[K0]] : vector<8xi8> to vector<8xf32>
// CHECK:         %[[T1:.*]] = arith.addi %[[T]], %c1
// CHECK:         vector.load %{{.*}}[%[[T1]], %c0, %c0]
// CHECK-COUNT-14: vector.shuffle
// CHECK:         vector.extract_strided_slice {{.*}} : vector<8xf32> to vector<4xf32>
// CHECK:         vector.store {{.*}} : memref<4x?x4xf32>, vector<4xf32>
// The last token of an odd number.
// CHECK:       scf.for %{{.*}} = %[[EVEN]] to
func.func @keys(%q: memref<4x4x32xf32>, %k: memref<?x4x32xi8>, %out: memref<4x?x4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, t, g, c) -> (r, g, c)>,
                                   affine_map<(r, t, g, c) -> (t, g, c)>,
                                   affine_map<(r, t, g, c) -> (r, t, g)>],
                  iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : memref<4x4x32xf32>, memref<?x4x32xi8>) outs(%out : memref<4x?x4xf32>) {
  ^bb0(%a: f32, %b: i8, %o: f32):
    %0 = arith.sitofp %b : i8 to f32
    %1 = arith.mulf %a, %0 fastmath<contract> : f32
    %2 = arith.addf %o, %1 fastmath<contract> : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

// Lanes along the channels of the result, 4 rows x 2 vectors of accumulators
// through the loop over tokens, in order.

// CHECK-LABEL: func @values
// CHECK:       scf.for %[[C:.*]] = %c0 to %c32 step %c16
// CHECK-COUNT-8: vector.load {{.*}} : memref<4x32xf32>, vector<8xf32>
// CHECK:         %[[ACC:.*]]:8 = scf.for %[[T:.*]] = %c0 to %{{.*}} step %c1 iter_args(
// CHECK:           %[[P:.*]] = memref.load %{{.*}}[%c0, %[[T]]] : memref<4x?xf32>
// CHECK:           %[[V:.*]] = vector.load %{{.*}}[%[[T]], %[[C]]] : memref<?x32xi8>, vector<8xi8>
// CHECK:           %[[VF:.*]] = arith.sitofp %[[V]]
// CHECK:           %[[PS:.*]] = vector.broadcast %[[P]] : f32 to vector<8xf32>
// CHECK:           %[[M:.*]] = arith.mulf %[[PS]], %[[VF]] fastmath<contract>
// CHECK:           arith.addf %{{.*}}, %[[M]] fastmath<contract> : vector<8xf32>
// CHECK:         vector.store %[[ACC]]#0
func.func @values(%p: memref<4x?xf32>, %v: memref<?x32xi8>, %out: memref<4x32xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, c, t) -> (r, t)>,
                                   affine_map<(r, c, t) -> (t, c)>,
                                   affine_map<(r, c, t) -> (r, c)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : memref<4x?xf32>, memref<?x32xi8>) outs(%out : memref<4x32xf32>) {
  ^bb0(%a: f32, %b: i8, %o: f32):
    %0 = arith.sitofp %b : i8 to f32
    %1 = arith.mulf %a, %0 fastmath<contract> : f32
    %2 = arith.addf %o, %1 fastmath<contract> : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

// 36 elements: four vectors of 8, then one of 4. A dynamic extent: four vectors
// at a time, vectors, then scalars.

// CHECK-LABEL: func @remainders
// CHECK-COUNT-4: vector.store {{.*}} : memref<36xf32>, vector<8xf32>
// CHECK:       vector.store %{{.*}}[%c32] : memref<36xf32>, vector<4xf32>
// CHECK:       scf.for {{.*}} step %c32
// CHECK-COUNT-4: vector.store {{.*}} : memref<?xf32>, vector<8xf32>
// CHECK:       scf.for {{.*}} step %c8
// CHECK:         vector.store {{.*}} : memref<?xf32>, vector<8xf32>
// CHECK:       scf.for {{.*}} step %c1
// CHECK:         memref.store {{.*}} : memref<?xf32>
func.func @remainders(%a: memref<36xf32>, %b: memref<?xf32>, %value: f32) {
  linalg.fill ins(%value : f32) outs(%a : memref<36xf32>)
  linalg.fill ins(%value : f32) outs(%b : memref<?xf32>)
  return
}

// -----

// Sixteen lanes of f16 fill a register as eight of f32 do, and 32 of i8.

// CHECK-LABEL: func @copies
// CHECK:       vector.store {{.*}} : memref<64xf16>, vector<16xf16>
// CHECK:       vector.store {{.*}} : memref<64xi8>, vector<32xi8>
// Memory has a byte for an i1, a vector has a bit.
// CHECK:       memref.store {{.*}} : memref<64xi1>
func.func @copies(%a: memref<64xf16>, %b: memref<64xf16>, %c: memref<64xi8>, %d: memref<64xi8>,
                  %e: memref<64xi1>, %f: memref<64xi1>) {
  memref.copy %a, %b : memref<64xf16> to memref<64xf16>
  linalg.copy ins(%c : memref<64xi8>) outs(%d : memref<64xi8>)
  linalg.copy ins(%e : memref<64xi1>) outs(%f : memref<64xi1>)
  return
}

// -----

// Table look-ups: by the lanes, a gather; the same for all lanes, a scalar.

// CHECK-LABEL: func @lookUp
// CHECK:       %[[CODES:.*]] = vector.load %{{.*}} : memref<64xi8>, vector<8xi8>
// CHECK:       %[[INDICES:.*]] = arith.index_cast %[[CODES]] : vector<8xi8> to vector<8xindex>
// CHECK:       vector.gather %{{.*}}[%c0] [%[[INDICES]]]
// CHECK:       vector.store {{.*}} : memref<64xf32>, vector<8xf32>
// CHECK:       %[[VALUE:.*]] = memref.load %{{.*}} : memref<16xf32>
// CHECK:       vector.broadcast %[[VALUE]] : f32 to vector<8xf32>
// CHECK:       vector.store {{.*}} : memref<4x64xf32>, vector<8xf32>
func.func @lookUp(%codes: memref<64xi8>, %table: memref<16xf32>, %out: memref<64xf32>, %rows: memref<4x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%codes : memref<64xi8>) outs(%out : memref<64xf32>) {
  ^bb0(%a: i8, %o: f32):
    %0 = arith.index_cast %a : i8 to index
    %1 = memref.load %table[%0] : memref<16xf32>
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(r, i) -> (r, i)>], iterator_types = ["parallel", "parallel"]}
      outs(%rows : memref<4x64xf32>) {
  ^bb0(%o: f32):
    %0 = linalg.index 0 : index
    %1 = memref.load %table[%0] : memref<16xf32>
    %2 = arith.mulf %o, %1 : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

// Every iteration writes the same element: loops in the order of iterations.

// CHECK-LABEL: func @last
// CHECK:       scf.for
// CHECK:         memref.load
// CHECK:         memref.store
func.func @last(%a: memref<?xf32>, %out: memref<1xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (0)>], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%out : memref<1xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// A table is looked up lane by lane, at positions that are taken out before they
// are extended: LLVM makes a shuffle of it.

// CHECK-LABEL: func @table
// CHECK:       %[[TABLE:.*]] = arith.constant dense<[0.0{{.*}}7.0{{.*}}]> : vector<8xf32>
// CHECK:       %[[C:.*]] = vector.load %{{.*}} : memref<?x32xi8>, vector<8xi8>
// CHECK:       %[[I:.*]] = arith.extui %[[C]] : vector<8xi8> to vector<8xi32>
// CHECK:       %[[LOW:.*]] = arith.andi %[[I]]
// CHECK:       %[[I0:.*]] = vector.extract %[[LOW]][0] : i32 from vector<8xi32>
// CHECK:       %[[P0:.*]] = arith.index_castui %[[I0]] : i32 to index
// CHECK:       %[[V0:.*]] = vector.extract %[[TABLE]][%[[P0]]] : f32 from vector<8xf32>
// CHECK:       vector.extract %[[LOW]][7] : i32 from vector<8xi32>
// CHECK:       %[[V:.*]] = vector.from_elements %[[V0]], {{.*}} : vector<8xf32>
// CHECK:       vector.store %[[V]]
func.func @table(%codes: memref<?x32xi8>, %out: memref<?x32xf32>) {
  %table = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : vector<8xf32>
  %seven = arith.constant 7 : i32
  linalg.generic {indexing_maps = [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%codes : memref<?x32xi8>) outs(%out : memref<?x32xf32>) {
  ^bb0(%code: i8, %o: f32):
    %wide = arith.extui %code : i8 to i32
    %low = arith.andi %wide, %seven : i32
    %position = arith.index_castui %low : i32 to index
    %value = vector.extract %table[%position] : f32 from vector<8xf32>
    linalg.yield %value : f32
  }
  return
}

// Neighbours are added from vectors of pairs.

// CHECK-LABEL: func.func @neighbours
// CHECK: %[[PAIRS:.*]] = vector.load {{.*}} : memref<4x32xf32>, vector<16xf32>
// CHECK: vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14]
// CHECK: vector.shuffle {{.*}} [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK: arith.addf {{.*}} : vector<8xf32>
func.func @neighbours(%x: memref<4x32xf32>, %y: memref<4x16xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j * 2)>, affine_map<(i, j) -> (i, j * 2 + 1)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %x : memref<4x32xf32>, memref<4x32xf32>) outs(%y : memref<4x16xf32>) {
  ^bb0(%even: f32, %odd: f32, %out: f32):
    %sum = arith.addf %even, %odd : f32
    linalg.yield %sum : f32
  }
  return
}

// An input that lacks the last neighbour is read element by element.

// CHECK-LABEL: func.func @no_last_neighbour
// CHECK-NOT: vector.
func.func @no_last_neighbour(%x: memref<4x31xf32>, %y: memref<4x16xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j * 2)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<4x31xf32>) outs(%y : memref<4x16xf32>) {
  ^bb0(%even: f32, %out: f32):
    linalg.yield %even : f32
  }
  return
}

// A sum without fast-math flags keeps its order: no lanes along what it sums.

// CHECK-LABEL: func.func @orderedSum
//       CHECK: scf.for
//   CHECK-NOT: vector
//       CHECK:   arith.addf %{{.*}}, %{{.*}} : f32
//   CHECK-NOT: vector
//       CHECK: return
func.func @orderedSum(%x: memref<32xf32>, %out: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>],
                  iterator_types = ["reduction"]}
      ins(%x : memref<32xf32>) outs(%out : memref<f32>) {
  ^bb0(%a: f32, %sum: f32):
    %0 = arith.addf %sum, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Two products of a pair of bytes are added to the accumulator one after the
// other, a multiply-add each; bytes are cut out of words, extended once for both.
// The byte below gets the bits of 2^23 above it.

// CHECK-LABEL: func @pairs
// CHECK:       %[[BYTES:.*]] = vector.load {{.*}} : memref<8x16xi8>, vector<16xi8>
// CHECK:       %[[WORDS:.*]] = vector.bitcast %[[BYTES]] : vector<16xi8> to vector<8xi16>
// CHECK:       %[[WIDE:.*]] = arith.extsi %[[WORDS]] : vector<8xi16> to vector<8xi32>
// CHECK:       %[[BYTE:.*]] = arith.andi %[[WIDE]], %{{.*}} : vector<8xi32>
// CHECK:       %[[BITS:.*]] = arith.xori %[[BYTE]], %{{.*}} : vector<8xi32>
// CHECK:       %[[ABOVE:.*]] = arith.bitcast %[[BITS]] : vector<8xi32> to vector<8xf32>
// CHECK:       arith.subf %[[ABOVE]]
// CHECK:       %[[P0:.*]] = arith.mulf
// CHECK:       %[[S0:.*]] = arith.addf %{{.*}}, %[[P0]] fastmath<contract> : vector<8xf32>
// CHECK:       arith.shrsi %[[WIDE]]
// CHECK:       arith.addf %[[S0]], %{{.*}} fastmath<contract> : vector<8xf32>
func.func @pairs(%a: memref<8xf32>, %b: memref<8xf32>, %k: memref<8x16xi8>, %out: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(t, c) -> (c)>, affine_map<(t, c) -> (c)>,
                                   affine_map<(t, c) -> (c, t * 2)>, affine_map<(t, c) -> (c, t * 2 + 1)>,
                                   affine_map<(t, c) -> (t)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%a, %b, %k, %k : memref<8xf32>, memref<8xf32>, memref<8x16xi8>, memref<8x16xi8>) outs(%out : memref<8xf32>) {
  ^bb0(%x: f32, %y: f32, %c: i8, %d: i8, %o: f32):
    %0 = arith.sitofp %c : i8 to f32
    %1 = arith.sitofp %d : i8 to f32
    %2 = arith.mulf %x, %0 fastmath<contract> : f32
    %3 = arith.mulf %y, %1 fastmath<contract> : f32
    %4 = arith.addf %2, %3 fastmath<contract> : f32
    %5 = arith.addf %o, %4 fastmath<contract> : f32
    linalg.yield %5 : f32
  }
  return
}

// -----

// One channel of each pair is written: pairs come apart as they are read, and lanes
// are stored one by one.

// CHECK-LABEL: func @apart
// CHECK:       %[[PAIRS:.*]] = vector.load %{{.*}} : memref<1x16xf32>, vector<16xf32>
// CHECK:       %[[ODD:.*]] = vector.shuffle %[[PAIRS]], %[[PAIRS]] [1, 3, 5, 7, 9, 11, 13, 15]
// CHECK:       %[[NEGATED:.*]] = arith.negf %[[ODD]] : vector<8xf32>
// CHECK:       %[[LANE:.*]] = vector.extract %[[NEGATED]][0]
// CHECK:       memref.store %[[LANE]], %{{.*}}[%c0, %c0]
// CHECK:       %[[LAST:.*]] = vector.extract %[[NEGATED]][7]
// CHECK:       memref.store %[[LAST]], %{{.*}}[%c0, %c7]
func.func @apart(%x: memref<1x16xf32>, %out: memref<1x8xf32, strided<[16, 2]>>) {
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c * 2 + 1)>, affine_map<(r, c) -> (r, c)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<1x16xf32>) outs(%out : memref<1x8xf32, strided<[16, 2]>>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Not where what is there is read as well.

// CHECK-LABEL: func @added
// CHECK-NOT:   vector.
// CHECK:       return
func.func @added(%x: memref<8xf32>, %out: memref<8xf32, strided<[2]>>) {
  linalg.generic {indexing_maps = [affine_map<(c) -> (c)>, affine_map<(c) -> (c)>], iterator_types = ["parallel"]}
      ins(%x : memref<8xf32>) outs(%out : memref<8xf32, strided<[2]>>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  }
  return
}
