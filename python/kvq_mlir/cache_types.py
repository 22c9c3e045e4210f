"""The MLIR type of a cache, as text."""

from __future__ import annotations

from . import _kvq
from .format import Format, Segments, parse_attribute

SIDES = ("keys", "values")


def cache_type(
    batch: int,
    kv_heads: int,
    capacity: int | str,
    head_dim: int,
    fmt: Format | Segments,
    dtype: str = "f16",
    exact_first: int = 0,
    recent: int = 0,
    residual: int | None = None,
    page: int | None = None,
    ring: int | None = None,
    keep_first: int = 0,
    token_major: bool = False,
) -> str:
    """The text of the cache's type, "!kvq.cache<...>"; a capacity of "?" leaves it open."""
    windows = f", exact_first = {exact_first}" if exact_first else ""
    if recent or (residual is None and has_window(fmt, recent)):
        windows += f", recent = {recent}"
    if residual is not None:
        windows += f", residual = {residual}"
    if page is not None:
        windows += f", page = {page}"
    if ring is not None:
        windows += f", ring = {ring}"
    if keep_first:
        windows += f", keep_first = {keep_first}"
    if token_major:
        windows += ", token_major"
    return f"!kvq.cache<{batch}x{kv_heads}x{capacity}x{head_dim}x{dtype}, {fmt.attribute}{windows}>"


def has_window(fmt: Format | Segments, recent: int, residual: int | None = None) -> bool:
    """Whether the newest tokens wait exact, by choice or until their group is full."""
    return recent + (residual or fmt.tokens) > 1


def assign_layout(type_: str, fmt: Format | Segments, side: str | None) -> tuple[Format | Segments, str | None]:
    """`fmt` with the layouts that it leaves open chosen for a cache of this type, of keys or values, and why that has no
    tiles; None if it has, or where nothing is chosen."""
    if side is not None and side not in SIDES:
        raise _kvq.Error(f"expected side 'keys', 'values' or None, got {side!r}")
    if not fmt.has_open_layout:
        return fmt, None
    if side is None:
        raise _kvq.Error("layout = auto is chosen for what a cache holds: expected side 'keys' or 'values', got None")
    text, reason = _kvq.assign_layout(type_, side)
    return parse_attribute(text), reason
