"""Arguments of the API: what type an array or an object is, and where results go."""

from __future__ import annotations

import numpy as np

from . import _kvq

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


def output_array(out: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    """`out` if it is given and fits, else a new float32 array of `shape`; `Error` where it does not fit."""
    if out is None:
        return np.empty(shape, np.float32)
    if out.shape != shape or out.dtype != np.float32:
        raise _kvq.Error(f"expected out as float32 of shape {shape}, got {out.dtype} of shape {out.shape}")
    return out
