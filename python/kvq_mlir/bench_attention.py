"""What `bench cpu` measures: cases of attention, ready to be called, and what each took beside the others."""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

import kvq_mlir as kvq

from . import ggml_engine, yardstick
from .attend import Prepared, prepare
from .bench_cases import NamedFormat, filled, named_format, positive, positives, used_bytes
from .bench_timing import MEMORY_BYTES, Spread, interleave, memory_read, spread
from .decode_step import Temporaries, measure
from .ir.decode_step import attend as attend_ir
from .placement import aligned
from .policy import Choice
from .text import InputError
from .torch_attention import torch_attention
from .unfused import unfused_attention

HEAD_DIM = yardstick.HEAD_DIM
READ = "read"
LARGEST_DIFFERENCE = 1e-3  # relative L2 to the yardstick on the same blocks, which rounds its query to 16 bits
LARGEST_UNFUSED_DIFFERENCE = 1e-4  # both float32
LARGEST_ENGINE_DIFFERENCE = 5e-2  # ggml rounds its query to blocks of 8 bits, and sums of values to 16


@dataclass(frozen=True)
class Shape:
    """What is attended to."""

    batch: int
    query_heads: int
    kv_heads: int
    queries: int

    @property
    def group(self) -> int:
        """Query heads that share a KV head."""
        return self.query_heads // self.kv_heads


@dataclass(frozen=True)
class Storage:
    """How cases store their caches.

    page: tokens of a page, of a table by chance; None without pages. grown: tokens that other caches have room for,
    which hold the same and are measured beside; None without. token_major: rows of a token's heads follow each other,
    those of yardsticks too, which take one head after the other.
    """

    page: int | None = None
    grown: int | None = None
    token_major: bool = False


@dataclass(frozen=True)
class Case:
    """Attention over caches of two formats, ready to be called with a number of threads."""

    name: str
    k_format: str
    v_format: str
    call: Callable[[int], object]
    cache_bytes: int  # of the tokens that are there
    compile_seconds: float  # the first call's, processor time
    temporaries: Temporaries
    yardstick_bits: int  # which yardstick it is compared with
    engine_bits: int  # and which types of an engine
    unfused: Callable[[], object] | None = None
    grown: Callable[[int], object] | None = None
    newest: Callable[[int], object] | None = None  # the newest of several queries alone
    torch: Callable[[int], object] | None = None


@dataclass(frozen=True)
class Result:
    """What a case took, in the units that the fields say. Spreads are over rounds."""

    name: str
    shape: Shape
    k_format: str
    v_format: str
    tokens: int
    threads: int
    seconds: Spread
    # Of a key, a KV head and a query token, whose query heads share the key; and of one of these heads.
    nanoseconds: float
    nanoseconds_of_a_head: float
    cache_bytes: int
    bytes_per_second: float
    read_bytes_per_second: float  # of a plain read from memory by as many threads, in the same rounds
    temporary_bytes: int
    compile_seconds: float
    yardstick: str | None
    yardstick_nanoseconds: float | None
    ratio: Spread | None  # to the yardstick
    unfused_ratio: Spread | None  # of dequantize-then-attend to this
    grown_ratio: Spread | None  # of caches with more room to this
    engine: str | None
    engine_nanoseconds: float | None
    engine_ratio: Spread | None  # to the engine
    newest_ratio: Spread | None  # of this to the newest query alone
    torch_ratio: Spread | None  # of PyTorch's attention over float32 to this


def add_shapes(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that shapes are given by."""
    parser.add_argument(
        "--batch",
        default="1",
        help="sequences, with commas; of several all but one are shorter by chance (default: 1)",
    )
    parser.add_argument("--heads", default="32/8", help="query heads / KV heads, with commas (default: 32/8)")
    parser.add_argument("--queries", default="1", help="query tokens of a sequence, causal, with commas (default: 1)")


def _parse_heads(text: str) -> tuple[int, int]:
    heads = [positive(part, "--heads", " of query heads / one of KV heads") for part in text.split("/")]
    if len(heads) != 2 or heads[0] % heads[1]:
        raise InputError(f"--heads: expected QUERY/KV with a multiple of the KV heads, found '{text}'")
    return heads[0], heads[1]


def parse_shapes(arguments: argparse.Namespace) -> list[Shape]:
    """Every combination of batch, heads and queries; `InputError` for others than numbers."""
    batches, queries = positives(arguments.batch, "--batch"), positives(arguments.queries, "--queries")
    heads = [_parse_heads(text.strip()) for text in arguments.heads.split(",")]
    return [Shape(batch, *pair, count) for batch, pair, count in itertools.product(batches, heads, queries)]


def ragged_lengths(rng: np.random.Generator, shape: Shape, tokens: int) -> np.ndarray:
    """Tokens of each sequence: those of the first, others a quarter of them at least."""
    lengths = np.full(shape.batch, tokens)
    lengths[1:] = rng.integers(-(-tokens // 4), tokens + 1, shape.batch - 1)
    return lengths


def parse_case(name: str) -> tuple[NamedFormat, NamedFormat, str | None]:
    """The formats of keys and values that "K / V", or one name for both, stands for, and the integers that the query is
    rounded to, "i16" or "i8" behind "@"; None without."""
    formats, _, query = name.partition("@")
    keys, _, values = formats.partition("/")
    k = named_format(keys.strip(), "--formats")
    v = named_format(values.strip(), "--formats") if values else k
    if query and query.strip() not in ("i16", "i8"):
        raise InputError(f"--formats: expected a query in i16 or i8, found '{query.strip()}'")
    return k, v, query.strip() or None


def _temporaries(shape: Shape, k: kvq.Cache, v: kvq.Cache) -> Temporaries:
    entries = [
        Choice(0, side, (0, shape.kv_heads), cache.format, recent=cache.recent).entry
        for side, cache in (("keys", k), ("values", v))
    ]
    storage = ("" if k.page is None else f", page = {k.page}") + ", token_major" * k.token_major
    ir_text = attend_ir((shape.batch, shape.kv_heads, HEAD_DIM), shape.query_heads, k.dtype, entries, storage, shape.queries)
    return measure(ir_text, 1, on_gpu=False)


def make_case(
    rng: np.random.Generator,
    name: str,
    shape: Shape,
    storage: Storage,
    lengths: np.ndarray,
    q: np.ndarray,
    unfused: bool = False,
    torch: bool = False,
) -> Case:
    """The case of this name; `RuntimeError` where what it gives is not what rebuilt caches give."""
    *formats, query_codes = parse_case(name)

    def fill(capacity: int) -> list[kvq.Cache]:
        sides = (shape.batch, shape.kv_heads, capacity, HEAD_DIM)
        return [
            filled(rng, fmt, sides, lengths, storage.page, side, storage.token_major)
            for fmt, side in zip(formats, ("keys", "values"), strict=True)
        ]

    out = np.empty(q.shape, np.float32)

    @cache  # what Python does before a kernel is not measured
    def prepared(threads: int, room: int, newest: bool = False) -> Prepared:
        rows, results = (q[:, :, -1:].copy(), None) if newest else (q, out)
        return prepare(rows, *caches(room), out=results, threads=threads, query_codes=query_codes)

    caches = cache(fill)
    longest = int(lengths.max())
    k, v = caches(longest)
    start = time.thread_time()
    prepared(1, longest)()
    first = time.thread_time() - start
    slow = (lambda: unfused_attention(q, k, v)) if unfused else None
    if slow and query_codes is None:
        _check(name, "dequantize-then-attend", out, slow(), LARGEST_UNFUSED_DIFFERENCE)
    dense = torch_attention(q, k, v) if torch else None
    if dense and query_codes is None:
        _check(name, "PyTorch", out, dense(1), LARGEST_UNFUSED_DIFFERENCE)
    bits = [side.format.bits or 16 for side in (k, v)]
    return Case(
        name,
        *(str(side.format) for side in (k, v)),
        lambda threads: prepared(threads, longest)(),
        used_bytes(k) + used_bytes(v),
        first,
        _temporaries(shape, k, v),
        4 if max(bits) <= 4 else 8,
        min(kind for kind in ggml_engine.TYPES if kind >= max(bits)),
        slow,
        None if storage.grown is None else lambda threads: prepared(threads, storage.grown)(),
        None if shape.queries == 1 else lambda threads: prepared(threads, longest, newest=True)(),
        dense,
    )


def _check(name: str, other: str, found: np.ndarray, expected: np.ndarray, bound: float) -> None:
    difference = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    if not difference <= bound:
        raise RuntimeError(f"{name}: differs from {other} by {difference:.1e}, at most {bound:.0e} expected")


def make_yardsticks(
    rng: np.random.Generator, shape: Shape, storage: Storage, lengths: np.ndarray, q: np.ndarray
) -> dict[int, Callable[[int], object]]:
    """By bits of a code, the kernel written by hand on blocks of such noise; it attends to one query token at a time.

    `RuntimeError` where compiled code gives something else for these blocks. Empty where there is none for the shape.
    """
    if yardstick.missing() or shape.group not in yardstick.QUERY_HEADS:
        return {}
    found = {}
    for bits, (preset, _) in yardstick.BLOCKS.items():
        sides = (shape.batch, shape.kv_heads, int(lengths.max()), HEAD_DIM)
        fmt, major = named_format(preset, "--formats"), storage.token_major
        k, v = (filled(rng, fmt, sides, lengths, token_major=major) for _ in range(2))
        rows = [cache.storage()["records"].view(np.uint8) for cache in (k, v)]
        if major:
            rows = [side.swapaxes(1, 2) for side in rows]
        calls = [
            yardstick.Yardstick(
                bits,
                np.ascontiguousarray(q[:, :, i]),
                *rows,
                lengths,
                1 / math.sqrt(HEAD_DIM),
                np.empty((shape.batch, shape.query_heads, HEAD_DIM), np.float32),
            )
            for i in range(shape.queries)
        ]
        compiled = kvq.attention(q, k, v, causal=False)
        _check(preset, "the yardstick", compiled[:, :, 0], calls[0](), LARGEST_DIFFERENCE)
        found[bits] = lambda threads, calls=calls: [call(threads) for call in calls]
    return found


def make_engines(
    rng: np.random.Generator, shape: Shape, lengths: np.ndarray, q: np.ndarray
) -> dict[int, Callable[[int], object]]:
    """By bits of an element, ggml's attention over such noise, one sequence after the other.

    `RuntimeError` where compiled code gives something else for these blocks.
    """
    found = {}
    for bits, (_, name) in ggml_engine.TYPES.items():
        calls = []
        for length, query in zip(lengths.tolist(), q[:, :, 0], strict=True):
            sides = (1, shape.kv_heads, length, HEAD_DIM)
            k, v = (filled(rng, named_format(name, "--formats"), sides, np.array([length])) for _ in range(2))
            rows = (next(iter(cache.storage().values()))[0] for cache in (k, v))
            out = aligned(query.shape, np.dtype(np.float32), 64)
            own = aligned(query.shape, np.dtype(np.float32), 64)
            own[:] = query
            calls.append(ggml_engine.Attention(bits, own, *rows, 1 / math.sqrt(HEAD_DIM), out))
            compiled = kvq.attention(query[np.newaxis, :, np.newaxis].copy(), k, v)
            _check(name, "ggml", calls[-1](), compiled[0, :, 0], LARGEST_ENGINE_DIFFERENCE)
        found[bits] = lambda threads, calls=calls: [call(threads) for call in calls]
    return found


def measure_tokens(
    rng: np.random.Generator,
    names: list[str],
    shape: Shape,
    storage: Storage,
    tokens: int,
    thread_counts: list[int],
    seconds: float,
    unfused: bool = False,
    engine: bool = False,
    torch: bool = False,
) -> list[Result]:
    """Every case over caches of up to `tokens` tokens, on each number of threads."""
    lengths = ragged_lengths(rng, shape, tokens)
    q = rng.standard_normal((shape.batch, shape.query_heads, shape.queries, HEAD_DIM), np.float32)
    cases = [make_case(rng, name, shape, storage, lengths, q, unfused, torch) for name in names]
    yardsticks = make_yardsticks(rng, shape, storage, lengths, q)
    engines = make_engines(rng, shape, lengths, q) if engine else {}
    keys = int(lengths.sum()) * shape.kv_heads * shape.queries
    results = []
    for threads in thread_counts:
        for case in cases:  # compiled for one thread and for several apart
            case.call(threads)
            if case.newest:
                case.newest(threads)
        calls = {("case", case.name): lambda case=case: case.call(threads) for case in cases}
        calls |= {("grown", case.name): lambda case=case: case.grown(threads) for case in cases if case.grown}
        calls |= {("newest", case.name): lambda case=case: case.newest(threads) for case in cases if case.newest}
        calls |= {("torch", case.name): lambda case=case: case.torch(threads) for case in cases if case.torch}
        calls |= {("yardstick", bits): lambda run=run: run(threads) for bits, run in yardsticks.items()}
        calls |= {("engine", bits): lambda run=run: run(threads) for bits, run in engines.items()}
        calls |= {("unfused", case.name): case.unfused for case in cases if case.unfused}
        samples = interleave(calls | {READ: memory_read(threads, MEMORY_BYTES)}, seconds, threads)
        results += [_result(case, shape, tokens, threads, keys, samples) for case in cases]
    return results


def _result(case: Case, shape: Shape, tokens: int, threads: int, keys: int, samples: dict) -> Result:
    own = samples["case", case.name]
    seconds = spread(own)
    beside = samples.get(("yardstick", case.yardstick_bits))
    unfused = samples.get(("unfused", case.name))
    grown = samples.get(("grown", case.name))
    engine = samples.get(("engine", case.engine_bits))
    newest = samples.get(("newest", case.name))
    torch = samples.get(("torch", case.name))
    return Result(
        case.name,
        shape,
        case.k_format,
        case.v_format,
        tokens,
        threads,
        seconds,
        seconds.median * 1e9 / keys,
        seconds.median * 1e9 / keys / shape.group,
        case.cache_bytes,
        case.cache_bytes / seconds.median,
        MEMORY_BYTES / float(np.median(samples[READ])),
        case.temporaries.call + threads * case.temporaries.work_item,
        case.compile_seconds,
        None if beside is None else yardstick.BLOCKS[case.yardstick_bits][0].removeprefix("ggml."),
        None if beside is None else float(np.median(beside)) * 1e9 / keys,
        None if beside is None else spread(own / beside),
        None if unfused is None else spread(unfused / own),
        None if grown is None else spread(grown / own),
        None if engine is None else ggml_engine.TYPES[case.engine_bits][1].removeprefix("ggml."),
        None if engine is None else float(np.median(engine)) * 1e9 / keys,
        None if engine is None else spread(own / engine),
        None if newest is None else spread(own / newest),
        None if torch is None else spread(torch / own),
    )
