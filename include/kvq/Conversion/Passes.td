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
      remainders use narrower vectors, dynamic ones scalar loops. An output that is
      only written may hold its elements apart (one channel of each pair): its lanes
      are stored one by one.
    - A block of parallel iterations is written out at once, so that it shares
      loads and conversions. Accumulators of reductions stay in registers.
    - A copy of rows to columns reads a register of each of some rows and shuffles
      them.
    - Where lanes are reduced, the accumulators of a block are reduced together
      by shuffles; results that are neighbours in memory are stored together.
    - A `vector.extract` from a constant vector, at a position that an integer is
      cast to (a codebook's value), is done lane by lane; LLVM makes one shuffle
      of it where the target has one.
    - A sum of f32 terms, each a product of two integers, extended to i32 and
      converted, times a scale: where the scale stays the same along the innermost
      reduced axes, and types and extents say that i32 holds the sum, products are
      added as i32 first, each two neighbours together (one instruction on x86), and
      the sum is converted and scaled. Four neighbours of unsigned times signed bytes
      are added by the instruction that `byte-products` names.
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

    Numerics: sums and products whose op carries a fast-math flag are
    reassociated over lanes; those without one, and other reductions, keep their
    order, maxima and minima are exact, and flags of the body's ops are kept.
    exp2 as above, and sums of integers, which are exact; tanh and log2 are
    polynomials to within a few units in the last place.
  }];
  let options = [
    Option<"vectorWidth", "vector-width", "int64_t", /*default=*/"8",
           "Elements of f32 in a vector register, a power of two (a function's "
           "schedule goes before it)">,
    Option<"byteProducts", "byte-products", "::mlir::kvq::ByteProducts",
           /*default=*/"::mlir::kvq::ByteProducts::None",
           "The instruction for sums of four products of bytes",
           [{::llvm::cl::values(
             clEnumValN(::mlir::kvq::ByteProducts::None, "none",
                        "the target has none"),
             clEnumValN(::mlir::kvq::ByteProducts::AVXVNNI, "avxvnni",
                        "vpdpbusd of up to 256 bits"),
             clEnumValN(::mlir::kvq::ByteProducts::AVX512VNNI, "avx512vnni",
                        "vpdpbusd of up to 512 bits"),
             clEnumValN(::mlir::kvq::ByteProducts::Neon, "neon",
                        "none, and none for sums of two either"),
             clEnumValN(::mlir::kvq::ByteProducts::NeonDot, "dotprod",
                        "sdot of 128 bits"),
             clEnumValN(::mlir::kvq::ByteProducts::NeonMixedDot, "i8mm",
                        "usdot of 128 bits"))}]>
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"];
}

def ExpandFloatsPass : Pass<"kvq-expand-floats"> {
  let summary = "Writes out what a processor has no instruction for";
  let description = [{
    LLVM calls the library for each lane of what a target lacks. What the options
    name becomes arithmetic on numbers or vectors. An `arith.maximumf` with the flags
    `nnan` and `nsz` always becomes a comparison and a selection, one instruction on
    x86.

    - `half`: `arith.extf` from f16 to f32 and `arith.truncf` back, by shifts and one
      product or sum of f32.
    - `rounding`: `math.roundeven`, `math.ceil` and `math.floor` of f32, by adding
      and subtracting 2^23.
    - `fma`: a `math.fma` with the flag `afn`, those of polynomials, becomes a product
      and a sum. Others, where rules of codes ask for a single rounding, stay.

    Of test/Conversion/expand-floats.mlir, abridged:

    ```mlir
    %0 = arith.extf %x : vector<8xf16> to vector<8xf32>
    ```
    becomes
    ```mlir
    %bits = arith.extui %h : vector<8xi16> to vector<8xi32>     // %h: the bits of %x
    %m = arith.shli %low, %c13 : vector<8xi32>                  // %low: without the sign
    %scaled = arith.mulf %f, %cst : vector<8xf32>               // %f: %m as f32; 2^112
    …
    ```

    Numerics: bit-exact (but for the payload of NaN), `fma` rounds twice.
  }];
  let options = [
    Option<"half", "half", "bool", /*default=*/"false",
           "Conversions between f16 and f32">,
    Option<"rounding", "rounding", "bool", /*default=*/"false",
           "Rounding of f32 to integers">,
    Option<"fma", "fma", "bool", /*default=*/"false",
           "Fused multiply-adds of approximations">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def PrefetchTilesPass : Pass<"kvq-prefetch-tiles"> {
  let summary = "Prefetches the next tile of a cache";
  let description = [{
    In a loop over tiles of tokens, what a tile takes of a buffer that outlives the
    loop (a `memref.subview` along one axis that advances with the loop, whole
    rows, or one tile of a layout) is prefetched for the tile after it, line by line,
    where there is one: in front of the part, or, if it is read in loops, a few lines
    in each iteration of all but the innermost one, since many at a time would wait
    for each other; where these are few, also in the innermost one. What is 8 KiB or
    more comes to the second cache (`locality<2>`): lines on their way to the first
    one take its buffers, which are few.
    Where a loop over heads is in between, each of whose rows lie beside the others'
    (`token_major` caches, `heads_inside`), each head prefetches its share of the rows
    of all heads that come next. Of rows in pages the page of the next tile is looked
    up. Rows that groups of several tokens place otherwise are left to the processor.
    The function loses its schedule (`kvq.schedule`), which no later pass goes by.

    Of test/Conversion/KVQToVector/prefetch-tiles.mlir, abridged:

    ```mlir
    scf.for %t = %c0 to %n step %c32 {
      %rows = memref.subview %codes[0, %h, %t, 0] [1, 1, %count, 128] [1, 1, 1, 1] …
    ```
    becomes
    ```mlir
    scf.for %t = %c0 to %n step %c32 {
      …                                    // %bytes: 128 for each row of the next tile
      %bytes_of_head = memref.collapse_shape %codes [[0], [1], [2, 3]] …
      scf.for %b = %c0 to %bytes step %c64 {
        %i = arith.addi %next, %b : index  // %next: (%t + 32) * 128
        memref.prefetch %bytes_of_head[%c0, %h, %i], read, locality<3>, data …
      }
      %rows = memref.subview %codes[0, %h, %t, 0] [1, 1, %count, 128] [1, 1, 1, 1] …
    ```

    Numerics: changes nothing.
  }];
  let options = [
    Option<"distance", "distance", "int64_t", /*default=*/"1",
           "Tiles between the one that is read and the one that is prefetched, "
           "0 for no prefetches (a function's schedule goes before it)">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def ExpectBuffersPass : Pass<"kvq-expect-buffers"> {
  let summary = "Checks that loops over work items are on buffers";
  let description = [{
    An `scf.forall` with results of tensors is an error. MLIR's passes that make
    other loops of it, which come next, would leave its results without a value.

    Of test/Pipelines/vector-to-llvm-invalid.mlir:

    ```mlir
    %0 = scf.forall (%i) in (4) shared_outs(%out = %x) -> tensor<4xf32> {
    ```
    is the error
    ```
    'scf.forall' op expected buffers, got results of type 'tensor<4xf32>' (run kvq-bufferize-pipeline first)
    ```

    Numerics: changes nothing.
  }];
}

def LowerLoopsPass : Pass<"kvq-lower-loops"> {
  let summary = "Lowers structured control flow to branches";
  let description = [{
    Lowers the ops of `scf` to those of `cf`, as `convert-scf-to-cf` does, but for
    `scf.for`: its blocks test at their end whether there is another iteration, and
    once before the first one, so that what an iteration always does can be hoisted
    before it, and an iteration has one branch.

    Of test/Conversion/lower-loops.mlir:

    ```mlir
    %sum = scf.for %i = %c0 to %n step %c8 iter_args(%s = %zero) -> (vector<8xf32>) {
      %v = vector.load %m[%i] : memref<?xf32>, vector<8xf32>
      %t = arith.addf %s, %v : vector<8xf32>
      scf.yield %t : vector<8xf32>
    }
    ```
    becomes
    ```mlir
      %0 = arith.cmpi slt, %c0, %n : index
      cf.cond_br %0, ^bb1(%c0, %zero : index, vector<8xf32>), ^bb2(%zero : vector<8xf32>)
    ^bb1(%i: index, %s: vector<8xf32>):  // 2 preds: ^bb0, ^bb1
      %v = vector.load %m[%i] : memref<?xf32>, vector<8xf32>
      %t = arith.addf %s, %v : vector<8xf32>
      %next = arith.addi %i, %c8 overflow<nsw> : index
      %1 = arith.cmpi slt, %next, %n : index
      cf.cond_br %1, ^bb1(%next, %t : index, vector<8xf32>), ^bb2(%t : vector<8xf32>)
    ^bb2(%sum: vector<8xf32>):  // 2 preds: ^bb0, ^bb1
    ```

    Numerics: changes nothing.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect"];
}

def ConvertToLLVMPass : Pass<"kvq-convert-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Converts vectors, memrefs, branches and functions to the LLVM dialect";
  let description = [{
    Does at once what MLIR has a pass each for (`convert-vector-to-llvm`,
    `convert-arith-to-llvm`, `convert-math-to-llvm`, `convert-math-to-libm`,
    `finalize-memref-to-llvm`, `convert-func-to-llvm`, `convert-cf-to-llvm`,
    `convert-index-to-llvm`, `convert-ub-to-llvm`, `convert-openmp-to-llvm`): one walk
    over the ops, and no casts between types that are converted and others.

    Of test/Pipelines/vector-to-llvm.mlir:

    ```mlir
    %max = arith.maximumf %v, %zero : vector<8xf32>
    vector.store %max, %m[%at] : memref<?xf32>, vector<8xf32>
    ```
    becomes
    ```mlir
    %max = llvm.intr.maximum(%v, %zero) : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
    …                                    // %p: the address
    llvm.store %max, %p {alignment = 4 : i64} : vector<8xf32>, !llvm.ptr
    ```

    Numerics: changes nothing.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
    "::mlir::omp::OpenMPDialect", "::mlir::vector::VectorDialect"];
}

def DealOutWorkItemsPass : Pass<"kvq-deal-out-work-items"> {
  let summary = "Has threads of OpenMP take work items as they are done with others";
  let description = [{
    Gives every `omp.wsloop` without a schedule a dynamic one. Sequences of a batch
    are of different lengths, so that items take different times; and a thread that
    the system holds up does not hold up the others' share.

    Of test/Conversion/deal-out-work-items.mlir:

    ```mlir
    omp.wsloop {
    ```
    becomes
    ```mlir
    omp.wsloop schedule(dynamic) {
    ```

    Numerics: changes nothing.
  }];
  let dependentDialects = ["::mlir::omp::OpenMPDialect"];
}

def MapToTensorCoresPass : Pass<"kvq-map-to-tensor-cores"> {
  let summary = "Gives attention that tensor cores can do to whole blocks";
  let description = [{
    A `kvq.partial_attention` of `kvq-split-regions` becomes a `kvq.block_attention`
    where the tensor cores of the chip take it: integer codes of 2, 4 and 8 bits and
    floats of 8 with scales (and zeros) of one token, of keys of several, too, in planar rows of a multiple of 16 bytes, or exact f16 and bf16; no mask, no
    bias of scores, no RoPE. What is left is for `kvq-tile-attention` and gets a remark with
    the reason: threads compute it without tensor cores.

    Of test/Conversion/KVQToGPU/map-to-tensor-cores.mlir, abridged:

    ```mlir
    %r:3 = kvq.partial_attention ins(%q, %k, %v : tensor<4x128xf32>, !kc, !vc)
        at [%c0, %h] tokens [%lo to %hi] flushed [%c0, %c0] outs(%acc, %max, %sum : …)
        {key_region = #kvq.region<codes>, value_region = #kvq.region<codes>} -> …
    ```
    becomes
    ```mlir
    %r:3 = kvq.block_attention ins(%q : tensor<4x128xf32>) keys(%k : !kc) values(%v : !vc)
        at [%c0, %h] tokens [%lo to %hi] outs(%acc, %max, %sum : …)
        {key_region = #kvq.region<codes>, key_type = !kc, shared_bytes = 166912 : i64,
         value_region = #kvq.region<codes>, value_type = !vc} -> …
    ```

    Errors: a chip or a PTX version that is not known; attention with
    `query_codes = f8E4M3FN` over codes of such floats that is not for tensor cores, or
    for a chip or a PTX version without their products.

    Numerics: see `kvq.block_attention`.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_80\"",
           "NVIDIA's name of the chip">,
    Option<"ptx", "ptx", "unsigned", /*default=*/"0",
           "PTX version, 83 for 8.3 (0: the first with all that the chip can do)">
  ];
  let dependentDialects = ["::mlir::kvq::KVQDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ConvertKVQToGPUPass : Pass<"convert-kvq-to-gpu"> {
  let summary = "Converts parallel loops over work items to GPU kernels";
  let description = [{
    Every outermost `scf.forall` becomes a `gpu.launch` with one block for each
    work item, along x. Inside, loops over tiles stay as they are; each
    structured op on buffers is distributed over the threads of the block, its
    parallel iterations dealt out in turn and its reductions run by one thread
    each; a barrier follows every access to buffers. Scratch becomes workgroup
    memory, that of several uses together where it does not fit otherwise, dynamic
    memory beyond 48 KiB, and the memory of `kvq.block_attention` where that is over or
    not begun; buffers allocated outside of the loops, which one kernel hands to
    the next, are allocated in the GPU's memory.

    Of test/Conversion/KVQToGPU/kernels.mlir, abridged:

    ```mlir
    scf.forall (%b, %h) in (2, 3) {
      %row = memref.subview %x[%b, %h, 0, 0] [1, 1, 4, 64] … to memref<4x64xf32, …>
      %sum = memref.subview %sums[%b, %h, 0] [1, 1, 4] … to memref<4xf32, …>
      linalg.generic {… iterator_types = ["parallel", "reduction"]}
          ins(%row : memref<4x64xf32, …>) outs(%sum : memref<4xf32, …>) { … }
    }
    ```
    becomes
    ```mlir
    gpu.launch blocks(%block, …) in (… = %c6, …) threads(%thread, …) in (… = %c128, …) … {
      %item:2 = affine.delinearize_index %block into (2, 3) : index, index
      %row = memref.subview %x[%item#0, %item#1, 0, 0] [1, 1, 4, 64] …
      %sum = memref.subview %sums[%item#0, %item#1, 0] [1, 1, 4] …
      scf.for %i = %thread to %c4 step %c128 {
        %init = memref.load %sum[%i] : memref<4xf32, …>
        %total = scf.for %c = %c0 to %c64 step %c1 iter_args(%acc = %init) -> (f32) {
          %0 = memref.load %row[%i, %c] : memref<4x64xf32, …>
          %1 = arith.addf %acc, %0 fastmath<contract> : f32
          scf.yield %1 : f32
        }
        memref.store %total, %sum[%i] : memref<4xf32, …>
      }
      gpu.barrier
      gpu.terminator
    }
    ```

    A `kvq.block_attention` becomes the code of its warps: copies of codes to
    workgroup memory, a step ahead; products of matrices by `mma.sync` with tokens as rows
    and query rows as columns; codes unpacked in registers (lib/Conversion/KVQToGPU/TensorCore).
    Such kernels have blocks of 128 threads.

    With `copies=bulk` one lane copies whole steps of codes, by `cp.async.bulk` into what an
    mbarrier counts, where their rows lie together; a missed remark says where they do not.

    Rings of `kvq.block_attention` are as large as its `shared_bytes` allow beside the
    scratch that is in use meanwhile.

    Any other op with side effects inside of the loop is an error naming it, and
    so is an access to a buffer outside, a `block-size` other than 128 with a
    `kvq.block_attention`, more scratch than a block of the chip has memory, and `copies=bulk`
    for a chip without bulk copies or for none.

    Numerics: everything is as the scalar op computes it, reductions in order.
  }];
  let options = [
    Option<"blockSize", "block-size", "int64_t", /*default=*/"128",
           "Threads in a block">,
    Option<"chip", "chip", "std::string", /*default=*/"",
           "NVIDIA's name of the chip whose memory scratch is to fit (empty: of "
           "any)">,
    Option<"copies", "copies", "::mlir::kvq::CodeCopies",
           /*default=*/"::mlir::kvq::CodeCopies::Async",
           "How codes come to workgroup memory",
           [{::llvm::cl::values(
             clEnumValN(::mlir::kvq::CodeCopies::Async, "async",
                        "16 bytes a lane"),
             clEnumValN(::mlir::kvq::CodeCopies::Bulk, "bulk",
                        "rows that lie together by one lane, where the chip "
                        "has bulk copies"))}]>
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def MathToIntrinsicsPass : Pass<"kvq-math-to-intrinsics"> {
  let summary = "Converts f32 math in GPU kernels to LLVM's intrinsics";
  let description = [{
    What LLVM has an instruction for on a GPU (exp2, abs, floor, ceil, fma,
    roundeven of f32) becomes a call of its intrinsic; tanh and log2 become
    polynomials. Upstream's lowering makes each a call of the vendor's library,
    which then has to be there.

    Of test/Conversion/KVQToGPU/math-to-intrinsics.mlir:

    ```mlir
    %p = math.exp2 %x : f32
    ```
    becomes
    ```mlir
    %p = llvm.call_intrinsic "llvm.exp2"(%x) : (f32) -> f32
    ```

    Numerics: exp2 is the GPU's approximation (`ex2.approx.f32` in PTX: error
    below 2^-22, relative), tanh and log2 are within a few units in the last
    place; the others are exact.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def ExternalizeSharedMemoryPass : Pass<"kvq-externalize-shared-memory"> {
  let summary = "Leaves the size of dynamic shared memory to the launch";
  let description = [{
    The global that upstream's lowering makes of `gpu.dynamic_shared_memory` is
    internal, so that code generation gives it a size of its own: a byte. It becomes a
    declaration, whose size the launch sets. Other shared memory is aligned to 16
    bytes: LLVM's optimizations take that for granted of arrays without an alignment,
    but code generation writes that of an element.

    Of test/Conversion/KVQToGPU/externalize-shared-memory.mlir:

    ```mlir
    llvm.mlir.global internal @__dynamic_shmem__0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
    ```
    becomes
    ```mlir
    llvm.mlir.global external @__dynamic_shmem__0() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
    ```

    Numerics: changes nothing.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def AttachNVVMTargetPass : Pass<"kvq-attach-nvvm-target"> {
  let summary = "Sets the chip that GPU kernels are compiled for";
  let description = [{
    Gives every `gpu.module` an `#nvvm.target`. A chip or a PTX version that
    does not fit is an error that says what does: code generation would end the
    process.

    Of test/Conversion/KVQToGPU/attach-nvvm-target.mlir, with `chip=sm_90a ptx=83`:

    ```mlir
    gpu.module @kernels { … }
    ```
    becomes
    ```mlir
    gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx83">] { … }
    ```

    Numerics: changes nothing.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"\"sm_80\"",
           "NVIDIA's name of the chip">,
    Option<"ptx", "ptx", "unsigned", /*default=*/"0",
           "PTX version, 83 for 8.3 (0: the first that has all that the chip "
           "can do)">
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def SetMinBlocksPass : Pass<"kvq-set-min-blocks", "::mlir::ModuleOp"> {
  let summary = "Tells the assembler how many blocks share registers";
  let description = [{
    A block whose dynamic shared memory leaves room for no other on a multiprocessor need
    not share its registers. The assembler does not know of memory that a
    launch asks for, and may spill registers to make room for blocks that never come: so
    a kernel that is launched with such memory, and one of whose loops carries more than 64
    values, says that registers are to suffice for 1. Other kernels get by with fewer, and
    take fewer still where the assembler is not told that they may have more.

    Of test/Conversion/KVQToGPU/set-min-blocks.mlir, abridged:

    ```mlir
    gpu.launch_func @kernels::@k blocks in … threads in … dynamic_shared_memory_size %c98304_i32 …
    gpu.func @k(…) kernel attributes {known_block_size = array<i32: 128, 1, 1>}
    ```
    becomes, on sm_80
    ```mlir
    gpu.func @k(…) kernel attributes {known_block_size = array<i32: 128, 1, 1>, nvvm.minctasm = 1 : i32}
    ```

    Numerics: changes nothing.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def CheckCapabilitiesPass
    : Pass<"kvq-check-capabilities", "::mlir::ModuleOp"> {
  let summary = "Checks that GPU kernels use what their chip has";
  let description = [{
    Every op of a `gpu.module` that stands for an instruction which some chips or
    PTX versions lack (asynchronous and bulk copies, conversions of fp8 and fp4,
    matrix products of other types than f16 and integers, transposes of
    matrices; as an NVVM op, a call of an intrinsic or inline assembly) is looked
    up for each of the module's targets. Where one lacks it, the error names the
    op and says which chips, or which PTX version, have it: code generation would
    end the process. Shared memory beyond what a block of the chip can have is an
    error, too.

    Numerics: changes nothing.
  }];
}

def LaunchesToLLVMPass : Pass<"kvq-launches-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Converts launches of kernels to calls of the run-time library";
  let description = [{
    `gpu.launch_func`, `gpu.alloc` and `gpu.dealloc` become calls of kvq's
    run-time library (include/kvq/Runtime). Every function gets the call that it
    is part of, which knows the device, as its first argument. The modules of
    kernels are removed: they are loaded on the device.

    Of test/Conversion/KVQToGPU/launches-to-llvm.mlir, abridged:

    ```mlir
    func.func @f(%x: memref<?xf32>, %n: index) {
      %scratch = gpu.alloc (%n) : memref<?xf32>
      gpu.launch_func @kernels::@k blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%x : memref<?xf32>, %n : index)
    ```
    becomes
    ```mlir
    func.func @f(%call: !llvm.ptr, %x: memref<?xf32>, %n: index) {
      %memory = llvm.call @kvq_allocate(%call, %bytes) : (!llvm.ptr, i64) -> !llvm.ptr
      …                                          // stores the arguments, and their addresses
      %name = llvm.mlir.addressof @kvq_name_k : !llvm.ptr
      llvm.call @kvq_launch(%call, %name, %n, %one, %one, %threads, %one, %one,
                            %shared_bytes, %addresses, %count) : …
    ```

    Upstream's gpu-to-llvm makes a stream of its own for each launch and waits
    for it, or else needs tokens that make streams; here all is on the caller's.
    Tokens, clusters, memory that the host shares and other ops of the gpu
    dialect are errors.

    Numerics: changes nothing.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // KVQ_CONVERSION_PASSES_TD
