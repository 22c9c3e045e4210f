"""The reference's formats beyond 2, 4 and 8 bit integers, against published and hand-worked values ("case n")."""

from fractions import Fraction

import numpy as np
import pytest
from conftest import fresh_rng
from kvq_mlir import reference
from kvq_mlir.reference import Cache, Calibration, FloatType, Format


def fmt(text: str) -> Format:
    return Format.parse(text)


def row(values) -> np.ndarray:
    """One token of one head."""
    return np.asarray(values, np.float32).reshape(1, 1, 1, -1)


def one_group(values, text: str, dtype: str = "f32", **given):
    """Quantize one row as one token of one head: (codes, stored scale, stored zero), of the first group."""
    codes, scales, zeros = reference.quantize(row(values), fmt(text), dtype, Calibration(**given) if given else None)
    return codes.flatten().tolist(), scales.flat[0].item(), None if zeros is None else zeros.flat[0].item()


def round_trip(values, text: str, dtype: str = "f32", **given) -> list[float]:
    f, calibration = fmt(text), Calibration(**given) if given else None
    return (
        reference.dequantize(*reference.quantize(row(values), f, dtype, calibration), f, calibration).flatten().tolist()
    )


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
    assert codes.flatten().tolist() == [
        *range(kind.last + 1),
        *(2 ** (kind.bits - 1) + i for i in range(kind.last + 1)),
    ]
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


# --- scale types ---------------------------------------------------------------------------------------------------


def test_e8m0_values():
    e8m0 = FloatType.named("f8E8M0FNU")
    assert e8m0.decode(np.uint8([0, 1, 127, 128, 254])).tolist() == [2.0**-127, 2.0**-126, 1, 2, 2.0**127]
    assert np.isnan(e8m0.decode(np.uint8([0xFF]))).all()
    assert e8m0.up(np.float32([1, 1.0000001, 2, 2.0**-149, 3e38, np.nan])).tolist() == [127, 128, 128, 0, 254, 255]


def test_e8m0_scales_are_rounded_up_to_a_power_of_two():
    text = "codes = i4, group = [1, *], scale = f8E8M0FNU"
    assert one_group([7, -3], text) == ([7, -3], 127, None)  # 7/7 = 1
    assert one_group([1, -0.25], text) == ([4, -1], 125, None)  # 1/7 becomes 1/4
    assert one_group([8, 3], text) == ([4, 2], 128, None)  # 8/7 becomes 2; 3/2 is a tie
    assert one_group([7 * 2.0**-127, 2.0**-126], text) == ([7, 2], 0, None)
    assert one_group([2.0**-149], text) == ([0], 0, None)
    # max(f32)/7 is above 2^125; 7 * 2^126 is beyond f32, so the cap is 2^125.
    assert one_group([np.inf, 0], text) == ([7, 0], 252, None)
    # There is no scale 0: zeros are zero at the smallest scale.
    assert one_group([0, -0.0], text) == ([0, 0], 0, None)
    assert round_trip([0, -0.0], text) == [0, 0]
    assert one_group([np.nan, 1], text) == ([0, 0], 0xFF, None)


def test_microscaling_of_a_published_block():
    # OCP MX, E = floor(log2 7) - 8 + 127; 7/448 is that power of two itself.
    x = [1, -2.5, 0.3, 7, 0, -0.0625]
    codes, scale, _ = one_group(x, "codes = f8E4M3FN, group = [1, *], scale = f8E8M0FNU")
    assert (bytes(codes).hex(), scale) == ("68f25a7e00c8", 0x79)


def test_bf16_scales():
    text = "codes = i2, group = [1, *], scale = bf16"
    assert one_group([257, 128.5], text) == ([1, 1], 0x4380, None)  # tie between 256 and 258; 128.5/256 is above 1/2
    assert one_group([259, 0], text) == ([1, 0], 0x4382, None)  # 260
    assert one_group([2.0**-149, 0], text) == ([0, 0], 0x0001, None)  # rounded up to 2^-133
    assert one_group([10 * 2.0**-133], "codes = i4, group = [1, *], scale = bf16") == ([5], 2, None)
    assert one_group([np.nan], text)[1] == 0x7FC0
    # max(f32)/127 is above the bf16 value 258/256 * 2^121; 127 times the next one, 260/256 * 2^121, is beyond f32.
    codes, scale, _ = one_group([np.inf], "codes = i8, group = [1, *], scale = bf16")
    assert (codes, FloatType.named("bf16").decode(np.uint16([scale])).item()) == ([127], 258 / 256 * 2.0**121)


def test_e4m3_scales_round_up_only_for_integers_wider_than_4_bits():
    # 1.0625 is half way between 1 and 1.125.
    assert one_group([7 * 1.0625, 1], "codes = i4, group = [1, *], scale = f8E4M3FN") == ([7, 1], 0x38, None)
    assert one_group([15 * 1.0625, 1], "codes = i5, group = [1, *], scale = f8E4M3FN") == ([14, 1], 0x39, None)
    text = "codes = ui4, group = [1, *], scale = f8E4M3FN, zero = min f16"
    assert one_group([1, 1 + 15 * 1.0625, 2], text) == ([0, 15, 1], 0x38, 1.0)
    assert one_group([6 * 1.0625, 1], "codes = f4E2M1FN, group = [1, *], scale = f8E4M3FN") == ([7, 2], 0x38, None)
    assert one_group([10 * 2.0**-9], "codes = i4, group = [1, *], scale = f8E4M3FN") == ([5], 2, None)
    assert one_group([1e6, 448], "codes = i8, group = [1, *], scale = f8E4M3FN") == ([127, 1], 0x7E, None)
    assert one_group([0], "codes = i8, group = [1, *], scale = f8E4M3FN") == ([0], 0, None)


@pytest.mark.parametrize("scale", ["f8E8M0FNU", "f8E4M3FN"])
@pytest.mark.parametrize("codes", ["i5", "i6", "i8"])
def test_nothing_saturates_under_scales_that_round_up(scale, codes):
    x = fresh_rng().uniform(1e-3, 400, (1, 1, 500, 1)).astype(np.float32)
    f = fmt(f"codes = {codes}, group = [1, 1], scale = {scale}")
    c, scales, _ = reference.quantize(x, f, "f32")
    scales = reference.decode_metadata(scales, f.scale).astype(np.float64)
    assert np.all(x <= scales * f.codes.highest * (1 + 2.0**-23))
    # It is the smallest that covers: the one below does not (or is below 2^-6, where e4m3 has other steps).
    assert np.all(x > scales / 2 * f.codes.highest) or scale == "f8E4M3FN"


def test_bf16_minimum():
    # 257 is stored as 256 = 4380. Extent 30, scale 2; from 256: 1/2 is a tie, 31/2 = 15.5 is clamped.
    text = "codes = ui4, group = [1, *], scale = f16, zero = min bf16"
    assert one_group([257, 287, 260], text) == ([0, 15, 2], 2.0, 0x4380)
    assert round_trip([257, 287, 260], text) == [256, 286, 260]


def test_decode_metadata():
    assert reference.decode_metadata(np.uint16([0x3F80, 0xC020]), FloatType.named("bf16")).tolist() == [1, -2.5]
    assert reference.decode_metadata(np.uint8([126, 200]), FloatType.named("f8E8M0FNU")).tolist() == [0.5, 2.0**73]
    assert reference.decode_metadata(np.uint8([0x8F, 200]), reference.CodeType(8, False)).tolist() == [
        143,
        200,
    ]  # case 10
    with pytest.raises(TypeError, match="bf16 as uint16, got float32"):
        reference.decode_metadata(np.float32([1]), FloatType.named("bf16"))


# --- two-level scales ----------------------------------------------------------------------------------------------

NVFP4 = "codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32"
NVFP4_BLOCK = 0.5 * np.float32([0, 0.5, 1, -1.5, 2, 3, -4, 6, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, -6])


@pytest.mark.parametrize("outer, stored", [(1, 0x30), (2.0**-3, 0x48), (2.0**5, 0x08)])
def test_two_level_scale_of_a_published_block(outer, stored):
    codes, scale, _ = one_group(NVFP4_BLOCK, NVFP4, outer=np.float32([outer]))
    assert codes == [0, 1, 2, 0xB, 4, 5, 0xE, 7, 0, 2, 2, 4, 4, 6, 6, 0xF]
    assert scale == stored


def test_codes_divide_by_the_rounded_product_of_both_scales():
    # Outer 1/3 in f32 is 11184811 * 2^-25. 6/6/outer = 3 - 2^-23 -> 3. The product with 3 is 1 + 2^-25: 1 in f32.
    outer = np.float32([1 / 3])
    x = [6, 1.25, 0.75]
    codes, scale, _ = one_group(x + [0] * 13, NVFP4, outer=outer)
    assert (codes[:3], scale) == ([7, 2, 2], FloatType.named("f8E4M3FN").nearest(np.float32([3])).item())
    assert round_trip(x + [0] * 13, NVFP4, outer=outer)[:3] == [6, 1, 1]


def test_the_outer_scale_divides_after_the_largest_code():
    # Just below the middle of two scales if divided by 6 first, a tie that goes up if divided by the outer scale first.
    outer, a = np.float32(2.01979660987854), np.float32(3.2190511226654053)
    e4m3 = FloatType.named("f8E4M3FN")
    assert [e4m3.nearest(s).item() for s in (a / np.float32(6) / outer, a / outer / np.float32(6))] == [0x28, 0x29]
    assert one_group([a] + [0] * 15, NVFP4, outer=np.float32([outer]))[1] == 0x28


def test_outer_scales_are_per_head_or_shared():
    x = np.zeros((1, 2, 1, 16), np.float32)
    x[..., 0] = 6
    per_head, shared = np.float32([1, 0.25]), np.float32([0.5])
    for outer, stored in ((per_head, [0x38, 0x48]), (shared, [0x40, 0x40])):
        given = Calibration(outer=outer)
        codes, scales, _ = reference.quantize(x, fmt(NVFP4), "f16", given)
        assert scales.flatten().tolist() == stored
        assert np.array_equal(reference.dequantize(codes, scales, None, fmt(NVFP4), given), x)
        cache = Cache(fmt(NVFP4), 1, 2, 16, 4, calibration=given)
        cache.append(x)
        assert np.array_equal(cache.values64(0), x[0])


def test_inner_scales_at_the_ends():
    # Beyond 448, clamped; below 2^-6, rounded up: 10/6 * 2^-9 is 2 units; a group that underflows keeps one unit.
    assert one_group([6e4] + [0] * 15, NVFP4, outer=np.float32([1]))[:2] == ([7] + [0] * 15, 0x7E)
    assert one_group([10 * 2.0**-9] + [0] * 15, NVFP4, outer=np.float32([1]))[1] == 2
    assert one_group([1e-30] + [0] * 15, NVFP4, outer=np.float32([2.0**60]))[:2] == ([0] * 16, 1)
    assert one_group([0] * 16, NVFP4, outer=np.float32([1]))[:2] == ([0] * 16, 0)


@pytest.mark.parametrize(
    "outer, message",
    [
        (None, "needs a given 'outer'"),
        ([0], "2\\^-100"),
        ([-1], "2\\^-100"),
        ([np.nan], "2\\^-100"),
        ([np.inf], "2\\^-100"),
        ([1, 1, 1], r"\(2,\) or \(1,\), got \(3,\)"),
    ],
)
def test_case_14_outer_scale_missing_or_unusable(outer, message):
    given = None if outer is None else Calibration(outer=np.float32(outer))
    with pytest.raises(ValueError, match=message):
        Cache(fmt(NVFP4), 1, 2, 16, 4, calibration=given)
    with pytest.raises(ValueError, match="no use for"):
        Cache(fmt("codes = i4, group = [1, 16], scale = f32"), 1, 2, 16, 4, calibration=Calibration(np.float32([1])))


@pytest.mark.parametrize(
    "text, message",
    [
        ("codes = i4, group = [1, 32], scale = f8E5M2", "unknown type 'f8E5M2' of the scale"),
        ("codes = i4, group = [1, 32], scale = f16 of f32", "unknown two-level scale 'f16 of f32'"),
        ("codes = i4, group = [1, 32], scale = f8E4M3FN of f16", "expected f8E4M3FN of f32"),
        ("codes = ui4, group = [1, 32], scale = f16, zero = min f8E4M3FN", "unknown type 'f8E4M3FN' of zero = min"),
        ("codes = ui4, group = [1, 32], scale = f16, zero = min ui8", "unknown type 'ui8' of zero = min"),
        ("codes = ui8, group = [1, 32], scale = f16, zero = point i8", "up to 127.*reach 255"),
        ("codes = i8, group = [1, 32], scale = f16, zero = point i8", "needs unsigned codes, got i8"),
    ],
)
def test_scale_and_zero_errors(text, message):
    with pytest.raises(ValueError, match=message):
        fmt(text)


@pytest.mark.parametrize(
    "text",
    [NVFP4, "codes = i4, group = [1, 32], scale = bf16", "codes = ui8, group = [4, 1], scale = f16, zero = point ui8"],
)
def test_text_round_trips(text):
    assert str(fmt(text)) == text and fmt(str(fmt(text))) == fmt(text)


# --- zero points ---------------------------------------------------------------------------------------------------

B = [-3, -1, 0, 1, 2.5, 4.5, 12, 7.4]  # extent 15, the block of the layouts' vectors


@pytest.mark.parametrize("kind", ["i8", "ui8", "f16", "f32"])
def test_zero_point(kind):
    # Scale 1, zero point 3; 2.5 + 3 and 4.5 + 3 are ties.
    text = f"codes = ui4, group = [1, *], scale = f16, zero = point {kind}"
    assert one_group(B, text) == ([0, 2, 3, 4, 6, 8, 15, 10], 1.0, 3)
    assert round_trip(B, text) == [-3, -1, 0, 1, 3, 5, 12, 7]


def test_range_of_a_zero_point_contains_zero():
    text = "codes = ui4, group = [1, *], scale = f32, zero = point ui8"
    assert one_group([15, 30], text) == ([8, 15], 2.0, 0)  # 0 ... 30; 7.5 goes to 8
    assert one_group([-30, -15], text) == ([0, 8], 2.0, 15)
    assert one_group([0, -0.0], text) == ([0, 0], 0.0, 0)


def test_integer_zero_points_are_rounded_to_even_and_float_ones_kept():
    # -2.5 ... 12.5: scale 1, zero point 2.5.
    assert one_group([-2.5, 12.5, 1], "codes = ui4, group = [1, *], scale = f16, zero = point i8") == ([0, 14, 3], 1, 2)
    got = one_group([-2.5, 12.5, 1], "codes = ui4, group = [1, *], scale = f16, zero = point f16")
    assert got == ([0, 15, 4], 1, 2.5)
    assert round_trip([-2.5, 12.5, 1], "codes = ui4, group = [1, *], scale = f16, zero = point f16") == [
        -2.5,
        12.5,
        1.5,
    ]
    # The stored scale counts: -1 ... 2 has scale 1638/8192 in f16, zero point 5.0012, of which f16 keeps 5.
    text = "codes = ui4, group = [1, *], scale = f16, zero = point "
    assert one_group([-1, 2], text + "f32")[2] == float(np.float32(8192) / np.float32(1638))
    assert one_group([-1, 2], text + "f16")[2] == 5


def test_codes_add_the_zero_point_to_the_rounded_quotient():
    # -9 ... 36: scale 3, zero point 3. (16.5 + 2^-19)/3 is 5.5 + 2^-21; with 3 a tie of 8.5 and 8.5 + 2^-20, so 8.5.
    text = "codes = ui4, group = [1, *], scale = f32, zero = point ui8"
    assert one_group([-9, 36, 16.5 + 2.0**-19], text) == ([0, 15, 8], 3, 3)


def test_zero_points_are_never_minus_zero():
    f = fmt("codes = ui4, group = [1, *], scale = f16, zero = point f16")
    for x in ([0, 15], [-0.0, 15], [0, -0.0]):
        assert reference.quantize(row(x), f)[2].view(np.uint16).item() == 0


def test_case_10_zero_points_of_128_and_more():
    text = "codes = ui8, group = [1, *], scale = f16, zero = point ui8"
    assert one_group([-200, 55, 0], text) == ([0, 255, 200], 1, 200)
    assert round_trip([-200, 55, 0], text) == [-200, 55, 0]


def test_case_55_scale_2_zero_point_10():
    text = "codes = ui8, group = [1, *], scale = f16, zero = point ui8"
    assert one_group([-20, 490, 3.9], text) == ([0, 255, 12], 2, 10)


def test_zero_points_at_the_ends():
    # The scale stops at 65504, so that the zero point would be 1.5e5: integers stop at the largest code.
    text = "codes = ui4, group = [1, *], scale = f16, zero = point "
    assert one_group([-1e10, 0], text + "ui8") == ([0, 15], 65504, 15)
    assert one_group([-1e10, 0], text + "f16") == ([0, 15], 65504, 65504)
    codes, scale, zero = one_group([np.nan, 1], text + "f16")
    assert (codes, zero) == ([0, 0], 0) and np.isnan(scale)
