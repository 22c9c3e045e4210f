"""How kernels are launched, from what `kvq-compile --emit=manifest` says."""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "/": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "min": min,
    "max": max,
    "ceildiv": lambda a, b: -(-a // b),
    "?": lambda condition, yes, no: yes if condition else no,
}
NUMBERS = {
    "i1": ctypes.c_uint8,
    "i8": ctypes.c_int8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


def evaluate(expression: Any, values: Mapping[str, int]) -> int:
    """The number that an expression is: one, a name, or an operator with its operands."""
    if isinstance(expression, str):
        return values[expression]
    if not isinstance(expression, list):
        return expression
    symbol, *operands = expression
    numbers = [evaluate(operand, values) for operand in operands]
    return math.prod(numbers) if symbol == "*" else OPERATORS[symbol](*numbers)


class Call:
    """A function of a manifest, with the arrays of one call: their addresses and shapes, in order."""

    def __init__(self, function: Mapping[str, Any], arrays: Sequence[tuple[int, Sequence[int]]]) -> None:
        self._function = function
        self._addresses: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        specs = function["arguments"]
        if len(specs) != len(arrays):
            raise ValueError(f"expected {len(specs)} arrays, got {len(arrays)}")
        for spec, (address, shape) in zip(specs, arrays, strict=True):
            name, expected = spec["name"], spec["shape"]
            fixed = [want if isinstance(want, int) else got for want, got in zip(expected, shape, strict=False)]
            if len(shape) != len(expected) or list(shape) != fixed:
                raise ValueError(f"expected {name} of shape {expected}, got {list(shape)}")
            self._addresses[name] = address
            sizes = zip(expected, shape, strict=True)
            self._sizes |= {want: got for want, got in sizes if isinstance(want, str)}

    def workspace_bytes(self) -> list[int]:
        """How much memory the kernels share, each piece apart."""
        return [evaluate(memory["bytes"], self._sizes) for memory in self._function["workspace"]]

    def launches(self, workspace: Sequence[int]) -> list[dict[str, Any]]:
        """What `Driver.launch` takes, for each kernel in order. workspace: addresses of the memory."""
        names = [memory["name"] for memory in self._function["workspace"]]
        addresses = self._addresses | dict(zip(names, workspace, strict=True))
        return [
            {
                "kernel": launch["kernel"],
                "grid": [evaluate(extent, self._sizes) for extent in launch["grid"]],
                "block": [evaluate(extent, self._sizes) for extent in launch["block"]],
                "shared": evaluate(launch["dynamic_shared_bytes"], self._sizes),
                "arguments": [word for each in launch["arguments"] for word in self._words(each, addresses)],
            }
            for launch in self._function["launches"]
        ]

    def _words(self, argument: Mapping[str, Any], addresses: Mapping[str, int]) -> list[Any]:
        """An argument as a kernel takes it: a number, or two pointers, offset, extents and strides of an array."""
        if "array" not in argument:
            return [NUMBERS[argument["type"]](evaluate(argument["value"], self._sizes))]
        extents = [evaluate(extent, self._sizes) for extent in argument["extents"]]
        strides = [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]
        address = addresses[argument["array"]]
        return [ctypes.c_int64(word) for word in (address, address, 0, *extents, *strides)]
