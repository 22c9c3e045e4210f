"""Faults that other systems had on one of several paths: each on all of them, and with integer queries too.

`PATHS` are ways to store caches, `MODES` ways to call attention, `BLOCK_PATHS` and `GPU_MODES` those of GPUs, on the
emulator (attention_paths). The number of a section is that of the case.
"""

from __future__ import annotations

import functools
import itertools
import re

import attention_paths as paths
import kvq_mlir as kvq
import numpy as np
import pytest
from attention_paths import BATCH, BLOCK_PATHS, CHIPS, GPU_MODES, LENGTHS, MODES, PATHS, RATIO, TOKENS, Mode, Path
from conftest import fresh_rng
from known_faults import FULL, PICK, patterns
from kvq_mlir.devices import ORDERS


PICKS = len(MODES) if FULL else 3
GPU_PICKS = len(GPU_MODES) if FULL else 1


@functools.cache
def drawn_modes(name: str) -> list[list[Mode]]:
    """The modes of a path in an order of this run, of this processor and of GPUs: the same for all its tests, which share
    their kernels."""
    rng, path = fresh_rng(), (PATHS | BLOCK_PATHS)[name]
    orders = [[modes[key] for key in rng.permutation(list(modes)).tolist()] for modes in (MODES, GPU_MODES)]
    return [[mode for mode in order if mode.goes_with(path)] for order in orders]


@pytest.fixture
def mode(request: pytest.FixtureRequest) -> Mode:
    """Drawn when a test runs, not when tests are collected: several workers have to collect the same."""
    name, on_gpu, pick = request.param
    found = drawn_modes(name)[on_gpu]
    if pick >= len(found):
        pytest.skip("the path has no codes for a query of integers")
    print(found[pick])
    return found[pick]


# Each path in some modes; in all of them in the long run.
EVERY_PATH = pytest.mark.parametrize(
    "path, mode",
    [
        pytest.param(path, (name, on_gpu, pick), id=f"{name}-{'gpu-' * on_gpu}{pick}")
        for paths_, on_gpu, picks in ((PATHS, False, PICKS), (PATHS | BLOCK_PATHS, True, GPU_PICKS))
        for name, path in paths_.items()
        for pick in range(picks)
    ],
    indirect=["mode"],
)
EACH_STORAGE = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS.keys())


def some_modes(rng: np.random.Generator, count: int = 1, on_gpu: int = 0) -> list[Mode]:
    """Of this processor and of GPUs; all in the long run: each needs a kernel of its own here."""
    found = []
    for modes, wanted in ((list(MODES.values()), count), (list(GPU_MODES.values()), on_gpu)):
        chosen = range(len(modes)) if FULL and wanted else rng.choice(len(modes), wanted, replace=False)
        found += [modes[i] for i in chosen]
    return found


# --- 26, 27, 28: lengths, memory that nothing wrote, sequences without a token ------------------------------------------


@EVERY_PATH
def test_lengths_and_unwritten_memory(path, mode, rng):
    """flashinfer#3716, vllm#47305, openvino#28681, flashinfer#4051, #4975: lanes behind the last token count, memory that
    is NaN shows through a weight of 0, and a sequence without a token gives NaN or leaves its row as it was."""
    x, q = paths.draw(rng, path), paths.queries(rng, path, mode)
    poisoned, clean = (paths.fill(path, x, byte=byte) for byte in (0xFF, 0x00))
    out, lse = paths.attend(path, mode, q, poisoned)
    again, lse_again = paths.attend(path, mode, q, clean)
    assert np.array_equal(out, again) and np.array_equal(lse, lse_again)
    paths.check(out, paths.expect(path, q, poisoned), mode.tolerance)
    assert not out[0].any() and np.isneginf(lse[0]).all()
    # Queries before the first token see nothing.
    for b, length in enumerate(LENGTHS):
        unseen = max(0, mode.queries - length)
        assert not out[b, :, :unseen].any() and np.isneginf(lse[b, :, :unseen]).all()
        assert np.isfinite(lse[b, :, unseen:]).all()
    # The mean of the values, whatever the keys.
    out, lse = paths.attend(path, mode, 0 * q, poisoned)
    paths.check(out, paths.expect(path, 0 * q, poisoned), mode.tolerance if mode.chip else min(mode.tolerance, 3e-4))
    seen = np.maximum(0, LENGTHS[:, None] - mode.queries + 1 + np.arange(mode.queries))
    with np.errstate(divide="ignore"):
        assert np.allclose(lse, np.log(seen)[:, None], rtol=1e-5)


@pytest.mark.parametrize("name", PATHS | BLOCK_PATHS)
def test_stored_bytes_and_unwritten_memory(name, rng):
    """vllm#47305, openvino#28681: kernels of GPUs store what those of this processor do, and leave all other bytes as they
    are, whatever they are."""
    path = (PATHS | BLOCK_PATHS)[name]
    x, byte = paths.draw(rng, path, batch=4), int(rng.choice([0xFF, 0x00, 0x7F]))
    lengths = rng.permutation(LENGTHS)[:4]
    device = kvq.Emulator(str(rng.choice(CHIPS)), str(rng.choice(ORDERS)), int(rng.integers(1 << 32)))
    print(byte, lengths, device)
    for cpu, gpu in zip(*(paths.fill(path, x, lengths, byte, device=d) for d in (None, device)), strict=True):
        assert gpu.lengths.tolist() == cpu.lengths.tolist() and gpu.flushed.tolist() == cpu.flushed.tolist()
        for part, array in cpu.storage().items():
            assert gpu.storage()[part].tobytes() == array.tobytes(), part


# --- 13: scales that are ignored --------------------------------------------------------------------------------------


@EVERY_PATH
def test_scales_act_once(path, mode, rng):
    """flashinfer#1023, #4979: twice the values are twice the output, half the keys are undone by twice the query, all to
    the bit, but where tensor cores multiply probabilities times scales that are rounded."""
    x, q = paths.draw(rng, path), paths.queries(rng, path, mode)
    out, lse = paths.attend(path, mode, q, paths.fill(path, x))
    factors = [0.5, 0.5 if path.values is None else 2]  # one cache may be both
    scaled, lse_scaled = paths.attend(path, mode, 2 * q, paths.fill(path, x * np.float16(factors)[:, None, None, None, None]))
    if mode.chip:
        paths.check(scaled, factors[1] * out, 2 * mode.tolerance)  # either may be that far off
        seen = np.isfinite(lse)
        assert np.array_equal(np.isfinite(lse_scaled), seen)
        assert np.all(np.abs(lse_scaled[seen] - lse[seen]) <= 2e-3 * (1 + np.abs(lse[seen])))
    else:
        assert np.array_equal(scaled, factors[1] * out) and np.array_equal(lse_scaled, lse)
    assert np.abs(out[1:]).min(axis=-1).max() > 0


# --- 18, 36, 37: what becomes of one sequence is its own affair --------------------------------------------------------


@EVERY_PATH
def test_sequences_do_not_meet(path, mode, rng):
    """sglang#22777: what others hold, and the order in which tokens came, changes no bit."""
    x, q = paths.draw(rng, path), paths.queries(rng, path, mode)
    out, lse = paths.attend(path, mode, q, paths.fill(path, x))
    b = int(rng.integers(1, BATCH))
    others, lengths, fewer = x.copy(), LENGTHS.copy(), rng.permutation(LENGTHS)
    others[:, np.arange(BATCH) != b] *= np.float16(1000)
    fewer[b] = lengths[b]
    other_q = 3 * q
    other_q[b] = q[b]
    found, found_lse = paths.attend(path, mode, other_q, paths.fill(path, others, fewer))
    assert np.array_equal(found[b], out[b]) and np.array_equal(found_lse[b], lse[b])
    # One token after the other, in the end.
    caches = path.make(BATCH, TOKENS + 40, 0xFF)
    done = np.maximum(0, LENGTHS - 5)
    paths.extend(caches, x, 0 * LENGTHS, done)
    while (done < LENGTHS).any():
        more = np.minimum(done + 1, LENGTHS)
        paths.extend(caches, x, done, more)
        done = more
    found, found_lse = paths.attend(path, mode, q, caches)
    assert np.array_equal(found, out) and np.array_equal(found_lse, lse)


@EVERY_PATH
def test_sequences_that_move(path, mode, rng):
    """imp#1189, openvino#37381, omlx#2172: saved prefixes lose their scales, a growing batch corrupts the first
    sequence, and the one that remains of several is written at another's position."""
    x, q = paths.draw(rng, path), paths.queries(rng, path, mode)
    caches = paths.fill(path, x)
    order = rng.permutation(BATCH)
    source, target = (int(i) for i in rng.choice(BATCH, 2, replace=False))
    for cache in caches:
        cache.reorder(order.tolist())
        cache.fork(source, [target])
    order[target] = order[source]
    grown = LENGTHS[order] + 3
    moved = x[:, order]
    # Beyond what it held each sequence has tokens of its own.
    moved = np.concatenate([moved, paths.draw(rng, path, tokens=3)], axis=3)
    for b, length in enumerate(LENGTHS[order]):
        moved[:, b, :, length : length + 3] = moved[:, b, :, TOKENS:]
    paths.extend(caches, moved, LENGTHS[order], grown)
    out, lse = paths.attend(path, mode, q, caches)
    expected, expected_lse = paths.attend(path, mode, q, paths.fill(path, moved, grown))
    assert np.array_equal(out, expected) and np.array_equal(lse, expected_lse)


# --- 30: rows without a visible token ---------------------------------------------------------------------------------


@EACH_STORAGE
def test_hidden_tokens(path, rng):
    """iree#24175: a row whose tokens are all hidden gives 0, and no NaN of a token that is hidden shows; one that is seen
    does."""
    x = paths.draw(rng, path)
    for mode in some_modes(rng, on_gpu=1):
        print(mode)
        q = paths.queries(rng, path, mode)
        caches = paths.fill(path, x)
        mask = np.where(rng.random((BATCH, 1, mode.queries, TOKENS)) < 0.3, -np.inf, 0).astype(np.float32)
        mask[5], mask[3, 0, 0] = -np.inf, -np.inf
        out, lse = paths.attend(path, mode, q, caches, mask=mask)
        paths.check(out, paths.expect(path, q, caches, mask=mask), mode.tolerance)
        for row in ((5, slice(None), slice(None)), (3, slice(None), 0)):
            assert not out[row].any() and np.isneginf(lse[row]).all()
        # The tokens of a whole group, or of a block, and those before: none of it is seen.
        bad = x.copy()
        bad[:, 6, 1, 70] = np.nan
        first, last = 64, 96 if "windows" not in repr(path.windows) else 99
        if path.windows.get("exact_first"):
            first, last = 67, 99
        mask[6, ..., first:last] = -np.inf
        caches = paths.fill(path, bad)
        found, found_lse = paths.attend(path, mode, q, caches, mask=mask)
        expected, expected_lse = paths.attend(path, mode, q, paths.fill(path, x), mask=mask)
        assert np.array_equal(found, expected) and np.array_equal(found_lse, expected_lse)
        mask[6, ..., 70] = 0
        found, _ = paths.attend(path, mode, q, caches, mask=mask)
        assert np.isnan(found[6, RATIO:]).any(axis=-1).all() and np.isfinite(found[6, :RATIO]).all()


# --- 19, 22: shapes that no kernel was written for ---------------------------------------------------------------------

DIMS = (64, 72, 80, 96, 100, 112, 128, 192, 256, 576)
MOST_BYTES = 256 * 1024  # of kvq-verify-fused
RATIOS = ((28, 4), (24, 4), (40, 8), (48, 2), (5, 1), (22, 2), (9, 9))


def compile_or_refuse(path: Path, mode: Mode, dim: int, q_heads: int, kv_heads: int, rng: np.random.Generator) -> None:
    """Right, or an error before anything runs."""
    shaped = Path(path.keys, path.values, dim, path.windows, path.value_channels)
    lengths = np.array([70, 33])
    try:
        shaped.make(2, 80, 0xFF, kv_heads)
    except kvq.Error as error:
        assert str(dim) in str(error)
        return
    x = paths.draw(rng, shaped, 2, kv_heads, 70)
    caches = paths.fill(shaped, x, lengths, capacity=80)
    q = paths.queries(rng, shaped, mode, 2, q_heads)
    # What a work item merges has to be small, which many splits of many heads of long rows are not.
    if mode.options.get("splits", 1) * q_heads // kv_heads * dim * 4 > MOST_BYTES:
        with pytest.raises(kvq.Error, match=f"expected at most {MOST_BYTES}, or a workspace"):
            paths.attend(shaped, mode, q, caches)
        return
    try:
        out, _ = paths.attend(shaped, mode, q, caches)
    except kvq.Error as error:
        # What a GPU's threads share: rows of queries and of outputs, and a group of 32 tokens of both sides, in f32.
        limit = re.search(r"expected at most (\d+) bytes of scratch in a kernel", str(error))
        assert mode.chip and limit and 4 * dim * 2 * (q_heads // kv_heads + 32) > int(limit[1]), error
        return
    paths.check(out, paths.expect(shaped, q, caches), mode.tolerance)
    # Each head's own token, to the bit what is stored there.
    target = rng.integers(0, 20, (2, q_heads, mode.queries))
    rows = patterns(70, dim)
    x[0] = rows
    caches = paths.fill(shaped, x, lengths, capacity=80)
    out, _ = paths.attend(shaped, mode, PICK * rows[target], caches, causal=False)
    stored = paths.held(caches)[1]
    for b, h, i in np.ndindex(target.shape):
        expected = stored[b][h * kv_heads // q_heads, target[b, h, i]]
        bound = 2e-3 if mode.chip else 1e-4
        assert np.abs(out[b, h, i] - expected).max() <= bound * np.abs(expected).max(), (b, h, i)


SHAPED = {name: path for name, path in PATHS.items() if not path.value_channels}


def shapes(
    rng: np.random.Generator, paths_: dict[str, Path], modes: dict[str, Mode], count: int
) -> list[tuple[Path, Mode, int, tuple[int, int]]]:
    every = [each for each in itertools.product(paths_.values(), modes.values(), DIMS, RATIOS) if each[1].goes_with(each[0])]
    order = rng.permutation(len(every))
    return [every[i] for i in (order[:800] if FULL else order[:count])]


@pytest.mark.parametrize("paths_, modes, count", [(SHAPED, MODES, 8), (SHAPED, GPU_MODES, 2), (BLOCK_PATHS, GPU_MODES, 5)])
def test_any_head_dim_and_ratio(paths_, modes, count, rng):
    """flashinfer#4299: head dims of 80, 96 and 112 are illegal, and 72 is silently wrong. flashinfer#996, #2986,
    vllm#40792: ratios 5, 6 and 7 are missing, and heads bleed into each other at 24."""
    for path, mode, dim, (q_heads, kv_heads) in shapes(rng, paths_, modes, count):
        print(path, mode, dim, q_heads, kv_heads)
        compile_or_refuse(path, mode, dim, q_heads, kv_heads, rng)


# --- 23: heads that do not divide -------------------------------------------------------------------------------------


@EACH_STORAGE
def test_heads_that_do_not_divide(path, rng):
    """fla#1029: with 33 query heads and 2 KV heads, one head of the output is never written."""
    caches = paths.fill(path, paths.draw(rng, path, 1, 2, 8), np.array([8]), capacity=12)
    for q_heads, mode in itertools.product((33, 3, 1), MODES.values()):
        q = paths.queries(rng, path, mode, 1, q_heads)
        with pytest.raises(kvq.Error, match=f"{q_heads} query heads are not a multiple of 2 KV heads"):
            paths.attend(path, mode, q, caches)


# --- 24: offsets beyond 2^31 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["", "row = [codes, scale]", "record = [scale, codes]"])
@pytest.mark.parametrize("last", [7768, 15534])
def test_pages_far_behind(layout, last, rng):
    """vllm#47671, #50427: page times stride wraps at 2^31. A page of 480 tokens of 576 channels, in a pool that is hardly
    touched."""
    text = (
        paths.with_layout("codes = i8, group = [1, 64], scale = f16", layout)
        if layout
        else "codes = i8, group = [1, 64], scale = f16"
    )
    table = np.array([[last, 3]])
    far = kvq.Cache(1, 1, 960, 576, kvq.Format(text), page=480, pages=last + 1, page_table=table)
    near = kvq.Cache(1, 1, 960, 576, kvq.Format(text), page=480)
    x = rng.standard_normal((1, 1, 500, 576)).astype(np.float16)
    for cache in (far, near):
        cache.append(x)
    for mode in some_modes(rng, 2, on_gpu=1):
        q = rng.standard_normal((1, 4, mode.queries, 576)).astype(np.float32)
        found, expected = (kvq.attention(q, c, c, device=mode.device(q), **mode.options) for c in (far, near))
        assert np.array_equal(found, expected)


# --- 41: a ring and its first tokens ----------------------------------------------------------------------------------

RINGS = ["planar", "bytes", "records", "rows", "blocks", "segments", "latent", "tables and codes"]


@pytest.mark.parametrize("name", RINGS)
def test_window_of_eight_with_two_sinks(name, rng):
    """mlx-lm#1573, #1584, transformers#37574: token t has the value t. Uniform attention over the first two and the newest
    six of 25 gives 17.25."""
    path = PATHS[name]
    ring = Path(path.keys, path.values, path.dim, dict(ring=8, keep_first=2), path.value_channels)
    tokens = np.broadcast_to(np.arange(1, 26, dtype=np.float16)[:, None], (2, 1, 1, 25, path.dim))
    for mode in some_modes(rng, 2):
        mode = Mode(1, mode.options)  # the ring holds no more
        caches = ring.make(1, 100, 0xFF, 1)
        for length in range(1, 26):
            paths.extend(caches, tokens, np.array([length - 1]), np.array([length]))
            kept = [t for t in range(1, length + 1) if t <= 2 or t > length - 6]
            q = np.zeros((1, 2, 1, path.dim), np.float32)
            out, lse = paths.attend(ring, mode, q, caches)
            # Groups of several tokens, and tables, do not hold every number.
            exact = name not in ("planar", "blocks", "tables and codes")
            assert np.abs(out - np.mean(kept)).max() <= (1e-3 if exact else 0.06) * np.mean(kept), length
            assert np.allclose(lse, np.log(len(kept)), rtol=1e-5)
        assert np.mean(kept) == 17.25


# --- 46: pairs of formats ---------------------------------------------------------------------------------------------

def pairs(rng: np.random.Generator, paths_: dict[str, Path], count: int) -> list[Path]:
    stored = [path for path in paths_.values() if path.values and not path.windows]
    every = [Path(k.keys, v.values, max(k.dim, v.dim)) for k, v in itertools.product(stored, stored)]
    return every if FULL else [every[i] for i in rng.choice(len(every), count, replace=False)]


@pytest.mark.parametrize("paths_, count, on_gpu", [(PATHS, 6, 0), (PATHS, 2, 1), (BLOCK_PATHS, 6, 1)])
def test_pairs_of_paths(paths_, count, on_gpu, rng):
    """llama.cpp#28456, #27150: unusual pairs of keys and values fall to a slow path. Every kernel is fused (the pipeline
    ends with kvq-verify-fused), whatever lies beside what."""
    for path in pairs(rng, paths_, count):
        for mode in some_modes(rng, 1 - on_gpu, on_gpu):
            if not mode.goes_with(path):
                mode = (GPU_MODES if on_gpu else MODES)["splits, sm_89" if on_gpu else "splits"]
            print(path, mode)
            x = paths.draw(rng, path, 2, 2, 70)
            caches = paths.fill(path, x, np.array([70, 41]), capacity=80)
            q = paths.queries(rng, path, mode, 2, 6)
            out, _ = paths.attend(path, mode, q, caches)
            paths.check(out, paths.expect(path, q, caches), mode.tolerance)
