"""Integer dot products (rule R38): what the query and the probabilities become, and what it costs at most."""

import itertools
import math

import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.metrics import relative_l2

LARGEST = {"i16": 32767, "i8": 127}
TILE = 64  # tokens, from the first of the region on


def integers(x: np.ndarray, largest: int) -> np.ndarray:
    """Rule R38 along the last axis, float32: what takes the place of x."""
    top = np.abs(x).max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        codes = np.where(top > 0, np.rint(x * (np.float32(largest) / top)), 0)
    return (top / np.float32(largest)).astype(np.float32) * codes.astype(np.float32)


def rounded_query(q: np.ndarray, kind: str, channels: int) -> np.ndarray:
    """The query as keys in groups of so many channels see it."""
    factor = np.float32(math.log2(math.e) / math.sqrt(q.shape[-1]))
    groups = (q.astype(np.float32) * factor).reshape(*q.shape[:-1], -1, channels)
    return (integers(groups, LARGEST[kind]) / factor).reshape(q.shape)


def draw_codes(rng: np.random.Generator) -> str:
    bits = rng.choice([2, 3, 4, 5, 6, 8])
    if rng.random() < 0.5:
        return f"codes = i{bits}, scale = {rng.choice(['f16', 'f32', 'bf16'])}"
    return f"codes = ui{bits}, scale = f16, zero = {rng.choice(['min f16', 'point ui8', 'point f16'])}"


def filled(rng: np.random.Generator, text: str, tokens: int, dim: int = 64, **windows: int) -> kvq.Cache:
    cache = kvq.Cache(2, 2, tokens + 3, dim, kvq.Format(text), fill=0xFF, **windows)
    cache.append(rng.standard_normal((2, 2, tokens, dim), np.float32))
    return cache


def expected(q: np.ndarray, k: kvq.Cache, v: kvq.Cache) -> np.ndarray:
    """Attention in float64 over what the caches hold."""
    keys, values = (list(side.dequantize()[:, :, : side.lengths[0]].astype(np.float64)) for side in (k, v))
    return reference.attention(q, keys, values)


@pytest.mark.parametrize("kind", LARGEST)
@pytest.mark.parametrize("group", ["1, 16", "1, *"])
def test_keys_see_the_rounded_query(rng, kind, group):
    """Beside exact values, nothing but the query is rounded."""
    tokens = int(rng.choice([1, 63, 64, 65, 130]))
    k = filled(rng, f"{draw_codes(rng)}, group = [{group}]", tokens)
    v = filled(rng, "codes = none", tokens)
    q = rng.standard_normal((2, 6, 1, 64), np.float32)
    out = kvq.attention(q, k, v, query_codes=kind)
    # An integer that is off by one would be 1e-3 of i8, and 1e-5 of i16, of which one that is halfway may be.
    assert not relative_l2(out, expected(rounded_query(q, kind, 16 if group == "1, 16" else 64), k, v)) > 5e-5
    if kind == "i8" and tokens > 1:  # more than f32 rounds
        assert relative_l2(out, expected(q, k, v)) > 1e-4


@pytest.mark.parametrize("dim, rows", [(576, 24), (256, 40)])
def test_many_query_rows_of_many_groups(rng, dim, rows):
    """Their integers are more than the tokens of a tile, and are no tokens."""
    k = filled(rng, "codes = i4, group = [1, 32], scale = f16, layout = #kvq.layout<bias>", 70, dim)
    v = filled(rng, "codes = none", 70, dim)
    q = rng.standard_normal((2, 2 * rows, 1, dim), np.float32)
    out = kvq.attention(q, k, v, query_codes="i8")
    assert relative_l2(out, expected(rounded_query(q, "i8", 32), k, v)) <= 1e-3


def worst_case(q: np.ndarray, k: kvq.Cache, v: kvq.Cache, kind: str) -> np.ndarray:
    """The documented bound on each element of the output, for groups of one token and 16 channels, without windows."""
    scale = 1 / math.sqrt(q.shape[-1])
    ratio = q.shape[1] // k.kv_heads
    bound = np.zeros((*q.shape[:3], v.head_dim))
    for b, h in itertools.product(range(q.shape[0]), range(q.shape[1])):
        tokens = int(k.lengths[b])
        keys, values = (side.dequantize()[b, h // ratio, :tokens].astype(np.float64) for side in (k, v))
        query = q[b, h, 0].astype(np.float64)
        steps = np.abs(query).reshape(-1, 16).max(axis=-1) / LARGEST[kind]
        d = scale * (np.abs(keys).reshape(tokens, -1, 16).sum(axis=-1) @ (steps / 2)).max()
        p = np.exp(scale * (keys @ query))
        p /= p.sum()
        bound[b, h, 0] = math.expm1(2 * d) * (p @ np.abs(values))
        scales = v.storage()["scales"][b, h // ratio, :tokens].astype(np.float64)
        codes = np.abs(values).reshape(tokens, -1, 16) / np.where(scales > 0, scales, 1)[..., None]
        for begin in range(0, tokens, TILE):
            tile = slice(begin, begin + TILE)
            step = (p[tile, None] * scales[tile]).max(axis=0) / LARGEST["i16"]
            bound[b, h, 0] += (step[:, None] / 2 * codes[tile].sum(axis=0)).reshape(-1)
    return bound


@pytest.mark.parametrize("kind", LARGEST)
def test_the_documented_bound_holds(rng, kind):
    bits = rng.choice([4, 8])
    text = f"codes = i{bits}, group = [1, 16], scale = f16"
    tokens = int(rng.choice([1, 64, 200]))
    k, v = (filled(rng, text, tokens) for _ in range(2))
    q = rng.standard_normal((2, 4, 1, 64), np.float32)
    error = np.abs(kvq.attention(q, k, v, query_codes=kind) - expected(q, k, v))
    assert not (error > worst_case(q, k, v, kind) + 1e-5).any()


GROUPS = ("1, 32", "1, *", "8, 1", "8, 16", "32, *")


@pytest.mark.parametrize("kind", LARGEST)
@pytest.mark.parametrize("sides", [("codes", "codes"), ("codes", "other"), ("other", "codes")])
def test_normal_data_is_close(rng, kind, sides):
    """Any integer format on either side, windows, lengths, ratios and splits, beside any other."""
    others = [f"codes = {c}, group = [1, 16], scale = f16" for c in ("f8E4M3FN", "#kvq.codebook<nf4>")] + ["codes = none"]
    tokens = int(rng.choice([1, 63, 65, 128, 257]))
    caches = []
    for side in sides:
        group = rng.choice(GROUPS)
        text = f"{draw_codes(rng)}, group = [{group}]" if side == "codes" else str(rng.choice(others))
        windows = {} if text == "codes = none" else {"recent": int(rng.choice([0, 20]))}
        caches.append(filled(rng, text, tokens, **windows))
    k, v = caches
    ratio, q_len = int(rng.choice([1, 3, 4, 7])), int(rng.choice([1, 2]))
    q = rng.standard_normal((2, 2 * ratio, min(q_len, tokens), 64), np.float32)
    out = kvq.attention(q, k, v, query_codes=kind, splits=int(rng.choice([1, 3])))
    limit = 2e-4 if kind == "i16" or sides[0] == "other" else 3e-2
    assert not relative_l2(out, expected(q, k, v)) > limit, (str(k.format), str(v.format), tokens, ratio)


@pytest.mark.parametrize("side", ["keys", "values"])
def test_nan_scales_reach_the_output(rng, side):
    text = "codes = i8, group = [1, 32], scale = f16"
    x = rng.standard_normal((2, 1, 2, 70, 64)).astype(np.float32)
    x[0 if side == "keys" else 1, 0, 1, 40, 3] = np.nan
    k, v = (kvq.Cache(1, 2, 80, 64, kvq.Format(text), fill=0xFF) for _ in range(2))
    k.append(x[0])
    v.append(x[1])
    out = kvq.attention(rng.standard_normal((1, 4, 1, 64), np.float32), k, v, query_codes="i16")
    assert np.isfinite(out[:, :2]).all()
    hit = np.isnan(out[:, 2:])
    assert hit.all() if side == "keys" else hit[..., :32].all() and not hit[..., 32:].any()


def test_queries_at_the_ends_of_f32(rng):
    """Nothing but zeros, tiny and huge numbers: no NaN appears, and nothing reads what was not written."""
    k, v = (filled(rng, "codes = i4, group = [1, 16], scale = f16", 70) for _ in range(2))
    for size in (0.0, 1e-44, 1e-30):
        q = np.full((2, 2, 1, 64), size, np.float32)
        out = kvq.attention(q, k, v, query_codes="i16")
        assert not relative_l2(out, expected(q, k, v)) > 2e-4
    q = rng.standard_normal((2, 2, 1, 64), np.float32) * 1e4
    assert np.isfinite(kvq.attention(q, k, v, query_codes="i16")).all()


def test_the_same_bits_every_time(rng):
    k, v = (filled(rng, "codes = ui4, group = [1, 32], scale = f16, zero = min f16", 200) for _ in range(2))
    q = rng.standard_normal((2, 8, 1, 64), np.float32)
    first = kvq.attention(q, k, v, query_codes="i16")
    np.testing.assert_array_equal(kvq.attention(q, k, v, query_codes="i16"), first)
    assert not np.array_equal(kvq.attention(q, k, v), first)


def test_what_has_no_integers_is_an_error(rng):
    exact, floats = (filled(rng, text, 8) for text in ("codes = none", "codes = f8E5M2, group = [1, 16], scale = f32"))
    integer = filled(rng, "codes = i4, group = [1, 16], scale = f16", 8)
    q = rng.standard_normal((2, 2, 1, 64), np.float32)
    with pytest.raises(kvq.Error, match="query_codes needs integer codes of keys or of values, got 'codes = f8E5M2"):
        kvq.attention(q, floats, exact, query_codes="i16")
    with pytest.raises(kvq.Error, match="expected query_codes 'i8', 'i16', 'f8E4M3FN' or None, got 'i4'"):
        kvq.attention(q, integer, integer, query_codes="i4")


@pytest.mark.parametrize("group", ["1, 32", "8, 16"])
def test_masks_hide_what_tokens_hold(rng, group):
    """Together with a mask, a softcap, slopes, sinks and a window; a hidden token's NaN has no part."""
    x = rng.standard_normal((2, 2, 2, 100, 64)).astype(np.float32)
    text = f"codes = i8, group = [{group}], scale = f16"
    k, v = (kvq.Cache(2, 2, 110, 64, kvq.Format(text), recent=16, fill=0xFF) for _ in range(2))
    hidden = int(rng.integers(100))
    poisoned = x.copy()
    poisoned[1, :, :, hidden] = np.nan
    for cache, part in zip((k, v), poisoned, strict=True):
        cache.append(part)
    q = rng.standard_normal((2, 4, 1, 64), np.float32)
    mask = np.where(rng.random((2, 1, 1, 100)) < 0.3, -np.inf, rng.standard_normal((2, 1, 1, 100))).astype(np.float32)
    first = hidden // 8 * 8 if group == "8, 16" else hidden  # a group's NaN is that of all its tokens
    mask[..., first : first + (8 if group == "8, 16" else 1)] = -np.inf
    mask[..., 99] = 0 if hidden < 90 else mask[..., 99]
    variant = {"mask": mask, "softcap": 20.0, "window": 90, "window_first": 2, "sinks": np.zeros(4, np.float32)}
    out = kvq.attention(q, k, v, query_codes="i16", **variant)
    plain = kvq.attention(q, k, v, **variant)
    assert np.isfinite(plain).all()
    assert not relative_l2(out, plain) > 2e-4
