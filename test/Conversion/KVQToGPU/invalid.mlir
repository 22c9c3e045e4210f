// RUN: kvq-opt %s --convert-kvq-to-gpu -verify-diagnostics -split-input-file

func.func @atomic(%x: memref<4xf32>) {
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (4) {
    // expected-error @below {{expected structured ops, copies, loads and stores of buffers, scf.for, scf.if and ops without side effects in a kernel, found 'memref.atomic_rmw'}}
    %0 = memref.atomic_rmw addf %one, %x[%i] : (f32, memref<4xf32>) -> f32
  }
  return
}

// -----

func.func @nested(%x: memref<4x4xf32>) {
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (4) {
    // expected-error @below {{in a kernel, found 'scf.forall'}}
    scf.forall (%j) in (4) {
      memref.store %one, %x[%i, %j] : memref<4x4xf32>
    }
  }
  return
}

// -----

func.func @outside(%x: memref<4xf32>) {
  %one = arith.constant 1.0 : f32
  // expected-error @below {{expected accesses to buffers only inside of scf.forall, which become kernels, found 'linalg.fill' outside}}
  linalg.fill ins(%one : f32) outs(%x : memref<4xf32>)
  return
}

// -----

func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected buffers in place of shared outputs; bufferize before this pass}}
  %0 = scf.forall (%i) in (4) shared_outs(%out = %x) -> tensor<4xf32> {
    %one = tensor.extract_slice %out[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %one into %out[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @steps(%x: memref<4xf32>) {
  %one = arith.constant 1.0 : f32
  // expected-error @below {{expected a loop over work items from 0 with steps of 1}}
  scf.forall (%i) = (0) to (4) step (2) {
    memref.store %one, %x[%i] : memref<4xf32>
  }
  return
}

// -----

func.func @unbounded(%n: index) {
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (4) {
    // expected-error @below {{expected scratch with a constant bound on its size, found 'memref<?xf32>'}}
    %0 = memref.alloc(%n) : memref<?xf32>
    linalg.fill ins(%one : f32) outs(%0 : memref<?xf32>)
  }
  return
}

// -----

func.func @too_much() {
  %one = arith.constant 1.0 : f32
  // expected-error @below {{expected at most 232448 bytes of scratch in a kernel, found 262144; smaller tiles need less}}
  scf.forall (%i) in (4) {
    %0 = memref.alloca() : memref<256x256xf32>
    linalg.fill ins(%one : f32) outs(%0 : memref<256x256xf32>)
  }
  return
}

// -----

func.func @escapes(%x: memref<4xf32>, %c: i1) {
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (4) {
    %0 = memref.alloca() : memref<4xf32>
    // expected-error @below {{expected only views, structured ops, block attention, copies, loads and stores of scratch, found 'arith.select'}}
    %1 = arith.select %c, %0, %x : memref<4xf32>
    linalg.fill ins(%one : f32) outs(%1 : memref<4xf32>)
  }
  return
}

// -----

func.func @layout() {
  scf.forall (%i) in (4) {
    // expected-error @below {{expected scratch of contiguous layout, found 'memref<4x4xf32, strided<[8, 1]>, #gpu.address_space<workgroup>>'}}
    %0 = memref.alloca() : memref<4x4xf32, strided<[8, 1]>>
  }
  return
}

// -----

// Two threads would add to one element.
func.func @diagonal(%x: memref<4x4xf32>, %y: memref<4xf32>) {
  scf.forall (%i) in (4) {
    // expected-error @below {{expected outputs indexed by each of the 2 parallel axes, found affine_map<(d0, d1) -> (d0)>}}
    linalg.generic {
        indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%x : memref<4x4xf32>) outs(%y : memref<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

func.func @side_effect(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  scf.forall (%i) in (4) {
    linalg.generic {
        indexing_maps = [affine_map<(r) -> (r)>], iterator_types = ["parallel"]}
        outs(%y : memref<4xf32>) {
    ^bb0(%out: f32):
      // expected-error @below {{expected ops without side effects in the body of a structured op, found 'memref.load'}}
      %0 = memref.load %x[%c0] : memref<4xf32>
      linalg.yield %0 : f32
    }
  }
  return
}
