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
    Every structured op on buffers becomes loops over vectors of one register
    width: along the innermost contiguous axis that all operands agree on,
    accumulators of reductions held in registers over a block of rows, exp2 as a
    polynomial.

    Numerics: reductions of f32 sums along the vector axis are reassociated;
    everything else is as the scalar op computes it.
  }];
  let options = [
    Option<"vectorWidth", "vector-width", "int64_t", /*default=*/"8",
           "Elements of f32 in a vector register">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // KVQ_CONVERSION_PASSES_TD
