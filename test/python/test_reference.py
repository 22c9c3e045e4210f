"""The reference against values worked out by hand from docs."""

import numpy as np
import pytest
from kvq_mlir import reference
from reference_helpers import F32_LARGEST, UNIT, fmt, one_group, round_trip

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
