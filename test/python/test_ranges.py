"""Ranges that sum over a group: rms, norm and search. Random formats of them are in test_differential.py."""

import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import reference
from test_differential import same

LLOYD_MAX_ERROR = {1: 0.3634, 2: 0.1175, 3: 0.0345, 4: 0.0095}


def quantized(x: np.ndarray, text: str) -> kvq.Quantized:
    """`x` in the format, checked against the oracle bit for bit."""
    z = kvq.quantize(x, kvq.Format(text))
    codes, scales, zeros = reference.quantize(x, reference.Format.parse(text), "f32")
    assert same(z.codes, codes) and same(z.scales, scales), text
    assert zeros is None or same(z.zeros, zeros), text
    return z


@pytest.mark.parametrize("bits", LLOYD_MAX_ERROR)
@pytest.mark.parametrize("policy", ["rms", "norm"])
def test_squared_error_of_a_normal_source(bits, policy, rng):
    fmt = kvq.Format(f"codes = #kvq.codebook<lloyd_max = {bits}>, group = [1, *], scale = f32, range = {policy}")
    x = rng.standard_normal((1, 1, 1000, 1024), np.float32)
    error = float(np.mean((kvq.dequantize(kvq.quantize(x, fmt)) - x) ** 2))
    assert abs(error / LLOYD_MAX_ERROR[bits] - 1) <= 0.01


def test_norm_is_the_vector_norm():
    """3, 4 and zeros: the norm is 5, and codes stand for the table over the root of 16."""
    x = np.zeros((1, 1, 1, 16), np.float32)
    x[..., 3], x[..., 9] = 3, -4
    text = "codes = #kvq.codebook<values = [-4.0, 0.0, 2.0, 4.0]>, group = [1, *], scale = f16, range = {}"
    z = quantized(x, text.format("norm"))
    assert z.scales.item() == 5
    assert sorted(set(kvq.dequantize(z).ravel().tolist())) == [-5, 0, 2.5]
    z = quantized(x, text.format("rms"))
    assert z.scales.item() == 1.25
    assert sorted(set(kvq.dequantize(z).ravel().tolist())) == [-5, 0, 2.5]


@pytest.mark.parametrize("g", [1, 2, 3, 8, 24, 40, 120])
@pytest.mark.parametrize("n", [1, 6])
def test_sums_are_trees_of_any_size(g, n, rng):
    """Of numbers whose sum depends on its order."""
    x = (rng.standard_normal((2, 1, 2 * n, 120)) * np.exp(rng.normal(0, 3, (2, 1, 2 * n, 120)))).astype(np.float32)
    codes = "codes = #kvq.codebook<nf4>"
    quantized(x, f"{codes}, group = [{n}, {g}], scale = f32, range = {rng.choice(['rms', 'norm'])}")
    quantized(x, f"{codes}, group = [{n}, {g}], scale = f32, range = search<3>")


def test_norms_that_vanish_and_overflow():
    rows = np.zeros((1, 1, 4, 32), np.float32)
    rows[..., 1, :] = 2.0**-80  # its squares are 0
    rows[..., 2, 5] = 1e20  # the square is infinite
    rows[..., 3, 5] = np.nan
    z = quantized(rows, "codes = #kvq.codebook<nf4>, group = [1, *], scale = f32, range = rms")
    assert not z.scales.ravel()[:2].any() and not z.codes[..., :2, :].any()
    assert z.scales.ravel()[2] == np.finfo(np.float32).max
    assert np.isnan(z.scales.ravel()[3])


def test_search_keeps_the_first_of_equal_candidates():
    """Zeros, and values that every ratio codes exactly as well, keep the ratio 1."""
    x = np.zeros((1, 1, 2, 16), np.float32)
    x[..., 1, 0] = np.nan
    z = quantized(x, "codes = i8, group = [1, *], scale = f32, range = search<8>")
    assert z.scales.ravel()[0] == 0 and np.isnan(z.scales.ravel()[1])


def test_search_is_never_worse_than_its_candidates(rng):
    x = rng.standard_t(3, (1, 2, 64, 64)).astype(np.float32)

    def error(policy: str) -> np.ndarray:
        fmt = kvq.Format(f"codes = i3, group = [1, 16], scale = f32, range = {policy}")
        difference = kvq.dequantize(kvq.quantize(x, fmt)) - x
        return np.sum(difference.astype(np.float64) ** 2, axis=-1)

    steps = 4
    found, candidates = error(f"search<{steps}>"), [error(f"clip<{1 - i / (2 * steps)}>") for i in range(steps)]
    assert np.all(found <= np.min(candidates, axis=0) * 1.000001)
    assert found.sum() < candidates[0].sum() * 0.95


@pytest.mark.parametrize("fields", ["search<3>", "rms", "norm", "search<3>, zero = point ui8"])
@pytest.mark.parametrize("group", ["[1, 16]", "[96, *]"])
def test_caches_append_in_any_split(fields, group, rng):
    """Groups of more tokens than a tile too."""
    codes = "ui4" if "zero" in fields else "#kvq.codebook<nf4>"
    text = f"codes = {codes}, group = {group}, scale = f16, range = {fields}"
    fmt, oracle = kvq.Format(text), reference.Format.parse(text)
    cache = kvq.Cache(1, 2, 210, 32, fmt, recent=3, fill=0xFF)
    expected = reference.Cache(oracle, 1, 2, 32, 210, recent=3)
    for tokens in (1, 150, 58):
        x = rng.standard_normal((1, 2, tokens, 32), np.float32)
        cache.append(x)
        expected.append(x)
    flushed = int(cache.flushed[0])
    storage = cache.storage()
    packed = np.ascontiguousarray(storage["codes"][0, :, :flushed]).view(np.uint8)
    assert same(packed, reference.pack(expected.codes(0), fmt.bits))
    assert same(storage["scales"][0, :, : flushed // fmt.tokens], expected.scales(0))
    q = rng.standard_normal((1, 4, 1, 32), np.float32)
    found, wanted = kvq.attention(q, cache, cache), reference.attention(q, expected, expected)
    assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)


@pytest.mark.parametrize(
    "fields, message",
    [
        ("codes = i4, range = rms", "range rms needs a #kvq.codebook as codes, got i4"),
        ("codes = f4E2M1FN, range = norm", "range norm needs a #kvq.codebook as codes, got f4E2M1FN"),
        ("codes = i4, range = search<0>", "expected 1 to 8388608 steps of search, got 0"),
        ("codes = i4, range = search<8388609>", "expected 1 to 8388608 steps of search, got 8388609"),
        ("codes = i4, range = search", "expected '<'"),
    ],
)
def test_ranges_that_do_not_fit(fields, message):
    with pytest.raises(kvq.Error, match=message):
        kvq.Format(f"{fields}, group = [1, *], scale = f16")


def test_norm_needs_values_that_stay_apart():
    fmt = kvq.Format("codes = #kvq.codebook<values = [0.0, 1.0e-45, 1.0]>, group = [1, *], scale = f16, range = norm")
    with pytest.raises(kvq.Error, match="range norm over 64 elements makes 0.0 of both 0.0 and 1.0e-45"):
        kvq.Cache(1, 1, 8, 64, fmt)
