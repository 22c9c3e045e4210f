"""What was measured, as tables, and the goals beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .measure import Measured
from .plan import Plan

LONG = 32768


@dataclass(frozen=True)
class Goal:
    """What `value` makes of measurements, f16's of the same shape beside, is to be at least `least` where `holds`."""

    text: str
    formats: tuple[str, ...]
    holds: Callable[[Measured], bool]
    least: float
    is_speed: bool = False


def _is_batched(m: Measured) -> bool:
    return m.batch >= 8 and m.tokens >= LONG


EIGHT, QUANTIZED = ("fp8", "int8"), ("fp8", "int8", "int4", "int2")
GOALS = (
    Goal("f16: of the copy's bandwidth, batched, from 32K", ("f16",), _is_batched, 0.85),
    Goal("8 bits: of the copy's bandwidth, batched, from 32K", EIGHT, _is_batched, 0.80),
    Goal("8 bits: of it at batch 1, 256K", EIGHT, lambda m: m.batch == 1 and m.tokens >= 262144, 0.60),
    Goal("int4: of the copy's bandwidth, batched, from 32K", ("int4",), _is_batched, 0.65),
    Goal("int4: as fast as our f16, times, beyond 32K", ("int4",), lambda m: m.tokens > LONG, 2.6, True),
    Goal("quantized: as fast as our f16, times, from 2K", QUANTIZED, lambda m: m.tokens >= 2048, 1.0, True),
)


def name_of(tokens: int) -> str:
    return f"{tokens // 1024}K" if tokens % 1024 == 0 else str(tokens)


def _find(found: Iterable[Measured], what: str, fmt: str, batch: int, group: int, tokens: int) -> Measured | None:
    key = (what, fmt, batch, group, tokens)
    return next((m for m in found if (m.what, m.format, m.batch, m.group, m.tokens) == key), None)


def goals(found: Sequence[Measured]) -> Iterator[str]:
    """A line for each goal: what it asks, the least that was found and where, and whether that is enough."""
    for goal in GOALS:
        values = []
        for m in found:
            if m.what != "decode" or m.format not in goal.formats or not goal.holds(m):
                continue
            f16 = _find(found, "decode", "f16", m.batch, m.group, m.tokens)
            value = m.share if not goal.is_speed else f16 and f16.seconds / m.seconds
            if value is not None:
                values.append((value, m))
        text = f"{goal.text:54} goal {goal.least:4.2f}"
        if not values:
            yield f"{text}  not measured"
            continue
        value, m = min(values, key=lambda pair: pair[0])
        where = f"{m.format}, batch {m.batch}, {m.group} queries, {name_of(m.tokens)}"
        yield f"{text}  least {value:4.2f} ({where})  {'met' if value >= goal.least else 'NOT MET'}"


def tables(found: Sequence[Measured], plan: Plan, formats: Sequence[str], tokens: Sequence[int]) -> Iterator[str]:
    """µs, share of a copy's bandwidth, and how many times as fast as our f16, a table for each group."""
    for group in plan.groups:
        yield f"\nDecode, {group} queries a KV head: µs, share of a copy's bandwidth, times as fast as our f16"
        yield " batch  tokens" + "".join(f"{name:>22}" for name in formats) + f"{'PyTorch, f16':>22}"
        for batch in plan.splits:
            for each in tokens:
                f16 = _find(found, "decode", "f16", batch, group, each)
                row = [_find(found, "decode", name, batch, group, each) for name in formats]
                row.append(_find(found, "sdpa", "f16", batch, group, each))
                yield f"{batch:6}{name_of(each):>8}" + "".join(_cell(m, f16) for m in row)
    yield f"\nOne token of each sequence appended to one cache: µs\n batch{'':8}" + "".join(f"{n:>22}" for n in formats)
    for batch in plan.splits:
        row = [next((m for m in found if (m.what, m.format, m.batch) == ("append", n, batch)), None) for n in formats]
        yield f"{batch:6}{'':8}" + "".join(f"{m.seconds * 1e6:22.1f}" if m else f"{'-':>22}" for m in row)
    yield "\nWithout fusion, caches rebuilt as f16 first: µs, and how many times as long as decode"
    for m in (m for m in found if m.what == "unfused"):
        fused = _find(found, "decode", m.format, m.batch, m.group, m.tokens)
        ratio = f"{m.seconds / fused.seconds:8.1f}" if fused else ""
        yield f"{m.batch:6}{name_of(m.tokens):>8} {m.format:6} {m.group} queries{m.seconds * 1e6:12.1f}{ratio}"


def _cell(m: Measured | None, f16: Measured | None) -> str:
    if m is None:
        return f"{'-':>22}"
    speed = f"{f16.seconds / m.seconds:5.2f}" if f16 else "    -"
    return f"{m.seconds * 1e6:11.1f} {m.share:4.0%}{speed}"
