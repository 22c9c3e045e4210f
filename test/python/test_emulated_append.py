"""Appends compiled for GPUs, on the emulator: every byte that they store is the CPU's, and the oracle's."""

import json

import draws
import numpy as np
import pytest
from test_differential import same, values
from test_emulated import draw_device
from test_presets import NAMES
from test_rotation import oracle_given

import kvq_mlir as kvq
from kvq_mlir import reference

I4 = "codes = i4, group = [1, 32], scale = f16"
PER_CHANNEL = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"


def assert_same(cpu, gpu):
    assert cpu.lengths.tolist() == gpu.lengths.tolist() and cpu.flushed.tolist() == gpu.flushed.tolist()
    for name, array in cpu.storage().items():
        assert same(gpu.storage()[name], array), name


def pair(rng, shape, fmt, given=None, **parameters):
    """A cache on this processor and one on the emulator, alike."""
    device = draw_device(rng)
    print(device, fmt, parameters)
    return [kvq.Cache(*shape, kvq.Format(fmt), given=given, fill=0xFF, device=d, **parameters) for d in (None, device)]


def run(text):
    """The appends of a drawn case on both, and on the oracle."""
    case = json.loads(text)
    rng, fmt = np.random.default_rng(case["seed"]), draws.format_text(case)
    batch, heads, dim = case["batch"], case["heads"], case["dim"]
    ring = {name: case["storage"][name] for name in ("ring", "keep_first") if name in case["storage"]}
    parameters = dict(dtype=case["dtype"], exact_first=case["exact_first"], **case["window"], **ring)
    capacity = int(max(np.sum(case["appends"], axis=0)) + rng.integers(0, 9))
    shape = (batch, heads, capacity, dim)
    given = kvq.calibrate(rng.standard_normal((2, heads, 40, dim)).astype(np.float32), kvq.Format(fmt))
    cpu, gpu = pair(rng, shape, fmt, given, **parameters, **draws._pages(rng, case, capacity))
    oracle = reference.Cache(
        reference.Format.parse(fmt), batch, heads, dim, capacity, calibration=oracle_given(given), **parameters
    )
    counted = "unrounded" not in fmt and bool(rng.integers(0, 2))
    for counts in case["appends"]:
        x = values(rng, (batch, heads, max(counts) + int(rng.integers(0, 2)), dim), case["input"])
        for b, count in enumerate(counts):
            x[b, :, count:] = np.nan  # padding
        saturated = [cache.append(x, counts, count_saturated=counted) for cache in (cpu, gpu)]
        assert not counted or np.array_equal(*saturated)
        oracle.append(x, counts)
    assert_same(cpu, gpu)
    if not ring:
        draws.check_storage(gpu, oracle)


@pytest.mark.parametrize("case", range(12))
def test_drawn_caches(case, rng):
    fields = None
    while fields is None:
        fields = draws.draw(rng, dict(appends=str(rng.choice(["at once", "ragged"]))))
    text = draws.complete(rng, fields)
    print(text)
    run(text)


@pytest.mark.parametrize("tile", ["fragments<16>", "fragments<64>", "token_pairs<32>", "channel_pairs<32>"])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_tiles(tile, bits, rng):
    """Appended a few tokens at a time, so that tiles are begun in one launch and filled by others; pages are whole tiles."""
    fmt = f"codes = i{bits}, group = [1, 32], scale = f16, layout = #kvq.layout<codes = planar, tile = {tile}>"
    pages = {} if rng.random() < 0.5 else {"page": 64}
    windows = {"exact_first": int(rng.choice([0, 3])), "recent": int(rng.choice([0, 7]))}
    caches = pair(rng, (2, 2, 200, 64), fmt, **pages, **windows)
    for _ in range(4):
        counts = rng.integers(0, 50, 2)
        x = rng.standard_normal((2, 2, int(counts.max()), 64)).astype(np.float16)
        for cache in caches:
            cache.append(x, counts)
    assert_same(*caches)


CODES = ("i2", "i3", "i4", "i5", "i6", "i8", "f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN") + tuple(
    f"#kvq.codebook<{name}>" for name in ("nf4", "iq4_nl", "lloyd_max = 3")
)


@pytest.mark.parametrize("codes", CODES)
def test_codes_of_every_kind(codes, rng):
    """Subnormals, ties, infinities and NaN among the elements."""
    scale = str(rng.choice(["f16", "bf16", "f32"]))
    cpu, gpu = pair(rng, (1, 2, 40, 64), f"codes = {codes}, group = [1, 16], scale = {scale}", dtype="f32")
    x = values(rng, (1, 2, 24, 64), "f32")
    x[:, :, 1] *= np.float32(2.0**-140)
    x[:, :, 2] = rng.integers(-20, 20, (1, 2, 64)) / 2
    x[:, :, 3, rng.integers(0, 64)] = np.nan
    x[:, :, 4, rng.integers(0, 64)] = -np.inf
    for cache in (cpu, gpu):
        cache.append(x)
    assert_same(cpu, gpu)


def test_presets_of_engines(rng):
    """Some of them in each run: they have the rules of the engines."""
    for name in rng.choice(NAMES, 10, replace=False).tolist():
        fmt, dim = kvq.Format.preset(name), 576 if "mla" in name else 128
        dtype = "bf16" if "mla" in name else "f16"  # the last channels of such rows are bf16
        given = kvq.calibrate(rng.standard_normal((2, 2, 64, dim)).astype(np.float32), fmt)
        devices = (None, draw_device(rng))
        print(name, devices[1])
        caches = [kvq.Cache(1, 2, 100, dim, fmt, dtype, given=given, fill=0xFF, device=d) for d in devices]
        x = values(rng, (1, 2, 100, dim), "f16")
        for cache in caches:
            cache.append(x[:, :, :37])
            cache.append(x[:, :, 37:])
        assert_same(*caches)


def test_packed_tokens_and_slots(rng):
    cpu, gpu = pair(rng, (2, 2, 90, 64), PER_CHANNEL, recent=32, page=32)
    x = rng.standard_normal((130, 2, 64)).astype(np.float32)
    for starts in ([3, 70, 125], [0, 20, 22]):
        for cache in (cpu, gpu):
            cache.append(x, starts=starts)
    assert_same(cpu, gpu)

    table = rng.permutation(12).reshape(1, 12)
    cpu, gpu = pair(rng, (1, 2, 96, 64), I4, page=8, pages=12, page_table=table)
    slots = rng.permutation(96)
    slots[rng.random(96) < 0.2] = -1
    for cache in (cpu, gpu):
        cache.store(x[:96], slots, [96])
    assert_same(cpu, gpu)


def test_segments_and_rows_by_token(rng):
    parts = kvq.Segments(f"[0:64] = #kvq.format<{I4}>, [64:96] = none")
    caches = [kvq.Cache(2, 1, 40, 96, parts, fill=0xFF, device=d, recent=5) for d in (None, draw_device(rng))]
    x = rng.standard_normal((2, 1, 30, 96)).astype(np.float16)
    for cache in caches:
        cache.append(x, [30, 7])
    assert_same(*caches)

    cpu, gpu = pair(rng, (2, 3, 40, 64), I4, token_major=True)
    x = rng.standard_normal((2, 3, 30, 64)).astype(np.float32)
    for cache in (cpu, gpu):
        cache.append(x, [30, 7])
    assert_same(cpu, gpu)


@pytest.mark.parametrize("fmt, parameters", [(PER_CHANNEL, dict(recent=32)), (I4, dict(page=16)), (I4, dict(recent=9))])
def test_a_life(fmt, parameters, rng):
    """Between appends a cache is cut, reordered, forked and shifted, keys turned on the way."""
    cpu, gpu = pair(rng, (3, 2, 240, 64), fmt, exact_first=4, **parameters)
    tables = kvq.rope_tables(240, 64)
    for step in range(3):
        x = rng.standard_normal((3, 2, 130, 64)).astype(np.float32)
        counts = rng.integers(110, 130, 3) if step == 0 else rng.integers(0, 30, 3)
        order = rng.permutation(3)
        for cache in (cpu, gpu):
            cache.append(x, counts)
            cache.reorder(order)
            if step == 1:
                cache.fork(0, [2])
                cache.shift(4, 32, tables)
            cache.truncate(np.maximum(cache.lengths - 2, 4))
        assert_same(cpu, gpu)


def test_bf16_metadata_keeps_what_is_subnormal():
    """x86 has an instruction to bf16 that flushes it, and LLVM passes a chosen bf16 through it."""
    case = {
        "appends": [[41]],
        "dim": 128,
        "layout": "row",
        "range": "search<3>",
        "center": "bf16",
        "heads": 2,
        "splits": 1,
        "rotate": "",
        "rule": "quotient = reciprocal",
        "dtype": "f32",
        "group": "1, *",
        "span": "",
        "causal": False,
        "storage": {"page": 2, "given": True},
        "q_len": 2,
        "exact_first": 0,
        "rope": "post",
        "zero": "point bf16",
        "side": "values",
        "codes": "ui3",
        "window": {},
        "input": "bf16",
        "scale": "bf16",
        "ratio": 1,
        "batch": 1,
        "seed": 465796396,
    }
    run(json.dumps(case))
