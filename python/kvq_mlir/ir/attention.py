"""Attention over two caches, or over one whose rows hold keys and values."""

from __future__ import annotations

from dataclasses import dataclass

from .rope import Rope, rope_attribute, rope_clause, rope_operands

READ_ONLY = "{bufferization.writable = false}"


def page_table(batch: int) -> str:
    """The type of a page table."""
    return f"tensor<{batch}x?xi64>"


@dataclass(frozen=True)
class Variant:
    """What is done to scores, and what is asked for beside the output; a field is None where it is absent.

    mask: batch and query heads of the mask, 1 where shared, and its element type. window: tokens, and how many of the
    first ones are seen beside. value_channels: begin and end. rope: the width of the tables and the style of pairs, where
    keys are turned as they are read. query_codes: "i16", "i8" or "f8E4M3FN". schedule: the attribute.
    """

    scale: float
    causal: bool
    positions: bool = False
    mask: tuple[int, int, str] | None = None
    slopes: bool = False
    sinks: bool = False
    softcap: float | None = None
    window: tuple[int, int] | None = None
    value_channels: tuple[int, int] | None = None
    rope: Rope = None
    lse: bool = False
    query_codes: str | None = None
    schedule: str | None = None

    def attributes(self) -> str:
        """The attributes of the op."""
        parts = [f"scale = {self.scale:.9e} : f32"]
        if self.causal:
            parts.append("causal")
        if self.softcap is not None:
            parts.append(f"softcap = {self.softcap:.9e} : f32")
        if self.window is not None:
            tokens, first = self.window
            parts.append(f"window = {tokens} : i64" + (f", window_first = {first} : i64" if first else ""))
        if self.value_channels is not None:
            parts.append("value_channels = array<i64: {}, {}>".format(*self.value_channels))
        if self.rope is not None:
            parts.append(rope_attribute(self.rope))
        if self.query_codes is not None:
            parts.append(f"query_codes = {self.query_codes}")
        if self.schedule is not None:
            parts.append(f"schedule = {self.schedule}")
        return "{" + ", ".join(parts) + "}"

    def operands(self, batch: int, heads: int) -> dict[str, str]:
        """The types of the optional operands, by name, in the op's order."""
        types = {}
        if self.positions:
            types["positions"] = f"tensor<{batch}xi64>"
        if self.mask is not None:
            mask_batch, mask_heads, element = self.mask
            types["mask"] = f"tensor<{mask_batch}x{mask_heads}x?x?x{element}>"
        types |= {
            name: f"tensor<{heads}xf32>" for name, given in (("slopes", self.slopes), ("sinks", self.sinks)) if given
        }
        return types


def attention(
    q_shape: tuple[int, int, int],
    q_type: str,
    value_dim: int,
    key: str,
    value: str | None,
    windows: tuple[bool, bool],
    variant: Variant,
    paged: tuple[bool, bool] = (False, False),
) -> str:
    """@attention(query, key..., value..., lengths, key's flushed?, value's flushed?, key's pages?, value's pages?,
    positions?, mask?, slopes?, sinks?, cos?, sin?, out, lse?).

    q_shape: batch, query heads, head_dim; the number of query tokens is dynamic. value_dim: the channels of the output.
    key, value: cache types; value is None where values are channels of the keys' rows, and then it has no arguments.
    windows: whether each has a recent window. paged: whether each has pages.
    """
    batch, heads, dim = q_shape
    counts = f"tensor<{batch}xi64>"
    query = f"tensor<{batch}x{heads}x?x{dim}x{q_type}>"
    out, lse = f"tensor<{batch}x{heads}x?x{value_dim}xf32>", f"tensor<{batch}x{heads}x?xf32>"
    # Of one cache both sides have the same counts and table.
    sides = ("key", "key" if value is None else "value")
    types, operands = {}, []
    for kind, given, type_ in (("flushed", windows, counts), ("pages", paged, page_table(batch))):
        for side, owner, has in zip(("key", "value"), sides, given, strict=True):
            if has:
                types[f"{owner}_{kind}"] = type_
                operands.append(f"{side}_{kind}(%{owner}_{kind} : {type_})")
    extra = variant.operands(batch, heads)
    operands += [f"{name}(%{name} : {type_})" for name, type_ in extra.items()]
    turning = rope_operands(variant.rope)
    operands.append(rope_clause(turning))
    parameters = "".join(f"\n    %{name}: {kind} {READ_ONLY}," for name, kind in (types | extra | turning).items())
    value_parameter = "" if value is None else f"\n    %value: {value},"
    lse_parameter, lse_operand, lse_type = (f",\n    %lse: {lse}", ", %lse", f", {lse}") if variant.lse else ("",) * 3
    results = ", ".join(f"%results#{index}" for index in range(2)) if variant.lse else "%results"
    return f"""
func.func @attention(
    %query: {query} {READ_ONLY},
    %key: {key},{value_parameter}
    %lengths: {counts} {READ_ONLY},{parameters}
    %out: {out}{lse_parameter}) -> ({out}{lse_type}) {{
  %results{":2" if variant.lse else ""} = kvq.attention
    ins(%query, %key, %{sides[1]} : {query}, {key}, {value or key})
    lengths(%lengths : {counts})
    {" ".join(operands)}
    outs(%out{lse_operand} : {out}{lse_type}) {variant.attributes()} -> {out}{lse_type}
  return {results} : {out}{lse_type}
}}
"""
