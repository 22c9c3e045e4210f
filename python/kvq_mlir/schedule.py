"""Schedules: how attention is cut into work items, tiles and vectors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from . import _kvq


@dataclass(frozen=True)
class Schedule:
    """`#kvq.schedule`: a field that is None is chosen by the cost model of docs/Pipeline.md.

    tile: most tokens in a tile. splits: token ranges of a query token that are attended to separately and merged.
    heads_inside: tokens of which a work item reads all KV heads in turn, 0 for a work item for each KV head.
    vector_width: elements of f32 in a vector register. prefetch: how many tiles ahead cache lines are prefetched, 0 for
    none. str() gives the attribute. Raises `Error`, a ValueError, for a number out of bounds, and where there is none.
    """

    tile: int | None = None
    splits: int | None = None
    heads_inside: int | None = None
    vector_width: int | None = None
    prefetch: int | None = None

    def __post_init__(self) -> None:
        _kvq.parse(f"func.func private @f() attributes {{kvq.schedule = {self}}}")

    def __str__(self) -> str:
        fields = ", ".join(f"{name} = {number}" for name, number in asdict(self).items() if number is not None)
        return f"#kvq.schedule<{fields}>"


_file: Path | None = None
_uses = 0  # of files: what was compiled for another one does not count


def use_schedules(path: str | Path | None) -> None:
    """From now on attention follows the schedules of a file that `python -m kvq_mlir tune` has written, where it has one
    for the types, the processor and the number of threads; None for none.

    Raises `Error`, a ValueError, for a file that cannot be read, is none, or is of another version of kvq; the one
    before stays in use then.
    """
    global _file, _uses
    if path is not None:
        _kvq.check_schedules(str(path))
    _file = None if path is None else Path(path).resolve()
    _uses += 1


def schedules_in_use() -> tuple[str, int] | None:
    """The file in use, and a number that changes with every use of one; None without."""
    return None if _file is None else (str(_file), _uses)
