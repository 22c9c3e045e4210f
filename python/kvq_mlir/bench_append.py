"""`python -m kvq_mlir bench append`: how fast new tokens are quantized, packed and stored."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass

import numpy as np

import kvq_mlir as kvq

from .bench_cases import positive
from .bench_timing import Timing, processor

KV_HEADS, HEAD_DIM = 8, 128
FORMATS: dict[str, tuple[str, int]] = {  # name: format, newest tokens that stay exact
    "f16": ("codes = none", 0),
    "i8": ("codes = i8, group = [1, 32], scale = f16", 0),
    "i4": ("codes = i4, group = [1, 32], scale = f16", 0),
    "ui4 minimum": ("codes = ui4, group = [1, 32], scale = f16, zero = min f16", 0),
    "ui4 channel": ("codes = ui4, group = [32, 1], scale = f16, zero = min f16", 32),
    "f8E4M3FN": ("codes = f8E4M3FN, group = [1, *], scale = f32", 0),
    "f4E2M1FN": ("codes = f4E2M1FN, group = [1, 32], scale = f8E8M0FNU", 0),
    "NF4": ("codes = #kvq.codebook<nf4>, group = [1, 32], scale = f16", 0),
    "Lloyd-Max 3, norm": ("codes = #kvq.codebook<lloyd_max = 3>, group = [1, *], scale = f16, range = norm", 0),
    "i4, search of 8": ("codes = i4, group = [1, 32], scale = f16, range = search<8>", 0),
}


@dataclass(frozen=True)
class AppendResult:
    """What appending took with one format."""

    name: str
    format: str
    recent: int
    prompt: Timing  # one append of all tokens
    step: Timing  # one append of one token
    input_bytes_per_second: float  # float16 input of the prompt


def measure(name: str, text: str, recent: int, tokens: int, rng: np.random.Generator) -> AppendResult:
    """Appends `tokens` tokens of normal noise at once, then one at a time, to the same memory again and again."""
    cache = kvq.Cache(1, KV_HEADS, tokens + 1, HEAD_DIM, kvq.Format(text), recent=recent, fill=0)
    prompt = rng.standard_normal((1, KV_HEADS, tokens, HEAD_DIM), np.float32).astype(np.float16)
    token = prompt[:, :, :1].copy()

    def append_all() -> None:
        cache.truncate(0)
        cache.append(prompt)

    def append_one() -> None:
        if int(cache.lengths[0]) == cache.capacity:
            cache.truncate(0)
        cache.append(token)

    whole = Timing.of(append_all)
    return AppendResult(name, text, recent, whole, Timing.of(append_one, 0.3), prompt.nbytes / whole.median)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `bench append`."""
    parser.add_argument("--tokens", default="4096", help="tokens that are appended (default: 4096)")


def run(arguments: argparse.Namespace) -> None:
    """Measures every format and prints the figures; `InputError` for arguments that are out of range."""
    from tqdm import tqdm

    tokens = positive(arguments.tokens, "--tokens")
    rng = np.random.default_rng(0)
    results = [
        measure(name, text, recent, tokens, rng)
        for name, (text, recent) in tqdm(FORMATS.items(), desc="measuring", unit="format", disable=None, leave=False)
    ]
    if arguments.json:
        shape = {"kv_heads": KV_HEADS, "head_dim": HEAD_DIM, "tokens": tokens, "processor": processor()}
        print(json.dumps(shape | {"formats": [asdict(result) for result in results]}, indent=2))
        return
    print(f"Append of {tokens:,} tokens, {KV_HEADS} KV heads, head dim {HEAD_DIM}, float16 input, 1 thread; {processor()}")
    print(f"\n{'format':18}{'µs':>9}{'GB/s in':>9}{'µs a token':>12}")
    for r in results:
        print(
            f"{r.name:18}{r.prompt.median * 1e6:>9,.0f}{r.input_bytes_per_second / 1e9:>9.1f}{r.step.median * 1e6:>12.1f}"
        )
    print("\nMedians. GB/s in: bytes of float16 input, all tokens at once. µs a token: appended alone, call included.")
