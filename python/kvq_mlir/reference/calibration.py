"""What a format needs beside its elements: values that are given once, when a cache is made."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .codes import CodeType
from .formats import Format
from .metadata import decode_metadata


@dataclass(frozen=True)
class Calibration:
    """Given values of one side of one layer, for a format that asks for them.

    outer: float32 [heads/h], or [1] for all heads: the outer scale of a two-level one.
    scales, zeros: the stored scales and zeros of a static range, [heads/h, dim/g] or [1, dim/g], in the format's types.
    mean: what `center` subtracts, [heads, dim] or [1, dim], stored in the type of `center`.
    signs: int8 [dim] of 1 and -1, by which channels are multiplied before a rotation. Optional.
    """

    outer: np.ndarray | None = None
    scales: np.ndarray | None = None
    zeros: np.ndarray | None = None
    mean: np.ndarray | None = None
    signs: np.ndarray | None = None

    FIELDS = ("outer", "scales", "zeros", "mean")
    OUTER_RANGE = (2.0**-100, 2.0**100)

    def check(self, fmt: Format, heads: int, dim: int) -> None:
        """ValueError, with what was expected and found, unless this is what `fmt` needs for rows of `dim` elements."""
        needs, groups = _needs(fmt), 1 if fmt.codes is None else heads // fmt.group_heads(heads)
        for name in self.FIELDS:
            if (getattr(self, name) is None) == needs[name]:
                what = "needs" if needs[name] else "has no use for"
                raise ValueError(f"'{fmt}' {what} a given '{name}'")
        if self.outer is not None:
            _check_array("outer", self.outer, np.dtype(np.float32), [(groups,), (1,)])
            lowest, highest = self.OUTER_RANGE
            if not np.all((self.outer >= lowest) & (self.outer <= highest)):
                raise ValueError(f"outer scales must be within 2^-100 ... 2^100, got {self.outer.tolist()}")
        if self.scales is not None:
            self._check_static(fmt, groups, dim)
        if self.mean is not None:
            _check_array("mean", self.mean, fmt.center.dtype, [(heads, dim), (1, dim)])
            if not np.isfinite(decode_metadata(self.mean, fmt.center)).all():
                raise ValueError("the mean must be finite")
        if self.signs is not None:
            if fmt.rotate is None:
                raise ValueError(f"'{fmt}' has no rotation and so no use for given 'signs'")
            _check_array("signs", self.signs, np.dtype(np.int8), [(dim,)])
            if not np.all(np.abs(self.signs) == 1):
                raise ValueError(f"signs must be 1 or -1, got {np.unique(self.signs).tolist()}")

    def _check_static(self, fmt: Format, heads: int, dim: int) -> None:
        groups = dim // fmt.channels(dim)
        shapes = [(heads, groups), (1, groups)]
        _check_array("scales", self.scales, fmt.scale.dtype, shapes)
        cap = fmt.scale.cap(fmt.codes.largest) if fmt.outer is None else fmt.scale.largest
        scales = decode_metadata(self.scales, fmt.scale)
        if not np.all((scales > 0) & (scales <= cap)):
            raise ValueError(f"static scales must be above 0 and at most {cap}, got {scales.tolist()}")
        if self.zeros is None:
            return
        _check_array("zeros", self.zeros, fmt.zero.type.dtype, shapes)
        zeros = decode_metadata(self.zeros, fmt.zero.type)
        highest = fmt.codes.highest if isinstance(fmt.zero.type, CodeType) else fmt.zero.type.largest
        lowest = 0 if isinstance(fmt.zero.type, CodeType) else -highest
        if not np.all((zeros >= lowest) & (zeros <= highest)):
            raise ValueError(f"static zeros must be within {lowest} ... {highest}, got {zeros.tolist()}")


def _needs(fmt: Format) -> dict[str, bool]:
    static = fmt.codes is not None and fmt.policy.kind == "static"
    return {
        "outer": fmt.outer is not None,
        "scales": static,
        "zeros": static and fmt.zero is not None,
        "mean": fmt.center is not None,
    }


def _check_array(name: str, array: np.ndarray, dtype: np.dtype, shapes: list[tuple[int, ...]]) -> None:
    if array.dtype != dtype:
        raise ValueError(f"expected '{name}' as {dtype}, got {array.dtype}")
    if array.shape not in shapes:
        raise ValueError(f"expected '{name}' of shape {' or '.join(map(str, shapes))}, got {array.shape}")
