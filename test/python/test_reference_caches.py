"""Caches of the reference: regions, appends, truncation, copies."""

import numpy as np
import pytest
from conftest import fresh_rng
from kvq_mlir import reference
from kvq_mlir.reference import Cache
from reference_helpers import INT8, PER_CHANNEL, fmt, tokens

# --- caches --------------------------------------------------------------------------------------------------------


def test_regions_of_a_cache():
    # exact_first 2, recent 3, groups of 4: the first group is quantized at length 2 + 3 + 4.
    x = tokens(1, 2, 14, 8)
    cache = Cache(fmt("codes = i8, group = [4, 1], scale = f16"), 1, 2, 8, 64, exact_first=2, recent=3)
    flushed = []
    for t in range(14):
        cache.append(x[:, :, t : t + 1])
        flushed.append(int(cache.flushed[0]))
    assert flushed == [0] * 8 + [4] * 4 + [8] * 2
    assert cache.lengths.tolist() == [14]
    assert (cache.codes(0).shape, cache.scales(0).shape, cache.zeros(0)) == ((2, 8, 8), (2, 2, 8), None)
    exact = x.astype(np.float16).astype(np.float64)[0]
    values = cache.values64(0)
    assert values.shape == (2, 14, 8)
    assert np.array_equal(values[:, :2], exact[:, :2]) and np.array_equal(values[:, 10:], exact[:, 10:])
    # Groups are counted from the end of exact_first: the first scale is that of tokens 2 ... 5.
    largest = np.abs(exact[:, 2:6]).max(axis=1)
    assert np.allclose(cache.scales(0)[:, 0], largest / 127, rtol=2**-10)
    assert np.all(np.abs(values[:, 2:6] - exact[:, 2:6]) <= largest[:, None] / 127 * 0.51)


def test_case_31_the_newest_stay_exact():
    cache = Cache(fmt(PER_CHANNEL), 1, 1, 8, 512, recent=128)
    cache.append(tokens(1, 1, 300, 8))
    assert cache.flushed.tolist() == [160]
    assert cache.codes(0).shape == (1, 160, 8)


@pytest.mark.parametrize("text", [INT8, PER_CHANNEL, "codes = ui2, group = [32, 4], scale = f16, zero = min f32"])
@pytest.mark.parametrize("exact_first, recent", [(0, 0), (4, 0), (0, 32), (3, 7)])
def test_case_32_streaming_equals_one_shot(text, exact_first, recent):
    x = tokens(1, 2, 200, 8)
    whole, streamed, random = (Cache(fmt(text), 1, 2, 8, 200, exact_first=exact_first, recent=recent) for _ in range(3))
    whole.append(x)
    streamed.append(x[:, :, :32])
    for t in range(32, 200):
        streamed.append(x[:, :, t : t + 1])
    for part in np.split(x, np.sort(fresh_rng().integers(0, 201, 6)), axis=2):
        random.append(part)
    for other in (streamed, random):
        assert np.array_equal(other.codes(0), whole.codes(0))
        assert np.array_equal(other.scales(0), whole.scales(0))
        assert np.array_equal(other.values64(0), whole.values64(0))
    # A token's group does not depend on what surrounds it: quantize the flushed stretch directly.
    end = exact_first + int(whole.flushed[0])
    codes, scales, _ = reference.quantize(x[:, :, exact_first:end], fmt(text))
    assert np.array_equal(whole.codes(0), codes[0]) and np.array_equal(whole.scales(0), scales[0])


def test_case_18_sequences_are_separate_and_padding_is_not_read():
    f = fmt("codes = ui4, group = [4, 1], scale = f16, zero = min f16")
    x = np.full((2, 1, 5, 4), np.nan, np.float32)
    x[0] = fresh_rng().uniform(-1, 1, (1, 5, 4))
    x[1, :, :3] = 1000
    both, alone = Cache(f, 2, 1, 4, 8), Cache(f, 1, 1, 4, 8)
    both.append(x, counts=[5, 3])
    alone.append(x[:1])
    assert (both.lengths.tolist(), both.flushed.tolist()) == ([5, 3], [4, 0])
    assert np.array_equal(both.codes(0), alone.codes(0)) and np.array_equal(both.zeros(0), alone.zeros(0))
    assert np.all(both.values64(1) == 1000)
    # The fourth token of the second sequence completes its group: constant, so codes 0 and zero 1000.
    both.append(x[:, :, :1] * 0 + 1000, counts=[0, 1])
    assert (both.lengths.tolist(), both.flushed.tolist()) == ([5, 4], [4, 4])
    assert not both.codes(1).any() and np.all(both.zeros(1) == 1000) and not both.scales(1).any()


def test_an_exact_cache_holds_the_rounded_elements():
    cache = Cache(fmt("codes = none"), 1, 1, 2, 8)
    cache.append(np.float32([[[[2049, np.inf], [0.5, np.nan]]]]))
    assert cache.flushed.tolist() == [0]
    assert np.array_equal(cache.values64(0), [[[2048, 65504], [0.5, np.nan]]], equal_nan=True)
    with pytest.raises(ValueError, match="neither codes"):
        cache.codes(0)


def test_cache_errors_leave_it_unchanged():
    cache = Cache(fmt(INT8), 2, 1, 4, 10)
    cache.append(np.ones((2, 1, 8, 4), np.float32), counts=[8, 2])
    three = np.ones((2, 1, 3, 4), np.float32)
    with pytest.raises(ValueError, match="11.*10"):
        cache.append(three, counts=[3, 1])
    with pytest.raises(ValueError, match="count 4.*3 tokens"):
        cache.append(three, counts=[0, 4])
    with pytest.raises(ValueError, match="2 counts, got 1"):
        cache.append(three, counts=[1])
    with pytest.raises(ValueError, match="shape"):
        cache.append(three[:1])
    with pytest.raises(ValueError, match="negative"):
        Cache(fmt(INT8), 1, 1, 4, 10, recent=-1)
    assert cache.lengths.tolist() == [8, 2]


# --- a cache's life ------------------------------------------------------------------------------------------------


def test_truncate():
    x = np.arange(80, dtype=np.float32).reshape(1, 1, 20, 4)
    cache = Cache(fmt("codes = ui4, group = [4, 1], scale = f16, zero = min f16"), 1, 1, 4, 20, exact_first=1, recent=3)
    cache.append(x)
    assert (cache.lengths.tolist(), cache.flushed.tolist()) == ([20], [16])
    with pytest.raises(ValueError, match="length 12 .* between borders 9 and 13"):
        cache.truncate(12)
    with pytest.raises(ValueError, match="length -1 is negative"):
        cache.truncate([-1])
    with pytest.raises(ValueError, match="expected 1 lengths, got 2"):
        cache.truncate([1, 2])
    before = cache.values64(0)
    for length, flushed in ((30, 16), (18, 16), (17, 16), (9, 8), (1, 0), (0, 0)):
        cache.truncate(length)
        assert (cache.lengths.tolist(), cache.flushed.tolist()) == ([min(length, 20)], [flushed])
        assert np.array_equal(cache.values64(0), before[:, :length])


def test_residual():
    text = "codes = ui4, group = [4, 1], scale = f16, zero = min f16"
    cache = Cache(fmt(text), 1, 1, 4, 60, exact_first=1, residual=8)
    x = np.arange(240, dtype=np.float32).reshape(1, 1, 60, 4)
    for t in range(40):
        cache.append(x[:, :, t : t + 1])
        assert cache.flushed.tolist() == [t // 8 * 8]
    cache.truncate(21)
    assert cache.flushed.tolist() == [20]
    cache.append(x[:, :, 21:24])
    assert cache.flushed.tolist() == [20]
    cache.append(x[:, :, 24:25])
    assert cache.flushed.tolist() == [24]
    for arguments, message in (
        (dict(residual=6), "residual = 6 is not one or more groups of 4"),
        (dict(residual=0), "residual = 0"),
        (dict(residual=8, recent=1), "both recent = 1 and residual = 8"),
    ):
        with pytest.raises(ValueError, match=message):
            Cache(fmt(text), 1, 1, 4, 60, **arguments)


def test_reorder_and_fork():
    cache = Cache(fmt(INT8), 3, 1, 4, 20, exact_first=1, recent=2)
    cache.append(np.arange(240, dtype=np.float32).reshape(3, 1, 20, 4), [4, 9, 14])
    before = [cache.values64(b) for b in range(3)]
    cache.reorder([2, 0, 2])
    assert cache.lengths.tolist() == [14, 4, 14]
    assert all(np.array_equal(cache.values64(b), before[source]) for b, source in enumerate([2, 0, 2]))
    cache.fork(0, [1], length=6)
    assert cache.lengths.tolist() == [14, 6, 14] and np.array_equal(cache.values64(1), before[2][:, :6])
    cache.append(np.ones((3, 1, 1, 4), np.float32), [0, 1, 0])
    assert cache.lengths.tolist() == [14, 7, 14] and np.array_equal(cache.values64(0), before[2])
    with pytest.raises(ValueError, match=r"3 indices below 3, got \[0, 1, 3\]"):
        cache.reorder([0, 1, 3])
    with pytest.raises(ValueError, match="none twice, got 0 and \\[0\\]"):
        cache.fork(0, [0])
