"""Copying sequences from one cache into another."""

from .attention import READ_ONLY


def reorder(batches: tuple[int, int], cache: str, destination: str, window: bool) -> str:
    """@reorder(cache..., sources, lengths, flushed?, destination...).

    batches: of the cache that is read, and of the destination. cache, destination: their types. window: whether they
    have a recent window. A negative source leaves a sequence of the destination as it is.
    """
    counts, sources = (f"tensor<{batch}xi64>" for batch in batches)
    parameter = f"\n    %flushed: {counts} {READ_ONLY}," if window else ""
    operand = f"\n    flushed(%flushed : {counts})" if window else ""
    return f"""
func.func @reorder(
    %cache: {cache} {READ_ONLY},
    %sources: {sources} {READ_ONLY},
    %lengths: {counts} {READ_ONLY},{parameter}
    %destination: {destination}) -> {destination} {{
  %result = kvq.reorder ins(%cache : {cache})
    sources(%sources : {sources})
    lengths(%lengths : {counts}){operand}
    into(%destination : {destination}) -> {destination}
  return %result : {destination}
}}
"""
