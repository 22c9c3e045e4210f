"""Keys before RoPE (`rope = pre`): attention turns them as it reads them."""

import numpy as np
import pytest
from test_differential import TOLERANCE, random_pages

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.metrics import relative_l2

FORMATS = (
    "codes = none",
    "codes = i8, group = [1, *], scale = f32",
    "codes = i4, group = [1, 16], heads = *, scale = f16",
    "codes = ui4, group = [8, 1], scale = f16, zero = min f16",
    "codes = ui3, group = [32, 16], scale = bf16, zero = point f16",
    "codes = #kvq.codebook<nf4>, group = [1, 16], scale = f16",
    "codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32",
    "codes = i8, group = [*, 16], scale = f32, range = static",
    "codes = i4, group = [1, 16], scale = f16, layout = #kvq.layout<record = [scale, codes]>",
)
HEADS = 2
BEFORE = "codes = i8, group = [1, 16], scale = f16, rope = pre"


def fill(rng, caches, lengths, dim):
    """Appends to all, in two steps, tokens up to `lengths`; padding is NaN."""
    first = rng.integers(0, lengths + 1)
    for counts in (first, lengths - first):
        x = rng.standard_normal((len(lengths), HEADS, int(counts.max()), dim)).astype(np.float32)
        for b, count in enumerate(counts):
            x[b, :, count:] = np.nan
        for cache in caches:
            cache.append(x, counts.tolist())


def check(q, keys, values, tables, style, splits=1, causal=True):
    (k, k_oracle), (v, v_oracle) = keys, values
    wanted = reference.attention(q, k_oracle, v_oracle, rope=tables, rope_style=style, causal=causal)
    out = np.full(wanted.shape, np.nan, np.float32)
    kvq.attention(q, k, v, rope=tables, rope_style=style, splits=splits, causal=causal, out=out)
    for b in range(len(q)):
        error = relative_l2(out[b], wanted[b])
        assert error <= TOLERANCE, f"sequence {b}: relative L2 {error}; {k.type}, {style}, {tables[0].shape}"
    plain = reference.attention(q, k_oracle, v_oracle, causal=causal)
    assert not relative_l2(out, plain) <= 1e-3, "the tables change nothing"


@pytest.mark.parametrize("style", reference.rope.STYLES)
@pytest.mark.parametrize("text", FORMATS)
def test_formats(text, style, rng):
    """Every kind of format, in windows, pages or a ring, with a number of pairs and of splits by chance."""
    dim = int(rng.choice([64, 80, 96]))
    pairs = int(rng.choice([dim // 2, rng.integers(1, dim // 2)]))
    fmt = kvq.Format(f"{text}, rope = pre")
    lengths = rng.integers(40, 150, 2)
    capacity = int(lengths.max()) + int(rng.integers(0, 20))
    windows = {} if fmt.is_exact else dict(exact_first=int(rng.integers(0, 4)), recent=int(rng.integers(0, 20)))
    storage = random_pages(rng, fmt.tokens, 2, capacity)
    ring = {}
    if not storage and rng.random() < 0.5:
        first = windows.get("exact_first", 0)
        ring = dict(keep_first=first, ring=first + 22 + int(rng.integers(0, 30)))
    sample = rng.standard_normal((1, HEADS, 64, dim)).astype(np.float32)
    given = kvq.calibrate(sample, fmt)
    calibration = reference.Calibration(
        outer=given["outer_scales"].reshape(-1) if "outer_scales" in given else None,
        scales=given["scales"].reshape(-1, dim // 16) if "scales" in given else None,
    )
    dtype = str(rng.choice(["f16", "bf16", "f32"]))
    k = kvq.Cache(2, HEADS, capacity, dim, fmt, dtype, fill=0xFF, given=given, **windows, **storage, **ring)
    k_oracle = reference.Cache(
        reference.Format.parse(str(fmt)), 2, HEADS, dim, capacity, dtype, calibration=calibration, **windows, **ring
    )
    value_text = "codes = none" if rng.random() < 0.5 else "codes = i8, group = [1, 16], scale = f16"
    v = kvq.Cache(2, HEADS, capacity, 48, kvq.Format(value_text), fill=0xFF, **ring)
    v_oracle = reference.Cache(reference.Format.parse(value_text), 2, HEADS, 48, capacity, **ring)
    fill(rng, (k, k_oracle), lengths, dim)
    fill(rng, (v, v_oracle), lengths, 48)
    q_len = int(rng.integers(1, 3))
    q = rng.standard_normal((2, HEADS * int(rng.choice([1, 3, 4])), q_len, dim)).astype(np.float32)
    tables = kvq.rope_tables(capacity, 2 * pairs, base=100.0)
    check(q, (k, k_oracle), (v, v_oracle), tables, style, int(rng.choice([1, 3])), bool(rng.random() < 0.7))


@pytest.mark.parametrize("style", reference.rope.STYLES)
def test_a_query_at_its_position_equals_keys_after_rope(style, rng):
    """Exact keys before RoPE give what keys give that were turned before they were stored."""
    dim, tokens = 64, 70
    cos, sin = kvq.rope_tables(tokens, dim)
    x, y = (rng.standard_normal((1, HEADS, tokens, dim)).astype(np.float32) for _ in "kv")
    turned = reference.rope.turn(x, cos, sin, style)
    before, after, values = (
        kvq.Cache(1, HEADS, tokens, dim, kvq.Format(text), "f32") for text in ("codes = none, rope = pre", "codes = none", "codes = none")
    )
    for cache, tokens_ in ((before, x), (after, turned), (values, y)):
        cache.append(tokens_)
    q = rng.standard_normal((1, 2 * HEADS, 1, dim)).astype(np.float32)
    out = kvq.attention(q, before, values, rope=(cos, sin), rope_style=style)
    assert relative_l2(out, kvq.attention(q, after, values)) <= TOLERANCE
    assert np.array_equal(before.dequantize(), x)  # what is stored is what came


@pytest.mark.parametrize("style", reference.rope.STYLES)
def test_segments(style, rng):
    """A latent row whose last channels are before RoPE, read as values too where these are not."""
    row = "[0:64] = #kvq.format<codes = i8, group = [1, 32], scale = f16>, [64:96] = #kvq.format<codes = none, rope = pre>"
    fmt = kvq.Segments(row)
    assert str(fmt) == str(kvq.Segments(str(fmt))) and fmt.is_before_rope
    keys = kvq.Cache(2, 1, 60, 96, fmt, page=8, fill=0xFF)
    values = kvq.Cache(2, 1, 60, 32, kvq.Format("codes = none"), fill=0xFF)
    parts = [(begin, end, reference.Cache(reference.Format.parse(str(f)), 2, 1, end - begin, 60)) for begin, end, f in fmt.parts]
    x, y = (rng.standard_normal((2, 1, 40, dim)).astype(np.float16) for dim in (96, 32))
    counts = [40, 13]
    keys.append(x, counts)
    values.append(y, counts)
    for begin, end, part in parts:
        part.append(x[..., begin:end], counts)
    pairs = int(rng.integers(1, 17))
    cos, sin = kvq.rope_tables(60, 2 * pairs, base=100.0)
    q = rng.standard_normal((2, 3, 1, 96)).astype(np.float32)
    rows = []
    for b, count in enumerate(counts):
        latent, rope = (part.values64(b) for _, _, part in parts)
        tables = (cos[:count].astype(np.float64), sin[:count].astype(np.float64))
        rows.append(np.concatenate([latent, reference.rope.turn(rope, *tables, style)], axis=-1))
    wanted = reference.attention(q, rows, [y[b, :, :count].astype(np.float64) for b, count in enumerate(counts)])
    found = kvq.attention(q, keys, values, rope=(cos, sin), rope_style=style)
    assert relative_l2(found, wanted) <= TOLERANCE


def test_latent_rows(rng):
    """Values are channels of the keys' rows beside those that RoPE turns."""
    fmt = kvq.Segments(
        "[0:64] = #kvq.format<codes = f8E4M3FN, group = [1, 32], scale = f32>, "
        "[64:96] = #kvq.format<codes = none, rope = pre>"
    )
    cache = kvq.Cache(1, 1, 60, 96, fmt, fill=0xFF)
    x = rng.standard_normal((1, 1, 40, 96)).astype(np.float16)
    cache.append(x)
    rows = cache.dequantize().astype(np.float64)
    tables = kvq.rope_tables(40, 32)
    turned = rows.copy()
    turned[..., 64:] = reference.rope.turn(rows[..., 64:], *(table.astype(np.float64) for table in tables), "interleaved")
    q = rng.standard_normal((1, 4, 1, 96)).astype(np.float32)
    found = kvq.attention(q, cache, None, value_channels=(0, 64), rope=tables, rope_style="interleaved")
    assert relative_l2(found, reference.attention(q, list(turned), [rows[0, ..., :64]])) <= TOLERANCE
    with pytest.raises(kvq.Error, match=r"value_channels = \[32, 96\] choose from channels that RoPE turns"):
        kvq.attention(q, cache, None, value_channels=(32, 96), rope=tables)


def test_with_all_variants(rng):
    """Masks, slopes, sinks, softcap, windows and log-sum-exp see the scores of turned keys."""
    k = kvq.Cache(2, HEADS, 70, 64, kvq.Format(BEFORE), recent=9, fill=0xFF)
    k_oracle = reference.Cache(reference.Format.parse(BEFORE), 2, HEADS, 64, 70, recent=9)
    v, v_oracle = kvq.Cache(2, HEADS, 70, 64, kvq.Format("codes = none")), reference.Cache(reference.Format(None), 2, HEADS, 64, 70)
    lengths = np.array([66, 31])
    fill(rng, (k, k_oracle), lengths, 64)
    fill(rng, (v, v_oracle), lengths, 64)
    q = rng.standard_normal((2, 2 * HEADS, 2, 64)).astype(np.float32)
    options = dict(
        mask=rng.random((1, 2 * HEADS, 2, 70)) < 0.8,
        slopes=rng.uniform(0, 0.1, 2 * HEADS).astype(np.float32),
        sinks=rng.standard_normal(2 * HEADS).astype(np.float32),
        softcap=20.0,
        window=25,
        window_first=3,
        rope=kvq.rope_tables(70, 64),
        return_lse=True,
    )
    found, wanted = (attend(q, *sides, **options) for attend, sides in ((kvq.attention, (k, v)), (reference.attention, (k_oracle, v_oracle))))
    for part, expected in zip(found, wanted, strict=True):
        assert relative_l2(part, expected) <= TOLERANCE


def test_integers_are_for_values_alone(rng):
    """Keys that RoPE turns are multiplied as floats, whatever is asked for."""
    k = kvq.Cache(1, HEADS, 70, 64, kvq.Format(BEFORE))
    exact = kvq.Cache(1, HEADS, 70, 64, kvq.Format("codes = none"))
    v = kvq.Cache(1, HEADS, 70, 64, kvq.Format("codes = i8, group = [1, 16], scale = f16"))
    for cache in (k, v, exact):
        fill(rng, (cache,), np.array([66]), 64)
    q = rng.standard_normal((1, HEADS, 1, 64)).astype(np.float32)
    plain, coded = (kvq.attention(q, k, v, rope=kvq.rope_tables(70, 64), query_codes=codes) for codes in (None, "i8"))
    assert not np.array_equal(plain, coded) and relative_l2(coded, plain) <= 2e-4  # what i16 probabilities cost
    with pytest.raises(kvq.Error, match="query_codes needs integer codes of keys or of values"):
        kvq.attention(q, k, exact, rope=kvq.rope_tables(70, 64), query_codes="i8")


def test_shift_of_keys_before_rope_moves_bits(rng):
    """Positions follow from where tokens lie: a shift moves them as they are, and attention turns them anew."""
    dim, text = 64, "codes = i4, group = [1, 32], scale = f16, rope = pre"
    k, k_oracle = kvq.Cache(1, HEADS, 60, dim, kvq.Format(text), recent=4), reference.Cache(
        reference.Format.parse(text), 1, HEADS, dim, 60, recent=4
    )
    v, v_oracle = kvq.Cache(1, HEADS, 60, dim, kvq.Format("codes = none")), reference.Cache(
        reference.Format(None), 1, HEADS, dim, 60
    )
    lengths = np.array([50])
    fill(rng, (k, k_oracle), lengths, dim)
    fill(rng, (v, v_oracle), lengths, dim)
    rows = k.dequantize()
    for cache in (k, v):
        cache.shift(10, 12)
    for cache in (k_oracle, v_oracle):
        cache.shift([10], [12])
    assert np.array_equal(k.dequantize(), np.delete(rows, range(10, 22), axis=2))
    q = rng.standard_normal((1, HEADS, 1, dim)).astype(np.float32)
    check(q, (k, k_oracle), (v, v_oracle), kvq.rope_tables(60, dim), "half")


def test_unwritten_rows_of_tables_have_no_influence(rng):
    k = kvq.Cache(2, HEADS, 90, 64, kvq.Format("codes = i8, group = [1, 16], scale = f16, rope = pre"), fill=0xFF)
    v = kvq.Cache(2, HEADS, 90, 64, kvq.Format("codes = none"), fill=0xFF)
    for cache in (k, v):
        fill(rng, (cache,), np.array([70, 0]), 64)
    q = rng.standard_normal((2, HEADS, 1, 64)).astype(np.float32)
    tables = kvq.rope_tables(70, 64)
    poisoned = tuple(np.concatenate([table, np.full((20, 32), np.nan, np.float32)]) for table in tables)
    out = kvq.attention(q, k, v, rope=tables)
    assert np.array_equal(out, kvq.attention(q, k, v, rope=poisoned)) and np.isfinite(out).all()
    assert not out[1].any()




@pytest.mark.parametrize(
    "text, options, error, message",
    [
        (BEFORE, {}, kvq.Error, r"the K cache is stored before RoPE \(rope = pre\): expected tables"),
        ("codes = none", dict(rope=kvq.rope_tables(20, 64)), kvq.Error, "read as it is: expected no tables"),
        ("codes = none", dict(rope_style="interleaved"), kvq.Error, "'interleaved' is given without tables of RoPE"),
        (BEFORE, dict(rope=kvq.rope_tables(19, 64)), kvq.Error, "20 tokens need 20 rows of the tables of RoPE, got 19"),
        (BEFORE, dict(rope=kvq.rope_tables(20, 66)), kvq.Error, r"1 to 32\], .* of 64 channels, got \[20, 33\]"),
        (BEFORE, dict(rope=kvq.rope_tables(20, 64), rope_style="gpt"), kvq.Error, "'half' or 'interleaved', got 'gpt'"),
        (BEFORE, dict(rope=(kvq.rope_tables(20, 64)[0], kvq.rope_tables(21, 64)[1])), kvq.Error, r"\[20, 32\] and \[21, 32\]"),
        (BEFORE, dict(rope=3), TypeError, "two tables, cosines and sines, got int"),
    ],
)
def test_tables_that_do_not_fit(text, options, error, message, rng):
    k, v = kvq.Cache(1, HEADS, 30, 64, kvq.Format(text)), kvq.Cache(1, HEADS, 30, 64, kvq.Format("codes = none"))
    fill(rng, (k, v), np.array([20]), 64)
    with pytest.raises(error, match=message):
        kvq.attention(np.zeros((1, HEADS, 1, 64), np.float32), k, v, **options)


def test_values_are_not_turned(rng):
    keys, values = (kvq.Cache(1, HEADS, 30, 64, kvq.Format(BEFORE)) for _ in "kv")
    with pytest.raises(kvq.Error, match="RoPE turns keys only: expected values without rope = pre"):
        kvq.attention(np.zeros((1, HEADS, 1, 64), np.float32), keys, values, rope=kvq.rope_tables(30, 64))


def test_formats_before_rope():
    fmt = kvq.Format(BEFORE)
    assert fmt.is_before_rope and not kvq.Format(fmt.core).is_before_rope
    assert kvq.Format("codes = none, rope = pre").is_exact
    assert kvq.Format(f"{kvq.Format.preset('ggml.q8_0')}, rope = pre").is_before_rope
    assert kvq.Format("codes = none, rope = post") == kvq.Format("codes = none") != kvq.Format("codes = none, rope = pre")
    with pytest.raises(kvq.Error, match="expected rope post or pre, got 'before'"):
        kvq.Format("codes = none, rope = before")
    with pytest.raises(ValueError, match="does not go with rope = pre"):
        reference.Format.parse("codes = i8, group = [1, 16], scale = f16, rotate = hadamard<16>, rope = pre")
