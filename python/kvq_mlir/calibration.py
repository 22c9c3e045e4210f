"""Static ranges from data: what a cache asks for to be given."""

from __future__ import annotations

import numpy as np

from . import _kvq
from .cache import check_type
from .format import Format
from .ops import quantize


def calibrate(x: np.ndarray, fmt: Format) -> dict[str, np.ndarray]:
    """What `Cache(..., given=...)` takes for `fmt`, from tokens x [batch, kv_heads, tokens, dim], float16 or float32.

    A static range is that of all tokens of a head: minmax with a zero, absmax without. Empty where the format asks for
    nothing. Raises `Error`, a ValueError, for a wrong shape, for no tokens, and where a range would be zero or NaN,
    which no cache takes; TypeError for another dtype.
    """
    check_type("fmt", fmt, Format)
    if not isinstance(x, np.ndarray) or x.ndim != 4 or not x.shape[0] * x.shape[2]:
        found = list(x.shape) if isinstance(x, np.ndarray) else type(x).__name__
        raise _kvq.Error(f"expected one or more tokens as [batch, kv_heads, tokens, dim], got {found}")
    batch, heads, tokens, dim = x.shape
    if not fmt.is_static:
        return {}
    # One group of all tokens, whose range is dynamic.
    tokens_first = np.ascontiguousarray(x.swapaxes(0, 1)).reshape(1, heads, batch * tokens, dim)
    z = quantize(tokens_first, fmt.with_group_of(batch * tokens))
    parts = {"scales": z.scales} | ({} if z.zeros is None else {"zeros": z.zeros})
    given = {name: part.reshape(heads, -1) for name, part in parts.items()}
    for name, part in given.items():
        _kvq.check_given(fmt.rows_type(heads, dim), name, part.tobytes())
    return given
