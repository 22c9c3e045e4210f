//===- KVQValueOps.td - Ops on tensors of tokens and codes -*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQVALUEOPS_TD
#define KVQ_IR_KVQVALUEOPS_TD

include "kvq/IR/KVQOpBase.td"

class KVQ_ValueOp<string mnemonic, list<Trait> traits = []>
    : KVQ_Op<mnemonic, !listconcat(traits, [
        Pure, DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<TilingInterface, [
          "getIterationDomain", "getLoopIteratorTypes",
          "getTiledImplementation", "getResultTilePosition"]>,
        DeclareOpInterfaceMethods<AggregatedOpInterface,
                                  ["decomposeOperation"]>])> {
  let arguments = (ins KVQ_FormatInterface:$format,
                       Variadic<AnyRankedTensor>:$inputs,
                       Variadic<AnyRankedTensor>:$inits);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $format `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $inits `:` type($inits) `)` attr-dict
    `->` type($results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitsMutable();
    }
  }];
}

def KVQ_QuantizeOp : KVQ_ValueOp<"quantize", [AttrSizedOperandSegments]> {
  let summary = "float values to codes, scales and zeros";
  let description = [{
    Input `x: ... x tokens x head_dim` of f16, bf16 or f32. Outputs: codes of the
    same shape (i8, one code a byte), scales
    `... x tokens/n x head_dim/g`, and zeros of that shape if the format has
    them, for groups of n tokens and g channels.

    With a static range scales and zeros are inputs, behind `x`, of the shape
    `... x 1 x head_dim/g`, and the codes are the only output. Outer scales,
    `... x 1 x 1`, are the last input. A leading extent of such a given input is
    that of `x` or 1, which serves all.

    Infinite inputs count as the largest finite value of the input type. The
    codes are bit for bit those of docs/Semantics.md on every target.

    The tiling domain is the leading axes and the groups of tokens: a tile of k
    steps on the last axis holds k*n tokens and k rows of metadata. Channels
    stay whole.

    Errors: tokens or head_dim that the group does not divide, shapes that do
    not follow from the input, given inputs that are missing or not asked for, an
    exact format, and one with a rotation or a mean: these act before.

    ```mlir
    %c, %s = kvq.quantize #kvq.format<codes = i4, group = [1, 32], scale = f16>
        ins(%x : tensor<2x64x128xf16>)
        outs(%c0, %s0 : tensor<2x64x128xi8>, tensor<2x64x4xf16>)
        -> tensor<2x64x128xi8>, tensor<2x64x4xf16>
    ```
  }];
}

def KVQ_CountSaturatedOp : KVQ_Op<"count_saturated", [
    Pure, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<AggregatedOpInterface,
                              ["decomposeOperation"]>]> {
  let summary = "counts the elements that their codes cannot hold";
  let description = [{
    Inputs are what `kvq.quantize` took, `x: ... x tokens x head_dim`, and the
    scales, and zeros if the format has them, that it gave. The output, i64 of
    the leading axes, is added to: for each row of it, by the number of elements
    whose code would be beyond the codes if it were not clamped (rule R24 of
    docs/Semantics.md); with a static range also by the number of NaNs. What is
    given comes last, as `kvq.quantize` takes it.

    Errors: those of `kvq.quantize`; an output of another shape or type; a rule
    under which codes are not computed with what is stored.

    ```mlir
    %n = kvq.count_saturated #kvq.format<codes = i4, group = [1, 32], scale = f16, range = clip<0.9>>
        ins(%x, %s : tensor<2x64x128xf16>, tensor<2x64x4xf16>)
        outs(%n0 : tensor<2xi64>) -> tensor<2xi64>
    ```
  }];
  let arguments = (ins KVQ_FormatInterface:$format,
                       Variadic<AnyRankedTensor>:$inputs,
                       RankedTensorOf<[I64]>:$init);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = [{
    $format `ins` `(` $inputs `:` type($inputs) `)`
    `outs` `(` $init `:` type($init) `)` attr-dict `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitMutable();
    }
  }];
}

def KVQ_DequantizeOp : KVQ_ValueOp<"dequantize", [AttrSizedOperandSegments]> {
  let summary = "codes, scales and zeros to float values";
  let description = [{
    The inverse of `kvq.quantize`, in f32: value = number * scale, where number
    is what the code stands for, plus a real minimum; with a zero point
    value = (number - point) * scale. For an output of another type it is
    rounded once more, finite values to finite ones. It is tiled as
    `kvq.quantize` is.

    Inputs are the outputs of `kvq.quantize`: codes `... x tokens x head_dim`
    (i8), scales, and zeros if the format has them; the output has the shape of
    the codes. A group may be only partly there: with n tokens in a group, `t`
    tokens read ceil(t/n) rows of metadata, `... x ceil(tokens/n) x head_dim/g`.
    What is given comes last, as `kvq.quantize` takes it.

    Errors: head_dim that the group does not divide, scales or zeros that are
    missing or of another shape or type, an exact format, one with a rotation or a
    mean.

    A function that is to dequantize more than a tile says so by the unit
    attribute `kvq.unfused`; otherwise `kvq-verify-fused` reports it.

    ```mlir
    %y = kvq.dequantize #kvq.format<codes = i4, group = [1, 32], scale = f16>
        ins(%c, %s : tensor<64x128xi8>, tensor<64x4xf16>)
        outs(%y0 : tensor<64x128xf32>) -> tensor<64x128xf32>
    ```
  }];
}

def KVQ_RotateOp : KVQ_Op<"rotate", [
    Pure, DestinationStyleOpInterface,
    DeclareOpInterfaceMethods<AggregatedOpInterface,
                              ["decomposeOperation"]>]> {
  let summary = "a Hadamard rotation of the channels, or its inverse";
  let description = [{
    Rotates each n consecutive channels of f32 rows `... x head_dim`: times the
    `signs: 1 x head_dim` (1 or -1), then butterflies of stride 1, 2, 4 ... n/2,
    then times 1/sqrt(n), in f32 and in this order, bit for bit rule R27 of
    docs/Semantics.md. `inverse` takes it back: butterflies, 1/sqrt(n), signs.

    Rotated queries have the products with rotated keys that the plain ones have
    with plain keys, and what is summed of rotated values is rotated back.

    Errors: other than a power of two of channels, or one that does not divide
    head_dim; signs, an output or a result of another type.

    ```mlir
    %y = kvq.rotate hadamard<64> ins(%x, %s : tensor<4x128xf32>, tensor<1x128xi8>)
        outs(%y0 : tensor<4x128xf32>) -> tensor<4x128xf32>
    %z = kvq.rotate hadamard<64> inverse ins(%y, %s : tensor<4x128xf32>, tensor<1x128xi8>)
        outs(%z0 : tensor<4x128xf32>) -> tensor<4x128xf32>
    ```
  }];
  let arguments = (ins
    RankedTensorOf<[F32]>:$input,
    RankedTensorOf<[I8]>:$signs,
    RankedTensorOf<[F32]>:$init,
    I64Attr:$size,
    UnitAttr:$inverse);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    `hadamard` `<` $size `>` (`inverse` $inverse^)?
    `ins` `(` $input `,` $signs `:` type($input) `,` type($signs) `)`
    `outs` `(` $init `:` type($init) `)` attr-dict `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitMutable();
    }
  }];
}

def KVQ_PackOp : KVQ_ValueOp<"pack", [AttrSizedOperandSegments]> {
  let summary = "codes, one a byte, and metadata to packed bytes";
  let description = [{
    What a cache stores in packed components, as the format's layout says (see
    `#kvq.layout`), from `... x tokens x head_dim` codes, i8 tensors of rank 2 or
    more: by default `... x tokens x head_dim * bits / 8` bytes of planar codes.
    What is above the lowest bits of a code is ignored.

    With a layout that has metadata in records, scales and zeros in these follow
    the codes, of the shapes that `kvq.quantize` gives them, and the outputs are
    the packed components that there are: `codes`, with `... x tokens/t` rows for
    blocks of t tokens, then `records`, with `... x tokens/n` rows for groups of n
    tokens. An exact format with a record has elements in place of codes.

    The tiling domain is all axes but the last, with groups of tokens as steps
    where there are records, else blocks.

    Errors: head_dim whose codes do not fill whole bytes, shapes that do not
    follow from the codes, tokens that are no whole rows of codes, an exact format
    without a record.

    ```mlir
    %p = kvq.pack #kvq.format<codes = i4, group = [1, 32], scale = f16>
        ins(%c : tensor<64x128xi8>) outs(%p0 : tensor<64x64xi8>) -> tensor<64x64xi8>
    #q4 = #kvq.format<codes = i4, group = [1, 32], scale = f16,
                      layout = #kvq.layout<record = [scale, codes]>>
    %r = kvq.pack #q4 ins(%c, %s : tensor<64x128xi8>, tensor<64x4xf16>)
        outs(%r0 : tensor<64x72xi8>) -> tensor<64x72xi8>
    ```
  }];
}

def KVQ_UnpackOp : KVQ_ValueOp<"unpack", [AttrSizedOperandSegments]> {
  let summary = "packed bytes to codes, one a byte, and metadata";
  let description = [{
    The inverse of `kvq.pack`: signed codes are sign-extended to i8, unsigned
    ones zero-extended, and metadata in records comes as it was stored. It is
    tiled as `kvq.pack` is, and its errors are those of `kvq.pack`; head_dim is
    the last extent of the codes.

    ```mlir
    %c = kvq.unpack #kvq.format<codes = i4, group = [1, 32], scale = f16>
        ins(%p : tensor<64x64xi8>) outs(%c0 : tensor<64x128xi8>) -> tensor<64x128xi8>
    %d:2 = kvq.unpack #q4 ins(%r : tensor<64x72xi8>)
        outs(%c0, %s0 : tensor<64x128xi8>, tensor<64x4xf16>)
        -> tensor<64x128xi8>, tensor<64x4xf16>
    ```
  }];
}

#endif // KVQ_IR_KVQVALUEOPS_TD
