"""What kernels compute against a reference, on any machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .arrays import Arrays
from .formats import FORMATS, Format
from .plan import Kernel, Plan

TOLERANCE = 2e-3  # relative L2 of a sequence against float64 on the same codes
UNFUSED_TOLERANCE = 3e-3  # values are rounded to f16 before
SCALE_TOLERANCE = 2e-3  # of a scale, rounded to f16, to the largest element


def attention_of(arrays: Arrays, query: Any, keys: Any, values: Any, scale: float) -> Any:
    """float64 of one sequence: query [heads, group, dim], keys and values [heads, tokens, dim]."""
    xp = arrays.xp
    scores = (arrays.cast(query, "f64") * scale) @ keys.swapaxes(-1, -2)
    weights = xp.exp(scores - xp.amax(scores, -1)[..., None])
    return (weights @ values) / xp.sum(weights, -1)[..., None]


def error_of(arrays: Arrays, found: Any, expected: Any) -> float:
    """Relative L2; a NaN where something is one."""
    difference = arrays.cast(found, "f64") - expected
    return float((difference**2).sum() / (expected**2).sum()) ** 0.5


class Case:
    """Caches of a kernel's batch with ragged lengths, whose other rows are poisoned."""

    def __init__(self, machine: Any, plan: Plan, fmt: str, batch: int, lengths: Sequence[int]) -> None:
        self.machine, self.plan, self.format, self.batch = machine, plan, FORMATS[fmt], batch
        self.lengths, self.tokens = list(lengths), max(lengths) + 1
        self.shape = (batch, plan.kv_heads, self.tokens, plan.head_dim)

    def cache(self) -> list[Any]:
        arrays = self.machine.arrays.random_cache(self.format, self.shape)
        for b, length in enumerate(self.lengths):
            arrays[-1][b, :, length:] = float("nan")
        return arrays

    def values(self, cache: list[Any], b: int) -> Any:
        """What the tokens of a sequence stand for."""
        parts = [array[b, :, : self.lengths[b]] for array in cache]
        return self.format.decode(self.machine.arrays, parts)

    def attend(self, run: Any, group: int, sides: list[Any], stored: list[Any]) -> float:
        """The largest error of a sequence of attention by kernels. stored: the arrays that they read."""
        arrays, plan = self.machine.arrays, self.plan
        q = arrays.normal((self.batch, plan.kv_heads * group, 1, plan.head_dim))
        out = arrays.full(q.shape, float("nan"), "f32")
        self.machine.run(run([q, *stored[0], *stored[1], arrays.array(self.lengths, "i64"), out]))
        errors = []
        for b in range(self.batch):
            rows = q[b].reshape(plan.kv_heads, group, plan.head_dim)
            keys, values = (self.values(side, b) for side in sides)
            expected = attention_of(arrays, rows, keys, values, plan.scale)
            errors.append(error_of(arrays, out[b].reshape(*rows.shape), expected))
        return worst(errors)


def worst(errors: Sequence[float]) -> float:
    return float("nan") if any(map(math.isnan, errors)) else max(errors)


def check_attention(case: Case, kernel: Kernel, run: Any) -> tuple[float, float]:
    """The error, and what it may be."""
    sides = [case.cache() for _ in range(2)]
    return case.attend(run, kernel.group, sides, sides), TOLERANCE


def check_unfused(case: Case, kernel: Kernel, rebuild: Any, attention: Any) -> tuple[float, float]:
    """Caches rebuilt as f16 are exactly what codes stand for, rounded; attention over them is within its bound. kernel:
    the attention over f16."""
    arrays = case.machine.arrays
    sides, rebuilt = [case.cache() for _ in range(2)], []
    counts = arrays.array(case.lengths, "i64")
    for cache in sides:
        rows = arrays.full(case.shape, float("nan"), "f16")
        case.machine.run(rebuild([*cache, counts, counts, rows]))
        for b, length in enumerate(case.lengths):
            expected = arrays.cast(case.values(cache, b), "f16")
            if not bool((rows[b, :, :length] == expected).all()):
                return float("nan"), UNFUSED_TOLERANCE
        rebuilt.append([rows])
    return case.attend(attention, kernel.group, sides, rebuilt), UNFUSED_TOLERANCE


def check_append(case: Case, run: Any) -> tuple[float, float]:
    """How far a new token is from what it was, in halves of a step between codes; 2 where other tokens have changed."""
    arrays, fmt, xp = case.machine.arrays, case.format, case.machine.arrays.xp
    cache = case.cache()
    before = [arrays.copy(array) for array in cache]
    x = arrays.normal((case.batch, case.plan.kv_heads, 1, case.plan.head_dim))
    counts = arrays.array([1] * case.batch, "i64")
    case.machine.run(run([x, *cache, arrays.array(case.lengths, "i64"), counts]))
    errors = []
    for b, length in enumerate(case.lengths):
        token = arrays.cast(x[b], "f64")
        new = [array[b, :, length : length + 1] for array in cache]
        error = abs(fmt.decode(arrays, new) - token)
        if fmt.is_exact:
            errors.append(2.0 * bool((error > 0).any()))
        else:
            scale, largest = arrays.cast(new[1], "f64"), xp.amax(abs(token), -1)[..., None]
            errors.append(float((error / (_step(xp, fmt, token, scale) / 2)).max()))
            if bool((abs(scale * fmt.largest / largest - 1) > SCALE_TOLERANCE).any()):
                errors.append(2.0)
        for now, then in zip(cache, before, strict=True):
            if not bool((now[b, :, :length] == then[b, :, :length]).all()):
                errors.append(2.0)
    return worst(errors), 0.0 if fmt.is_exact else 1.002


def _step(xp: Any, fmt: Format, token: Any, scale: Any) -> Any:
    """Between codes: of floats an eighth of the power of two that a quotient is in, at least of the smallest normal one."""
    if not fmt.is_float:
        return scale
    return scale * 2.0 ** xp.floor(xp.log2(xp.clip(abs(token) / scale, 2.0**-6, None))) / 8
