"""Codes, scales and zeros of each kind, exhaustively where there are few enough of them."""

import numpy as np
import pytest
from attention_paths import CHIPS

import kvq_mlir as kvq
from kvq_mlir import reference

FLOAT_CODES = ("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN")
CODEBOOKS = tuple(f"#kvq.codebook<{name}>" for name in ("nf4", "iq4_nl", *(f"lloyd_max = {b}" for b in (1, 2, 3, 4))))


def row(values: np.ndarray) -> np.ndarray:
    """One row that is a multiple of 32 long, filled up with zeros: [1, 1, 1, dim]."""
    out = np.zeros(-(-len(values) // 32) * 32, np.float32)
    out[: len(values)] = values
    return out.reshape(1, 1, 1, -1)


def codes_of(x: np.ndarray, fmt: kvq.Format, rng: np.random.Generator) -> kvq.Quantized:
    """The row's codes; those that a cache stores are the same, on this processor and by a GPU's kernel."""
    z = kvq.quantize(x, fmt)
    for device in (None, kvq.Emulator(str(rng.choice(CHIPS)))):
        cache = kvq.Cache(1, 1, 1, x.shape[3], fmt, "f32", fill=0xFF, device=device)
        cache.append(x)
        assert np.array_equal(cache.storage()["codes"][0, 0].view(np.uint8), z.packed[0, 0].view(np.uint8)), device
    return z


@pytest.mark.parametrize("codes", FLOAT_CODES + CODEBOOKS)
def test_every_code_stands_for_its_number(codes):
    """All bit patterns, those that are no finite number too, in vectors and in a scalar remainder."""
    text = f"codes = {codes}, group = [1, *], scale = f32"
    fmt, oracle = kvq.Format(text), reference.Format.parse(text)
    count = 2**fmt.bits
    for dim in (count * 8 // min(count, 8), 8 * count + 8):
        patterns = np.resize(np.arange(count, dtype=np.uint8), (1, 1, 1, dim))
        found = kvq.dequantize(kvq.Quantized(fmt, patterns, np.ones((1, 1, 1, 1), np.float32), None))
        expected = oracle.codes.values(patterns)
        assert np.array_equal(found, expected, equal_nan=True)
        assert np.array_equal(np.signbit(found[expected == 0]), np.signbit(expected[expected == 0]))


@pytest.mark.parametrize("codes", FLOAT_CODES)
def test_rounding_at_every_middle(codes, rng):
    """Middles between neighbours go to the even code, one ulp of f32 off them to the nearer one."""
    fmt = kvq.Format(f"codes = {codes}, group = [1, *], scale = f32")
    values = reference.Format.parse(str(fmt)).codes.values(np.arange(2 ** (fmt.bits - 1), dtype=np.uint8))
    values = values[np.isfinite(values)]
    lower = np.arange(len(values) - 1)
    middles = (values[:-1] + values[1:]) / 2
    inf = np.float32(np.inf)
    x = np.concatenate([[values[-1]], middles, np.nextafter(middles, -inf), np.nextafter(middles, inf)])
    x = np.concatenate([x, -x])  # the largest value is there: the scale is 1
    expected = np.concatenate([[len(values) - 1], lower + lower % 2, lower, lower + 1])
    expected = np.concatenate([expected, expected | 1 << (fmt.bits - 1)])
    z = codes_of(row(x), fmt, rng)
    assert z.scales.item() == 1
    assert z.codes.ravel()[: len(x)].tolist() == expected.tolist()


def test_saturation_and_single_rounding(rng):
    """464 is as near to 448 as to the 480 that the type lacks; f16 would round 1.0625 + 2^-20 to a tie first."""
    clip = 2.0**-11
    fmt = kvq.Format(f"codes = f8E4M3FN, group = [1, *], scale = f32, range = clip<{clip}>")
    x = [448, 464, 465, 500, 1e5, -1e5, 448 / clip, -448 / clip, 1.0625, 1.0625 + 2**-20, 1.1875, 447.9]
    z = codes_of(row(np.array(x, np.float32)), fmt, rng)
    expected = [448, 448, 448, 448, 448, -448, 448, -448, 1, 1.125, 1.25, 448]
    assert kvq.dequantize(z).ravel()[: len(x)].tolist() == expected


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_ties_of_integers(bits, rng):
    """Halves between codes go to the even one, one ulp of f32 off them to the nearer one."""
    fmt = kvq.Format(f"codes = i{bits}, group = [1, *], scale = f32")
    top = 2 ** (bits - 1) - 1
    middles = np.arange(-top, top, dtype=np.float32) + np.float32(0.5)
    inf = np.float32(np.inf)
    x = np.concatenate([[top], middles, np.nextafter(middles, -inf), np.nextafter(middles, inf)]).astype(np.float32)
    expected = np.concatenate([[top], np.round(middles), middles - 0.5, middles + 0.5])
    z = codes_of(row(x), fmt, rng)  # the largest is there: the scale is 1
    assert z.scales.item() == 1 and z.codes.ravel()[: len(x)].tolist() == expected.tolist()


def test_zero_points():
    """Ends of -40 and 980 are clipped to -20 and 490: scale 2, zero point 10."""
    fmt = kvq.Format("codes = ui8, group = [1, *], scale = f32, zero = point ui8, range = clip<0.5>")
    x = row(np.array([-40, 3.9, 0, 980, 600, -20, 490], np.float32))
    z = kvq.quantize(x, fmt)
    assert (z.scales.item(), z.zeros.item(), z.zeros.dtype) == (2, 10, np.uint8)
    assert z.codes.ravel()[:7].tolist() == [0, 12, 10, 255, 255, 0, 255]
    assert not kvq.dequantize(z)[x == 0].any()


@pytest.mark.parametrize("codes, scale", [("i8", "f8E8M0FNU"), ("f4E2M1FN", "f8E8M0FNU"), ("i5", "f8E4M3FN")])
def test_scales_that_round_up_leave_nothing_to_saturate(codes, scale, rng):
    fmt = kvq.Format(f"codes = {codes}, group = [1, 16], scale = {scale}")
    x = rng.standard_normal((1, 2, 200, 64), np.float32)
    x *= np.exp2(rng.integers(-5, 6, (1, 2, 200, 1))).astype(np.float32)
    z = kvq.quantize(x, fmt)
    largest = np.abs(x).reshape(*z.scales.shape, 16).max(-1)
    top = reference.Format.parse(str(fmt)).codes.largest
    assert np.all(reference.decode_metadata(z.scales, reference.Format.parse(str(fmt)).scale) * top >= largest)


@pytest.mark.parametrize("bits", [3, 5, 6])
def test_packed_parts(bits):
    """The low part of all codes, then the rest, each planar."""
    fmt = kvq.Format(f"codes = ui{bits}, group = [1, *], scale = f32, zero = min f32")
    codes = np.random.default_rng(3).permutation(2**bits)[:8]
    codes[:2] = 0, 2**bits - 1  # minimum 0, scale 1: the codes are the values
    low = 2 if bits == 3 else 4
    expected = []
    for first, width in ((0, low), (low, bits - low)):
        parts, bytes_ = codes >> first & (2**width - 1), width
        expected += [sum(int(parts[j + p * bytes_]) << p * width for p in range(8 // width)) for j in range(bytes_)]
    z = kvq.quantize(codes.astype(np.float32).reshape(1, 1, 1, 8), fmt)
    assert z.codes.ravel().tolist() == codes.tolist()
    assert z.packed.ravel().tolist() == expected


def test_storage_shows_bits_of_types_that_numpy_lacks():
    text = "codes = ui4, group = [1, 16], scale = {}, zero = {}"
    for scale, zero, dtypes in (
        ("bf16", "point ui8", (np.uint16, np.uint8)),
        ("f8E8M0FNU", "point i8", (np.uint8, np.int8)),
        ("f8E4M3FN", "min bf16", (np.uint8, np.uint16)),
    ):
        storage = kvq.Cache(1, 2, 8, 64, kvq.Format(text.format(scale, zero))).storage()
        assert (storage["scales"].dtype, storage["zeros"].dtype) == dtypes
