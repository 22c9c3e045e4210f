"""Appending tokens to a cache."""

from .attention import READ_ONLY


def append(shape: tuple[int, int, int], token_type: str, cache: str, window: bool) -> str:
    """@append(tokens, cache..., lengths, flushed?, counts).

    shape: batch, KV heads, head_dim; the number of new tokens is dynamic. cache: its type. window: whether it has a
    recent window.
    """
    batch, heads, dim = shape
    counts = f"tensor<{batch}xi64>"
    tokens = f"tensor<{batch}x{heads}x?x{dim}x{token_type}>"
    parameter = f"\n    %flushed: {counts} {READ_ONLY}," if window else ""
    operand = f"\n    flushed(%flushed : {counts})" if window else ""
    return f"""
func.func @append(
    %tokens: {tokens} {READ_ONLY},
    %cache: {cache},
    %lengths: {counts} {READ_ONLY},{parameter}
    %counts: {counts} {READ_ONLY}) -> {cache} {{
  %result = kvq.append ins(%tokens : {tokens})
    lengths(%lengths : {counts}){operand}
    counts(%counts : {counts})
    into(%cache : {cache}) -> {cache}
  return %result : {cache}
}}
"""
