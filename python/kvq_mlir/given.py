"""What is given to a cache when it is made, the same for all sequences: static ranges, outer scales, means, signs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from . import _kvq
from .arguments import as_bits
from .format import DTYPES, Component, Format

Given = Mapping[str, np.ndarray]


def _accepted(component: Component) -> list[tuple[int, ...]]:
    """The shapes in which a component may be given, the full one first."""
    _, heads, _, size = component.shape
    shapes = [(heads, size), (1, size), (1, heads, 1, size)]
    if size == 1:
        shapes += [(heads,), (1,)]
    if heads == 1:
        shapes.append((size,))
    return list(dict.fromkeys(shapes))


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, shape))}]"


def _as_stored(component: Component, dtype: np.dtype, array: np.ndarray) -> np.ndarray:
    """A given array in the component's shape; `Error` or TypeError where it is of another shape or type."""
    name, accepted = component.name, _accepted(component)
    array = as_bits(array) if isinstance(array, np.ndarray) else array
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise TypeError(f"expected given {name} as an array of {dtype}, got {found}")
    if array.shape not in accepted:
        expected = " or ".join(_shape_text(shape) for shape in accepted)
        raise _kvq.Error(f"expected given {name} of shape {expected}, got {_shape_text(array.shape)}")
    _, heads, _, size = component.shape
    return np.ascontiguousarray(np.broadcast_to(array.reshape(-1, size), (heads, size))).reshape(component.shape)


def stored_components(fmt: Format, type_: str, given: Given | None) -> Iterator[tuple[str, np.ndarray]]:
    """The given components of a cache of `type_`, as it stores them, in its order.

    Signs are 1 where they are not given. Raises `Error`, a ValueError, where another one is missing, is given but has no
    use, is of another shape, or holds a value that is not allowed; TypeError for another dtype.
    """
    components = {component.name: component for component in fmt.components(type_) if component.given}
    given = dict(given or {})
    for name in given:
        if name not in components:
            needed = f"expected {', '.join(components)}" if components else "nothing is given to it"
            raise _kvq.Error(f"'{fmt}' has no use for given '{name}': {needed}")
    for name, component in components.items():
        if name.partition(".")[0] == "signs" and name not in given:
            given[name] = np.ones(component.shape, np.int8)
        if name not in given:
            expected = " or ".join(_shape_text(shape) for shape in _accepted(component))
            raise _kvq.Error(f"'{fmt}' needs given {name} of shape {expected}, got none")
        stored = _as_stored(component, fmt.dtype(component), given[name])
        _kvq.check_given(type_, name, stored.tobytes())
        yield name, stored
