"""Dropping tokens in the middle of a cache."""

from .attention import READ_ONLY, page_table


def shift(batch: int, cache: str, window: bool, paged: bool) -> str:
    """@shift(cache..., begin, count, lengths, flushed?, pages?).

    cache: its type. window: whether it has a recent window. paged: whether it has pages.
    """
    counts = f"tensor<{batch}xi64>"
    types = {"begin": counts, "count": counts, "lengths": counts}
    types |= {"flushed": counts} if window else {}
    types |= {"pages": page_table(batch)} if paged else {}
    parameters = ",".join(f"\n    %{name}: {kind} {READ_ONLY}" for name, kind in types.items())
    operands = "".join(f"\n    {name}(%{name} : {kind})" for name, kind in list(types.items())[2:])
    return f"""
func.func @shift(
    %cache: {cache},{parameters}) -> {cache} {{
  %result = kvq.shift drop(%begin, %count : {counts}, {counts}){operands}
    into(%cache : {cache}) -> {cache}
  return %result : {cache}
}}
"""
