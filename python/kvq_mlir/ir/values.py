"""Codes of whole arrays: quantize, dequantize, pack. Arrays are [batch, heads, tokens, dim].

heads: how many, and how many of them share metadata, where that is more than one; else None, and any number will do.
"""

from .attention import READ_ONLY
from .prepare import prepare, restore

Row = tuple[str, int, str, bool]  # name, elements in a row, their type, and whether it is given
Parts = list[tuple[str, str]]  # names and types
Heads = tuple[int, int] | None
BEFORE = ("means", "signs")  # what acts before quantization


def _array(heads: Heads, size: int, element: str) -> str:
    """The type of an array with rows of `size` elements."""
    return f"tensor<?x{heads[0] if heads else '?'}x?x{size}x{element}>"


def _parts(rows: tuple[Row, ...], heads: Heads, given: bool) -> Parts:
    """What goes with codes, computed or given. Signs are those of all heads, means of each."""

    def extents(name: str) -> str:
        if name == "signs":
            return "1"
        sharing = heads[0] // (1 if name == "means" else heads[1]) if heads else "?"
        return f"1x{sharing}x1" if given else f"?x{sharing}x?"

    return [(name, f"tensor<{extents(name)}x{size}x{kind}>") for name, size, kind, is_given in rows if is_given == given]


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
        types = _types([("", f"{inputs[0][1].rpartition('x')[0]}xf32>"), *operands[1:]])
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


def _given_types(rows: tuple[Row, ...], heads: Heads) -> dict[str, str]:
    return dict(_parts(rows, heads, given=True))


def quantize(fmt: str, rotation: int, rows: tuple[Row, ...], heads: Heads, dim: int, element: str) -> str:
    """@quantize(values, given..., codes, computed...). fmt: the core of the format. rotation: channels rotated."""
    values = ("values", _array(heads, dim, element))
    coded = ("codes", _array(heads, dim, "i8"))
    before = prepare("%values", element, _given_types(rows, heads), rotation, _array(heads, dim, "f32"))
    return _function("quantize", fmt, [values, *_parts(rows, heads, given=True)], [coded, *_parts(rows, heads, given=False)], before)


def count_saturated(fmt: str, rotation: int, rows: tuple[Row, ...], heads: Heads, dim: int, element: str) -> str:
    """@count_saturated(values, computed..., given..., counts): adds to the counts."""
    values = ("values", _array(heads, dim, element))
    inputs = [values, *_parts(rows, heads, given=False), *_parts(rows, heads, given=True)]
    before = prepare("%values", element, _given_types(rows, heads), rotation, _array(heads, dim, "f32"))
    return _function("count_saturated", fmt, inputs, [("counts", f"tensor<?x{heads[0] if heads else '?'}xi64>")], before)


def dequantize(fmt: str, rotation: int, rows: tuple[Row, ...], heads: Heads, dim: int) -> str:
    """@dequantize(codes, computed..., given..., values)."""
    coded = ("codes", _array(heads, dim, "i8"))
    inputs = [coded, *_parts(rows, heads, given=False), *_parts(rows, heads, given=True)]
    after = restore("%values_result", _given_types(rows, heads), rotation, _array(heads, dim, "f32"))
    return _function("dequantize", fmt, inputs, [("values", _array(heads, dim, "f32"))], after=after)


def pack(fmt: str, dim: int, groups: int, metadata: tuple[str, ...], rows: tuple[int, ...]) -> str:
    """@pack(codes, metadata..., bytes...): metadata, the types of scales and zeros in records; rows, bytes of each."""
    unpacked = [("codes", _array(None, dim, "i8"))]
    unpacked += [(f"metadata{i}", _array(None, groups, kind)) for i, kind in enumerate(metadata)]
    return _function("pack", fmt, unpacked, [(f"bytes{i}", _array(None, size, "i8")) for i, size in enumerate(rows)])
