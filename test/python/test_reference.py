"""The reference against values worked out by hand from docs and from the known faults of other systems ("case n")."""

import math

import numpy as np
import pytest
from conftest import fresh_rng
from kvq_mlir import metrics, reference
from kvq_mlir.reference import Cache, Format

F32_LARGEST = (2**24 - 1) * 2.0**104
UNIT = 2.0**-24  # the smallest positive f16


def fmt(text: str) -> Format:
    return Format.parse(text)


def one_group(values, text: str, dtype: str = "f32"):
    """Quantize one row as one token of one head: (codes, scale, zero), of the first group."""
    x = np.asarray(values, np.float32).reshape(1, 1, 1, -1)
    codes, scales, zeros = reference.quantize(x, fmt(text), dtype)
    return codes[0, 0, 0].tolist(), float(scales.flat[0]), None if zeros is None else float(zeros.flat[0])


def round_trip(x, text: str, dtype: str = "f32") -> np.ndarray:
    f = fmt(text)
    return reference.dequantize(*reference.quantize(np.asarray(x, np.float32), f, dtype), f)


# --- the text notation ---------------------------------------------------------------------------------------------


def test_parse_fields_and_defaults():
    f = fmt("codes = ui4, group = [32, 1], scale = f16, zero = min f32")
    assert (f.codes.bits, f.codes.signed, f.codes.lowest, f.codes.highest) == (4, False, 0, 15)
    assert (f.group, f.scale.name, f.zero.kind, f.zero.type.name) == ((32, 1), "f16", "min", "f32")
    assert f.range == "minmax"
    f = fmt("codes=i8,group=[1,*],scale=f32")
    assert (f.codes.lowest, f.codes.highest, f.group, f.range) == (-127, 127, (1, None), "absmax")
    assert fmt("codes = none").codes is None


def test_fields_come_in_any_order_and_print_canonically():
    f = fmt("range = minmax, zero = min f16, scale = f16, group = [32, 1], codes = ui4")
    assert str(f) == "codes = ui4, group = [32, 1], scale = f16, zero = min f16"
    assert fmt(str(f)) == f


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "expected 'field = value'"),
        ("codes = i4, group = [1, 32], scale = f16,", "expected 'field = value'"),
        ("group = [1, 32], scale = f16", "expected 'codes"),
        ("codes = i9, group = [1, 32], scale = f16", "unknown codes 'i9'"),
        ("codes = i4, group = [1, 32]", "needs 'scale'"),
        ("codes = i4, scale = f16", "needs 'group'"),
        ("codes = i4, codes = i4, group = [1, 32], scale = f16", "'codes' is given twice"),
        ("codes = i4, group = [1, 32], scale = f16, size = 3", "unknown field 'size'"),
        ("codes = i4, group = [1, 0], scale = f16", "at least one"),
        ("codes = i4, group = [1], scale = f16", r"expected group = \[tokens, channels\]"),
        ("codes = i4, group = [*, 1], scale = f16", "static range"),
        ("codes = i4, group = [1, 32], scale = f64", "unknown type 'f64'"),
        ("codes = i4, group = [1, 32], scale = f16, zero = min f16", "needs unsigned codes, got i4"),
        ("codes = ui4, group = [1, 32], scale = f16", "ui4 need a zero"),
        ("codes = ui4, group = [1, 32], scale = f16, zero = max f16", "unknown zero 'max f16'"),
        ("codes = ui4, group = [1, 32], scale = f16, zero = min", "unknown zero 'min'"),
        ("codes = ui4, group = [1, 32], scale = f16, zero = min f16, range = absmax", "range = absmax does not fit"),
        ("codes = i4, group = [1, 32], scale = f16, range = minmax", "range = minmax does not fit"),
        ("codes = i4, group = [1, 32], scale = f16, range = widest", "unknown range 'widest'"),
        ("codes = none, scale = f16", "codes = none stores elements exactly and has no scale"),  # case 15
    ],
)
def test_parse_errors(text, message):
    with pytest.raises(ValueError, match=message):
        fmt(text)


# --- elements ------------------------------------------------------------------------------------------------------


def test_elements_are_rounded_once_to_nearest_even_and_saturate():
    # f16 has integers up to 2048, then every other one; 65520 is half way to the value after 65504.
    x = np.array([2049, 2051, 65519, 65520, 1e30, np.inf, -np.inf, 2.0**-25, 3 * 2.0**-26, -0.0], np.float32)
    y = reference.to_element(x, "f16")
    assert y.dtype == np.float16
    assert y.tolist() == [2048, 2052, 65504, 65504, 65504, 65504, -65504, 0, UNIT, 0]
    assert np.signbit(y[-1])
    assert reference.to_element(np.float32([np.inf, -np.inf]), "f32").tolist() == [F32_LARGEST, -F32_LARGEST]
    assert np.isnan(reference.to_element(np.float32([np.nan]), "f16")[0])


def test_elements_of_other_types_are_refused():
    with pytest.raises(TypeError, match="float64"):
        reference.to_element(np.zeros(1), "f16")
    with pytest.raises(ValueError, match="unknown type 'f8'"):
        reference.to_element(np.zeros(1, np.float32), "f8")


# --- symmetric codes -----------------------------------------------------------------------------------------------


def test_symmetric_ties_go_to_even():
    # absmax 7, scale 7/7 = 1.
    got = one_group([7, 3.5, -2.5, 0.5, -0.5, 4.5, -7, 1.5], "codes = i4, group = [1, *], scale = f16")
    assert got == ([7, 4, -2, 0, 0, 4, -7, 2], 1.0, None)


def test_codes_divide_by_the_stored_scale():
    # 1/7 = 1170.29/8192 is stored as 1170/8192. 1609/2048 = 6436/8192 is 5.4995 sevenths, but 6436/1170 = 5.5009.
    codes, scale, _ = one_group([1, 1609 / 2048], "codes = i4, group = [1, *], scale = f16")
    assert (codes, scale) == ([7, 6], 1170 / 8192)
    codes, _, _ = one_group([1, 1609 / 2048], "codes = i4, group = [1, *], scale = f32")
    assert codes == [7, 5]


def test_input_is_rounded_to_the_element_type_first():
    # In f16, 2049 is 2048, so the scale is 2048; in f32 it is 2049.
    # f16 rounds 1024.25 to 1024: half of 2048, a tie, which goes to 0.
    text = "codes = i2, group = [1, *], scale = f32"
    assert one_group([2049, 1024.25], text, "f16") == ([1, 0], 2048.0, None)
    assert one_group([2048, 1024.25], text, "f32") == ([1, 1], 2048.0, None)
    assert one_group([2049, 0], text, "f32")[1] == 2049.0


def test_groups_are_separate():
    x = np.zeros((1, 2, 4, 4), np.float32)
    x[0, 1] = [[1, 0, 4, 0], [2, 0, 0, 8], [0, 3, 0, 0], [0, 0, 16, 0]]
    # Tokens in pairs, channels in pairs; i2 has highest code 1, so a scale is the largest magnitude of its group.
    _, scales, _ = reference.quantize(x, fmt("codes = i2, group = [2, 2], scale = f16"))
    assert scales.tolist() == [[[[0, 0], [0, 0]], [[2, 8], [3, 16]]]]
    _, scales, _ = reference.quantize(x, fmt("codes = i2, group = [4, 1], scale = f16"))
    assert scales[0, 1].tolist() == [[2, 3, 16, 8]]
    _, scales, _ = reference.quantize(x, fmt("codes = i2, group = [1, *], scale = f16"))
    assert scales[0, 1].tolist() == [[4], [8], [3], [16]]


# --- codes with a real minimum -------------------------------------------------------------------------------------


def test_minimum():
    # Extent 3, scale 0.2 = 1638.4/8192, stored 1638/8192; quotients 0, 5.0012, 7.5018, 15.0037.
    text = "codes = ui4, group = [1, *], scale = f16, zero = min f16"
    x = [-1, 0, 0.5, 2]
    assert one_group(x, text) == ([0, 5, 8, 15], 1638 / 8192, -1.0)
    values = round_trip(np.reshape(x, (1, 1, 1, 4)), text)
    assert values.dtype == np.float32
    assert values.flatten().tolist() == [-1, 5 * 1638 / 8192 - 1, 8 * 1638 / 8192 - 1, 15 * 1638 / 8192 - 1]


def test_codes_subtract_the_stored_minimum_but_the_scale_spans_the_unrounded_one():
    # f16 stores 2049 as 2048. Scale (2064 - 2049)/15 = 1. Quotients from 2048: 1, 16 (clamped), 8.
    text = "codes = ui4, group = [1, *], scale = f16, zero = min f16"
    assert one_group([2049, 2064, 2056], text) == ([1, 15, 8], 1.0, 2048.0)


def test_minimum_beyond_its_type_is_clamped():
    # Scale 2e6/15 and zero -1e6 both become the end of f16: (1e6 + 65504)/65504 = 16.3, (0 + 65504)/65504 = 1.
    text = "codes = ui4, group = [1, *], scale = f16, zero = min f16"
    assert one_group([-1e6, 0, 1e6], text) == ([0, 1, 15], 65504.0, -65504.0)
    # A group that lies below f16: scale 1e5/15 = 6666.7, of which f16 stores 6668; all codes saturate at 0.
    assert one_group([-1e6, -9e5], text) == ([0, 0], 6668.0, -65504.0)
    # One that lies above: from 65504, (9e5 - 65504)/6668 = 125.
    assert one_group([9e5, 1e6], text) == ([15, 15], 6668.0, 65504.0)


def test_scale_and_minimum_have_their_own_types():
    # Minimum 2049, extent 3 * 2051. f16 has steps of 2 there: it stores 2048 and 2052.
    for scale, zero, stored in (("f16", "f32", (2052, 2049)), ("f32", "f16", (2051, 2048))):
        text = f"codes = ui2, group = [1, *], scale = {scale}, zero = min {zero}"
        assert one_group([2049, 2049 + 3 * 2051], text) == ([0, 3], *stored)


def test_extent_beyond_f32_is_clamped():
    # Extent 6e38 is taken as the largest f32, of which a fifteenth is exact: 1118481 * 2^104. 3e38/2.2686e37 = 13.2.
    text = "codes = ui4, group = [1, *], scale = f32, zero = min f32"
    codes, scale, zero = one_group([-3e38, 0, 3e38], text)
    assert (codes, scale, zero) == ([0, 13, 15], 1118481 * 2.0**104, float(np.float32(-3e38)))


def test_minimum_is_never_minus_zero_where_the_group_holds_a_zero():
    text = "codes = ui4, group = [1, *], scale = f16, zero = min f16"
    for x in ([0.0, -0.0, 1.0], [-0.0, 0.0, 1.0], [-0.0, -0.0, -0.0]):
        _, scales, zeros = reference.quantize(np.float32(x).reshape(1, 1, 1, 3), fmt(text))
        assert zeros.view(np.uint16).item() == 0
        assert not np.signbit(scales).any()


# --- scales at the ends of their type ------------------------------------------------------------------------------


def test_scale_beyond_its_type_is_clamped():
    # 1e6/7 = 142857 becomes 65504; quotients 15.3 (clamped), 1, then ties 1.5 and 2.5.
    text = "codes = i4, group = [1, *], scale = f16"
    assert one_group([1e6, 65504, 1.5 * 65504, 2.5 * 65504], text) == ([7, 1, 2, 2], 65504.0, None)


def test_subnormal_scale_is_rounded_up():
    text = "codes = i4, group = [1, *], scale = f16"
    assert one_group([10 * UNIT, -4 * UNIT], text, "f16") == ([5, -2], 2 * UNIT, None)  # 10/7 of a unit: 2
    assert one_group([7 * UNIT, 3 * UNIT], text, "f16") == ([7, 3], UNIT, None)  # exactly one unit
    assert one_group([8 * UNIT], text, "f16") == ([4], 2 * UNIT, None)  # 8/7: 2
    # 7164/7 = 1023.4 units, just below the smallest normal of 1024 units, becomes that.
    assert one_group([7164 * UNIT], text, "f16") == ([7], 1024 * UNIT, None)
    # Above it, to nearest: 7172/7 = 1024.57 is 1025; 7196/7 = 1028; 7176/7 = 1025.14 is 1025.
    for absmax, scale in ((7172, 1025), (7196, 1028), (7176, 1025)):
        assert one_group([absmax * UNIT], text, "f16") == ([7], scale * UNIT, None)


@pytest.mark.parametrize("codes, highest", [("i2", 1), ("i3", 3), ("i4", 7), ("i5", 15), ("i6", 31), ("i8", 127)])
def test_subnormal_scale_is_the_smallest_that_covers(codes, highest):
    m = np.arange(1, 1024 * highest + 1)  # magnitudes in units, up to where the scale turns normal
    x = (m * UNIT).astype(np.float32).reshape(1, 1, 1, -1)
    _, scales, _ = reference.quantize(x, fmt(f"codes = {codes}, group = [1, 1], scale = f16"), "f32")
    units = (scales.astype(np.float64) / UNIT).flatten()
    assert np.all(units * highest >= m)
    assert np.all((units - 1) * highest < m)


def test_subnormal_f32_scale():
    text, unit = "codes = i4, group = [1, *], scale = f32", 2.0**-149
    assert one_group([10 * unit, -4 * unit], text) == ([5, -2], 2 * unit, None)
    assert one_group([unit], text) == ([1], unit, None)  # the division alone would give 0
    assert one_group([unit], "codes = i4, group = [1, *], scale = f16") == ([0], UNIT, None)
    text = "codes = ui8, group = [1, *], scale = f32, zero = min f32"
    assert one_group([unit, 3 * unit], text) == ([0, 2], unit, unit)


def test_f32_scale_keeps_the_values_finite():
    # max/127 = 8454659.5 * 2^98 would round to 8454660 * 2^98, 127 times which is beyond f32.
    codes, scale, _ = one_group([np.inf, -np.inf, 0], "codes = i8, group = [1, *], scale = f32")
    assert (codes, scale) == ([127, -127, 0], 8454659 * 2.0**98)
    assert scale == float.fromhex("0x1.020406p+121")
    x = np.float32([np.inf, 1]).reshape(1, 1, 1, 2)
    for bits in ("i2", "i4", "i8"):
        assert np.isfinite(round_trip(x, f"codes = {bits}, group = [1, *], scale = f32")).all()


def test_infinities_become_the_end_of_the_element_type():
    # 65504/127 = 515.8; f16 has steps of 1/2 there: 516.
    codes, scale, _ = one_group([np.inf, 0, -np.inf], "codes = i8, group = [1, *], scale = f16", "f16")
    assert (codes, scale) == ([127, 0, -127], 516.0)


@pytest.mark.parametrize(
    "text", ["codes = i4, group = [1, 2], scale = f16", "codes = ui4, group = [1, 2], scale = f16, zero = min f32"]
)
def test_nan_shows_in_its_group_only(text):
    x = np.float32([1, np.nan, np.nan, 1, 3, 0]).reshape(1, 1, 1, 6)
    f = fmt(text)
    codes, scales, zeros = reference.quantize(x, f, "f32")
    assert np.isnan(scales).flatten().tolist() == [True, True, False]
    assert zeros is None or np.isnan(zeros).flatten().tolist() == [True, True, False]
    assert codes.flatten()[:4].tolist() == [0, 0, 0, 0]
    assert np.isnan(reference.dequantize(codes, scales, zeros, f)).flatten().tolist() == [True] * 4 + [False] * 2


# --- degenerate groups over all of f16 -----------------------------------------------------------------------------


def all_finite_f16() -> np.ndarray:
    x = np.arange(2**16, dtype=np.uint32).astype(np.uint16).view(np.float16)
    return x[np.isfinite(x)].astype(np.float32).reshape(1, 1, 1, -1)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
def test_constant_group_with_a_minimum_is_that_constant(bits):
    x = all_finite_f16()
    text = f"codes = ui{bits}, group = [1, 1], scale = f16, zero = min f16"
    assert np.array_equal(round_trip(x, text, "f16"), x)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6, 8])
@pytest.mark.parametrize("scale", ["f16", "f32"])
def test_constant_symmetric_group_is_within_half_a_step(bits, scale):
    x, f = all_finite_f16(), fmt(f"codes = i{bits}, group = [1, 1], scale = {scale}")
    codes, scales, _ = reference.quantize(x, f, "f16")
    error = np.abs(reference.dequantize64(codes, scales, None, f) - x)
    assert np.all(error <= scales.astype(np.float64) / 2)
    assert np.isfinite(scales).all()
    assert np.array_equal(scales == 0, x == 0)


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
    exponent = np.repeat(
        rng.integers(-6, 3, [n // group if i == axis else n for i, n in enumerate(shape)]), group, axis
    )
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


# --- shapes, dequantization, packing -------------------------------------------------------------------------------


def test_quantize_errors():
    f = fmt("codes = i4, group = [32, 1], scale = f16")
    with pytest.raises(ValueError, match="40.*32"):
        reference.quantize(np.zeros((1, 1, 40, 8), np.float32), f)
    with pytest.raises(ValueError, match="3 axes"):
        reference.quantize(np.zeros((1, 32, 8), np.float32), f)
    with pytest.raises(ValueError, match="nothing to quantize"):
        reference.quantize(np.zeros((1, 1, 1, 8), np.float32), fmt("codes = none"))


def test_dequantize_rounds_product_and_sum_in_f32_but_only_the_sum_in_f64():
    f = fmt("codes = ui4, group = [1, *], scale = f32, zero = min f32")
    codes = np.uint8([[3, 1]])
    scales, zeros = np.float32([[1 + 2**-23]]), np.float32([[-3]])
    # 3 * (1 + 2^-23) = 3 + 3*2^-23 is a tie between multiples of 2^-22, the even one is 3 + 2^-21: minus 3, 2^-21.
    assert reference.dequantize(codes, scales, zeros, f).tolist() == [[2.0**-21, -2 + 2.0**-23]]
    assert reference.dequantize64(codes, scales, zeros, f).tolist() == [[3 * 2.0**-23, -2 + 2.0**-23]]


def test_dequantize_checks_its_operands():
    f = fmt("codes = i4, group = [2, 2], scale = f16")
    codes = np.zeros((4, 4), np.int8)
    with pytest.raises(ValueError, match=r"\(2, 2\), got \(4, 2\)"):
        reference.dequantize(codes, np.zeros((4, 2), np.float16), None, f)
    with pytest.raises(ValueError, match="zeros given"):
        reference.dequantize(codes, np.zeros((2, 2), np.float16), np.zeros((2, 2), np.float16), f)


def test_packing_is_planar():
    assert reference.pack(np.int8([[1, -2, 7, -7]]), 4).tolist() == [[0x71, 0x9E]]  # 7|1, then -7 = 9, -2 = E
    assert reference.pack(np.uint8([3, 0, 2, 1, 0, 2, 1, 3]), 2).tolist() == [0b01_00_10_11, 0b11_10_01_00]
    assert reference.pack(np.int8([-1, 0, 1, -1]), 2).tolist() == [0b11_01_00_11]
    assert reference.pack(np.int8([-128, 5]), 8).tolist() == [0x80, 0x05]


def test_packing_of_split_codes_puts_the_low_parts_first():
    # 3 bits: low two bits 3 2 1 0 3 2 1 0, elements j and j + 2, j + 4, j + 6 in byte j; high bits 0 0 0 0 1 1 1 1.
    codes = np.uint8([3, 2, 1, 0, 7, 6, 5, 4])
    assert reference.pack(codes, 3).tolist() == [0b01_11_01_11, 0b00_10_00_10, 0b11110000]
    # -1 is 111, -4 is 100, 3 is 011.
    assert reference.pack(np.int8([-1, 0, 0, 0, 0, 0, -4, 3]), 3).tolist() == [0b00_00_00_11, 0b11_00_00_00, 0b01000001]
    # 5 bits: nibbles of elements j and j + 4, then the fifth bits, element j in bit j.
    codes = np.uint8([0x1F, 0x01, 0x12, 0x03, 0x04, 0x15, 0x06, 0x17])
    assert reference.pack(codes, 5).tolist() == [0x4F, 0x51, 0x62, 0x73, 0b10100101]
    # 6 bits: nibbles of elements j and j + 2, then the two high bits of elements 0, 1, 2, 3.
    assert reference.pack(np.uint8([0x3A, 0x1B, 0x0C, 0x2D]), 6).tolist() == [0xCA, 0xDB, 0b10_00_01_11]
    assert reference.pack(np.int8([-32, 31, -1, 1]), 6).tolist() == [0xF0, 0x1F, 0b00_11_01_10]
    assert reference.pack(np.uint8([1, 0, 0, 0, 0, 1, 1, 0]), 1).tolist() == [0b01100001]


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 6, 8])
def test_unpack_inverts_pack_for_every_code(bits):
    repeats = max(1, 8 // 2**bits)  # rows of at least one byte
    unsigned = np.tile(np.arange(2**bits, dtype=np.int64), repeats).astype(np.uint8)
    signed = np.tile(np.arange(-(2 ** (bits - 1)), 2 ** (bits - 1)), repeats).astype(np.int8)
    for codes in (np.stack([unsigned, unsigned[::-1]]), np.stack([signed, signed[::-1]])):
        packed = reference.pack(codes, bits)
        assert packed.shape == (2, codes.shape[-1] * bits // 8)
        assert np.array_equal(reference.unpack(packed, bits, codes.dtype == np.int8), codes)


def test_packing_errors():
    with pytest.raises(ValueError, match="6 codes.*4 codes"):
        reference.pack(np.zeros(6, np.uint8), 2)
    with pytest.raises(ValueError, match="0 ... 15"):
        reference.pack(np.uint8([16, 0]), 4)
    with pytest.raises(ValueError, match="-8 ... 7"):
        reference.pack(np.int8([8, 0]), 4)
    with pytest.raises(ValueError, match="7 bits"):
        reference.unpack(np.zeros(7, np.uint8), 7, signed=False)
    with pytest.raises(ValueError, match="4 bytes.*3 bits"):
        reference.unpack(np.zeros(4, np.uint8), 3, signed=False)


@pytest.mark.parametrize("bits, dim, planes", [(1, 12, 8), (3, 12, 8), (5, 20, 8), (6, 10, 4)])
def test_packing_errors_of_split_codes(bits, dim, planes):
    with pytest.raises(ValueError, match=f"row of {dim} codes.*{planes} codes"):
        reference.pack(np.zeros(dim, np.uint8), bits)
    reference.pack(np.zeros(dim + planes - dim % planes, np.uint8), bits)


# --- caches --------------------------------------------------------------------------------------------------------

INT8 = "codes = i8, group = [1, *], scale = f16"
PER_CHANNEL = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"


def tokens(*shape: int) -> np.ndarray:
    return fresh_rng().standard_normal(shape).astype(np.float32)


def test_regions_of_a_cache():
    # exact_first 2, recent 3, groups of 4: the first group is quantized at length 2 + 3 + 4.
    x = tokens(1, 2, 14, 8)
    cache = Cache(fmt("codes = i8, group = [4, 1], scale = f16"), 1, 2, 8, 64, exact_first=2, recent=3)
    flushed = []
    for t in range(14):
        cache.append(x[:, :, t : t + 1])
        flushed.append(int(cache.flushed[0]))
    assert flushed == [0] * 8 + [4] * 4 + [8] * 2
    assert cache.lengths.tolist() == [14]
    assert (cache.codes(0).shape, cache.scales(0).shape, cache.zeros(0)) == ((2, 8, 8), (2, 2, 8), None)
    exact = x.astype(np.float16).astype(np.float64)[0]
    values = cache.values64(0)
    assert values.shape == (2, 14, 8)
    assert np.array_equal(values[:, :2], exact[:, :2]) and np.array_equal(values[:, 10:], exact[:, 10:])
    # Groups are counted from the end of exact_first: the first scale is that of tokens 2 ... 5.
    largest = np.abs(exact[:, 2:6]).max(axis=1)
    assert np.allclose(cache.scales(0)[:, 0], largest / 127, rtol=2**-10)
    assert np.all(np.abs(values[:, 2:6] - exact[:, 2:6]) <= largest[:, None] / 127 * 0.51)


def test_case_31_the_newest_stay_exact():
    cache = Cache(fmt(PER_CHANNEL), 1, 1, 8, 512, recent=128)
    cache.append(tokens(1, 1, 300, 8))
    assert cache.flushed.tolist() == [160]
    assert cache.codes(0).shape == (1, 160, 8)


@pytest.mark.parametrize("text", [INT8, PER_CHANNEL, "codes = ui2, group = [32, 4], scale = f16, zero = min f32"])
@pytest.mark.parametrize("exact_first, recent", [(0, 0), (4, 0), (0, 32), (3, 7)])
def test_case_32_streaming_equals_one_shot(text, exact_first, recent):
    x = tokens(1, 2, 200, 8)
    whole, streamed, random = (Cache(fmt(text), 1, 2, 8, 200, exact_first=exact_first, recent=recent) for _ in range(3))
    whole.append(x)
    streamed.append(x[:, :, :32])
    for t in range(32, 200):
        streamed.append(x[:, :, t : t + 1])
    for part in np.split(x, np.sort(fresh_rng().integers(0, 201, 6)), axis=2):
        random.append(part)
    for other in (streamed, random):
        assert np.array_equal(other.codes(0), whole.codes(0))
        assert np.array_equal(other.scales(0), whole.scales(0))
        assert np.array_equal(other.values64(0), whole.values64(0))
    # A token's group does not depend on what surrounds it: quantize the flushed stretch directly.
    end = exact_first + int(whole.flushed[0])
    codes, scales, _ = reference.quantize(x[:, :, exact_first:end], fmt(text))
    assert np.array_equal(whole.codes(0), codes[0]) and np.array_equal(whole.scales(0), scales[0])


def test_case_18_sequences_are_separate_and_padding_is_not_read():
    f = fmt("codes = ui4, group = [4, 1], scale = f16, zero = min f16")
    x = np.full((2, 1, 5, 4), np.nan, np.float32)
    x[0] = fresh_rng().uniform(-1, 1, (1, 5, 4))
    x[1, :, :3] = 1000
    both, alone = Cache(f, 2, 1, 4, 8), Cache(f, 1, 1, 4, 8)
    both.append(x, counts=[5, 3])
    alone.append(x[:1])
    assert (both.lengths.tolist(), both.flushed.tolist()) == ([5, 3], [4, 0])
    assert np.array_equal(both.codes(0), alone.codes(0)) and np.array_equal(both.zeros(0), alone.zeros(0))
    assert np.all(both.values64(1) == 1000)
    # The fourth token of the second sequence completes its group: constant, so codes 0 and zero 1000.
    both.append(x[:, :, :1] * 0 + 1000, counts=[0, 1])
    assert (both.lengths.tolist(), both.flushed.tolist()) == ([5, 4], [4, 4])
    assert not both.codes(1).any() and np.all(both.zeros(1) == 1000) and not both.scales(1).any()


def test_an_exact_cache_holds_the_rounded_elements():
    cache = Cache(fmt("codes = none"), 1, 1, 2, 8)
    cache.append(np.float32([[[[2049, np.inf], [0.5, np.nan]]]]))
    assert cache.flushed.tolist() == [0]
    assert np.array_equal(cache.values64(0), [[[2048, 65504], [0.5, np.nan]]], equal_nan=True)
    with pytest.raises(ValueError, match="neither codes"):
        cache.codes(0)


def test_cache_errors_leave_it_unchanged():
    cache = Cache(fmt(INT8), 2, 1, 4, 10)
    cache.append(np.ones((2, 1, 8, 4), np.float32), counts=[8, 2])
    three = np.ones((2, 1, 3, 4), np.float32)
    with pytest.raises(ValueError, match="11.*10"):
        cache.append(three, counts=[3, 1])
    with pytest.raises(ValueError, match="count 4.*3 tokens"):
        cache.append(three, counts=[0, 4])
    with pytest.raises(ValueError, match="2 counts, got 1"):
        cache.append(three, counts=[1])
    with pytest.raises(ValueError, match="shape"):
        cache.append(three[:1])
    with pytest.raises(ValueError, match="negative"):
        Cache(fmt(INT8), 1, 1, 4, 10, recent=-1)
    assert cache.lengths.tolist() == [8, 2]


# --- attention -----------------------------------------------------------------------------------------------------


def test_attention_of_two_keys():
    # Scores 0 and ln 3: weights 1/4 and 3/4, denominator 4.
    k, v = [np.array([[[0.0], [math.log(3)]]])], [np.array([[[0.0, 8.0], [4.0, 0.0]]])]
    out, lse = reference.attention(np.ones((1, 1, 1, 1)), k, v, return_lse=True)
    assert np.allclose(out, [[[[3, 2]]]], rtol=1e-15)
    assert np.allclose(lse, math.log(4), rtol=1e-15)


def test_default_scale_is_one_over_root_dim():
    # q.k = 2 ln 3 over four channels: the default 1/2 gives the weights above, an explicit 1 gives 1/10 and 9/10.
    k = [np.array([[[0.0] * 4, [math.log(3) / 2] * 4]])]
    v = [np.array([[[0.0], [4.0]]])]
    q = np.ones((1, 1, 1, 4))
    assert np.allclose(reference.attention(q, k, v), 3)
    assert np.allclose(reference.attention(q, k, v, scale=1), 3.6)


def test_causal_rows():
    v = [np.arange(5.0).reshape(1, 5, 1)]
    k = [np.zeros((1, 5, 1))]
    q = np.zeros((1, 1, 3, 1))
    # Queries at positions 2, 3 and 4: means of 0..2, 0..3, 0..4. With three tokens of the five: positions 0, 1, 2.
    out, lse = reference.attention(q, k, v, return_lse=True)
    assert np.allclose(out[0, 0, :, 0], [1, 1.5, 2]) and np.allclose(lse, np.log([3, 4, 5]))
    assert np.allclose(reference.attention(q, k, v, lengths=[3])[0, 0, :, 0], [0, 0.5, 1])
    assert np.allclose(reference.attention(q, k, v, causal=False), 2)
    # Two tokens, three queries: the first stands before the sequence and sees nothing.
    out, lse = reference.attention(q, k, v, lengths=[2], return_lse=True)
    assert np.allclose(out[0, 0, :, 0], [0, 0, 0.5])
    assert lse[0, 0].tolist() == [-np.inf, 0, math.log(2)]


def test_case_28_rows_without_a_key():
    k = [np.zeros((1, n, 2)) for n in (5, 0, 3)]
    v = [np.full((1, n, 2), 7.0) for n in (5, 0, 3)]
    out, lse = reference.attention(np.ones((3, 2, 1, 2)), k, v, return_lse=True)
    assert np.allclose(out[[0, 2]], 7) and not out[1].any()
    assert np.all(lse[1] == -np.inf)


def test_hidden_tokens_have_no_influence_but_a_visible_nan_shows():
    k, v = np.zeros((1, 4, 2)), np.ones((1, 4, 2))
    k[:, 3], v[:, 3] = np.nan, np.nan
    q = np.zeros((1, 1, 2, 2))
    out = reference.attention(q, [k], [v])  # query 0 sees three tokens, query 1 all four
    assert np.all(out[0, 0, 0] == 1) and np.isnan(out[0, 0, 1]).all()
    assert np.all(reference.attention(q, [k], [v], lengths=[3], causal=False) == 1)


@pytest.mark.parametrize("q_heads, kv_heads", [(28, 4), (24, 4), (40, 8), (48, 2), (3, 3)])
def test_case_22_query_heads_share_kv_heads(q_heads, kv_heads):
    v = [np.repeat(np.arange(kv_heads, dtype=float), 6).reshape(kv_heads, 3, 2)]
    k = [tokens(kv_heads, 3, 4)]
    out = reference.attention(tokens(1, q_heads, 1, 4), k, v)
    expected = np.arange(q_heads) // (q_heads // kv_heads)
    assert np.allclose(out[0, :, 0, 0], expected, rtol=1e-15)


def test_each_query_head_keeps_its_own_query():
    # Scores 0 and ln w: the second weight is w / (1 + w). Heads 0, 1 read KV head 0, heads 2, 3 the other one.
    q = np.log([[1, 3, 7, 9]]).reshape(1, 4, 1, 1)
    k, v = [np.array([[[0.0], [1.0]]] * 2)], [np.array([[[0.0], [1.0]], [[0.0], [10.0]]])]
    assert np.allclose(reference.attention(q, k, v, scale=1).flatten(), [0.5, 0.75, 8.75, 9])


def test_attention_errors():
    k = [np.zeros((2, 4, 8))]
    with pytest.raises(ValueError, match="33.*2"):  # case 23
        reference.attention(np.zeros((1, 33, 1, 8)), k, k)
    with pytest.raises(ValueError, match="dim 6.*8"):
        reference.attention(np.zeros((1, 2, 1, 6)), k, k)
    with pytest.raises(ValueError, match="length 5.*4"):
        reference.attention(np.zeros((1, 2, 1, 8)), k, k, lengths=[5])
    with pytest.raises(ValueError, match="2 sequences.*1"):
        reference.attention(np.zeros((2, 2, 1, 8)), k, k)


def test_attention_over_caches():
    # One key picked out by a large score: the output is its value (fixture P), exact in the window, quantized before.
    k, v = Cache(fmt(INT8), 1, 1, 4, 8, recent=2), Cache(fmt(INT8), 1, 1, 4, 8, recent=2)
    k.append(np.eye(4, dtype=np.float32)[None, None])
    rows = np.float32([[127, 0.4, -3.6, 1], [0] * 4, [0] * 4, [0.1, 0.2, 0.3, 0.4]])
    v.append(rows[None, None])
    q = np.zeros((1, 1, 1, 4))
    q[..., 0] = 1e4
    assert reference.attention(q, k, v).flatten().tolist() == [127, 0, -4, 1]  # scale 1
    q = np.roll(q, 3, axis=-1)
    assert reference.attention(q, k, v).flatten().tolist() == rows[3].astype(np.float16).tolist()


# --- a cache's life ------------------------------------------------------------------------------------------------


def test_truncate():
    x = np.arange(80, dtype=np.float32).reshape(1, 1, 20, 4)
    cache = Cache(fmt("codes = ui4, group = [4, 1], scale = f16, zero = min f16"), 1, 1, 4, 20, exact_first=1, recent=3)
    cache.append(x)
    assert (cache.lengths.tolist(), cache.flushed.tolist()) == ([20], [16])
    with pytest.raises(ValueError, match="length 12 .* between borders 9 and 13"):
        cache.truncate(12)
    with pytest.raises(ValueError, match="length -1 is negative"):
        cache.truncate([-1])
    with pytest.raises(ValueError, match="expected 1 lengths, got 2"):
        cache.truncate([1, 2])
    before = cache.values64(0)
    for length, flushed in ((30, 16), (18, 16), (17, 16), (9, 8), (1, 0), (0, 0)):
        cache.truncate(length)
        assert (cache.lengths.tolist(), cache.flushed.tolist()) == ([min(length, 20)], [flushed])
        assert np.array_equal(cache.values64(0), before[:, :length])


def test_residual():
    text = "codes = ui4, group = [4, 1], scale = f16, zero = min f16"
    cache = Cache(fmt(text), 1, 1, 4, 60, exact_first=1, residual=8)
    x = np.arange(240, dtype=np.float32).reshape(1, 1, 60, 4)
    for t in range(40):
        cache.append(x[:, :, t : t + 1])
        assert cache.flushed.tolist() == [t // 8 * 8]
    cache.truncate(21)
    assert cache.flushed.tolist() == [20]
    cache.append(x[:, :, 21:24])
    assert cache.flushed.tolist() == [20]
    cache.append(x[:, :, 24:25])
    assert cache.flushed.tolist() == [24]
    for arguments, message in (
        (dict(residual=6), "residual = 6 is not one or more groups of 4"),
        (dict(residual=0), "residual = 0"),
        (dict(residual=8, recent=1), "both recent = 1 and residual = 8"),
    ):
        with pytest.raises(ValueError, match=message):
            Cache(fmt(text), 1, 1, 4, 60, **arguments)


def test_reorder_and_fork():
    cache = Cache(fmt(INT8), 3, 1, 4, 20, exact_first=1, recent=2)
    cache.append(np.arange(240, dtype=np.float32).reshape(3, 1, 20, 4), [4, 9, 14])
    before = [cache.values64(b) for b in range(3)]
    cache.reorder([2, 0, 2])
    assert cache.lengths.tolist() == [14, 4, 14]
    assert all(np.array_equal(cache.values64(b), before[source]) for b, source in enumerate([2, 0, 2]))
    cache.fork(0, [1], length=6)
    assert cache.lengths.tolist() == [14, 6, 14] and np.array_equal(cache.values64(1), before[2][:, :6])
    cache.append(np.ones((3, 1, 1, 4), np.float32), [0, 1, 0])
    assert cache.lengths.tolist() == [14, 7, 14] and np.array_equal(cache.values64(0), before[2])
    with pytest.raises(ValueError, match=r"3 indices below 3, got \[0, 1, 3\]"):
        cache.reorder([0, 1, 3])
    with pytest.raises(ValueError, match="none twice, got 0 and \\[0\\]"):
        cache.fork(0, [0])


# --- metrics -------------------------------------------------------------------------------------------------------


def test_relative_l2():
    assert metrics.relative_l2(np.array([3.0, 4.5]), np.array([3.0, 4.0])) == 0.1  # 0.5 / 5
    assert metrics.relative_l2(np.zeros(2), np.zeros(2)) == 0
    assert metrics.relative_l2(np.ones(2), np.zeros(2)) == math.inf
    assert math.isnan(metrics.relative_l2(np.array([math.nan]), np.ones(1)))
    with pytest.raises(ValueError, match="shapes differ"):
        metrics.relative_l2(np.ones(2), np.ones(3))


def test_key_score_error():
    q = np.array([[[[1.0, 2.0]]]])
    k = np.array([[[1.0, 0.0], [-1.0, 0.0]]])  # scores 1 and -1, mean 0, norm sqrt 2
    assert metrics.key_score_error(q, [k], [k]) == 0
    # The same error on every key shifts the row: nothing.
    assert metrics.key_score_error(q, [k + np.array([0.5, -3.0])], [k]) == 0
    # Scores 2 and -1, centred 1.5 and -1.5: differences 0.5 and -0.5.
    other = np.array([[[2.0, 0.0], [-1.0, 0.0]]])
    assert metrics.key_score_error(q, [other], [k]) == pytest.approx(0.5)


def test_key_score_error_is_causal():
    q = np.ones((1, 2, 2, 1))  # two query heads on one KV head, at positions 1 and 2
    k = np.array([[[1.0], [-1.0], [0.0]]])
    other = np.array([[[1.0], [-1.0], [3.0]]])
    # Row 0 sees no error. Row 1: centred (1, -1, 0) against (0, -2, 2), squared error 1 + 1 + 4; norms 2 and 2.
    assert metrics.key_score_error(q, [other], [k]) == pytest.approx(math.sqrt(6 / 4))
    assert metrics.key_score_error(q, [other], [k], causal=False) == pytest.approx(math.sqrt(6 / 2))
