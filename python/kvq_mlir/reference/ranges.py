"""Range policies: which interval of the real line a group's codes span (rules R2 and R18 to R22)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from .rules import Rule


@dataclass(frozen=True)
class Range:
    """A range policy and its parameter: the ratio of `clip<ratio>`, the steps of `search<steps>`."""

    kind: str
    parameter: float | None = None

    KINDS = ("absmax", "minmax", "clip<ratio>", "search<steps>", "rms", "norm", "static")

    @staticmethod
    def parse(text: str) -> Range:
        """Read `absmax`, `clip<0.9>`, ...; ValueError saying what was expected and what was found."""
        match = re.fullmatch(r"(\w+)(?:<([^<>]*)>)?", text.strip())
        kinds = {kind.partition("<")[0]: "<" in kind for kind in Range.KINDS}
        if not match or match[1] not in kinds or kinds[match[1]] != (match[2] is not None):
            raise ValueError(f"unknown range '{text}', expected one of {', '.join(Range.KINDS)}")
        if match[2] is None:
            return Range(match[1])
        if match[1] == "search":
            if not re.fullmatch(r"[1-9][0-9]*", match[2].strip()):
                raise ValueError(f"search<steps> needs at least one step, got '{text}'")
            return Range("search", int(match[2]))
        try:
            ratio = float(match[2])
        except ValueError:
            ratio = np.nan
        if not 0 < np.float32(ratio) <= 1:
            raise ValueError(f"clip<ratio> needs a ratio above 0 and at most 1, got '{text}'")
        return Range("clip", ratio)

    def ratios(self) -> list[np.float32]:
        """What the ends of the range are multiplied by: the one ratio, or those to choose from, the first preferred."""
        if self.kind == "clip":
            return [np.float32(self.parameter)]
        if self.kind == "search":
            steps = np.float32(2 * self.parameter)
            return [np.float32(1) - np.float32(i) / steps for i in range(self.parameter)]
        return [np.float32(1)]

    def __str__(self) -> str:
        return self.kind if self.parameter is None else f"{self.kind}<{self.parameter}>"


# Of groups as [batch, heads/h, h, tokens/n, n, dim/g, g], the axes inside a group.
GROUP_AXES = (2, 4, 6)


def tree_sum(x: np.ndarray, axis: int) -> np.ndarray:
    """Float32 sums over an axis (kept, of size 1): padded with zeros to a power of two, then neighbours first."""
    x = np.moveaxis(x, axis, -1)
    size = 1 << max(0, x.shape[-1] - 1).bit_length()
    x = np.concatenate([x, np.zeros((*x.shape[:-1], size - x.shape[-1]), np.float32)], axis=-1)
    while x.shape[-1] > 1:
        x = x[..., 0::2] + x[..., 1::2]
    return np.moveaxis(x, -1, axis)


def group_sum(grouped: np.ndarray) -> np.ndarray:
    """Sums over groups: over the channels, then over the tokens, then over the heads."""
    for axis in reversed(GROUP_AXES):
        grouped = tree_sum(grouped, axis)
    return grouped


def interval(
    grouped: np.ndarray, zero_kind: str | None, ratio: np.float32, rule: Rule
) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray]:
    """(lo, hi, a) of groups; lo and hi are None without a zero."""
    if zero_kind is None:
        if rule.extremum == "signed":
            return None, None, first_largest(grouped) * ratio
        return None, None, np.max(np.abs(grouped), axis=GROUP_AXES, keepdims=True) * ratio
    low = np.min(grouped, axis=GROUP_AXES, keepdims=True)
    high = np.max(grouped, axis=GROUP_AXES, keepdims=True)
    if zero_kind == "point" and rule.span == "with_zero":
        low, high = np.minimum(low, np.float32(0)), np.maximum(high, np.float32(0))
    low, high = (low + np.float32(0)) * ratio, (high + np.float32(0)) * ratio
    return low, high, rule.round(high - low)


def in_order(grouped: np.ndarray) -> np.ndarray:
    """The elements of each group in the last axis: heads, in these tokens, in these channels."""
    moved = np.moveaxis(grouped, GROUP_AXES, (4, 5, 6))
    return moved.reshape(*moved.shape[:4], -1)


def first_largest(grouped: np.ndarray) -> np.ndarray:
    """The first element of the largest magnitude of each group, +0 if all are zeros."""
    elements = in_order(grouped)
    at = np.argmax(np.abs(elements), axis=-1, keepdims=True)
    found = np.take_along_axis(elements, at, axis=-1) + np.float32(0)
    return as_groups(found[..., 0])


def as_groups(x: np.ndarray) -> np.ndarray:
    """[batch, heads/h, tokens/n, dim/g] as one value a group of the split elements."""
    return x[:, :, np.newaxis, :, np.newaxis, :, np.newaxis]


def norm(grouped: np.ndarray, mean: bool) -> np.ndarray:
    """The Euclidean norm of each group, or with `mean` its root mean square."""
    total = group_sum(grouped * grouped)
    count = math.prod(grouped.shape[axis] for axis in GROUP_AXES)
    return np.sqrt(total / np.float32(count) if mean else total)
