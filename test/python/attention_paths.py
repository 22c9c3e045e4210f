"""The paths that one attention may take through compiled code: how caches are stored, and how attention is called.

`PATHS` x `MODES` all work on sequences of the same lengths and heads, so that the tests of all faults share a kernel for
each. `BLOCK_PATHS` are those that tensor cores of GPUs take, `GPU_MODES` calls of kernels for GPUs, on the emulator: for
paths of both kinds.
"""

from __future__ import annotations

import itertools
import zlib
from dataclasses import dataclass, field, replace

import kvq_mlir as kvq
import numpy as np
from kvq_mlir import reference
from kvq_mlir.devices import ORDERS
from kvq_mlir.metrics import relative_l2

LENGTHS = np.array([0, 1, 63, 64, 65, 255, 257])
BATCH, HEADS, RATIO, TOKENS = len(LENGTHS), 2, 3, 257
BY_CHANNEL = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"
BY_TOKEN = "codes = i4, group = [1, 32], scale = f16"
BYTES = "codes = i8, group = [1, *], scale = f32"


@dataclass(frozen=True)
class Path:
    """How keys and values are stored; without values these are channels of the keys' rows. windows: of both caches."""

    keys: str
    values: str | None
    dim: int = 64
    windows: dict[str, int] = field(default_factory=dict)
    value_channels: tuple[int, int] | None = None

    def make(self, batch: int, capacity: int, fill: int, heads: int = HEADS, **where) -> list[kvq.Cache]:
        arguments = dict(fill=fill, **self.windows, **where)
        return [kvq.Cache(batch, heads, capacity, self.dim, fmt, **arguments) for fmt in self.formats]

    @property
    def formats(self) -> list[kvq.Format | kvq.Segments]:
        return [parsed(text) for text in (self.keys, self.values) if text is not None]


def parsed(text: str) -> kvq.Format | kvq.Segments:
    return kvq.Segments(text) if text.startswith("[") else kvq.Format(text)


def with_layout(text: str, layout: str) -> str:
    return f"{text}, layout = #kvq.layout<{layout}>"


BLOCK_KEYS = with_layout("codes = ui2, group = [32, 1], scale = f16, zero = min f16", "codes = stream, block = [16, 1]")
BLOCK_VALUES = with_layout(
    "codes = ui8, group = [16, 16], scale = f16, zero = point ui8", "block = [16, *], row = [scale, zero, codes]"
)
PATHS = {
    "planar": Path(BY_CHANNEL, BY_TOKEN),
    "bytes": Path(BYTES, BYTES),
    "records": Path(with_layout(BY_TOKEN, "bias, record = [scale, codes]"), with_layout(BYTES, "record = [scale, codes]")),
    "rows": Path(with_layout(BYTES, "row = [codes, scale]"), with_layout(BY_TOKEN, "codes = stream, row = [scale, codes]")),
    "blocks": Path(BLOCK_KEYS, BLOCK_VALUES),
    "tiles": Path(
        with_layout(BY_TOKEN, "codes = planar, tile = channel_pairs<64>"),
        with_layout(BYTES, "codes = planar, tile = token_pairs<64>"),
    ),
    "crossed tiles": Path(
        with_layout(BYTES, "codes = planar, tile = token_pairs<16>"),
        with_layout(BY_TOKEN, "codes = planar, bias, tile = channel_pairs<16>"),
    ),
    "windows": Path(BY_CHANNEL, with_layout(BYTES, "record = [scale, codes]"), windows=dict(exact_first=3, recent=9)),
    "pages": Path(BYTES, BY_CHANNEL, windows=dict(page=64)),
    "ring": Path(BY_TOKEN, BY_CHANNEL, windows=dict(ring=300, keep_first=4)),
    "ring of pages": Path(BYTES, BY_TOKEN, windows=dict(ring=300, keep_first=4, page=16)),
    "latent": Path("codes = i8, group = [1, 32], scale = f16", None, 96, value_channels=(0, 64)),
    "segments": Path(
        "[0:64] = #kvq.format<codes = i8, group = [1, 32], scale = f16>, [64:96] = none",
        None,
        96,
        value_channels=(0, 64),
    ),
    "exact and codes": Path("codes = none", BYTES),
    "tables and codes": Path(BYTES, "codes = #kvq.codebook<nf4>, group = [1, 32], scale = f16"),
}
BIASED = with_layout("codes = i8, group = [1, *], scale = f16", "codes = planar, bias")
BLOCK_PATHS = {
    "biased bytes": Path(BIASED, "codes = ui8, group = [1, *], scale = bf16, zero = min bf16"),
    "bytes by token": Path(BYTES, "codes = i8, group = [1, 32], scale = f16"),
    "nibbles": Path("codes = ui4, group = [1, *], scale = f32, zero = point f32", with_layout(BY_TOKEN, "bias"), 128),
    "nibbles by channel": Path(BY_CHANNEL, "codes = i4, group = [1, *], scale = f16"),
    "twos": Path(
        "codes = ui2, group = [16, 32], scale = bf16, zero = point f16", "codes = i2, group = [1, *], scale = f16", 128
    ),
    "floats": Path("codes = f8E4M3FN, group = [1, *], scale = f32", "codes = f8E5M2, group = [1, *], scale = f32"),
    "exact": Path("codes = none", "codes = none"),
    "windows of blocks": Path(BY_CHANNEL, BIASED, windows=dict(exact_first=3, recent=9)),
    "pages of blocks": Path(BYTES, "codes = ui4, group = [1, *], scale = f16, zero = min f16", windows=dict(page=48)),
    "tokens before heads": Path(
        with_layout("codes = i4, group = [1, *], scale = f16", "codes = stream"), BIASED, windows=dict(token_major=True)
    ),
}


@dataclass(frozen=True)
class Mode:
    """How attention is called; of which chip's kernels, on the emulator, if not on this processor."""

    queries: int = 1
    options: dict[str, object] = field(default_factory=dict)
    chip: str | None = None

    def goes_with(self, path: Path) -> bool:
        """Whether a side has codes for the query's integers."""
        return "query_codes" not in self.options or any(fmt.has_integer_codes for fmt in path.formats)

    @property
    def tolerance(self) -> float:
        """Relative L2, of each sequence."""
        return {None: 2e-3 if self.chip else 1e-5, "i16": 3e-4, "i8": 3e-2}[self.options.get("query_codes")]

    def device(self, q: np.ndarray) -> kvq.Emulator | None:
        """With an order of threads that q decides."""
        seed = zlib.crc32(q.tobytes())
        return kvq.Emulator(self.chip, ORDERS[seed % len(ORDERS)], seed) if self.chip else None


MODES = {
    "plain": Mode(),
    "splits": Mode(2, dict(splits=3)),
    "threads": Mode(1, dict(threads=2, splits=2)),
    "i16": Mode(1, dict(query_codes="i16")),
    "i8": Mode(2, dict(query_codes="i8", splits=2)),
    "many queries": Mode(18),
    "many queries, i16": Mode(17, dict(query_codes="i16", splits=2)),
}
CHIPS = ("sm_80", "sm_89", "sm_90a")
CALLS = {
    "plain": Mode(),
    "splits": Mode(2, dict(splits=3)),
    "more splits": Mode(1, dict(splits=8)),
    "many queries": Mode(9),
}
GPU_MODES = {
    f"{name}, {chip}": replace(mode, chip=chip) for (name, mode), chip in itertools.product(CALLS.items(), CHIPS)
} | {"i16, sm_80": Mode(1, dict(query_codes="i16"), "sm_80")}


def draw(rng: np.random.Generator, path: Path, batch: int = BATCH, heads: int = HEADS, tokens: int = TOKENS) -> np.ndarray:
    """What keys and values are made of: [2, batch, heads, tokens, dim] f16, of which every half is exact."""
    x = rng.standard_normal((2, batch, heads, tokens, path.dim)).astype(np.float16)
    return np.where(np.abs(x) < 2**-10, np.float16(2**-10), x)


def fill(
    path: Path, x: np.ndarray, lengths: np.ndarray = LENGTHS, byte: int = 0xFF, capacity: int = TOKENS + 40, **where
) -> list[kvq.Cache]:
    """Caches that hold the first `lengths` tokens of x, appended in two parts; the padding is NaN."""
    caches = path.make(x.shape[1], capacity, byte, x.shape[2], **where)
    done = np.zeros(len(lengths), int)
    for end in (lengths // 3, lengths):
        extend(caches, x, done, end)
        done = end
    return caches


def extend(caches: list[kvq.Cache], x: np.ndarray, begin: np.ndarray, end: np.ndarray) -> None:
    """Appends tokens [begin, end) of x."""
    counts = end - begin
    for cache, side in zip(caches, x, strict=False):
        part = np.full((*side.shape[:2], max(1, counts.max()), side.shape[3]), np.nan, np.float16)
        for b, count in enumerate(counts):
            part[b, :, :count] = side[b, :, begin[b] : end[b]]
        cache.append(part, counts.tolist())


def attend(path: Path, mode: Mode, q: np.ndarray, caches: list[kvq.Cache], **options) -> tuple[np.ndarray, np.ndarray]:
    """Output and log-sum-exp, into arrays that hold NaN before."""
    k, v = caches if len(caches) == 2 else (caches[0], None)
    channels = path.value_channels
    out = np.full((*q.shape[:3], channels[1] - channels[0] if channels else v.head_dim), np.nan, np.float32)
    options = dict(value_channels=channels, device=mode.device(q)) | mode.options | options
    return kvq.attention(q, k, v, out=out, return_lse=True, **options)


def queries(rng: np.random.Generator, path: Path, mode: Mode, batch: int = BATCH, heads: int = HEADS * RATIO) -> np.ndarray:
    return rng.standard_normal((batch, heads, mode.queries, path.dim)).astype(np.float32)


def held(caches: list[kvq.Cache]) -> list[list[np.ndarray]]:
    """Keys and values as they are stored, float64."""
    sides = [[part[:, :n] for part, n in zip(cache.dequantize().astype(np.float64), cache.lengths)] for cache in caches]
    return sides if len(sides) == 2 else sides * 2


def expect(path: Path, q: np.ndarray, caches: list[kvq.Cache], **options) -> np.ndarray:
    return reference.attention(q, *held(caches), value_channels=path.value_channels, **options)


def check(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Each sequence by itself: a short one is not hidden by a long one."""
    for b, (a, e) in enumerate(zip(found, expected, strict=True)):
        if not e.any():
            assert not a.any() and not np.isnan(a).any(), b
        else:
            error = relative_l2(a, e)
            assert error <= tolerance, (b, error)


def half_errors(q: np.ndarray, caches: list[kvq.Cache], path: Path) -> list[float]:
    """Relative L2, of each sequence, of attention whose query, keys, values and probabilities are rounded to f16: of who
    dequantizes a cache first."""
    errors = []
    for b, (k, v) in enumerate(zip(*held(caches), strict=True)):
        length, scale = k.shape[1], 1 / np.sqrt(q.shape[-1])
        channels = path.value_channels or (0, v.shape[-1])
        outs = []
        for round_ in (np.float64, np.float16):
            rows = [np.asarray(side, round_).astype(np.float64) for side in (q[b], k, v[..., slice(*channels)])]
            heads = rows[0].reshape(len(k), -1, *q.shape[2:])
            scores = scale * np.einsum("hrqd,htd->hrqt", heads, rows[1])
            seen = np.arange(length) < length - q.shape[2] + 1 + np.arange(q.shape[2])[:, None]
            scores = np.where(seen, scores, -np.inf)
            largest = np.maximum(scores.max(axis=-1, keepdims=True, initial=-np.inf), -1e300)
            p = np.exp(scores - largest)
            sums = np.maximum(p.sum(axis=-1, keepdims=True), 1e-300)
            outs.append(np.einsum("hrqt,htd->hrqd", np.asarray(p, round_).astype(np.float64), rows[2]) / sums)
        errors.append(relative_l2(outs[1], outs[0]) if outs[0].any() else 0.0)
    return errors
