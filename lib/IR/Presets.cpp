//===- Presets.cpp - Formats of engines by name --------------------------===//
//
// Part of the kvq project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only place where an engine has a name. docs/Presets.md is printed from
// this table.
//
//===----------------------------------------------------------------------===//

#include "kvq/IR/Presets.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::kvq;

//===----------------------------------------------------------------------===//
// What several presets share
//===----------------------------------------------------------------------===//

#define GGML_SOURCE "ggml-org/ggml, src/ggml-quants.c, quantize_row_*_ref"
#define GGML_RULE "quotient = reciprocal, metadata = unrounded, scale = nearest"
#define GGML_NOTES                                                             \
  "The reference function; the SIMD functions of some processors differ in "   \
  "ties. An f16 d beyond 65504 saturates where ggml stores infinity."
#define GGML_MIN_NOTES GGML_NOTES " A minimum of -0 is stored as +0."

#define MX_SOURCE "OCP Microscaling Formats (MX) v1.0"
#define MX_RULE(EMAX)                                                          \
  "E = floor(log2 amax) - " EMAX                                               \
  " + 127; elements x / 2^(E - 127), to nearest "                              \
  "even, saturating"
#define MX_NOTES                                                               \
  "The specification prescribes no layout of elements; here they are in "      \
  "order, lowest bits first, and the scales are apart."

#define VLLM_SOURCE                                                            \
  "vllm-project/vllm, v1/attention/ops/triton_reshape_and_cache_flash.py"

#define LMDEPLOY_SOURCE                                                        \
  "InternLM/lmdeploy, pytorch/kernels/cuda/fill_kv_cache.py"
#define LMDEPLOY_NOTES                                                         \
  "Scale and zero point are in f16, the type of a model in f16. Groups of "    \
  "one "                                                                       \
  "value have codes 0, where the engine divides by zero."
#define TURBOMIND_SOURCE                                                       \
  "InternLM/lmdeploy, turbomind/kernels/attention (TurboMind)"

#define MLX_RULE                                                               \
  "s = max((max - min) / (2^b - 1), 1e-7), negated unless |min| > |max|; "     \
  "edge "                                                                      \
  "= the end of larger magnitude; q0 = round(edge / s); where q0 is not 0, s " \
  "= "                                                                         \
  "edge / q0 and bias = edge, else bias = 0; code = clamp(round((x - bias) / " \
  "s)), value code s + bias"
#define MLX_SOURCE "ml-explore/mlx, mlx/backend/cpu/quantized.cpp"
#define MLX_NOTES                                                              \
  "The CPU's ties, to even; Metal's and CUDA's go away from zero, and "        \
  "Metal's "                                                                   \
  "maximum is at least 0. Scales and biases are in f16, the type of a model "  \
  "in "                                                                        \
  "f16; group 64."
#define MLX_FORMAT(CODES)                                                      \
  "codes = " CODES ", group = [1, 64], scale = f16, zero = min f16, rule = "   \
  "#kvq.rule<metadata = unrounded, scale = nearest, least = 1.0e-7, fit = "    \
  "end>, layout = #kvq.layout<codes = stream>"

#define ONNX_FORMAT(CODES, CHANNELS, BOUNDS, LAYOUT)                           \
  "codes = " CODES ", group = [*, " CHANNELS                                   \
  "], scale = f32, range = static, rule = #kvq.rule<quotient = "               \
  "reciprocal" BOUNDS ">" LAYOUT
#define ONNX_NIBBLES ", layout = #kvq.layout<codes = stream, bias>"
#define ONNX_RULE(BOUNDS) "code = x (1/scale), ties to even, within " BOUNDS
#define ONNX_SOURCE "microsoft/onnxruntime, GroupQueryAttention"
#define ONNX_NOTES                                                             \
  "Scales are `given={\"scales\": ...}` of a cache, for each head or for "     \
  "all; "                                                                      \
  "above 0, where the engine also takes 0 for codes 0. Odd head dims, which "  \
  "it "                                                                        \
  "pads, are not taken with 4 bits."

#define OPENVINO_SOURCE                                                        \
  "openvinotoolkit/openvino, src/plugins/intel_cpu, attn_quant.cpp"
#define OPENVINO_RULE(N)                                                       \
  "scale = (max - min) / " N ", 1e-4 if that is 0; zp = -min / scale, not "    \
  "rounded; code = x (1/scale) + zp in one fused operation, ties to even"
#define OPENVINO_NOTES                                                         \
  "The AVX-512 path; the scalar path divides and takes ties away from zero. "  \
  "Groups of 32 channels; a minimum of -0 counts as +0."
#define OPENVINO_CHANNEL_NOTES                                                 \
  "The AVX-512 path; the scalar path divides and takes ties away from zero. "  \
  "One record is a block of 32 tokens of a head: the scales of all channels, " \
  "the zero points, then the rows of the tokens. The tokens of a block wait "  \
  "exact until it is full (`residual = 32`); what the engine keeps of a "      \
  "block "                                                                     \
  "before is not stated. A minimum of -0 counts as +0."
#define OPENVINO_CHANNEL_FORMAT(CODES, ORDER)                                  \
  "codes = " CODES ", group = [32, 1], scale = f32, zero = point f32, rule = " \
  "#kvq.rule<quotient = fused, span = elements, scale = nearest, constant = "  \
  "1.0e-4>, layout = #kvq.layout<codes = " ORDER                               \
  ", block = [32, *], row = [scale, zero, codes]>"
#define OPENVINO_FORMAT(CODES, ORDER)                                          \
  "codes = " CODES ", group = [1, 32], scale = f32, zero = point f32, rule = " \
  "#kvq.rule<quotient = fused, span = elements, scale = nearest, constant = "  \
  "1.0e-4>, layout = #kvq.layout<codes = " ORDER                               \
  ", record = [scale, zero, codes]>"

#define TURBOQUANT_SOURCE                                                      \
  "vllm-project/vllm, v1/attention/ops/triton_turboquant_store.py"
#define TURBOQUANT_FORMAT(CODES)                                               \
  "codes = " CODES ", group = [1, *], scale = f16, zero = min f16, rule = "    \
  "#kvq.rule<ties = up, metadata = unrounded, scale = nearest, least = "       \
  "1.0e-8>, layout = #kvq.layout<codes = stream, record = [codes, scale, "     \
  "zero]>"
#define TURBOQUANT_RULE(N)                                                     \
  "s = max((max - min) / " N ", 1e-8); code = trunc((x - min) / s + 0.5), "    \
  "value code s + min"
#define TURBOQUANT_SLOT                                                        \
  "A slot is the bytes of the keys, then those of the values; a cache holds "  \
  "one of them. "
#define TURBOQUANT_NOTES TURBOQUANT_SLOT "A minimum of -0 is stored as +0."
#define TURBOQUANT_KEYS(VALUES)                                                \
  "codes = #kvq.codebook<values = [" VALUES                                    \
  "]>, group = [1, *], scale = f16, range = norm, rotate = hadamard<*>, rule " \
  "= #kvq.rule<ties = up, metadata = unrounded, scale = nearest>, layout = "   \
  "#kvq.layout<codes = stream, record = [codes, scale]>"
#define TURBOQUANT_KEY_RULE                                                    \
  "y = H k / (|k| + 1e-8), H the Hadamard matrix over the root of D, without " \
  "signs; code = the number of middles between centroids that are not above "  \
  "y; |k| is stored; the centroids are those of Lloyd and Max for N(0, 1/D), " \
  "solved with sums of 200 trapezoids for each, over 10.5 deviations"
#define TURBOQUANT_KEY_NOTES                                                   \
  TURBOQUANT_SLOT "The engine's y is a matrix product in f32, whose order of " \
                  "summation its sources do not fix: codes are equal but "     \
                  "where y is within "                                         \
                  "rounding of a middle, and norms but where they are within " \
                  "rounding of a "                                             \
                  "tie in f16. A vector of zeros has codes 0 here, those "     \
                  "above the middle "                                          \
                  "there. Centroids are in units of the deviation. Where the " \
                  "engine reads "                                              \
                  "keys with norm correction (the names that end in _nc) it "  \
                  "also divides by "                                           \
                  "the length of the decoded vector, which no byte shows; "    \
                  "values here are "                                           \
                  "those without."

#define KIVI_SOURCE "jy-yuan/KIVI, quant/new_pack.py"
#define KIVI_FORMAT(BITS, GROUP, TILE)                                         \
  "codes = ui" BITS ", group = " GROUP                                         \
  ", scale = f16, zero = min f16, rule = #kvq.rule<scale = nearest, "          \
  "precision = f16>, layout = #kvq.layout<codes = stream" TILE ">"
#define KIVI_RULE(N)                                                           \
  "scale = (max - min) / " N ", code = (x - min) / scale, ties to even, "      \
  "value code scale + min; each operation rounds to f16"
#define KIVI_NOTES                                                             \
  "Groups of one value have codes 0, where the engine divides by zero; it "    \
  "stores infinity where a scale passes 65504."
#define KIVI_KEY_NOTES(TOKENS)                                                 \
  "For keys, in a cache with `residual = R`: R of them at once are grouped "   \
  "along tokens. A word of 32 bits is " TOKENS " tokens of a channel; a row "  \
  "holds the words of all channels, and rows follow each other along tokens, " \
  "where the engine's tensor, which grows by concatenation, has the words of " \
  "a channel side by side. " KIVI_NOTES
#define KIVI_VALUE_NOTES                                                       \
  "For values, in a cache with `recent = R`: they are quantized one token at " \
  "a time. " KIVI_NOTES

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr Preset kPresets[] = {
    {"ggml.q8_0",
     "codes = i8, group = [1, 32], scale = f16, rule = #kvq.rule<ties = "
     "away, " GGML_RULE ">, layout = #kvq.layout<record = [scale, codes]>",
     "d = amax / 127; code = round(x (1/d)), ties away from zero", GGML_SOURCE,
     GGML_NOTES},
    {"ggml.q4_0",
     "codes = i4, group = [1, 32], scale = f16, rule = #kvq.rule<ties = up, "
     "bounds = full, extremum = signed, " GGML_RULE
     ">, layout = #kvq.layout<bias, record = [scale, codes]>",
     "d = (first element of largest magnitude) / -8; code = min(15, trunc(x "
     "(1/d) + 8.5)), value (code - 8) d",
     GGML_SOURCE, GGML_NOTES},
    {"ggml.q4_1",
     "codes = ui4, group = [1, 32], scale = f16, zero = min f16, rule = "
     "#kvq.rule<ties = up, " GGML_RULE
     ">, layout = #kvq.layout<record = [scale, zero, codes]>",
     "d = (max - min) / 15, m = min; code = min(15, trunc((x - m) (1/d) + "
     "0.5)), value code d + m",
     GGML_SOURCE, GGML_MIN_NOTES},
    {"ggml.q5_0",
     "codes = i5, group = [1, 32], scale = f16, rule = #kvq.rule<ties = up, "
     "bounds = full, extremum = signed, " GGML_RULE
     ">, layout = #kvq.layout<high = stream, bias, record = [scale, high, "
     "codes]>",
     "d = (first element of largest magnitude) / -16; code = min(31, trunc(x "
     "(1/d) + 16.5)), value (code - 16) d",
     GGML_SOURCE, GGML_NOTES},
    {"ggml.q5_1",
     "codes = ui5, group = [1, 32], scale = f16, zero = min f16, rule = "
     "#kvq.rule<ties = up, " GGML_RULE
     ">, layout = #kvq.layout<high = stream, record = [scale, zero, high, "
     "codes]>",
     "d = (max - min) / 31, m = min; code = trunc((x - m) (1/d) + 0.5), value "
     "code d + m",
     GGML_SOURCE, GGML_MIN_NOTES},
    {"ggml.iq4_nl",
     "codes = #kvq.codebook<iq4_nl>, group = [1, 32], scale = f16, rule = "
     "#kvq.rule<ties = up, extremum = signed, fit = squares, " GGML_RULE
     ">, layout = #kvq.layout<record = [scale, codes]>",
     "code = nearest value to x (1/d0), ties to the higher index, d0 = (first "
     "element of largest magnitude) / -127; then d = sum(w v x) / sum(w v v), "
     "w = x x, v the code's value",
     GGML_SOURCE,
     GGML_NOTES " A block whose magnitudes are all below 1e-15 has d = 0 and "
                "codes by the same rule, where ggml leaves them unset."},
    {"ggml.mxfp4",
     "codes = f4E2M1FN, group = [1, 32], scale = f8E8M0FNU, rule = "
     "#kvq.rule<ties = lower, scale = exponent>, layout = #kvq.layout<record = "
     "[scale, codes]>",
     "e = floor(log2 amax) - 2 + 127; code = the nearest of 16 values, the "
     "first of equal ones, so ties go to the smaller magnitude and -0 never "
     "is written",
     "ggml-org/ggml, src/ggml-quants.c, quantize_row_mxfp4_ref",
     "The exponent is exact; ggml's log2f, of an f32 just below a power of "
     "two, may round up to it."},

    {"nvfp4",
     "codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32, rule = "
     "#kvq.rule<scale = nearest>, layout = #kvq.layout<codes = stream>",
     "sf = e4m3(amax / 6 / g), code = e2m1(x / (sf g)), both to nearest even, "
     "saturating, value code sf g; g is given, commonly (largest magnitude of "
     "the tensor) / (6 448)",
     "NVIDIA, block-scaled FP4 of Blackwell; vllm-project/vllm and "
     "flashinfer-ai/flashinfer",
     "g is `given={\"outer_scales\": ...}` of a cache. Codes and scales are "
     "apart; the order of the scales of several tokens is the engine's: linear "
     "here, as FlashInfer has those of keys."},

    {"mx.fp8_e4m3",
     "codes = f8E4M3FN, group = [1, 32], scale = f8E8M0FNU, rule = "
     "#kvq.rule<scale = exponent>",
     MX_RULE("8"), MX_SOURCE, MX_NOTES},
    {"mx.fp8_e5m2",
     "codes = f8E5M2, group = [1, 32], scale = f8E8M0FNU, rule = "
     "#kvq.rule<scale = exponent>",
     MX_RULE("15"), MX_SOURCE, MX_NOTES},
    {"mx.fp6_e2m3",
     "codes = f6E2M3FN, group = [1, 32], scale = f8E8M0FNU, rule = "
     "#kvq.rule<scale = exponent>, layout = #kvq.layout<codes = stream>",
     MX_RULE("2"), MX_SOURCE, MX_NOTES},
    {"mx.fp6_e3m2",
     "codes = f6E3M2FN, group = [1, 32], scale = f8E8M0FNU, rule = "
     "#kvq.rule<scale = exponent>, layout = #kvq.layout<codes = stream>",
     MX_RULE("4"), MX_SOURCE, MX_NOTES},
    {"mx.fp4",
     "codes = f4E2M1FN, group = [1, 32], scale = f8E8M0FNU, rule = "
     "#kvq.rule<scale = exponent>, layout = #kvq.layout<codes = stream>",
     MX_RULE("2"), MX_SOURCE, MX_NOTES},

    {"vllm.fp8_per_tensor",
     "codes = f8E4M3FN, group = [*, *], scale = f32, range = static",
     "code = e4m3(x / k_scale), to nearest even, saturating; used as code "
     "k_scale",
     "vllm-project/vllm, csrc cache kernels",
     "The scale is `given={\"scales\": ...}` of a cache, one for all heads or "
     "one for each."},
    {"vllm.int8_per_token_head",
     "codes = i8, group = [1, *], scale = f32, rule = #kvq.rule<ties = away, "
     "quotient = reciprocal, scale = nearest, least = 1.0e-6>, layout = "
     "#kvq.layout<record = [codes, scale]>",
     "s = max(amax / 127, 1e-6); code = round(x (1/s)), ties away from zero",
     VLLM_SOURCE,
     "The rule since pull request 45361; before it codes were truncated."},
    {"vllm.fp8_per_token_head",
     "codes = f8E4M3FN, group = [1, *], scale = f32, rule = #kvq.rule<quotient "
     "= reciprocal, scale = nearest, least = 1.0e-6>, layout = "
     "#kvq.layout<record = [codes, scale]>",
     "s = max(amax / 448, 1e-6); code = e4m3(x (1/s)), to nearest even, "
     "saturating",
     VLLM_SOURCE, ""},
    {"vllm.int4_per_token_head",
     "codes = ui4, group = [1, *], scale = f32, zero = point i8, rule = "
     "#kvq.rule<ties = away, span = elements, scale = nearest, least = "
     "1.0e-6>, layout = #kvq.layout<codes = stream, record = [codes, "
     "scale_zero]>",
     "s = max((max - min) / 15, 1e-6), zp = clamp(round(-min / s), 0, 15), "
     "code = clamp(round(x / s + zp), 0, 15), ties away from zero; zp is in "
     "the 4 lowest mantissa bits of s",
     VLLM_SOURCE,
     "Of rows that are rotated already: the engine multiplies them by signs "
     "and an unnormalized Hadamard matrix, as it does queries, and so do its "
     "users here."},

    {"vllm.mla_fp8_row",
     "[0:512] = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32, "
     "rule = #kvq.rule<scale = nearest, least = 1.17549435e-38>>, [512:576] = "
     "none, row = [codes.0, scale.0, values.1]",
     "s = max(amax / 448, 2^-126) for each 128 of the 512 channels of the "
     "latent, code = e4m3(x / s); the 64 channels of RoPE are kept",
     "vllm-project/vllm, csrc cache kernels, concat_and_cache_ds_mla",
     "Rows of 656 bytes, in a cache of bf16.", /*isSegments=*/true},
    {"vllm.mla_nvfp4_row",
     "[0:512] = #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = "
     "f8E4M3FN, rule = #kvq.rule<scale = nearest>, layout = #kvq.layout<codes "
     "= stream>>, [512:576] = #kvq.format<codes = f8E4M3FN, group = [*, *], "
     "scale = f32, range = static>, row = [codes.0, codes.1, scale.0<4>]",
     "as nvfp4 with g = 1 for the 512 channels of the latent; e4m3(x), to "
     "nearest even, saturating, for the 64 channels of RoPE; the scale of "
     "block b is the byte 320 + 8 (b mod 4) + floor(b / 4) of a row",
     "vllm-project/vllm and flashinfer-ai/flashinfer, nvfp4_ds_mla",
     "Rows of 352 bytes. The sources state the row, and that a value is its "
     "code times its scale, not how the engine rounds; the RoPE channels have "
     "the given scale `scales.1`, which is 1 in the engine's row.",
     /*isSegments=*/true},

    {"lmdeploy.int8",
     "codes = ui8, group = [1, *], scale = f16, zero = point f16, rule = "
     "#kvq.rule<ties = up, metadata = unrounded, span = elements, scale = "
     "nearest>, layout = #kvq.layout<record = [scale, zero]>",
     "s = (max - min) / 255, z = -min / s; code = trunc(x / s + z + 0.5), "
     "value "
     "(code - z) s",
     LMDEPLOY_SOURCE, LMDEPLOY_NOTES},
    {"lmdeploy.int4",
     "codes = ui4, group = [1, *], scale = f16, zero = point f16, rule = "
     "#kvq.rule<ties = up, metadata = unrounded, span = elements, scale = "
     "nearest>, layout = #kvq.layout<record = [scale, zero]>",
     "s = (max - min) / 15, z = -min / s; code = trunc(x / s + z + 0.5), value "
     "(code - z) s",
     LMDEPLOY_SOURCE, LMDEPLOY_NOTES},
    {"lmdeploy.turbomind_int8",
     "codes = ui8, group = [1, *], scale = f16, zero = min f16, rule = "
     "#kvq.rule<quotient = reciprocal, metadata = unrounded, scale = nearest>, "
     "layout = #kvq.layout<record = [scale, zero]>",
     "s = (max - min) / 255; code = (x - min) (1/s), ties to even, value code "
     "s + min",
     TURBOMIND_SOURCE, LMDEPLOY_NOTES},
    {"lmdeploy.turbomind_int4",
     "codes = ui4, group = [1, *], scale = f16, zero = min f16, rule = "
     "#kvq.rule<quotient = reciprocal, metadata = unrounded, scale = nearest>, "
     "layout = #kvq.layout<codes = stream<8, 2>, record = [scale, zero]>",
     "s = (max - min) / 15; code = (x - min) (1/s), ties to even, value code s "
     "+ min",
     TURBOMIND_SOURCE, LMDEPLOY_NOTES},

    {"onnxruntime.int8_per_tensor",
     ONNX_FORMAT("i8", "*", ", bounds = full", ""), ONNX_RULE("-128 ... 127"),
     ONNX_SOURCE, ONNX_NOTES},
    {"onnxruntime.int8_per_channel",
     ONNX_FORMAT("i8", "1", ", bounds = full", ""), ONNX_RULE("-128 ... 127"),
     ONNX_SOURCE, ONNX_NOTES},
    {"onnxruntime.int4_per_tensor",
     ONNX_FORMAT("i4", "*", ", bounds = full", ONNX_NIBBLES),
     ONNX_RULE("-8 ... 7"), ONNX_SOURCE, ONNX_NOTES},
    {"onnxruntime.int4_per_channel",
     ONNX_FORMAT("i4", "1", ", bounds = full", ONNX_NIBBLES),
     ONNX_RULE("-8 ... 7"), ONNX_SOURCE, ONNX_NOTES},
    {"onnxruntime.fp8_per_tensor", ONNX_FORMAT("f8E4M3FN", "*", "", ""),
     ONNX_RULE("+-448"), ONNX_SOURCE, ONNX_NOTES},
    {"onnxruntime.fp8_per_channel", ONNX_FORMAT("f8E4M3FN", "1", "", ""),
     ONNX_RULE("+-448"), ONNX_SOURCE, ONNX_NOTES},

    {"mlx.affine_2bit", MLX_FORMAT("ui2"), MLX_RULE, MLX_SOURCE, MLX_NOTES},
    {"mlx.affine_3bit", MLX_FORMAT("ui3"), MLX_RULE, MLX_SOURCE, MLX_NOTES},
    {"mlx.affine_4bit", MLX_FORMAT("ui4"), MLX_RULE, MLX_SOURCE, MLX_NOTES},
    {"mlx.affine_5bit", MLX_FORMAT("ui5"), MLX_RULE, MLX_SOURCE, MLX_NOTES},
    {"mlx.affine_6bit", MLX_FORMAT("ui6"), MLX_RULE, MLX_SOURCE, MLX_NOTES},
    {"mlx.affine_8bit", MLX_FORMAT("ui8"), MLX_RULE, MLX_SOURCE, MLX_NOTES},

    {"openvino.u8_by_token", OPENVINO_FORMAT("ui8", "planar"),
     OPENVINO_RULE("255"), OPENVINO_SOURCE, OPENVINO_NOTES},
    {"openvino.u4_by_token", OPENVINO_FORMAT("ui4", "reversed"),
     OPENVINO_RULE("15"), OPENVINO_SOURCE, OPENVINO_NOTES},
    {"openvino.u8_by_channel", OPENVINO_CHANNEL_FORMAT("ui8", "planar"),
     OPENVINO_RULE("255"), OPENVINO_SOURCE, OPENVINO_CHANNEL_NOTES},
    {"openvino.u4_by_channel", OPENVINO_CHANNEL_FORMAT("ui4", "reversed"),
     OPENVINO_RULE("15"), OPENVINO_SOURCE, OPENVINO_CHANNEL_NOTES},

    {"turboquant.8bit_keys",
     "codes = f8E4M3FN, group = [*, *], scale = f32, range = static",
     "code = e4m3(k), to nearest even, saturating", TURBOQUANT_SOURCE,
     TURBOQUANT_SLOT "Keys of turboquant_k8v4, whose given scale is 1. "
                     "Processors without e4m3 store e4b15 in its place."},
    {"turboquant.4bit_keys",
     TURBOQUANT_KEYS("-2.7309222, -2.0684471, -1.6178818, -1.2562576, "
                     "-0.94244824, -0.65687992, -0.38813779, -0.12842766, "
                     "0.12842766, 0.38813779, 0.65687992, 0.94244824, "
                     "1.2562576, 1.6178818, 2.0684471, 2.7309222"),
     TURBOQUANT_KEY_RULE, TURBOQUANT_SOURCE, TURBOQUANT_KEY_NOTES},
    {"turboquant.3bit_keys",
     TURBOQUANT_KEYS("-2.1503495, -1.34318, -0.7556455, -0.2449836, "
                     "0.2449836, 0.7556455, 1.34318, 2.1503495"),
     TURBOQUANT_KEY_RULE, TURBOQUANT_SOURCE, TURBOQUANT_KEY_NOTES},
    {"turboquant.4bit_values", TURBOQUANT_FORMAT("ui4"), TURBOQUANT_RULE("15"),
     TURBOQUANT_SOURCE, TURBOQUANT_NOTES},
    {"turboquant.3bit_values", TURBOQUANT_FORMAT("ui3"), TURBOQUANT_RULE("7"),
     TURBOQUANT_SOURCE, TURBOQUANT_NOTES},

    {"kivi.2bit_keys", KIVI_FORMAT("2", "[32, 1]", ", block = [16, 1]"),
     KIVI_RULE("3"), KIVI_SOURCE, KIVI_KEY_NOTES("16")},
    {"kivi.4bit_keys", KIVI_FORMAT("4", "[32, 1]", ", block = [8, 1]"),
     KIVI_RULE("15"), KIVI_SOURCE, KIVI_KEY_NOTES("8")},
    {"kivi.2bit_values", KIVI_FORMAT("2", "[1, 32]", ""), KIVI_RULE("3"),
     KIVI_SOURCE, KIVI_VALUE_NOTES},
    {"kivi.4bit_values", KIVI_FORMAT("4", "[1, 32]", ""), KIVI_RULE("15"),
     KIVI_SOURCE, KIVI_VALUE_NOTES},
};

//===----------------------------------------------------------------------===//
// Look-up
//===----------------------------------------------------------------------===//

ArrayRef<Preset> kvq::getPresets() { return kPresets; }

std::string Preset::getAttribute() const {
  StringRef attribute = isSegments ? "#kvq.segments<" : "#kvq.format<";
  return (attribute + format + ">").str();
}

const Preset *kvq::findPreset(StringRef name) {
  const Preset *found = llvm::find_if(
      kPresets, [&](const Preset &preset) { return preset.name == name; });
  return found == std::end(kPresets) ? nullptr : found;
}

/// How far `name` is from that of `preset`, with or without its engine's.
static unsigned getDistance(StringRef name, const Preset &preset) {
  unsigned distance = name.edit_distance(preset.name);
  StringRef own = preset.name.rsplit('.').second;
  return std::min(distance, own.empty() ? distance : name.edit_distance(own));
}

std::string kvq::describeUnknownPreset(StringRef name) {
  constexpr size_t kShown = 3;
  // Of those as far, the first in the table.
  SmallVector<std::pair<unsigned, size_t>> byDistance;
  for (auto [i, preset] : llvm::enumerate(kPresets))
    byDistance.push_back({getDistance(name, preset), i});
  llvm::sort(byDistance);
  std::string text = "unknown preset '" + name.str() + "', the nearest are ";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(
      ArrayRef(byDistance).take_front(kShown), stream,
      [&](const auto &entry) { stream << kPresets[entry.second].name; });
  return text;
}

Attribute kvq::parsePreset(AsmParser &parser) {
  std::string name;
  if (parser.parseLess())
    return {};
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&name) || parser.parseGreater())
    return {};
  const Preset *preset = findPreset(name);
  if (!preset) {
    parser.emitError(loc) << describeUnknownPreset(name);
    return {};
  }
  return parseAttribute(preset->getAttribute(), parser.getContext());
}
