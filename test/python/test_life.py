"""A cache's life after its first append: what is cut and what follows, against the oracle and against caches that
never saw it. Random cases have fresh seeds; `KVQ_SEED=<seed>` repeats one.
"""

import itertools

import numpy as np
import pytest
from test_differential import FULL, TOLERANCE, Side, random_format, same, stored_rows

import kvq_mlir as kvq
from kvq_mlir import _kvq, reference
from kvq_mlir.ir.reorder import reorder as reorder_ir
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
        return {"values": stored_rows(cache, "values", b, int(cache.lengths[b]))}
    rows = {"codes": flushed, "scales": flushed // cache.format.tokens, "zeros": flushed // cache.format.tokens}
    return {name: stored_rows(cache, name, b, n) for name, n in rows.items() if name in cache.storage()}


def another(cache: kvq.Cache, **options) -> kvq.Cache:
    """An empty cache of the same parameters."""
    arguments = dict(batch=cache.batch, kv_heads=cache.kv_heads, capacity=cache.capacity, head_dim=cache.head_dim)
    arguments.update(exact_first=cache.exact_first, recent=cache.recent, residual=cache.residual)
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

    def reorder(self, indices: list[int]) -> None:
        self.compiled.reorder(indices)
        self.oracle.reorder(indices)
        self.kept = [self.kept[index] for index in indices]

    def fork(self, source: int, targets: list[int], length: int | None) -> None:
        self.compiled.fork(source, targets, length)
        self.oracle.fork(source, targets, length)
        for target in targets:
            self.kept[target] = self.kept[source][:, :length]

    def step(self, rng: np.random.Generator) -> None:
        """A random append, cut, reordering or fork."""
        cache, batch = self.compiled, self.compiled.batch
        kind = rng.random()
        if kind < 0.15:
            self.reorder(rng.integers(0, batch, batch).tolist())
            return
        if kind < 0.3:
            source, *others = rng.permutation(batch).tolist()
            length = int(rng.choice(cuts(cache, source))) if rng.random() < 0.7 else None
            self.fork(source, others[: rng.integers(0, batch)], length)
            return
        if kind < 0.55:
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


def test_rejected_speculative_tokens_leave_no_trace(rng):
    """Drafts that are rejected inside the exact tail: the bytes are those of a cache that never saw them."""
    for text, page in itertools.product((PER_CHANNEL, I4), (None, 24)):
        plain = cache_of(text, capacity=150, exact_first=3, recent=16)
        speculative = cache_of(text, capacity=150, exact_first=3, recent=16, page=page)
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
def test_any_life_equals_the_oracle_and_one_shot(case, rng):
    """Random appends, cuts, reorderings and forks: the oracle's codes after each; at the end, those of one append of
    what was kept."""
    batch, capacity = int(rng.integers(1, 5)), 130
    side = LivingSide(rng, random_format(rng, DIM), batch, capacity)
    print(side.compiled)
    for _ in range(10):
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


def test_attention_after_cuts(rng):
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


def test_the_op_counts_as_the_cache_does(rng):
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
    footprint = _kvq.Footprint(cache.type)
    assert footprint.allocated(200)["total"] == cache.nbytes
    assert footprint.retained(200)["total"] == 192 * 32 + 2 * 6 * 128 * 2 + 8 * 128 * 2
    assert footprint.token_group_bytes["total"] == 32 * 32 + 2 * 128 * 2


def test_bytes_per_group_with_a_residual_of_several():
    """What a group of tokens takes does not depend on how many leave at once."""
    expected = _kvq.Footprint(cache_of(PER_CHANNEL, recent=5).type).token_group_bytes
    for residual in (8, 24, 64):
        assert _kvq.Footprint(cache_of(PER_CHANNEL, residual=residual).type).token_group_bytes == expected


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


# --- reorder and fork ----------------------------------------------------------------------------------------------


def lives(batch: int) -> kvq.Cache:
    """Sequences of 5, 16, 27 ... tokens."""
    cache = cache_of(PER_CHANNEL, batch=batch, exact_first=2, recent=5)
    lengths = [5 + 11 * b for b in range(batch)]
    cache.append(noise(np.random.default_rng(3), batch, max(lengths)), lengths)
    return cache


def expect_copies(cache: kvq.Cache, before: kvq.Cache, sources: list[int]) -> None:
    """Sequence b of `cache` is sources[b] of `before`: its values and its codes."""
    assert cache.lengths.tolist() == before.lengths[sources].tolist()
    assert cache.flushed.tolist() == before.flushed[sources].tolist()
    values, expected = cache.dequantize(), before.dequantize()
    for b, source in enumerate(sources):
        length, flushed = int(cache.lengths[b]), int(cache.flushed[b])
        assert np.array_equal(values[b, :, :length], expected[source, :, :length])
        for name, rows in valid_rows(before, source, flushed).items():
            assert same(valid_rows(cache, b, flushed)[name], rows), name


@pytest.mark.parametrize(
    "indices",
    [
        [0, 1, 2, 3],
        [3, 2, 1, 0],
        [1, 2, 3, 0],
        [1, 0, 3, 3],  # a cycle, and a copy
        [2, 2, 2, 2],
        [1, 2, 0, 0],  # a copy from a cycle
        [0, 0, 1, 2],  # a chain
    ],
)
def test_reorder(indices):
    cache = lives(4)
    storage = cache.storage()
    cache.reorder(indices)
    expect_copies(cache, lives(4), indices)
    assert all(array is storage[name] for name, array in cache.storage().items())  # in place


def test_reorder_copies_nothing_beyond_the_tokens():
    cache = lives(3)
    cache.reorder([1, 1, 0])
    stored = cache.storage()
    assert np.all(stored["codes"][0, :, 8:].view(np.uint8) == 0xFF)  # 16 tokens, 8 of them quantized
    assert np.all(stored["scales"][0, :, 1:].view(np.uint8) == 0xFF)
    fresh = lives(3).storage()
    assert np.array_equal(stored["codes"][2].view(np.uint8), fresh["codes"][2].view(np.uint8))  # 0 has none


@pytest.mark.parametrize(
    "indices, message",
    [
        ([0, 3, 1], "index from 0 to 2 of a sequence, got 3"),
        ([0, -1, 1], "index from 0 to 2 of a sequence, got -1"),
        ([0, 1], r"3 integer indices of sequences, got int64 of shape \(2,\)"),
        ([0.0, 1.0, 2.0], "3 integer indices of sequences, got float64"),
    ],
)
def test_reorder_errors_change_nothing(indices, message):
    cache = lives(3)
    before = snapshot(cache)
    with pytest.raises(kvq.Error, match=message):
        cache.reorder(indices)
    assert snapshot(cache) == before


def test_fork():
    cache, before = lives(4), lives(4)
    cache.fork(3, [0, 2], length=18)
    assert (cache.lengths.tolist(), cache.flushed.tolist()) == ([18, 16, 18, 38], [16, 8, 16, 24])
    before.truncate([5, 16, 27, 18])
    whole = lives(4)
    for b, (model, source) in enumerate([(before, 3), (whole, 1), (before, 3), (whole, 3)]):
        length = int(cache.lengths[b])
        assert np.array_equal(cache.dequantize()[b, :, :length], model.dequantize()[source, :, :length])
    cache.fork(1, [0])
    assert cache.lengths.tolist() == [16, 16, 18, 38]
    cache.fork(1, [3], length=99)  # no more than there is
    assert cache.lengths.tolist() == [16, 16, 18, 16]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((3, [0], 20), "sequence 3: 20 tokens end inside a group of 8; the nearest borders are 18 and 26 tokens"),
        ((4, [0]), "index from 0 to 3 of a sequence, got 4"),
        ((3, [0, 5]), "index from 0 to 3 of a sequence, got 5"),
        ((3, [0, 3]), r"targets other than the source, sequence 3, got \[0, 3\]"),
        ((3, [0], -1), "length of at least 0, got -1"),
    ],
)
def test_fork_errors_change_nothing(arguments, message):
    cache = lives(4)
    before = snapshot(cache)
    with pytest.raises(kvq.Error, match=message):
        cache.fork(*arguments)
    assert snapshot(cache) == before


def test_a_fork_and_its_source_go_apart(rng):
    """Prefixes are copied, not shared: what is appended to one sequence leaves the other alone."""
    forked, plain = lives(2), lives(2)
    forked.fork(1, [0])
    x = noise(rng, 2, 30)
    forked.append(x)
    plain.append(x, [0, 30])
    assert forked.lengths.tolist() == [46, 46]
    assert np.array_equal(forked.dequantize()[1], plain.dequantize()[1])
    assert np.array_equal(forked.dequantize()[0, :, :10], plain.dequantize()[1, :, :10])
    assert not np.array_equal(forked.dequantize()[0, :, 16:], plain.dequantize()[1, :, 16:])


def test_a_batch_grows_into_a_poisoned_pool():
    """Copies of one sequence into a larger, poisoned cache carry all metadata, and leave the first as it was
    (imp#1189, openvino#37381)."""
    small, large = lives(1), cache_of(PER_CHANNEL, batch=3, capacity=100, exact_first=2, recent=5)
    small.append(noise(np.random.default_rng(4), 1, 40))
    kernel = _kvq.compile(reorder_ir((1, 3), small.dynamic_type, large.dynamic_type, True))
    sources = np.array([0, -1, 0])
    kernel.invoke(
        "reorder", (*small.storage().values(), sources, small.lengths, small.flushed, *large.storage().values())
    )
    flushed = int(small.flushed[0])
    for b in (0, 2):
        for name, rows in valid_rows(small, 0, flushed).items():
            assert same(valid_rows(large, b, flushed)[name], rows), name
        assert same(large.storage()["first"][b], small.storage()["first"][0])
    assert all(np.all(array[1].view(np.uint8) == 0xFF) for array in large.storage().values())
