"""Scales and groups that are shared where they should not be, or not shared where they should (known_faults)."""

import itertools

import kvq_mlir as kvq
import numpy as np
import pytest
from known_faults import attend, filled
from kvq_mlir import _kvq, reference
from kvq_mlir.metrics import relative_l2

HEADS, DIM = 2, 64

# --- 15: scales of exact formats, and of a latent row ----------------------------------------------------------------


@pytest.mark.parametrize("field", ["group = [1, 32]", "scale = f16", "zero = min f16", "range = absmax"])
def test_exact_formats_have_no_scale(field):
    """vllm#37054: a scale on a 16-bit cache."""
    with pytest.raises(kvq.Error, match="expected no other field but rope and layout with codes = none"):
        kvq.Format(f"codes = none, {field}")


@pytest.mark.parametrize(
    "text, windows",
    [
        ("codes = i8, group = [1, *], scale = f32", {}),
        ("codes = ui4, group = [1, 16], scale = f16, zero = min f16", dict(recent=7)),
        ("codes = f8E4M3FN, group = [8, 1], scale = f32", dict(exact_first=3, recent=7)),
    ],
)
def test_one_cache_as_keys_and_values_has_one_scale(text, windows, rng):
    """vllm#37054: a latent row is both keys and values; scales of the two are mixed up. One cache gives the bits of two
    that hold the same."""
    x = rng.standard_normal((1, HEADS, 50, DIM)).astype(np.float32)
    x[..., 0] *= 20
    one, other = (filled(x, text, **windows) for _ in range(2))
    q = rng.standard_normal((1, 4 * HEADS, 2, DIM)).astype(np.float32)
    found = attend(q, one, one, scale=0.1)
    assert np.array_equal(found, attend(q, one, other, scale=0.1))
    expected = reference.attention(q, list(one.dequantize()), list(one.dequantize()), scale=0.1, causal=False)
    assert relative_l2(found, expected) <= 1e-5


# --- 18: groups of tokens of several sequences -----------------------------------------------------------------------

CODES = ("codes = i8", "codes = ui4", "codes = f8E4M3FN", "codes = #kvq.codebook<nf4>")


@pytest.mark.parametrize("codes, group", list(itertools.product(CODES, ("[4, 1]", "[4, 16]", "[4, *]"))))
def test_token_groups_lie_within_a_sequence(codes, group, rng):
    """sglang#22777: 5 tokens of one request, around 1, and 3 of another, around 1000, in groups of 4. The first one's
    bytes are those that it has alone, whatever order they come in, and the second has no group yet."""
    zero = ", zero = min f16" if "ui" in codes else ""
    text = f"{codes}, group = {group}, scale = f16{zero}"
    x = rng.uniform(-1, 1, (2, HEADS, 5, DIM)).astype(np.float32)
    x[1] *= 1000
    alone = filled(x[:1], text)
    for appends in ([[5, 3]], [[1, 1], [1, 1], [1, 1], [2, 0]], [[0, 3], [3, 0], [2, 0]]):
        cache = kvq.Cache(2, HEADS, 16, DIM, kvq.Format(text), "f32", fill=0xFF)
        done = np.zeros(2, int)
        for counts in appends:
            new = np.full((2, HEADS, max(counts), DIM), np.nan, np.float32)
            for b, count in enumerate(counts):
                new[b, :, :count] = x[b, :, done[b] : done[b] + count]
            cache.append(new, counts)
            done += counts
        assert cache.lengths.tolist() == [5, 3] and cache.flushed.tolist() == [4, 0]
        for name, rows in {"codes": 4, "scales": 1, **({"zeros": 1} if zero else {})}.items():
            assert np.array_equal(cache.storage()[name][0, :, :rows], alone.storage()[name][0, :, :rows]), name
        assert np.array_equal(cache.dequantize()[0], alone.dequantize()[0])
        assert np.array_equal(cache.dequantize()[1, :, :3], x[1, :, :3])  # exact: no group is full
        # Codes are really stored: what is allocated is what is reported.
        reported = _kvq.Footprint(cache.type).allocated(16)
        assert reported["total"] == cache.nbytes == sum(array.nbytes for array in cache.storage().values())
        assert cache.storage()["codes"].itemsize == 1
