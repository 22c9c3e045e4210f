"""Codes of whole arrays: quantize, dequantize, pack. Arrays are [batch, heads, tokens, dim]."""

from .attention import READ_ONLY

Row = tuple[str, int, str, bool]  # name, elements in a row, their type, and whether it is given


def _parts(rows: tuple[Row, ...], given: bool) -> list[tuple[str, str]]:
    """Names and types of what goes with codes, computed or given."""
    extents = "1x?x1" if given else "?x?x?"
    return [(name, f"tensor<{extents}x{size}x{kind}>") for name, size, kind, is_given in rows if is_given == given]


def _names(parts: list[tuple[str, str]], suffix: str = "") -> str:
    return ", ".join(f"%{name}{suffix}" for name, _ in parts)


def _types(parts: list[tuple[str, str]]) -> str:
    return ", ".join(kind for _, kind in parts)


def _function(name: str, fmt: str, inputs: list[tuple[str, str]], outputs: list[tuple[str, str]]) -> str:
    """@name(inputs..., outputs...), one op that writes the outputs. Whole arrays are what is asked for: unfused."""
    parameters = [f"%{part}: {kind} {READ_ONLY}" for part, kind in inputs]
    parameters += [f"%{part}: {kind}" for part, kind in outputs]
    return f"""
func.func @{name}({", ".join(parameters)}) -> ({_types(outputs)})
    attributes {{kvq.unfused}} {{
  {_names(outputs, "_result")} = kvq.{name} #kvq.format<{fmt}>
    ins({_names(inputs)} : {_types(inputs)})
    outs({_names(outputs)} : {_types(outputs)}) -> {_types(outputs)}
  return {_names(outputs, "_result")} : {_types(outputs)}
}}
"""


def quantize(fmt: str, rows: tuple[Row, ...], dim: int, element: str) -> str:
    """@quantize(values, given..., codes, computed...)."""
    values = ("values", f"tensor<?x?x?x{dim}x{element}>")
    coded = ("codes", f"tensor<?x?x?x{dim}xi8>")
    return _function("quantize", fmt, [values, *_parts(rows, given=True)], [coded, *_parts(rows, given=False)])


def count_saturated(fmt: str, rows: tuple[Row, ...], dim: int, element: str) -> str:
    """@count_saturated(values, computed..., given..., counts): adds to the counts."""
    values = ("values", f"tensor<?x?x?x{dim}x{element}>")
    inputs = [values, *_parts(rows, given=False), *_parts(rows, given=True)]
    return _function("count_saturated", fmt, inputs, [("counts", "tensor<?x?xi64>")])


def dequantize(fmt: str, rows: tuple[Row, ...], dim: int) -> str:
    """@dequantize(codes, computed..., given..., values)."""
    coded = ("codes", f"tensor<?x?x?x{dim}xi8>")
    inputs = [coded, *_parts(rows, given=False), *_parts(rows, given=True)]
    return _function("dequantize", fmt, inputs, [("values", f"tensor<?x?x?x{dim}xf32>")])


def pack(fmt: str, bits: int, dim: int) -> str:
    """@pack(codes, bytes)."""
    packed = [("bytes", f"tensor<?x?x?x{dim * bits // 8}xi8>")]
    return _function("pack", fmt, [("codes", f"tensor<?x?x?x{dim}xi8>")], packed)
