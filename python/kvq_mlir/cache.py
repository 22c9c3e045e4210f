"""One side (keys or values) of one layer's KV cache."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from . import _kvq
from .compiler import kernel
from .format import DTYPES, Format
from .ir import append as _append_ir
from .ir import rebuild as _rebuild_ir

_ELEMENT_TEXTS = {np.dtype(np.float16): "f16", np.dtype(np.float32): "f32"}


def element_text(name: str, x: np.ndarray) -> str:
    """MLIR's name of an array's type, "f16" or "f32"; TypeError for another."""
    text = _ELEMENT_TEXTS.get(x.dtype) if isinstance(x, np.ndarray) else None
    if text is None:
        found = x.dtype if isinstance(x, np.ndarray) else type(x).__name__
        raise TypeError(f"expected {name} as an array of float16 or float32, got {found}")
    return text


def check_type(name: str, value: object, expected: type) -> None:
    """TypeError where an argument is of another type."""
    if not isinstance(value, expected):
        raise TypeError(f"expected {name} as a kvq_mlir.{expected.__name__}, got {type(value).__name__}")


def cache_type(
    batch: int,
    kv_heads: int,
    capacity: int | str,
    head_dim: int,
    fmt: Format,
    dtype: str = "f16",
    exact_first: int = 0,
    recent: int = 0,
) -> str:
    """The text of the cache's type, "!kvq.cache<...>"; a capacity of "?" leaves it open."""
    windows = f", exact_first = {exact_first}" if exact_first else ""
    if has_window(fmt, recent):
        windows += f", recent = {recent}"
    return f"!kvq.cache<{batch}x{kv_heads}x{capacity}x{head_dim}x{dtype}, #kvq.format<{fmt}>{windows}>"


def has_window(fmt: Format, recent: int) -> bool:
    """Whether the newest tokens wait exact, by choice or until their group is full."""
    return recent + fmt.tokens > 1


def _allocate(shape: tuple[int, ...], dtype: np.dtype, alignment: int, fill: int | None) -> np.ndarray:
    """An array whose start is aligned, every byte of it `fill`, or unwritten."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + alignment, np.uint8)
    start = -raw.ctypes.data % alignment
    data = raw[start : start + size]
    if fill is not None:
        data[:] = fill
    return data.view(dtype).reshape(shape)


class Cache:
    """Up to `capacity` tokens of `batch` sequences, each token [kv_heads, head_dim].

    fmt: the format of quantized tokens. dtype: "f16" or "f32", what exact tokens hold and what values are rounded to
    before they are quantized. exact_first: how many tokens at the start stay exact. recent: how many of the newest
    tokens stay exact at least; with groups of n tokens up to n - 1 more wait until their group is full.
    fill: a byte that memory holds before it is written; by default it is left as the allocator gives it. No result
    depends on it.

    Attributes: batch, kv_heads, capacity, head_dim, format, dtype, exact_first and recent as given; type, the MLIR
    type; dynamic_type, the same for any capacity; has_window, whether it has a recent window (recent + n > 1).

    Raises `Error`, a ValueError, with what was expected and found, for sizes below 1 (below 0 for capacity, exact_first
    and recent), another dtype, and a type that is not valid (a group that does not divide head_dim, say); TypeError if
    fmt is no Format; MemoryError where there is not enough.
    """

    def __init__(
        self,
        batch: int,
        kv_heads: int,
        capacity: int,
        head_dim: int,
        fmt: Format,
        dtype: str = "f16",
        exact_first: int = 0,
        recent: int = 0,
        *,
        fill: int | None = None,
    ) -> None:
        check_type("fmt", fmt, Format)
        sizes = {"batch": batch, "kv_heads": kv_heads, "head_dim": head_dim}
        for name, size in sizes.items():
            if size < 1:
                raise _kvq.Error(f"expected {name} of at least 1, got {size}")
        for name, size in {"capacity": capacity, "exact_first": exact_first, "recent": recent}.items():
            if size < 0:
                raise _kvq.Error(f"expected {name} of at least 0, got {size}")
        if dtype not in ("f16", "f32"):
            raise _kvq.Error(f"expected dtype 'f16' or 'f32', got '{dtype}'")
        self.batch, self.kv_heads, self.capacity, self.head_dim = batch, kv_heads, capacity, head_dim
        self.format, self.dtype, self.exact_first, self.recent = fmt, dtype, exact_first, recent
        self.has_window = has_window(fmt, recent)
        self.type, self.dynamic_type = (  # one kernel serves every capacity
            cache_type(batch, kv_heads, tokens, head_dim, fmt, dtype, exact_first, recent) for tokens in (capacity, "?")
        )
        self._storage = {
            name: _allocate(shape, self._dtype(name, element), alignment, fill)
            for name, shape, element, alignment in _kvq.cache_components(self.type, capacity)
        }
        self._arrays = tuple(self._storage.values())
        self._lengths = np.zeros(batch, np.int64)
        self._flushed = np.zeros(batch, np.int64)

    def _dtype(self, component: str, element: str) -> np.dtype:
        """NumPy's type of a component. Integers in tensors have no sign, zero points have."""
        return DTYPES[self.format.zero if component == "zeros" else element]

    def __repr__(self) -> str:
        return f"<Cache {self.type} lengths={self._lengths.tolist()}>"

    @property
    def lengths(self) -> np.ndarray:
        """Tokens held by each sequence, int64 [batch]; a copy."""
        return self._lengths.copy()

    @property
    def flushed(self) -> np.ndarray:
        """Quantized tokens of each sequence, int64 [batch]; a copy. 0 for exact formats."""
        return self._flushed.copy()

    @property
    def nbytes(self) -> int:
        """Bytes of all storage."""
        return sum(array.nbytes for array in self._arrays)

    def storage(self) -> dict[str, np.ndarray]:
        """The arrays that the cache is stored in, by component; not copies.

        In order, each where it is needed, with r quantized rows: codes int8 [batch, kv_heads, r, head_dim*bits/8] (for
        exact formats values [batch, kv_heads, r, head_dim] of the dtype instead), scales and zeros
        [batch, kv_heads, r/n, head_dim/g], first [batch, kv_heads, exact_first, head_dim], recent
        [batch, kv_heads, recent+n-1, head_dim]. Rows of tokens that are not there yet hold any bytes.
        bf16 and 8-bit floats show as their bits.
        """
        return dict(self._storage)

    def append(self, x: np.ndarray, counts: Sequence[int] | None = None) -> None:
        """Quantizes and stores new tokens x [batch, kv_heads, tokens, head_dim], float16 or float32.

        counts: how many of them belong to each sequence, the first ones; the rest is padding and is not read. Default:
        all. Raises `Error`, a ValueError, with what was expected and found, and writes nothing then: for a wrong shape,
        counts beyond the tokens, a sequence that would outgrow the capacity. TypeError for another dtype.
        """
        element = element_text("the tokens", x)
        new = self._check_tokens(x, counts)
        compiled = kernel(
            _append_ir.append,
            (self.batch, self.kv_heads, self.head_dim),
            element,
            self.dynamic_type,
            self.has_window,
        )
        flushed = (self._flushed,) if self.has_window else ()
        compiled.invoke("append", (np.ascontiguousarray(x), *self._arrays, self._lengths, *flushed, new))
        self._lengths += new
        if not self.format.is_exact:
            n = self.format.tokens
            beyond = np.maximum(self._lengths - self.exact_first - self.recent, 0)
            np.maximum(self._flushed, beyond // n * n, out=self._flushed)

    def _check_tokens(self, x: np.ndarray, counts: Sequence[int] | None) -> np.ndarray:
        """The new tokens of each sequence, int64; `Error` where they do not fit."""
        expected = (self.batch, self.kv_heads, "tokens", self.head_dim)
        if x.ndim != 4:
            raise _kvq.Error(f"expected tokens as [batch, kv_heads, tokens, head_dim], got {x.ndim} axes")
        if (x.shape[0], x.shape[1], x.shape[3]) != (self.batch, self.kv_heads, self.head_dim):
            raise _kvq.Error(f"expected tokens of shape [{', '.join(map(str, expected))}], got {list(x.shape)}")
        tokens = x.shape[2]
        if counts is None:
            new = np.full(self.batch, tokens, np.int64)
        else:
            new = np.asarray(counts)
            if new.shape != (self.batch,) or new.dtype.kind not in "iu":
                raise _kvq.Error(f"expected {self.batch} integer counts, got {new.dtype} of shape {new.shape}")
            new = new.astype(np.int64)
        for b, (count, length) in enumerate(zip(new.tolist(), self._lengths.tolist(), strict=True)):
            if not 0 <= count <= tokens:
                raise _kvq.Error(f"sequence {b}: expected a count from 0 to the {tokens} tokens given, got {count}")
            if length + count > self.capacity:
                raise _kvq.Error(
                    f"cache full: sequence {b} holds {length} tokens and cannot take {count} more, "
                    f"its capacity is {self.capacity}"
                )
        return new

    def dequantize(self, out: np.ndarray | None = None) -> np.ndarray:
        """All tokens as float32 [batch, kv_heads, longest length, head_dim], zero beyond each sequence's length.

        Rebuilt by compiled code from the storage; exact tokens are converted too. Returns `out`, C-contiguous, if it is
        given, else a new array. Raises `Error`, a ValueError, if `out` is of another shape or type, or not C-contiguous
        and writable.
        """
        longest = int(self._lengths.max())
        shape = (self.batch, self.kv_heads, longest, self.head_dim)
        if out is None:
            out = np.empty(shape, np.float32)
        elif out.shape != shape or out.dtype != np.float32:
            raise _kvq.Error(f"expected out as float32 of shape {shape}, got {out.dtype} of shape {out.shape}")
        compiled = kernel(
            _rebuild_ir.rebuild,
            (self.batch, self.kv_heads, self.head_dim, self.dtype),
            self.dynamic_type,
            str(self.format),
            (self.format.tokens, self.format.scale, self.format.zero_element, self._groups()),
            (self.exact_first > 0, self.has_window),
            self.exact_first,
        )
        # An exact format keeps its tokens where others keep codes.
        coded = self._lengths if self.format.is_exact else self._flushed
        compiled.invoke("rebuild", (*self._arrays, self._lengths, coded, out))
        for b, length in enumerate(self._lengths.tolist()):
            out[b, :, length:] = 0
        return out

    def _groups(self) -> int:
        """Scales in a row; 0 for exact formats."""
        return 0 if self.format.is_exact else self._storage["scales"].shape[3]
