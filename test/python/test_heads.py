"""Groups that span KV heads (`heads = *`). Random formats of them are in test_differential.py."""

import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import reference
from test_differential import same

TEXTS = (
    "codes = i8, group = [1, *], heads = *, scale = f32",
    "codes = i4, group = [1, 16], heads = 2, scale = f16",
    "codes = ui3, group = [8, 1], heads = *, scale = f16, zero = min bf16",
    "codes = ui4, group = [4, 16], heads = 2, scale = f8E4M3FN, zero = point ui8",
    "codes = #kvq.codebook<lloyd_max = 2>, group = [1, *], heads = *, scale = f16, range = norm",
    "codes = #kvq.codebook<nf4>, group = [6, *], heads = 4, scale = f32, range = rms",
    "codes = i3, group = [3, 32], heads = *, scale = f16, range = search<3>",
    "codes = f4E2M1FN, group = [1, 32], heads = *, scale = f8E8M0FNU, range = clip<0.7>",
)


@pytest.mark.parametrize("text", TEXTS)
def test_arrays_equal_the_oracle(text, rng):
    fmt, oracle = kvq.Format(text), reference.Format.parse(text)
    x = rng.standard_normal((2, 4, 2 * fmt.tokens, 64), np.float32) * np.exp(rng.normal(0, 1, (2, 4, 1, 64)))
    x = x.astype(np.float32)
    x[0, 1, 0, 3] = np.nan
    z = kvq.quantize(x, fmt)
    codes, scales, zeros = reference.quantize(x, oracle, "f32")
    groups = 4 // fmt.group_heads(4)
    assert z.scales.shape[:3] == (2, groups, 2)
    assert same(z.codes, codes) and same(z.scales, scales)
    assert zeros is None or same(z.zeros, zeros)
    assert same(z.packed, reference.pack(codes, fmt.bits))
    assert same(kvq.dequantize(z), reference.dequantize(codes, scales, zeros, oracle))
    counts = kvq.count_saturated(x, z)
    assert counts.shape == (2, 4) and counts.sum() == reference.count_clipped(x, oracle, "f32").saturated


def test_one_scale_for_all_heads():
    x = np.zeros((1, 3, 2, 32), np.float32)
    x[0, :, 0, 5], x[0, :, 1, 7] = [1, -127, 64], [254, 2, 0]
    z = kvq.quantize(x, kvq.Format("codes = i8, group = [1, *], heads = *, scale = f32"))
    assert z.scales.tolist() == [[[[1.0], [2.0]]]]
    assert z.codes[0, :, 0, 5].tolist() == [1, -127, 64] and z.codes[0, :, 1, 7].tolist() == [127, 1, 0]


@pytest.mark.parametrize("text", TEXTS)
def test_caches_equal_the_oracle(text, rng):
    """Appends in three parts, of sequences of different lengths, with a window and exact first tokens; attention."""
    fmt, oracle = kvq.Format(text), reference.Format.parse(text)
    windows = dict(exact_first=3, recent=5) if rng.random() < 0.7 else dict(residual=4 * fmt.tokens)
    cache = kvq.Cache(2, 4, 90, 64, fmt, fill=0xFF, **windows)
    expected = reference.Cache(oracle, 2, 4, 64, 90, **windows)
    saturated = 0
    for counts in ([1, 0], [40, 37], [33, 12]):
        x = rng.standard_normal((2, 4, 40, 64), np.float32)
        saturated += cache.append(x, counts, count_saturated=True)
        expected.append(x, counts)
    storage = cache.storage()
    assert storage["scales"].shape[1] == 4 // fmt.group_heads(4)
    cache.reorder([1, 0])
    expected.reorder([1, 0])
    for b in range(2):
        flushed = int(cache.flushed[b])
        rows = flushed // fmt.tokens
        packed = np.ascontiguousarray(storage["codes"][b, :, :flushed]).view(np.uint8)
        assert same(packed, reference.pack(expected.codes(b), fmt.bits))
        assert same(storage["scales"][b, :, :rows], expected.scales(b))
        assert fmt.zero is None or same(storage["zeros"][b, :, :rows], expected.zeros(b))
        values = cache.dequantize()[b, :, : cache.lengths[b]]
        assert np.allclose(values, expected.values64(b), rtol=1e-6, atol=1e-6)
    q = rng.standard_normal((2, 8, 2, 64), np.float32)
    found, wanted = kvq.attention(q, cache, cache), reference.attention(q, expected, expected)
    assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)
    assert saturated.shape == (2, 4) and (saturated.any() or "clip" not in text)


def test_all_heads_may_be_one(rng):
    fmt = kvq.Format("codes = i4, group = [2, 16], heads = *, scale = f16, range = search<2>")
    cache, x = kvq.Cache(1, 1, 8, 32, fmt, recent=0), rng.standard_normal((1, 1, 6, 32), np.float32)
    saturated = cache.append(x, count_saturated=True)
    z = kvq.quantize(x.astype(np.float16), fmt)
    assert same(np.ascontiguousarray(cache.storage()["codes"][:, :, :6]).view(np.uint8), z.packed)
    assert np.array_equal(saturated, kvq.count_saturated(x.astype(np.float16), z))


def test_bytes_of_shared_scales():
    """One f32 scale a token for 8 heads, not 8."""
    text = "codes = i8, group = [1, *], heads = {}, scale = f32"
    own, shared = (kvq.Cache(1, 8, 100, 128, kvq.Format(text.format(heads))).nbytes for heads in ("1", "*"))
    assert (own, shared) == (100 * 8 * (128 + 4), 100 * (8 * 128 + 4))


def test_bad_input():
    fmt = kvq.Format("codes = i8, group = [1, *], heads = 3, scale = f32")
    assert (fmt.heads, kvq.Format("codes = i8, group = [1, *], heads = *, scale = f32").heads) == (3, None)
    with pytest.raises(kvq.Error, match="group of 3 heads does not divide 8 KV heads"):
        kvq.Cache(1, 8, 10, 64, fmt)
    with pytest.raises(kvq.Error, match="group of 3 heads does not divide 8 KV heads"):
        kvq.quantize(np.zeros((1, 8, 1, 64), np.float32), fmt)
    with pytest.raises(kvq.Error, match="at least 1 or '\\*', got 0"):
        kvq.Format("codes = i8, group = [1, *], heads = 0, scale = f32")
