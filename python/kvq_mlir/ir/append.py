"""Appending tokens to a cache."""

from .attention import READ_ONLY


def append(shape: tuple[int, int, int], token_type: str, cache: str, window: bool, count_saturated: bool) -> str:
    """@append(tokens, cache..., lengths, flushed?, counts, saturated?).

    shape: batch, KV heads, head_dim; the number of new tokens is dynamic. cache: its type. window: whether it has a
    recent window. count_saturated: whether elements that saturate are counted.
    """
    batch, heads, dim = shape
    counts = f"tensor<{batch}xi64>"
    tokens = f"tensor<{batch}x{heads}x?x{dim}x{token_type}>"
    parameter = f"\n    %flushed: {counts} {READ_ONLY}," if window else ""
    operand = f"\n    flushed(%flushed : {counts})" if window else ""
    results, saturated, last = cache, "", ""
    if count_saturated:
        kind = f"tensor<{batch}x{heads}xi64>"
        results += f", {kind}"
        last = f",\n    %saturated: {kind}"
        saturated = f"\n    saturated(%saturated : {kind})"
    values = "%result#0, %result#1" if count_saturated else "%result#0"
    return f"""
func.func @append(
    %tokens: {tokens} {READ_ONLY},
    %cache: {cache},
    %lengths: {counts} {READ_ONLY},{parameter}
    %counts: {counts} {READ_ONLY}{last}) -> ({results}) {{
  %result:{2 if count_saturated else 1} = kvq.append ins(%tokens : {tokens})
    lengths(%lengths : {counts}){operand}
    counts(%counts : {counts}){saturated}
    into(%cache : {cache}) -> {results}
  return {values} : {results}
}}
"""
