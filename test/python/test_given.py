"""What is given to a cache when it is made, against the NumPy oracle; and what is wrong with it.

A failing test prints its seed; `KVQ_SEED=<seed>` runs it again with the same cases.
"""

import os
import re

import numpy as np
import pytest
from test_differential import SYMMETRIC, TOLERANCE, UNSIGNED, ZEROS, is_format, same, values

import kvq_mlir as kvq
from kvq_mlir import _kvq, reference
from kvq_mlir.metrics import relative_l2
from kvq_mlir.reference.layouts import nvfp4, words

FULL = bool(os.environ.get("KVQ_FULL"))
STATIC = "codes = i4, group = [*, 32], scale = f16, range = static"


TWO_LEVEL = "scale = f8E4M3FN of f32"
NVFP4 = f"codes = f4E2M1FN, group = [1, 16], {TWO_LEVEL}"


def oracle_given(given: dict[str, np.ndarray]) -> reference.Calibration:
    """The oracle's own form of what was given."""
    fields = dict(given)
    if "outer_scales" in fields:
        fields["outer"] = fields.pop("outer_scales").reshape(-1)
    return reference.Calibration(**fields)


def draw_given(rng: np.random.Generator) -> str:
    """A format to which something is given: a static range, an outer scale, or both."""
    text = draw_static(rng)
    if rng.random() < 0.5:
        return text
    text = re.sub("scale = [^,]*", TWO_LEVEL, text)
    if rng.random() < 0.3:
        return text
    group, policy = rng.choice(["1", "1", "8"]), ["", ", range = clip<0.8>", ", range = search<3>"]
    return text.replace("[*,", f"[{group},").replace(", range = static", str(rng.choice(policy)))


def draw_static(rng: np.random.Generator) -> str:
    """A format with a static range."""
    codes = str(rng.choice(SYMMETRIC + UNSIGNED))
    zero = str(rng.choice(ZEROS)) if codes in UNSIGNED else ""
    scale = str(rng.choice(["f16", "bf16", "f32", "f8E8M0FNU", "f8E4M3FN"]))
    if not is_format(codes, scale, zero):
        return draw_static(rng)
    text = f"codes = {codes}, group = [*, {rng.choice(['1', '16', '*'])}], scale = {scale}, range = static"
    return text + (f", zero = {zero}" if zero else "")


def random_given(rng: np.random.Generator, fmt: kvq.Format, heads: int, dim: int) -> dict[str, np.ndarray]:
    """What the format asks for, from data; now and then one row for all heads."""
    given = kvq.calibrate(rng.standard_normal((2, heads, 40, dim)).astype(np.float32), fmt)
    if "outer_scales" in given and not fmt.is_static and rng.random() < 0.2:  # scales underflow, or are capped
        given["outer_scales"] *= np.float32(2.0 ** rng.choice([-15, 15]))
    return {name: part[:1] for name, part in given.items()} if rng.random() < 0.3 else given


@pytest.mark.parametrize("draw", range(60 if FULL else 12))
def test_codes_equal_the_oracle(draw, rng):
    """Elements far beyond a static range saturate, and NaN has code 0 there."""
    fmt, oracle = kvq.Format(text := draw_given(rng)), reference.Format.parse(text)
    dim, heads = int(rng.choice([64, 80, 128])), int(rng.integers(1, 4))
    given = random_given(rng, fmt, heads, dim)
    x = values(rng, (2, heads, 8 * int(rng.integers(1, 6)), dim), dtype := str(rng.choice(["f16", "f32"])))
    x[rng.random(x.shape) < 0.01] = np.nan
    z = kvq.quantize(x, fmt, given)
    codes, scales, zeros = reference.quantize(x, oracle, dtype, oracle_given(given))
    assert same(z.codes, codes), text
    assert same(np.broadcast_to(z.scales, scales.shape), scales)
    assert zeros is None or same(np.broadcast_to(z.zeros, zeros.shape), zeros)
    assert same(kvq.dequantize(z), reference.dequantize(codes, scales, zeros, oracle, oracle_given(given))), text


def test_nvfp4_is_the_published_rule(rng):
    """Blocks of 16 E2M1 codes, an E4M3 scale each, one f32 scale: as the independent packing has them."""
    fmt = kvq.Format(f"{NVFP4}, rule = #kvq.rule<scale = nearest>")
    x = (rng.standard_normal((1, 2, 64, 128)) * np.exp(rng.normal(0, 2, (1, 2, 64, 1)))).astype(np.float32)
    outer = np.abs(x).max(axis=(0, 2, 3)) / np.float32(6 * 448)
    z = kvq.quantize(x, fmt, {"outer_scales": outer})
    for head in range(2):
        sf, packed = nvfp4.quantize(x[0, head], float(outer[head]))
        assert same(z.scales[0, head], sf)
        assert same(words.even_low(z.codes[0, head]), packed)


def test_what_static_ranges_clip_is_counted(rng):
    """NaNs too: their code is 0."""
    fmt = kvq.Format(text := f"codes = i4, group = [*, 16], {TWO_LEVEL}, range = static")
    x = rng.standard_normal((2, 3, 20, 64)).astype(np.float32)
    given = kvq.calibrate(x[:, :, :2], fmt)
    x[rng.random(x.shape) < 0.05] = np.nan
    found = kvq.count_saturated(x, kvq.quantize(x, fmt, given))
    clipped = reference.count_clipped(x, reference.Format.parse(text), "f32", oracle_given(given))
    assert found.shape == (2, 3) and found.sum() == clipped.saturated + clipped.nans and clipped.saturated


def test_nvfp4_is_3_56_times_smaller_than_f16():
    bytes_ = [
        _kvq.Footprint(f"!kvq.cache<1x8x?x128xf16, #kvq.format<{text}>>").token_group_bytes["total"]
        for text in ("codes = none", NVFP4)
    ]
    assert round(bytes_[0] / bytes_[1], 2) == 3.56


def fill(rng, caches, oracles, steps) -> None:
    for counts in steps:
        for cache, oracle in zip(caches, oracles, strict=True):
            x = rng.standard_normal((len(counts), cache.kv_heads, max(counts), cache.head_dim)).astype(np.float16)
            for b, count in enumerate(counts):
                x[b, :, count:] = np.nan
            cache.append(x, counts)
            oracle.append(x, counts)


def check_codes(cache: kvq.Cache, oracle: reference.Cache) -> None:
    assert cache.lengths.tolist() == oracle.lengths.tolist()
    for b, flushed in enumerate(cache.flushed.tolist()):
        packed = np.ascontiguousarray(cache.storage()["codes"][b, :, :flushed]).view(np.uint8)
        assert same(packed, reference.pack(oracle.codes(b), cache.format.bits)), cache


@pytest.mark.parametrize("draw", range(20 if FULL else 4))
def test_a_cache_through_its_life(draw, rng):
    """Ragged appends, attention, truncate, fork and reorder: what is given stays as it is."""
    heads, dim, batch = int(rng.integers(1, 4)), 64, 3
    caches, oracles = [], []
    for windows in (dict(), dict(exact_first=3, recent=int(rng.integers(0, 9)))):
        text = draw_given(rng)
        if "[8," in text:
            windows["exact_first"] = 3  # groups of both sides start at the same token
        given = random_given(rng, kvq.Format(text), heads, dim)
        caches.append(kvq.Cache(batch, heads, 90, dim, kvq.Format(text), given=given, fill=0xFF, **windows))
        oracles.append(
            reference.Cache(
                reference.Format.parse(text), batch, heads, dim, 90, calibration=oracle_given(given), **windows
            )
        )
    print([cache.type for cache in caches])
    before = [{name: array.copy() for name, array in cache._given.items()} for cache in caches]
    fill(rng, caches, oracles, [[5, 0, 1], [30, 40, 20], [1, 1, 1]])
    for side in (*caches, *oracles):
        side.truncate([19, 41, 11])
        side.fork(1, [0], 19)
        side.reorder([1, 0, 2])
    fill(rng, caches, oracles, [[7, 7, 2]])
    for cache, oracle, given in zip(caches, oracles, before, strict=True):
        check_codes(cache, oracle)
        rebuilt = cache.dequantize()
        for b, length in enumerate(cache.lengths.tolist()):
            expected = oracle.values64(b)
            assert np.allclose(rebuilt[b, :, :length], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
        assert all(same(cache.storage()[name], array) for name, array in given.items())
    q = rng.standard_normal((batch, heads * 4, 2, dim)).astype(np.float32)
    for splits in (1, 3):
        error = relative_l2(kvq.attention(q, *caches, splits=splits), reference.attention(q, *oracles))
        assert error <= TOLERANCE


def test_streaming_equals_one_shot(rng):
    """Tokens are quantized one by one: there is no window, and any split gives the same bytes."""
    fmt = kvq.Format(STATIC)
    x = rng.standard_normal((1, 2, 30, 64)).astype(np.float32)
    given = kvq.calibrate(x, fmt)
    whole, parts = (kvq.Cache(1, 2, 30, 64, fmt, given=given) for _ in range(2))
    whole.append(x)
    for begin, end in ((0, 1), (1, 20), (20, 30)):
        parts.append(x[:, :, begin:end])
    assert not whole.has_window and whole.flushed.tolist() == [30]
    assert same(whole.storage()["codes"], parts.storage()["codes"])


@pytest.mark.parametrize("storage", [{}, {"page": 8}, {"ring": 24}, {"page": 4, "recent": 3}])
@pytest.mark.parametrize("tail", ["", ", rotate = hadamard<32>, center = f16"])
def test_heads_share_what_is_given(storage, tail, rng):
    """Heads that share a range are heads with the same one; pages and rings hold the same codes."""
    codes = f"codes = i4, group = [*, 16], {TWO_LEVEL}, range = static{tail}"
    shared = kvq.calibrate(
        rng.standard_normal((1, 4, 40, 64)).astype(np.float32), fmt := kvq.Format(f"{codes}, heads = 2")
    )
    apart = {name: part if name == "means" else part.repeat(2, axis=0) for name, part in shared.items()}
    sides = [
        [kvq.Cache(2, 4, 64, 64, form, given=given, fill=0xFF, **storage) for _ in range(2)]
        for form, given in ((fmt, shared), (kvq.Format(codes), apart))
    ]
    for counts in ([20, 1], [17, 30]):
        x = rng.standard_normal((2, 4, max(counts), 64)).astype(np.float16)
        for caches in sides:
            for cache in caches:
                cache.append(x, counts)
    assert sides[0][0].storage()["outer_scales"].shape == (1, 2, 1, 1)
    q = rng.standard_normal((2, 8, 1, 64)).astype(np.float32)
    assert same(*(caches[0].dequantize() for caches in sides))
    assert same(*(kvq.attention(q, *caches) for caches in sides))


def test_given_components_are_fixed_bytes():
    """Once for a cache, however many tokens and sequences it has."""
    scales = np.ones((8, 4), np.float16)
    for batch, capacity in ((1, 0), (1, 100), (5, 1000)):
        cache = kvq.Cache(batch, 8, capacity, 128, kvq.Format(STATIC), given={"scales": scales})
        assert cache.nbytes == batch * 8 * capacity * 64 + 8 * 4 * 2
    fixed = _kvq.Footprint(cache.dynamic_type).allocated(0)
    assert fixed["scales"] == fixed["total"] == 8 * 4 * 2


# --- calibration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zero", ["", "min f16", "point ui8"])
def test_calibration_is_the_range_of_all_tokens(zero, rng):
    """As if all tokens, of all sequences, were one group."""
    codes, tail = ("ui4", f", zero = {zero}") if zero else ("i4", "")
    x = rng.standard_normal((3, 2, 11, 64)).astype(np.float32)
    given = kvq.calibrate(x, kvq.Format(f"codes = {codes}, group = [*, 16], scale = f16, range = static{tail}"))
    one_group = reference.Format.parse(f"codes = {codes}, group = [33, 16], scale = f16{tail}")
    _, scales, zeros = reference.quantize(x.swapaxes(0, 1).reshape(1, 2, 33, 64), one_group, "f32")
    assert same(given["scales"], scales[0, :, 0])
    assert ("zeros" in given) == bool(zero) and (not zero or same(given["zeros"], zeros[0, :, 0]))


def test_calibrated_outer_scales_reach_the_largest_stored_one(rng):
    x = rng.standard_normal((2, 3, 50, 64)).astype(np.float32) * np.float32([1e-3, 1, 1e3])[:, None, None]
    given = kvq.calibrate(x, kvq.Format(NVFP4))
    scales = reference.FloatType.named("f8E4M3FN").decode(kvq.quantize(x, kvq.Format(NVFP4), given).scales)
    assert scales.max(axis=(0, 2, 3)).tolist() == [448] * 3


def test_calibration_of_nothing():
    fmt = kvq.Format(STATIC)
    assert kvq.calibrate(np.zeros((1, 2, 3, 64), np.float32), kvq.Format("codes = none")) == {}
    with pytest.raises(ValueError, match=r"one or more tokens .*, got \[1, 2, 0, 64\]"):
        kvq.calibrate(np.zeros((1, 2, 0, 64), np.float32), fmt)
    x = np.ones((1, 2, 3, 64), np.float32)
    x[:, 1, :, 32:] = 0
    with pytest.raises(ValueError, match=r"scales from 5.96046448e-08 to 65504, got 0 at \[1, 1\]"):
        kvq.calibrate(x, fmt)


# --- bad input (case 14) ---------------------------------------------------------------------------------------------


def make(fmt: str = STATIC, **given: np.ndarray) -> kvq.Cache:
    return kvq.Cache(1, 8, 16, 128, kvq.Format(fmt), given=given, name="layer 3, keys")


@pytest.mark.parametrize(
    "given, expected",
    [
        ({}, r"needs given scales of shape \[8, 4\] or \[1, 4\] or \[1, 8, 1, 4\], got none"),
        ({"scales": np.ones((8, 4), np.float16), "zeros": np.ones(1)}, "no use for given 'zeros': expected scales"),
        ({"scales": np.ones((7, 4), np.float16)}, r"of shape \[8, 4\] or .*, got \[7, 4\]"),
        ({"scales": np.ones((8, 128), np.float16)}, r"of shape \[8, 4\] or .*, got \[8, 128\]"),
    ],
)
def test_what_is_missing_or_of_another_count(given, expected):
    with pytest.raises(kvq.Error, match=f"^layer 3, keys: .*{expected}"):
        make(**given)


@pytest.mark.parametrize("scale, text", [(0.0, "0"), (-0.5, "-0.5"), (np.nan, "nan"), (np.inf, "inf")])
def test_scales_that_are_none(scale, text):
    scales = np.full((8, 4), 0.25, np.float16)
    scales[5, 2] = scale
    expected = rf"^layer 3, keys: expected given scales from 5.96\d*e-08 to 65504, got {text} at \[5, 2\]"
    with pytest.raises(kvq.Error, match=expected):
        make(scales=scales)


def test_zeros_that_are_none():
    tail = "group = [*, *], scale = f32, range = static"
    scales = np.ones((8, 1), np.float32)
    with pytest.raises(kvq.Error, match=r"zeros from 0 to 15, got 16 at \[0, 0\]"):
        make(f"codes = ui4, {tail}, zero = point ui8", scales=scales, zeros=np.full((8, 1), 16, np.uint8))
    with pytest.raises(kvq.Error, match=r"zeros from -65504 to 65504, got nan at \[0, 0\]"):
        make(f"codes = ui4, {tail}, zero = min f16", scales=scales, zeros=np.full((8, 1), np.nan, np.float16))


@pytest.mark.parametrize("outer", [0.0, -1.0, 2.0**-101, 2.0**101, np.nan])
def test_outer_scales_that_are_none(outer):
    outer = np.full(8, outer, np.float32)
    with pytest.raises(kvq.Error, match=r"^layer 3, keys: expected given outer_scales from 7.88860905e-31 to"):
        make(NVFP4, outer_scales=outer)
    with pytest.raises(kvq.Error, match=r"needs given outer_scales of shape \[8, 1\] .* or \[8\] or \[1\], got none"):
        make(NVFP4)


def test_the_largest_scale_keeps_values_finite():
    """Rule R5's cap: beyond it a code times the scale would be infinite."""
    largest = np.float32(np.finfo(np.float32).max / 7)
    tail = "codes = i4, group = [*, *], scale = f32, range = static"
    with pytest.raises(kvq.Error, match="scales from"):
        make(tail, scales=np.full((8, 1), largest * 1.01, np.float32))
    make(tail, scales=np.full((8, 1), np.nextafter(largest, np.float32(0)), np.float32))


def test_other_types_are_type_errors():
    with pytest.raises(TypeError, match="expected given scales as an array of float16, got float32"):
        make(scales=np.ones((8, 4), np.float32))
    with pytest.raises(TypeError, match="expected given scales as an array of float16, got list"):
        make(scales=[[1.0] * 4] * 8)


def test_quantize_says_what_is_missing():
    x = np.zeros((1, 2, 4, 64), np.float16)
    with pytest.raises(kvq.Error, match=r"needs given scales of shape \[2, 2\]"):
        kvq.quantize(x, kvq.Format(STATIC))
    with pytest.raises(kvq.Error, match="no use for given 'scales': nothing is given to it"):
        kvq.quantize(x, kvq.Format("codes = i4, group = [1, 32], scale = f16"), {"scales": np.ones((2, 2))})


def test_what_is_given_is_retained_without_tokens():
    """A static scale of two heads, and an outer one: 4 bytes each a head."""
    static = "codes = i8, group = [*, *], scale = f32, range = static"
    two_levels = "codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32"
    for text, name in ((static, "scales"), (two_levels, "outer_scales")):
        footprint = _kvq.Footprint(f"!kvq.cache<1x2x?x64xf16, #kvq.format<{text}>>")
        assert footprint.retained(0)[name] == footprint.retained(0)["total"] == 8
        assert footprint.retained(7)[name] == footprint.allocated(7)[name] == 8
