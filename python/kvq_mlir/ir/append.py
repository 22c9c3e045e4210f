"""Appending tokens to a cache."""

from .attention import READ_ONLY, page_table


def _append(tokens: str, cache: str, operands: dict[str, str], saturated: str | None = None) -> str:
    """@append(tokens, cache..., operands..., saturated?): operands by name, with their types."""
    parameters = ",".join(f"\n    %{name}: {kind} {READ_ONLY}" for name, kind in operands.items())
    clauses = "".join(f"\n    {name}(%{name} : {kind})" for name, kind in operands.items())
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
    into(%cache : {cache}) -> {results}
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
) -> str:
    """@append(tokens, cache..., lengths, flushed?, counts, pages?, saturated?), or with packed tokens
    @append(tokens, cache..., lengths, flushed?, pages?, starts, saturated?).

    shape: batch, KV heads, head_dim; the number of new tokens is dynamic. cache: its type. window: whether it has a
    recent window. paged: whether it has pages. count_saturated: whether elements that saturate are counted.
    """
    batch, heads, dim = shape
    counts = f"tensor<{batch}xi64>"
    operands = {"lengths": counts}
    operands |= {"flushed": counts} if window else {}
    operands |= {} if packed else {"counts": counts}
    operands |= {"pages": page_table(batch)} if paged else {}
    operands |= {"starts": f"tensor<{batch + 1}xi64>"} if packed else {}
    rows = f"?x{heads}" if packed else f"{batch}x{heads}x?"
    return _append(f"tensor<{rows}x{dim}x{token_type}>", cache, operands, f"tensor<{batch}x{heads}xi64>" if count_saturated else None)


def store(shape: tuple[int, int], token_type: str, cache: str) -> str:
    """@append(tokens, cache..., slots): packed tokens into slots of a pool. shape: KV heads, head_dim."""
    heads, dim = shape
    return _append(f"tensor<?x{heads}x{dim}x{token_type}>", cache, {"slots": "tensor<?xi64>"})
