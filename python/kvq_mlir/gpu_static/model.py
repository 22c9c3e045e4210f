"""The bandwidth that each limit of a GPU allows a kernel; docs/GPUStatic.md says what is assumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .chips import RESERVED, Chip
from .cubin import Kernel
from .flow import Loop
from .sass import MATRIX, Instruction

WARP = 32
_ACHIEVED = 0.92  # of what memory can do, by a copy

# What is issued to each unit; the rest takes none of them long.
_UNITS = {
    "integer": ("LOP3", "SHF", "PRMT", "IADD3", "IADD", "LEA", "ISETP", "IMNMX", "VIMNMX", "VIADD", "SEL", "FSEL", "FSETP")
    + ("FMNMX", "FMNMX3", "PLOP3", "SGXT", "IABS", "VOTE", "MOV"),
    "single": ("FFMA", "FMUL", "FADD", "HADD2", "HFMA2", "HMUL2", "HMNMX2", "IMAD", "IDP"),
    "special": ("MUFU", "F2F", "F2FP", "F2I", "I2F", "I2FP", "FLO", "POPC", "BREV"),
    "moves": ("LDG", "STG", "LDS", "STS", "LDSM", "LDGSTS", "SHFL", "MOVM", "REDUX", "LDL", "STL"),
    "matrix": MATRIX,
}


@dataclass(frozen=True)
class Occupancy:
    blocks: int  # on an SM at a time
    limit: str  # what allows no more


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


def occupancy(chip: Chip, kernel: Kernel, threads: int, dynamic_shared: int) -> Occupancy:
    """How many blocks of so many threads an SM runs at a time; 0 where one is too large."""
    warps = -(-threads // WARP)
    shared = kernel.shared_bytes + dynamic_shared
    if shared > chip.block_shared_bytes:
        return Occupancy(0, "shared memory")
    # Registers are given out to warps, 256 at a time.
    per_warp = _up(max(kernel.registers, 1) * WARP, 256)
    limits = {
        "blocks": chip.blocks,
        "threads": chip.threads // (warps * WARP),
        "registers": chip.registers // per_warp // warps,
        "shared memory": chip.shared_bytes // (_up(shared, 128) + RESERVED),
    }
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limit], limit)


def bytes_in_flight(loop: Loop, bytes_per_iteration: float) -> int:
    """Bytes that a warp has on their way while it computes: groups of copies, or what an iteration loads to registers.

    Of copies in groups one more than those that it does not wait for; of bulk copies, which do not say how many bytes they
    are, what an iteration works on: bytes_per_iteration, of codes.
    """
    if loop.count("UBLKCP"):
        return int(bytes_per_iteration)
    groups = loop.count("LDGDEPBAR")
    copied = sum(i.width for i in loop.whole if i.name == "LDGSTS") * WARP
    if groups and copied:
        waits = [i.pending for i in loop.whole if i.pending is not None]
        return copied * (max(waits, default=0) + 1) // groups
    return sum(i.width for i in loop.whole if i.name == "LDG") * WARP


def _share(unit: str, instructions: Iterable[Instruction]) -> int:
    return sum(i.name in _UNITS[unit] for i in instructions)


def bandwidths(chip: Chip, loop: Loop, in_flight: int, bytes_per_iteration: float) -> dict[str, float]:
    """Bytes of codes in a second that each limit allows, of the loop as it is run without its rare blocks.

    in_flight: bytes on their way to an SM. bytes_per_iteration: of codes, that a warp reads.
    """
    clocks = chip.sms * chip.gigahertz * 1e9
    allowed = {
        "memory": chip.gigabytes * 1e9 * _ACHIEVED,
        "in flight": chip.sms * in_flight / (chip.latency * 1e-9),
        "issue": clocks * chip.issue * bytes_per_iteration / len(loop.hot),
    }
    for unit in _UNITS:
        count = _share(unit, loop.hot)
        if count:
            allowed[unit] = clocks * getattr(chip, unit) * bytes_per_iteration / count
    return allowed
