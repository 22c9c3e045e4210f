"""Loops of a kernel's code, and which of their instructions every iteration runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .sass import COPIES, MATRIX, SIZE, Instruction


@dataclass(frozen=True)
class Block:
    """Instructions that are run one after the other."""

    begin: int
    end: int
    next: tuple[int, ...]  # numbers of blocks


@dataclass(frozen=True)
class Loop:
    """A loop: what may be run between two arrivals at its first block.

    hot: what every iteration runs, and besides it the blocks that multiply matrices or copy or load from global
    memory. The rest is rare: what is left out as long as a condition holds, a rescale or the masks of a tail.
    """

    whole: tuple[Instruction, ...]
    hot: tuple[Instruction, ...]

    def count(self, *names: str) -> int:
        return sum(instruction.name in names for instruction in self.whole)

    @property
    def bytes(self) -> int:
        """Of its code."""
        return SIZE * len(self.whole)


def mix(instructions: Iterable[Instruction]) -> dict[str, int]:
    """How often each kind of instruction occurs, the most frequent first."""
    return dict(Counter(instruction.name for instruction in instructions).most_common())


def blocks(code: list[Instruction]) -> list[Block]:
    """The blocks, in their order."""
    starts = {0} | {i.target for i in code if i.target is not None}
    starts |= {at + 1 for at, i in enumerate(code) if i.target is not None or not i.falls}
    bounds = sorted(start for start in starts if start < len(code)) + [len(code)]
    number = {begin: index for index, begin in enumerate(bounds)}
    found = []
    for begin, end in zip(bounds, bounds[1:], strict=False):
        last = code[end - 1]
        after = [] if last.target is None else [number[last.target]]
        if last.falls and end < len(code):
            after.append(number[end])
        found.append(Block(begin, end, tuple(after)))
    return found


def _dominators(graph: list[Block], before: list[list[int]]) -> list[set[int]]:
    """For each block those that every way to it passes."""
    everything = set(range(len(graph)))
    found = [everything] * len(graph)
    found[0] = {0}
    changed = True
    while changed:
        changed = False
        for index in range(1, len(graph)):
            over = [found[other] for other in before[index]]
            new = set.intersection(*over) | {index} if over else {index}
            if new != found[index]:
                found[index], changed = new, True
    return found


def _is_work(instructions: Iterable[Instruction]) -> bool:
    return any(i.name in MATRIX + COPIES + ("LDG",) for i in instructions)


def loops(code: list[Instruction]) -> list[Loop]:
    """The innermost loops that do work: multiply matrices, or else copy or load from global memory."""
    graph = blocks(code)
    before: list[list[int]] = [[] for _ in graph]
    for index, block in enumerate(graph):
        for after in block.next:
            before[after].append(index)
    dominators = _dominators(graph, before)
    bodies: dict[int, tuple[set[int], list[int]]] = {}  # by the first block: all blocks, and those that lead back
    for index, block in enumerate(graph):
        for head in block.next:
            if head in dominators[index]:
                body, ends = bodies.setdefault(head, ({head}, []))
                ends.append(index)
                pending = [index]
                while pending:
                    at = pending.pop()
                    if at not in body:
                        body.add(at)
                        pending += before[at]

    def instructions(numbers: Iterable[int]) -> list[Instruction]:
        return [i for number in sorted(numbers) for i in code[graph[number].begin : graph[number].end]]

    found = []
    for body, ends in bodies.values():
        inner = [other for other, _ in bodies.values() if other < body]
        kinds = MATRIX if any(i.name in MATRIX for i in instructions(body)) else COPIES + ("LDG",)
        if not any(i.name in kinds for i in instructions(body)):
            continue
        if any(i.name in kinds for other in inner for i in instructions(other)):
            continue
        always = set.intersection(*(dominators[end] for end in ends))
        hot = [n for n in body if n in always or _is_work(code[graph[n].begin : graph[n].end])]
        found.append(Loop(tuple(instructions(body)), tuple(instructions(hot))))
    return found


def main_loop(code: list[Instruction]) -> Loop | None:
    """The loop with the most products of matrices, of equals with the most bulk copies, then with the most bytes from
    global memory by others; the shortest of equals."""

    def worth(loop: Loop) -> tuple[int, int, int, int]:
        moved = sum(i.width for i in loop.whole if i.name in ("LDGSTS", "LDG"))
        return loop.count(*MATRIX), loop.count("UBLKCP"), moved, -len(loop.whole)

    return max(loops(code), key=worth, default=None)
