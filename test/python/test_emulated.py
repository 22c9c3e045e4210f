"""Caches and attention compiled for GPUs, on the emulator, against the oracle: formats, caches and variants drawn afresh.

Attention reads caches that were filled on the processor; what caches store on the emulator is compared with those.
"""

import threading

import numpy as np
import pytest
from test_attention_variants import NAMES, PER_CHANNEL, PER_TOKEN, compare, filled, random_variant
from test_differential import DTYPES, FLOATS, fill, random_format, random_sides

import kvq_mlir as kvq
from kvq_mlir.devices import ORDERS
from kvq_mlir.metrics import relative_l2

TOLERANCE = 2e-3  # relative L2 against float64 on the same codes
CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
LENGTHS = (1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257)


def draw_device(rng):
    return kvq.Emulator(
        str(rng.choice(CHIPS)), str(rng.choice(ORDERS)), seed=int(rng.integers(1 << 32)), workers=int(rng.integers(0, 3))
    )


def check(q, k, v, device, arguments, splits=None, **options):
    """Compiled against the oracle, output and lse."""
    return compare(q, k, v, arguments, TOLERANCE, 2e-3, device=device, splits=splits, **options)


@pytest.mark.parametrize("case", range(6))
def test_attention_is_within_bounds_of_the_oracle(case, rng):
    dim, ratio = int(rng.choice([64, 80, 128])), int(rng.choice([1, 3, 4, 8]))
    batch, heads = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    lengths = np.array([int(rng.choice([*LENGTHS, rng.integers(1, 200)])) for _ in range(batch)])
    texts = [random_format(rng, dim) for _ in range(2)]
    k, v = random_sides(rng, texts, batch, heads, int(lengths.max()) + int(rng.integers(0, 9)), dim)
    fill(rng, [k, v], lengths, heads, dim)
    q_len = int(rng.integers(1, min(2, lengths.min()) + 1))
    # Each name in a third of the cases, all of them in one.
    names = NAMES if case == 0 else [name for name in NAMES if rng.random() < 0.3]
    arguments = random_variant(rng, batch, heads * ratio, q_len, lengths, names)
    q = rng.standard_normal((batch, heads * ratio, q_len, dim)).astype(DTYPES[str(rng.choice(FLOATS))])
    device, splits = draw_device(rng), int(rng.choice([1, 1, 3]))
    print(f"K {k.compiled.type}; V {v.compiled.type}; ratio {ratio}, lengths {lengths}, splits {splits}, {arguments}")
    print(device)
    check(q, k, v, device, arguments, splits)


def caches(rng, tokens, heads=2, dim=64, **parameters):
    """A pair of caches of one sequence, on the processor."""
    sides = []
    for _ in range(2):
        sides.append(kvq.Cache(1, heads, tokens + 3, dim, kvq.Format(PER_TOKEN), fill=0xFF, **parameters))
        sides[-1].append(rng.standard_normal((1, heads, tokens, dim), np.float32))
    return sides


class Pair:
    """A cache on the processor, its oracle and its copy on the emulator, fed the same tokens."""

    def __init__(self, side, device):
        self.compiled, self.emulated, self.side = side.compiled, side.compiled.to(device), side

    def append(self, x, counts):
        self.side.append(x, counts)
        self.emulated.append(x, counts)

    def check(self):
        """The same bytes, those that nobody has written among them."""
        assert self.emulated.lengths.tolist() == self.compiled.lengths.tolist()
        assert self.emulated.flushed.tolist() == self.compiled.flushed.tolist()
        for name, array in self.compiled.storage().items():
            assert array.tobytes() == self.emulated.storage()[name].tobytes(), name


@pytest.mark.parametrize("case", range(6))
def test_caches_live_the_same_life(case, rng):
    dim, batch, heads = int(rng.choice([64, 80])), 3, int(rng.integers(1, 3))
    lengths = rng.integers(1, 80, batch)
    (side, _) = random_sides(rng, [random_format(rng, dim)] * 2, batch, heads, 90, dim)
    device = draw_device(rng)
    pair = Pair(side, device)
    print(pair.compiled.type, device)
    fill(rng, [pair], lengths, heads, dim)
    pair.side.check_codes()
    pair.check()
    for cache in (pair.compiled, pair.emulated):
        cache.reorder([2, 0, 2])
        cache.truncate(cache.lengths - np.minimum(1, cache.lengths - cache.flushed - cache.exact_first).clip(0))
        cache.fork(0, [1])
    pair.check()


def test_orders_and_workers_change_nothing(rng):
    k, v = filled(rng, (PER_CHANNEL, PER_TOKEN), 150, batch=2, dim=64, exact_first=3)
    q = rng.standard_normal((2, 8, 1, 64)).astype(np.float16)
    outs = [
        check(q, k, v, kvq.Emulator(order=order, seed=seed, workers=workers), {}, splits=2)
        for order, seed, workers in (("forward", 0, 0), ("reverse", 0, 1), ("random", 1, 2), ("random", 2, 0))
    ]
    assert all(np.array_equal(outs[0], out) for out in outs[1:])


@pytest.mark.parametrize(
    "parameters, options",
    [
        (dict(page=16), {}),
        (dict(ring=48, keep_first=4), {}),
        (dict(token_major=True), dict(window=20, window_first=3)),
    ],
)
def test_kinds_of_caches(parameters, options, rng):
    k, v = caches(rng, 70, **parameters)
    q = rng.standard_normal((1, 4, 2, 64)).astype(np.float32)
    device = draw_device(rng)
    expected = kvq.attention(q, k, v, splits=1, **options)
    found = kvq.attention(q, k, v, splits=2, device=device, **options)
    assert relative_l2(found, expected) <= TOLERANCE


@pytest.mark.parametrize("kind", ["i8", "i16"])
@pytest.mark.parametrize(
    "group, layout",
    [("1, 16", ""), ("1, *", ""), ("8, 16", ""), ("1, 16", "channel"), ("1, 32", "token")],
    ids=["rows by groups", "rows", "shared by tokens", "channel pairs", "token pairs"],
)
def test_integer_queries_of_tiles_that_are_not_full(kind, group, layout, rng):
    """The first tile of a split may be its only one, and not full: nothing reads what is not there of it."""
    tokens = int(rng.choice([1, 5, 15, 63, 65, 70, 130]))
    parameters = {} if layout else dict(recent=int(rng.choice([0, 10])), exact_first=int(rng.choice([0, 3])))
    sides = []
    for _ in range(2):
        codes = str(rng.choice(["i8, scale = f16", "i4, scale = f32", "ui4, scale = f16, zero = min f16"]))
        text = f"codes = {codes}, group = [{group}]"
        if layout:
            text += f", layout = #kvq.layout<codes = planar, tile = {layout}_pairs<64>>"
        sides.append(kvq.Cache(1, 2, tokens + 3, 64, kvq.Format(text), fill=0xFF, **parameters))
        sides[-1].append(rng.standard_normal((1, 2, tokens, 64), np.float32))
    k, v = sides
    q = rng.standard_normal((1, 2 * int(rng.choice([1, 2, 3, 4])), 1, 64)).astype(np.float32)
    device, splits = draw_device(rng), int(rng.choice([1, 2, 3, 7]))
    print(f"K {k.type}; V {v.type}; {tokens=}, {splits=}, {q.shape}, {device}")
    expected = kvq.attention(q, k, v, splits=1, query_codes=kind)
    found = kvq.attention(q, k, v, splits=splits, query_codes=kind, device=device)
    assert relative_l2(found, expected) <= TOLERANCE


def test_keys_before_rope_and_rows_of_segments(rng):
    keys = kvq.Cache(1, 1, 64, 64, kvq.Format("codes = i8, group = [1, 32], scale = f16, rope = pre"), fill=0xFF)
    values = kvq.Cache(1, 1, 64, 64, kvq.Format(PER_TOKEN), fill=0xFF)
    for cache in (keys, values):
        cache.append(rng.standard_normal((1, 1, 60, 64), np.float32))
    q = rng.standard_normal((1, 3, 1, 64)).astype(np.float32)
    options = dict(rope=kvq.rope_tables(64, 64))
    found = kvq.attention(q, keys, values, device=draw_device(rng), **options)
    assert relative_l2(found, kvq.attention(q, keys, values, **options)) <= TOLERANCE

    latent = kvq.Segments(f"[0:64] = #kvq.format<{PER_TOKEN}>, [64:96] = none")
    rows = kvq.Cache(1, 1, 64, 96, latent, fill=0xFF)
    rows.append(rng.standard_normal((1, 1, 60, 96), np.float32))
    q = rng.standard_normal((1, 4, 1, 96)).astype(np.float32)
    options = dict(value_channels=(0, 64))
    found = kvq.attention(q, rows, None, device="emulator", **options)
    assert relative_l2(found, kvq.attention(q, rows, None, **options)) <= TOLERANCE


def test_caches_know_their_device(rng):
    k, v = (cache.to("emulator") for cache in caches(rng, 40, page=8))
    q = rng.standard_normal((1, 4, 1, 64)).astype(np.float32)
    found, expected = kvq.attention(q, k, v), kvq.attention(q, k, v, device="cpu")
    assert not np.array_equal(found, expected), "sums are in another order"
    assert relative_l2(found, expected) <= TOLERANCE


def test_what_kernels_do_wrong_is_said(rng):
    """A page that the pool does not have: its bytes are not to be read."""
    k, v = caches(rng, 40, page=8)
    q = rng.standard_normal((1, 4, 1, 64)).astype(np.float32)
    k._pages.table[0, 2] = 1 << 20
    with pytest.raises(kvq.Error, match="attention_kernel.*out of bounds"):
        kvq.attention(q, k, v, device="emulator")


def test_threads(rng):
    """Calls at once, on the same memory."""
    k, v = caches(rng, 70)
    q = rng.standard_normal((1, 4, 1, 64)).astype(np.float32)
    expected = kvq.attention(q, k, v, device="emulator")
    outs = []
    threads = [
        threading.Thread(target=lambda: outs.extend(kvq.attention(q, k, v, device="emulator") for _ in range(5)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outs) == 10 and all(np.array_equal(expected, out) for out in outs)


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(order="backward"), "expected order 'forward', 'reverse', 'random', got 'backward'"),
        (dict(seed=-1), "expected seed and workers of at least 0, got -1 and 0"),
        (dict(chip="sm_70"), "expected one of sm_80, .* as chip, found 'sm_70'"),
    ],
)
def test_bad_options(options, message, rng):
    k, v = caches(rng, 9)
    with pytest.raises(kvq.Error, match=message):
        kvq.attention(np.zeros((1, 2, 1, 64), np.float32), k, v, device=kvq.Emulator(**options))
