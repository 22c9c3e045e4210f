"""Codes of whole arrays: quantize, dequantize, pack. Arrays are [batch, heads, tokens, dim]."""

from .attention import READ_ONLY
from .prepare import prepare, restore, rows_type

Row = tuple[str, int, str, bool]  # name, elements in a row, their type, and whether it is given
Parts = list[tuple[str, str]]  # names and types
AXES = 3  # before the channels
BEFORE = ("means", "signs")  # what acts before quantization


def _parts(rows: tuple[Row, ...], given: bool) -> Parts:
    """What goes with codes, computed or given. Signs are those of all heads."""
    extents = "1x?x1" if given else "?x?x?"
    return [
        (name, f"tensor<{'1' if name == 'signs' else extents}x{size}x{kind}>")
        for name, size, kind, is_given in rows
        if is_given == given
    ]


def _names(parts: Parts, suffix: str = "") -> str:
    return ", ".join(f"%{name}{suffix}" for name, _ in parts)


def _types(parts: Parts) -> str:
    return ", ".join(kind for _, kind in parts)


def _function(
    name: str,
    fmt: str,
    inputs: Parts,
    outputs: Parts,
    before: tuple[str, str] = ("", ""),
    after: tuple[str, str] = ("", ""),
) -> str:
    """@name(inputs..., outputs...), one op that writes the outputs. Whole arrays are what is asked for: unfused.

    before: ops on the first input, and the name of what they make of it, an f32 tensor. after: ops on the only output,
    and the name of what they make of it.
    """
    parameters = [f"%{part}: {kind} {READ_ONLY}" for part, kind in inputs]
    parameters += [f"%{part}: {kind}" for part, kind in outputs]
    operands = [part for part in inputs if part[0] not in BEFORE]
    names, types = _names(operands), _types(operands)
    text, prepared = before
    if text:
        names = ", ".join([prepared, *(f"%{part}" for part, _ in operands[1:])])
        dim = int(inputs[0][1].split("x")[-2])
        types = _types([("", rows_type(AXES, dim)), *operands[1:]])
    result = _names(outputs, "_result")
    return f"""
func.func @{name}({", ".join(parameters)}) -> ({_types(outputs)})
    attributes {{kvq.unfused}} {{{text}
  {result} = kvq.{name} #kvq.format<{fmt}>
    ins({names} : {types})
    outs({_names(outputs)} : {_types(outputs)}) -> {_types(outputs)}{after[0]}
  return {after[1] or result} : {_types(outputs)}
}}
"""


def _given_types(rows: tuple[Row, ...]) -> dict[str, str]:
    return dict(_parts(rows, given=True))


def quantize(fmt: str, rotation: int, rows: tuple[Row, ...], dim: int, element: str) -> str:
    """@quantize(values, given..., codes, computed...). fmt: the core of the format. rotation: channels rotated."""
    values = ("values", rows_type(AXES, dim, element))
    coded = ("codes", rows_type(AXES, dim, "i8"))
    before = prepare(AXES, "%values", element, _given_types(rows), rotation, dim)
    return _function("quantize", fmt, [values, *_parts(rows, given=True)], [coded, *_parts(rows, given=False)], before)


def count_saturated(fmt: str, rotation: int, rows: tuple[Row, ...], dim: int, element: str) -> str:
    """@count_saturated(values, computed..., given..., counts): adds to the counts."""
    values = ("values", rows_type(AXES, dim, element))
    inputs = [values, *_parts(rows, given=False), *_parts(rows, given=True)]
    before = prepare(AXES, "%values", element, _given_types(rows), rotation, dim)
    return _function("count_saturated", fmt, inputs, [("counts", "tensor<?x?xi64>")], before)


def dequantize(fmt: str, rotation: int, rows: tuple[Row, ...], dim: int) -> str:
    """@dequantize(codes, computed..., given..., values)."""
    coded = ("codes", rows_type(AXES, dim, "i8"))
    inputs = [coded, *_parts(rows, given=False), *_parts(rows, given=True)]
    after = restore(AXES, "%values_result", _given_types(rows), rotation, dim)
    return _function("dequantize", fmt, inputs, [("values", rows_type(AXES, dim))], after=after)


def pack(fmt: str, bits: int, dim: int) -> str:
    """@pack(codes, bytes)."""
    packed = [("bytes", rows_type(AXES, dim * bits // 8, "i8"))]
    return _function("pack", fmt, [("codes", rows_type(AXES, dim, "i8"))], packed)
