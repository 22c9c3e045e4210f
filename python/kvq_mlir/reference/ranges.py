"""Range policies: which interval of the real line a group's codes span (rules R2 and R18)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RangePolicy:
    """`measure(elements, axes, zero)` reduces float32 elements over `axes` (kept, of size 1).

    It returns (minimum, extent), both float32, the extent perhaps +inf: the codes 0 ... N span extent, from the
    minimum, or from 0 where the policy has none (`has_minimum` false, minimum None).
    """

    has_minimum: bool
    measure: Callable[..., tuple[np.ndarray | None, np.ndarray]]


def _absmax(elements: np.ndarray, axes: tuple[int, ...], zero) -> tuple[None, np.ndarray]:
    return None, np.max(np.abs(elements), axis=axes, keepdims=True)


def _minmax(elements: np.ndarray, axes: tuple[int, ...], zero) -> tuple[np.ndarray, np.ndarray]:
    low = np.min(elements, axis=axes, keepdims=True)
    high = np.max(elements, axis=axes, keepdims=True)
    if zero.kind == "point":
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    low, high = low + np.float32(0), high + np.float32(0)
    return low, high - low


POLICIES = {
    "absmax": RangePolicy(has_minimum=False, measure=_absmax),
    "minmax": RangePolicy(has_minimum=True, measure=_minmax),
}
