"""`layout = auto`: what it becomes for keys and values, and what comes out."""

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import _kvq
from kvq_mlir.ir.attention import Variant
from kvq_mlir.ir.attention import attention as attention_ir
from kvq_mlir.policy import Choice

I8 = "codes = i8, group = [1, 32], scale = f16"
AUTO = I8 + ", layout = auto"
TILES = {side: f"#kvq.layout<codes = planar, tile = {order}_pairs<64>>" for side, order in
         {"keys": "channel", "values": "token"}.items()}
PLANAR = "#kvq.layout<codes = planar>"


def make(text: str = AUTO, side: str | None = "keys", **storage) -> kvq.Cache:
    return kvq.Cache(1, 2, 300, 64, kvq.Format(text), side=side, **storage)


@pytest.mark.parametrize("side", TILES)
def test_caches_have_the_layout_of_their_side(side):
    fmt = kvq.Format(AUTO)
    assert fmt.has_open_layout and fmt.layout == "auto" and str(fmt).endswith("layout = auto")
    cache = make(side=side)
    assert cache.format.layout == TILES[side] and cache.why_planar is None and cache.side == side
    assert cache.storage()["codes"].ndim == 6
    given = make(I8 + f", layout = {TILES[side]}", side)
    assert given.type == cache.type and given.nbytes == cache.nbytes
    assert make(I8, side).format == kvq.Format(I8)


@pytest.mark.parametrize(
    ("text", "storage", "reason"),
    [
        (AUTO, dict(page=16), "expected a page of whole tiles of 64 tokens, got 16"),
        (AUTO, dict(ring=64), "expected no ring with rows in tiles"),
        (AUTO, dict(exact_first=3), "tiles begin behind its exact_first tokens"),
        (AUTO.replace("[1,", "[4,"), {}, "expected groups of one token"),
        (AUTO.replace("i8", "f8E4M3FN"), {}, "it has no integer codes"),
        (AUTO.replace("scale = f16", "heads = *, scale = f16"), {}, "expected groups of one token and one KV head"),
        (AUTO.replace("scale = f16", "scale = f16, rope = pre"), {}, "keys before RoPE are turned row by row"),
        ("codes = none, layout = auto", {}, "it has no integer codes"),
    ],
)
def test_caches_that_have_no_tiles(text, storage, reason):
    cache = make(text, **storage)
    assert cache.why_planar.startswith(reason)
    assert cache.format.layout == (None if "none" in text else PLANAR)


def test_segments_have_no_tiles():
    segments = kvq.Segments(f"[0:32] = #kvq.format<{AUTO}>, [32:64] = none")
    cache = kvq.Cache(1, 2, 30, 64, segments, side="values")
    assert "expected no tiles in a segment" in cache.why_planar
    assert [fmt.layout for fmt in cache.format.formats] == [PLANAR, None]


def test_sides_are_checked(rng):
    for side, message in ((None, "layout = auto is chosen for what a cache holds"), ("both", "expected side 'keys'")):
        with pytest.raises(kvq.Error, match=message):
            make(side=side)
    with pytest.raises(kvq.Error, match="expected side 'keys', 'values' or None, got 'both'"):
        make(I8, "both")
    keys, values, either = make(side="keys"), make(side="values"), make(I8, None)
    for cache in (keys, values, either):
        cache.append(np.ones((1, 2, 5, 64), np.float32))
    q = np.ones((1, 4, 1, 64), np.float32)
    for k, v in ((values, keys), (keys, keys), (values, either)):
        with pytest.raises(kvq.Error, match="expected caches made for keys and for values"):
            kvq.attention(q, k, v)
    with pytest.raises(kvq.Error, match="expected a cache for either side"):
        kvq.attention(q, keys, None, value_channels=(0, 32))
    for k, v in ((keys, values), (either, values), (keys, either), (either, either)):
        np.testing.assert_allclose(kvq.attention(q, k, v), 1, rtol=1e-2)


@pytest.mark.parametrize("query_codes", [None, "i16"])
def test_codes_and_outputs_are_those_of_other_layouts(query_codes, rng):
    x, q = rng.standard_normal((2, 1, 2, 200, 64), np.float32), rng.standard_normal((1, 4, 3, 64), np.float32)
    caches = {text: [make(text, side) for side in TILES] for text in (AUTO, I8)}
    for sides in caches.values():
        for cache, tokens in zip(sides, x, strict=True):
            cache.append(tokens[:, :, :130])
            cache.append(tokens[:, :, 130:])
    for auto, planar in zip(*caches.values(), strict=True):
        assert np.array_equal(auto.dequantize(), planar.dequantize())
    outs = [kvq.attention(q, *sides, query_codes=query_codes) for sides in caches.values()]
    np.testing.assert_allclose(*outs, rtol=1e-3, atol=1e-4 if query_codes else 1e-6)


def test_modules_with_open_layouts(rng):
    """Compiled as caches made for their sides are: arguments are what these have."""
    k, v = (make(side=side) for side in TILES)
    for cache in (k, v):
        cache.append(rng.standard_normal((1, 2, 100, 64), np.float32))
    q, out = rng.standard_normal((1, 4, 1, 64), np.float32), np.empty((1, 4, 1, 64), np.float32)
    open_type = f"!kvq.cache<1x2x?x64xf16, #kvq.format<{AUTO}>>"
    text = attention_ir((1, 4, 64), "f32", 64, open_type, open_type, (False, False), Variant(0.125, True))
    _kvq.compile(text).invoke("attention", (q, *k.storage().values(), *v.storage().values(), k.lengths, out))
    assert np.array_equal(out, kvq.attention(q, k, v))


def test_choices_of_policies_have_sides():
    choice = Choice(0, "values", (0, 2), kvq.Format(AUTO))
    assert choice.type(1, 64) == choice.cache(1, 300, 64).dynamic_type
    with pytest.raises(kvq.Error, match="layout = auto"):
        _kvq.run_pipeline(
            f"func.func private @f(!kvq.cache<1x2x?x64xf16, #kvq.format<{AUTO}>>)", "builtin.module(kvq-expand-caches)"
        )
