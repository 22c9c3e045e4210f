"""Rows of a token's heads beside each other (`token_major`): the same rows in another order, whatever is done to them."""

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import reference
from kvq_mlir.metrics import relative_l2

I4 = "codes = i4, group = [1, 32], scale = f16"
FORMATS = {
    "exact": "codes = none",
    "i4": I4,
    "minimum": "codes = ui3, group = [1, 16], scale = f16, zero = min f16",
    "channel": "codes = ui4, group = [32, 1], scale = f16, zero = min f16",
    "rotated": I4 + ", rotate = hadamard<32>",
    "record": I4 + ", layout = #kvq.layout<codes = planar, record = [scale, codes]>",
    "blocks": "codes = i4, group = [16, 32], scale = f16, layout = #kvq.layout<codes = stream, block = [16, 1]>",
}
STORAGES = [
    dict(exact_first=3, recent=40),
    {},
    dict(page=32),
    dict(ring=160),
    dict(page=32, ring=160, keep_first=32),
]
SHAPE = (3, 4, 300, 64)  # batch, KV heads, capacity, head dim
COUNTS = [200, 0, 131]


def make(text: str, **storage) -> tuple[kvq.Cache, kvq.Cache]:
    """Head-major and token-major."""
    fmt = kvq.Format(text) if isinstance(text, str) else text
    if fmt.tokens > 1 and "recent" not in storage:
        storage["recent"] = 8
    return tuple(kvq.Cache(*SHAPE, fmt, token_major=major, fill=0xFF, **storage) for major in (False, True))


def check(plain: kvq.Cache, major: kvq.Cache) -> None:
    """The same tokens, and of what holds tokens the same rows in the other order."""
    assert np.array_equal(plain.dequantize(), major.dequantize())
    assert np.array_equal(plain.lengths, major.lengths) and np.array_equal(plain.flushed, major.flushed)
    for name, rows in plain.storage().items():
        others = major.storage()[name]
        if name.partition(".")[0] not in ("first", "recent", "signs"):
            others = others.swapaxes(1, 2)
        assert np.array_equal(rows.view(np.uint8), np.ascontiguousarray(others).view(np.uint8)), name


def both(caches: tuple[kvq.Cache, kvq.Cache], call) -> None:
    """What `call` does to each leaves them alike."""
    for cache in caches:
        call(cache)
    check(*caches)


@pytest.mark.parametrize("name", FORMATS)
def test_life_of_a_cache(name, rng):
    storage = dict(rng.choice(STORAGES[name == "exact" :]))
    caches = make(FORMATS[name], **storage)
    x = rng.standard_normal((3, 4, 200, 64), np.float32)
    both(caches, lambda cache: cache.append(x, COUNTS))
    both(caches, lambda cache: cache.append(x[:, :, :9], [1, 9, 0]))
    both(caches, lambda cache: cache.append(x[0].swapaxes(0, 1)[:30].copy(), starts=[0, 2, 2, 30]))
    both(caches, lambda cache: cache.reorder([2, 0, 0]))
    if "ring" not in storage:
        both(caches, lambda cache: cache.fork(0, [1], 96 + cache.exact_first))
        group, first = caches[0].format.tokens, caches[0].exact_first
        both(caches, lambda cache: cache.shift(first, [0, group, 0]))
        both(caches, lambda cache: cache.truncate(32 + caches[0].exact_first))
        both(caches, lambda cache: cache.append(x[:, :, :100]))


def test_slots(rng):
    table = rng.permutation(30).reshape(3, 10)
    caches = make(I4, page=32, page_table=table)
    x = rng.standard_normal((40, 4, 64), np.float32)
    slots = np.concatenate([table[0, 0] * 32 + np.arange(32), table[1, 0] * 32 + np.arange(8)])
    both(caches, lambda cache: cache.store(x, slots, [32, 8, 0]))


def test_rows_of_segments(rng):
    f8 = "#kvq.format<codes = f8E4M3FN, group = [1, 32], scale = f32>"
    segments = kvq.Segments(f"[0:32] = {f8}, [32:64] = none, row = [codes.0, scale.0, values.1]")
    caches = make(segments, page=16)
    x = rng.standard_normal((3, 4, 77, 64), np.float32)
    both(caches, lambda cache: cache.append(x))


@pytest.mark.parametrize(("k", "v"), [("exact", "i4"), ("i4", "record"), ("channel", "minimum"), ("rotated", "blocks")])
def test_attention(k, v, rng):
    """A work item for each head gives the same bits; one that takes all heads in turn the same up to the order of sums,
    with any number of tokens in between, splits and threads."""
    storage = dict(rng.choice(STORAGES[k == "exact" : 4]))
    keys, values = make(FORMATS[k], **storage), make(FORMATS[v], **storage)
    for caches in (keys, values):
        x = rng.standard_normal((3, 4, 200, 64), np.float32)
        both(caches, lambda cache: cache.append(x, COUNTS))
    q = rng.standard_normal((3, 8, 2, 64), np.float32)
    everything = dict(
        slopes=rng.standard_normal(8).astype(np.float32) / 50,
        sinks=rng.standard_normal(8).astype(np.float32),
        mask=rng.random((3, 8, 2, 200)) < 0.9,
        return_lse=True,
    )
    options = rng.choice([{}, everything, dict(window=50, window_first=2), dict(query_codes="i16")])
    bound = 2e-4 if "query_codes" in options else 3e-6

    def attend(caches: list[kvq.Cache], **schedule) -> tuple[np.ndarray, ...]:
        made = kvq.Schedule(**schedule) if schedule else None
        result = kvq.attention(q, *caches, schedule=made, query_tile=1, **options)
        return result if isinstance(result, tuple) else (result,)

    expected = attend([keys[0], values[0]], heads_inside=0)
    for found, wanted in zip(attend([keys[1], values[1]], heads_inside=0), expected, strict=True):
        assert np.array_equal(found, wanted)
    for caches, schedule in (
        ([keys[1], values[1]], {}),
        ([keys[1], values[1]], dict(heads_inside=48, tile=16, splits=3, prefetch=0)),
        ([keys[0], values[1]], dict(heads_inside=64)),
    ):
        for found, wanted in zip(attend(caches, **schedule), expected, strict=True):
            seen = np.isfinite(wanted)
            assert np.array_equal(seen, np.isfinite(found))
            assert relative_l2(found[seen], wanted[seen]) <= bound, (options, schedule)


def test_splits_give_threads_work(rng):
    """All heads of a sequence are one work item: the same bits with any number of threads, for the same splits."""
    fmt = kvq.Format(I4)
    k, v = (kvq.Cache(1, 4, 4096, 64, fmt, token_major=True) for _ in "kv")
    for cache in (k, v):
        cache.append(rng.standard_normal((1, 4, 3000, 64), np.float32))
    q = rng.standard_normal((1, 8, 1, 64), np.float32)
    assert np.array_equal(kvq.attention(q, k, v, threads=2), kvq.attention(q, k, v, splits=2))
    assert np.array_equal(kvq.attention(q, k, v, splits=3, threads=2), kvq.attention(q, k, v, splits=3))


@pytest.mark.parametrize("device", [None, "emulator"])
def test_many_splits_of_many_heads(device, rng):
    """Who merges them takes more than is allowed for a tile."""
    k, v = (kvq.Cache(1, 8, 80, 128, kvq.Format(I4), token_major=True) for _ in "kv")
    for cache in (k, v):
        cache.append(rng.standard_normal((1, 8, 70, 128), np.float32))
    q = rng.standard_normal((1, 64, 1, 128), np.float32)
    expected = reference.attention(q, *(list(side.dequantize()[:, :, :70].astype(np.float64)) for side in (k, v)))
    assert relative_l2(kvq.attention(q, k, v, splits=16, device=device), expected) <= 2e-3


def test_what_does_not_compose():
    for text, message in (
        (I4 + ", layout = #kvq.layout<codes = planar, tile = token_pairs<64>>", "rows of a head together in tiles"),
        (I4 + ", heads = 2", "expected groups of one head with token_major, got 2"),
    ):
        with pytest.raises(kvq.Error, match=message):
            kvq.Cache(1, 4, 64, 64, kvq.Format(text), token_major=True)
    auto = kvq.Cache(1, 4, 64, 64, kvq.Format(I4 + ", layout = auto"), token_major=True, side="keys")
    assert "rows of a head together in tiles" in auto.why_planar and auto.token_major
