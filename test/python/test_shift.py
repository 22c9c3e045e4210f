"""Context shift: tokens in the middle go, those behind them move as they are."""

import numpy as np
import pytest
from test_differential import expected_storage, same, stored_rows

import kvq_mlir as kvq
from kvq_mlir import reference

HEADS, DIM = 2, 64
I4 = "codes = i4, group = [1, 32], scale = f16"
SHARED = "codes = i8, group = [1, 32], heads = *, scale = f16"
PER_CHANNEL = "codes = ui4, group = [4, 1], scale = f16, zero = min f16"
EXACT = "codes = none"


def cache_of(text: str, batch: int = 1, capacity: int = 130, **options) -> kvq.Cache:
    return kvq.Cache(batch, HEADS, capacity, DIM, kvq.Format(text), **{"fill": 0xFF, **options})


def noise(rng: np.random.Generator, batch: int, tokens: int) -> np.ndarray:
    return rng.standard_normal((batch, HEADS, tokens, DIM)).astype(np.float32)


@pytest.mark.parametrize("paging", [{}, dict(page=12)])
@pytest.mark.parametrize(
    "text, windows",
    [
        (EXACT, {}),
        (I4, dict(exact_first=3)),
        (SHARED, dict(recent=5)),
        (PER_CHANNEL, dict(exact_first=2, recent=7)),
        (PER_CHANNEL, dict(residual=12)),
    ],
)
def test_shift_moves_bits(text, windows, paging, rng):
    """Codes, metadata and exact tokens are those of the tokens that stay, bit for bit (llama.cpp#9743, #7230), and the
    cache goes on from there: later appends do what they would have done."""
    cache = cache_of(text, 3, **windows, **paging)
    n, first = cache.format.tokens, cache.exact_first
    cache.append(noise(rng, 3, 90), [90, 61, 30])
    for _ in range(2):
        stored = cache._stored.copy()
        begin = first + n * (rng.integers(0, np.maximum(stored, 1), 3) // n)  # of none that are stored: the first place
        count = n * (rng.integers(0, first + stored - begin + 1) // n)
        count[2] = 0  # nothing, wherever that begins
        begin[2] = 77
        before, lengths = cache.dequantize(), cache.lengths
        rows = {
            name: [
                stored_rows(cache, name, b, stored[b] // (n if name in ("scales", "zeros") else 1)) for b in range(3)
            ]
            for name in cache.storage()
            if name not in ("first", "recent")
        }
        cache.shift(begin, count)
        assert cache.lengths.tolist() == (lengths - count).tolist()
        after = cache.dequantize()
        for b in range(3):
            gap = np.arange(begin[b], begin[b] + count[b]) if count[b] else []
            kept = np.delete(np.arange(lengths[b]), gap)
            assert np.array_equal(after[b, :, : len(kept)], before[b][:, kept])
            for name, expected in rows.items():
                group = n if name in ("scales", "zeros") else 1
                kept_rows = np.delete(expected[b], (np.asarray(gap[::group], int) - first) // group, axis=1)
                assert same(stored_rows(cache, name, b, kept_rows.shape[1]), kept_rows), name
        cache.append(noise(rng, 3, 9), [9, 0, 5])
        assert np.array_equal(cache.dequantize()[1, :, : cache.lengths[1]], after[1, :, : cache.lengths[1]])


def test_shift_leaves_shared_pages_alone(rng):
    cache, plain = cache_of(I4, 2, page=8), cache_of(I4, 2)
    x = noise(rng, 2, 40)
    for each in (cache, plain):
        each.append(x, [40, 0])
        each.fork(0, [1])
        each.shift([0, 12], [0, 10])
    assert np.array_equal(cache.dequantize(), plain.dequantize()) and cache.lengths.tolist() == [40, 30]
    table = cache.page_table
    assert table[0, 0] == table[1, 0] and not np.isin(table[1, 1:4], table[0]).any()  # the first page is before the gap
    assert (table >= 0).sum(axis=1).tolist() == [5, 4]


@pytest.mark.parametrize(
    "text, options, begin, count, message",
    [
        (PER_CHANNEL, dict(recent=5), 2, 4, "whole groups of 4 tokens, counted from token 0, got tokens 2 to 6"),
        (PER_CHANNEL, dict(recent=5), 4, 6, "whole groups of 4 tokens, counted from token 0, got tokens 4 to 10"),
        (I4, dict(exact_first=3, recent=5), 2, 1, "expected to drop quantized tokens, 3 to 15, got 2 to 3"),
        (I4, dict(exact_first=3, recent=5), 12, 4, "expected to drop quantized tokens, 3 to 15, got 12 to 16"),
        (I4, {}, 0, -1, "sequence 0: expected a count of at least 0, got -1"),
        (I4, {}, [1, 2], 1, r"expected begin as one integer or 1, got int64 of shape \(2,\)"),
        (I4, dict(ring=9), 0, 1, "tokens of a ring lie where their positions say"),
    ],
)
def test_shift_errors_change_nothing(text, options, begin, count, message, rng):
    cache = cache_of(text, **options)
    cache.append(noise(rng, 1, 20))
    before = cache.dequantize()
    with pytest.raises(kvq.Error, match=message):
        cache.shift(begin, count)
    assert np.array_equal(cache.dequantize(), before) and cache.lengths.tolist() == [20]


# --- keys after RoPE -----------------------------------------------------------------------------------------------

STATIC = "codes = i8, group = [*, 32], scale = f32, range = static"
ROTATED = "codes = i4, group = [1, 32], scale = f16, center = bf16, rotate = hadamard<16>"
TURNED = [
    (EXACT, {}),
    (I4, dict(exact_first=3, dtype="bf16")),
    (SHARED, dict(recent=5, dtype="f32")),
    (PER_CHANNEL, dict(exact_first=2, recent=7)),
    ("codes = i6, group = [66, 16], scale = bf16", {}),  # more tokens than a tile
    ("codes = ui5, group = [8, *], scale = f16, zero = point ui8, layout = #kvq.layout<codes = stream>", dict(residual=16)),
    ("codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<record = [scale, codes]>", {}),
    ("codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32", dict(recent=2)),
    (STATIC, dict(recent=3)),
    (ROTATED, dict(exact_first=1, recent=3)),
]


def oracle_of(cache: kvq.Cache) -> reference.Cache:
    given = {name: array.reshape(-1, array.shape[3]) for name, array in cache._given.items()}
    calibration = reference.Calibration(
        outer=given["outer_scales"][:, 0] if "outer_scales" in given else None,
        scales=given.get("scales"),
        mean=given.get("means"),
        signs=given["signs"][0] if "signs" in given else None,
    )
    fmt = reference.Format.parse(str(cache.format))
    windows = {name: getattr(cache, name) for name in ("exact_first", "recent", "residual")}
    return reference.Cache(
        fmt, cache.batch, HEADS, DIM, cache.capacity, cache.dtype, calibration=calibration, **windows
    )


@pytest.mark.parametrize("text, options", TURNED)
def test_keys_are_turned_back(text, options, rng):
    """Codes and metadata equal the oracle's, and later appends go on from there."""
    style = str(rng.choice(reference.rope.STYLES))
    pairs = int(rng.choice([DIM // 2, rng.integers(1, DIM // 2)]))
    x = noise(rng, 2, 70)
    given = kvq.calibrate(x, kvq.Format(text), rng.choice(np.int8([-1, 1]), DIM) if text == ROTATED else None)
    paging = dict(page=kvq.Format(text).tokens * int(rng.integers(1, 9))) if rng.random() < 0.5 else {}
    cache = cache_of(text, 2, given=given, **options, **paging)
    oracle = oracle_of(cache)
    tables = kvq.rope_tables(131, 2 * pairs, base=100.0)
    print(f"{cache.type}, {style}, {pairs} pairs")
    for each in (cache, oracle):
        each.append(x, [70, 41])
    n, first = cache.format.tokens, cache.exact_first
    for _ in range(2):
        stored = cache._stored - (first if cache.format.is_exact else 0)
        begin = first + n * (rng.integers(0, np.maximum(stored, 1)) // n)
        count = n * (rng.integers(0, first + stored - begin + 1) // n)
        more = noise(rng, 2, 3)
        for each in (cache, oracle):
            each.shift(begin.tolist(), count.tolist(), rope=tables, rope_style=style)
            each.append(more)
        rebuilt = cache.dequantize()
        for b, length in enumerate(cache.lengths.tolist()):
            if not cache.format.is_exact:
                for name, part in expected_storage(oracle, b).items():
                    rows = cache.flushed[b] if name == "codes" else cache.flushed[b] // n
                    assert same(stored_rows(cache, name, b, rows).view(part.dtype), part), f"{name} of sequence {b}"
            expected = oracle.values64(b)
            assert np.allclose(rebuilt[b, :, :length], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("style", ["half", "interleaved"])
@pytest.mark.parametrize("text, rounding", [(EXACT, 2**-11), ("codes = i8, group = [1, 32], scale = f16", 0.5 / 126)])
def test_case_40_there_and_back(text, rounding, style, rng):
    """Moves by 0 change no bit; keys that are turned back are those of RoPE at their new positions; turned on again
    they are what they were, but for rounding (llama.cpp#9743, #7230)."""
    cos, sin = kvq.rope_tables(64, DIM)
    plain, more = noise(rng, 1, 40), noise(rng, 1, 20)
    # What is stored is rounded, turned (by which an error may grow by the root of 2) and rounded again.
    largest = max(np.abs(x).max() for x in (plain, more)) * np.sqrt(2)
    bound = largest * rounding * (1 + np.sqrt(2)) + 1e-5
    keys = reference.rope.turn(plain, cos[:40], sin[:40], style)
    cache = cache_of(text)
    cache.append(keys)
    before = {name: array.copy() for name, array in cache.storage().items()}
    cache.shift(10, 0, rope=(cos, sin), rope_style=style)
    assert all(same(array, before[name]) for name, array in cache.storage().items())
    stayed = cache.dequantize()
    cache.shift(10, 12, rope=(cos, sin), rope_style=style)
    kept = np.delete(plain, range(10, 22), axis=2)
    expected = reference.rope.turn(kept, cos[:28], sin[:28], style)
    assert np.abs(cache.dequantize() - expected).max() <= bound
    assert np.array_equal(cache.dequantize()[:, :, :10], stayed[:, :, :10])
    # By 12 positions on: as if the tables were of the opposite angles.
    cache.append(more)
    cache.shift(0, 10, rope=(cos, sin), rope_style=style)
    back = np.ascontiguousarray(-sin)
    cache.shift(0, 5, rope=(cos, sin), rope_style=style)
    there = cache.dequantize()
    lead = cache.lengths[0]
    cache.append(noise(rng, 1, 5))
    cache.shift(0, 5, rope=(cos, back), rope_style=style)
    on = reference.rope.turn(there[:, :, 5:], cos[[5] * (lead - 5)], sin[[5] * (lead - 5)], style)
    assert np.abs(cache.dequantize()[:, :, : lead - 5] - on).max() <= bound


@pytest.mark.parametrize(
    "text, change, error, message",
    [
        (I4, dict(rope_style="neox"), kvq.Error, "expected rope_style 'half' or 'interleaved', got 'neox'"),
        (I4, dict(rope=np.zeros((9, 32), np.float32)), TypeError, "expected rope as two tables, cosines and sines, got ndarray"),
        (I4, dict(rope=kvq.rope_tables(9, 66)), kvq.Error, r"shape \[positions, 1 to 32\], .* pair of 64 channels, got \[9, 33\]"),
        (I4, dict(rope=kvq.rope_tables(9, 64)[:1]), TypeError, "two tables"),
        (I4, dict(rope=(np.zeros((9, 4)), np.zeros((9, 4)))), TypeError, "table of cosines as an array of float32, got float64"),
        (I4, dict(rope=kvq.rope_tables(4, 64)), kvq.Error, "moves by 4 tokens need 5 rows of the tables of RoPE, got 4"),
        (f"{I4}, rope = pre", {}, kvq.Error, "keys before RoPE do not depend on positions"),
    ],
)
def test_tables_that_do_not_fit_change_nothing(text, change, error, message, rng):
    cache = cache_of(text)
    cache.append(noise(rng, 1, 20))
    before = cache.dequantize()
    with pytest.raises(error, match=message):
        cache.shift(3, 4, **{"rope": kvq.rope_tables(9, 64), **change})
    assert np.array_equal(cache.dequantize(), before) and cache.lengths.tolist() == [20]


def test_tables_of_rope():
    cos, sin = kvq.rope_tables(5, 6, base=100.0)
    assert cos.shape == sin.shape == (5, 3) and cos.dtype == np.float32
    assert np.allclose(np.arctan2(sin, cos)[:, 1], np.arange(5) * 100.0 ** (-1 / 3), atol=1e-6)
    with pytest.raises(kvq.Error, match="an even number of channels, 2 or more, got 5"):
        kvq.rope_tables(4, 5)
    with pytest.raises(kvq.Error, match="at least 0 positions, got -1"):
        kvq.rope_tables(-1, 4)
