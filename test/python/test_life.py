"""A cache's life after its first append: what is cut and what follows, against the oracle and against caches that
never saw it. Random cases have fresh seeds; `KVQ_SEED=<seed>` repeats one.
"""

import numpy as np
import pytest
from test_differential import DTYPES, FLOATS, FULL, TOLERANCE, Side, random_format, rng, same  # noqa: F401

import kvq_mlir as kvq
from kvq_mlir import _kvq, reference
from kvq_mlir.metrics import relative_l2

HEADS, DIM = 2, 64
I4 = "codes = i4, group = [1, 32], scale = f16"
PER_CHANNEL = "codes = ui4, group = [8, 1], scale = f16, zero = min f16"


def cache_of(text: str, batch: int = 1, capacity: int = 64, **options) -> kvq.Cache:
    return kvq.Cache(batch, HEADS, capacity, DIM, kvq.Format(text), fill=0xFF, **options)


def noise(rng: np.random.Generator, batch: int, tokens: int) -> np.ndarray:
    x = rng.standard_normal((batch, HEADS, tokens, DIM)) * np.exp(rng.normal(0, 2, (1, HEADS, 1, DIM)))
    return x.astype(np.float32)


def snapshot(cache: kvq.Cache) -> tuple:
    """All that a cache is: counts and bytes."""
    stored = {name: array.tobytes() for name, array in cache.storage().items()}
    return cache.lengths.tolist(), cache.flushed.tolist(), stored


def valid_rows(cache: kvq.Cache, b: int, flushed: int) -> dict[str, np.ndarray]:
    """Codes and metadata of the first `flushed` quantized tokens of sequence b."""
    if cache.format.is_exact:
        return {"values": cache.storage()["values"][b, :, : cache.lengths[b]]}
    rows = {"codes": flushed, "scales": flushed // cache.format.tokens, "zeros": flushed // cache.format.tokens}
    return {name: cache.storage()[name][b, :, :n] for name, n in rows.items() if name in cache.storage()}


def another(cache: kvq.Cache, **options) -> kvq.Cache:
    """An empty cache of the same parameters."""
    arguments = dict(exact_first=cache.exact_first, recent=cache.recent, residual=cache.residual, capacity=cache.capacity)
    arguments.update(batch=cache.batch, kv_heads=cache.kv_heads, head_dim=cache.head_dim)
    return kvq.Cache(fmt=cache.format, dtype=cache.dtype, **{**arguments, **options})


def cuts(cache: kvq.Cache, b: int) -> list[int]:
    """Lengths that sequence b can be cut to."""
    n, first, flushed = cache.format.tokens, cache.exact_first, int(cache.flushed[b])
    return [t for t in range(int(cache.lengths[b]) + 1) if not (0 < t - first < flushed and (t - first) % n)]


class LivingSide(Side):
    """A compiled cache and its oracle, and the tokens that each sequence should hold."""

    def __init__(self, rng: np.random.Generator, text: str, batch: int, capacity: int) -> None:
        super().__init__(rng, text, batch, HEADS, capacity, DIM, int(rng.integers(0, 4)))
        self.kept = [np.zeros((HEADS, 0, DIM), np.float32) for _ in range(batch)]

    def append(self, x: np.ndarray, counts: list[int]) -> None:
        super().append(x, counts)
        for b, count in enumerate(counts):
            self.kept[b] = np.concatenate([self.kept[b], x[b, :, :count]], axis=1)

    def truncate(self, lengths: list[int]) -> None:
        self.compiled.truncate(lengths)
        self.oracle.truncate(lengths)
        self.kept = [tokens[:, :length] for tokens, length in zip(self.kept, lengths, strict=True)]

    def step(self, rng: np.random.Generator) -> None:
        """A random append or cut."""
        cache, batch = self.compiled, self.compiled.batch
        if rng.random() < 0.4:
            self.truncate([int(rng.choice(cuts(cache, b))) for b in range(batch)])
            return
        room = np.minimum(cache.capacity - cache.lengths, 25)
        counts = rng.integers(0, room + 1)
        x = noise(rng, batch, int(counts.max()) + 2)
        for b, count in enumerate(counts):
            x[b, :, count:] = np.nan
        self.append(x, counts.tolist())


# --- truncate ------------------------------------------------------------------------------------------------------


def test_truncate_counts():
    cache = cache_of(PER_CHANNEL, batch=3, exact_first=2, recent=10)
    cache.append(noise(np.random.default_rng(0), 3, 40))
    assert (cache.lengths.tolist(), cache.flushed.tolist()) == ([40] * 3, [24] * 3)
    cache.truncate([50, 29, 18])  # beyond the end: nothing; in the tail; on a border
    assert (cache.lengths.tolist(), cache.flushed.tolist()) == ([40, 29, 18], [24, 24, 16])
    cache.truncate(26)  # the end of the quantized tokens
    assert (cache.lengths.tolist(), cache.flushed.tolist()) == ([26, 26, 18], [24, 24, 16])
    cache.truncate(1)  # among the first ones, which are exact
    assert (cache.lengths.tolist(), cache.flushed.tolist()) == ([1] * 3, [0] * 3)
    cache.truncate(0)
    assert not cache.lengths.any() and not cache.flushed.any()


@pytest.mark.parametrize("text", [I4, "codes = none"])
def test_truncate_without_window(text):
    cache = cache_of(text)
    x = noise(np.random.default_rng(0), 1, 20)
    cache.append(x)
    cache.truncate(7)
    assert cache.lengths.tolist() == [7] and cache.flushed.tolist() == [0 if text == "codes = none" else 7]
    whole = cache_of(text)
    whole.append(x[:, :, :7])
    assert np.array_equal(cache.dequantize(), whole.dequantize())


@pytest.mark.parametrize(
    "lengths, message",
    [
        (11, "sequence 0: 11 tokens end inside a group of 8; the nearest borders are 10 and 18 tokens"),
        ([40, 25], "sequence 1: 25 tokens end inside a group of 8; the nearest borders are 18 and 26 tokens"),
        ([1, -1], "sequence 1: expected a length of at least 0, got -1"),
        ([1, 2, 3], r"one integer length or 2, got int64 of shape \(3,\)"),
        (1.5, r"one integer length or 2, got float64 of shape \(\)"),
    ],
)
def test_truncate_errors_change_nothing(lengths, message):
    cache = cache_of(PER_CHANNEL, batch=2, exact_first=2, recent=10)
    cache.append(noise(np.random.default_rng(0), 2, 40))
    before = snapshot(cache)
    with pytest.raises(kvq.Error, match=message):
        cache.truncate(lengths)
    assert snapshot(cache) == before


def test_a_window_refills_after_a_deep_cut():
    cache = cache_of(I4, recent=10)
    x = noise(np.random.default_rng(0), 1, 60)
    cache.append(x[:, :, :30])
    cache.truncate(12)
    assert cache.flushed.tolist() == [12]  # no exact token is left
    cache.append(x[:, :, 12:21])
    assert cache.flushed.tolist() == [12]
    cache.append(x[:, :, 21:40])
    assert cache.flushed.tolist() == [30]
    whole = cache_of(I4, recent=10)
    whole.append(x[:, :, :40])
    assert np.array_equal(cache.dequantize(), whole.dequantize())


def test_rejected_speculative_tokens_leave_no_trace(rng):  # noqa: F811
    """Drafts that are rejected inside the exact tail: the bytes are those of a cache that never saw them."""
    for text in (PER_CHANNEL, I4):
        speculative, plain = (cache_of(text, capacity=150, exact_first=3, recent=16) for _ in range(2))
        while speculative.lengths[0] < 120:
            accepted, drafts = noise(rng, 1, int(rng.integers(1, 6))), noise(rng, 1, int(rng.integers(1, 5)))
            for cache in (speculative, plain):
                cache.append(accepted)
            length = int(speculative.lengths[0])
            speculative.append(drafts * 1e3)  # a range that would show
            assert length >= 3 + speculative.flushed[0] or speculative.flushed[0] == 0
            speculative.truncate(length)
        last = noise(rng, 1, 20)
        for cache in (speculative, plain):
            cache.append(last)
        assert speculative.flushed.tolist() == plain.flushed.tolist()
        flushed = int(plain.flushed[0])
        for name, rows in valid_rows(plain, 0, flushed).items():
            assert same(valid_rows(speculative, 0, flushed)[name], rows), name
        assert same(speculative.storage()["first"], plain.storage()["first"])
        slots = (np.arange(3 + flushed, plain.lengths[0]) - 3) % plain.storage()["recent"].shape[2]
        assert same(speculative.storage()["recent"][:, :, slots], plain.storage()["recent"][:, :, slots])


@pytest.mark.parametrize("case", range(40 if FULL else 8))
def test_appends_and_cuts_equal_the_oracle_and_one_shot(case, rng):  # noqa: F811
    """Random appends and cuts: the oracle's codes after each; at the end, those of one append of what was kept."""
    batch, capacity = int(rng.integers(1, 4)), 130
    side = LivingSide(rng, random_format(rng, DIM), batch, capacity)
    print(side.compiled)
    for _ in range(8):
        side.step(rng)
        side.check_codes()
    side.check_values()
    rest = (capacity - side.compiled.lengths).tolist()
    side.append(noise(rng, batch, max(rest)), rest)
    side.check_codes()
    cache = side.compiled
    whole = another(cache, fill=0)
    whole.append(np.stack(side.kept))
    assert whole.flushed.tolist() == cache.flushed.tolist()
    for b, flushed in enumerate(whole.flushed.tolist()):
        for name, rows in valid_rows(whole, b, flushed).items():
            assert same(valid_rows(cache, b, flushed)[name], rows), name
    assert np.array_equal(whole.dequantize(), cache.dequantize())


def test_attention_after_cuts(rng):  # noqa: F811
    for _ in range(4):
        texts = [random_format(rng, DIM) for _ in range(2)]
        k = LivingSide(rng, texts[0], 2, 90)
        v = LivingSide(rng, I4, 2, 90)
        for _ in range(4):
            k.step(rng)
        k.append(noise(rng, 2, 3), [3, 0] if k.compiled.lengths.max() < 87 else [0, 0])
        longest = int(k.compiled.lengths.max())
        v.append(noise(rng, 2, longest + 5), [min(90, longest + 5)] * 2)
        v.truncate(k.compiled.lengths.tolist())
        q = rng.standard_normal((2, 3 * HEADS, 1, DIM)).astype(np.float32)
        out, expected = kvq.attention(q, k.compiled, v.compiled), reference.attention(q, k.oracle, v.oracle)
        for b, length in enumerate(k.compiled.lengths):
            if length == 0:
                assert not out[b].any()
            else:
                assert relative_l2(out[b], expected[b]) <= TOLERANCE, k.compiled


TRUNCATE = """
!c = !kvq.cache<3x1x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16>, exact_first = 4, recent = 8>
func.func @truncate(%n: tensor<3xi64>, %f: tensor<3xi64>, %to: tensor<3xi64> {bufferization.writable = false})
    -> (tensor<3xi64>, tensor<3xi64>) {
  %0, %1 = kvq.truncate !c lengths(%n : tensor<3xi64>) flushed(%f : tensor<3xi64>)
      to(%to : tensor<3xi64>) -> tensor<3xi64>, tensor<3xi64>
  return %0, %1 : tensor<3xi64>, tensor<3xi64>
}
"""


def test_the_op_counts_as_the_cache_does(rng):  # noqa: F811
    compiled = _kvq.compile(TRUNCATE)
    cache = kvq.Cache(3, 1, 100, DIM, kvq.Format(I4), exact_first=4, recent=8)
    for _ in range(20):
        cache.append(np.zeros((3, 1, 60, DIM), np.float32), rng.integers(0, np.minimum(60, 100 - cache.lengths) + 1))
        lengths, flushed, to = cache.lengths, cache.flushed, rng.integers(0, 100, 3)
        compiled.invoke("truncate", (lengths, flushed, to))
        cache.truncate(to)
        assert (cache.lengths.tolist(), cache.flushed.tolist()) == (lengths.tolist(), flushed.tolist())


# --- residual ------------------------------------------------------------------------------------------------------


def test_residual_of_two_bit_keys():
    """KIVI's keys: D = 128, 2 bits, groups of 32, residual 32, 200 tokens: 192 are quantized, 8 are exact."""
    fmt = "codes = ui2, group = [32, 1], scale = f16, zero = min f16"
    cache = kvq.Cache(1, 1, 200, 128, kvq.Format(fmt), residual=32, fill=0xFF)
    cache.append(np.random.default_rng(0).standard_normal((1, 1, 200, 128)).astype(np.float32))
    assert cache.flushed.tolist() == [192]
    assert {name: array.shape[2] for name, array in cache.storage().items()} == {
        "codes": 192,
        "scales": 6,
        "zeros": 6,
        "recent": 31,
    }
    assert cache.nbytes == 192 * 32 + 2 * 6 * 128 * 2 + 31 * 128 * 2
    assert cache.type.endswith(", residual = 32>")


def test_residual_flushes_everything_at_once():
    cache = cache_of(PER_CHANNEL, exact_first=2, residual=24)
    x = noise(np.random.default_rng(0), 1, 64)
    flushed = []
    for t in range(60):
        cache.append(x[:, :, t : t + 1])
        flushed.append(int(cache.flushed[0]))
    assert flushed == [max(0, t + 1 - 2) // 24 * 24 for t in range(60)]
    cache.truncate(34)  # below the 48: on a border of groups of 8, none of residuals of 24
    assert cache.flushed.tolist() == [32]
    cache.append(x[:, :, 34:49])
    assert cache.flushed.tolist() == [32]
    cache.append(x[:, :, 49:50])
    assert cache.flushed.tolist() == [48]
    whole = cache_of(PER_CHANNEL, exact_first=2, residual=24)
    whole.append(x[:, :, :50])
    assert np.array_equal(cache.dequantize(), whole.dequantize())


def test_residual_of_one_token_keeps_none():
    cache, plain = cache_of(I4, residual=1), cache_of(I4)
    assert "recent" not in cache.storage()
    x = noise(np.random.default_rng(0), 1, 10)
    cache.append(x)
    plain.append(x)
    assert np.array_equal(cache.dequantize(), plain.dequantize())
    q = np.ones((1, HEADS, 1, DIM), np.float32)
    assert np.array_equal(kvq.attention(q, cache, cache), kvq.attention(q, plain, plain))


@pytest.mark.parametrize(
    "text, options, message",
    [
        (PER_CHANNEL, dict(residual=12), "expected residual to be whole groups of 8 tokens, got 12"),
        (I4, dict(residual=0), "expected residual of at least 1, got 0"),
        (I4, dict(residual=8, recent=4), "got recent = 4 and residual = 8"),
        ("codes = none", dict(residual=8), "exact elements need no exact window"),
    ],
)
def test_residual_errors(text, options, message):
    with pytest.raises(kvq.Error, match=message):
        cache_of(text, **options)
