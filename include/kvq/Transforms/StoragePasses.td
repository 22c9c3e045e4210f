//===- StoragePasses.td - Passes to tensors and buffers ----*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_STORAGEPASSES_TD
#define KVQ_TRANSFORMS_STORAGEPASSES_TD

include "mlir/Pass/PassBase.td"

def SplitSegmentsPass : Pass<"kvq-split-segments", "::mlir::ModuleOp"> {
  let summary = "Makes ops on caches with segments ops on the segments";
  let description = [{
    `kvq.append`, `kvq.reorder` and `kvq.shift` of a cache whose format is
    `#kvq.segments` become one op for each segment, each between
    `kvq.extract_segment` and `kvq.insert_segment`; the tokens that are appended
    are sliced. Rows of all segments are moved once. Attention reads segments
    already (`kvq-decompose-attention`), and `kvq-expand-caches` gives a segmented
    cache the components of its segments.

    Of test/Transforms/split-segments.mlir, abridged:

    ```mlir
    %r = kvq.append ins(%x : tensor<1x1x?x576xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
    ```
    becomes
    ```mlir
    %part0 = kvq.extract_segment %c[0] : !c -> !latent
    %x0 = tensor.extract_slice %x[0, 0, 0, 0] [1, 1, %t, 512] [1, 1, 1, 1] : … to tensor<1x1x?x512xf16>
    %0 = kvq.append ins(%x0 : tensor<1x1x?x512xf16>) lengths(%n : tensor<1xi64>) into(%part0 : !latent) -> !latent
    %c0 = kvq.insert_segment %0 into %c[0] : !latent into !c
    %part1 = kvq.extract_segment %c0[1] : !c -> !rope
    %x1 = tensor.extract_slice %x[0, 0, 0, 512] [1, 1, %t, 64] [1, 1, 1, 1] : … to tensor<1x1x?x64xf16>
    %1 = kvq.append ins(%x1 : tensor<1x1x?x64xf16>) lengths(%n : tensor<1xi64>) into(%part1 : !rope) -> !rope
    %r = kvq.insert_segment %1 into %c0[1] : !rope into !c
    ```

    Numerics: bit-exact.
  }];
  let dependentDialects = [
    "::mlir::kvq::KVQDialect", "::mlir::tensor::TensorDialect"];
}

def ExpandCachesPass : Pass<"kvq-expand-caches", "::mlir::ModuleOp"> {
  let summary = "Replaces caches by the tensors that they are stored in";
  let description = [{
    Every value of type `!kvq.cache` becomes one tensor per storage component,
    through functions, calls and structured control flow; `kvq.empty`,
    `kvq.append`, `kvq.reorder`, `kvq.shift`, `kvq.load_tile` and `kvq.load_given`
    become tensor ops on the components, and `kvq.truncate` arithmetic on the
    counts. Any other op that still carries a cache is an error naming it.
    Attributes of an argument or a result hold for each of its components.

    Of test/Transforms/expand-caches.mlir:

    ```mlir
    !c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = ui8, group = [1, 32], scale = f16, zero = min f16>>

    func.func @load_bytes(%c: !c, %b: index, %h: index, %lo: index, %hi: index)
        -> (tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>) {
      %0:3 = kvq.load_tile %c <codes> at [%b, %h] tokens [%lo to %hi] {tile = 64}
          : !c -> tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>
      return %0#0, %0#1, %0#2 : tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>
    }
    ```
    becomes
    ```mlir
    func.func @load_bytes(%codes: tensor<1x2x?x64xi8>, %scales: tensor<1x2x?x2xf16>,
                          %zeros: tensor<1x2x?x2xf16>, %b: index, %h: index,
                          %lo: index, %hi: index)
        -> (tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>) {
      %n = arith.subi %hi, %lo : index
      %c = tensor.extract_slice %codes[%b, %h, %lo, 0] [1, 1, %n, 64] [1, 1, 1, 1]
          : tensor<1x2x?x64xi8> to tensor<?x64xi8>
      %s = tensor.extract_slice %scales[%b, %h, %lo, 0] [1, 1, %n, 2] [1, 1, 1, 1]
          : tensor<1x2x?x2xf16> to tensor<?x2xf16>
      %z = tensor.extract_slice %zeros[%b, %h, %lo, 0] [1, 1, %n, 2] [1, 1, 1, 1]
          : tensor<1x2x?x2xf16> to tensor<?x2xf16>
      return %c, %s, %z : tensor<?x64xi8>, tensor<?x2xf16>, tensor<?x2xf16>
    }
    ```

    Codes of fewer than 8 bits go through `kvq.unpack` into scratch, tokens of the
    recent window are gathered into scratch; with `tile` it has a static size. So
    are tiles of a paged cache that may span pages (without `within_page`): what lies in each page is a
    slice of the pool, which is unpacked or copied into the tile. Where groups of
    several tokens keep a tile within a page, nothing is copied.

    An append is one `kvq.forall` over sequences and heads, whose items have three
    steps (test/Transforms/expand-caches-append.mlir): new tokens that belong to the
    exact first ones are stored there; token groups that leave the recent window
    are gathered, old tokens from the ring and new ones from the input,
    quantized, packed and stored; the rest goes into the ring. With a page table,
    the page of each group is read from it. Where tokens stand by themselves
    (neither a window nor a ring, no counts of saturated elements) each 16 of a
    sequence (64 of an exact cache) are an item, an append of their own. Tokens with slots are a loop over
    tokens and heads instead. An append reads and
    writes the same rows of a component, so that it bufferizes in place.
    Reordering and shifting are items for each sequence and head, truncating one for
    each sequence.

    Numerics: bit-exact.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::kvq::KVQDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def ForwardCopiesPass : Pass<"kvq-forward-copies"> {
  let summary = "Reads what is copied where it was";
  let description = [{
    A structured op that reads the result of a `linalg.copy` on tensors reads its
    input instead, so that nothing is copied where nothing else needs the result.
    Codes of 8 bits in records are read where they lie among scales.

    Of test/Transforms/forward-copies.mlir, abridged:

    ```mlir
    %codes = tensor.extract_slice %records[0, 0, 2] [%n, 4, 32] [1, 1, 1] : tensor<?x4x34xi8> to tensor<?x4x32xi8>
    %copy = linalg.copy ins(%codes : tensor<?x4x32xi8>) outs(%scratch : tensor<?x4x32xi8>) -> tensor<?x4x32xi8>
    %sums = linalg.generic … ins(%q, %copy : tensor<4x4x32xf32>, tensor<?x4x32xi8>) outs(…) { … }
    ```
    becomes
    ```mlir
    %codes = tensor.extract_slice %records[0, 0, 2] [%n, 4, 32] [1, 1, 1] : tensor<?x4x34xi8> to tensor<?x4x32xi8>
    %sums = linalg.generic … ins(%q, %codes : tensor<4x4x32xf32>, tensor<?x4x32xi8>) outs(…) { … }
    ```

    Numerics: changes nothing.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def DecomposeValuesPass : Pass<"kvq-decompose-values"> {
  let summary = "Decomposes quantize, dequantize, pack and unpack into "
                "structured ops";
  let description = [{
    The value-level ops become `linalg` ops on tensors whose bodies hold the
    format's own arithmetic (`AggregatedOpInterface`). After it no op of the kvq
    dialect is left that computes.

    - `kvq.quantize`: one reduction of each group to the statistics of its range,
      one op from these to scales and zeros, one from values to codes. Groups are
      an axis of their own (`tensor.expand_shape`). Sums over a group (ranges
      `rms`, `norm` and `search`) are trees: an op for each level, which adds
      neighbours. Ranges to choose from (`search`) are a loop that keeps the
      metadata of the best one. Where either is needed, loops over rows of groups
      come first, so that scratch is that of one row.
    - `kvq.dequantize`: one op; with several tokens in a group, one more for the
      tokens of a last group that is only partly there.
    - `kvq.pack`: one op, which reads each plane of a row as an input;
      `kvq.unpack`: one op a plane. With 8 bits both are a copy.

    Of test/Transforms/decompose-values.mlir, abridged: one of the four planes of
    2-bit codes.

    ```mlir
    %r = kvq.unpack #f ins(%b : tensor<?x16xi8>) outs(%c : tensor<?x64xi8>) -> tensor<?x64xi8>
    ```
    becomes
    ```mlir
    …
    %place = tensor.extract_slice %0[0, 16] [%n, 16] [1, 1] : tensor<?x64xi8> to tensor<?x16xi8>
    %plane = linalg.generic … ins(%b : tensor<?x16xi8>) outs(%place : tensor<?x16xi8>) {
    ^bb0(%in: i8, %out: i8):
      %4 = arith.shrui %in, %c2_i8 : i8
      %5 = arith.andi %4, %c3_i8 : i8
      %6 = arith.xori %5, %c2_i8 : i8
      %7 = arith.subi %6, %c2_i8 : i8
      linalg.yield %7 : i8
    } -> tensor<?x16xi8>
    %1 = tensor.insert_slice %plane into %0[0, 16] [%n, 16] [1, 1] : … into tensor<?x64xi8>
    …
    ```

    Numerics: bit-exact.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect"];
}

def DropReturnedArgumentsPass : Pass<"kvq-drop-returned-arguments",
                                     "::mlir::ModuleOp"> {
  let summary = "Drops results of functions that are buffers of their arguments";
  let description = [{
    An append writes its cache in place; once bufferized, its function returns
    the very buffers that it was given. This drops such results and lets callers
    go on with what they passed. Like the upstream
    `drop-equivalent-buffer-results`, but for public functions too: callers
    outside the module see the same signature whether or not a function is
    called inside it.

    Of test/Transforms/drop-returned-arguments.mlir, abridged:

    ```mlir
    func.func private @private(%a: memref<?xf32>) -> memref<?xf32> {
      return %a : memref<?xf32>
    }
    …
      %0 = call @private(%a) : (memref<?xf32>) -> memref<?xf32>
      %1 = memref.load %0[%i] : memref<?xf32>
    ```
    becomes
    ```mlir
    func.func private @private(%a: memref<?xf32>) {
      return
    }
    …
      call @private(%a) : (memref<?xf32>) -> ()
      %1 = memref.load %a[%i] : memref<?xf32>
    ```

    Numerics: changes nothing.
  }];
}

def HoistScratchPass : InterfacePass<"kvq-hoist-scratch",
                                     "FunctionOpInterface"> {
  let summary = "Moves stack buffers out of sequential control flow";
  let description = [{
    Each `memref.alloca` of static size moves to the start of the closest
    enclosing function, parallel loop body or `omp.parallel`. Inside a sequential
    loop it would take new stack in every iteration once the loop is lowered to
    branches. What a buffer holds when it is allocated is unspecified, so
    iterations can share it: the ones of a thread, where `omp.wsloop` deals them
    out. What lies under an op that is no structured control flow stays within it.

    Of test/Transforms/hoist-scratch.mlir, abridged:

    ```mlir
    func.func @sequential(%n: index, %p: i1) {
      …
      scf.for %i = %c0 to %n step %c1 {
        %a = memref.alloca() : memref<4xf32>
        scf.if %p {
          scf.for %j = %c0 to %n step %c1 {
            %b = memref.alloca() : memref<8xf32>
            "test.use"(%a, %b) : (memref<4xf32>, memref<8xf32>) -> ()
    ```
    becomes
    ```mlir
    func.func @sequential(%n: index, %p: i1) {
      %a = memref.alloca() : memref<4xf32>
      %b = memref.alloca() : memref<8xf32>
      …
      scf.for %i = %c0 to %n step %c1 {
        scf.if %p {
          scf.for %j = %c0 to %n step %c1 {
            "test.use"(%a, %b) : (memref<4xf32>, memref<8xf32>) -> ()
    ```

    Numerics: changes nothing.
  }];
}

#endif // KVQ_TRANSFORMS_STORAGEPASSES_TD
