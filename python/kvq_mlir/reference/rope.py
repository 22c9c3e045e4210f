"""RoPE: pairs of channels turned by an angle that grows with the position (rules R36, R37 and R42)."""

from __future__ import annotations

import numpy as np

STYLES = ("half", "interleaved")


def _pairs(style: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second channel of each of `count` pairs."""
    if style not in STYLES:
        raise ValueError(f"expected one of {STYLES}, got {style!r}")
    each = np.arange(count)
    return (each, each + count) if style == "half" else (2 * each, 2 * each + 1)


@np.errstate(invalid="ignore", over="ignore")
def turn(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, style: str) -> np.ndarray:
    """RoPE of tokens x [..., tokens, dim], computed in the type of x: token t by row t of cos and sin [tokens, pairs].

    Every product, sum and difference is rounded. Channels beyond those of the pairs stay. Raises ValueError where there
    are more pairs than dim has.
    """
    if cos.shape != sin.shape or cos.ndim != 2 or 2 * cos.shape[1] > x.shape[-1]:
        raise ValueError(f"tables of {cos.shape} and {sin.shape} do not fit rows of {x.shape[-1]} channels")
    first, second = _pairs(style, cos.shape[1])
    cos, sin = cos.astype(x.dtype), sin.astype(x.dtype)
    turned = x.copy()
    turned[..., first] = x[..., first] * cos - x[..., second] * sin
    turned[..., second] = x[..., first] * sin + x[..., second] * cos
    return turned
