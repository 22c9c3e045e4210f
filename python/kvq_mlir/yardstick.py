"""The kernel written by hand that compiled ones are measured against: test/bench/Yardstick.cpp, as it was built."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np

from . import _kvq

HEAD_DIM = 128
QUERY_HEADS = (1, 2, 4)  # of a KV head
BLOCKS = {8: ("ggml.q8_0", 34), 4: ("ggml.q4_0", 18)}  # bits of a code: the preset, and bytes of 32 elements
TOKEN_BYTES = {bits: HEAD_DIM // 32 * size for bits, (_, size) in BLOCKS.items()}


class _Side(ctypes.Structure):
    _fields_ = [
        ("rows", ctypes.c_void_p),
        ("sequence_stride", ctypes.c_int64),
        ("head_stride", ctypes.c_int64),
        ("token_stride", ctypes.c_int64),
    ]


@cache
def _library() -> ctypes.CDLL | None:
    """The library, if it was built and this machine has what it needs."""
    path = Path(_kvq.__file__).resolve().parents[2] / "lib" / "KVQYardstick.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return None
    library.kvq_yardstick_is_supported.restype = ctypes.c_bool
    library.kvq_yardstick_attend.restype = ctypes.c_bool
    library.kvq_yardstick_read.restype = ctypes.c_int64
    return library if library.kvq_yardstick_is_supported() else None


def missing() -> str | None:
    """Why there is no yardstick; None where there is one."""
    if _library() is not None:
        return None
    return "no yardstick: KVQYardstick was not built, or for a machine without AVX2, FMA and F16C"


def _side(rows: np.ndarray) -> _Side:
    """Blocks [batch, kv_heads, tokens, bytes], each token's one after the other."""
    if rows.strides[3] != 1:
        raise ValueError(f"expected the bytes of a token side by side, got strides {rows.strides}")
    return _Side(rows.ctypes.data, *rows.strides[:3])


@dataclass(frozen=True)
class Yardstick:
    """Attention of one query token of each sequence over blocks of ggml's q8_0 (bits = 8) or q4_0 (bits = 4).

    query, out: float32 [batch, query heads, 128], C-contiguous. keys, values: uint8 [batch, kv_heads, tokens, bytes].
    lengths: int64 [batch]. Calls read what these arrays hold by then.
    """

    bits: int
    query: np.ndarray
    keys: np.ndarray
    values: np.ndarray
    lengths: np.ndarray
    scale: float
    out: np.ndarray

    def __post_init__(self) -> None:
        (batch, kv_heads), heads = self.keys.shape[:2], self.query.shape[1]
        if heads % kv_heads or heads // kv_heads not in QUERY_HEADS or self.query.shape != (batch, heads, HEAD_DIM):
            raise ValueError(f"no kernel for a query of shape {self.query.shape} over {kv_heads} KV heads")
        if self.out.shape != self.query.shape or any(
            array.dtype != np.float32 or not array.flags.c_contiguous for array in (self.query, self.out)
        ):
            raise ValueError("expected query and out as C-contiguous float32 arrays of one shape")
        if self.values.shape != self.keys.shape or self.keys.shape[3] != TOKEN_BYTES[self.bits]:
            raise ValueError(f"expected rows of {TOKEN_BYTES[self.bits]} bytes, got {self.keys.shape}, {self.values.shape}")
        if self.lengths.shape != (batch,) or self.lengths.max(initial=0) > self.keys.shape[2]:
            raise ValueError(f"expected {batch} lengths of at most {self.keys.shape[2]}, got {self.lengths}")

    @cached_property
    def _call(self) -> Callable[[int], bool]:
        """The library's function with all arguments but the threads."""
        batch, kv_heads = self.keys.shape[:2]
        arguments = (
            ctypes.c_int(self.bits),
            ctypes.c_int64(self.query.shape[1] // kv_heads),
            self.query.ctypes.data_as(ctypes.c_void_p),
            ctypes.byref(_side(self.keys)),
            ctypes.byref(_side(self.values)),
            self.lengths.ctypes.data_as(ctypes.c_void_p),
            ctypes.c_int64(batch),
            ctypes.c_int64(kv_heads),
            ctypes.c_float(self.scale),
            self.out.ctypes.data_as(ctypes.c_void_p),
        )
        return partial(_library().kvq_yardstick_attend, *arguments)

    def __call__(self, threads: int = 1) -> np.ndarray:
        """Runs it once; returns `out`."""
        assert self._call(threads), "the library has a kernel for each of QUERY_HEADS"
        return self.out


def read(data: np.ndarray, threads: int = 1) -> int:
    """Reads an array, and returns the sum of its 64-bit words: what memory gives at most."""
    return _library().kvq_yardstick_read(data.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(data.nbytes // 64), threads)
