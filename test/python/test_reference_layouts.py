"""The bytes of engines' caches, against vectors worked out from the published rules and against other packers."""

import engines
import gguf
import numpy as np
import pytest
from conftest import fresh_rng
from engines import GIVEN, GIVEN_VECTORS, ORACLES, VECTORS, B, block
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


def text(*parts: np.ndarray) -> str:
    return " ".join(np.ascontiguousarray(part).tobytes().hex() for part in parts)


@pytest.mark.parametrize("name, x, expected", VECTORS, ids=engines.ids(VECTORS))
def test_vectors(name, x, expected):
    parts = ORACLES[name](np.atleast_2d(np.float32(x)))
    assert engines.hexadecimal(*parts.values()) == expected.replace(" ", "")


@pytest.mark.parametrize("name, x, scale, expected", GIVEN_VECTORS, ids=engines.ids(GIVEN_VECTORS))
def test_vectors_under_given_scales(name, x, scale, expected):
    parts = GIVEN[name][1](x, scale)
    found = engines.hexadecimal(*(parts[part] for part in ("codes", "scales") if part in parts))
    assert found == expected.replace(" ", "")


# --- ggml ----------------------------------------------------------------------------------------------------------


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


def test_mx_scales_at_the_ends():
    # The exponent of 1.9999999 is 0, however its logarithm is rounded; E stays within 0 ... 254; NaN makes it 255.
    assert mx.quantize(block(np.nextafter(np.float32(2), np.float32(0))), "f8E4M3FN")[0] == 127 - 8
    assert mx.quantize(block(2), "f8E4M3FN")[0] == 127 - 7
    assert mx.quantize(block(2.0**-130), "f8E4M3FN")[0] == 0
    assert mx.quantize(block(2.0**127), "f4E2M1FN")[0] == 252
    assert text(*mx.fp4(block())) == "00 " + "00" * 16
    assert text(*mx.fp4(block(np.nan, 1))) == "ff " + "00" * 16


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
    for pack in (mla.fp8_row, mla.nvfp4_row):
        with pytest.raises(ValueError, match="576.*512"):
            pack(np.zeros(512))


def test_case_44_nvfp4_mla_row():
    x = np.zeros(576, np.float32)
    x[:4] = [6, -3, 0.5, 1]  # block 0, scale 1
    x[16 * 5] = 12  # block 5, scale 2
    x[[512, 575]] = [1, 500]
    row = mla.nvfp4_row(x)
    assert row.shape == (352,)
    assert text(row[:2], row[40:41], row[256:257], row[319:320]) == "d721 07 38 7e"
    assert row[320] == 0x38 and row[320 + 8 + 1] == 0x40 and np.count_nonzero(row[320:]) == 2


@pytest.mark.parametrize("bits, centroids", [(3, [0.244984, 0.755646, 1.343180, 2.150350]), (4, [0.128428, 2.730922])])
def test_turboquant_centroids(bits, centroids):
    """Near those of Lloyd and Max, but for the outermost ones, whose long cells have too few trapezoids."""
    for dim in (64, 128):
        found = vllm.turboquant_centroids(bits, dim)[2 ** (bits - 1) :] * np.sqrt(dim)
        assert np.allclose([found[0], found[-1]], [centroids[0], centroids[-1]], atol=1e-6)
        assert len(centroids) == 2 or np.allclose(found, centroids, atol=1e-6)


def test_turboquant_keys():
    # A unit vector along the first channel: all y are 1/sqrt(D), all codes the same.
    codes, norms, _ = vllm.turboquant_keys(np.eye(1, 64) * 3, 3)
    assert norms.tolist() == [3] and set(codes.ravel().tolist()) == {5}


# --- LMDeploy, KIVI, ONNX Runtime, OpenVINO, MLX -------------------------------------------------------------------


def test_lmdeploy_in_bf16():
    assert text(*lmdeploy.turbomind(B, 4, "bf16")) == "30f642a8 803f40c0"


def test_kivi_shapes():
    words, scales, minima = kivi.keys(np.zeros((64, 5)), 2, 32)
    assert words.shape == (4, 5) and scales.shape == minima.shape == (2, 5)


def test_onnxruntime_rows():
    # An odd row is padded with the code 0; a scale of 0 makes codes 0.
    assert text(onnxruntime.int4([1, -1, 0.25, 0.75, -4.5, 3.6, 0], 0.5)) == "6aa8f088"
    assert text(onnxruntime.int8([3, -3], 0)) == "0000"


def test_openvino_groups():
    # Two groups a row; a constant one has scale 1e-4. The zero point is -min/scale: -0 where the minimum is 0.
    packed = openvino.by_token(np.float32([0, 255, 0, 0]), 8, 2)
    assert text(packed) == "0000803f0000008000ff" + "17b7d138000000800000"
    with pytest.raises(ValueError, match="6 elements.*4"):
        openvino.by_token(np.zeros(6), 8, 4)


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
