"""The reference's formats beyond 2, 4 and 8 bit integers, against published and hand-worked values ("case n")."""

import secrets
from fractions import Fraction

import numpy as np
import pytest

from kvq_mlir import reference
from kvq_mlir.reference import Cache, FloatType, Format


def fmt(text: str) -> Format:
    return Format.parse(text)


def fresh_rng() -> np.random.Generator:
    seed = secrets.randbits(32)
    print(f"seed {seed}")  # shown by pytest when the test fails
    return np.random.default_rng(seed)


def row(values) -> np.ndarray:
    """One token of one head."""
    return np.asarray(values, np.float32).reshape(1, 1, 1, -1)


# --- small floating-point types ------------------------------------------------------------------------------------

# Patterns and their values, from the OCP specifications.
PUBLISHED = {
    "f8E4M3FN": {0x01: 2**-9, 0x07: 7 * 2**-9, 0x08: 2**-6, 0x38: 1, 0x39: 1.125, 0x7E: 448, 0xFE: -448},
    "f8E5M2": {0x01: 2**-16, 0x03: 3 * 2**-16, 0x04: 2**-14, 0x3C: 1, 0x3D: 1.25, 0x7B: 57344, 0xFB: -57344},
    "f6E2M3FN": {0x01: 0.125, 0x07: 0.875, 0x08: 1, 0x09: 1.125, 0x10: 2, 0x1F: 7.5, 0x3F: -7.5},
    "f6E3M2FN": {0x01: 0.0625, 0x03: 0.1875, 0x04: 0.25, 0x0C: 1, 0x0D: 1.25, 0x1F: 28, 0x3F: -28},
    "f4E2M1FN": {0: 0, 1: 0.5, 2: 1, 3: 1.5, 4: 2, 5: 3, 6: 4, 7: 6, 9: -0.5, 15: -6},
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_values_of_small_floats(name):
    kind = FloatType.named(name)
    for pattern, value in PUBLISHED[name].items():
        assert kind.decode(np.uint8([pattern])).item() == value
        assert kind.nearest(np.float32([value])).item() == pattern


def test_specials_of_small_floats():
    e4m3, e5m2, bf16 = (FloatType.named(name) for name in ("f8E4M3FN", "f8E5M2", "bf16"))
    assert np.isnan(e4m3.decode(np.uint8([0x7F, 0xFF]))).all()
    assert e5m2.decode(np.uint8([0x7C, 0xFC])).tolist() == [np.inf, -np.inf]
    assert np.isnan(e5m2.decode(np.uint8([0x7D, 0xFF]))).all()
    assert bf16.decode(np.uint16([0x7F80, 0x3F80])).tolist() == [np.inf, 1]
    assert [kind.nearest(np.float32([np.nan])).item() for kind in (e4m3, e5m2, bf16)] == [0x7F, 0x7E, 0x7FC0]


def test_rounding_to_f4():
    # Thresholds of E2M1: <= .25 -> 0, < .75 -> .5, <= 1.25 -> 1, < 1.75 -> 1.5, <= 2.5 -> 2, < 3.5 -> 3, <= 5 -> 4.
    x = [0.25, 0.26, 0.74, 0.75, 1.25, 1.26, 1.74, 1.75, 2.5, 2.51, 3.49, 3.5, 5, 5.01, 6, 7, 8, 1e30]
    want = [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7, 7, 7]
    f4 = FloatType.named("f4E2M1FN")
    assert f4.nearest(np.float32(x)).tolist() == want
    assert f4.nearest(-np.float32(x)).tolist() == [8 | c for c in want]


@pytest.mark.parametrize("name", [*PUBLISHED, "bf16", "f16"])
def test_rounding_is_nearest_even_around_every_midpoint(name):
    # Case 8, for every type: one f32 step below, at and above each midpoint, against exact fractions.
    kind = FloatType.named(name)
    patterns = range(kind.last) if kind.bits <= 8 else fresh_rng().integers(0, kind.last, 300)
    for low in patterns:
        low = int(low)
        middle = np.float32((kind.value(low) + kind.value(low + 1)) / 2)
        assert Fraction(float(middle)) * 2 == Fraction(kind.value(low)) + Fraction(kind.value(low + 1))
        around = np.float32([np.nextafter(middle, np.float32(0)), middle, np.nextafter(middle, np.float32(np.inf))])
        assert kind.nearest(around).tolist() == [low, low + low % 2, low + 1]


def test_bf16_rounds_as_adding_half_to_the_f32_pattern():
    bits = fresh_rng().integers(0, 0x7F7F0000, 10000).astype(np.uint32)
    expected = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    assert np.array_equal(FloatType.named("bf16").encode(bits.view(np.float32)), expected)


# --- float codes ---------------------------------------------------------------------------------------------------


def float_codes(values, name: str, scale: str = "f32"):
    codes, scales, _ = reference.quantize(row(values), fmt(f"codes = {name}, group = [1, *], scale = {scale}"), "f32")
    return codes.flatten().tolist(), float(scales.item())


@pytest.mark.parametrize("name, largest", [("f8E4M3FN", 448), ("f8E5M2", 57344), ("f6E2M3FN", 7.5), ("f4E2M1FN", 6)])
def test_float_codes_span_the_largest_magnitude(name, largest):
    top = FloatType.named(name).last
    codes, scale = float_codes([2 * largest, -largest, -0.0, 0], name)
    half = FloatType.named(name).nearest(np.float32([-largest / 2])).item()
    assert (codes, scale) == ([top, half, 2 ** (FloatType.named(name).bits - 1), 0], 2.0)


def test_case_7_float_codes_saturate():
    # An f16 scale stops at 65504: quotients 448, 464, 465, 500 and +-1e6 all become the largest code.
    x = np.array([448, 464, 465, 500, 1e6, -1e6]) * 65504
    assert float_codes(x, "f8E4M3FN", "f16") == ([0x7E] * 5 + [0xFE], 65504.0)
    # Infinities become the end of T; a NaN makes the scale NaN.
    assert float_codes([np.inf, -np.inf, 0], "f8E4M3FN")[0] == [0x7E, 0xFE, 0]
    codes, scale = float_codes([np.nan, 448], "f8E4M3FN")
    assert codes == [0, 0] and np.isnan(scale)


def test_case_8_float_codes_are_rounded_once():
    # 448 gives scale 1. Rounded to f16 first, 1.0625 + 2^-20 would be the tie 1.0625 and go to 1.
    codes, scale = float_codes([448, 1.0625 + 2.0**-20, 1.0625, 1.1875], "f8E4M3FN")
    assert (codes, scale) == ([0x7E, 0x39, 0x38, 0x3A], 1.0)


def test_values_of_float_codes():
    f = fmt("codes = f6E3M2FN, group = [1, *], scale = f16")
    codes, scales, zeros = reference.quantize(row([56, -2.5, 0.125, 0]), f)
    assert codes.flatten().tolist() == [0x1F, 0x2D, 0x01, 0]
    assert reference.dequantize(codes, scales, zeros, f).flatten().tolist() == [56, -2.5, 0.125, 0]
    packed = reference.pack(codes, f.codes.bits)
    assert packed.shape == (1, 1, 1, 3)
    assert np.array_equal(reference.unpack(packed, 6, signed=False), codes)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_float_code_round_trips(name):
    kind = FloatType.named(name)
    values = np.concatenate([kind.table, -kind.table]).astype(np.float32)
    f = fmt(f"codes = {name}, group = [1, *], scale = f32")
    codes, scales, _ = reference.quantize(row(values * 4), f, "f32")
    assert codes.flatten().tolist() == [*range(kind.last + 1), *(2 ** (kind.bits - 1) + i for i in range(kind.last + 1))]
    assert np.array_equal(reference.dequantize(codes, scales, None, f), row(values * 4))


def test_float_codes_have_no_zero():
    with pytest.raises(ValueError, match="needs unsigned codes, got f8E4M3FN"):
        fmt("codes = f8E4M3FN, group = [1, 32], scale = f16, zero = min f16")


def test_a_bf16_cache_holds_bf16_elements():
    # bf16 has steps of 2 at 256: 257 is a tie and goes to 256, 259 to 260.
    cache = Cache(fmt("codes = none"), 1, 1, 4, 8, dtype="bf16")
    cache.append(row([257, 259, np.inf, -1]))
    assert cache.values64(0).tolist() == [[[256, 260, 255 * 2.0**120, -1]]]
    cache = Cache(fmt("codes = i8, group = [1, *], scale = f32"), 1, 1, 2, 8, dtype="bf16")
    cache.append(row([255, 254]))
    assert cache.scales(0).item() == np.float32(255) / np.float32(127)
