"""Rows whose channels have several formats (`#kvq.segments`), as those of latent attention."""

import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import _kvq, reference
from kvq_mlir.reference.layouts import mla
from test_differential import same
from test_rotation import oracle_given

ROWS = {
    "latent": "[0:64] = #kvq.format<codes = f8E4M3FN, group = [1, 32], scale = f32>, [64:96] = none",
    "exact first": "[0:32] = none, [32:96] = #kvq.format<codes = i4, group = [1, *], scale = f16>",
    "three": (
        "[0:32] = #kvq.format<codes = ui4, group = [8, 1], scale = f16, zero = min f16>, [32:40] = none, "
        "[40:96] = #kvq.format<codes = i3, group = [8, 8], heads = *, scale = f8E4M3FN, range = clip<0.5>>"
    ),
}
# Each segment with its own mean or rotation, one beside an exact one, which sees neither.
PREPARED = (
    "[0:32] = #kvq.format<codes = i4, group = [1, 16], scale = f16, rotate = hadamard<32>>, [32:40] = none, "
    "[40:72] = #kvq.format<codes = i8, group = [1, *], scale = f32, center = bf16>, "
    "[72:96] = #kvq.format<codes = ui4, group = [1, 8], scale = f16, zero = min f16, rotate = hadamard<8>, center = f32>"
)


class Oracle:
    """A cache of the oracle for each segment, all fed the same tokens."""

    def __init__(
        self, segments: kvq.Segments, batch: int, heads: int, capacity: int, *, given=None, ring=None, **windows
    ) -> None:
        self.parts = []
        for index, (begin, end, fmt) in enumerate(segments.parts):
            kept = ({} if fmt.is_exact else windows) | (ring or {})
            own = {name.partition(".")[0]: part for name, part in (given or {}).items() if name.endswith(f".{index}")}
            cache = reference.Cache(
                reference.Format.parse(str(fmt)), batch, heads, end - begin, capacity, calibration=oracle_given(own), **kept
            )
            self.parts.append((begin, end, cache))

    def append(self, x: np.ndarray, counts: list[int]) -> None:
        for begin, end, cache in self.parts:
            cache.append(x[..., begin:end], counts)

    def reorder(self, indices: list[int]) -> None:
        for _, _, cache in self.parts:
            cache.reorder(indices)

    def truncate(self, lengths: list[int]) -> None:
        for _, _, cache in self.parts:
            cache.truncate(lengths)

    def values64(self, b: int) -> np.ndarray:
        return np.concatenate([cache.values64(b) for _, _, cache in self.parts], axis=-1)


def check_bytes(cache: kvq.Cache, oracle: Oracle) -> None:
    storage = cache.storage()
    for index, (_, _, part) in enumerate(oracle.parts):
        for b, (length, flushed) in enumerate(zip(cache.lengths.tolist(), cache.flushed.tolist(), strict=True)):
            if part.fmt.codes is None:
                exact = storage[f"values.{index}"][b, :, :length].astype(np.float64)
                assert np.array_equal(exact, part.values64(b))
                continue
            packed = np.ascontiguousarray(storage[f"codes.{index}"][b, :, :flushed]).view(np.uint8)
            assert same(packed, reference.pack(part.codes(b), part.fmt.codes.bits))
            assert same(storage[f"scales.{index}"][b, :, : flushed // part.fmt.tokens], part.scales(b))


@pytest.mark.parametrize("name", ROWS)
def test_caches_equal_the_oracle(name, rng):
    """Appends, reordering, truncation and attention, keys in segments and values in others."""
    segments = kvq.Segments(ROWS[name])
    windows = dict(exact_first=3, recent=5)
    keys = kvq.Cache(2, 2, 90, 96, segments, fill=0xFF, **windows)
    values = kvq.Cache(2, 2, 90, 96, kvq.Segments(ROWS["three"]), fill=0xFF, exact_first=3, recent=9)
    oracles = Oracle(segments, 2, 2, 90, **windows), Oracle(values.format, 2, 2, 90, exact_first=3, recent=9)
    for counts in ([1, 0], [40, 37], [33, 12]):
        for cache, oracle in zip((keys, values), oracles, strict=True):
            x = rng.standard_normal((2, 2, 40, 96), np.float32)
            cache.append(x, counts)
            oracle.append(x, counts)
    for cache, oracle in zip((keys, values), oracles, strict=True):
        cache.reorder([1, 0])
        oracle.reorder([1, 0])
        check_bytes(cache, oracle)
        for b, length in enumerate(cache.lengths.tolist()):
            assert np.allclose(cache.dequantize()[b, :, :length], oracle.values64(b), rtol=1e-6, atol=1e-6)
    q = rng.standard_normal((2, 4, 2, 96), np.float32)
    wanted = reference.attention(q, *([oracle.values64(b) for b in range(2)] for oracle in oracles))
    for splits in (1, 3):
        found = kvq.attention(q, keys, values, splits=splits)
        assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)


def test_pages_of_rows(rng):
    """A latent cache in pages: append, forks that share pages, attention."""
    segments = kvq.Segments(ROWS["latent"])
    cache = kvq.Cache(3, 1, 40, 96, segments, page=8, fill=0xFF)
    oracle = Oracle(segments, 3, 1, 40)
    for counts in ([20, 3, 0], [1, 9, 0]):
        x = rng.standard_normal((3, 1, 20, 96), np.float32)
        cache.append(x, counts)
        oracle.append(x, counts)
    cache.fork(0, [2])
    for _, _, part in oracle.parts:
        part.fork(0, [2])
    x = rng.standard_normal((3, 1, 2, 96), np.float32)
    cache.append(x)
    oracle.append(x, [2, 2, 2])
    for b, length in enumerate(cache.lengths.tolist()):
        assert np.allclose(cache.dequantize()[b, :, :length], oracle.values64(b), rtol=1e-6, atol=1e-6)
    q = rng.standard_normal((3, 4, 1, 96), np.float32)
    wanted = reference.attention(q, *([oracle.values64(b) for b in range(3)] for _ in "kv"))
    found = kvq.attention(q, cache, cache)
    assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)


ROWS_OF_ALL = {
    "latent": (ROWS["latent"], "scale.0, values.1, codes.0"),
    "three": (
        "[0:32] = #kvq.format<codes = ui5, group = [1, 16], scale = f16, zero = min bf16>, [32:40] = none, "
        "[40:96] = #kvq.format<codes = i4, group = [1, *], scale = f32, layout = #kvq.layout<codes = stream, bias>>",
        "values.1, codes.2, high.0, scale.2, codes.0, scale.0<2>, zero.0",
    ),
}


@pytest.mark.parametrize("name, storage", [("latent", {}), ("three", dict(page=8)), ("three", "slots")])
def test_a_row_of_all_segments(name, storage, rng):
    """One component holds the bytes of the segments' components; what is done to a cache does the same to both."""
    segments, fields = ROWS_OF_ALL[name]
    dtype = str(rng.choice(["f16", "bf16", "f32"]))
    slots = storage == "slots"
    if slots:
        storage = dict(page=8, page_table=rng.permutation(20).reshape(2, 10))
    caches = [
        kvq.Cache(2, 2, 77, 96, kvq.Segments(text), dtype, fill=0xFF, **storage)
        for text in (segments, f"{segments}, row = [{fields}]")
    ]
    assert caches[0].nbytes == caches[1].nbytes and set(caches[1].storage()) == {"records"}
    footprints = [_kvq.Footprint(cache.type) for cache in caches]
    assert footprints[1].allocated(77)["total"] == caches[1].nbytes
    for count in ("allocated", "retained"):
        plain, row = (dict(getattr(footprint, count)(50)) for footprint in footprints)
        assert {**plain, "alignment": 0} == {**row, "alignment": 0}
    packed = [rng.standard_normal((2, 2, 40, 96), np.float32) for _ in range(2)]
    for cache in caches:
        if slots:
            table = storage["page_table"]
            rows = [table[b, t // 8] * 8 + t % 8 for b, n in enumerate((40, 17)) for t in range(n)]
            tokens = np.concatenate([packed[0][0, :, :40].swapaxes(0, 1), packed[0][1, :, :17].swapaxes(0, 1)])
            cache.store(tokens, [*rows], [40, 17])
        else:
            cache.append(packed[0], [40, 17])
        cache.append(packed[1], [1, 33])
        cache.truncate([41, 47])
        cache.reorder([1, 0])
        cache.shift([3, 0], [30, 0])
        cache.fork(1, [0])
    (plain, rows) = (cache.dequantize() for cache in caches)
    assert np.array_equal(plain, rows) and not np.isnan(rows).any()
    if not storage:
        parts = {name: array[:, :, :41].view(np.uint8) for name, array in caches[0].storage().items()}
        kinds = {"high": "codes", "scale": "scales", "zero": "zeros"}
        for field in fields.split(", ")[:1]:
            kind, _, segment = field.partition(".")
            expected = np.ascontiguousarray(parts[f"{kinds.get(kind, kind)}.{segment}"])
            found = caches[1].storage()["records"][:, :, :41, : expected.shape[-1]].view(np.uint8)
            assert np.array_equal(found, expected)
    q = rng.standard_normal((2, 4, 1, 96), np.float32)
    found, expected = (kvq.attention(q, cache, cache) for cache in caches[::-1])
    assert np.array_equal(found, expected) and not np.isnan(found).any()


@pytest.mark.parametrize("windows", [{}, dict(exact_first=2, recent=5)])
def test_means_and_rotations_of_segments(windows, rng):
    """What acts before quantization is each segment's own, for keys and for values."""
    segments = kvq.Segments(PREPARED)
    tokens = 3 + rng.standard_normal((2, 2, 50, 96)).astype(np.float32)
    given = kvq.calibrate(tokens, segments, rng.choice(np.int8([-1, 1]), 96))
    assert sorted(given) == ["means.2", "means.3", "signs.0", "signs.3"]
    cache = kvq.Cache(2, 2, 60, 96, segments, given=given, fill=0xFF, **windows)
    oracle = Oracle(segments, 2, 2, 60, given=given, **windows)
    exact = kvq.Cache(2, 2, 60, 96, kvq.Format("codes = none"), fill=0xFF)
    for begin, counts in ((0, [40, 33]), (40, [10, 0])):
        x = tokens[:, :, begin : begin + 40]
        cache.append(x[:, :, : max(counts)], counts)
        oracle.append(x[:, :, : max(counts)], counts)
        exact.append(x[:, :, : max(counts)], counts)
    check_bytes(cache, oracle)
    for b, length in enumerate(cache.lengths.tolist()):
        assert np.allclose(cache.dequantize()[b, :, :length], oracle.values64(b), rtol=1e-6, atol=1e-5)
    q = rng.standard_normal((2, 4, 2, 96), np.float32)
    coded = [oracle.values64(b) for b in range(2)]
    plain = [exact.dequantize()[b, :, :length].astype(np.float64) for b, length in enumerate(exact.lengths)]
    for keys, values, sides in ((coded, plain, (cache, exact)), (plain, coded, (exact, cache)), (coded, coded, (cache,) * 2)):
        wanted, found = reference.attention(q, keys, values), kvq.attention(q, *sides, splits=2)
        assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)
    for begin, end in ((40, 96), (0, 40), (32, 36)):  # values among the keys' channels
        wanted = reference.attention(q, coded, [part[..., begin:end] for part in coded])
        found = kvq.attention(q, cache, None, value_channels=(begin, end))
        assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)
    with pytest.raises(kvq.Error, match="cut rows that are centred"):
        kvq.attention(q, cache, None, value_channels=(32, 50))


@pytest.mark.parametrize("name, windows", [("latent", {}), ("three", dict(exact_first=2, recent=5))])
def test_rings_of_segments(name, windows, rng):
    """Exact segments write tokens over that others, which wait in a window, still need: attention sees neither."""
    segments, ring = kvq.Segments(ROWS[name]), dict(ring=29, keep_first=5)
    cache = kvq.Cache(2, 2, 1 << 20, 96, segments, fill=0xFF, **windows, **ring)
    oracle = Oracle(segments, 2, 2, 1 << 20, ring=ring, **windows)
    q = rng.standard_normal((2, 4, 1, 96), np.float32)
    for step in range(6):
        counts = rng.integers(0, (4, 60)[step % 2], 2)
        x = rng.standard_normal((2, 2, int(counts.max()) + 1, 96), np.float32)
        cache.append(x, counts)
        oracle.append(x, counts.tolist())
        if step == 3:
            cache.reorder([1, 0])
            oracle.reorder([1, 0])
        held = [oracle.parts[0][2].held(length) for length in cache.lengths.tolist()]
        rebuilt, seen = cache.dequantize(), []
        for b, length in enumerate(cache.lengths.tolist()):
            expected = oracle.values64(b)
            assert np.allclose(rebuilt[b, :, :length], np.where(held[b][:, None], expected, 0), rtol=1e-6, atol=1e-6)
            seen.append(expected[:, held[b]])
        wanted = reference.attention(q, seen, seen, causal=False)
        found = kvq.attention(q, cache, cache)
        assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)
    with pytest.raises(kvq.Error, match="would go back to token .* but the ring has written over all before"):
        cache.truncate(cache.lengths - 1)
    cache.truncate(2)
    oracle.truncate([2, 2])
    assert np.allclose(cache.dequantize()[0], oracle.values64(0), rtol=1e-6, atol=1e-6)


def test_saturated_elements_of_segments_with_codes(rng):
    cache = kvq.Cache(1, 2, 20, 96, kvq.Segments(ROWS["three"]), recent=0)
    x = rng.standard_normal((1, 2, 16, 96), np.float32).astype(np.float16)
    saturated = cache.append(x, count_saturated=True)
    fmt = cache.format.parts[2][2]
    expected = reference.count_clipped(x[..., 40:], reference.Format.parse(str(fmt)))
    assert saturated.shape == (1, 2) and saturated.sum() == expected.saturated > 0


def test_case_44_bytes_of_rows():
    """vLLM's latent fp8 row of 656 bytes, and int8 rows with a f32 scale for each token and head."""
    latent = "[0:512] = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32>, [512:576] = none"
    cache = kvq.Cache(1, 1, 100, 576, kvq.Segments(latent))
    assert cache.nbytes == 100 * 656
    footprint = _kvq.Footprint(cache.type)
    assert footprint.token_group_bytes["total"] == 656
    assert footprint.retained(100) == dict(codes=51200, scales=1600, values=12800, padding=0, total=65600, alignment=0)
    for dim, row in ((256, 520), (512, 1032)):
        sides = [kvq.Cache(1, 1, 10, dim, kvq.Format("codes = i8, group = [1, *], scale = f32")) for _ in "kv"]
        assert sum(side.nbytes for side in sides) == 10 * 2 * (dim + 4)
        assert sum(side.nbytes for side in sides) // 20 * 2 == row
    # 512 + 64 + 16 bytes would be those of a cache that quantizes the last channels too.
    assert kvq.Cache(1, 1, 1, 576, kvq.Format("codes = f8E4M3FN, group = [1, 64], scale = f32")).nbytes == 576 + 36


def test_given_scales_of_segments(rng):
    """vLLM's NVFP4 latent row of 352 bytes: 256 + 32 of f4 with f8 scales, and 64 f8 of a given scale."""
    segments = kvq.Segments(
        "[0:512] = #kvq.format<codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN>, "
        "[512:576] = #kvq.format<codes = f8E4M3FN, group = [*, *], scale = f32, range = static>"
    )
    scale = np.float32([0.01])
    cache = kvq.Cache(2, 1, 30, 576, segments, fill=0xFF, given={"scales.1": scale})
    assert _kvq.Footprint(cache.type).token_group_bytes["total"] == 2 * 352
    assert cache.nbytes == 2 * 30 * 352 + 4
    x = rng.standard_normal((2, 1, 20, 576), np.float32)
    cache.append(x, [20, 7])
    (_, _, latent), (_, _, rope) = segments.parts
    given = reference.Calibration(scales=scale[np.newaxis])
    parts = []
    for fmt, channels, calibration in ((latent, slice(512), None), (rope, slice(512, 576), given)):
        part = reference.Cache(
            reference.Format.parse(str(fmt)), 2, 1, channels.stop - (channels.start or 0), 30, calibration=calibration
        )
        part.append(x[..., channels], [20, 7])
        parts.append(part)
    for b, length in enumerate((20, 7)):
        expected = np.concatenate([part.values64(b) for part in parts], axis=-1)
        assert np.allclose(cache.dequantize()[b, :, :length], expected, rtol=1e-6, atol=1e-6)
        packed = np.ascontiguousarray(cache.storage()["codes.1"][b, :, :length]).view(np.uint8)
        assert same(packed, parts[1].codes(b))
    q = rng.standard_normal((2, 2, 1, 576), np.float32)
    wanted = reference.attention(q, *(
        [np.concatenate([part.values64(b) for part in parts], axis=-1) for b in range(2)] for _ in "kv"
    ))
    found = kvq.attention(q, cache, cache)
    assert np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted)
    with pytest.raises(kvq.Error, match="needs given scales.1"):
        kvq.Cache(1, 1, 8, 576, segments)
    with pytest.raises(kvq.Error, match="expected given scales.1 from .* got 0"):
        kvq.Cache(1, 1, 8, 576, segments, given={"scales.1": np.float32([0])})


def test_bytes_of_the_latent_row(rng):
    """Codes and scales are those of vLLM's row; the other channels stay as they are."""
    x = rng.standard_normal((1, 1, 20, 576), np.float32).astype(np.float16)
    latent = "[0:512] = #kvq.format<codes = f8E4M3FN, group = [1, 128], scale = f32>, [512:576] = none"
    cache = kvq.Cache(1, 1, 20, 576, kvq.Segments(latent))
    cache.append(x)
    storage = cache.storage()
    row = mla.fp8_row(x[0, 0].astype(np.float32))
    assert np.array_equal(storage["codes.0"][0, 0].view(np.uint8), row[:, :512])
    assert np.array_equal(np.ascontiguousarray(storage["scales.0"][0, 0]).view(np.uint8), row[:, 512:528])
    assert np.array_equal(storage["values.1"][0, 0], x[0, 0, :, 512:])


@pytest.mark.parametrize(
    "text, message",
    [
        ("[0:64] = none, [60:96] = none", "segments overlap: expected the next one to begin at channel 64, got 60"),
        ("[0:64] = none, [70:96] = none", "segments leave a gap: expected the next one to begin at channel 64, got 70"),
        ("[0:64] = none, [64:96] = none", "expected a segment with codes"),
    ],
)
def test_bad_segments(text, message):
    with pytest.raises(kvq.Error, match=message):
        kvq.Segments(text)


def test_segments_that_do_not_end_with_the_row():
    with pytest.raises(kvq.Error, match="expected segments up to head_dim 128, the last one ends at 96"):
        kvq.Cache(1, 1, 8, 128, kvq.Segments(ROWS["latent"]))
