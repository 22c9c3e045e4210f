"""Rings of codes and of exact tokens on tensor cores, on the emulator, against the oracle, which forgets nothing."""

import numpy as np
import pytest
from test_attention_variants import random_variant
from test_differential import fill
from test_emulated import check, draw_device
from test_tensor_cores import FORMATS, KEY_FORMATS, Side, format_of, maps

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.devices import COPIES
from kvq_mlir.ir import attention as attention_ir

CAPACITY = 1 << 13
OTHERS = ("causal", "mask", "slopes", "softcap", "sinks", "window")


def draw_ring(rng, names):
    """A ring whose rows that go round are a multiple of 16, and windows of each side, such that it maps."""
    group = reference.Format.parse(format_of(names[0])).tokens
    first = 0 if names[1] == "exact" else int(rng.choice([0, 3]))
    keep_first, newest = first + int(rng.integers(0, 70)), 16 * int(rng.integers(1, 30))
    if group > 1:  # steps begin where groups do, so what stays is whole ones, and the other side's begin at the same token
        step = max(group, 64)
        keep_first, newest = first + step * int(rng.integers(0, 2)), step * int(rng.choice([1, 2, 5]))
    windows = []
    for name in names:
        parameters = {"dtype": str(rng.choice(["f16", "bf16"]))}
        if name != "exact":
            parameters |= {"recent": int(rng.integers(0, min(40, newest - group + 2)))}
            parameters |= {"exact_first": first} if group > 1 or rng.random() < 0.5 else {}
        windows.append(parameters)
    return dict(ring=keep_first + newest, keep_first=keep_first), windows


def map_all(k, v):
    variant = attention_ir.Variant(scale=0.1, causal=True)
    windows = k.has_window, v.has_window
    text = attention_ir.attention((2, 8, 128), "f32", 128, k.type, v.type, windows, variant, (k.page is not None, v.page is not None))
    return maps(text, "sm_89")


def check_ring(rng, names, ring, windows, copies="async"):
    """A sequence that has gone round several times, and another one, often one that has not yet."""
    newest, q_len, ratio = ring["ring"] - ring["keep_first"], int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 4, 12]))
    q_len = min(q_len, newest)
    lengths = [int(rng.integers(ring["ring"], 4 * ring["ring"])), int(rng.integers(q_len, 2 * ring["ring"]))]
    k, v = (Side(format_of(name), 2, 2, CAPACITY, 128, **of, **ring) for name, of in zip(names, windows, strict=True))
    fill(rng, [k, v], np.array(lengths), 2, 128)
    variant = random_variant(rng, 2, 2 * ratio, q_len, lengths, [name for name in OTHERS if rng.random() < 0.2])
    q = rng.standard_normal((2, 2 * ratio, q_len, 128)).astype(np.float32)
    device = draw_device(rng)
    if copies == "bulk":
        device = kvq.Emulator("sm_90a", device.order, device.seed, device.workers, copies="bulk")
    print(f"K {k.compiled.type}; V {v.compiled.type}; {q.shape}, {lengths=}, {variant.keys()}, {device}")
    assert map_all(k.compiled, v.compiled)
    check(q, k, v, device, variant, splits=int(rng.choice([1, 1, 3])), query_tile=int(rng.choice([1, 2, 4])))


@pytest.mark.parametrize("names", [*((name, None) for name in KEY_FORMATS), *((None, name) for name in FORMATS)])
def test_rings_are_within_bounds_of_the_oracle(names, rng):
    names = [name or str(rng.choice(list(of))) for name, of in zip(names, (KEY_FORMATS, FORMATS), strict=True)]
    check_ring(rng, names, *draw_ring(rng, names))


@pytest.mark.parametrize("copies", COPIES)
@pytest.mark.parametrize("page", [16, 64])
def test_pages_of_rings(page, copies, rng):
    """A step lies in one, wherever the ring ends: attention sees fewer tokens than pages have."""
    names = [str(name) for name in rng.choice(["i8", "i4 by 32", "ui4", "exact"], 2)]
    ring = dict(keep_first=int(rng.integers(0, 100)))
    ring["ring"] = ring["keep_first"] + int(rng.integers(8, 300))
    check_ring(rng, names, ring, [{"page": page, **({} if name == "exact" else {"recent": 7})} for name in names], copies)


@pytest.mark.parametrize("tokens", [80, 83, 90, 105, 130, 136])
def test_sequences_that_end_before_the_ring_begins(tokens, rng):
    """Steps are counted from where it begins, and whole ones may be before. Keys are exact yet: their steps are short."""
    names = ["i4 by 128 tokens, 16 channels", str(rng.choice(["i8", "i4 by 32", "ui4 by 32"]))]
    ring, windows = dict(ring=387, keep_first=131), [dict(exact_first=3, recent=6), dict(exact_first=3, recent=0)]
    k, v = (Side(format_of(name), 1, 2, CAPACITY, 128, **of, **ring) for name, of in zip(names, windows, strict=True))
    fill(rng, [k, v], np.array([tokens]), 2, 128)
    q = rng.standard_normal((1, 8, 1, 128)).astype(np.float32)
    check(q, k, v, draw_device(rng), {}, splits=1)


@pytest.mark.parametrize("copies", COPIES)
def test_steps_do_not_cross_the_end(copies, rng):
    """Whole steps of a long ring, of which none is copied row by row."""
    names = [str(name) for name in rng.choice(["i8", "i4", "ui2 by 32"], 2)]
    check_ring(rng, names, dict(ring=5 + 1024, keep_first=5), [{}, {}], copies)


@pytest.mark.parametrize(
    "texts, ring, expected",
    [
        ((FORMATS["i8"], FORMATS["i4"]), dict(ring=1024 + 5, keep_first=5), True),
        ((FORMATS["i8"], FORMATS["i4"]), dict(ring=1024 + 8, keep_first=0), False),  # 1032 rows
        ((FORMATS["i8"], FORMATS["i4"]), dict(ring=1024 + 8, keep_first=0, page=16), True),
        ((KEY_FORMATS["ui4 by channel"], FORMATS["i4"]), dict(ring=1024 + 64, keep_first=64), True),
        ((KEY_FORMATS["ui4 by channel"], FORMATS["i4"]), dict(ring=1024 + 5, keep_first=5), False),  # 32 rows stay, and 5
    ],
)
def test_rings_that_map(texts, ring, expected):
    assert map_all(*(kvq.Cache(2, 2, CAPACITY, 128, kvq.Format(text), **ring) for text in texts)) == expected
