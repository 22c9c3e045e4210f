"""Attention on tensor cores whose codes come by bulk copies: on the emulator, against what lanes copy and the oracle."""

import numpy as np
import pytest
from test_attention_variants import random_variant
from test_differential import fill
from test_emulated import check
from test_tensor_cores import FORMATS, KEY_FORMATS, Side, draw_pair

import kvq_mlir as kvq
from kvq_mlir import _kvq
from kvq_mlir.devices import COPIES, ORDERS
from kvq_mlir.ir import attention as attention_ir

CHIPS = ("sm_90a", "sm_100a", "sm_120a")
KINDS = ("exact", "i8", "i8 biased", "f8E4M3FN", "i4", "i2")
PLACES = {"rows": {}, "heads": {"token_major": True}} | {f"pages of {n}": {"page": n} for n in (16, 32, 64)}
# Steps that are known to be whole have their next one there, too: a warp's second from about 640 tokens of 128 channels on.
LENGTHS = (1, 64, 320, 640, 641, 900, 1153, 1665)


def draw_devices(rng):
    """For each kind of copies one for each order of threads, of the same chip, whose memory steps fit."""
    chip, seed = str(rng.choice(CHIPS)), int(rng.integers(1 << 32))
    return {copies: [kvq.Emulator(chip, order, seed, copies=copies) for order in ORDERS] for copies in COPIES}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", KINDS)
def test_copies_change_nothing(kind, place, rng):
    """The same steps and sums: the same bits, in each order of threads."""
    lengths, dim = [int(n) for n in rng.choice(LENGTHS[2:], 2)], int(rng.choice([64, 128]))
    names = kind, str(rng.choice(KINDS))
    sides = [Side(FORMATS[name], 2, 2, max(lengths) + 40, dim, **PLACES[place]) for name in names]
    fill(rng, sides, np.array(lengths), 2, dim)
    k, v = (side.compiled for side in sides)
    q = rng.standard_normal((2, 2 * int(rng.choice([1, 4, 8])), 1, dim)).astype(np.float32)
    print(f"K {k.type}; V {v.type}; {lengths=}")
    devices = draw_devices(rng)
    check(q, *sides, devices["bulk"][0], {})
    outs = [kvq.attention(q, k, v, device=device) for copies in COPIES for device in devices[copies]]
    assert np.isfinite(outs[0]).all() and all(np.array_equal(outs[0], out) for out in outs[1:])


@pytest.mark.parametrize("case", range(10))
def test_variants_are_within_bounds_of_the_oracle(case, rng):
    """Windows, splits, groups of scales, rows that see different tokens, several tiles and rounds of rows."""
    names = str(rng.choice(list(KEY_FORMATS))), str(rng.choice(list(FORMATS)))
    ratio, q_len = [(1, 1), (4, 3), (8, 1), (12, 2), (20, 1)][case % 5]
    lengths = [int(rng.choice([n for n in LENGTHS if n >= q_len])) for _ in range(2)]
    k, v = draw_pair(rng, names, lengths, 1, 128)
    drawn = [name for name in ("window", "slopes", "softcap") if rng.random() < 0.4]
    variant = random_variant(rng, 2, ratio, q_len, lengths, ["causal", *drawn])
    q = rng.standard_normal((2, ratio, q_len, 128)).astype(np.float32)
    device = draw_devices(rng)["bulk"][rng.integers(len(ORDERS))]
    print(f"K {k.compiled.type}; V {v.compiled.type}; {ratio=}, {q_len=}, {lengths=}, {variant}, {device}")
    check(q, k, v, device, variant, splits=int(rng.choice([1, 2])))


def decode_step(dim=128, **parameters):
    """The text of a decode step."""
    cache = kvq.Cache(1, 2, 256, dim, kvq.Format(FORMATS["i8 biased"]), "f16", **parameters)
    variant = attention_ir.Variant(scale=0.1, causal=True)
    paged = ("page" in parameters,) * 2
    return attention_ir.attention((1, 16, dim), "f32", dim, cache.type, cache.type, (False, False), variant, paged)


@pytest.mark.parametrize("place", PLACES)
def test_rows_that_lie_together_are_copied_in_bulk(place):
    text = decode_step(**PLACES[place])
    ptx, _ = _kvq.gpu_code(text, chip="sm_90a", options="copies=bulk")
    other, _ = _kvq.gpu_code(text, chip="sm_90a", options="copies=async")
    assert ("cp.async.bulk" in ptx) == (place != "heads") and "cp.async.bulk" not in other
    if place != "heads":
        # Runs of each lane row, of keys and of values; lanes copy in rolled loops alone.
        # One loop more is that over the fragments of a partial step.
        assert ptx.count("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes") == 8 + 8
        assert ptx.count("cp.async.cg") == ptx.count('.pragma "nounroll"') - 1


@pytest.mark.parametrize("chip", ["sm_80", "sm_89"])
def test_a_chip_without_bulk_copies_is_an_error(chip, rng):
    message = f"expected a chip with bulk copies \\(sm_90a, sm_100a, sm_120a\\), found {chip}"
    with pytest.raises(kvq.Error, match=message):
        _kvq.gpu_code(decode_step(), chip=chip, options="copies=bulk")
    k = Side(FORMATS["i8"], 1, 1, 64, 64)
    k.append(rng.standard_normal((1, 1, 9, 64)).astype(np.float16), [9])
    q = rng.standard_normal((1, 1, 1, 64)).astype(np.float32)
    with pytest.raises(kvq.Error, match=message):
        kvq.attention(q, k.compiled, k.compiled, device=kvq.Emulator(chip, copies="bulk"))


def test_unknown_copies_are_an_error():
    for device in (kvq.Emulator, kvq.Cuda):
        with pytest.raises(kvq.Error, match="expected copies 'async', 'bulk', got 'tma'"):
            device(copies="tma")
