"""`python -m kvq_mlir bench pairs`: attention over every pair of formats of keys and values, beside exact ones."""

from __future__ import annotations

import argparse
import json
import textwrap
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import kvq_mlir as kvq

from .attend import prepare
from .bench_cases import NamedFormat, filled, named_format, positive
from .bench_timing import Spread, interleave, processor, spread
from .text import InputError

QUERY_HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
EXACT = "f16"
FORMATS = (
    *("f16", "i8", "i4"),
    *("ui4, minimum", "ui4, zero point", "ui4, per channel of 32 tokens", "ui4, blocks of 32 tokens", "i4, rotated"),
    *("ui2, minimum", "i3", "i5", "i6"),
    *("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f4E2M1FN", "f4E2M1FN, two-level scale"),
    *("codebook nf4", "codebook lloyd_max = 3"),
    *("ggml.q8_0", "ggml.q4_0"),
)


@dataclass(frozen=True)
class PairResult:
    """What attention over a pair takes."""

    keys: str
    values: str
    seconds: Spread
    ratio: Spread  # to exact keys and values, in the same rounds
    compile_seconds: float  # its first call; processor time, as the others are


def measure_pair(
    q: np.ndarray, pair: tuple[kvq.Cache, kvq.Cache], exact: tuple[kvq.Cache, kvq.Cache], seconds: float
) -> tuple[Spread, Spread, float]:
    """Seconds of a call, their ratio to exact caches, and the first call's seconds; processor time."""
    out = np.empty(q.shape, np.float32)
    start = time.thread_time()
    kvq.attention(q, *pair, out=out)
    first = time.thread_time() - start
    samples = interleave({"pair": prepare(q, *pair, out=out), "exact": prepare(q, *exact, out=out)}, seconds / 2)
    return spread(samples["pair"]), spread(samples["pair"] / samples["exact"]), first


def measure_pairs(names: list[NamedFormat], tokens: int, seconds: float) -> list[PairResult]:
    """Every pair of these formats, keys first, on one thread."""
    from tqdm import tqdm

    rng = np.random.default_rng(0)
    shape, lengths = (1, KV_HEADS, tokens, HEAD_DIM), np.array([tokens])
    q = rng.standard_normal((1, QUERY_HEADS, 1, HEAD_DIM), np.float32)
    sides = [{named.name: filled(rng, named, shape, lengths) for named in names} for _ in "kv"]
    exact = tuple(filled(rng, named_format(EXACT, "--formats"), shape, lengths) for _ in "kv")
    kvq.attention(q, *exact)
    pairs = [(k.name, v.name) for k in names for v in names]
    return [
        PairResult(k, v, *measure_pair(q, (sides[0][k], sides[1][v]), exact, seconds))
        for k, v in tqdm(pairs, desc="measuring", unit="pair", disable=None, leave=False)
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `bench pairs`."""
    parser.add_argument("--tokens", default="4096", help="tokens in the cache (default: 4096)")
    parser.add_argument(
        "--formats",
        help="formats with semicolons: names of `formats`, f16, bf16, f32 (default: one of each kind that kernels differ for)",
    )
    parser.add_argument("--seconds", type=float, default=0.4, help="time for each pair (default: 0.4)")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there too, as docs/Pairs.md is")


def run(arguments: argparse.Namespace) -> None:
    """Runs the command; `InputError` for arguments that are out of range."""
    tokens = positive(arguments.tokens, "--tokens")
    if not arguments.seconds > 0:
        raise InputError(f"--seconds: expected more than 0, found {arguments.seconds}")
    given = FORMATS if arguments.formats is None else [name.strip() for name in arguments.formats.split(";")]
    names = [named_format(name, "--formats") for name in given]
    results = measure_pairs(names, tokens, arguments.seconds)
    if arguments.markdown:
        arguments.markdown.write_text(_markdown(results, names, tokens), encoding="utf-8")
    if arguments.json:
        head = {"query_heads": QUERY_HEADS, "kv_heads": KV_HEADS, "head_dim": HEAD_DIM, "tokens": tokens}
        pairs = [asdict(result) for result in results]
        print(json.dumps(head | {"threads": 1, "processor": processor(), "pairs": pairs}, indent=2))
    else:
        print(_report(results, names, tokens))


def _grid(results: list[PairResult]) -> dict[tuple[str, str], PairResult]:
    return {(result.keys, result.values): result for result in results}


def _title(tokens: int) -> str:
    return (
        f"time of one query token's attention over {tokens:,} tokens, {QUERY_HEADS} query heads over {KV_HEADS} KV heads, "
        f"head dim {HEAD_DIM}, float32 query, one thread, relative to exact f16 keys and values in the same rounds"
    )


def _report(results: list[PairResult], names: list[NamedFormat], tokens: int) -> str:
    found, width = _grid(results), max(len(named.name) for named in names) + 1
    title = _title(tokens)
    lines = [title[0].upper() + title[1:] + f" ({processor()}).", "Rows: keys. Columns: values, by number.", ""]
    lines.append(" " * (width + 4) + "".join(f"{i:>6}" for i in range(1, len(names) + 1)))
    for i, k in enumerate(names, 1):
        cells = "".join(f"{found[k.name, v.name].ratio.median:>6.2f}" for v in names)
        lines.append(f"{i:>3} {k.name:{width}}{cells}")
    slowest = max(results, key=lambda result: result.compile_seconds)
    lines += ["", f"Slowest first call, compilation included: {slowest.compile_seconds:.2f} s ({slowest.keys} / {slowest.values})."]
    return "\n".join(lines)


def _markdown(results: list[PairResult], names: list[NamedFormat], tokens: int) -> str:
    found = _grid(results)
    text = (
        f"The {_title(tokens)}. Medians. Rows are keys, columns values, by number. Written by `python -m kvq_mlir bench "
        f"pairs --markdown docs/Pairs.md`, on a machine with other work on it ({processor()}): exact elements, which read "
        "most bytes, are what that slows down most. `python -m kvq_mlir formats` has what the names stand for."
    )
    lines = ["# Pairs of formats", "", textwrap.fill(text, 88, break_on_hyphens=False), ""]
    lines.append("| | keys | " + " | ".join(str(i) for i in range(1, len(names) + 1)) + " |")
    lines.append("|---" * (len(names) + 2) + "|")
    for i, k in enumerate(names, 1):
        cells = " | ".join(f"{found[k.name, v.name].ratio.median:.2f}" for v in names)
        lines.append(f"| {i} | {k.name} | {cells} |")
    return "\n".join([*lines, ""])
