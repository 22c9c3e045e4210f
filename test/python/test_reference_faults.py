"""The reference against known faults of other systems ("case n")."""

import numpy as np
import pytest
from conftest import fresh_rng
from kvq_mlir import reference
from kvq_mlir.reference import Cache
from reference_helpers import UNIT, fmt, round_trip

# --- known faults of other systems ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [96, 72, 80, 112])
def test_case_1_no_padded_lane_enters_the_range(dim):
    x = np.array([5 + 0.1 * (i % 16) for i in range(dim)], np.float32).reshape(1, 1, 1, dim)
    text = "codes = ui4, group = [1, *], scale = f32, zero = min f32"
    codes, _, _ = reference.quantize(x, fmt(text), "f32")
    assert codes.flatten().tolist() == [i % 16 for i in range(dim)]
    assert np.abs(round_trip(x, text) - x).max() <= 1e-6


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("constant", [0, 0.01, 100, -3.5, 60000])
def test_case_2_constant_channel(bits, constant):
    f = fmt(f"codes = ui{bits}, group = [16, 1], scale = f16, zero = min f16")
    x = np.full((1, 1, 16, 3), constant, np.float32)
    for dtype in ("f16", "f32"):
        codes, scales, zeros = reference.quantize(x, f, dtype)
        assert np.all(reference.dequantize(codes, scales, zeros, f) == np.float32(np.float16(constant)))
        assert np.isfinite(scales).all() and np.isfinite(zeros).all()


@pytest.mark.parametrize(
    "text",
    [
        "codes = i4, group = [64, 1], scale = f16",
        "codes = ui4, group = [64, 1], scale = f16, zero = min f16",
        "codes = i4, group = [1, 4], scale = f16",
        "codes = i4, group = [1, *], scale = f32",
    ],
)
def test_case_4_channel_of_zeros(text):
    x = fresh_rng().standard_normal((1, 2, 64, 16)).astype(np.float32)
    x[..., 7] = 0
    cache = Cache(fmt(text), 1, 2, 16, 64)
    cache.append(x)
    assert not cache.codes(0)[..., 7].any()
    q = np.ones((1, 2, 1, 16))
    assert not reference.attention(q, cache, cache)[..., 7].any()


@pytest.mark.parametrize("small", [2.0**-24, 1e-30, -1e-30])
def test_case_5_tiny_group(small):
    for text in ("codes = i4, group = [1, *], scale = f16", "codes = ui4, group = [1, *], scale = f16, zero = min f16"):
        x = np.float32([0, small]).reshape(1, 1, 1, 2)
        _, scales, _ = reference.quantize(x, fmt(text), "f32")
        assert scales.item() == UNIT
        assert np.abs(round_trip(x, text) - x).max() <= UNIT


def test_case_10_bytes_with_the_high_bit():
    byte = np.uint8([0x8F])
    assert reference.unpack(byte, 4, signed=True).tolist() == [-1, -8]
    assert reference.unpack(byte, 4, signed=False).tolist() == [15, 8]
    assert reference.unpack(byte, 8, signed=True).tolist() == [-113]
    assert reference.unpack(byte, 8, signed=False).tolist() == [143]
    # A ui8 code of 200: value 200, not -56.
    f = fmt("codes = ui8, group = [1, *], scale = f16, zero = min f16")
    x = np.float32([0, 200, 255]).reshape(1, 1, 1, 3)
    codes, scales, zeros = reference.quantize(x, f)
    packed = reference.unpack(reference.pack(codes, 8), 8, signed=False)
    assert np.array_equal(reference.dequantize(packed, scales, zeros, f), x)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("group", [8, 16, 32, 64, 128])
@pytest.mark.parametrize("by_token", [False, True])
def test_case_11_data_on_the_grid_is_exact(bits, group, by_token):
    rng = fresh_rng()
    shape = [1, 2, 256, 8] if by_token else [1, 2, 8, 256]
    axis = 2 if by_token else 3
    exponent = np.repeat(rng.integers(-6, 3, [n // group if i == axis else n for i, n in enumerate(shape)]), group, axis)
    at = np.arange(256).reshape([-1 if i == axis else 1 for i in range(4)])
    size = f"[{group}, 1]" if by_token else f"[1, {group}]"

    highest = 2 ** (bits - 1) - 1
    codes = rng.integers(-highest, highest + 1, shape)
    codes = np.where(at % group == 3, highest, codes)  # every group reaches its end
    x = codes * 2.0**exponent
    assert np.array_equal(round_trip(x, f"codes = i{bits}, group = {size}, scale = f16", "f16"), x)

    codes = rng.integers(0, 2**bits, shape)
    codes = np.where(at % group == 3, 2**bits - 1, np.where(at % group == 5, 0, codes))
    x = (codes - 100) * 2.0**exponent
    assert np.array_equal(round_trip(x, f"codes = ui{bits}, group = {size}, scale = f16, zero = min f16", "f16"), x)


def test_case_16_separate_scales_for_k_and_v():
    # Half a step of 0.5/127 is 0.00197; of 20/127 it is 0.0787.
    text = "codes = i8, group = [1, *], scale = f32"
    v = np.linspace(-0.5, 0.5, 4001).astype(np.float32).reshape(1, 1, 1, -1)
    both = np.concatenate([np.float32([-20, 20]).reshape(1, 1, 1, 2), v], axis=-1)
    separate, shared = np.abs(round_trip(v, text) - v).max(), np.abs(round_trip(both, text) - both).max()
    assert 0.0019 < separate <= 0.002
    assert 0.078 < shared <= 0.079


@pytest.mark.parametrize("dim, group", [(80, 32), (96, 64)])
def test_case_20_groups_that_do_not_tile_the_row(dim, group):
    f = fmt(f"codes = i4, group = [1, {group}], scale = f16")
    for make in (lambda: reference.quantize(np.zeros((1, 1, 1, dim), np.float32), f), lambda: Cache(f, 1, 1, dim, 8)):
        with pytest.raises(ValueError, match=rf"{dim}.*{group}"):
            make()


def test_case_49_outlier_channel():
    t, c = np.meshgrid(np.arange(32), np.arange(64), indexing="ij")
    x = ((-1.0) ** (t + c)).astype(np.float32)[None, None]
    x[..., 0] = 100
    per_token = round_trip(x, "codes = ui4, group = [1, *], scale = f32, zero = min f32")
    assert np.all(per_token[x == 1] == -1)
    per_channel = round_trip(x, "codes = ui4, group = [32, 1], scale = f32, zero = min f32")
    assert np.abs(per_channel - x).max() <= 1e-6
