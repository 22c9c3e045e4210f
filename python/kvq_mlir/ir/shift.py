"""Dropping tokens in the middle of a cache."""

from .attention import READ_ONLY, page_table
from .rope import rope_attribute, rope_clause, rope_operands


def shift(batch: int, cache: str, window: bool, paged: bool, rope: tuple[int, str] | None = None) -> str:
    """@shift(cache..., begin, count, lengths, flushed?, pages?, cos?, sin?).

    cache: its type. window: whether it has a recent window. paged: whether it has pages. rope: the width of the tables,
    and the style of pairs, where what moves is turned back.
    """
    counts = f"tensor<{batch}xi64>"
    types = {"begin": counts, "count": counts, "lengths": counts}
    types |= {"flushed": counts} if window else {}
    types |= {"pages": page_table(batch)} if paged else {}
    turning = rope_operands(rope)
    types |= turning
    attributes = f" {{{rope_attribute(rope)}}}" if rope else ""
    parameters = ",".join(f"\n    %{name}: {kind} {READ_ONLY}" for name, kind in types.items())
    counted = list(types.items())[2 : len(types) - len(turning)]
    operands = "".join(f"\n    {name}(%{name} : {kind})" for name, kind in counted)
    operands += f"\n    {rope_clause(turning)}"
    return f"""
func.func @shift(
    %cache: {cache},{parameters}) -> {cache} {{
  %result = kvq.shift drop(%begin, %count : {counts}, {counts}){operands}
    into(%cache : {cache}){attributes} -> {cache}
  return %result : {cache}
}}
"""
