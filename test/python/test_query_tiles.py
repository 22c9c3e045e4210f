"""Several query tokens in a work item: what each of them sees, and gives, is what it is alone."""

import numpy as np
import pytest
from test_attention_variants import NAMES, random_variant
from test_differential import TOLERANCE, fill, random_format, random_sides

import kvq_mlir as kvq
from kvq_mlir import _kvq, reference
from kvq_mlir.metrics import relative_l2

COUNTS = (1, 2, 15, 16, 17, 33)
PER_TOKEN = "codes = i8, group = [1, 32], scale = f16"


def check(q, k, v, query_tile, splits=1, oracles=None, **arguments):
    """Compiled against the oracle, output and lse."""
    keys, values = oracles or (k, v)
    wanted, wanted_lse = reference.attention(q, keys, values, return_lse=True, **arguments)
    out = np.full(wanted.shape, np.nan, np.float32)
    _, lse = kvq.attention(q, k, v, out=out, return_lse=True, query_tile=query_tile, splits=splits, **arguments)
    assert np.array_equal(np.isneginf(lse), np.isneginf(wanted_lse))
    seen = np.isfinite(wanted_lse)
    assert np.all(np.abs(lse[seen] - wanted_lse[seen]) <= 2e-5 * (1 + np.abs(wanted_lse[seen])))
    for b in range(len(q)):
        error = relative_l2(out[b], wanted[b])
        assert error <= TOLERANCE, f"sequence {b}: relative L2 {error}"
    return out


def draw_tile(rng, q_len):
    return [None, None, 2, 3, 16, q_len, q_len + 1][rng.integers(7)]


@pytest.mark.parametrize("q_len", COUNTS)
def test_variants_compose(q_len, rng):
    dim, ratio, batch, heads = 64, int(rng.choice([1, 3, 4])), 2, int(rng.integers(1, 3))
    lengths = np.array([int(rng.choice([0, 1, 14, 16, 63, 64, 65, 129, rng.integers(1, 200)])) for _ in range(batch)])
    k, v = random_sides(rng, [random_format(rng, dim) for _ in range(2)], batch, heads, int(lengths.max()) + 5, dim)
    fill(rng, [k, v], lengths, heads, dim)
    # Each name in half of the cases, all of them in one.
    names = NAMES if q_len == 15 else [name for name in NAMES if rng.random() < 0.5]
    arguments = random_variant(rng, batch, heads * ratio, q_len, lengths, names)
    q = rng.standard_normal((batch, heads * ratio, q_len, dim)).astype(np.float32)
    splits, tile = int(rng.choice([1, 1, 3])), draw_tile(rng, q_len)
    print(f"K {k.compiled.type}; V {v.compiled.type}; ratio {ratio}, lengths {lengths}, {splits=}, {tile=}, {arguments}")
    check(q, k.compiled, v.compiled, tile, splits, (k.oracle, v.oracle), **arguments)


@pytest.mark.parametrize("keep_first, window, window_first", [(0, None, 0), (4, None, 0), (4, 9, 2), (2, 9, 4), (3, 9, 3)])
def test_rings_and_windows(keep_first, window, window_first, rng):
    """What the ring holds no more is seen by no query of an item, and a window slides within it."""
    ring = 40
    arguments = dict(ring=ring, keep_first=keep_first)
    fmt = str(rng.choice([PER_TOKEN, "codes = none", "codes = ui4, group = [8, 1], scale = f16, zero = min f16"]))
    if fmt.startswith("codes = ui4"):
        arguments["recent"] = int(rng.integers(0, 9))
    k = kvq.Cache(2, 1, 1 << 16, 32, kvq.Format(fmt), fill=0xFF, **arguments)
    oracle = reference.Cache(reference.Format.parse(fmt), 2, 1, 32, 1 << 16, dtype="f16", **arguments)
    variant = {} if window is None else dict(window=window, window_first=window_first)
    tile, causal = int(rng.choice([2, 9, 16])), bool(rng.random() < 0.7)
    for count in (30, int(rng.integers(1, 60)), 17):
        x = rng.standard_normal((2, 1, count, 32)).astype(np.float16)
        counts = [count, int(rng.integers(0, count + 1))]
        for side in (k, oracle):
            side.append(x, counts)
        for q_len in (2, 17, 33):
            q = rng.standard_normal((2, 4, q_len, 32)).astype(np.float32)
            check(q, k, k, tile, oracles=(oracle, oracle), causal=causal, **variant)


@pytest.mark.parametrize("style", reference.rope.STYLES)
def test_keys_before_rope(style, rng):
    text = str(rng.choice(["codes = i4, group = [1, 16], scale = f16", "codes = none"]))
    k, v = (kvq.Cache(1, 2, 100, 64, kvq.Format(t), fill=0xFF) for t in (text + ", rope = pre", PER_TOKEN))
    for side in (k, v):
        side.append(rng.standard_normal((1, 2, 90, 64)).astype(np.float16))
    oracles = [list(side.dequantize()[:, :, :90].astype(np.float64)) for side in (k, v)]
    tables = kvq.rope_tables(100, 2 * int(rng.integers(1, 33)), base=100.0)
    q = rng.standard_normal((1, 8, 17, 64)).astype(np.float32)
    check(q, k, v, draw_tile(rng, 17), oracles=oracles, rope=tables, rope_style=style)


def test_latent_rows(rng):
    """MLA: keys with segments, one before RoPE; values are channels of them."""
    segments = kvq.Segments(f"[0:64] = #kvq.format<{PER_TOKEN}>, [64:96] = #kvq.format<codes = none, rope = pre>")
    cache = kvq.Cache(1, 1, 100, 96, segments, page=16, fill=0xFF)
    cache.append(rng.standard_normal((1, 1, 90, 96)).astype(np.float16))
    rows = cache.dequantize()[:, :, :90].astype(np.float64)
    tables = kvq.rope_tables(100, 32)
    turned = rows.copy()
    turned[..., 64:] = reference.rope.turn(rows[..., 64:], *(table[:90].astype(np.float64) for table in tables), "half")
    q = rng.standard_normal((1, 8, 17, 96)).astype(np.float32)
    wanted = reference.attention(q, list(turned), [rows[0, ..., :64]])
    for tile in (1, 2, 8):
        found = kvq.attention(q, cache, None, value_channels=(0, 64), rope=tables, query_tile=tile)
        assert relative_l2(found, wanted) <= TOLERANCE


@pytest.mark.parametrize("ratio", [67, 96, 128])
def test_more_heads_than_an_item_has(ratio, rng):
    """MLA has 128 of them."""
    k, v = (kvq.Cache(2, 2, 80, 32, kvq.Format(PER_TOKEN), fill=0xFF) for _ in range(2))
    for side in (k, v):
        side.append(rng.standard_normal((2, 2, 70, 32)).astype(np.float16), [70, 3])
    oracles = [[side.dequantize()[b, :, :n].astype(np.float64) for b, n in enumerate((70, 3))] for side in (k, v)]
    q_len = int(rng.choice([1, 4]))
    q = rng.standard_normal((2, 2 * ratio, q_len, 32)).astype(np.float32)
    slopes = rng.uniform(0, 0.5, 2 * ratio).astype(np.float32)
    check(q, k, v, None, int(rng.choice([1, 3])), oracles, slopes=slopes)


@pytest.mark.parametrize("kind", ["i16", "i8"])
def test_integer_queries(kind, rng):
    """Only where tiles of tokens end do the integers of probabilities differ (rule R38)."""
    k, v = (kvq.Cache(1, 2, 150, 64, kvq.Format(PER_TOKEN), fill=0xFF) for _ in range(2))
    for side in (k, v):
        side.append(rng.standard_normal((1, 2, 140, 64)).astype(np.float16))
    q = rng.standard_normal((1, 8, 17, 64)).astype(np.float32)
    alone = kvq.attention(q, k, v, query_codes=kind, query_tile=1)
    for tile in (2, 8, 16):
        assert not relative_l2(kvq.attention(q, k, v, query_codes=kind, query_tile=tile), alone) > 2e-4


@pytest.mark.parametrize("text", [PER_TOKEN, "codes = none", "codes = ui8, group = [8, 1], scale = f16, zero = min f16"])
def test_nan_of_a_later_token_has_no_influence(text, rng):
    """On queries of the same item that do not see it; those that do show it."""
    tokens, q_len, query_tile = 96, 8, int(rng.choice([2, 8]))
    k, v = (kvq.Cache(1, 2, tokens, 32, kvq.Format(text), fill=0xFF) for _ in range(2))
    x = rng.standard_normal((2, 1, 2, tokens, 32)).astype(np.float32)
    hit = tokens - 8 if "8, 1" in text else tokens - int(rng.integers(1, q_len))  # a whole group of tokens
    x[:, :, :, hit] = np.nan
    for side, of_side in zip((k, v), x, strict=True):
        side.append(of_side)
    q = rng.standard_normal((1, 8, q_len, 32)).astype(np.float32)
    positions = None if hit != tokens - 8 else [tokens - 8 - 3]
    first = tokens - q_len if positions is None else positions[0]
    out = kvq.attention(q, k, v, query_tile=query_tile, positions=positions)
    sees = first + np.arange(q_len) >= hit
    assert sees.any() and not sees.all()
    assert np.isnan(out[:, :, sees]).all() and np.isfinite(out[:, :, ~sees]).all()
    # And behind a window.
    out = kvq.attention(q, k, v, query_tile=query_tile, positions=[hit + 1], window=4)
    passed = hit + 1 + np.arange(q_len) >= hit + 4 + (7 if "8, 1" in text else 0)
    assert np.isfinite(out[:, :, passed]).all() and np.isnan(out[:, :, :1]).all()


def test_the_same_bits_every_time_and_on_any_number_of_threads(rng):
    k, v = (kvq.Cache(2, 2, 200, 64, kvq.Format(PER_TOKEN), fill=0xFF) for _ in range(2))
    for side in (k, v):
        side.append(rng.standard_normal((2, 2, 190, 64)).astype(np.float16), [190, 20])
    q = rng.standard_normal((2, 8, 33, 64)).astype(np.float32)
    first = kvq.attention(q, k, v)
    for threads in (1, 2):
        assert np.array_equal(kvq.attention(q, k, v, threads=threads), first)
    # The same queries beside others.
    last = kvq.attention(q[:, :, 7:], k, v)
    assert not relative_l2(last, first[:, :, 7:]) > 1e-6


def test_how_many_query_tokens_an_item_has():
    """The power of two with the least work, of at most 64 rows and 8192 channels, on a GPU 2048."""
    cases = [(1, 128, 64, 16), (3, 128, 16, 4), (4, 64, 16, 8), (8, 256, 4, 1), (64, 128, 1, 1), (128, 576, 1, 1)]
    for heads, channels, *most in cases:
        for on_gpu in (False, True):
            tiles = [1 << n for n in range(7) if 1 << n <= most[on_gpu]]
            for tokens in range(1, 200):
                work = {tile: -(-tokens // tile) * (tile * heads + 4) for tile in tiles}
                expected = min(tiles, key=lambda tile: (work[tile], -tile))
                assert _kvq.query_tile(tokens, heads, channels, on_gpu=on_gpu) == expected
    some = (1, 2, 3, 4, 16, 512)
    assert [_kvq.query_tile(tokens, 4, 128, on_gpu=False) for tokens in some] == [1, 2, 4, 4, 16, 16]
    assert [_kvq.query_tile(tokens, 4, 128, on_gpu=True) for tokens in some] == [1, 2, 4, 4, 4, 4]
