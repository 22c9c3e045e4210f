"""Rings: the first tokens and the newest stay, others are written over. The oracle forgets nothing, and says which
tokens attention may see."""

import numpy as np
import pytest
from test_differential import TOLERANCE, expected_storage, same, stored_rows

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.metrics import relative_l2

HEADS, DIM = 2, 64
I4 = "codes = i4, group = [1, 32], scale = f16"
PER_CHANNEL = "codes = ui4, group = [4, 1], scale = f16, zero = min f16"
EXACT = "codes = none"
CASES = [
    (EXACT, {}, dict(ring=8)),
    (EXACT, {}, dict(ring=29, keep_first=5)),
    (I4, {}, dict(ring=13, keep_first=3)),
    (I4, dict(exact_first=2, recent=6), dict(ring=20, keep_first=7)),
    (PER_CHANNEL, dict(exact_first=2, recent=5), dict(ring=31, keep_first=9)),
    (PER_CHANNEL, dict(residual=12), dict(ring=29, keep_first=1)),
]


def cache_of(text: str, batch: int = 1, capacity: int = 1 << 20, **options) -> kvq.Cache:
    return kvq.Cache(batch, HEADS, capacity, DIM, kvq.Format(text), **{"fill": 0xFF, **options})


def oracle_of(text: str, batch: int = 1, **options) -> reference.Cache:
    return reference.Cache(reference.Format.parse(text), batch, HEADS, DIM, 1 << 20, **options)


def noise(rng: np.random.Generator, batch: int, tokens: int) -> np.ndarray:
    return rng.standard_normal((batch, HEADS, tokens, DIM)).astype(np.float32)


def check(cache: kvq.Cache, oracle: reference.Cache) -> None:
    """Codes and metadata of every group that holds a token which attention may see, and all values."""
    assert cache.lengths.tolist() == oracle.lengths.tolist() and cache.flushed.tolist() == oracle.flushed.tolist()
    values, n, first = cache.dequantize(), cache.format.tokens, cache.exact_first
    for b, length in enumerate(cache.lengths.tolist()):
        held = oracle.held(length)
        expected = np.where(held[:, None], oracle.values64(b), 0)
        assert np.allclose(values[b, :, :length], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max(initial=0))
        if cache.format.is_exact:
            continue
        flushed = int(cache.flushed[b])
        groups = np.unique(np.flatnonzero(held[first : first + flushed]) // n)
        size = (cache.page or n) // n  # groups that are written over together
        kept = -(-(cache.keep_first - first) // (size * n)) * size
        rounds = -(-(cache.ring - cache.keep_first) // (size * n)) * size
        rows = np.where(groups < kept, groups, kept + (groups - kept) % rounds)
        of_row = oracle.fmt.layout.block[0] if oracle.fmt.layout else 1
        for name, part in expected_storage(oracle, b).items():
            size = n // of_row if name == "codes" else 1
            stored = stored_rows(cache, name, b, (kept + rounds) * size).view(part.dtype)
            for i in range(size):
                assert same(stored[:, rows * size + i], part[:, groups * size + i]), name


@pytest.mark.parametrize("storage", ["contiguous", "pages", "given pages"])
@pytest.mark.parametrize("text, windows, ring", CASES)
def test_a_ring_equals_the_oracle(text, windows, ring, storage, rng):
    """Appends that wrap, ragged, cuts within the exact tail, reorderings and forks; attention after each."""
    batch = 3
    pages = {} if storage == "contiguous" else dict(page=4 * int(rng.integers(1, 4)))
    if storage == "given pages":
        longest = -(-(ring["ring"] + 2 * pages["page"]) // pages["page"])
        table = rng.permutation(batch * longest).reshape(batch, longest)
        pages |= dict(pages=table.size, page_table=table)
    cache, oracle = cache_of(text, batch, **windows, **ring, **pages), oracle_of(text, batch, **windows, **ring)
    newest = ring["ring"] - ring.get("keep_first", 0)
    for step in range(9):
        counts = rng.integers(0, [3, newest, 3 * newest][step % 3] + 1, batch)
        x = noise(rng, batch, int(counts.max()) + 1)
        for each in (cache, oracle):
            each.append(x, counts.tolist())
        if step % 3 == 1 and text != EXACT:
            tail = np.maximum(cache.lengths - rng.integers(0, 4, batch), cache.flushed + cache.exact_first)
            cut = np.minimum(tail, cache.lengths).tolist()
            for each in (cache, oracle):
                each.truncate(cut)
        if step % 3 == 2:
            indices = rng.integers(0, batch, batch).tolist()
            for each in (cache, oracle):
                each.reorder(indices)
                each.fork(0, [2])
        check(cache, oracle)
        queries = int(rng.integers(1, min(newest, 4) + 1))
        q = noise(rng, batch, queries).repeat(3, axis=1)
        for causal, splits in ((True, 1), (False, 3)):
            found = kvq.attention(q, cache, cache, causal=causal, splits=splits)
            expected = reference.attention(q, oracle, oracle, causal=causal)
            assert relative_l2(found, expected) <= TOLERANCE or not expected.any() and not found.any()


@pytest.mark.parametrize("text, n", [(EXACT, 1), ("codes = i8, group = [1, 32], scale = f32", 1), (PER_CHANNEL, 4)])
def test_window_of_eight_with_two_sinks(text, n):
    """Token t has value t, for t = 1 ... 25: uniform attention over the first two and the newest six gives 17.25
    (mlx-lm#1573, #1584, transformers#37574)."""
    window = {} if n == 1 else dict(recent=0)
    tokens = np.broadcast_to(np.arange(1, 26, dtype=np.float32)[:, None], (1, HEADS, 25, DIM))
    q = np.zeros((1, HEADS, 1, DIM), np.float32)
    for sizes in ([1] * 25, [25], [7, 18], [2, 6, 17]):
        cache = cache_of(text, **window, ring=8, keep_first=2)
        begin = 0
        for size in sizes:
            cache.append(np.ascontiguousarray(tokens[:, :, begin : begin + size]))
            begin += size
            held = [t for t in range(1, begin + 1) if t <= 2 or t > begin - 6]
            assert np.allclose(kvq.attention(q, cache, cache), np.mean(held), rtol=1e-2 if n > 1 else 1e-6)
        assert held == [1, 2, 20, 21, 22, 23, 24, 25] and np.mean(held) == 17.25


def test_storage_is_the_ring(rng):
    """Bytes do not grow with the capacity; with groups of 4 tokens, 7 first and 24 newest ones are 8 and 24 rows."""
    for capacity in (100, 1 << 40):
        cache = cache_of(PER_CHANNEL, 2, capacity, exact_first=2, recent=5, ring=31, keep_first=7)
        shapes = {name: array.shape[2] for name, array in cache.storage().items()}
        assert shapes == {"codes": 8 + 24, "scales": 8, "zeros": 8, "first": 2, "recent": 8}
    exact = cache_of(EXACT, ring=8, keep_first=2)
    assert exact.storage()["values"].shape == (1, HEADS, 8, DIM)
    footprint = kvq._kvq.Footprint(cache.dynamic_type)
    assert footprint.allocated(10)["total"] == footprint.allocated(1000)["total"] == cache.nbytes
    assert footprint.token_group_bytes["total"] == 0
    retained = footprint.retained(14)  # 2 first, 4 quantized, 8 in the window
    assert retained["codes"] == 2 * HEADS * 4 * 32 and retained["scales"] == 2 * HEADS * DIM * 2
    assert footprint.retained(1 << 30)["total"] <= cache.nbytes


def test_pages_of_a_ring_are_used_again(rng):
    """7 first and 24 newest tokens are 2 and 3 pages of 8, whatever the length; a shared page is copied before it is
    written over."""
    cache = cache_of(I4, 3, exact_first=0, ring=31, keep_first=7, page=8, pages=9)
    assert cache.storage()["codes"].shape == (9, HEADS, 8, 32) and cache.page_table.shape == (3, 4)
    x = noise(rng, 3, 100)
    cache.append(x, [100, 20, 0])
    assert np.count_nonzero(cache.page_table >= 0, axis=1).tolist() == [4, 3, 0]
    cache.fork(0, [2])
    assert cache.page_table[2].tolist() == cache.page_table[0].tolist()
    before = cache.dequantize()[2]
    cache.append(x[:, :, :10], [10, 0, 0])
    assert np.array_equal(cache.dequantize()[2, :, :100], before[:, :100])
    assert len({*cache.page_table[0].tolist()} & {*cache.page_table[2].tolist()}) == 2
    with pytest.raises(kvq.Error, match="pool full: 1 more pages are needed"):
        cache.append(x[:, :, :17], [17, 10, 10])
    cache.truncate(0)
    assert (cache.page_table == -1).all()
    footprint = kvq._kvq.Footprint(cache.dynamic_type)
    retained, row = footprint.retained(20), HEADS * (32 + 2 * 2)
    assert retained["total"] == 3 * 24 * row and retained["page_tails"] == 3 * 4 * row
    assert footprint.retained(1000)["total"] == footprint.allocated(1000)["total"] == 3 * 4 * 8 * row


@pytest.mark.parametrize("text, n", [(I4, 1), (PER_CHANNEL, 4)])
def test_rejected_speculative_tokens_leave_no_trace(text, n, rng):
    """Drafts rejected within the exact tail: what is held afterwards is what it would be without them."""
    options = dict(exact_first=3, recent=16, ring=50, keep_first=6)
    speculative, plain = (cache_of(text, **options) for _ in range(2))
    while speculative.lengths[0] < 170:
        accepted, drafts = noise(rng, 1, int(rng.integers(1, 6))), noise(rng, 1, int(rng.integers(1, 5)))
        for cache in (speculative, plain):
            cache.append(accepted)
        length = int(speculative.lengths[0])
        speculative.append(drafts * 1e3)
        speculative.truncate(length)
    last = noise(rng, 1, 20)
    for cache in (speculative, plain):
        cache.append(last)
    assert np.array_equal(speculative.dequantize(), plain.dequantize())
    q = noise(rng, 1, 1)
    assert np.array_equal(kvq.attention(q, speculative, speculative), kvq.attention(q, plain, plain))


def test_a_ring_cannot_go_back(rng):
    """What is written over is gone: a cut that would need it is an error, and changes nothing."""
    cache = cache_of(I4, 2, ring=12, keep_first=2)
    x = noise(rng, 2, 30)
    cache.append(x, [30, 9])
    before = cache.dequantize()
    message = "sequence 0: 29 tokens would go back to token 19, but the ring has written over all before 20 except"
    with pytest.raises(kvq.Error, match=message):
        cache.truncate(29)
    with pytest.raises(kvq.Error, match=message):
        cache.fork(0, [1], 29)
    assert np.array_equal(cache.dequantize(), before) and cache.lengths.tolist() == [30, 9]
    cache.truncate([30, 4])
    cache.truncate([2, 4])  # the first tokens are there
    cache.append(x)
    whole = cache_of(I4, 2, ring=12, keep_first=2)
    whole.append(np.concatenate([x[:, :, :4], x], axis=2)[:, :, :34], [34, 34])
    assert np.array_equal(cache.dequantize()[1, :, :34], whole.dequantize()[1])


@pytest.mark.parametrize(
    "text, options, message",
    [
        (I4, dict(ring=0), "expected a ring of at least 1 token, got 0"),
        (I4, dict(ring=4, keep_first=4), "expected a ring of more tokens than keep_first = 4, got 4"),
        (I4, dict(ring=4, keep_first=-1), "expected keep_first of at least 0, got -1"),
        (I4, dict(keep_first=4), "expected a ring beside keep_first = 4"),
        (I4, dict(ring=9, keep_first=2, exact_first=3), "keep_first of at least exact_first = 3, got 2"),
        (I4, dict(ring=9, keep_first=2, recent=8), "window of at most the 7 newest tokens that the ring keeps, got 8"),
    ],
)
def test_ring_errors(text, options, message):
    with pytest.raises(kvq.Error, match=message):
        cache_of(text, **options)


def test_attention_needs_the_same_ring_and_its_queries_in_it(rng):
    cache, other = cache_of(I4, ring=8, keep_first=3), cache_of(I4, ring=8, keep_first=2)
    for each in (cache, other):
        each.append(noise(rng, 1, 20))
    with pytest.raises(kvq.Error, match="ring = 8, keep_first = 3, the V cache ring = 8, keep_first = 2"):
        kvq.attention(noise(rng, 1, 1), cache, other)
    with pytest.raises(kvq.Error, match="6 queries beside keep_first = 3 need a ring of at least 9 tokens, got 8"):
        kvq.attention(noise(rng, 1, 6), cache, cache)
    kvq.attention(noise(rng, 1, 5), cache, cache)


@pytest.mark.parametrize("fmt", (EXACT, I4))
def test_cuts_that_leave_a_window(fmt, rng):
    """A ring of 8 tokens more than the window goes 8 tokens back, and attention within the window misses nothing."""
    window = 12
    ring, plain = cache_of(fmt, ring=2 + window + 8, keep_first=2), cache_of(fmt)
    for tokens, kept in ((40, 32), (5, 34), (8, 34), (6, 40)):
        x = noise(rng, 1, tokens)
        for cache in (ring, plain):
            cache.append(x)
        ring.truncate(kept, window)
        plain.truncate(kept)
        assert ring.lengths.tolist() == [kept]
        q = noise(rng, 1, 1)
        found, expected = (kvq.attention(q, cache, cache, window=window) for cache in (ring, plain))
        assert np.linalg.norm(found - expected) <= 1e-6 * np.linalg.norm(expected)
    ring.append(noise(rng, 1, 8))  # 48: tokens before 28 are gone
    message = "sequence 0: 39 tokens would go back to token 27, but the ring has written over all before 28 except"
    with pytest.raises(kvq.Error, match=message):
        ring.truncate(39, window)
    with pytest.raises(kvq.Error, match="expected a window of at least 1 token of a ring, got 12 with ring = None"):
        plain.truncate(3, window)
