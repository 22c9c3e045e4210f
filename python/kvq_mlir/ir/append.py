"""Appending tokens to a cache."""

from .attention import READ_ONLY, page_table


def _append(tokens: str, cache: str, operands: dict[str, str]) -> str:
    """@append(tokens, cache..., operands...): operands by name, with their types."""
    parameters = ",".join(f"\n    %{name}: {kind} {READ_ONLY}" for name, kind in operands.items())
    clauses = "".join(f"\n    {name}(%{name} : {kind})" for name, kind in operands.items())
    return f"""
func.func @append(
    %tokens: {tokens} {READ_ONLY},
    %cache: {cache},{parameters}) -> {cache} {{
  %result = kvq.append ins(%tokens : {tokens}){clauses}
    into(%cache : {cache}) -> {cache}
  return %result : {cache}
}}
"""


def append(
    shape: tuple[int, int, int], token_type: str, cache: str, window: bool, paged: bool, packed: bool = False
) -> str:
    """@append(tokens, cache..., lengths, flushed?, counts, pages?), or with packed tokens
    @append(tokens, cache..., lengths, flushed?, pages?, starts).

    shape: batch, KV heads, head_dim; the number of new tokens is dynamic. cache: its type. window: whether it has a
    recent window. paged: whether it has pages.
    """
    batch, heads, dim = shape
    counts = f"tensor<{batch}xi64>"
    operands = {"lengths": counts}
    operands |= {"flushed": counts} if window else {}
    operands |= {} if packed else {"counts": counts}
    operands |= {"pages": page_table(batch)} if paged else {}
    operands |= {"starts": f"tensor<{batch + 1}xi64>"} if packed else {}
    rows = f"?x{heads}" if packed else f"{batch}x{heads}x?"
    return _append(f"tensor<{rows}x{dim}x{token_type}>", cache, operands)


def store(shape: tuple[int, int], token_type: str, cache: str) -> str:
    """@append(tokens, cache..., slots): packed tokens into slots of a pool. shape: KV heads, head_dim."""
    heads, dim = shape
    return _append(f"tensor<?x{heads}x{dim}x{token_type}>", cache, {"slots": "tensor<?xi64>"})
