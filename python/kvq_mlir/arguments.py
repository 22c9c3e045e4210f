"""Arguments of the API: what type an array or an object is, how kernels take arrays, and where results go."""

from __future__ import annotations

from functools import cache

import numpy as np

from . import _kvq

# By name: bfloat16 is the type that ml_dtypes (JAX, and others) gives NumPy.
_ELEMENT_TEXTS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}


@cache
def _name_of(dtype: np.dtype) -> str:
    """NumPy puts a name together anew whenever it is asked for one."""
    return dtype.name


def element_text(name: str, x: np.ndarray) -> str:
    """MLIR's name of an array's type, "f16", "bf16" or "f32"; TypeError for another."""
    text = _ELEMENT_TEXTS.get(_name_of(x.dtype)) if isinstance(x, np.ndarray) else None
    if text is None:
        found = x.dtype if isinstance(x, np.ndarray) else type(x).__name__
        raise TypeError(f"expected {name} as an array of float16, bfloat16 or float32, got {found}")
    return text


def operand(x: np.ndarray) -> np.ndarray:
    """An array as kernels take it: C-contiguous, bfloat16 as its bits."""
    return as_bits(np.ascontiguousarray(x))


def as_bits(x: np.ndarray) -> np.ndarray:
    """An array of bfloat16 as its bits, uint16; others as they are."""
    return x.view(np.uint16) if _name_of(x.dtype) == "bfloat16" else x


def check_type(name: str, value: object, expected: type) -> None:
    """TypeError where an argument is of another type."""
    if not isinstance(value, expected):
        raise TypeError(f"expected {name} as a kvq_mlir.{expected.__name__}, got {type(value).__name__}")


def output_array(out: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    """`out` if it is given and fits, else a new float32 array of `shape`; `Error` where it does not fit."""
    if out is None:
        return np.empty(shape, np.float32)
    if out.shape != shape or out.dtype != np.float32:
        raise _kvq.Error(f"expected out as float32 of shape {shape}, got {out.dtype} of shape {out.shape}")
    return out


def check_threads(threads: int) -> None:
    """Raises `Error` for fewer threads than one."""
    if threads < 1:
        raise _kvq.Error(f"expected at least 1 thread, got {threads}")
