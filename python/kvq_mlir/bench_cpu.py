"""`python -m kvq_mlir bench cpu`: fused attention on the CPU, beside a kernel written by hand in the same run."""

from __future__ import annotations

import argparse
import itertools
import json
import textwrap
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from . import ggml_engine, yardstick
from .bench_attention import HEAD_DIM, Result, Shape, Storage, add_shapes, measure_tokens, parse_case, parse_shapes
from .bench_cases import positive, positives
from .bench_timing import plural, processor
from .text import InputError
from .torch_attention import missing as missing_torch
from .unfused import blas_in_use

TOKENS = "1024,4096,16384,65536"
FORMATS = (
    "f16; i8; i8 @ i16; i8, channel pairs / i8, token pairs @ i16; "
    "i4; i4 @ i16; i4, channel pairs / i4, token pairs @ i16; i4, channel pairs / i4, token pairs @ i8; "
    "ggml.q8_0; ggml.q8_0 @ i16; ggml.q4_0; ggml.q4_0 @ i16"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `bench cpu`."""
    parser.add_argument("--tokens", default=TOKENS, help=f"tokens in the cache, with commas (default: {TOKENS})")
    parser.add_argument("--threads", default="1", help="numbers of threads, with commas (default: 1)")
    add_shapes(parser)
    parser.add_argument("--page", help="tokens of a page; which pages a sequence has is by chance (default: no pages)")
    parser.add_argument(
        "--token-major", action="store_true", help="rows of a token's heads follow each other, in yardsticks too"
    )
    parser.add_argument(
        "--grown", metavar="TOKENS", help="beside each, the same tokens in caches, or pools of pages, for so many tokens"
    )
    parser.add_argument(
        "--formats",
        default=FORMATS,
        help="formats with semicolons, KEYS / VALUES where they differ, and with @ i16 or @ i8 for a query in integers: "
        f"names of `formats`, f16, bf16, f32 (default: {FORMATS})",
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="time for each figure (default: 0.5)")
    parser.add_argument(
        "--torch", action="store_true", help="PyTorch's attention over float32 beside each, for one sequence"
    )
    parser.add_argument(
        "--unfused", action="store_true", help="dequantize-then-attend (NumPy) beside each, for one query of one sequence"
    )
    parser.add_argument(
        "--engine",
        choices=("ggml",),
        help=f"an engine beside each, over blocks of its own: ggml, of the package {ggml_engine.PACKAGE}; for one query of a "
        "sequence",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a figure of time by tokens (PNG, PDF or SVG)")


def _storage(arguments: argparse.Namespace, tokens: list[int]) -> Storage:
    page, grown = (
        None if text is None else positive(text, option)
        for text, option in ((arguments.page, "--page"), (arguments.grown, "--grown"))
    )
    if grown is not None and grown < max(tokens):
        raise InputError(f"--grown: expected at least the {max(tokens)} tokens that are there, found {grown}")
    return Storage(page, grown, arguments.token_major)


def run(arguments: argparse.Namespace) -> None:
    """Runs the command; `InputError` for arguments that are out of range."""
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    shapes, tokens = parse_shapes(arguments), positives(arguments.tokens, "--tokens")
    if arguments.torch and any(shape.batch != 1 for shape in shapes):
        raise InputError("--torch: expected one sequence")
    if arguments.torch and (missing := missing_torch()):
        raise InputError(f"--torch: {missing}")
    if arguments.unfused and any((shape.batch, shape.queries) != (1, 1) for shape in shapes):
        raise InputError("--unfused: expected one query of one sequence")
    threads, storage = positives(arguments.threads, "--threads"), _storage(arguments, tokens)
    if arguments.engine and any(shape.queries != 1 for shape in shapes):
        raise InputError("--engine: expected one query of a sequence")
    if arguments.engine and (reason := ggml_engine.missing()):
        raise InputError(f"--engine: {reason}")
    if not arguments.seconds > 0:
        raise InputError(f"--seconds: expected more than 0, found {arguments.seconds}")
    queries = max(shape.queries for shape in shapes)
    if min(tokens) < queries:
        raise InputError(f"--tokens: expected at least as many as queries, {queries}, found {min(tokens)}")
    if arguments.plot and find_spec("matplotlib") is None:
        raise InputError("--plot: expected the package matplotlib, found none: pip install matplotlib")
    names = [name.strip() for name in arguments.formats.split(";")]
    for name in names:
        parse_case(name)  # before minutes of work, not after
    rng = np.random.default_rng(0)
    results: list[Result] = []
    with threadpool_limits(1):
        blas = blas_in_use()
        rows = list(itertools.product(shapes, tokens))
        for shape, count in tqdm(rows, desc="measuring", unit="length", disable=None, leave=False):
            beside = (arguments.unfused, bool(arguments.engine), arguments.torch)
            results += measure_tokens(rng, names, shape, storage, count, threads, arguments.seconds, *beside)
    first = {(r.shape, r.name): r.compile_seconds for r in reversed(results)}  # later calls find the kernel
    results = [replace(r, compile_seconds=first[r.shape, r.name]) for r in results]
    if arguments.plot:
        from .plots import plot_attention

        plot_attention([asdict(result) for result in results], arguments.plot)
    if arguments.json:
        head = {"head_dim": HEAD_DIM, "page": storage.page, "grown": storage.grown, "token_major": storage.token_major, "processor": processor()}
        head["yardstick_missing"] = yardstick.missing()
        print(json.dumps(head | {"results": [asdict(result) for result in results]}, indent=2))
    else:
        print(_report(results, storage, blas))


def _title(shape: Shape, storage: Storage) -> str:
    pages = "" if storage.page is None else f", pages of {plural(storage.page, 'token')}"
    return (
        f"Attention of one layer: {shape.query_heads} query heads over {shape.kv_heads} KV heads, head dim {HEAD_DIM}, "
        f"{plural(shape.queries, 'query token')} in float32, {plural(shape.batch, 'sequence')}{pages}{', token-major' * storage.token_major}; {processor()}"
    )


def _table(results: list[Result], width: int) -> list[str]:
    """The table of one shape, names in so many characters."""
    unfused = any(result.unfused_ratio for result in results)
    grown = any(result.grown_ratio for result in results)
    engine = any(result.engine for result in results)
    newest = any(result.newest_ratio for result in results)
    torch = any(result.torch_ratio for result in results)
    lines = [
        f"{'tokens':>7}{'threads':>8}  {'format':{width}}{'µs':>22}{'ns':>8}{'a head':>8}{'GB/s':>7}{'of read':>9}"
        f"{'yardstick':>16}{'ratio':>19}{'KB':>6}{'compile s':>11}"
        + f"{'unfused':>19}" * unfused
        + f"{'grown':>19}" * grown
        + f"{'ggml':>12}{'ratio':>19}" * engine
        + f"{'of one query':>22}" * newest
        + f"{'torch':>19}" * torch
    ]
    for r in results:
        beside = f"{r.yardstick} {r.yardstick_nanoseconds:.1f}" if r.yardstick else "none"
        lines.append(
            f"{r.tokens:>7,}{r.threads:>8}  {r.name:{width}}{' ' + r.seconds.text(1e6):>22}{r.nanoseconds:>8.1f}"
            f"{r.nanoseconds_of_a_head:>8.1f}"
            f"{r.bytes_per_second / 1e9:>7.1f}{r.bytes_per_second / r.read_bytes_per_second:>9.0%}{beside:>16}"
            f"{r.ratio.text(digits=2) if r.ratio else '':>19}{r.temporary_bytes / 1024:>6.0f}{r.compile_seconds:>11.2f}"
            + (f"{r.unfused_ratio.text(digits=1):>19}" if r.unfused_ratio else "")
            + (f"{r.grown_ratio.text(digits=2):>19}" if r.grown_ratio else "")
            + (f"{f'{r.engine} {r.engine_nanoseconds:.0f}':>12}{r.engine_ratio.text(digits=2):>19}" if r.engine else "")
            + (f"{r.newest_ratio.text(digits=1):>22}" if r.newest_ratio else "")
            + (f"{r.torch_ratio.text(digits=2):>19}" if r.torch_ratio else "")
        )
    return lines


def _report(results: list[Result], storage: Storage, blas: str) -> str:
    width = max(len("format"), *(len(result.name) for result in results))
    lines = []
    for shape in dict.fromkeys(result.shape for result in results):
        table = _table([result for result in results if result.shape == shape], width)
        lines += [_title(shape, storage), "", *table, ""]
    reads = {r.threads: r.read_bytes_per_second for r in results}
    meaning = (
        "Medians with quartiles, of rounds in which each has a turn; processor time with 1 thread. ns: of a key, a KV "
        "head and a query token, whose query heads share the key; a head: of one of these. GB/s counts every byte of "
        "both caches once; read is a plain read of memory, "
        + ", ".join(f"{rate / 1e9:.1f} GB/s with {plural(count, 'thread')}" for count, rate in reads.items())
        + ". yardstick: test/bench/Yardstick.cpp on blocks of ggml, ns; ratio: of times in the same round. KB: "
        "temporaries. compile: the first call."
    )
    if any(result.unfused_ratio for result in results):
        meaning += (
            f" unfused: how many times as long both caches rebuilt in float32 by compiled code take, then NumPy's "
            f"matrix products and softmax ({blas})."
        )
    if storage.grown is not None:
        meaning += f" grown: how many times as long the same tokens take in caches with room for {storage.grown:,}."
    if any(result.engine for result in results):
        meaning += " ggml: its attention over its own types, ns, and the ratio to that."
    if any(result.newest_ratio for result in results):
        meaning += " of one query: how many times as long as the newest query alone."
    if any(result.torch_ratio for result in results):
        meaning += " torch: how many times as long PyTorch's attention over both caches, rebuilt in float32 before, takes."
    missing = yardstick.missing()
    notes = [missing] if missing else []
    return "\n".join([*lines, textwrap.fill(meaning, 118), *notes])
