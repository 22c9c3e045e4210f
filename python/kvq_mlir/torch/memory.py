"""What a long context takes in memory, over the library's cache in 16 bits and over kvq caches.

    python -m kvq_mlir.torch.memory --tokens 32768

Each cache is filled and decoded with in a process of its own; Linux says how much memory that took at most.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

from .. import _kvq
from ..text import InputError
from .cache import KvqCache

LAYERS, HEADS, HEAD_DIM = 8, 8, 64
BYTES_PER_TOKEN = 2 * LAYERS * HEADS * HEAD_DIM * 2  # in 16 bits
_CHUNK = 1024  # tokens of a prompt that come at once
_DECODED = 4
_WARM_UP = 300  # tokens that compile all kernels, those of a cache that grows too


def measure(policy: tuple[str, str] | None, tokens: int) -> tuple[int, int]:
    """Bytes of a cache of so many tokens, and by how many bytes this process grew at most while it was filled and tokens
    were decoded. policy: formats of keys and values; None for the library's own cache."""
    torch.manual_seed(0)
    sizes = dict(num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=HEADS, head_dim=HEAD_DIM)
    config = LlamaConfig(hidden_size=512, intermediate_size=512, vocab_size=256, **sizes)
    config.max_position_embeddings = tokens
    model = LlamaForCausalLM(config).to(torch.float16).eval()

    def make() -> Any:
        return DynamicCache(config=config) if policy is None else KvqCache(config, policy)

    with torch.no_grad():
        _fill(make(), model, _WARM_UP)
        before = _start_of_peak()
        cache = make()
        _fill(cache, model, tokens)
    held = _bytes_of(cache) if policy is None else cache.nbytes
    return held, _memory("VmHWM") - before


def _fill(cache: Any, model: LlamaForCausalLM, tokens: int) -> None:
    """A prompt's keys and values in chunks, and the last tokens by the model."""
    chunk = torch.randn(1, HEADS, _CHUNK, HEAD_DIM, dtype=torch.float16)
    prompt = tokens - _DECODED
    for first in range(0, prompt, _CHUNK):
        part = chunk[:, :, : prompt - first]
        for layer in range(LAYERS):
            cache.update(part, part, layer)
    for _ in range(_DECODED):
        model(torch.zeros(1, 1, dtype=torch.int64), cache=cache)


def _bytes_of(cache: DynamicCache) -> int:
    return sum(x.numel() * x.element_size() for layer in cache.layers for x in (layer.keys, layer.values))


def _start_of_peak() -> int:
    """The bytes of memory of this process; the peak that Linux keeps begins anew. What is free goes back first: it would
    serve without being counted."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _memory("VmRSS")


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kvq_mlir.torch.memory", description=__doc__.partition("\n")[0])
    parser.add_argument("--tokens", type=int, default=32768)
    parser.add_argument("--keys", default="codes = i8, group = [1, 32], scale = f16")
    parser.add_argument("--values", default="codes = i4, group = [1, 32], scale = f16")
    given = parser.parse_args(arguments)
    try:
        if given.tokens < 4 * _CHUNK:
            raise InputError(f"--tokens: expected at least {4 * _CHUNK}, found {given.tokens}")
        print(f"{'cache':38} {'bytes held':>15} {'peak memory':>15}")
        for name, policy in (("transformers, f16", None), ("kvq", (given.keys, given.values))):
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                held, peak = pool.submit(measure, policy, given.tokens).result()
            print(f"{name:38} {held:15,} {peak:15,}", flush=True)
    except (InputError, _kvq.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
