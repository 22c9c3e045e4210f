"""What is compiled and run: on a GPU, and, in small, on the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .formats import FORMATS


@dataclass(frozen=True)
class Kernel:
    """A function of one module. kind: "attention", "append" or "rebuild" (as f16). group: query heads of a KV head, and
    splits of its tokens, of attention."""

    kind: str
    format: str
    batch: int
    group: int = 0
    splits: int = 0

    @property
    def name(self) -> str:
        tail = f"-g{self.group}-s{self.splits}" if self.kind == "attention" else ""
        return f"{self.kind}-{self.format}-b{self.batch}{tail}"


@dataclass(frozen=True)
class Plan:
    """kv_heads, head_dim: of all caches. groups: query heads of a KV head. splits: of tokens, by batch, any of which may
    be the fastest. tokens: lengths that are timed."""

    name: str
    kv_heads: int
    head_dim: int
    groups: tuple[int, ...]
    splits: dict[int, tuple[int, ...]]
    tokens: tuple[int, ...]

    def kernels(self) -> Iterator[Kernel]:
        for fmt in FORMATS:
            for batch, splits in self.splits.items():
                for group in self.groups:
                    yield from (Kernel("attention", fmt, batch, group, each) for each in splits)
                yield Kernel("append", fmt, batch)
                if fmt != "f16":
                    yield Kernel("rebuild", fmt, batch)

    @property
    def scale(self) -> float:
        return self.head_dim**-0.5


# Blocks of 4 warps with steps of 64 tokens: 8 KV heads times batch times splits fill 132 or 148 SMs two or three times.
FULL = Plan(
    "full",
    kv_heads=8,
    head_dim=128,
    groups=(8, 4),
    splits={1: (16, 48), 8: (2, 6), 64: (1, 4)},
    tokens=(2048, 4096, 32768, 131072, 262144),
)
SMALL = Plan("small", kv_heads=2, head_dim=128, groups=(8, 4), splits={1: (3,), 2: (1,)}, tokens=())
PLANS = {plan.name: plan for plan in (FULL, SMALL)}
CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")  # that kvq compiles for
EMULATED_CHIP = "sm_90a"  # has instructions for fp8
