"""Modules built op by op, in place of text.

    from kvq_mlir.builder import Module, tensor

    module = Module()
    cache = kvq.CacheType(1, 8, None, 128, kvq.Format.of(codes="i4", group=(1, 32), scale="f16"))
    rows, counts = tensor((1, 8, None, 128), "f16"), tensor((1,), "i64")
    f = module.function("append", {"tokens": rows, "cache": cache, "lengths": counts})
    f.returns(f.op("kvq.append", tokens=f["tokens"], cache=f["cache"], lengths=f["lengths"], results=[cache]))
    module.run("builtin.module(kvq-cpu-pipeline)")

Types are texts ("tensor<4xf32>"), a `CacheType`, or a `Value`, which stands for its type. Attributes are texts in
MLIR's syntax, a `Format`, `Segments` or `Schedule`, or, where a kvq op has such, numbers, lists of integers, and True
for those that are just there; None leaves one out. Every op has the line of Python that made it as its location, is
verified as soon as it is made, and `Error`, a ValueError, says what is wrong with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _kvq
from ._op_table import OPS


class Value:
    """What an op gives, or an argument of a function. `type` is its type, as text."""

    __slots__ = ("_function", "_number")

    def __init__(self, function: Function, number: int) -> None:
        self._function, self._number = function, number

    @property
    def type(self) -> str:
        return self._function._builder.type_of(self._function._number, self._number)

    def __repr__(self) -> str:
        return f"<Value of {self.type}>"


class Module:
    """A module: empty, or that of a text, which is parsed and verified. str() gives its text.

    Raises `Error`, a ValueError, with line and column, for a text that is not valid.
    """

    def __init__(self, text: str | None = None) -> None:
        self._builder = _kvq.ModuleBuilder(text)

    def function(
        self,
        name: str,
        arguments: Mapping[str, Any],
        attributes: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Function:
        """Adds a function with these arguments, names and types, whose ops are added to it.

        attributes: of arguments, by name, such as {"tokens": {"bufferization.writable": False}}. Raises `Error`, a
        ValueError, for a name that the module has, a type that is none, and attributes of an argument that is none.
        """
        attributes = attributes or {}
        for argument in attributes:
            if argument not in arguments:
                raise _kvq.Error(f"expected attributes of {_listed(arguments)}, got some of '{argument}'")
        number = self._builder.add_function(
            name,
            [_type_text(type_) for type_ in arguments.values()],
            [_attribute_list(attributes.get(argument, {})) for argument in arguments],
            _place(),
        )
        return Function(self._builder, number, list(arguments))

    def verify(self) -> None:
        """Raises `Error`, a ValueError, with places in Python, unless the module is valid: its functions have returned."""
        self._builder.verify()

    def run(self, pipeline: str) -> None:
        """Runs a pass pipeline, `builtin.module(...)`, on the module. Functions cannot be added to afterwards.

        Raises `Error`, a ValueError, for a module that is not valid, a pipeline that cannot be parsed, and a pass that
        failed.
        """
        self._builder.run(pipeline)

    def __str__(self) -> str:
        return str(self._builder)


class Function:
    """A function that is built: `f["name"]` is an argument, and `f.arguments` all of them."""

    def __init__(self, builder: _kvq.ModuleBuilder, number: int, names: list[str]) -> None:
        self._builder, self._number = builder, number
        self.arguments = {name: Value(self, index) for index, name in enumerate(names)}

    def __getitem__(self, name: str) -> Value:
        if name not in self.arguments:
            raise _kvq.Error(f"expected one of the arguments {_listed(self.arguments)}, got '{name}'")
        return self.arguments[name]

    def op(
        self,
        name: str,
        *operands: Any,
        results: Sequence[Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> Value | tuple[Value, ...] | None:
        """Adds an op of any dialect, and returns its result, or several of them, or None.

        operands: values, in order; a kvq op takes them by name, too, a list where one has several. results: types; may
        be left out where MLIR can infer them. named: attributes that an op has by its definition, and operands of a kvq
        op. attributes: others, such as {"kvq.layer": 3}. Raises `Error`, a ValueError, for an op that there is none of,
        operands and attributes that it lacks or misses, and what its verifier finds.
        """
        values, own = _split(name, operands, named)
        others = _attribute_list(attributes or {})
        types = None if results is None else [_type_text(type_) for type_ in results]
        numbers = self._builder.add_op(
            self._number, name, [self._take(name, value) for value in values], own + others, types, _place()
        )
        made = tuple(Value(self, number) for number in numbers)
        return made[0] if len(made) == 1 else made or None

    def returns(self, *values: Value) -> None:
        """Ends the function, whose results these are."""
        self._builder.add_return(self._number, [self._take("return", value) for value in values], _place())

    def _take(self, name: str, value: Any) -> int:
        """The number of a value of this function."""
        if not isinstance(value, Value):
            raise _kvq.Error(f"{name}: expected a Value as operand, got {value!r}")
        if value._function is not self:
            raise _kvq.Error(f"{name}: expected a Value of the same function, got one of another")
        return value._number


def tensor(shape: Sequence[int | None], element: str) -> str:
    """The type of a tensor; None stands for an extent that is dynamic."""
    return f"tensor<{''.join(f'{_extent(extent)}x' for extent in shape)}{element}>"


def _extent(extent: int | None) -> int | str:
    return "?" if extent is None else extent


def _listed(names: Any) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


def _place() -> tuple[str, int]:
    """The file and line that called this module."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def _type_text(type_: Any) -> str:
    return type_.type if isinstance(type_, Value) else str(type_)


def _attribute_text(value: Any) -> str:
    """What a value is as an attribute of which no more is known."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return getattr(value, "attribute", None) or str(value)


def _attribute_list(attributes: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, _attribute_text(value)) for name, value in attributes.items() if value is not None]


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _own_attribute(op: str, name: str, kind: str, value: Any) -> Iterator[tuple[str, str]]:
    """The attribute of a kvq op; none where the value says so."""
    expected = {
        "unit": "True or False",
        "f32": "a number",
        "i64": "an integer",
        "i64s": "integers",
        "text": "an attribute",
    }[kind]
    if value is None or (kind == "unit" and value is False):
        return
    if kind == "unit" and value is True:
        yield name, "unit"
    elif kind == "f32" and (_is_integer(value) or isinstance(value, float | np.floating)):
        yield name, f"{np.float32(value):.9e} : f32"
    elif kind == "i64" and _is_integer(value):
        yield name, f"{value} : i64"
    elif kind == "i64s" and isinstance(value, list | tuple) and all(map(_is_integer, value)):
        yield name, f"array<i64: {', '.join(map(str, value))}>"
    elif isinstance(value, str) or (kind == "text" and not isinstance(value, bool | int | float)):
        yield name, _attribute_text(value)
    else:
        raise _kvq.Error(f"{op}: expected {expected} as attribute '{name}', got {value!r}")


def _split(op: str, operands: Sequence[Any], named: Mapping[str, Any]) -> tuple[list[Any], list[tuple[str, str]]]:
    """Operands in the op's order, and its attributes."""
    if op not in OPS:
        return list(operands), _attribute_list(named)
    known = OPS[op]
    if len(operands) > len(known["operands"]):
        raise _kvq.Error(f"{op}: expected operands {_listed(known['operands'])}, got {len(operands)} by position")
    given = dict(zip(known["operands"], operands, strict=False))
    attributes: list[tuple[str, str]] = []
    for name, value in named.items():
        if name in given:
            raise _kvq.Error(f"{op}: expected operand '{name}' once, got it by position and by name")
        if name in known["operands"]:
            given[name] = value
        elif name in known["attributes"]:
            attributes += _own_attribute(op, name, known["attributes"][name], value)
        else:
            raise _kvq.Error(
                f"{op}: expected operands {_listed(known['operands'])} and attributes {_listed(known['attributes'])}, "
                f"got '{name}'"
            )
    groups = [_operand_group(op, name, kind, given.get(name)) for name, kind in known["operands"].items()]
    if known["segments"]:
        sizes = ", ".join(str(len(group)) for group in groups)
        attributes.append(("operandSegmentSizes", f"array<i32: {sizes}>"))
    return [value for group in groups for value in group], attributes


def _operand_group(op: str, name: str, kind: str, value: Any) -> list[Any]:
    """The values of one of a kvq op's operands."""
    if kind == "variadic":
        return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
    if isinstance(value, list | tuple):
        raise _kvq.Error(f"{op}: expected one Value as operand '{name}', got {len(value)}")
    if value is None and kind == "one":
        raise _kvq.Error(f"{op}: expected operand '{name}', got none")
    return [] if value is None else [value]
