"""Counts of elements that their codes cannot hold (rule R24)."""

import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import reference

CODES = ("i4", "i8", "ui3", "f8E4M3FN", "f8E5M2", "f6E2M3FN", "f4E2M1FN", "nf4", "lloyd_max = 2", "values = [-0.5, 2.0]")


def text_of(codes: str, group: str, policy: str, scale: str = "f32") -> str:
    zero = ", zero = min f16" if codes.startswith("u") else ""
    if codes[:2] in ("nf", "ll", "va"):
        codes = f"#kvq.codebook<{codes}>"
    return f"codes = {codes}, group = {group}, scale = {scale}{zero}, range = {policy}"


def expected_counts(x: np.ndarray, fmt: str, dtype: str) -> np.ndarray:
    """The oracle's count of each sequence and head."""
    oracle = reference.Format.parse(fmt)
    parts = [[reference.count_clipped(x[b : b + 1, h : h + 1], oracle, dtype) for h in range(x.shape[1])] for b in (0, 1)]
    return np.array([[part.saturated + part.nans for part in row] for row in parts], np.int64)


@pytest.mark.parametrize("codes", CODES)
def test_counts_equal_the_oracle(codes, rng):
    for group in ("[1, 16]", "[8, *]"):
        policy = str(rng.choice(["clip<0.8>", "clip<0.31>", "search<4>"]))
        text = text_of(codes, group, policy)
        x = rng.standard_normal((2, 3, 16, 48), np.float32)
        x[0, 0, 3, 5], x[1, 2, 7, 8], x[0, 1] = np.inf, np.nan, 0
        z = kvq.quantize(x, kvq.Format(text))
        counts = kvq.count_saturated(x, z)
        assert counts.dtype == np.int64
        assert np.array_equal(counts, expected_counts(x, text, "f32")), text
        assert not counts[0, 1].any() and (counts.any() or policy != "clip<0.31>")


@pytest.mark.parametrize("codes", [codes for codes in CODES if codes != "ui3"])
def test_borders(codes, rng):
    """Quotients at the border of what saturates, and one ulp off it: the largest element is clipped to the scale 1."""
    oracle = reference.Format.parse(text_of(codes, "[1, *]", "clip<0.5>"))
    ends = [oracle.codes.largest, oracle.codes.largest + 0.5, -oracle.codes.largest - 0.5, 464, 61440, 7.75, -7.75, 7, -7]
    if isinstance(oracle.codes, reference.Codebook):
        table = oracle.codes.table
        ends += [1.5 * table[-1] - 0.5 * table[-2], 1.5 * table[0] - 0.5 * table[1]]
    ends = np.array(ends, np.float32)
    x = np.concatenate([np.nextafter(ends, np.float32(-np.inf)), ends, np.nextafter(ends, np.float32(np.inf))])
    top = np.float32(2 * oracle.codes.largest)
    x = np.concatenate([[top], x[np.abs(x) <= top]])
    rows = np.zeros((1, 1, 1, 64), np.float32)
    rows[..., : len(x)] = x
    text = text_of(codes, "[1, *]", "clip<0.5>")
    z = kvq.quantize(rows, kvq.Format(text))
    assert z.scales.item() == 1
    assert kvq.count_saturated(rows, z).item() == reference.count_clipped(rows, oracle, "f32").saturated


@pytest.mark.parametrize("group, windows", [("[1, 16]", {}), ("[8, *]", dict(recent=5)), ("[8, 1]", dict(exact_first=2))])
def test_append_counts_what_it_quantizes(group, windows, rng):
    """In any split, padding and exact tokens not among it."""
    text = text_of("i4", group, "clip<0.6>", "f16")
    cache = kvq.Cache(2, 3, 64, 32, kvq.Format(text), **windows)
    lengths, first = np.array([40, 27]), windows.get("exact_first", 0)
    x = rng.standard_normal((2, 3, 40, 32), np.float32).astype(np.float16)
    total = np.zeros((2, 3), np.int64)
    begin = np.zeros(2, int)
    for step in (0.2, 0.7, 1.0):
        end = (lengths * step).astype(int)
        part = np.full((2, 3, int((end - begin).max()), 32), np.inf, np.float16)
        for b in range(2):
            part[b, :, : end[b] - begin[b]] = x[b, :, begin[b] : end[b]]
        total += cache.append(part, (end - begin).tolist(), count_saturated=True)
        begin = end
    for b in range(2):
        flushed = int(cache.flushed[b])
        coded = np.broadcast_to(x[b : b + 1, :, first : first + flushed], (2, 3, flushed, 32))
        assert np.array_equal(total[b], expected_counts(coded, text, "f16")[0])
    assert total.any()
    assert cache.append(x[:, :, :1]) is None


def test_nothing_saturates_in_a_range_of_its_own(rng):
    x = rng.standard_normal((1, 2, 9, 64), np.float32)
    for text in ("codes = i4, group = [1, 16], scale = f16", "codes = f8E4M3FN, group = [1, *], scale = f8E8M0FNU"):
        assert not kvq.count_saturated(x, kvq.quantize(x, kvq.Format(text))).any()


def test_bad_input():
    cache = kvq.Cache(1, 1, 8, 64, kvq.Format("codes = none"))
    x = np.zeros((1, 1, 1, 64), np.float32)
    with pytest.raises(kvq.Error, match="nothing that saturates"):
        cache.append(x, count_saturated=True)
    z = kvq.quantize(x, kvq.Format("codes = i4, group = [1, 16], scale = f16"))
    with pytest.raises(kvq.Error, match=r"shape \[1, 1, 1, 64\], got \[1, 1, 2, 64\]"):
        kvq.count_saturated(np.zeros((1, 1, 2, 64), np.float32), z)
