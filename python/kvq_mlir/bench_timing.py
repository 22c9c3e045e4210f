"""Times of calls on machines that do other things too: medians, spread, and ratios within one run."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from . import yardstick

MEMORY_BYTES = 512 << 20  # far beyond any last-level cache here
Call = Callable[[], object]


@dataclass(frozen=True)
class Spread:
    """The median of some samples, and the quartiles."""

    median: float
    lower_quartile: float
    upper_quartile: float

    def text(self, factor: float = 1.0, digits: int = 0) -> str:
        """Median and quartiles, each times `factor`."""
        numbers = (f"{number * factor:,.{digits}f}" for number in (self.median, self.lower_quartile, self.upper_quartile))
        return "{} ({}–{})".format(*numbers)


def spread(samples: Sequence[float] | np.ndarray) -> Spread:
    """That of samples."""
    lower, median, upper = np.percentile(samples, [25, 50, 75])
    return Spread(float(median), float(lower), float(upper))


@dataclass(frozen=True)
class Timing(Spread):
    """Seconds of one call."""

    calls: int = 0

    @classmethod
    def of(cls, function: Call, seconds: float = 1.0, warm_up: int = 5) -> Timing:
        """Calls `function` for about `seconds`, at least 10 times, after `warm_up` calls that are not counted."""
        for _ in range(warm_up):
            function()
        samples: list[float] = []
        end = time.perf_counter() + seconds
        while len(samples) < 10 or time.perf_counter() < end:
            samples.append(_time(function))
        found = spread(samples)
        return cls(found.median, found.lower_quartile, found.upper_quartile, len(samples))


def _time(function: Call, clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    function()
    return clock() - start


def interleave(
    calls: Mapping[Hashable, Call], seconds: float = 1.0, threads: int = 1, turn_seconds: float = 2e-3
) -> dict[Hashable, np.ndarray]:
    """Seconds of a call, by name, one sample in each round. Of calls that run on one thread, this one, it is processor
    time: what the machine gives to others in between does not count.

    In a round each has a turn, in rotating order: one call that does not count, so that it finds the caches of the
    processor as its own calls leave them, then as many as take `turn_seconds`. So what else the machine does hits all
    alike, and ratios of samples of the same round can be relied on where times cannot. There are as many rounds as
    take `seconds` for each call, at least 7.
    """
    clock = time.thread_time if threads == 1 else time.perf_counter
    for call in calls.values():
        call()
    times = {name: max(1, math.ceil(turn_seconds / _time(call))) for name, call in calls.items()}
    samples: dict[Hashable, list[float]] = {name: [] for name in calls}
    names = list(calls)
    end = time.perf_counter() + seconds * len(names)
    rounds = 0
    while rounds < 7 or time.perf_counter() < end:
        for name in names[rounds % len(names) :] + names[: rounds % len(names)]:
            call, count = calls[name], times[name]
            call()
            start = clock()
            for _ in range(count):
                call()
            samples[name].append((clock() - start) / count)
        rounds += 1
    return {name: np.array(found) for name, found in samples.items()}


def memory_read(threads: int, size: int) -> Call:
    """A plain read of `size` bytes by so many threads; by one, with NumPy, where there is no yardstick."""
    if yardstick.missing() is None:
        words = np.ones(size // 8, np.int64)
        return lambda: yardstick.read(words, threads)
    return np.ones(size // 4, np.int32).max  # vectorised, the quickest read that NumPy has


def processor() -> str:
    """The processor's name as Linux gives it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def plural(count: int, noun: str) -> str:
    """The count with its noun, as in "1 token" and "2 tokens"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
