"""What engines store, for tests: a packing of random rows for each preset, and vectors.

The vectors are those of the published rules: their bytes are worked out from these by hand or by other programs. They
hold for the NumPy packings as for what is compiled.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from kvq_mlir import reference
from kvq_mlir.reference.layouts import ggml, kivi, lmdeploy, mla, mlx, mx, nvfp4, onnxruntime, openvino, vllm, words

Parts = dict[str, np.ndarray]


def raw(x: np.ndarray) -> np.ndarray:
    """The bytes of each row."""
    x = np.ascontiguousarray(x)
    return x.view(np.uint8).reshape(*x.shape[:-1], -1)


def hexadecimal(*parts: np.ndarray) -> str:
    return "".join(np.ascontiguousarray(part).tobytes().hex() for part in parts)


def block(*values: float, size: int = 32, **at: float) -> np.ndarray:
    """A block that starts with `values` and holds x<i>=value at i; the rest is 0."""
    x = np.zeros(size, np.float32)
    x[: len(values)] = values
    for name, value in at.items():
        x[int(name[1:])] = value
    return x


# --- packings --------------------------------------------------------------------------------------------------------


def _f16(x: np.ndarray) -> np.ndarray:
    return raw(reference.FloatType.named("f16").encode(x))


def _records(pack: Callable) -> Callable[[np.ndarray], Parts]:
    return lambda x: {"records": pack(x)}


def _with_pairs(pack: Callable, bits: int) -> Callable[[np.ndarray], Parts]:
    return lambda x: dict(zip(("codes", "records"), pack(x, bits), strict=True))


def _mx(element: str) -> Callable[[np.ndarray], Parts]:
    bits = reference.FloatType.named(element).bits

    def parts(x: np.ndarray) -> Parts:
        scales, codes = mx.quantize(x, element)
        return {"codes": words.bitstream(codes, bits), "scales": scales}

    return parts


def _mlx(bits: int) -> Callable[[np.ndarray], Parts]:
    def parts(x: np.ndarray) -> Parts:
        codes, scales, biases = mlx.affine(x, bits, 64)
        return {"codes": codes, "scales": _f16(scales), "zeros": _f16(biases)}

    return parts


def _kivi(pack: Callable, bits: int) -> Callable[[np.ndarray], Parts]:
    return lambda x: dict(zip(("codes", "scales", "zeros"), map(raw, pack(x, bits, 32)), strict=True))


def _by_channel(bits: int) -> Callable[[np.ndarray], Parts]:
    def parts(x: np.ndarray) -> Parts:
        blocks = [openvino.by_channel(x[..., t : t + 32, :], bits) for t in range(0, x.shape[-2], 32)]
        return {"records": np.stack(blocks, axis=-2)}

    return parts


# The bytes of each component, by preset, of rows [..., tokens, dim]; of presets for groups of 32 tokens these are
# tokens of whole groups.
ORACLES: dict[str, Callable[[np.ndarray], Parts]] = {
    **{f"ggml.{name}": _records(getattr(ggml, name)) for name in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1")},
    **{f"ggml.{name}": _records(getattr(ggml, name)) for name in ("iq4_nl", "mxfp4")},
    "mx.fp8_e4m3": _mx("f8E4M3FN"),
    "mx.fp8_e5m2": _mx("f8E5M2"),
    "mx.fp6_e2m3": _mx("f6E2M3FN"),
    "mx.fp6_e3m2": _mx("f6E3M2FN"),
    "mx.fp4": _mx("f4E2M1FN"),
    "vllm.int8_per_token_head": _records(vllm.int8_per_token_head),
    "vllm.fp8_per_token_head": _records(vllm.fp8_per_token_head),
    "vllm.int4_per_token_head": _records(vllm.int4_per_token_head),
    "vllm.mla_fp8_row": _records(mla.fp8_row),
    "lmdeploy.int8": _with_pairs(lmdeploy.pytorch, 8),
    "lmdeploy.int4": _with_pairs(lmdeploy.pytorch, 4),
    "lmdeploy.turbomind_int8": _with_pairs(lmdeploy.turbomind, 8),
    "lmdeploy.turbomind_int4": _with_pairs(lmdeploy.turbomind, 4),
    **{f"mlx.affine_{bits}bit": _mlx(bits) for bits in (2, 3, 4, 5, 6, 8)},
    "openvino.u8_by_token": _records(lambda x: openvino.by_token(x, 8, 32)),
    "openvino.u4_by_token": _records(lambda x: openvino.by_token(x, 4, 32)),
    "openvino.u8_by_channel": _by_channel(8),
    "openvino.u4_by_channel": _by_channel(4),
    "turboquant.4bit_values": _records(lambda x: vllm.turboquant_values(x, 4)),
    "turboquant.3bit_values": _records(lambda x: vllm.turboquant_values(x, 3)),
    "kivi.2bit_keys": _kivi(kivi.keys, 2),
    "kivi.4bit_keys": _kivi(kivi.keys, 4),
    "kivi.2bit_values": _kivi(kivi.values, 2),
    "kivi.4bit_values": _kivi(kivi.values, 4),
}
GROUP = 32  # tokens of a group of the presets that have groups of several

# The same where scales are given: which, "outer" ones, one for the "tensor" or one a "channel", and the packing.
GIVEN: dict[str, tuple[str, Callable[[np.ndarray, np.ndarray], Parts]]] = {
    "nvfp4": ("outer", lambda x, g: dict(zip(("scales", "codes"), nvfp4.quantize(x, g), strict=True))),
    "vllm.fp8_per_tensor": ("tensor", lambda x, s: {"codes": vllm.fp8_per_tensor(x, s)}),
    "turboquant.8bit_keys": ("tensor", lambda x, s: {"codes": vllm.fp8_per_tensor(x, s)}),
    **{
        f"onnxruntime.{name}_per_{kind}": (kind, lambda x, s, name=name: {"codes": getattr(onnxruntime, name)(x, s)})
        for name in ("int8", "int4", "fp8")
        for kind in ("tensor", "channel")
    },
}

# --- vectors ---------------------------------------------------------------------------------------------------------

B = np.float32([-3, -1, 0, 1, 2.5, 4.5, 12, 7.4])
J = np.arange(32)
FP4_GRID = [0.0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7]
FP4_BLOCK = np.float32([*FP4_GRID, *(-v for v in FP4_GRID)])
COUNTING = "00112233445566778899aabbccddeeff"
MX_ROW = block(1, -2.5, 0.3, 7, 0, -0.0625)
KIVI_ROW = (7 * J) % 32


def tokens_of(*channels: np.ndarray) -> np.ndarray:
    """Channels [tokens] each as [tokens, dim]."""
    return np.stack(channels, axis=-1)


# (preset, a row or the tokens of a group, bytes of the components in their order).
VECTORS: list[tuple[str, np.ndarray, str]] = [
    ("ggml.q8_0", block(127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.25), "003c 7f010203fffefd03" + "00" * 24),
    ("ggml.q8_0", block(), "0000" + "00" * 32),
    ("ggml.q4_0", J - 16.0, "0040 809191a2a2b3b3c4c4d5d5e6e6f7f7f8"),
    ("ggml.q4_0", block(8, -8, 1, 0.5, x16=-1, x17=-0.5), "00bc 909f8788" + "88" * 12),
    ("ggml.q4_0", block(), "0080" + "88" * 16),
    ("ggml.q4_1", J % 16 - 4.0, "003c 00c4" + COUNTING),
    ("ggml.q4_1", 0.5 * J - 1, "223c 00bc 80809191a2a2b3b3c4c4d5d5e6e6f7f7"),
    ("ggml.q4_1", np.full(32, -2.0), "0000 00c0" + "00" * 16),
    ("ggml.q5_0", J - 16.0, "003c 0000ffff" + COUNTING),
    ("ggml.q5_0", block(), "0080 ffffffff" + "00" * 16),
    ("ggml.q5_1", J + 2.0, "003c 0040 0000ffff" + COUNTING),
    ("ggml.iq4_nl", ggml.IQ4_NL[J % 16] / 64, "0024" + COUNTING),
    ("ggml.iq4_nl", block(4, -4, 2, x16=1), "3da8 508f8388" + "88" * 12),
    ("ggml.iq4_nl", block(), "0000" + "00" * 16),
    ("ggml.mxfp4", FP4_BLOCK, "7f 00009191a2a2b3b3c4c4d5d5e6e6f7f7"),
    ("ggml.mxfp4", block(), "00" + "00" * 16),
    ("mx.fp4", FP4_BLOCK, "002122434465667788a9aacbccedeeff 7f"),
    ("mx.fp8_e4m3", MX_ROW, "68f25a7e00c8" + "00" * 26 + "79"),
    ("mx.fp8_e5m2", MX_ROW, "70f5697b00e0" + "00" * 26 + "72"),
    ("mx.fp6_e2m3", MX_ROW, hexadecimal(words.bitstream(np.uint8([8, 0x32, 2, 0x1E, 0, 0x20] + [0] * 26), 6)) + "7f"),
    (
        "mx.fp6_e3m2",
        MX_ROW,
        hexadecimal(words.bitstream(np.uint8([0x14, 0x39, 0x0D, 0x1F, 0, 0x24] + [0] * 26), 6)) + "7d",
    ),
    ("vllm.int4_per_token_head", B, "204386af0300803f"),
    ("vllm.int4_per_token_head", block(-3, 12, 1.5, -2.5, size=4), "f015" + "0300803f"),  # 4.5 and 0.5 go up
    # Scale 254/127 = 2, ties away from zero; the floor of 1e-6.
    ("vllm.int8_per_token_head", block(254, -254, 1, -1, 3, 2.9, size=6), "7f8101ff0201" + "00000040"),
    ("vllm.int8_per_token_head", block(size=4), "00000000" + "bd378635"),
    ("vllm.fp8_per_token_head", block(896, -896, 2, 0.25, size=4), "7efe3820" + "00000040"),
    ("lmdeploy.int4", B, "6082f3a4 003c0042"),
    ("lmdeploy.turbomind_int4", B, "30f642a8 003c00c2"),
    # 8 bits: -51 ... 204, scale 1; 0.5 + 51 is rounded up by one engine and to even, 52, by the other; so is 1.5.
    ("lmdeploy.int8", block(-51, 204, 0.5, 1.5, size=4), "00ff3435 003c6052"),
    ("lmdeploy.turbomind_int8", block(-51, 204, 0.5, 1.5, size=4), "00ff3434 003c60d2"),
    ("lmdeploy.turbomind_int8", np.full(4, 3.0), "00000000 00000042"),
    ("mlx.affine_4bit", np.arange(64) % 16 - 4.0, "efcdab8967452301" * 4 + "00bc 8049"),
    # The minimum is larger in magnitude: s = 1, bias = -11.
    ("mlx.affine_4bit", np.arange(64) % 16 - 11.0, "1032547698badcfe" * 4 + "003c 80c9"),
    ("openvino.u8_by_token", np.tile(np.float32([-51, 0, 51, 204]), 8), "0000803f00004c42" + "003366ff" * 8),
    ("openvino.u4_by_token", np.tile(B, 4), "0000803f00004040" + "023468fa" * 4),
    # Channel 0: 0 and 255, scale 1; channel 1: -510 and 0, scale 2. Scales, zero points (-0 and 255), rows of tokens.
    (
        "openvino.u8_by_channel",
        tokens_of(255.0 * (J % 2), 510.0 * (J % 2) - 510),
        "0000803f00000040" + "0000008000007f43" + "0000ffff" * 16,
    ),
    # The first channel of each byte in its high nibble.
    (
        "openvino.u4_by_channel",
        tokens_of(np.tile(B, 4), 15.0 * (J % 2)),
        "0000803f0000803f" + "0000404000000080" + "002f304f608ff0af" * 4,
    ),
    # Steps of 1 from -3: 4.5 and 0.5 steps go up. Steps of 2 from 0; bits of eight codes in three bytes.
    ("turboquant.4bit_values", block(-3, 12, 1.5, -2.5, size=4), "f015 003c 00c2"),
    ("turboquant.3bit_values", 2.0 * np.arange(8), "88c6fa 0040 0000"),
    ("turboquant.3bit_values", block(size=8), "000000 0000 0000"),
    ("kivi.2bit_values", KIVI_ROW, "94935e4e3a39e5a4 2b49 0000"),
    ("kivi.2bit_values", J % 4, "e4e4e4e4e4e4e4e4 003c 0000"),
    # Keys: the same along tokens, a word of each channel after the other; the last channels are shifted by 100.
    (
        "kivi.2bit_keys",
        tokens_of(KIVI_ROW, J % 4, KIVI_ROW + 100, J % 4 + 100),
        "94935e4ee4e4e4e494935e4ee4e4e4e4 3a39e5a4e4e4e4e43a39e5a4e4e4e4e4 2b49003c2b49003c 0000000040564056",
    ),
    ("kivi.4bit_values", J % 16, "1032547698badcfe" * 2 + "003c 0000"),
    ("kivi.4bit_keys", tokens_of(J % 16, 15 - J % 16), ("10325476efcdab89" + "98badcfe67452301") * 2 + "003c003c 00000000"),
]

NVFP4_ROW = 0.5 * np.float32([0, 0.5, 1, -1.5, 2, 3, -4, 6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -6])
FP8_ROW = np.float32([1, -0.3, 448, 500, 0.001])

# (preset, a row, the given scale, bytes of the components in their order).
GIVEN_VECTORS: list[tuple[str, np.ndarray, float | np.ndarray, str]] = [
    ("nvfp4", NVFP4_ROW, 1.0, "10b2547e204264f6 30"),
    ("nvfp4", NVFP4_ROW, 2.0**-4, "10b2547e204264f6 50"),
    ("nvfp4", block(size=16), 1.0, "00" * 8 + "00"),
    ("vllm.fp8_per_tensor", FP8_ROW, 0.5, "40b27e7e01"),
    ("turboquant.8bit_keys", 2 * FP8_ROW, 1.0, "40b27e7e01"),
    ("onnxruntime.int4_per_tensor", np.float32([1, -1, 0.25, 0.75, -4.5, 3.6, 0, 0]), 0.5, "6aa8f088"),
    ("onnxruntime.int8_per_tensor", np.float32([1, -1, 0.25, 0.75, 100, -100]), 0.5, "02fe00027f80"),
    ("onnxruntime.int8_per_channel", np.float32([3, -3]), np.float32([1, 3]), "03ff"),
    ("onnxruntime.fp8_per_tensor", FP8_ROW, 0.5, "40b27e7e01"),
]


def ids(vectors: list[tuple]) -> list[str]:
    return [f"{i}-{vector[0]}" for i, vector in enumerate(vectors)]
