"""Appending tokens to a cache."""

from __future__ import annotations

from .attention import READ_ONLY, page_table
from .rope import Rope, rope_attribute, rope_clause, rope_operands


def _append(
    tokens: str,
    cache: str,
    operands: dict[str, str],
    saturated: str | None = None,
    rope: Rope = None,
    segment: int | None = None,
) -> str:
    """@append(tokens, cache..., operands..., cos?, sin?, saturated?): operands by name, with their types."""
    turning = rope_operands(rope)
    parameters = ",".join(f"\n    %{name}: {kind} {READ_ONLY}" for name, kind in (operands | turning).items())
    clauses = "".join(f"\n    {name}(%{name} : {kind})" for name, kind in operands.items())
    clauses += f"\n    {rope_clause(turning)}"
    attributes = [rope_attribute(rope)] if rope else []
    attributes += [] if segment is None else [f"rope_segment = {segment} : i64"]
    results, values = cache, "%result#0"
    if saturated is not None:
        parameters += f",\n    %saturated: {saturated}"
        clauses += f"\n    saturated(%saturated : {saturated})"
        results, values = f"{cache}, {saturated}", "%result#0, %result#1"
    return f"""
func.func @append(
    %tokens: {tokens} {READ_ONLY},
    %cache: {cache},{parameters}) -> ({results}) {{
  %result:{1 if saturated is None else 2} = kvq.append ins(%tokens : {tokens}){clauses}
    into(%cache : {cache}) {{{", ".join(attributes)}}} -> {results}
  return {values} : {results}
}}
"""


def append(
    shape: tuple[int, int, int],
    token_type: str,
    cache: str,
    window: bool,
    paged: bool = False,
    packed: bool = False,
    count_saturated: bool = False,
    rope: Rope = None,
    segment: int | None = None,
) -> str:
    """@append(tokens, cache..., lengths, flushed?, counts, pages?, cos?, sin?, saturated?), or with packed tokens
    @append(tokens, cache..., lengths, flushed?, pages?, starts, cos?, sin?, saturated?).

    shape: batch, KV heads, head_dim; the number of new tokens is dynamic. cache: its type. window: whether it has a
    recent window. paged: whether it has pages. count_saturated: whether elements that saturate are counted. rope: the
    width of the tables and the style of pairs, where keys are turned before they are stored; segment: which of several.
    """
    batch, heads, dim = shape
    counts = f"tensor<{batch}xi64>"
    operands = {"lengths": counts}
    operands |= {"flushed": counts} if window else {}
    operands |= {} if packed else {"counts": counts}
    operands |= {"pages": page_table(batch)} if paged else {}
    operands |= {"starts": f"tensor<{batch + 1}xi64>"} if packed else {}
    rows = f"?x{heads}" if packed else f"{batch}x{heads}x?"
    saturated = f"tensor<{batch}x{heads}xi64>" if count_saturated else None
    return _append(f"tensor<{rows}x{dim}x{token_type}>", cache, operands, saturated, rope, segment)


def store(
    shape: tuple[int, int], token_type: str, cache: str, rope: Rope = None, segment: int | None = None
) -> str:
    """@append(tokens, cache..., slots), or where keys are turned @append(tokens, cache..., slots, positions, cos, sin):
    packed tokens into slots of a pool.

    shape: KV heads, head_dim. rope, segment: as for `append`.
    """
    heads, dim = shape
    operands = dict.fromkeys(("slots", "positions") if rope else ("slots",), "tensor<?xi64>")
    return _append(f"tensor<?x{heads}x{dim}x{token_type}>", cache, operands, None, rope, segment)
