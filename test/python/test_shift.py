"""Context shift: tokens in the middle go, those behind them move as they are."""

import numpy as np
import pytest
from test_differential import same, stored_rows

import kvq_mlir as kvq

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
        begin = first + n * (rng.integers(0, stored, 3) // n)
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
