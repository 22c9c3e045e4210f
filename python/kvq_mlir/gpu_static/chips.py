"""What GPUs have, as far as the speed of a kernel that reads memory depends on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Chip:
    """A GPU. Rates are of one SM and clock: warp instructions, or lanes over 32.

    latency: nanoseconds from a load of global memory to its data, where memory is busy. matrix: products of tensor
    cores, 16 x 8 x 16 of f16 with sums in f32; those of bytes take half the time for as much.
    """

    name: str
    target: str  # as compilers name it
    sms: int
    gigahertz: float
    gigabytes: float  # from memory in a second, at most
    latency: float
    registers: int = 65536
    threads: int = 2048
    blocks: int = 32
    shared_bytes: int = 0  # of an SM
    block_shared_bytes: int = 0  # that a block may have
    issue: float = 4.0
    integer: float = 2.0  # logic, shifts, byte permutations, comparisons
    single: float = 4.0  # sums and products of f32, and of pairs of f16
    special: float = 0.5  # exponentials, conversions between integers and floats
    moves: float = 1.0  # accesses to shared and global memory, shuffles
    matrix: float = 0.5

    @property
    def sm(self) -> int:
        return int(self.target.removeprefix("sm_").rstrip("a"))


_KIB = 1024
RESERVED = 1024  # bytes of shared memory that a block has besides its own, since sm_80
CHIPS = (
    Chip("A100", "sm_80", 108, 1.41, 2039, 700, shared_bytes=164 * _KIB, block_shared_bytes=163 * _KIB, single=2.0),
    Chip("H100", "sm_90a", 132, 1.755, 3352, 850, shared_bytes=228 * _KIB, block_shared_bytes=227 * _KIB),
    Chip("H200", "sm_90a", 132, 1.755, 4800, 850, shared_bytes=228 * _KIB, block_shared_bytes=227 * _KIB),
    Chip("B200", "sm_100a", 148, 1.85, 8000, 900, shared_bytes=228 * _KIB, block_shared_bytes=227 * _KIB),
    Chip(
        "RTX 4090",
        "sm_89",
        128,
        2.52,
        1008,
        600,
        threads=1536,
        blocks=24,
        shared_bytes=100 * _KIB,
        block_shared_bytes=99 * _KIB,
        matrix=0.25,
    ),
)
