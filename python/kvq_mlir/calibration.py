"""Static ranges from data: what a cache asks for to be given."""

from __future__ import annotations

import numpy as np

from . import _kvq
from .arguments import check_type
from .format import DTYPES, Format, Segments
from .given import Given
from .ops import dequantize, quantize

LARGEST_INNER_SCALE = 448  # of f8E4M3FN
OUTER_RANGE = (np.float32(2.0**-100), np.float32(2.0**100))  # rule R17


def calibrate(
    x: np.ndarray,
    fmt: Format | Segments,
    signs: np.ndarray | None = None,
    *,
    percentile: float = 100,
    search: int = 1,
) -> dict[str, np.ndarray]:
    """What `Cache(..., given=...)` takes for `fmt`, from tokens x [batch, kv_heads, tokens, dim], float16, bfloat16 or
    float32.

    A static range is that of all tokens of a head: minmax with a zero, absmax without. An outer scale is such that the
    largest stored scale of a head's tokens is the largest of its type. A mean is that of all tokens of a head. signs:
    int8 [dim] of 1 and -1, those of a rotation, which all else depends on; they are given back. Empty where the format
    asks for nothing. Of `Segments` it is that of each of them.
    percentile: of the elements of a group that a static range holds; others are clipped. Without a zero it is that of
    magnitudes, with one its ends are the percentiles 100 - percentile and percentile. search: how many narrower ranges are
    tried, 1 - i/(2 search) times as wide, i < search, of which each group gets the one with the least squared error, the
    widest of equal ones. Both are for static ranges without rotation and center.
    Raises `Error`, a ValueError, for a wrong shape, for no tokens, for options that the format has no use for, and where a
    range would be zero or NaN, which no cache takes; TypeError for another dtype.
    """
    _check_options(fmt, percentile, search)
    if not isinstance(fmt, Segments):
        check_type("fmt", fmt, Format)
    if not isinstance(x, np.ndarray) or x.ndim != 4 or not x.shape[0] * x.shape[2]:
        found = list(x.shape) if isinstance(x, np.ndarray) else type(x).__name__
        raise _kvq.Error(f"expected one or more tokens as [batch, kv_heads, tokens, dim], got {found}")
    if isinstance(fmt, Segments):
        return _calibrate_segments(x, fmt, signs, percentile, search)
    heads, dim = x.shape[1], x.shape[3]
    tokens = np.ascontiguousarray(x.swapaxes(0, 1)).reshape(1, heads, -1, dim)
    given = {} if signs is None else {"signs": signs}
    if fmt.center:
        given["means"] = _rounded(tokens.astype(np.float64).mean(axis=2)[0], fmt.center)
    if fmt.outer_scale:
        given["outer_scales"] = _outer_scales(tokens, fmt, given)
    if fmt.is_static:
        given |= _static_range(tokens, fmt, given, percentile, search)
    if fmt.is_exact:
        return given
    for name, part in given.items():
        _kvq.check_given(fmt.rows_type(heads, dim), name, part.tobytes())
    return given


def _check_options(fmt: Format | Segments, percentile: float, search: int) -> None:
    if not 50 < percentile <= 100:
        raise _kvq.Error(f"expected a percentile above 50, up to 100, got {percentile}")
    if search < 1:
        raise _kvq.Error(f"expected a search of at least 1 range, got {search}")
    if (percentile, search) != (100, 1) and not any(
        part.is_static and part.rotation == 0 and not part.center for part in fmt.formats
    ):
        raise _kvq.Error(f"percentiles and searches are of static ranges without rotation and center, got '{fmt}'")


def _calibrate_segments(
    x: np.ndarray, segments: Segments, signs: np.ndarray | None, percentile: float, search: int
) -> dict[str, np.ndarray]:
    given = {}
    for index, (begin, end, fmt) in enumerate(segments.parts):
        own_signs = signs[begin:end] if signs is not None and fmt.rotation != 0 else None
        options = dict(percentile=percentile, search=search) if fmt.is_static else {}
        found = calibrate(x[..., begin:end], fmt, own_signs, **options)
        given |= {f"{name}.{index}": part for name, part in found.items()}
    return given


def _rounded(x: np.ndarray, element: str) -> np.ndarray:
    """x as arrays of the type hold it: bf16 as bits."""
    x = x.astype(np.float32)
    if element != "bf16":
        return x.astype(DTYPES[element])
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _outer_scales(x: np.ndarray, fmt: Format, given: Given) -> np.ndarray:
    """[kv_heads, 1]: what a head would be scaled by as one group, over the largest stored scale."""
    whole = quantize(x, fmt.with_group(x.shape[2], None, "f32"), given)
    scales = whole.scales[0, :, 0] / np.float32(LARGEST_INNER_SCALE)
    return np.clip(scales, *OUTER_RANGE)


def _static_range(
    x: np.ndarray, fmt: Format, given: Given, percentile: float, search: int
) -> dict[str, np.ndarray]:
    """Scales and zeros of all tokens of a head, [1, heads, tokens, dim], as one group."""
    if percentile == 100 and search == 1:
        return _whole_range(x, fmt, given)
    groups = _by_group(x, fmt)
    low, high = _ends(groups, fmt, percentile)
    best = best_error = None
    for i in range(search):
        narrow = [ends.astype(x.dtype) for ends in _narrowed(low, high, fmt, 1 - i / (2 * search))]
        clipped = np.clip(groups, *(ends[:, None, None, :, None] for ends in narrow)).reshape(x.shape)
        parts = _whole_range(clipped, fmt, given)
        found = dequantize(quantize(x, fmt, given | parts))
        error = np.square(_by_group(found, fmt) - groups, dtype=np.float64).sum(axis=(1, 2, 4))
        if best is None:
            best, best_error = parts, error
            continue
        better = error < best_error
        best_error = np.where(better, error, best_error)
        best = {name: np.where(better, parts[name], part) for name, part in best.items()}
    return best


def _whole_range(x: np.ndarray, fmt: Format, given: Given) -> dict[str, np.ndarray]:
    scale = f"{fmt.scale} of {fmt.outer_scale}" if fmt.outer_scale else fmt.scale
    z = quantize(x, fmt.with_group(x.shape[2], fmt.group[1], scale), given)
    parts = {"scales": z.scales} | ({} if z.zeros is None else {"zeros": z.zeros})
    return {name: part.reshape(part.shape[1], -1) for name, part in parts.items()}


def _by_group(x: np.ndarray, fmt: Format) -> np.ndarray:
    """[1, heads, tokens, dim] -> [groups of heads, heads of one, tokens, groups, channels of one]."""
    _, heads, tokens, dim = x.shape
    together, channels = fmt.group_heads(heads), fmt.channels(dim)
    return x.reshape(heads // together, together, tokens, dim // channels, channels)


def _ends(groups: np.ndarray, fmt: Format, percentile: float) -> tuple[np.ndarray, np.ndarray]:
    """The range of each group of heads and channels, in float64."""
    if fmt.zero is None:
        high = np.percentile(np.abs(groups).astype(np.float64), percentile, axis=(1, 2, 4))
        return -high, high
    return tuple(np.percentile(groups.astype(np.float64), [100 - percentile, percentile], axis=(1, 2, 4)))


def _narrowed(low: np.ndarray, high: np.ndarray, fmt: Format, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Round its middle, or round 0, which ranges with a zero point contain."""
    middle = (low + high) / 2 if fmt.zero_kind == "min" else 0
    return middle + (low - middle) * ratio, middle + (high - middle) * ratio
