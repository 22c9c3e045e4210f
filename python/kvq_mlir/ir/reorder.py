"""Copying sequences from one cache into another."""

from .attention import READ_ONLY, page_table


def reorder(batches: tuple[int, int], cache: str, destination: str, window: bool, paged: bool = False) -> str:
    """@reorder(cache..., sources, lengths, flushed?, pages?, to_pages?, shared?, destination...).

    batches: of the cache that is read, and of the destination. cache, destination: their types. window: whether they
    have a recent window. paged: whether they have pages. A negative source leaves a sequence of the destination as it
    is.
    """
    counts, sources = (f"tensor<{batch}xi64>" for batch in batches)
    types = {"sources": sources, "lengths": counts}
    types |= {"flushed": counts} if window else {}
    if paged:
        types |= {"pages": page_table(batches[0]), "to_pages": page_table(batches[1]), "shared": sources}
    parameters = "".join(f"\n    %{name}: {kind} {READ_ONLY}," for name, kind in types.items())
    operands = "".join(f"\n    {name}(%{name} : {kind})" for name, kind in types.items())
    return f"""
func.func @reorder(
    %cache: {cache} {READ_ONLY},{parameters}
    %destination: {destination}) -> {destination} {{
  %result = kvq.reorder ins(%cache : {cache}){operands}
    into(%destination : {destination}) -> {destination}
  return %result : {destination}
}}
"""
