//===- KVQInterfaces.td - What a format must answer --------*- tablegen -*-===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVQ_IR_KVQINTERFACES_TD
#define KVQ_IR_KVQINTERFACES_TD

include "mlir/IR/OpBase.td"

def KVQ_FormatInterface : AttrInterface<"FormatInterface"> {
  let cppNamespace = "::mlir::kvq";
  let description = [{
    How the values of a cache become codes and metadata, and back. Every op,
    pass and conversion asks this interface; none asks for a format's name. A
    new format is a new implementation (or new fields of `#kvq.format`), and
    nothing else changes.

    The `build…` methods emit scalar `arith` ops. They are used in the bodies of
    structured ops, so the same arithmetic serves every target. What they emit
    follows docs/Semantics.md bit for bit: no reciprocal, no contraction.
  }];
  let methods = [
    InterfaceMethod<"True when elements are kept as they are: no codes, no "
                    "metadata, nothing to compute.",
      "bool", "isExact">,
    InterfaceMethod<"Bits of one code; 0 when exact.",
      "unsigned", "getCodeBits">,
    InterfaceMethod<"True when codes are two's complement integers, so that "
                    "unpacking extends their sign.",
      "bool", "hasSignedCodes">,
    InterfaceMethod<"True when a code stands for its integer, signed or not, "
                    "before scale and zero apply.",
      "bool", "hasIntegerCodes">,
    InterfaceMethod<"True when a code is a float that tensor cores multiply as it "
                    "is: f8E4M3FN or f8E5M2.",
      "bool", "hasFP8Codes">,
    InterfaceMethod<"Tokens that are quantized together; 1 when exact, and where "
                    "the range is static.",
      "int64_t", "getGroupTokens">,
    InterfaceMethod<"True when scales and zeros are given, one row of them for "
                    "all tokens of a head.",
      "bool", "hasStaticRange">,
    InterfaceMethod<"Channels that share one scale, for rows of `headDim` "
                    "channels.",
      "int64_t", "getGroupChannels", (ins "int64_t":$headDim)>,
    InterfaceMethod<"KV heads that share one scale, of `kvHeads`; 1 when exact. "
                    "With `kvHeads` 0, not known, 0 stands for all.",
      "int64_t", "getGroupHeads", (ins "int64_t":$kvHeads)>,
    InterfaceMethod<"Stored type of a scale; null when exact.",
      "::mlir::Type", "getScaleType">,
    InterfaceMethod<"Type of the given scale that stored ones are multiplied by; "
                    "null where there is none.",
      "::mlir::Type", "getOuterScaleType">,
    InterfaceMethod<"Stored type of a zero; null when there is none. Signless "
                    "where it is an integer.",
      "::mlir::Type", "getZeroType">,
    InterfaceMethod<"How the codes and metadata of rows of `headDim` channels "
                    "lie in bytes. `elementType` is that of exact elements, and "
                    "may be null where there are codes.",
      "::mlir::kvq::RowLayout", "getRowLayout",
      (ins "int64_t":$headDim, "::mlir::Type":$elementType)>,
    InterfaceMethod<"True where how rows lie in bytes is still to be assigned; "
                    "until then it counts as planar.",
      "bool", "hasOpenLayout">,
    InterfaceMethod<"The format with `layout`, a `#kvq.layout`, in the place of an "
                    "open one; null, "
                    "with an error, where it does not fit.",
      "::mlir::kvq::FormatInterface", "assignLayout",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "::mlir::Attribute":$layout)>,
    InterfaceMethod<"Type of the given mean of each channel that is subtracted "
                    "before all else; null where there is none.",
      "::mlir::Type", "getCenterType">,
    InterfaceMethod<"Channels that a Hadamard rotation mixes before "
                    "quantization; 0 where there is none. Of a resolved format.",
      "int64_t", "getRotation">,
    InterfaceMethod<"True when a mean or a rotation acts before quantization.",
      "bool", "isPrepared", (ins), "",
      "return $_attr.getCenterType() || $_attr.getRotation() != 0;">,
    InterfaceMethod<"True for keys that are stored before RoPE, and turned as "
                    "attention reads them.",
      "bool", "isBeforeRope">,
    InterfaceMethod<"The format, which has no mean and no rotation, for keys that "
                    "are stored before RoPE.",
      "::mlir::kvq::FormatInterface", "getBeforeRope">,
    InterfaceMethod<"The format of what is quantized: without the mean and the "
                    "rotation, which act before, and RoPE, which acts after.",
      "::mlir::kvq::FormatInterface", "getCore">,
    InterfaceMethod<[{
        The least and the largest value that a given component of this format may
        hold. Both are finite; NaN is never allowed.
      }],
      "std::pair<double, double>", "getGivenBounds",
      (ins "::mlir::kvq::ComponentKind":$kind)>,
    InterfaceMethod<[{
        Checks that rows of `headDim` channels can be stored: groups divide
        them and packed codes fill whole bytes. Reports expected and found.
      }],
      "::llvm::LogicalResult", "verifyHeadDim",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "int64_t":$headDim)>,
    InterfaceMethod<"Checks that the heads of a group divide `kvHeads`.",
      "::llvm::LogicalResult", "verifyHeads",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "int64_t":$kvHeads)>,
    InterfaceMethod<[{
        The format for rows of `headDim` channels: `*` as a number. The
        `build...` methods are those of such a format, since what a code stands
        for may depend on how many elements share its scale.
      }],
      "::mlir::kvq::FormatInterface", "resolve", (ins "int64_t":$headDim)>,
    InterfaceMethod<"As `resolve`, for `*` heads of `kvHeads`.",
      "::mlir::kvq::FormatInterface", "resolveHeads",
      (ins "int64_t":$kvHeads)>,
    InterfaceMethod<[{
        What has to be known of a group's elements to give its scale and zero.
      }],
      "::llvm::SmallVector<::mlir::kvq::RangeStatistic>",
      "getRangeStatistics">,
    InterfaceMethod<[{
        How many ranges a group is quantized with, to keep the one that gives
        the least squared error; 1 where there is nothing to choose.
      }],
      "int64_t", "getRangeCandidates">,
    InterfaceMethod<[{
        Emits the scale and zero of a group from its `statistics`, f32 values in
        the order of `getRangeStatistics`. `candidate`, an f32, is the number of
        the range, from 0 on; null where there is one. `outer` is the outer
        scale, null where there is none.
      }],
      "::mlir::kvq::GroupMetadata", "buildMetadata",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::ValueRange":$statistics, "::mlir::Value":$candidate,
           "::mlir::Value":$outer)>,
    InterfaceMethod<"Emits the f32 scale of a stored one and an outer one (null "
                    "where there is none).",
      "::mlir::Value", "buildScaleValue",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$scale, "::mlir::Value":$outer)>,
    InterfaceMethod<[{
        True when codes are computed with f32 metadata, `encodeScale` and
        `encodeZero` of `buildMetadata`, rather than with what is stored.
      }],
      "bool", "encodesUnrounded">,
    InterfaceMethod<[{
        True when the stored scale is fitted to the codes: it comes from
        `buildFittedScale` and not from `buildMetadata`.
      }],
      "bool", "fitsScale">,
    InterfaceMethod<[{
        Emits what `value` and its `code` add to the two sums over a group, each
        from its first element to its last, that a fitted scale follows from.
      }],
      "std::pair<::mlir::Value, ::mlir::Value>", "buildFitTerms",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$code, "::mlir::Value":$value)>,
    InterfaceMethod<"Emits the stored scale that follows from the sums of "
                    "`buildFitTerms`.",
      "::mlir::Value", "buildFittedScale",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$first, "::mlir::Value":$second,
           "::mlir::Value":$outer)>,
    InterfaceMethod<"Emits the i8 code of the f32 `value` under the metadata "
                    "that codes are computed with, the scale as an f32; `zero` "
                    "is null when there is none.",
      "::mlir::Value", "buildEncode",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$value, "::mlir::Value":$scale,
           "::mlir::Value":$zero)>,
    InterfaceMethod<"Emits whether the code of the f32 `value` cannot hold it "
                    "(rule R24), an i1.",
      "::mlir::Value", "buildSaturates",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$value, "::mlir::Value":$scale,
           "::mlir::Value":$zero)>,
    InterfaceMethod<"Emits the f32 number that an i8 code stands for before "
                    "scale and zero apply.",
      "::mlir::Value", "buildCodeValue",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$code)>,
    InterfaceMethod<"Emits the f32 value of an i8 code under the f32 `scale` and "
                    "a stored `zero`; each operation rounds, never fused.",
      "::mlir::Value", "buildDecode",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$code, "::mlir::Value":$scale,
           "::mlir::Value":$zero)>,
    InterfaceMethod<[{
        True when the offset of a group follows from its zero and its scale;
        false when the zero alone gives it.
      }],
      "bool", "offsetNeedsScale">,
    InterfaceMethod<[{
        Emits the f32 offset of a group that has a `zero`: the value of a code
        is its code value times the scale, plus the offset. `scale`, an f32, may
        be null where the offset does not need it.
      }],
      "::mlir::Value", "buildOffset",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc,
           "::mlir::Value":$scale, "::mlir::Value":$zero)>
  ];
}

#endif // KVQ_IR_KVQINTERFACES_TD
