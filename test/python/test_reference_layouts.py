"""The bytes of engines' caches, against vectors worked out from the published rules and against other packers."""


import gguf
import numpy as np
import pytest
from conftest import fresh_rng
from kvq_mlir.reference.layouts import (
    ggml,
    kivi,
    lmdeploy,
    mla,
    mlx,
    mx,
    nvfp4,
    onnxruntime,
    openvino,
    vllm,
)

J = np.arange(32)
B = np.float32([-3, -1, 0, 1, 2.5, 4.5, 12, 7.4])
FP4_GRID = [0.0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7]
FP4_BLOCK = np.float32([*FP4_GRID, *(-v for v in FP4_GRID)])


def block(*values: float, size: int = 32, **at: float) -> np.ndarray:
    """A block that starts with `values` and holds x<i>=value at i; the rest is 0."""
    x = np.zeros(size, np.float32)
    x[: len(values)] = values
    for name, value in at.items():
        x[int(name[1:])] = value
    return x


def text(*parts: np.ndarray) -> str:
    return " ".join(np.ascontiguousarray(part).tobytes().hex() for part in parts)


# --- ggml ----------------------------------------------------------------------------------------------------------

COUNTING = "00112233445566778899aabbccddeeff"


@pytest.mark.parametrize(
    "name, x, expected",
    [
        ("q8_0", block(127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.25), "003c 7f010203fffefd03" + "00" * 24),
        ("q8_0", block(), "0000" + "00" * 32),
        ("q4_0", J - 16.0, "0040 809191a2a2b3b3c4c4d5d5e6e6f7f7f8"),
        ("q4_0", block(8, -8, 1, 0.5, x16=-1, x17=-0.5), "00bc 909f8788" + "88" * 12),
        ("q4_0", block(), "0080" + "88" * 16),
        ("q4_1", J % 16 - 4.0, "003c 00c4" + COUNTING),
        ("q4_1", 0.5 * J - 1, "223c 00bc 80809191a2a2b3b3c4c4d5d5e6e6f7f7"),
        ("q4_1", np.full(32, -2.0), "0000 00c0" + "00" * 16),
        ("q5_0", J - 16.0, "003c 0000ffff" + COUNTING),
        ("q5_0", block(), "0080 ffffffff" + "00" * 16),
        ("q5_1", J + 2.0, "003c 0040 0000ffff" + COUNTING),
        ("iq4_nl", ggml.IQ4_NL[J % 16] / 64, "0024" + COUNTING),
        ("iq4_nl", block(4, -4, 2, x16=1), "3da8 508f8388" + "88" * 12),
        ("iq4_nl", block(), "0000" + "00" * 16),
        ("mxfp4", FP4_BLOCK, "7f 00009191a2a2b3b3c4c4d5d5e6e6f7f7"),
        ("mxfp4", block(), "00" + "00" * 16),
    ],
)
def test_ggml_vectors(name, x, expected):
    assert text(getattr(ggml, name)(x)) == expected.replace(" ", "")


def test_iq4_nl_ties_go_to_the_higher_index():
    # The first element makes 1/d0 = 1; -4.5 is half way between -10 and 1, -115.5 between -127 and -104.
    packed = ggml.iq4_nl(block(-127, -4.5, -115.5, -4.6))
    assert [byte & 15 for byte in packed[2:6]] == [0, 8, 1, 7]


@pytest.mark.parametrize("name", ["q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "mxfp4"])
def test_ggml_equals_what_gguf_writes(name):
    rng = fresh_rng()
    x = rng.standard_normal((300, 4, 32)) * np.exp2(rng.integers(-8, 9, (300, 4, 1)))
    x[:100] = np.round(x[:100] * 2) / 2  # ties
    x[250:] *= rng.integers(0, 2, (50, 4, 1))  # blocks of zeros
    x = np.where(x == 0, 0, x).astype(np.float16).astype(np.float32).reshape(300, 128)  # no -0
    kind = gguf.GGMLQuantizationType[name.upper()]
    assert np.array_equal(getattr(ggml, name)(x), gguf.quants.quantize(x, kind))


@pytest.mark.parametrize(
    "name, error",
    [("q8_0", 6e-3), ("q5_1", 0.05), ("q5_0", 0.055), ("iq4_nl", 0.09), ("q4_1", 0.09), ("q4_0", 0.1), ("mxfp4", 0.15)],
)
def test_gguf_reads_ggml_blocks(name, error):
    x = fresh_rng().standard_normal((400, 64)).astype(np.float32)
    read = gguf.quants.dequantize(getattr(ggml, name)(x), gguf.GGMLQuantizationType[name.upper()])
    assert error / 3 < np.linalg.norm(read - x) / np.linalg.norm(x) < error


def test_blocks_that_do_not_tile_the_row():
    with pytest.raises(ValueError, match="80 elements.*32"):
        ggml.q4_0(np.zeros(80))


# --- MX and NVFP4 --------------------------------------------------------------------------------------------------


def test_mxfp4_vector():
    assert text(*mx.fp4(FP4_BLOCK)) == "7f 002122434465667788a9aacbccedeeff"


@pytest.mark.parametrize(
    "element, expected",
    [
        ("f8E4M3FN", "79 68f25a7e00c8"),
        ("f8E5M2", "72 70f5697b00e0"),
        ("f6E2M3FN", "7f 0832021e0020"),
        ("f6E3M2FN", "7d 14390d1f0024"),
    ],
)
def test_mx_vectors(element, expected):
    scale, codes = mx.quantize(block(1, -2.5, 0.3, 7, 0, -0.0625), element)
    assert text(scale, codes[:6]) == expected and not codes[6:].any()


def test_mx_scales_at_the_ends():
    # The exponent of 1.9999999 is 0, however its logarithm is rounded; E stays within 0 ... 254; NaN makes it 255.
    assert mx.quantize(block(np.nextafter(np.float32(2), np.float32(0))), "f8E4M3FN")[0] == 127 - 8
    assert mx.quantize(block(2), "f8E4M3FN")[0] == 127 - 7
    assert mx.quantize(block(2.0**-130), "f8E4M3FN")[0] == 0
    assert mx.quantize(block(2.0**127), "f4E2M1FN")[0] == 252
    assert text(*mx.fp4(block())) == "00 " + "00" * 16
    assert text(*mx.fp4(block(np.nan, 1))) == "ff " + "00" * 16


def test_nvfp4_vector():
    x = 0.5 * np.float32([0, 0.5, 1, -1.5, 2, 3, -4, 6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -6])
    assert text(*nvfp4.quantize(x)) == "30 10b2547e204264f6"
    assert text(*nvfp4.quantize(x, 2.0**-4)) == "50 10b2547e204264f6"
    assert text(*nvfp4.quantize(np.zeros(16))) == "00 " + "00" * 8


def test_nvfp4_scale_orders():
    # Four scales a token: FlashInfer puts those of four tokens side by side.
    scales = np.arange(32, dtype=np.uint8).reshape(8, 4)
    assert nvfp4.flashinfer_v_scales(scales)[:8].tolist() == [0, 4, 8, 12, 1, 5, 9, 13]
    assert nvfp4.flashinfer_v_scales(scales)[16:20].tolist() == [16, 20, 24, 28]
    m, k = 200, 6
    flat = nvfp4.gemm_scales(np.arange(m * k).reshape(m, k).astype(np.uint8))
    assert flat.shape == (2 * 2 * 512,)
    for i, j, at in ((0, 0, 0), (1, 0, 16), (0, 3, 3), (32, 0, 4), (0, 4, 512), (128, 0, 1024), (161, 5, 1557)):
        assert flat[at] == (i * k + j) % 256


def test_sglang_vector():
    x = block(1, -2, 3, -4, 5, -6, 7, -8, 0.5, 0.1, size=16)
    assert text(*nvfp4.sglang(x)) == "80 a1c3d5e601000000"


# --- vLLM and MLA --------------------------------------------------------------------------------------------------


def test_vllm_vectors():
    assert text(vllm.fp8_per_tensor([1, -0.3, 448, 500, 0.001], 0.5)) == "40b27e7e01"
    assert text(vllm.int4_per_token_head(B)) == "204386af0300803f"
    assert text(vllm.int4_per_token_head([-3, 12, 1.5, -2.5])) == "f015" + "0300803f"  # 4.5 and 0.5 go up


def test_vllm_int8_per_token_head():
    # Scale 254/127 = 2; ties go away from zero.
    packed = vllm.int8_per_token_head([254, -254, 1, -1, 3, 2.9])
    assert text(packed) == "7f8101ff0201" + "00000040"
    assert text(vllm.int8_per_token_head(np.zeros(4))) == "00000000" + "bd378635"  # the floor of 1e-6


def test_vllm_fp8_per_token_head():
    assert text(vllm.fp8_per_token_head([896, -896, 2, 0.25])) == "7efe3820" + "00000040"


def test_bytes_per_token_and_head():
    # Case 44: with an f32 scale D = 256 takes 260 bytes a side, 520 for both; D = 512 1032; int4 D/2 + 4.
    assert 2 * vllm.int8_per_token_head(np.ones(256)).shape[0] == 520
    assert 2 * vllm.fp8_per_token_head(np.ones(512)).shape[0] == 1032
    assert vllm.int4_per_token_head(np.ones(128)).shape[0] == 68


def test_case_44_mla_row():
    x = np.zeros(576, np.float32)
    x[[0, 1, 128, 511]] = [896, -2, 448, -224]  # tiles 0, 1 and 3
    x[[512, 575]] = [1, 257]
    row = mla.fp8_row(x)
    assert row.shape == (656,)
    assert text(row[:2], row[128:129], row[511:512]) == "7eb8 7e fe"
    assert text(row[512:528]) == "00000040" + "0000803f" + "00008000" + "0000003f"  # 2, 1, 2^-126, 1/2
    assert text(row[528:530], row[654:]) == "803f 8043"  # 257 is a tie, 256
    assert not row[2:128].any() and not row[530:654].any()
    with pytest.raises(ValueError, match="576.*512"):
        mla.fp8_row(np.zeros(512))


# --- LMDeploy, KIVI, ONNX Runtime, OpenVINO, MLX -------------------------------------------------------------------


def test_lmdeploy_vectors():
    assert text(*lmdeploy.pytorch(B, 4)) == "6082f3a4 003c0042"
    assert text(*lmdeploy.turbomind(B, 4)) == "30f642a8 003c00c2"
    assert text(*lmdeploy.turbomind(B, 4, "bf16")) == "30f642a8 803f40c0"
    # 8 bits: -51 ... 204, scale 1; 0.5 + 51 is rounded up by one engine and to even, 52, by the other; so is 1.5.
    x = [-51, 204, 0.5, 1.5]
    assert text(*lmdeploy.pytorch(x, 8)) == "00ff3435 003c6052"
    assert text(*lmdeploy.turbomind(x, 8)) == "00ff3434 003c60d2"
    assert text(*lmdeploy.turbomind([3, 3], 8)) == "0000 00000042"


def test_kivi_vectors():
    x = (7 * J) % 32
    assert text(*kivi.values(x, 2, 32)) == "94935e4e3a39e5a4 2b49 0000"
    words, _, _ = kivi.values(np.tile([0, 1, 2, 3], 4), 2, 16)
    assert text(words) == "e4e4e4e4"
    # Keys: the same along tokens, channel by channel; the second channel is shifted by 100.
    words, scales, minima = kivi.keys(np.stack([x, x + 100], axis=1), 2, 32)
    assert words.shape == (2, 2) and scales.shape == minima.shape == (1, 2)
    assert text(words[:, 0], words[:, 1]) == "94935e4e3a39e5a4 94935e4e3a39e5a4"
    assert minima.tolist() == [[0, 100]]


def test_kivi_computes_in_f16():
    # Extent 6, scale 2. 2.00195 + 3 is a tie in f16 and becomes 5: 2.5 goes to 2, where f32 would have 2.50098, 3.
    codes = kivi.values(np.float16([-3, 3, 2 + 2.0**-9, 0] * 4), 2, 16)[0].view(np.uint8)
    assert codes[0] == (0 | 3 << 2 | 2 << 4 | 2 << 6)


def test_onnxruntime_vectors():
    x = [1, -1, 0.25, 0.75, -4.5, 3.6, 0]
    assert text(onnxruntime.int4(x, 0.5)) == "6aa8f088"
    assert text(onnxruntime.int8([1, -1, 0.25, 0.75, 100, -100], 0.5)) == "02fe00027f80"
    assert text(onnxruntime.fp8([1, -0.3, 448, 500, 0.001], 0.5)) == "40b27e7e01"
    assert text(onnxruntime.int8([3, -3], 0)) == "0000"
    assert text(onnxruntime.int8([3, -3], [1, 3])) == "03ff"  # one scale a channel


def test_openvino_vectors():
    assert text(openvino.by_token(np.float32([-51, 0, 51, 204]), 8, 4)) == "0000803f00004c42003366ff"
    assert text(openvino.by_token(B, 4, 8)) == "0000803f00004040023468fa"
    # Two groups a row; a constant one has scale 1e-4. The zero point is -min/scale: -0 where the minimum is 0.
    packed = openvino.by_token(np.float32([0, 255, 0, 0]), 8, 2)
    assert text(packed) == "0000803f0000008000ff" + "17b7d138000000800000"
    with pytest.raises(ValueError, match="6 elements.*4"):
        openvino.by_token(np.zeros(6), 8, 4)


def test_openvino_by_channel():
    # Tokens 0, 255 in channel 0 and -510, 0 in channel 1: scales 1 and 2, zero points 0 and 255.
    packed = openvino.by_channel(np.float32([[0, -510], [255, 0]]), 8)
    assert text(packed) == "0000803f00000040" + "0000008000007f43" + "0000ffff"


def test_mlx_vectors():
    assert text(*mlx.affine(np.arange(16) % 16 - 4, 4, 16)) == "efcdab8967452301 000080bf 00003041"
    # The minimum is larger in magnitude: s = 1, bias = -11.
    assert text(*mlx.affine(np.arange(16) - 11, 4, 16)) == "1032547698badcfe 0000803f 000030c1"


def test_mlx_backends_round_differently():
    # s = -1, bias = 15: (12.5 - 15)/-1 is 2.5.
    x = block(15, 0, 12.5, size=16)
    assert mlx.affine(x, 4, 16)[0][1] == 0xF2
    assert mlx.affine(x, 4, 16, "metal")[0][1] == 0xF3
    # All negative: Metal's range ends at 0, so 15 steps of 2 from -30; the CPU's at -15, 15 steps of 1.
    x = np.float32([-30, -15] * 8)
    assert (mlx.affine(x, 4, 16)[1].item(), mlx.affine(x, 4, 16, "metal")[1].item()) == (1, 2)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_mlx_bit_order(bits):
    x = np.zeros(32, np.float32)
    x[0], x[1] = 1 - 2**bits, -1  # bias 1 - 2^b, s = 1: codes 0 and 2^b - 2, then 2^b - 1
    packed = mlx.affine(x, bits, 32)[0]
    stream = "".join(f"{byte:08b}"[::-1] for byte in packed)
    assert packed.shape == (4 * bits,) and stream == "0" * bits + "0" + "1" * (32 * bits - bits - 1)
