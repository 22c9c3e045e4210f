"""Attention over two caches."""

from .rope import Rope, rope_attribute, rope_clause, rope_operands

READ_ONLY = "{bufferization.writable = false}"


def page_table(batch: int) -> str:
    """The type of a page table."""
    return f"tensor<{batch}x?xi64>"


def attention(
    q_shape: tuple[int, int, int],
    q_type: str,
    value_dim: int,
    key: str,
    value: str,
    windows: tuple[bool, bool],
    scale: float,
    causal: bool,
    paged: tuple[bool, bool] = (False, False),
    rope: Rope = None,
) -> str:
    """@attention(query, key..., value..., lengths, key's flushed?, value's flushed?, key's pages?, value's pages?, cos?,
    sin?, out).

    q_shape: batch, query heads, head_dim; the number of query tokens is dynamic. value_dim: the values' head_dim. key,
    value: cache types. windows: whether each has a recent window. paged: whether each has pages.
    rope: the width of the tables, and the style of pairs, where keys are turned as they are read.
    """
    batch, heads, dim = q_shape
    counts = f"tensor<{batch}xi64>"
    query = f"tensor<{batch}x{heads}x?x{dim}x{q_type}>"
    out = f"tensor<{batch}x{heads}x?x{value_dim}xf32>"
    types = {name: counts for name, window in zip(("key_flushed", "value_flushed"), windows, strict=True) if window}
    tables = zip(("key_pages", "value_pages"), paged, strict=True)
    types |= {name: page_table(batch) for name, is_paged in tables if is_paged}
    operands = "".join(f"\n    {name}(%{name} : {kind})" for name, kind in types.items())
    turning = rope_operands(rope)
    operands += rope_clause(turning)
    parameters = "".join(f"\n    %{name}: {kind} {READ_ONLY}," for name, kind in (types | turning).items())
    style = f", {rope_attribute(rope)}" if rope else ""
    attributes = f"{{scale = {scale:.9e} : f32{', causal' if causal else ''}{style}}}"
    return f"""
func.func @attention(
    %query: {query} {READ_ONLY},
    %key: {key},
    %value: {value},
    %lengths: {counts} {READ_ONLY},{parameters}
    %out: {out}) -> {out} {{
  %result = kvq.attention
    ins(%query, %key, %value : {query}, {key}, {value})
    lengths(%lengths : {counts}){operands}
    outs(%out : {out}) {attributes} -> {out}
  return %result : {out}
}}
"""
