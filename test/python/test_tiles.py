"""Layouts whose rows lie in tiles: bytes, every op on a cache, attention with floats and with integers."""

import platform
import re

import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import _kvq, compiler, reference
from kvq_mlir.metrics import relative_l2
from kvq_mlir.reference import layout

ORDERS = ("channel_pairs", "token_pairs")


def draw_text(rng: np.random.Generator, order: str, size: int, bits: int) -> str:
    fields = f"group = [1, {rng.choice(['16', '32', '*'])}], scale = {rng.choice(['f16', 'f32'])}"
    if rng.random() < 0.5:
        codes = f"codes = ui{bits}, {fields}, zero = {rng.choice(['min f16', 'point f16', 'point ui8'])}"
    else:
        codes = f"codes = i{bits}, {fields}"
    bias = ", bias" if "codes = i" in codes and rng.random() < 0.3 else ""
    return f"{codes}, layout = #kvq.layout<codes = planar{bias}, tile = {order}<{size}>>"


def planar(text: str) -> str:
    return re.sub(r", tile = \w+<\d+>", "", text)


def filled(text: str, parts: list[np.ndarray], capacity: int, **windows: int) -> kvq.Cache:
    batch, heads, _, dim = parts[0].shape
    cache = kvq.Cache(batch, heads, capacity, dim, kvq.Format(text), fill=0xFF, **windows)
    for part in parts:
        cache.append(part)
    return cache


def in_tiles(rows: np.ndarray, component: str, order: str, size: int) -> np.ndarray:
    """Codes, and but for fragments scales and zeros, in tiles."""
    if component == "codes":
        return layout.tile_codes(rows, (order, size))
    return rows if order == "fragments" else layout.tile_metadata(rows, size)


OF_BITS = {order: (2, 3, 4, 5, 6, 8) for order in ORDERS} | {"fragments": (2, 4, 8)}


@pytest.mark.parametrize("order, bits", [(order, bits) for order in OF_BITS for bits in OF_BITS[order]])
def test_bytes_are_those_of_rows_in_another_order(rng, order, bits):
    size, tokens = int(rng.choice([16, 32, 64])), int(rng.integers(1, 150))
    text = draw_text(rng, order, size, bits)
    x = rng.standard_normal((2, 2, tokens, 64), np.float32)
    cut = int(rng.integers(tokens + 1))
    tiled, rows = (filled(t, [x[:, :, :cut], x[:, :, cut:]], tokens + 5) for t in (text, planar(text)))
    assert tiled.storage().keys() == rows.storage().keys()
    for name, array in tiled.storage().items():
        plain = rows.storage()[name][:, :, :tokens]
        expected, there = (in_tiles(array, name, order, size) for array in (plain, np.ones(plain.shape, bool)))
        kept = array[:, :, : expected.shape[2]]
        assert kept.shape == expected.shape
        np.testing.assert_array_equal(kept[there.astype(bool)], expected[there.astype(bool)])
        assert (kept[~there.astype(bool)].view(np.uint8) == 0xFF).all()  # written by nothing
    np.testing.assert_array_equal(tiled.dequantize()[:, :, :tokens], rows.dequantize()[:, :, :tokens])


@pytest.mark.parametrize("order", (*ORDERS, "fragments"))
def test_every_op_does_what_it_does_on_rows(rng, order):
    text = draw_text(rng, order, 16, int(rng.choice([4, 8])))
    x = rng.standard_normal((2, 2, 70, 32), np.float32)
    windows = {"exact_first": 3, "recent": int(rng.choice([0, 5]))}
    if rng.random() < 0.5:
        windows["page"] = 32
    caches = [filled(t, [x[:, :, :40], x[:, :, 40:]], 90, **windows) for t in (text, planar(text))]
    for cache in caches:
        cache.truncate([61, 44])
        cache.reorder([1, 0])
        cache.shift([10, 20], [7, 3])
        cache.append(x[:, :, :9], counts=[9, 2])
        cache.fork(0, [1], length=20)
    tiled, rows = caches
    np.testing.assert_array_equal(tiled.lengths, rows.lengths)
    for b in range(2):
        length = int(rows.lengths[b])
        np.testing.assert_array_equal(tiled.dequantize()[b, :, :length], rows.dequantize()[b, :, :length])


@pytest.mark.parametrize("codes", [None, "i16", "i8"])
@pytest.mark.parametrize(
    "orders",
    [
        ORDERS,
        ORDERS[::-1],
        ("channel_pairs", None),
        (None, "token_pairs"),
        (None, "fragments"),
        ("fragments", "fragments"),
    ],
)
def test_attention_over_tiles(rng, codes, orders):
    """Keys and values in tiles, in the order that integers like and in the other one, beside rows; poisoned tails."""
    size = int(rng.choice([16, 64]))
    tokens = int(rng.choice([1, 63, 64, 65, 130, 257]))
    has_fragments = "fragments" in orders
    bits = int(rng.choice([2, 4, 8] if has_fragments else [2, 4, 4, 5, 8]))
    dim, ratio = 64 if has_fragments else int(rng.choice([32, 64, 96])), int(rng.choice([1, 3, 4, 7]))
    windows = {"exact_first": int(rng.choice([0, 5])), "recent": int(rng.choice([0, 9]))}
    if rng.random() < 0.5:
        windows["page"] = size * int(rng.integers(1, 4))
    sides = []
    for order in orders:
        text = draw_text(rng, order or "channel_pairs", size, bits)
        x = rng.standard_normal((2, 2, tokens, dim), np.float32)
        sides.append(filled(text if order else planar(text), [x], tokens + 2, **windows))
    k, v = sides
    q = rng.standard_normal((2, 2 * ratio, 1, dim), np.float32)
    out = kvq.attention(q, k, v, query_codes=codes, splits=int(rng.choice([1, 3])))
    keys, values = (list(side.dequantize()[:, :, :tokens].astype(np.float64)) for side in sides)
    limit = {None: 1e-5, "i16": 2e-4, "i8": 3e-2}[codes]
    assert not relative_l2(out, reference.attention(q, keys, values)) > limit, (str(k.format), str(v.format), tokens)


@pytest.mark.parametrize("codes", [None, "i16"])
def test_windows_begin_within_tiles(rng, codes):
    texts = [draw_text(rng, order, 64, 8) for order in ORDERS]
    x = rng.standard_normal((2, 1, 2, 200, 64)).astype(np.float32)
    k, v = (filled(text, [part], 205) for text, part in zip(texts, x, strict=True))
    window = int(rng.integers(1, 200))
    q = rng.standard_normal((1, 4, 1, 64), np.float32)
    out = kvq.attention(q, k, v, query_codes=codes, window=window)
    keys, values = ([side.dequantize()[0, :, 200 - window : 200].astype(np.float64)] for side in (k, v))
    assert not relative_l2(out, reference.attention(q, keys, values)) > (2e-4 if codes else 1e-5)


@pytest.mark.parametrize("bits", [4, 8])
def test_products_of_bytes_are_those_of_pairs(rng, monkeypatch, bits):
    """With the processor's instruction for four products of bytes, if it has one, and without."""
    texts = [
        f"codes = i{bits}, group = [1, 32], scale = f16, layout = #kvq.layout<codes = planar, tile = {order}<64>>"
        for order in ORDERS
    ]
    x = rng.standard_normal((2, 1, 2, 130, 64)).astype(np.float32)
    k, v = (filled(text, [part], 130) for text, part in zip(texts, x, strict=True))
    q = rng.standard_normal((1, 8, 1, 64), np.float32)
    out = kvq.attention(q, k, v, query_codes="i8")
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("expected x86 for a processor without the instruction")
    compiled = _kvq.compile
    monkeypatch.setattr(compiler, "_kernels", {})
    monkeypatch.setattr(
        _kvq, "compile", lambda *text, **options: compiled(*text, **options, features="-avx512vnni,-avxvnni")
    )
    without = kvq.attention(q, k, v, query_codes="i8")
    assert not relative_l2(without, out) > 1e-6


def test_nan_scales_and_masks(rng):
    texts = [f"codes = i8, group = [1, 32], scale = f16, layout = #kvq.layout<codes = planar, tile = {o}<64>>" for o in ORDERS]
    x = rng.standard_normal((2, 1, 2, 90, 64)).astype(np.float32)
    x[1, 0, 1, 70, 3] = np.nan
    k, v = (filled(text, [part], 100) for text, part in zip(texts, x, strict=True))
    q = rng.standard_normal((1, 4, 1, 64), np.float32)
    out = kvq.attention(q, k, v, query_codes="i16")
    assert np.isfinite(out[:, :2]).all() and np.isfinite(out[:, 2:, :, 32:]).all()
    assert np.isnan(out[:, 2:, :, :32]).all()
    mask = np.ones((1, 1, 1, 90), bool)
    mask[..., 70] = False
    hidden = kvq.attention(q, k, v, query_codes="i16", mask=mask)
    keys, values = ([side.dequantize()[0][:, np.arange(90) != 70].astype(np.float64)] for side in (k, v))
    assert not relative_l2(hidden, reference.attention(q, keys, values)) > 2e-4


def test_reported_bytes_are_allocated_bytes(rng):
    text = draw_text(rng, "token_pairs", 64, 4)
    for capacity in (1, 64, 65, 200):
        tiled, rows = (filled(t, [np.zeros((1, 2, 1, 32), np.float32)], capacity) for t in (text, planar(text)))
        whole = -(-capacity // 64) * 64
        assert tiled.nbytes * capacity == rows.nbytes * whole
