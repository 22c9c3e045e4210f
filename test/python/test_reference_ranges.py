"""The reference's range policies, codebooks and static ranges, against hand-worked and published values ("case n")."""

import math
import statistics

import numpy as np
import pytest
from conftest import fresh_rng
from kvq_mlir import reference
from kvq_mlir.reference import Cache, Calibration, Codebook, FloatType, Format
from kvq_mlir.reference.ranges import group_sum, tree_sum


def fmt(text: str) -> Format:
    return Format.parse(text)


def row(values) -> np.ndarray:
    """One token of one head."""
    return np.asarray(values, np.float32).reshape(1, 1, 1, -1)


def one_group(values, text: str, dtype: str = "f32", given: Calibration | None = None):
    """Quantize one row as one token of one head: (codes, stored scale, stored zero), of the first group."""
    codes, scales, zeros = reference.quantize(row(values), fmt(text), dtype, given)
    return codes.flatten().tolist(), scales.flat[0].item(), None if zeros is None else zeros.flat[0].item()


def round_trip(values, text: str, dtype: str = "f32", given: Calibration | None = None) -> list[float]:
    f = fmt(text)
    return reference.dequantize(*reference.quantize(row(values), f, dtype, given), f, given).flatten().tolist()


# --- sums ----------------------------------------------------------------------------------------------------------


def test_sums_are_trees_with_neighbours_first():
    # From the left the ones would vanish one by one beside 2^24; from the right they would be 3, and round to 4.
    assert tree_sum(np.float32([2**24, 1, 1, 1]), 0).tolist() == [2**24 + 2]
    # Five, padded to eight: (2 + 2^24) + (1 + 0), a tie between 2^24 + 2 and 2^24 + 4.
    assert tree_sum(np.float32([1, 1, 1, 2**24, 1]), 0).tolist() == [2**24 + 4]
    assert tree_sum(np.zeros((2, 0), np.float32), 1).tolist() == [[0], [0]]


def test_sums_of_a_group_go_over_the_channels_first():
    # Rows 2^24, 1, 1 and 1, 1, 0: (2^24 + 1) + 1 stays 2^24, then 2 is added.
    # Transposed, 2^24 + 1 is 2^24, 1 + 1 is 2 and 1 + 0 is 1: 2^24 + 2, then 1 more is a tie and goes to 2^24 + 4.
    x = np.float32([[2**24, 1, 1], [1, 1, 0]])
    assert group_sum(x.reshape(1, 1, 1, 1, 2, 1, 3)).item() == 2**24 + 2
    assert group_sum(x.T.reshape(1, 1, 1, 1, 3, 1, 2)).item() == 2**24 + 4


# --- clipping ------------------------------------------------------------------------------------------------------


def test_clip_shrinks_both_ends():
    # Absolute maximum 14 becomes 7: scale 1.
    assert one_group([14, 7, 1, -3.5], "codes = i4, group = [1, *], scale = f32, range = clip<0.5>") == (
        [7, 7, 1, -4],
        1,
        None,
    )
    # -30 ... 30 becomes -15 ... 15: scale 2; 0 is 7.5 steps from the minimum.
    text = "codes = ui4, group = [1, *], scale = f16, zero = min f16, range = clip<0.5>"
    assert one_group([-30, 0, 30, 5], text) == ([0, 8, 15, 10], 2, -15)
    # With a zero point 5 ... 30 is widened to 0 ... 30 and becomes 0 ... 15.
    text = "codes = ui4, group = [1, *], scale = f16, zero = point ui8, range = clip<0.5>"
    assert one_group([5, 30, 14], text) == ([5, 15, 14], 1, 0)
    # The ratio is an f32.
    text = "codes = i2, group = [1, *], scale = f32, range = clip<0.9>"
    assert one_group([3], text)[1] == float(np.float32(3) * np.float32(0.9))


def test_search_takes_the_ratio_with_the_least_squared_error():
    text = "codes = i2, group = [1, *], scale = f32, range = search<2>"
    # Ratio 1: scale 4, the threes become 4: error 4. Ratio 3/4: scale 3, only the 4 is off by 1.
    assert one_group([4, 3, 3, 3, -3], text) == ([1, 1, 1, 1, -1], 3, None)
    assert one_group([4, 3], text) == ([1, 1], 4, None)  # error 1 both times: the first wins
    assert one_group([4, 1], text) == ([1, 0], 4, None)
    # Ratios 1, 7/8, 3/4, 5/8.
    text = "codes = i2, group = [1, *], scale = f32, range = search<4>"
    assert one_group([8] + [5] * 10, text) == ([1] * 11, 5, None)
    codes, scale, _ = one_group([np.nan, 1], text)
    assert codes == [0, 0] and math.isnan(scale)


@pytest.mark.parametrize(
    "text",
    [
        "codes = i3, group = [2, 6], scale = f16",
        "codes = ui3, group = [4, 1], scale = f16, zero = min f16",
        "codes = ui2, group = [1, 24], scale = bf16, zero = point i8",
        "codes = f4E2M1FN, group = [1, 24], scale = f8E4M3FN",
        "codes = #kvq.codebook<nf4>, group = [1, 24], scale = f8E8M0FNU",
    ],
)
def test_search_equals_the_best_clip(text):
    x = fresh_rng().standard_normal((1, 2, 8, 24)).astype(np.float32)

    def quantized(policy):
        f = fmt(f"{text}, range = {policy}")
        codes, scales, zeros = reference.quantize(x, f)
        error = reference.dequantize64(codes, scales, zeros, f) - x.astype(np.float16)
        n, g = f.tokens, f.channels(24)
        return scales, (error**2).reshape(1, 2, 8 // n, n, 24 // g, g).sum(axis=(3, 5))

    scales, errors = quantized("search<8>")
    clips = [quantized(f"clip<{1 - i / 16}>") for i in range(8)]
    assert np.allclose(errors, np.min([error for _, error in clips], axis=0), rtol=1e-5)
    assert np.all(np.any([scales == other for other, _ in clips], axis=0))
    assert len(np.unique(np.argmin([error for _, error in clips], axis=0))) > 1


# --- codebooks -----------------------------------------------------------------------------------------------------


def test_nf4_is_a_table_of_normal_quantiles():
    # QLoRA's construction: evenly spaced quantiles of a normal source, 8 above and 7 below 0, scaled to 1.
    quantile = statistics.NormalDist().inv_cdf
    offset = 0.9677083
    above = [quantile(offset + (0.5 - offset) * i / 8) for i in range(8)]
    below = [-quantile(offset + (0.5 - offset) * i / 7) for i in range(7)]
    table = Codebook.parse("nf4").table
    assert np.allclose(table, sorted([*above, *below, 0.0]) / np.float64(above[0]), atol=1e-6)
    got = one_group(2 * np.float32(table), "codes = #kvq.codebook<nf4>, group = [1, *], scale = f16")
    assert got == (list(range(16)), 2, None)


def test_codebook_ties_go_to_the_lower_index():
    text = "codes = #kvq.codebook<values = [-1, 0, 1, 2]>, group = [1, *], scale = f16"
    below, above = (float(np.nextafter(np.float32(0.5), np.float32(end))) for end in (0, 1))
    assert one_group([2, 0.5, below, above, -0.5, 1.5, -2], text) == ([3, 1, 1, 2, 0, 2, 0], 1, None)
    assert round_trip([2, 0.5, -2], text) == [2, 0, -1]


def test_codebook_midpoints_that_f32_does_not_hold():
    # The middle of 1 and 1 + 2^-23 lies between them; so do those of the NF4 values beside each float32.
    book = Codebook("values = [...]", (0.0, 1.0, 1 + 2.0**-23, 2.0))
    assert book.nearest(np.float32([1, 1 + 2.0**-23, 0.5, 1.5])).tolist() == [1, 2, 0, 2]
    table = Codebook.parse("nf4").table
    q = fresh_rng().uniform(-1.2, 1.2, 2000).astype(np.float32)
    distances = np.abs(np.float64(table)[:, None] - q.astype(np.float64))  # argmin takes the first of equal ones
    assert np.array_equal(Codebook.parse("nf4").nearest(q), np.argmin(distances, axis=0))


def test_iq4_nl_spans_the_largest_magnitude_of_its_values():
    text = "codes = #kvq.codebook<iq4_nl>, group = [1, *], scale = f16"
    assert one_group([127, -127, 113, 2, -4.5, 0], text) == ([15, 0, 15, 8, 7, 8], 1, None)
    assert round_trip([127, -127, 113, 2, -4.5, 0], text) == [113, -127, 113, 1, -10, 1]
    # 127 is more than half of the last step of 24 beyond 113.
    assert reference.count_clipped(row([127, -127, 125, 126]), fmt(text), "f32").saturated == 2


@pytest.mark.parametrize("bits, error", [(1, 0.363380), (2, 0.117482), (3, 0.034548), (4, 0.009501)])
def test_lloyd_max_tables_are_optimal(bits, error):
    table = Codebook.parse(f"lloyd_max = {bits}").table
    assert len(table) == 2**bits and np.array_equal(table, -np.array(table)[::-1])
    ends = [-math.inf, *((a + b) / 2 for a, b in zip(table, table[1:], strict=False)), math.inf]
    density = [math.exp(-t * t / 2) / math.sqrt(2 * math.pi) for t in ends]
    below = [(1 + math.erf(t / math.sqrt(2))) / 2 for t in ends]
    gained = 0
    for i, value in enumerate(table):
        mass = below[i + 1] - below[i]
        centroid = (density[i] - density[i + 1]) / mass
        assert abs(value - centroid) < 2e-6
        gained += mass * centroid**2
    assert abs(1 - gained - error) < 1e-6  # squared error of a normal source


def test_rms_and_norm():
    # Root mean square of 3, 4, 0, 0 is 2.5, norm 5; zero is half way between the two values.
    text = "codes = #kvq.codebook<lloyd_max = 1>, group = [1, *], scale = f32, range = "
    assert one_group([3, 4, 0, 0], text + "rms") == ([1, 1, 0, 0], 2.5, None)
    assert one_group([3, 4, 0, 0], text + "norm") == ([1, 1, 0, 0], 5, None)
    value = np.float32(0.797885)
    assert round_trip([3, 4, 0, 0], text + "rms")[1:3] == [value * np.float32(2.5), -value * np.float32(2.5)]
    assert round_trip([3, 4, 0, 0], text + "norm")[1:3] == [value / np.float32(2) * 5, -value / np.float32(2) * 5]
    # Groups of three: the mean and the root are rounded to f32.
    text = text.replace("[1, *]", "[1, 3]")
    assert one_group([1, 1, 1], text + "norm")[1] == np.sqrt(np.float32(3))
    assert round_trip([1, 1, 1], text + "norm")[0] == np.sqrt(np.float32(3)) * (value / np.sqrt(np.float32(3)))
    assert one_group([1, 2, 2], text + "rms")[1] == np.sqrt(np.float32(3))
    assert one_group([0, 0, -0.0], text + "rms") == ([0, 0, 0], 0, None)
    assert round_trip([0, 0, 0], text + "norm") == [0, 0, 0]


@pytest.mark.parametrize("policy", ["rms", "norm"])
@pytest.mark.parametrize("bits, error", [(1, 0.3634), (2, 0.1175), (3, 0.0345), (4, 0.0095)])
def test_error_of_a_normal_source(policy, bits, error):
    x = fresh_rng().standard_normal((1, 4, 250, 1024)).astype(np.float32)
    f = fmt(f"codes = #kvq.codebook<lloyd_max = {bits}>, group = [1, *], scale = f32, range = {policy}")
    got = reference.dequantize64(*reference.quantize(x, f, "f32"), f) - x
    assert np.mean(got**2) == pytest.approx(error, rel=0.02)


def test_rms_is_per_group():
    x = np.zeros((1, 1, 4, 4), np.float32)
    x[0, 0, :2, :2] = 3
    x[0, 0, 3, 3] = 8
    f = fmt("codes = #kvq.codebook<lloyd_max = 2>, group = [2, 2], scale = f16, range = rms")
    assert reference.quantize(x, f)[1].tolist() == [[[[3, 0], [0, 4]]]]


def test_codes_of_a_codebook_are_packed_by_their_width():
    f = fmt("codes = #kvq.codebook<lloyd_max = 3>, group = [1, *], scale = f16, range = rms")
    assert f.codes.bits == 3
    codes, _, _ = reference.quantize(row(np.linspace(-3, 3, 16)), f)
    packed = reference.pack(codes, 3)
    assert packed.shape[-1] == 6 and np.array_equal(reference.unpack(packed, 3, f.codes.signed), codes)


# --- static ranges -------------------------------------------------------------------------------------------------


def static(scales, zeros=None, scale: str = "f32", zero=None) -> Calibration:
    stored = FloatType.named(scale).encode(np.float32(scales))
    return Calibration(scales=np.atleast_2d(stored), zeros=None if zeros is None else np.array(zeros, zero, ndmin=2))


def test_case_7_static_float_codes_saturate():
    text = "codes = f8E4M3FN, group = [*, *], scale = f32, range = static"
    x = [448, 464, 465, 500, 1e6, -1e6, -464, 0.001]
    assert one_group(x, text, given=static([1]))[0] == [0x7E] * 5 + [0xFE] * 2 + [0x01]
    assert reference.count_clipped(row(x), fmt(text), "f32", static([1])) == reference.Clipped(saturated=4, nans=0)
    # vLLM's fp8 with k_scale 1/2.
    assert bytes(one_group([1, -0.3, 448, 500, 0.001], text, given=static([0.5]))[0]).hex() == "40b27e7e01"


def test_case_55_static_integer_codes_saturate():
    text = "codes = ui8, group = [*, *], scale = f16, zero = point ui8, range = static"
    given = static([2], [10], "f16", np.uint8)
    assert one_group([3.9, 1000, -20, -22], text, given=given) == ([12, 255, 0, 0], 2, 10)
    assert round_trip([3.9, 1000, -20, -22], text, given=given) == [4, 490, -20, -20]
    assert reference.count_clipped(row([3.9, 1000, -20, -22]), fmt(text), "f32", given).saturated == 2
    text = "codes = i8, group = [*, *], scale = f16, range = static"
    assert one_group([1000, -1000, 3], text, given=static([2], scale="f16")) == ([127, -127, 2], 2, None)


def test_counts_of_what_codes_cannot_hold():
    # Signed codes saturate from N + 1/2 on, unsigned ones beyond -1/2 and from N + 1/2 on.
    text = "codes = i4, group = [*, *], scale = f32, range = static"
    count = reference.count_clipped(row([7.49, 7.5, -7.49, -7.5, np.inf]), fmt(text), "f32", static([1]))
    assert count == reference.Clipped(saturated=3, nans=0)
    text = "codes = ui4, group = [*, *], scale = f32, zero = min f32, range = static"
    given = static([1], [2], zero=np.float32)
    assert reference.count_clipped(row([1.5, 1.49, 17.49, 17.5, 9]), fmt(text), "f32", given).saturated == 2
    # Float codes: 7 would round to 8 if f4 had it, 464 to 448, to the even mantissa.
    text = "codes = f4E2M1FN, group = [*, *], scale = f32, range = static"
    assert reference.count_clipped(row([7, 6.99, -7, -6.99]), fmt(text), "f32", static([1])).saturated == 2
    # Where the scale is 0 nothing saturates, whatever the codebook holds.
    text = "codes = #kvq.codebook<values = [1, 2]>, group = [1, *], scale = f32"
    assert reference.count_clipped(row([0, 0]), fmt(text)).saturated == 0
    # A range of the group's own holds everything, a clipped one does not.
    x = row(np.arange(-8, 8))
    assert reference.count_clipped(x, fmt("codes = i4, group = [1, *], scale = f32")).saturated == 0
    assert reference.count_clipped(x, fmt("codes = i4, group = [1, *], scale = f32, range = clip<0.5>")).saturated == 7


def test_nan_under_a_static_range_is_code_0_and_counted():
    text = "codes = ui4, group = [*, *], scale = f32, zero = point f32, range = static"
    given = static([1], [3], zero=np.float32)
    assert one_group([np.nan, 1, np.nan], text, given=given)[0] == [0, 4, 0]
    assert reference.count_clipped(row([np.nan, 1, np.nan]), fmt(text), "f32", given) == reference.Clipped(0, 2)
    assert one_group([np.nan, 1], "codes = f4E2M1FN, group = [*, *], scale = f32, range = static", given=static([1]))[
        0
    ] == [0, 2]
    # With a range of its own the group's scale is NaN: nothing is counted.
    assert reference.count_clipped(
        row([np.nan, 1]), fmt("codes = i4, group = [1, *], scale = f32")
    ) == reference.Clipped(0, 0)


def test_static_caches_quantize_each_token_and_keep_one_scale():
    f = fmt("codes = i8, group = [*, 2], scale = f16, range = static")
    given = Calibration(scales=np.float16([[1, 2], [0.5, 4]]))
    cache = Cache(f, 1, 2, 4, 8, recent=1, calibration=given)
    cache.append(np.full((1, 2, 3, 4), 4, np.float32))
    assert cache.flushed.tolist() == [2]
    assert cache.codes(0).tolist() == [[[4, 4, 2, 2]] * 2, [[8, 8, 1, 1]] * 2]
    assert cache.scales(0).tolist() == [[[1, 2]], [[0.5, 4]]]
    assert np.all(cache.values64(0) == 4)
    assert Cache(f, 1, 2, 4, 8, calibration=given).values64(0).shape == (2, 0, 4)
    shared = Cache(f, 1, 2, 4, 8, calibration=Calibration(scales=np.float16([[1, 2]])))
    shared.append(np.full((1, 2, 3, 4), 4, np.float32))
    assert shared.codes(0).tolist() == [[[4, 4, 2, 2]] * 3] * 2


def test_two_level_static_scales():
    f = fmt("codes = i4, group = [*, *], scale = f8E4M3FN of f32, range = static")
    given = Calibration(outer=np.float32([0.5]), scales=np.uint8([[0x40]]))  # 2 * 1/2
    codes, scales, _ = reference.quantize(row([3, -9]), f, "f32", given)
    assert codes.flatten().tolist() == [3, -7] and scales.tolist() == [[[[0x40]]]]


@pytest.mark.parametrize(
    "scales, message",
    [
        (None, "needs a given 'scales'"),
        ([[0.0, 1]], "above 0"),
        ([[-1.0, 1]], "above 0"),
        ([[math.nan, 1]], "above 0"),
        ([[math.inf, 1]], "above 0"),
        ([[1.0]], r"\(2, 2\) or \(1, 2\), got \(1, 1\)"),
        ([[1.0, 1]] * 3, r"\(2, 2\) or \(1, 2\), got \(3, 2\)"),
    ],
)
def test_case_14_static_scales_missing_or_unusable(scales, message):
    f = fmt("codes = i8, group = [*, 2], scale = f32, range = static")
    given = None if scales is None else Calibration(scales=np.float32(scales))
    with pytest.raises(ValueError, match=message):
        Cache(f, 1, 2, 4, 8, calibration=given)


def test_static_zeros_missing_or_unusable():
    f = fmt("codes = ui4, group = [*, *], scale = f32, zero = point ui8, range = static")
    scales = np.float32([[1]])
    for zeros, message in ((None, "needs a given 'zeros'"), ([[16]], "0 ... 15, got"), ([[1, 2]], r"got \(1, 2\)")):
        with pytest.raises(ValueError, match=message):
            Cache(
                f, 1, 1, 4, 8, calibration=Calibration(scales=scales, zeros=None if zeros is None else np.uint8(zeros))
            )
    f = fmt("codes = ui4, group = [*, *], scale = f32, zero = min f32, range = static")
    with pytest.raises(ValueError, match="nan"):
        Cache(f, 1, 1, 4, 8, calibration=Calibration(scales=scales, zeros=np.float32([[np.nan]])))
    with pytest.raises(ValueError, match="as float32, got float16"):
        Cache(f, 1, 1, 4, 8, calibration=Calibration(scales=scales, zeros=np.float16([[0]])))
    with pytest.raises(ValueError, match="no use for a given 'scales'"):
        Cache(fmt("codes = none"), 1, 1, 4, 8, calibration=Calibration(scales=scales))


# --- the text notation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "codes = #kvq.codebook<nf4>, group = [1, 64], scale = f16",
        "codes = #kvq.codebook<lloyd_max = 3>, group = [1, *], scale = f16, range = norm",
        "codes = #kvq.codebook<values = [-1.0, -0.25, 0.25, 1.0]>, group = [32, 1], scale = bf16",
        "codes = i4, group = [1, 32], scale = f16, range = clip<0.9>",
        "codes = ui4, group = [1, 32], scale = f16, zero = min f16, range = search<20>",
        "codes = f8E4M3FN, group = [*, *], scale = f32, range = static",
    ],
)
def test_text_round_trips(text):
    assert str(fmt(text)) == text and fmt(str(fmt(text))) == fmt(text)


@pytest.mark.parametrize(
    "text, message",
    [
        ("codes = i4, group = [1, 32], scale = f16, range = rms", "needs a codebook, got codes = i4"),
        ("codes = f4E2M1FN, group = [1, 32], scale = f16, range = norm", "needs a codebook"),
        ("codes = i4, group = [1, 32], scale = f16, range = clip<0>", "above 0 and at most 1, got 'clip<0>'"),
        ("codes = i4, group = [1, 32], scale = f16, range = clip<1.5>", "at most 1"),
        ("codes = i4, group = [1, 32], scale = f16, range = clip<nan>", "at most 1"),
        ("codes = i4, group = [1, 32], scale = f16, range = clip", "unknown range 'clip'"),
        ("codes = i4, group = [1, 32], scale = f16, range = search<0>", "at least one step"),
        ("codes = i4, group = [1, 32], scale = f16, range = absmax<2>", "unknown range"),
        ("codes = i4, group = [1, 32], scale = f16, range = static", r"group = \[\*, ...\], got group = \[1, 32\]"),
        ("codes = i4, group = [*, 32], scale = f16, range = clip<0.5>", "needs a static range, got range = clip<0.5>"),
        ("codes = #kvq.codebook<nf5>, group = [1, 32], scale = f16", "unknown codebook 'nf5'"),
        ("codes = #kvq.codebook<lloyd_max = 5>, group = [1, 32], scale = f16", "1, 2, 3 or 4 bits, got '5'"),
        ("codes = #kvq.codebook<values = [0, 1, 2]>, group = [1, 32], scale = f16", "got 3"),
        ("codes = #kvq.codebook<values = [0, 1, 1, 2]>, group = [1, 32], scale = f16", "ascending"),
        ("codes = #kvq.codebook<values = [0, inf]>, group = [1, 32], scale = f16", "finite"),
        ("codes = #kvq.codebook<values = [0, x]>, group = [1, 32], scale = f16", "expected values"),
        ("codes = #kvq.codebook<nf4>, group = [1, 32], scale = f16, zero = min f16", "needs unsigned codes"),
        ("codes = #kvq.codebook<iq4_nl>, group = [1, 32], scale = f8E8M0FNU", "no value 0"),
    ],
)
def test_parse_errors(text, message):
    with pytest.raises(ValueError, match=message):
        fmt(text)
