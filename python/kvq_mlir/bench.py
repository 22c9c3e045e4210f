"""`python -m kvq_mlir bench`: `cpu` times fused decode attention beside dequantize-then-attend and memory speed, `append`
(in `bench_append`) the storing of new tokens."""

from __future__ import annotations

import argparse
import json
import math
import platform
import textwrap
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

import kvq_mlir as kvq

from .text import InputError

QUERY_HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128  # Llama 3 8B's attention
PER_TOKEN = "group = [1, 32], scale = f16"
PAIRS = {
    "16-bit": ("codes = none", "codes = none"),
    "K8V8": (f"codes = i8, {PER_TOKEN}", f"codes = i8, {PER_TOKEN}"),
    "K4V4": (f"codes = i4, {PER_TOKEN}", f"codes = i4, {PER_TOKEN}"),
}
PACKAGES = ("threadpoolctl", "tqdm")  # that the command needs beside those of kvq_mlir
MEMORY_BYTES = 512 << 20  # far beyond any last-level cache here
LARGEST_DIFFERENCE = 1e-4  # relative L2 between fused and unfused, both float32


@dataclass(frozen=True)
class Timing:
    """Seconds of one call."""

    median: float
    lower_quartile: float
    upper_quartile: float
    calls: int

    @classmethod
    def of(cls, function: Callable[[], object], seconds: float = 1.0, warm_up: int = 5) -> Timing:
        """Calls `function` for about `seconds`, at least 10 times, after `warm_up` calls that are not counted."""
        for _ in range(warm_up):
            function()
        samples: list[float] = []
        end = time.perf_counter() + seconds
        while len(samples) < 10 or time.perf_counter() < end:
            start = time.perf_counter()
            function()
            samples.append(time.perf_counter() - start)
        lower, median, upper = np.percentile(samples, [25, 50, 75])
        return cls(float(median), float(lower), float(upper), len(samples))


@dataclass(frozen=True)
class PairResult:
    """What one pair of formats took, in the units that the fields say."""

    name: str
    k_format: str
    v_format: str
    cache_bytes: int  # K and V together
    fused: Timing
    unfused: Timing
    compile_seconds: float  # of the attention kernel: its first call less a later one
    read_bytes_per_second: float  # of a plain read of equally many bytes, repeated like the kernel
    difference: float  # relative L2 between the outputs of the fused and the unfused way


def unfused_attention(q: np.ndarray, k_cache: kvq.Cache, v_cache: kvq.Cache) -> np.ndarray:
    """The way without fusion: rebuild both caches in float32 by compiled code, then attend with NumPy's BLAS.

    q: [1, query_heads, 1, D] float32; one sequence. Returns q's shape, float32.
    """
    tokens = int(k_cache.lengths[0])
    k, v = k_cache.dequantize()[0, :, :tokens], v_cache.dequantize()[0, :, :tokens]  # [kv_heads, tokens, D]
    scores = (q * np.float32(1 / math.sqrt(q.shape[-1]))).reshape(k.shape[0], -1, k.shape[2]) @ k.swapaxes(1, 2)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return (scores @ v).reshape(q.shape)


def read_bandwidth(size: int, seconds: float = 0.5) -> float:
    """Bytes per second of the quickest plain read NumPy has (vectorised max over int32), one thread, `size` bytes."""
    data = np.ones(size // 4, np.int32)
    return data.nbytes / Timing.of(data.max, seconds).median


def blas_in_use() -> str:
    """Which BLAS NumPy runs, with its kernels and threads, such as 'openblas 0.3.31, Haswell kernels, 1 thread'."""
    from threadpoolctl import threadpool_info

    found = [
        f"{lib['internal_api']} {lib['version']}, {lib.get('architecture', 'unnamed')} kernels, "
        + plural(lib["num_threads"], "thread")
        for lib in threadpool_info()
        if lib["user_api"] == "blas"
    ]
    return "; ".join(found) or "unknown to threadpoolctl"


def processor() -> str:
    """The processor's name as Linux gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def plural(count: int, noun: str) -> str:
    """The count with its noun, as in "1 token" and "2 tokens"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def measure_pair(name: str, k_format: str, v_format: str, tokens: int, rng: np.random.Generator) -> PairResult:
    """One decode step over `tokens` cached tokens of normal noise, one sequence."""

    def filled(format_text: str) -> kvq.Cache:
        cache = kvq.Cache(1, KV_HEADS, tokens, HEAD_DIM, kvq.Format(format_text))
        cache.append(rng.standard_normal((1, KV_HEADS, tokens, HEAD_DIM), np.float32))
        return cache

    k_cache, v_cache = filled(k_format), filled(v_format)
    q = rng.standard_normal((1, QUERY_HEADS, 1, HEAD_DIM), np.float32)
    start = time.perf_counter()
    out = kvq.attention(q, k_cache, v_cache)
    first_call = time.perf_counter() - start
    expected = unfused_attention(q, k_cache, v_cache)
    difference = float(np.linalg.norm(out - expected) / np.linalg.norm(expected))
    if not difference <= LARGEST_DIFFERENCE:
        raise RuntimeError(
            f"{name}: fused and unfused outputs differ by {difference:.1e}, at most {LARGEST_DIFFERENCE:.0e} expected"
        )
    fused = Timing.of(lambda: kvq.attention(q, k_cache, v_cache))
    unfused = Timing.of(lambda: unfused_attention(q, k_cache, v_cache))
    size = k_cache.nbytes + v_cache.nbytes
    return PairResult(
        name, k_format, v_format, size, fused, unfused, first_call - fused.median, read_bandwidth(size), difference
    )


def run_cpu(tokens: int, threads: int, as_json: bool) -> None:
    """Measures every pair and prints the figures."""
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    if tokens < 1:
        raise InputError(f"--tokens: expected at least 1, found {tokens}")
    if threads < 1:
        raise InputError(f"--threads: expected at least 1, found {threads}")
    rng = np.random.default_rng(0)
    with threadpool_limits(threads):
        blas = blas_in_use()
        results = [
            measure_pair(name, *formats, tokens, rng)
            for name, formats in tqdm(PAIRS.items(), desc="measuring", unit="pair", disable=None, leave=False)
        ]
        memory = read_bandwidth(MEMORY_BYTES, 2.0)
    if as_json:
        print(json.dumps(_as_dict(results, tokens, threads, blas, memory), indent=2))
    else:
        print(_report(results, tokens, threads, blas, memory))


def _nanoseconds_per_key(result: PairResult, tokens: int) -> float:
    return result.fused.median * 1e9 / (tokens * KV_HEADS)


def _as_dict(results: list[PairResult], tokens: int, threads: int, blas: str, memory: float) -> dict:
    return {
        "query_heads": QUERY_HEADS,
        "kv_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "tokens": tokens,
        "threads": threads,
        "processor": processor(),
        "blas": blas,
        "memory_read_bytes_per_second": memory,
        "pairs": [
            asdict(r)
            | {
                "nanoseconds_per_key_and_kv_head": _nanoseconds_per_key(r, tokens),
                "cache_bytes_per_second": r.cache_bytes / r.fused.median,
            }
            for r in results
        ],
    }


def _report(results: list[PairResult], tokens: int, threads: int, blas: str, memory: float) -> str:
    def microseconds(t: Timing) -> str:
        return f"{t.median * 1e6:,.0f} ({t.lower_quartile * 1e6:,.0f}–{t.upper_quartile * 1e6:,.0f})"

    lines = [
        f"One decode step of one layer: {QUERY_HEADS} query heads over {KV_HEADS} KV heads, head dim {HEAD_DIM}, "
        f"{tokens:,} tokens, float32 query, 1 thread",
        f"{processor()}; NumPy {np.__version__} with {blas}",
        "",
        f"{'pair':8}{'cache MB':>10}{'fused µs':>22}{'ns/key':>9}{'GB/s':>8}{'read GB/s':>11}"
        f"{'unfused µs':>24}{'ratio':>8}{'compile s':>11}",
    ]
    for r in results:
        lines.append(
            f"{r.name:8}{r.cache_bytes / 1e6:>10.2f}{microseconds(r.fused):>22}{_nanoseconds_per_key(r, tokens):>9.2f}"
            f"{r.cache_bytes / r.fused.median / 1e9:>8.1f}{r.read_bytes_per_second / 1e9:>11.1f}"
            f"{microseconds(r.unfused):>24}{r.unfused.median / r.fused.median:>8.1f}{r.compile_seconds:>11.2f}"
        )
    meaning = (
        f"Times are medians with quartiles; ns/key is per key, KV head and its {QUERY_HEADS // KV_HEADS} queries. "
        "GB/s counts every byte of both caches once. read GB/s: a plain read of equally many bytes on one thread "
        "(NumPy's max over int32), repeated like the kernel, so that it may come from the last-level cache; from "
        f"memory ({MEMORY_BYTES >> 20} MiB) it reaches {memory / 1e9:.1f} GB/s. unfused: both caches rebuilt in "
        "float32 by compiled code, then NumPy's matrix products and softmax. compile: the attention kernel's first "
        "call less a later one."
    )
    formats = [f"{r.name}: K [{r.k_format}], V [{r.v_format}]" for r in results]
    return "\n".join([*lines, "", *formats, textwrap.fill(meaning, 118)])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command `bench`."""
    parser.add_argument("target", choices=["cpu", "append"], help="attention on the CPU, or appending")
    parser.add_argument("--tokens", type=int, default=4096, help="tokens in the cache, or appended (default: 4096)")
    parser.add_argument(
        "--threads", type=int, help="threads of BLAS in the unfused way (default: 1); kernels run on one; only with cpu"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")


def run(arguments: argparse.Namespace) -> None:
    """Runs the command; `InputError` for arguments that are out of range."""
    if arguments.target == "cpu":
        run_cpu(arguments.tokens, 1 if arguments.threads is None else arguments.threads, arguments.json)
        return
    from .bench_append import run_append

    if arguments.threads is not None:
        raise InputError("--threads: expected with cpu only, found with append, which runs on one thread")
    run_append(arguments.tokens, arguments.json)
