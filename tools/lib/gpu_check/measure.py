"""Times on a GPU: decode, append, the way without fusion, and PyTorch's attention, from cold caches, in CUDA graphs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .formats import FORMATS, Format
from .machines import GPU, Launch
from .plan import Kernel, Plan

ALIGNMENT = 256
MEMORY_SHARE = 0.75  # of what is free
COLD = 3  # times the L2 cache that calls go through before one reads the same again
MOST_COPIES, LEAST_LAUNCHES = 192, 8
COPY_BYTES, COPY_SECONDS = 1 << 30, 0.5  # so long that clocks are up
CHUNK_TOKENS = 1 << 16  # drawn by chance, and repeated
APPEND_TOKENS = 4096


@dataclass(frozen=True)
class Measured:
    """what: "decode", "unfused", "append" or "sdpa". share: of the bandwidth of a copy, for what reads a cache."""

    what: str
    format: str
    batch: int
    group: int
    tokens: int
    seconds: float
    share: float | None = None
    splits: int = 0


def time_graph(torch: Any, launches: Sequence[Launch], seconds: float) -> float:
    """Seconds of a launch: the median over replays of a graph of all of them, one after the other."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        launches[0]()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for launch in launches:
            launch()
    graph.replay()
    torch.cuda.synchronize()
    samples: list[float] = []
    while sum(samples) < seconds or len(samples) < 3:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        samples.append(start.elapsed_time(end) / 1e3)
    return statistics.median(samples) / len(launches)


def copy_bandwidth(gpu: GPU) -> float:
    """Bytes that a copy on the device reads and writes in a second."""
    source = gpu.arrays.random_bytes((COPY_BYTES,))
    target = gpu.arrays.full((COPY_BYTES,), 0, "u8")

    def copy() -> None:
        target[:] = source

    return 2 * COPY_BYTES / time_graph(gpu.torch, [copy] * LEAST_LAUNCHES, COPY_SECONDS)


class Pool:
    """Memory full of tokens of a format, of which caches are parts."""

    def __init__(self, gpu: GPU, fmt: Format, plan: Plan, most_bytes: int) -> None:
        self._format, self._plan = fmt, plan
        per_token = fmt.bytes_per_token(plan.kv_heads, plan.head_dim)
        tokens = max(most_bytes // per_token, 1)
        chunk = min(tokens, CHUNK_TOKENS)
        parts = gpu.arrays.random_cache(fmt, (1, plan.kv_heads, chunk, plan.head_dim))
        flat = [part.reshape(-1) for part in parts]
        self._parts = [part.repeat(tokens // chunk) for part in flat]

    def bytes(self, batch: int, tokens: int) -> int:
        """Of the caches of keys and values."""
        return 2 * batch * tokens * self._format.bytes_per_token(self._plan.kv_heads, self._plan.head_dim)

    def caches(self, batch: int, tokens: int, most_bytes: int) -> Iterator[tuple[list[Any], list[Any]]]:
        """Pairs of caches that share nothing, of so many bytes together or as many as fit, of one pair at least; none
        where that does not fit."""
        begins, taken = [0] * len(self._parts), 0
        shape = (batch, self._plan.kv_heads, tokens, self._plan.head_dim)
        while taken < max(most_bytes, 1):
            pair: tuple[list[Any], list[Any]] = ([], [])
            for side in pair:
                for index, (extents, _) in enumerate(self._format.components(*shape)):
                    size = math.prod(extents)
                    if begins[index] + size > len(self._parts[index]):
                        return
                    side.append(self._parts[index][begins[index] : begins[index] + size].reshape(extents))
                    begins[index] += -(-size // ALIGNMENT) * ALIGNMENT
            yield pair
            taken += self.bytes(batch, tokens)


class Bench:
    """The measurements of a plan."""

    def __init__(self, gpu: GPU, plan: Plan, load: Callable[[str], Any], seconds: float) -> None:
        self._gpu, self._plan, self._load, self._seconds = gpu, plan, load, seconds
        self._torch = gpu.torch
        self._l2 = self._torch.cuda.get_device_properties(0).L2_cache_size
        self.copy = copy_bandwidth(gpu)

    def _cold(self, pairs: Iterator[Any]) -> list[Any]:
        """Pairs of caches, as often as needed for a graph."""
        found = [pair for pair, _ in zip(pairs, range(MOST_COPIES), strict=False)]
        return found * -(-LEAST_LAUNCHES // len(found)) if found else []

    def _query(self, batch: int, group: int) -> tuple[Any, Any]:
        heads, dim = self._plan.kv_heads, self._plan.head_dim
        arrays = self._gpu.arrays
        return arrays.normal((batch, heads * group, 1, dim)), arrays.full((batch, heads * group, 1, dim), 0, "f32")

    def pool(self, fmt: Format, tokens: Sequence[int], batches: Sequence[int]) -> Pool:
        """Room for the largest caches that fit, and for as many small ones as are needed to be cold."""
        self._torch.cuda.empty_cache()
        free = int(MEMORY_SHARE * self._torch.cuda.mem_get_info()[0])
        largest = 2 * max(batches) * max(tokens) * fmt.bytes_per_token(self._plan.kv_heads, self._plan.head_dim)
        return Pool(self._gpu, fmt, self._plan, min(free, largest + 2 * COLD * self._l2))

    def decode(self, pool: Pool, fmt: Format, batch: int, group: int, tokens: int) -> Measured | None:
        """With the number of splits that is fastest; None where the caches do not fit."""
        pairs = self._cold(pool.caches(batch, tokens, COLD * self._l2))
        if not pairs:
            return None
        q, out = self._query(batch, group)
        lengths = self._gpu.arrays.array([tokens] * batch, "i64")
        found = []
        for splits in self._plan.splits[batch]:
            call = self._load(Kernel("attention", fmt.name, batch, group, splits).name)
            launches = [call([q, *k, *v, lengths, out]) for k, v in pairs]
            found.append((time_graph(self._torch, launches, self._seconds), splits))
        seconds, splits = min(found)
        share = pool.bytes(batch, tokens) / seconds / self.copy
        return Measured("decode", fmt.name, batch, group, tokens, seconds, share, splits)

    def sdpa(self, pool: Pool, batch: int, group: int, tokens: int) -> Measured | None:
        """PyTorch's attention over f16, with the queries of a KV head as its query tokens, so that it reads keys once."""
        pairs = self._cold((k[0], v[0]) for k, v in pool.caches(batch, tokens, COLD * self._l2))
        if not pairs:
            return None
        q = self._gpu.arrays.normal((batch, self._plan.kv_heads, group, self._plan.head_dim))
        attend = self._torch.nn.functional.scaled_dot_product_attention
        launches = [lambda k=k, v=v: attend(q, k, v) for k, v in pairs]
        seconds = time_graph(self._torch, launches, self._seconds)
        return Measured("sdpa", "f16", batch, group, tokens, seconds, pool.bytes(batch, tokens) / seconds / self.copy)

    def append(self, pool: Pool, fmt: Format, batch: int) -> Measured | None:
        """One token of each sequence to one cache."""
        pairs = self._cold(pool.caches(batch, APPEND_TOKENS, COLD * self._l2))
        if not pairs:
            return None
        arrays = self._gpu.arrays
        x = arrays.normal((batch, self._plan.kv_heads, 1, self._plan.head_dim))
        counts = arrays.array([APPEND_TOKENS - 1] * batch, "i64"), arrays.array([1] * batch, "i64")
        call = self._load(Kernel("append", fmt.name, batch).name)
        launches = [call([x, *cache, *counts]) for cache, _ in pairs]
        return Measured("append", fmt.name, batch, 0, APPEND_TOKENS, time_graph(self._torch, launches, self._seconds))

    def unfused(self, pool: Pool, fmt: Format, batch: int, group: int, tokens: int, splits: int) -> Measured | None:
        """Both caches rebuilt as f16, then attention over that."""
        pairs = self._cold(pool.caches(batch, tokens, COLD * self._l2))
        shape = (batch, self._plan.kv_heads, tokens, self._plan.head_dim)
        if not pairs or 4 * math.prod(shape) > MEMORY_SHARE * self._torch.cuda.mem_get_info()[0]:
            return None
        q, out = self._query(batch, group)
        lengths = self._gpu.arrays.array([tokens] * batch, "i64")
        rows = [self._gpu.arrays.full(shape, 0, "f16") for _ in range(2)]
        rebuild = self._load(Kernel("rebuild", fmt.name, batch).name)
        attend = self._load(Kernel("attention", "f16", batch, group, splits).name)([q, *rows, lengths, out])
        steps = [[rebuild([*side, lengths, lengths, into]) for side, into in zip(pair, rows, strict=True)] for pair in pairs]
        launches = [lambda step=step: [launch() for launch in (*step, attend)] for step in steps]
        return Measured("unfused", fmt.name, batch, group, tokens, time_graph(self._torch, launches, self._seconds))

    def run(self, formats: Sequence[str], tokens: Sequence[int], progress: Callable[[Measured], None]) -> list[Measured]:
        """All of it, the formats one after the other: the memory of one is that of the next."""
        plan, found = self._plan, []

        def add(measured: Measured | None) -> None:
            if measured:
                found.append(measured)
                progress(measured)

        for name in formats:
            fmt = FORMATS[name]
            pool = self.pool(fmt, tokens, list(plan.splits))
            for batch in plan.splits:
                for group in plan.groups:
                    for each in tokens:
                        add(self.decode(pool, fmt, batch, group, each))
                        if fmt.is_exact:
                            add(self.sdpa(pool, batch, group, each))
                add(self.append(pool, fmt, batch))
                if not fmt.is_exact:
                    add(self.unfused(pool, fmt, batch, plan.groups[0], min(tokens[-1], 32768), plan.splits[batch][-1]))
            del pool
        return found
