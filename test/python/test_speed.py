"""Limits on time that hold on a busy machine too: the quickest of several tries."""

import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import _kvq, bench
from kvq_mlir.ir.attention import attention as attention_ir

PER_CHANNEL = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"


@pytest.mark.parametrize("pair, limit", [("K8V8", 80), ("K4V4", 110)])
def test_decode_step(pair, limit, rng):
    """Nanoseconds per key, KV head and its four queries, over 4,096 tokens on one thread."""
    tokens = 4096
    caches = [kvq.Cache(1, bench.KV_HEADS, tokens, bench.HEAD_DIM, kvq.Format(text)) for text in bench.PAIRS[pair]]
    for cache in caches:
        cache.append(rng.standard_normal((1, bench.KV_HEADS, tokens, bench.HEAD_DIM), np.float32))
    q = rng.standard_normal((1, bench.QUERY_HEADS, 1, bench.HEAD_DIM), np.float32)
    timing = bench.Timing.of(lambda: kvq.attention(q, *caches))
    assert timing.lower_quartile * 1e9 / (tokens * bench.KV_HEADS) <= limit


def test_compilation():
    """IR to machine code of one kernel: the largest there is, with every region on both sides."""
    k = v = f"!kvq.cache<1x8x?x128xf16, #kvq.format<{PER_CHANNEL}>, exact_first = 4, recent = 64>"
    module = attention_ir((1, 32, 128), "f32", 128, k, v, (True, True), 0.125, True)
    assert min(_kvq.compile(module).compile_seconds for _ in range(3)) < 1
