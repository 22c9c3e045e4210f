"""Fused attention over caches, one compiled kernel per signature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import _kvq
from .arguments import Array, check_threads, check_type, element_text, on, operand, output_array
from .cache import Cache
from .compiler import kernel
from .cuda_arrays import Taken
from .devices import Cuda, Device, find_device, name_of, name_of_memory
from .format import Segments
from .ir import attention as _ir
from .rope import Tables, check_rope, on_place
from .schedule import Schedule, schedules_in_use

_LARGEST = float(np.finfo(np.float32).max)


def _check_shapes(q: Array, k: Cache, v: Cache) -> None:
    """`Error` where shapes or lengths disagree."""
    if q.ndim != 4:
        raise _kvq.Error(f"expected q as [batch, q_heads, q_len, dim], got {q.ndim} axes")
    batch, q_heads, _, dim = q.shape
    if k.batch != v.batch:
        raise _kvq.Error(f"the K cache has batch {k.batch}, the V cache {v.batch}")
    if k.kv_heads != v.kv_heads:
        raise _kvq.Error(f"the K cache has {k.kv_heads} KV heads, the V cache {v.kv_heads}")
    if batch != k.batch:
        raise _kvq.Error(f"expected q with the caches' batch {k.batch}, got {batch}")
    if dim != k.head_dim:
        raise _kvq.Error(f"expected q with the K cache's head_dim {k.head_dim}, got {dim}")
    if q_heads == 0 or q_heads % k.kv_heads:
        raise _kvq.Error(f"{q_heads} query heads are not a multiple of {k.kv_heads} KV heads")
    if (k.ring, k.keep_first) != (v.ring, v.keep_first):
        rings = (f"ring = {side.ring}, keep_first = {side.keep_first}" for side in (k, v))
        raise _kvq.Error("the K cache has {}, the V cache {}: they keep other tokens".format(*rings))
    if k.ring is not None and k.keep_first + q.shape[2] > k.ring:
        raise _kvq.Error(
            f"{q.shape[2]} queries beside keep_first = {k.keep_first} need a ring of at least "
            f"{k.keep_first + q.shape[2]} tokens, got {k.ring}"
        )
    if k._lengths is not v._lengths and k._lengths.tobytes() != v._lengths.tobytes():
        raise _kvq.Error(
            f"lengths disagree: the K cache holds {k.lengths.tolist()} tokens, the V cache {v.lengths.tolist()}"
        )


def find_device_of_call(device: str | Device | None, q: Any, k: Cache, v: Cache) -> Device | None:
    """Where a call runs, on which stream; `Error` unless the caches are there."""
    found = find_device(device, k.device)
    if isinstance(found, Cuda) and isinstance(k.device, Cuda) and found.ordinal is None:
        found = replace(found, ordinal=k.device.ordinal)
    for name, side in (("K", k), ("V", v)):
        if name_of_memory(found) != name_of_memory(side.device):
            raise _kvq.Error(
                f"expected a {name} cache in the memory of '{name_of(found)}', got one in that of "
                f"'{name_of(side.device)}'; Cache.to() makes copies"
            )
    return found.for_array(q) if isinstance(found, Cuda) else found


def _check_sides(k: Cache, v: Cache | None) -> None:
    """`Error` where a cache is made for something else."""
    if k.side == "values" or (v is not None and v.side == "keys"):
        raise _kvq.Error(
            f"expected caches made for keys and for values, got sides {k.side!r} and {v and v.side!r}"
        )
    if v is None and k.side is not None:
        raise _kvq.Error(f"expected a cache for either side where rows hold keys and values, got side {k.side!r}")


def _number(name: str, value: float, positive: bool = False) -> float:
    """A float that is finite in float32."""
    value = float(value)
    if not (abs(value) * math.log2(math.e) <= _LARGEST and (value > 0 or not positive)):  # times log2(e), in f32
        raise _kvq.Error(f"expected, in float32, a {'positive, ' * positive}finite {name}, got {value}")
    return value


def _check_range(name: str, value: int, least: int) -> int:
    if value < least:
        raise _kvq.Error(f"expected {name} of at least {least} token{'s' * (least != 1)}, got {value}")
    return int(value)


def _window(window: int | None, first: int) -> tuple[int, int] | None:
    if window is None:
        if first:
            raise _kvq.Error(f"window_first = {first} is given without a window")
        return None
    return _check_range("a window", window, 1), _check_range("window_first", first, 0)


def _channels(v: Cache, channels: tuple[int, int] | None) -> tuple[int, int] | None:
    if channels is None:
        return None
    begin, end = channels
    if not 0 <= begin < end <= v.head_dim:
        raise _kvq.Error(f"expected value_channels within {v.head_dim} channels of a row, got [{begin}, {end}]")
    return int(begin), int(end)


def _per_head(name: str, values: np.ndarray | None, heads: int, device: Device | None) -> Any:
    """float32 [heads]."""
    if values is None:
        return None
    if isinstance(device, Cuda) and _is_on_gpu(values):
        taken = on(device, name, values)
        if (taken.shape, taken.element) != ((heads,), "f32"):
            raise _kvq.Error(
                f"expected {name} as f32 of shape [{heads}], one for each query head, got {taken.element} of shape "
                f"{list(taken.shape)}"
            )
        return taken.array
    values = np.ascontiguousarray(values, np.float32)
    if values.shape != (heads,):
        raise _kvq.Error(f"expected {name} of shape [{heads}], one for each query head, got {list(values.shape)}")
    return values


def _is_on_gpu(x: Any) -> bool:
    """Whether an argument that may be of the host is an array of another package."""
    return not isinstance(x, np.ndarray | Sequence)


def _positions(positions: Sequence[int] | np.ndarray | None, batch: int, device: Device | None) -> Any:
    if positions is None:
        return None
    if isinstance(device, Cuda) and _is_on_gpu(positions):
        taken = on(device, "positions", positions)
        if (taken.shape, taken.element) != ((batch,), "i64"):
            raise _kvq.Error(
                f"expected positions as {batch} of i64, one for each sequence, got {taken.element} of shape "
                f"{list(taken.shape)}"
            )
        return taken.array
    positions = np.asarray(positions)
    if positions.dtype.kind not in "iu" or positions.shape != (batch,):
        raise _kvq.Error(
            f"expected positions as {batch} integers, one for each sequence, "
            f"got {positions.dtype} of shape {list(positions.shape)}"
        )
    if batch and positions.min() < 0:
        raise _kvq.Error(f"expected positions of at least 0, got {positions.tolist()}")
    return np.ascontiguousarray(positions, np.int64)


def _mask(mask: Array | None, q: Array, lengths: np.ndarray) -> tuple[Any, str, tuple[int, int]] | None:
    """The mask as kernels take it, its element type, and its first two extents; TypeError for another type."""
    if mask is None:
        return None
    is_bool = mask.element == "i1" if isinstance(mask, Taken) else isinstance(mask, np.ndarray) and mask.dtype == bool
    element = "i8" if is_bool else element_text("mask", mask)
    batch, heads, q_len, _ = q.shape
    if mask.ndim != 4 or mask.shape[0] not in (1, batch) or mask.shape[1] not in (1, heads) or mask.shape[2] != q_len:
        raise _kvq.Error(
            f"expected mask of shape [1 or {batch}, 1 or {heads}, {q_len}, tokens], got {list(mask.shape)}"
        )
    longest = int(lengths.max(initial=0))
    if mask.shape[3] < longest:
        raise _kvq.Error(
            f"expected mask with at least the {longest} tokens of the longest sequence, got {mask.shape[3]}"
        )
    taken = operand(mask)
    return taken.view(np.int8) if is_bool and not isinstance(mask, Taken) else taken, element, mask.shape[:2]


def _query_codes(query_codes: str | None, k: Cache, v: Cache, device: Device | None) -> str | None:
    """`Error` for an unknown type, where no side has codes for it, and for floats on a processor."""
    if query_codes is None:
        return None
    if query_codes not in ("i8", "i16", "f8E4M3FN"):
        raise _kvq.Error(f"expected query_codes 'i8', 'i16', 'f8E4M3FN' or None, got {query_codes!r}")
    formats = [fmt for side in (k, v) for fmt in side.format.formats if not fmt.is_before_rope]  # RoPE turns floats
    if query_codes == "f8E4M3FN":
        needed, found = "codes of f8E4M3FN or f8E5M2", any(fmt.has_fp8_codes for fmt in formats)
    else:
        needed, found = "integer codes", any(fmt.has_integer_codes for fmt in formats)
    if not found:
        raise _kvq.Error(f"query_codes needs {needed} of keys or of values, got '{k.format}' and '{v.format}'")
    if query_codes == "f8E4M3FN" and device is None:
        raise _kvq.Error(
            "expected a GPU of sm_89 or newer for query_codes 'f8E4M3FN', such as device='cuda' or Emulator('sm_89'), "
            "got device='cpu'"
        )
    return query_codes


def _rope(k: Cache, rope: Tables | None, style: str) -> Tables | tuple[()]:
    """The tables that keys are turned by as kernels take them; none for keys that are read as they are."""
    if k.format.is_before_rope != (rope is not None):
        what = "is stored before RoPE (rope = pre): expected" if rope is None else "is read as it is: expected no"
        raise _kvq.Error(f"the K cache {what} tables of RoPE")
    if rope is None:
        if style != "half":
            raise _kvq.Error(f"rope_style {style!r} is given without tables of RoPE")
        return ()
    parts = k.format.parts if isinstance(k.format, Segments) else ((0, k.head_dim, k.format),)
    channels = min(end - begin for begin, end, fmt in parts if fmt.is_before_rope)
    longest = int(k._lengths.max())
    return check_rope(rope, style, channels, longest, f"{longest} tokens")


@dataclass(frozen=True)
class Prepared:
    """A kernel with its arguments. Each call attends again to what their memory holds by then, and returns `result`."""

    compiled: Any
    arguments: tuple[Any, ...]
    threads: int | None
    result: Any

    def __call__(self) -> Any:
        self.compiled.invoke("attention", self.arguments, self.threads)
        return self.result


def attention(
    q: np.ndarray,
    k: Cache,
    v: Cache | None,
    scale: float | None = None,
    causal: bool = True,
    out: np.ndarray | None = None,
    splits: int | None = None,
    threads: int = 1,
    *,
    positions: Sequence[int] | np.ndarray | None = None,
    mask: np.ndarray | None = None,
    slopes: np.ndarray | None = None,
    sinks: np.ndarray | None = None,
    softcap: float | None = None,
    window: int | None = None,
    window_first: int = 0,
    value_channels: tuple[int, int] | None = None,
    rope: Tables | None = None,
    rope_style: str = "half",
    return_lse: bool = False,
    query_codes: str | None = None,
    schedule: Schedule | None = None,
    query_tile: int | None = None,
    device: str | Device | None = None,
) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
    """softmax(scale * q k^T) v over caches that hold the queries' own tokens already.

    q: [batch, q_heads, q_len, dim], float16, bfloat16 or float32. Query head h reads KV head h // (q_heads / kv_heads). scale:
    default 1/sqrt(dim). causal: query i sees the tokens up to its position, otherwise all, as far as the caches still
    hold them. A query that sees no token gives 0.

    positions: of each sequence's first query, which the others follow; default length - q_len, that of the newest
    tokens. window: a query sees the last so many positions up to its own, and beside them the first `window_first`
    tokens. softcap: scores s become softcap * tanh(s / softcap). slopes: [q_heads], ALiBi's; slope * (token - position)
    is added then. mask: [batch or 1, q_heads or 1, q_len, tokens], float, added to scores, or bool, False where a token
    is hidden, for at least as many tokens as the longest sequence has; what a hidden token (-inf or False) holds has no
    influence. sinks: [q_heads], logits that take part in the softmax without a value.

    value_channels: (begin, end) of v's rows that are the values; with v None, of k's rows (MLA).

    query_codes: "i16" or "i8" allows integer dot products, which are faster and less exact (docs/Semantics.md, R38):
    keys with integer codes see the query as such integers, values with integer codes the probabilities as i16. At least
    one side has to have integer codes. "f8E4M3FN" allows tensor cores (sm_89 or newer) to multiply codes of f8E4M3FN and
    f8E5M2 as they are, with the query and the probabilities rounded to f8E4M3FN (R41).
    rope: for keys before RoPE (`rope = pre`), tables (cos, sin) as `rope_tables` makes them, with a row for each position:
    keys are turned as they are read; q is turned already. rope_style: "half" or "interleaved", which channels are turned
    together: c and c + n/2, or 2c and 2c + 1.

    splits: token ranges that are attended to separately and merged in order; the same number gives the same bits, with
    any number of threads. None for 1, or for more where threads would have nothing to do without.
    threads: how many work on the call, each on sequences, KV heads, query tokens and splits of its own. More than one
    needs LLVM's OpenMP library (Debian: libomp5). Calls from several threads at once are fine.
    schedule: how the work is cut, instead of splits; what it leaves open, the cost model chooses, or the schedules of
    `use_schedules`.
    query_tile: query tokens that are attended to together, so that a tile of the caches is read once for all of them;
    default: a power of two, by how many there are. Each number is a kernel of its own. On a GPU it is 1 where a block's
    memory holds no more.

    device: "cpu", "emulator" or "cuda" (also "cuda:1"), an `Emulator` or a `Cuda`, for more to be set; by default where
    the caches are. The emulator of GPUs works on caches of the processor. On a GPU q, mask, out and tables of RoPE are
    arrays on it, of PyTorch, CuPy or what else has `__dlpack__` or `__cuda_array_interface__`; they are used in place, on
    the current stream of q's package or on the stream of `Cuda`, and nothing waits for the stream. Other arguments may be
    of the host. threads and schedules of files are for processors.

    Returns float32 [batch, q_heads, q_len, v_dim]: `out`, C-contiguous, if it is given, else a new array; with
    return_lse also the natural logarithm of the softmax denominator, float32 [batch, q_heads, q_len], -inf where
    nothing is seen and there is no sink.

    Raises `Error`, a ValueError, with what was expected and found, before anything runs; TypeError for another dtype.
    """
    return prepare(**locals())()


def prepare(
    q: np.ndarray,
    k: Cache,
    v: Cache | None,
    scale: float | None = None,
    causal: bool = True,
    out: np.ndarray | None = None,
    splits: int | None = None,
    threads: int = 1,
    *,
    positions: Sequence[int] | np.ndarray | None = None,
    mask: np.ndarray | None = None,
    slopes: np.ndarray | None = None,
    sinks: np.ndarray | None = None,
    softcap: float | None = None,
    window: int | None = None,
    window_first: int = 0,
    value_channels: tuple[int, int] | None = None,
    rope: Tables | None = None,
    rope_style: str = "half",
    return_lse: bool = False,
    query_codes: str | None = None,
    schedule: Schedule | None = None,
    query_tile: int | None = None,
    device: str | Device | None = None,
) -> Prepared:
    """The call that `attention` makes for these arguments, to be made again while the caches hold as many tokens."""
    check_type("k", k, Cache)
    if v is None and value_channels is None:
        raise _kvq.Error("expected v, or value_channels of k's rows")
    if v is not None:
        check_type("v", v, Cache)
    values = k if v is None else v
    device = find_device_of_call(device, q, k, values)
    q, mask = on(device, "q", q), on(device, "mask", mask)
    rope = on_place(rope, device)
    element = element_text("q", q)
    _check_sides(k, v)
    _check_shapes(q, k, values)
    if splits is not None and splits < 1:
        raise _kvq.Error(f"expected at least 1 split, got {splits}")
    check_threads(threads, device)
    if schedule is not None:
        check_type("schedule", schedule, Schedule)
    if schedule is not None and splits is not None:
        raise _kvq.Error(f"expected splits or a schedule, got {splits} and {schedule}")
    if query_tile is not None and query_tile < 1:
        raise _kvq.Error(f"expected a query_tile of at least 1 token, got {query_tile}")
    batch, q_heads, q_len, dim = q.shape
    channels = _channels(values, value_channels)
    value_dim = values.head_dim if channels is None else channels[1] - channels[0]
    if query_tile is None:
        widest = max(dim, value_dim)
        query_tile = _kvq.query_tile(q_len, q_heads // k.kv_heads, widest, on_gpu=device is not None)
    if splits is None and (schedule is None if device else schedules_in_use() is None):
        tokens = min(side.capacity if side.ring is None else side.ring for side in (k, values))
        inside = query_tile == 1 and k.token_major and values.token_major  # a work item takes all heads then
        items = batch * (1 if inside and not device else k.kv_heads) * -(-q_len // query_tile)
        splits = _kvq.choose_splits(items, tokens, device.workers_of_items() if device else threads)
    tables = _rope(k, rope, rope_style)
    out = output_array(out, (batch, q_heads, q_len, value_dim), device, q)
    lse = output_array(None, (batch, q_heads, q_len), device, q) if return_lse else None
    masked = _mask(mask, q, k._lengths)
    extra = {
        "positions": _positions(positions, batch, device),
        "mask": masked and masked[0],
        "slopes": _per_head("slopes", slopes, q_heads, device),
        "sinks": _per_head("sinks", sinks, q_heads, device),
    }
    variant = _ir.Variant(
        scale=_number("scale", 1 / math.sqrt(dim) if scale is None else scale),
        causal=bool(causal),
        positions=positions is not None,
        mask=masked and (*masked[2], masked[1]),
        slopes=slopes is not None,
        sinks=sinks is not None,
        softcap=None if softcap is None else _number("softcap", softcap, positive=True),
        window=_window(window, window_first),
        value_channels=channels,
        rope=(rope[0].shape[1], rope_style) if tables else None,
        lse=return_lse,
        query_codes=_query_codes(query_codes, k, values, device),
        schedule=schedule and str(schedule),
    )
    sides = (k,) if v is None else (k, v)
    compiled = kernel(
        _ir.attention,
        (batch, q_heads, dim),
        element,
        value_dim,
        k.dynamic_type,
        None if v is None else v.dynamic_type,
        (k.has_window, values.has_window),
        variant,
        (k.page is not None, values.page is not None),
        splits=splits,
        query_tile=query_tile,
        openmp=threads > 1,
        threads=threads,
        device=device,
    )
    arguments = [operand(q)]
    arguments += [array for side in sides for array in side._arrays]
    arguments += [k._counts("_lengths"), *(side._counts("_flushed") for side in sides if side.has_window)]
    arguments += [table for side in sides for table in side._tables]
    arguments += [array for array in extra.values() if array is not None]
    arguments += tables
    arguments += [out] if lse is None else [out, lse]
    result = out if lse is None else (out, lse)
    return Prepared(compiled, tuple(arguments), None if threads == 1 else threads, result)
