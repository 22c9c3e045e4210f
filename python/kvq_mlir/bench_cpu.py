"""`python -m kvq_mlir bench cpu`: fused attention on the CPU, beside a kernel written by hand in the same run."""

from __future__ import annotations

import argparse
import json
import math
import textwrap
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import kvq_mlir as kvq

from . import yardstick
from .bench_cases import NamedFormat, filled, named_format, positive, positives, used_bytes
from .bench_timing import MEMORY_BYTES, Spread, interleave, memory_read, plural, processor, spread
from .decode_step import Temporaries, measure
from .ir.decode_step import attend_to_one
from .policy import Choice
from .text import InputError
from .unfused import blas_in_use, unfused_attention

HEAD_DIM = yardstick.HEAD_DIM
TOKENS = "1024,4096,16384,65536"
FORMATS = (
    "f16; i8; i8 @ i16; i8, channel pairs / i8, token pairs @ i16; "
    "i4; i4 @ i16; i4 @ i8; i4, channel pairs / i4, token pairs @ i16; "
    "ggml.q8_0; ggml.q8_0 @ i16; ggml.q4_0; ggml.q4_0 @ i16"
)
READ = "read"
LARGEST_DIFFERENCE = 1e-3  # relative L2 to the yardstick on the same blocks, which rounds its query to 16 bits
LARGEST_UNFUSED_DIFFERENCE = 1e-4  # both float32


@dataclass(frozen=True)
class Shape:
    """What is attended to."""

    batch: int
    query_heads: int
    kv_heads: int
    queries: int


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
    unfused: Callable[[], object] | None = None


@dataclass(frozen=True)
class Result:
    """What a case took, in the units that the fields say. Spreads are over rounds."""

    name: str
    k_format: str
    v_format: str
    tokens: int
    threads: int
    seconds: Spread
    # Of a key, a KV head and a query token, whose query heads share the key.
    nanoseconds: float
    cache_bytes: int
    bytes_per_second: float
    read_bytes_per_second: float  # of a plain read from memory by as many threads, in the same rounds
    temporary_bytes: int
    compile_seconds: float
    yardstick: str | None
    yardstick_nanoseconds: float | None
    ratio: Spread | None  # to the yardstick
    unfused_ratio: Spread | None  # of dequantize-then-attend to this


# --- cases ---------------------------------------------------------------------------------------------------------


def _pair(name: str) -> tuple[NamedFormat, NamedFormat, str | None]:
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
    ir_text = attend_to_one((shape.batch, shape.kv_heads, HEAD_DIM), shape.query_heads, k.dtype, entries)
    return measure(ir_text, 1, on_gpu=False)


def make_case(
    rng: np.random.Generator, name: str, shape: Shape, tokens: int, lengths: np.ndarray, q: np.ndarray, unfused: bool
) -> Case:
    """The case of this name; `RuntimeError` where what it gives is not what rebuilt caches give."""
    sides = (shape.batch, shape.kv_heads, tokens, HEAD_DIM)
    k_format, v_format, query_codes = _pair(name)
    k, v = filled(rng, k_format, sides, lengths), filled(rng, v_format, sides, lengths)
    out = np.empty(q.shape, np.float32)
    start = time.thread_time()
    kvq.attention(q, k, v, out=out, query_codes=query_codes)
    first = time.thread_time() - start
    slow = (lambda: unfused_attention(q, k, v)) if unfused else None
    if slow and query_codes is None:
        _check(name, "dequantize-then-attend", out, slow(), LARGEST_UNFUSED_DIFFERENCE)
    bits = [side.format.bits or 16 for side in (k, v)]
    return Case(
        name,
        str(k_format.format),
        str(v_format.format),
        lambda threads: kvq.attention(q, k, v, out=out, threads=threads, query_codes=query_codes),
        used_bytes(k) + used_bytes(v),
        first,
        _temporaries(shape, k, v),
        4 if max(bits) <= 4 else 8,
        slow,
    )


def _check(name: str, other: str, found: np.ndarray, expected: np.ndarray, bound: float) -> None:
    difference = float(np.linalg.norm(found - expected) / np.linalg.norm(expected))
    if not difference <= bound:
        raise RuntimeError(f"{name}: differs from {other} by {difference:.1e}, at most {bound:.0e} expected")


def make_yardsticks(
    rng: np.random.Generator, shape: Shape, tokens: int, lengths: np.ndarray, q: np.ndarray
) -> dict[int, Callable[[int], object]]:
    """By bits of a code, the kernel written by hand on blocks of such noise; it attends to one query token at a time.

    `RuntimeError` where compiled code gives something else for these blocks. Empty where there is none for the shape.
    """
    if yardstick.missing() or shape.query_heads // shape.kv_heads not in yardstick.QUERY_HEADS:
        return {}
    found = {}
    for bits, (preset, _) in yardstick.BLOCKS.items():
        sides = (shape.batch, shape.kv_heads, tokens, HEAD_DIM)
        k, v = (filled(rng, named_format(preset, "--formats"), sides, lengths) for _ in range(2))
        calls = [
            yardstick.Yardstick(
                bits,
                np.ascontiguousarray(q[:, :, i]),
                *(cache.storage()["records"].view(np.uint8) for cache in (k, v)),
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


# --- measuring -----------------------------------------------------------------------------------------------------


def measure_tokens(
    rng: np.random.Generator,
    names: list[str],
    shape: Shape,
    tokens: int,
    thread_counts: list[int],
    seconds: float,
    unfused: bool,
) -> list[Result]:
    """Every case over caches of up to `tokens` tokens, on each number of threads."""
    lengths = np.full(shape.batch, tokens)
    if shape.batch > 1:  # ragged, the first one the longest
        lengths[1:] = rng.integers(-(-tokens // 4), tokens + 1, shape.batch - 1)
    q = rng.standard_normal((shape.batch, shape.query_heads, shape.queries, HEAD_DIM), np.float32)
    cases = [make_case(rng, name, shape, tokens, lengths, q, unfused) for name in names]
    yardsticks = make_yardsticks(rng, shape, tokens, lengths, q)
    keys = int(lengths.sum()) * shape.kv_heads * shape.queries
    results = []
    for threads in thread_counts:
        for case in cases:  # compiled for one thread and for several apart
            case.call(threads)
        calls = {("case", case.name): lambda case=case: case.call(threads) for case in cases}
        calls |= {("yardstick", bits): lambda run=run: run(threads) for bits, run in yardsticks.items()}
        calls |= {("unfused", case.name): case.unfused for case in cases if case.unfused}
        samples = interleave(calls | {READ: memory_read(threads, MEMORY_BYTES)}, seconds, threads)
        for case in cases:
            results.append(_result(case, tokens, threads, keys, samples))
    return results


def _result(case: Case, tokens: int, threads: int, keys: int, samples: dict) -> Result:
    own = samples["case", case.name]
    seconds = spread(own)
    beside = samples.get(("yardstick", case.yardstick_bits))
    unfused = samples.get(("unfused", case.name))
    return Result(
        case.name,
        case.k_format,
        case.v_format,
        tokens,
        threads,
        seconds,
        seconds.median * 1e9 / keys,
        case.cache_bytes,
        case.cache_bytes / seconds.median,
        MEMORY_BYTES / float(np.median(samples[READ])),
        case.temporaries.call + threads * case.temporaries.work_item,
        case.compile_seconds,
        None if beside is None else yardstick.BLOCKS[case.yardstick_bits][0].removeprefix("ggml."),
        None if beside is None else float(np.median(beside)) * 1e9 / keys,
        None if beside is None else spread(own / beside),
        None if unfused is None else spread(unfused / own),
    )


# --- the command ---------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `bench cpu`."""
    parser.add_argument("--tokens", default=TOKENS, help=f"tokens in the cache, with commas (default: {TOKENS})")
    parser.add_argument("--threads", default="1", help="numbers of threads, with commas (default: 1)")
    parser.add_argument(
        "--batch", default="1", help="sequences; of several all but one are shorter by chance (default: 1)"
    )
    parser.add_argument("--heads", default="32/8", help="query heads / KV heads (default: 32/8)")
    parser.add_argument("--queries", default="1", help="query tokens of a sequence, causal (default: 1)")
    parser.add_argument(
        "--formats",
        default=FORMATS,
        help="formats with semicolons, KEYS / VALUES where they differ, and with @ i16 or @ i8 for a query in integers: "
        f"names of `formats`, f16, bf16, f32 (default: {FORMATS})",
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each figure (default: 0.5)")
    parser.add_argument(
        "--unfused", action="store_true", help="dequantize-then-attend (NumPy) beside each, for one query of one sequence"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a figure of time by tokens (PNG, PDF or SVG)")


def _shape(arguments: argparse.Namespace) -> Shape:
    heads = [positive(part, "--heads", " of query heads / one of KV heads") for part in arguments.heads.split("/")]
    if len(heads) != 2 or heads[0] % heads[1]:
        raise InputError(f"--heads: expected QUERY/KV with a multiple of the KV heads, found '{arguments.heads}'")
    shape = Shape(positive(arguments.batch, "--batch"), *heads, positive(arguments.queries, "--queries"))
    if arguments.unfused and (shape.batch, shape.queries) != (1, 1):
        raise InputError("--unfused: expected one query of one sequence")
    return shape


def run(arguments: argparse.Namespace) -> None:
    """Runs the command; `InputError` for arguments that are out of range."""
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    shape, tokens = _shape(arguments), positives(arguments.tokens, "--tokens")
    threads = positives(arguments.threads, "--threads")
    if not arguments.seconds > 0:
        raise InputError(f"--seconds: expected more than 0, found {arguments.seconds}")
    if min(tokens) < shape.queries:
        raise InputError(f"--tokens: expected at least as many as queries, {shape.queries}, found {min(tokens)}")
    if arguments.plot and find_spec("matplotlib") is None:
        raise InputError("--plot: expected the package matplotlib, found none: pip install matplotlib")
    names = [name.strip() for name in arguments.formats.split(";")]
    for name in names:
        _pair(name)  # before minutes of work, not after
    rng = np.random.default_rng(0)
    results: list[Result] = []
    with threadpool_limits(1):
        blas = blas_in_use()
        for count in tqdm(tokens, desc="measuring", unit="length", disable=None, leave=False):
            results += measure_tokens(rng, names, shape, count, threads, arguments.seconds, arguments.unfused)
    first = {result.name: result.compile_seconds for result in reversed(results)}  # later calls find the kernel
    results = [replace(result, compile_seconds=first[result.name]) for result in results]
    if arguments.plot:
        from .plots import plot_attention

        plot_attention([asdict(result) for result in results], asdict(shape), arguments.plot)
    if arguments.json:
        head = asdict(shape) | {"head_dim": HEAD_DIM, "processor": processor(), "yardstick_missing": yardstick.missing()}
        print(json.dumps(head | {"results": [asdict(result) for result in results]}, indent=2))
    else:
        print(_report(results, shape, blas))


def _report(results: list[Result], shape: Shape, blas: str) -> str:
    unfused = any(result.unfused_ratio for result in results)
    width = max(len("format"), *(len(result.name) for result in results))
    lines = [
        f"Attention of one layer: {shape.query_heads} query heads over {shape.kv_heads} KV heads, head dim {HEAD_DIM}, "
        f"{plural(shape.queries, 'query token')} in float32, {plural(shape.batch, 'sequence')}; {processor()}",
        "",
        f"{'tokens':>7}{'threads':>8}  {'format':{width}}{'µs':>22}{'ns':>8}{'GB/s':>7}{'of read':>9}{'yardstick':>16}"
        f"{'ratio':>19}{'KB':>6}{'compile s':>11}" + f"{'unfused':>19}" * unfused,
    ]
    for r in results:
        beside = f"{r.yardstick} {r.yardstick_nanoseconds:.1f}" if r.yardstick else "none"
        lines.append(
            f"{r.tokens:>7,}{r.threads:>8}  {r.name:{width}}{r.seconds.text(1e6):>22}{r.nanoseconds:>8.1f}"
            f"{r.bytes_per_second / 1e9:>7.1f}{r.bytes_per_second / r.read_bytes_per_second:>9.0%}{beside:>16}"
            f"{r.ratio.text(digits=2) if r.ratio else '':>19}{r.temporary_bytes / 1024:>6.0f}{r.compile_seconds:>11.2f}"
            + (f"{r.unfused_ratio.text(digits=1):>19}" if r.unfused_ratio else "")
        )
    reads = {r.threads: r.read_bytes_per_second for r in results}
    meaning = (
        "Medians with quartiles, of rounds in which each has a turn; processor time with 1 thread. ns: of a key, a KV "
        "head and a query token, whose "
        f"{plural(shape.query_heads // shape.kv_heads, 'query head')} share the key. GB/s counts every byte of both "
        "caches once; read is a plain read of memory, "
        + ", ".join(f"{rate / 1e9:.1f} GB/s with {plural(count, 'thread')}" for count, rate in reads.items())
        + ". yardstick: test/bench/Yardstick.cpp on blocks of ggml, ns; ratio: of times in the same round. KB: "
        "temporaries. compile: the first call."
    )
    if unfused:
        meaning += (
            f" unfused: how many times as long both caches rebuilt in float32 by compiled code take, then NumPy's "
            f"matrix products and softmax ({blas})."
        )
    missing = yardstick.missing()
    notes = [missing] if missing else []
    return "\n".join([*lines, "", textwrap.fill(meaning, 118), *notes])
