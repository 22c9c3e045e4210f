//===- Passes.td - Conversions out of the kvq dialect ------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_CONVERSION_PASSES_TD
#define KVQ_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKVQToVectorPass : Pass<"convert-kvq-to-vector"> {
  let summary = "Lowers the structured ops of kvq kernels to loops over "
                "vectors";
  let description = [{
    Every structured op on buffers (`linalg` ops, `memref.copy`) becomes loops
    over vectors of one register:

    - Lanes lie along a parallel axis that is contiguous in the outputs and in
      all inputs that have it, else along such a reduced axis; without one the
      loops are scalar. Inputs that do not have the axis are broadcast. Static
      remainders use narrower vectors, dynamic ones scalar loops.
    - A block of parallel iterations is written out at once, so that it shares
      loads and conversions. Accumulators of reductions stay in registers.
    - Where lanes are reduced, the accumulators of a block are reduced together
      by shuffles; results that are neighbours in memory are stored together.
    - `math.exp2` of f32 becomes a polynomial: relative error below 1e-7,
      results below 2^-126 are 0, the same bits in vectors and scalars.

    Ops that vectors cannot express (several iterations that write one element,
    side effects in the body) become scalar loops in the order of iterations.

    Of test/Conversion/KVQToVector/structure.mlir, abridged:

    ```mlir
    linalg.generic {indexing_maps = [affine_map<(r, c, t) -> (r, t)>,
                                     affine_map<(r, c, t) -> (t, c)>,
                                     affine_map<(r, c, t) -> (r, c)>],
                    iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%p, %v : memref<4x?xf32>, memref<?x32xi8>)
        outs(%out : memref<4x32xf32>) { … }
    ```
    becomes, of 4 rows x 2 vectors the first of each,
    ```mlir
    scf.for %c = %c0 to %c32 step %c16 {
      %o = vector.load %out[%c0, %c] : memref<4x32xf32>, vector<8xf32>
      %sum:8 = scf.for %t = %c0 to %n step %c1 iter_args(%acc = %o, …) {
        %0 = memref.load %p[%c0, %t] : memref<4x?xf32>
        %1 = vector.load %v[%t, %c] : memref<?x32xi8>, vector<8xi8>
        %2 = arith.sitofp %1 : vector<8xi8> to vector<8xf32>
        %3 = vector.broadcast %0 : f32 to vector<8xf32>
        %4 = arith.mulf %3, %2 fastmath<contract> : vector<8xf32>
        %5 = arith.addf %acc, %4 fastmath<contract> : vector<8xf32>
        …
    ```

    Numerics: sums and products over lanes are reassociated; other reductions
    keep their order, maxima and minima are exact, and flags of the body's ops
    are kept. exp2 as above.
  }];
  let options = [
    Option<"vectorWidth", "vector-width", "int64_t", /*default=*/"8",
           "Elements of f32 in a vector register, a power of two">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // KVQ_CONVERSION_PASSES_TD
