// RUN: kvq-opt %s --kvq-report-footprint=output=table -verify-diagnostics -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TABLE --match-full-lines --strict-whitespace
// RUN: kvq-opt %s --kvq-report-footprint=output=json -verify-diagnostics -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=JSON

// One workspace for each call, one for each of the work items. Products of
// extents are equal in whatever order they stand.
// TABLE:footprint of @loops
// TABLE-NEXT:  temporaries of a call: 96 bytes + 24 bytes x %arg1 x dim(%arg0, 0)
// TABLE-NEXT:  temporaries of a work item: 528 bytes
// JSON:      "function": "loops",
// JSON-NEXT: "caches": [],
// JSON-NEXT: "temporaries_of_a_call": [
// JSON-NEXT:   {
// JSON-NEXT:     "bytes": 96,
// JSON-NEXT:     "times": []
// JSON-NEXT:   },
// JSON-NEXT:   {
// JSON-NEXT:     "bytes": 24,
// JSON-NEXT:     "times": [
// JSON-NEXT:       "%arg1",
// JSON-NEXT:       "dim(%arg0, 0)"
// JSON-NEXT:     ]
// JSON-NEXT:   }
// JSON-NEXT: ],
// JSON-NEXT: "temporaries_of_a_work_item": [
// JSON-NEXT:   {
// JSON-NEXT:     "bytes": 528,
// JSON-NEXT:     "times": []
// JSON-NEXT:   }
// JSON-NEXT: ],
func.func @loops(%x: memref<?x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %x, %c0 : memref<?x4xf32>
  %0 = memref.alloc(%rows, %n) : memref<?x4x?xf32>
  %1 = memref.alloc(%n, %rows) : memref<?x?x4xi16>
  scf.for %i = %c0 to %n step %c1 {
    %2 = memref.alloca() : memref<8xindex>
  }
  %3 = memref.alloca() : memref<32xi1>
  scf.forall (%i) in (%n) {
    %4 = memref.alloca() : memref<64xf64>
    %5 = memref.alloc() : memref<8xf16>
  }
  return
}

// TABLE-NEXT:footprint of @launches
// TABLE-NEXT:  temporaries of a call: 16 bytes
// TABLE-NEXT:  temporaries of a work item: 320 bytes
// TABLE-NEXT:  kernel launches: 1
// TABLE-NEXT:  kernel launches in control flow: 1
// JSON: "function": "launches",
// JSON: "launches": 1,
// JSON-NEXT: "launches_in_control_flow": 1
func.func @launches(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = gpu.alloc() : memref<4xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1)
             workgroup(%w : memref<64xf32, #gpu.address_space<workgroup>>)
             private(%p : memref<16xf32, #gpu.address_space<private>>) {
    gpu.terminator
  }
  scf.for %i = %c0 to %n step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      gpu.terminator
    }
  }
  return
}

// TABLE-NEXT:footprint of @unknown
// TABLE-NEXT:  temporaries of a call: 4 bytes
func.func @unknown() {
  // expected-warning @below {{temporary not counted: the size of 'memref<4xf32, strided<[2]>>' is not known}}
  %0 = memref.alloc() : memref<4xf32, strided<[2]>>
  // expected-warning @below {{temporary not counted: the size of 'memref<4xmemref<4xf32>>' is not known}}
  %1 = memref.alloc() : memref<4xmemref<4xf32>>
  // expected-warning @below {{is not known}}
  %2 = memref.alloc() : memref<4611686018427387904xf32>
  %3 = memref.alloc() : memref<f32>
  return
}
