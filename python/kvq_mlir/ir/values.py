"""Codes of whole arrays: quantize, dequantize, pack.

Arrays are [rows, tokens, dim], or [rows, heads, tokens, dim] where heads share metadata: heads is None, or their number.
"""

from .attention import READ_ONLY


def _rows(heads: int | None, dim: int, element: str) -> str:
    """The type of an array with rows of `dim` elements."""
    return f"tensor<?x{'' if heads is None else f'{heads}x'}?x{dim}x{element}>"


def _metadata(heads: int | None, groups: int, scale: str, zero: str | None) -> list[tuple[str, str]]:
    """Names and types of what goes with the codes."""
    shared = None if heads is None else 1
    parts = [("scales", _rows(shared, groups, scale))]
    return parts + ([("zeros", _rows(shared, groups, zero))] if zero else [])


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


def quantize(
    fmt: str, scale: str, zero: str | None, heads: int | None, dim: int, groups: int, element: str
) -> str:
    """@quantize(values, codes, scales, zeros?)."""
    coded = [("codes", _rows(heads, dim, "i8")), *_metadata(heads, groups, scale, zero)]
    return _function("quantize", fmt, [("values", _rows(heads, dim, element))], coded)


def count_saturated(
    fmt: str, scale: str, zero: str | None, heads: int | None, dim: int, groups: int, element: str
) -> str:
    """@count_saturated(values, scales, zeros?, counts): adds to the counts."""
    inputs = [("values", _rows(heads, dim, element)), *_metadata(heads, groups, scale, zero)]
    counts = "tensor<?xi64>" if heads is None else f"tensor<?x{heads}xi64>"
    return _function("count_saturated", fmt, inputs, [("counts", counts)])


def dequantize(fmt: str, scale: str, zero: str | None, heads: int | None, dim: int, groups: int) -> str:
    """@dequantize(codes, scales, zeros?, values)."""
    coded = [("codes", _rows(heads, dim, "i8")), *_metadata(heads, groups, scale, zero)]
    return _function("dequantize", fmt, coded, [("values", _rows(heads, dim, "f32"))])


def pack(fmt: str, dim: int, groups: int, metadata: tuple[str, ...], rows: tuple[int, ...]) -> str:
    """@pack(codes, metadata..., bytes...): metadata, the types of scales and zeros in records; rows, bytes of each."""
    unpacked = [("codes", f"tensor<?x?x{dim}xi8>")]
    unpacked += [(f"metadata{i}", f"tensor<?x?x{groups}x{kind}>") for i, kind in enumerate(metadata)]
    return _function("pack", fmt, unpacked, [(f"bytes{i}", f"tensor<?x?x{size}xi8>") for i, size in enumerate(rows)])
