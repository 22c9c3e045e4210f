"""Arguments of the API: what type an array or an object is, how kernels take arrays, and where results go."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from . import _kvq
from .cuda_arrays import Taken, empty_like, take
from .devices import Cuda, Device

# By name: bfloat16 is the type that ml_dtypes (JAX, and others) gives NumPy.
_ELEMENT_TEXTS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32"}


@cache
def _name_of(dtype: np.dtype) -> str:
    """NumPy puts a name together anew whenever it is asked for one."""
    return dtype.name


Array = np.ndarray | Taken


def on(device: Device | None, name: str, x: Any) -> Any:
    """An argument, or None, of a call on a device, with `shape` and `ndim`; `Error` where it is elsewhere."""
    return x if x is None or not isinstance(device, Cuda) else take(name, x, device.ordinal, device.stream or 0)


def element_text(name: str, x: Array) -> str:
    """MLIR's name of an array's type, "f16", "bf16" or "f32"; TypeError for another."""
    if isinstance(x, Taken):
        if x.element not in _ELEMENT_TEXTS.values():
            raise TypeError(f"expected {name} as an array of f16, bf16 or f32, got {x.element}")
        return x.element
    text = _ELEMENT_TEXTS.get(_name_of(x.dtype)) if isinstance(x, np.ndarray) else None
    if text is None:
        found = x.dtype if isinstance(x, np.ndarray) else type(x).__name__
        raise TypeError(f"expected {name} as an array of float16, bfloat16 or float32, got {found}")
    return text


def operand(x: Array) -> Any:
    """An array as kernels take it: C-contiguous (on a GPU that is up to the caller), bfloat16 as its bits."""
    if isinstance(x, Taken):
        return x.array
    return as_bits(np.ascontiguousarray(x))


def as_bits(x: np.ndarray) -> np.ndarray:
    """An array of bfloat16 as its bits, uint16; others as they are."""
    return x.view(np.uint16) if _name_of(x.dtype) == "bfloat16" else x


def check_type(name: str, value: object, expected: type) -> None:
    """TypeError where an argument is of another type."""
    if not isinstance(value, expected):
        raise TypeError(f"expected {name} as a kvq_mlir.{expected.__name__}, got {type(value).__name__}")


def output_array(out: Any, shape: tuple[int, ...], device: Device | None = None, like: Array | None = None) -> Any:
    """`out` if it is given and fits, else a new float32 array of `shape`, on a GPU of the package that made `like`;
    `Error` where it does not fit."""
    if isinstance(device, Cuda):
        if out is None:
            return empty_like(like.array, shape, device.ordinal)
        taken = on(device, "out", out)
        if taken.shape != shape or taken.element != "f32":
            raise _kvq.Error(f"expected out as f32 of shape {shape}, got {taken.element} of shape {taken.shape}")
        return out
    if out is None:
        return np.empty(shape, np.float32)
    if out.shape != shape or out.dtype != np.float32:
        raise _kvq.Error(f"expected out as float32 of shape {shape}, got {out.dtype} of shape {out.shape}")
    return out


def check_threads(threads: int, device: object | None = None) -> None:
    """Raises `Error` for fewer threads than one, and for several on a GPU, which has its own."""
    if threads < 1:
        raise _kvq.Error(f"expected at least 1 thread, got {threads}")
    if device is not None and threads != 1:
        raise _kvq.Error(f"threads are of a processor: expected none on a GPU, got {threads}")
