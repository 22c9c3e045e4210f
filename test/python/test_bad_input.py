"""Input that cannot be right: an error that says what was expected and found, never a crash or a silent result."""

import numpy as np
import pytest

import kvq_mlir as kvq

I4 = "codes = i4, group = [1, 32], scale = f16"
PER_CHANNEL = "codes = ui4, group = [8, 1], scale = f16, zero = min f16"


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


@pytest.fixture
def cache() -> kvq.Cache:
    found = kvq.Cache(1, 2, 8, 64, kvq.Format(I4), fill=0xFF)
    found.append(zeros(1, 2, 5, 64))
    return found


# --- formats -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", ["i2", "i5", "i8", "f8E4M3FN", "f4E2M1FN", "#kvq.codebook<nf4>"])
@pytest.mark.parametrize("zero", ["min f16", "min f32", "point ui8", "point f16"])
def test_symmetric_codes_with_a_zero(codes, zero):
    message = f"a zero needs unsigned codes: expected ui2, ui3, ui4, ui5, ui6 or ui8, got {codes}"
    with pytest.raises(kvq.Error, match=message):
        kvq.Format(f"codes = {codes}, group = [1, 32], scale = f16, zero = {zero}")


@pytest.mark.parametrize("codes", ["ui2", "ui3", "ui4", "ui5", "ui6", "ui8"])
def test_unsigned_codes_without_a_zero(codes):
    with pytest.raises(kvq.Error, match=f"unsigned codes {codes} need a zero"):
        kvq.Format(f"codes = {codes}, group = [1, 32], scale = f16")


UNKNOWN = ["i1", "i7", "i16", "i32", "ui1", "ui7", "si4", "f16", "f8E4M3", "f8E8M0FNU", "index"]


@pytest.mark.parametrize("codes", UNKNOWN)
def test_unknown_codes(codes):
    with pytest.raises(kvq.Error, match=f"expected codes of i2, i3, .* a #kvq.codebook or none, got {codes}"):
        kvq.Format(f"codes = {codes}, group = [1, 32], scale = f16")


@pytest.mark.parametrize("kind", ["f64", "i4", "f8E5M2", "tensor<4xf16>"])
def test_unknown_types_of_metadata(kind):
    with pytest.raises(kvq.Error, match=f"expected scale f16, bf16, f32, f8E8M0FNU or f8E4M3FN, got '{kind}'"):
        kvq.Format(f"codes = i4, group = [1, 32], scale = {kind}")
    with pytest.raises(kvq.Error, match=f"expected zero 'min T' of f16, bf16 or f32, got 'min '{kind}''"):
        kvq.Format(f"codes = ui4, group = [1, 32], scale = f16, zero = min {kind}")
    with pytest.raises(kvq.Error, match=f"'point T' of i8, ui8, f16, bf16 or f32, got 'point '{kind}''"):
        kvq.Format(f"codes = ui4, group = [1, 32], scale = f16, zero = point {kind}")


def test_zero_points_that_do_not_hold_the_codes():
    with pytest.raises(kvq.Error, match="zero points in i8 go to 127, codes ui8 to 255"):
        kvq.Format("codes = ui8, group = [1, 32], scale = f16, zero = point i8")


@pytest.mark.parametrize("ratio", ["0.0", "-0.5", "1.0001", "0x7FC00000"])
def test_clip_ratios_out_of_bounds(ratio):
    with pytest.raises(kvq.Error, match="expected a clip ratio above 0 and at most 1, got"):
        kvq.Format(f"codes = i4, group = [1, 32], scale = f16, range = clip<{ratio}>")


def test_codebooks_that_cannot_hold_zeros():
    with pytest.raises(kvq.Error, match="scale f8E8M0FNU is never 0, and neither is a value of #kvq.codebook<iq4_nl>"):
        kvq.Format("codes = #kvq.codebook<iq4_nl>, group = [1, 32], scale = f8E8M0FNU")


@pytest.mark.parametrize(
    "group, message",
    [
        ("[0, 32]", "at least 1 or '\\*', got 0"),
        ("[1, -8]", "at least 1 or '\\*', got -8"),
        ("[*, 1]", "needs a static range"),
        ("[1]", "expected ','"),
        ("[1, 32, 1]", "expected ']'"),
        ("32", "expected '\\['"),
        ("[1, 99999999999999999999]", "integer value too large"),
    ],
)
def test_groups_that_cannot_be(group, message):
    with pytest.raises(kvq.Error, match=message):
        kvq.Format(f"codes = i4, group = {group}, scale = f16")


NO_FORMAT = ["", " ", "\0", "codes", "codes =", "codes = i4 = i4", "ï", "codes = none, none", "<" * 50]


@pytest.mark.parametrize("text", NO_FORMAT)
def test_text_that_is_no_format(text):
    with pytest.raises(kvq.Error):
        kvq.Format(text)


# --- sizes ---------------------------------------------------------------------------------------------------------

LIMIT = 2**40


@pytest.mark.parametrize("name", ["batch", "kv_heads", "capacity", "head_dim", "recent", "exact_first"])
@pytest.mark.parametrize("size", [LIMIT + 32, 2**62])
def test_sizes_beyond_any_cache(name, size):
    sizes = dict(batch=1, kv_heads=2, capacity=64, head_dim=64)
    with pytest.raises(kvq.Error, match=f"{name} of at most {LIMIT}.*got {size}"):
        kvq.Cache(**{**sizes, name: size}, fmt=kvq.Format(I4))


@pytest.mark.parametrize("sizes", [(LIMIT, LIMIT, 64, 64), (1, LIMIT, LIMIT, 64), (2**30, 2**34, 1, 64)])
def test_sizes_beyond_memory(sizes):
    """Also where their product is 0 modulo 2^64."""
    with pytest.raises((MemoryError, ValueError)) as error:
        kvq.Cache(*sizes, kvq.Format(I4))
    assert "reshape" not in str(error.value)


def test_format_as_text():
    with pytest.raises(TypeError, match="expected fmt as a kvq_mlir.Format, got str"):
        kvq.Cache(1, 2, 8, 64, I4)


@pytest.mark.parametrize("n", [2, 8, 32])
def test_token_groups_without_a_window(n):
    """In IR the window is written out; `Cache` adds it by itself."""
    fmt = f"codes = i4, group = [{n}, 1], scale = f16"
    with pytest.raises(kvq.Error, match=f"a group of {n} tokens has no range .* expected an exact window"):
        kvq.parse(f"func.func private @f(!kvq.cache<1x2x64x64xf16, #kvq.format<{fmt}>>)")
    assert "recent = 0" in kvq.Cache(1, 2, 64, 64, kvq.Format(fmt)).type


# --- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [float("nan"), float("inf"), -float("inf"), 1e39, -1e39, 3e38])
def test_scales_that_are_not_finite(scale, cache):
    with pytest.raises(kvq.Error, match="finite scale"):
        kvq.attention(zeros(1, 2, 1, 64), cache, cache, scale=scale)


def test_cache_that_is_full(cache):
    cache.append(zeros(1, 2, 3, 64))
    for count in (1, 2, 100):
        message = f"cache full: .* holds 8 tokens and cannot take {count} more.* capacity is 8"
        with pytest.raises(kvq.Error, match=message):
            cache.append(zeros(1, 2, count, 64))
    cache.append(zeros(1, 2, 0, 64))
    assert cache.lengths.tolist() == [8]


@pytest.mark.parametrize("capacity", [1, 7, 8, 9, 31, 33])
@pytest.mark.parametrize("exact_first, recent", [(0, 0), (3, 5), (40, 0), (0, 40)])
def test_cache_that_is_full_with_windows(capacity, exact_first, recent):
    x = np.random.default_rng().standard_normal((1, 2, capacity, 64)).astype(np.float32)
    cache = kvq.Cache(1, 2, capacity, 64, kvq.Format(PER_CHANNEL), "f32", exact_first, recent, fill=0xFF)
    for t in range(capacity):
        cache.append(np.ascontiguousarray(x[:, :, t : t + 1]))
    with pytest.raises(kvq.Error, match=f"holds {capacity} tokens and cannot take 1 more"):
        cache.append(zeros(1, 2, 1, 64))
    assert np.isfinite(cache.dequantize()).all() and cache.dequantize().shape[2] == capacity
    exact = [t for t in range(capacity) if not exact_first <= t < exact_first + int(cache.flushed[0])]
    assert np.array_equal(cache.dequantize()[:, :, exact], x[:, :, exact])


@pytest.mark.parametrize("counts", [[[1]], [1, 1], [], [2**63], [-1], [2], [True], ["1"], [0.0]])
def test_counts_that_cannot_be(counts, cache):
    with pytest.raises(kvq.Error, match="count"):
        cache.append(zeros(1, 2, 1, 64), counts)
    assert cache.lengths.tolist() == [5]


@pytest.mark.parametrize(
    "parts, message",
    [
        (dict(codes=np.zeros((4, 64), np.uint8)), "got 2 axes"),
        (dict(codes=np.zeros((1, 2, 8, 60), np.uint8)), r"scales of shape \[1, 2, 1, 60\], got \[1, 2, 1, 64\]"),
        (dict(codes=np.zeros((1, 2, 9, 64), np.uint8)), r"scales of shape \[1, 2, 2, 64\], got \[1, 2, 1, 64\]"),
        (dict(codes=np.zeros((1, 2, 16, 64), np.uint8)), r"scales of shape \[1, 2, 2, 64\], got \[1, 2, 1, 64\]"),
        (dict(scales=np.zeros((1, 2, 1, 32), np.float16)), r"scales of shape \[1, 2, 1, 64\], got \[1, 2, 1, 32\]"),
        (dict(zeros=np.zeros((1, 1, 1, 64), np.float16)), r"zeros of shape \[1, 2, 1, 64\], got \[1, 1, 1, 64\]"),
        (dict(zeros=None), "zeros are missing"),
        (dict(format=kvq.Format("codes = i4, group = [8, 1], scale = f16")), "zeros are given"),
    ],
)
def test_metadata_that_do_not_fit_codes(parts, message):
    """They would be read beyond their end."""
    metadata = np.zeros((1, 2, 1, 64), np.float16)
    codes = np.zeros((1, 2, 8, 64), np.uint8)
    whole = dict(format=kvq.Format(PER_CHANNEL), codes=codes, scales=metadata, zeros=metadata)
    assert not kvq.dequantize(kvq.Quantized(**whole)).any()
    with pytest.raises(kvq.Error, match=message):
        kvq.dequantize(kvq.Quantized(**{**whole, **parts}))


def test_queries_that_see_nothing(cache):
    assert kvq.attention(zeros(1, 2, 0, 64), cache, cache).shape == (1, 2, 0, 64)
    out = np.full((1, 2, 9, 64), np.nan, np.float32)  # the first four of nine precede the five tokens
    kvq.attention(zeros(1, 2, 9, 64), cache, cache, out=out)
    assert not out.any()


# --- options of passes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "option, message",
    [
        ("vector-width=0", "power of two .*found 0"),
        ("vector-width=3", "power of two .*found 3"),
        ("vector-width=-8", "power of two .*found -8"),
        ("tile-tokens=257", "tile-tokens from 0 to 256, got 257"),
        ("tile-tokens=-64", "tile-tokens from 0 to 256, got -64"),
        ("tile-tokens=9223372036854775807", "9223372036854775807"),
        ("splits=-1", "splits from 0 to 1024, got -1"),
        ("prefetch=-2", "prefetch from -1 to 16, got -2"),
        ("prefetch=17", "prefetch from -1 to 16, got 17"),
        ("threads=0", "threads from 1 to .*, got 0"),
        ("l1-bytes=0", "l1-bytes from 1 to .*, got 0"),
        ("l2-bytes=-1", "l2-bytes from 1 to .*, got -1"),
        ("schedules=/nowhere", "expected a cpu"),
        ("schedules=/nowhere cpu=znver3", "schedules of '/nowhere': No such file"),
        ("splits=9223372036854775807", "9223372036854775807"),
        ("splits=many", "splits=many"),
        ("query-tile=-1", "1 to 4096 query tokens in a work item, or 0, got -1"),
        ("query-tile=9223372036854775807", "9223372036854775807"),
        ("dequantize-rows=-1", "at least 1 row for tiles that become f32, or 0, got -1"),
        ("wings=2", "wings"),
    ],
)
def test_options_that_cannot_be(option, message):
    cache, query = "!kvq.cache<1x2x?x64xf16, #kvq.format<codes = none>>", "tensor<1x4x1x64xf32>"
    text = f"""
    func.func @f(%q: {query}, %c: {cache}, %n: tensor<1xi64>) -> {query} {{
      %r = kvq.attention ins(%q, %c, %c : {query}, {cache}, {cache}) lengths(%n : tensor<1xi64>)
        outs(%q : {query}) {{scale = 1.0 : f32}} -> {query}
      return %r : {query}
    }}"""
    with pytest.raises(kvq.Error, match=message):
        kvq.run_pipeline(text, f"builtin.module(kvq-cpu-pipeline{{{option}}})")
