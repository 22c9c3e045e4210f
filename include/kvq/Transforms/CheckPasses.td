//===- CheckPasses.td - Passes that check and report -------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_TRANSFORMS_CHECKPASSES_TD
#define KVQ_TRANSFORMS_CHECKPASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyFusedPass : Pass<"kvq-verify-fused"> {
  let summary = "Checks that nothing of a cache's size is rebuilt or copied";
  let description = [{
    Fails, naming the op, where the size of a computation shows that it is done
    to a cache as a whole. Meant for bufferized IR; it runs on tensors too, from
    `kvq-decompose-attention` on, to find what goes wrong where it does. It
    reports an op that

    1. makes float values from codes (`kvq.dequantize`, or a structured op with
       codes as an operand) for more than `max-tokens` tokens at once, or tile by
       tile into a buffer of more than `max-bytes`. Codes are 8-bit integers, and
       integers of up to 32 bits that structured ops make from these; not those
       of a buffer that nothing but rounded floats is written to, as a query's
       are. All their axes but the channels (the last axis of the buffer that
       they lie in) count as tokens. A value summed over tokens spans none, so
       that a contraction with values may read any number of codes.
    2. allocates more than `max-bytes`, or a size without a constant bound. Not
       so the workspaces of split attention and its output: buffers of floats
       whose dynamic extents derive from those of other floats (the query), never
       from lengths, index arguments or codes, and of which only parts within
       `max-bytes` are used, or so many times that as the first axis, splits
       that are merged, is long, at positions that induction variables of
       `scf.forall` give. Nor a buffer of static size that is never written: the
       recent window of a cache whose tokens are all quantized.
    3. copies more than `max-bytes`, or a size without a constant bound:
       bufferization copies a cache silently when an old value of it is read
       after an append.

    Functions with the unit attribute `kvq.unfused` are left out: those that
    quantize or dequantize whole tensors, or create caches, because they are
    asked to.

    Of test/Transforms/verify-fused-invalid.mlir: it changes no IR, and says

    ```mlir
    // error: 'kvq.dequantize' op makes float values from the codes of 128 tokens
    // at once, expected at most a tile of 64
    %x = kvq.dequantize #f ins(%codes, %scales : tensor<1x4x32x64xi8>, tensor<1x4x32x1xf32>)
        outs(%init : tensor<1x4x32x64xf32>) -> tensor<1x4x32x64xf32>
    ```

    Numerics: changes nothing.
  }];
  let options = [
    Option<"maxTokens", "max-tokens", "int64_t", /*default=*/"64",
           "Most tokens that a float value derived from codes may span">,
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"262144",
           "Most bytes of a buffer for a tile: 64 tokens of 1024 channels in f32">
  ];
}

def ReportFootprintPass : Pass<"kvq-report-footprint", "::mlir::ModuleOp"> {
  let summary = "Reports the bytes of caches, temporaries and kernel launches";
  let description = [{
    For each function, and each cache that it takes or makes (arguments,
    `kvq.empty`, `kvq.from_components`), an analysis remark of category
    `kvq-report-footprint` gives the bytes of its storage, split by component.
    They are the bytes that are allocated: both come from the one list of
    components that the type has. With `output` the same goes to the standard
    error stream, as a table or as JSON.

    ```mlir
    #k = #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16>
    func.func @keys(%k: !kvq.cache<1x8x?x128xf16, #k, recent = 32>) {
      return
    }
    ```
    With `output=table capacity=4096`:
    ```
    footprint of @keys
      %arg0: !kvq.cache<1x8x?x128xf16, #kvq.format<codes = ui4, group = [32, 1], scale = f16, zero = min f16, range = minmax>, recent = 32>
        bytes            4096 tokens             fixed         per token
        codes                2080768                 0               512
        scales                260096                 0                64
        zeros                 260096                 0                64
        recent                129024            129024                 0
        padding                    0                 0                 0
        total                2729984            129024               640
        alignment                  0
    ```

    - A capacity that the type leaves open comes from `capacity`. Without it only
      the other two columns are known.
    - `fixed` is what storage for no tokens takes: the exact windows.
    - `per token` is what each further token adds, averaged over a token group.
    - `page_tails`, of paged caches alone, are the rows of each sequence's last page
      that hold no token; no page counts as shared.
    - `padding` is what no code fills at the end of rows; `alignment`, beside the
      total, is what is left unused between components that lie one after the
      other in one block of memory.

    Once buffers are there (from one-shot bufferization to the conversion to LLVM)
    caches are arguments like any others, and the second part of the report
    begins to hold something: the sum of what a function allocates for itself.
    Temporaries of a call are allocated once, such as the workspace of token
    splits, which grows with the query tokens; those of a work item once for each
    iteration of a parallel loop or workgroup of a kernel that runs at a time.
    Each op that allocates counts once, whether or not their lifetimes overlap.
    Launches of kernels are counted too.

    ```
    footprint of @decode
      temporaries of a call: 66560 bytes x dim(%arg0, 2)
      temporaries of a work item: 46800 bytes
      kernel launches: 2
    ```

    Errors: a negative capacity, a cache of 2^63 bytes or more. A buffer whose
    size is not known (a layout, elements without a size) is left out with a
    warning.

    Numerics: changes nothing.
  }];
  let options = [
    Option<"output", "output", "::mlir::kvq::FootprintOutput",
           /*default=*/"::mlir::kvq::FootprintOutput::None",
           "What to print beside remarks",
           [{::llvm::cl::values(
             clEnumValN(::mlir::kvq::FootprintOutput::None, "none", "nothing"),
             clEnumValN(::mlir::kvq::FootprintOutput::Table, "table",
                        "a table for each function"),
             clEnumValN(::mlir::kvq::FootprintOutput::JSON, "json",
                        "a JSON array of the functions"))}]>,
    Option<"capacity", "capacity", "int64_t", /*default=*/"-1",
           "Tokens of caches whose type leaves their capacity open (-1: not "
           "known)">
  ];
}

#endif // KVQ_TRANSFORMS_CHECKPASSES_TD
