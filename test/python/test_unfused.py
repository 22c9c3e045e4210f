"""Attention without fusion: caches rebuilt on a device hold what the processor makes of them, bit for bit."""

import json

import draws
import numpy as np
import pytest
from test_differential import DTYPES, same, values
from test_emulated import TOLERANCE, draw_device
from test_presets import NAMES

import kvq_mlir as kvq
from kvq_mlir.metrics import relative_l2
from kvq_mlir.unfused import UnfusedAttention

I4 = "codes = i4, group = [1, 32], scale = f16"
PER_CHANNEL = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"


def filled(rng, fmt, lengths, kv_heads=2, dim=64, **options):
    """A cache on the processor with ragged sequences."""
    cache = kvq.Cache(len(lengths), kv_heads, max(lengths) + 9, dim, fmt, fill=0xFF, **options)
    cache.append(rng.standard_normal((len(lengths), kv_heads, max(lengths), dim), np.float32), lengths)
    return cache


def poisoned(cache):
    return np.full((cache.batch, cache.kv_heads, cache.lengths.max(), cache.head_dim), np.nan, np.float32)


def check(cache, device):
    """What a device rebuilds, all of it and as exact tokens, against the processor."""
    print(cache.type, device)
    copy, expected, out = cache.to(device), cache.dequantize(), poisoned(cache)
    assert copy.dequantize(out) is out and same(out, expected)
    if cache.ring is None:
        exact, own = copy.to_exact(), cache.to_exact()
        assert exact.format.is_exact and exact.dtype == cache.dtype and exact.lengths.tolist() == cache.lengths.tolist()
        for b, length in enumerate(cache.lengths):
            rows = [side.storage()["values"][b, :, :length] for side in (exact, own)]
            assert same(*rows)
        with np.errstate(over="ignore"):
            assert same(exact.dequantize(), expected.astype(DTYPES[cache.dtype]).astype(np.float32))


@pytest.mark.parametrize("case", range(10))
def test_drawn_caches(case, rng):
    fields = None
    while fields is None:
        fields = draws.draw(rng, dict(appends="ragged"))
    case = json.loads(draws.complete(rng, fields))
    print(case)
    rng, fmt = np.random.default_rng(case["seed"]), kvq.Format(draws.format_text(case))
    batch, heads, dim = case["batch"], case["heads"], case["dim"]
    ring = {name: case["storage"][name] for name in ("ring", "keep_first") if name in case["storage"]}
    parameters = dict(dtype=case["dtype"], exact_first=case["exact_first"], **case["window"], **ring)
    capacity = int(max(np.sum(case["appends"], axis=0)) + rng.integers(0, 9))
    given = kvq.calibrate(rng.standard_normal((2, heads, 40, dim)).astype(np.float32), fmt)
    pages = draws._pages(rng, case, capacity)
    cache = kvq.Cache(batch, heads, capacity, dim, fmt, given=given, fill=0xFF, **parameters, **pages)
    for counts in case["appends"]:
        cache.append(values(rng, (batch, heads, max(counts), dim), case["input"]), counts)
    check(cache, draw_device(rng))


@pytest.mark.parametrize(
    "fmt, options",
    [
        (I4, dict(page=16)),
        (I4, dict(token_major=True)),
        (I4, dict(exact_first=3, recent=9)),
        (I4, dict(ring=48, keep_first=4)),
        (I4, dict(ring=40, keep_first=7, page=16, recent=5)),
        (PER_CHANNEL, dict(recent=32, page=64)),
        (PER_CHANNEL, dict(residual=64, exact_first=5)),
        (PER_CHANNEL, dict(ring=80, keep_first=9)),
        ("codes = i8, group = [128, 1], scale = f16", {}),
        ("codes = i4, group = [20, 8], scale = f16", dict(page=20)),
        ("codes = none", dict(dtype="bf16", page=32)),
        ("codes = i8, group = [1, *], scale = f16, rope = pre", {}),
    ],
)
def test_kinds_of_caches(fmt, options, rng):
    check(filled(rng, kvq.Format(fmt), [150, 1, 67], **options), draw_device(rng))


def test_segments(rng):
    for text in (f"[0:64] = #kvq.format<{I4}>, [64:96] = none", f"[0:64] = #kvq.format<{PER_CHANNEL}>, [64:96] = none"):
        check(filled(rng, kvq.Segments(text), [70, 33], dim=96, recent=32), draw_device(rng))


def test_presets_of_engines(rng):
    """Some of them in each run."""
    for name in rng.choice(NAMES, 5, replace=False).tolist():
        fmt, dim = kvq.Format.preset(name), 576 if "mla" in name else 128
        given = kvq.calibrate(rng.standard_normal((2, 2, 64, dim)).astype(np.float32), fmt)
        dtype = "bf16" if "mla" in name else "f16"
        check(filled(rng, fmt, [70], dim=dim, dtype=dtype, given=given), draw_device(rng))


@pytest.mark.parametrize("fmt", [I4, PER_CHANNEL, "codes = f8E4M3FN, group = [1, *], scale = f16"])
def test_unfused_attention(fmt, rng):
    """Within what attention itself may be off by, over the same tokens in f16; again after an append."""
    fmt = kvq.Format(fmt)
    k, v = (filled(rng, fmt, [90, 41], page=32, recent=fmt.tokens - 1).to("emulator") for _ in range(2))
    q = rng.standard_normal((2, 8, 1, 64)).astype(np.float16)
    unfused = UnfusedAttention(k, v)
    for _ in range(2):
        found = unfused(q)
        exact = kvq.attention(q, *(side.to_exact() for side in (k, v)), device="cpu")
        assert relative_l2(found, exact) <= TOLERANCE
        assert relative_l2(found, kvq.attention(q, k, v)) <= 2 * TOLERANCE
        for side in (k, v):
            side.append(rng.standard_normal((2, 2, 3, 64), np.float32))
    assert not np.array_equal(found, unfused(q)), "the new tokens are seen"


def test_what_does_not_fit(rng):
    cache = filled(rng, kvq.Format(I4), [40], ring=32)
    with pytest.raises(kvq.Error, match="expected a cache that holds all tokens, got ring = 32"):
        cache.to_exact()
    cache = filled(rng, kvq.Format(I4), [40])
    with pytest.raises(kvq.Error, match="expected a cache of type !kvq.cache<1x2x.x64xf16, .*> in the memory of 'cpu', got"):
        cache.to_exact(cache)
    small = kvq.Cache(1, 2, 39, 64, kvq.Format("codes = none"))
    with pytest.raises(kvq.Error, match="expected room for 40 tokens, got a capacity of 39"):
        cache.to_exact(small)
    with pytest.raises(TypeError, match="expected into as a kvq_mlir.Cache, got ndarray"):
        cache.to_exact(np.zeros(3))
    with pytest.raises(kvq.Error, match="expected out as float32 of shape"):
        cache.dequantize(np.zeros((1, 2, 40, 64), np.float16))
    mixed = f"[0:64] = #kvq.format<{I4}, rope = pre>, [64:96] = #kvq.format<{I4}>"
    cache = filled(rng, kvq.Segments(mixed), [40], dim=96)
    with pytest.raises(kvq.Error, match="expected keys before RoPE in all segments or in none"):
        cache.to_exact()
