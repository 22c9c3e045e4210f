"""A kernel measured: what ptxas made of it, its main loop, and what a GPU's limits allow it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .. import _kvq
from .chips import Chip
from .cubin import Kernel, read_cubin
from .flow import Loop, main_loop, mix
from .model import WARP, Occupancy, bandwidths, bytes_in_flight, occupancy
from .sass import MATRIX, SIZE, Instruction, decode

TOKENS = 16  # that a product of matrices takes side by side
PER = 32  # bytes of codes that instructions are counted for


@dataclass(frozen=True)
class Work:
    """What a kernel attends to: channels of keys and values, bits of their codes, query heads of a KV head."""

    key_dim: int
    value_dim: int
    key_bits: float
    value_bits: float
    queries: int = 8

    def tokens(self, loop: Loop) -> int:
        """Tokens of an iteration of a warp, by its products of matrices, 16 tokens x 16 channels x 8 queries each, and by
        the bytes that its lanes copy: the fewer, as there are products with other factors, copies that stand twice, and
        copies of scales. These make a power of two a little more.

        Where an iteration is for a part of the queries, all of them take several for these tokens.
        """
        tiles = -(-self.queries // 8)
        products = loop.count(*MATRIX) + loop.count("QMMA")  # of floats of 8 bits 32 channels or tokens deep
        fragments = products // ((self.key_dim + self.value_dim) // 16)
        tokens = fragments * TOKENS // tiles
        copied = sum(i.width * WARP for i in loop.whole if i.name == "LDGSTS")
        if not copied or tokens < TOKENS:
            return tokens
        fragments = int(min(tokens, copied / self.bytes_of(1)) / TOKENS)
        return TOKENS << fragments.bit_length() >> 1

    def bytes_of(self, tokens: int) -> float:
        return tokens * (self.key_dim * self.key_bits + self.value_dim * self.value_bits) / 8


@dataclass(frozen=True)
class Measured:
    """One kernel on one GPU. Instructions are those of a warp; None where there is no loop with products of matrices."""

    gpu: str
    kernel: str
    registers: int
    spill_bytes: int | None  # None where only the cubin is known
    local_accesses: int
    shared_bytes: int
    threads: int
    blocks_per_sm: int
    occupancy_limit: str
    bytes_in_flight: int  # of an SM
    code_bytes: int
    loop_bytes: int | None
    loop_instructions: int | None
    hot_instructions: int | None
    tokens: int | None  # of an iteration
    hot_per_32_bytes: float | None
    whole_per_32_bytes: float | None
    narrow_loads: int | None  # from global memory in the loop, of fewer than 16 bytes a thread
    barriers: int | None  # of the block, in the loop
    mix: dict[str, int]  # of the loop
    bandwidths: dict[str, float]  # bytes of codes in a second that each limit allows

    @property
    def limit(self) -> str | None:
        return min(self.bandwidths, key=lambda name: self.bandwidths[name], default=None)


def assemble(ptx: str, target: str) -> tuple[bytes, dict[str, int]]:
    """The cubin that ptxas makes of PTX, and the bytes that each kernel spills. Raises `Error` where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_text(ptx)
        command = [_kvq.find_cuda_tool("ptxas"), "-v", f"-arch={target}", str(source), "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise _kvq.Error(f"ptxas failed: {done.stderr.strip()}")
        return made.read_bytes(), spills(done.stderr + done.stdout)


def spills(said: str) -> dict[str, int]:
    """Bytes that kernels spill, stores and loads, from what `ptxas -v` says."""
    found: dict[str, int] = {}
    name = ""
    for line in said.splitlines():
        if match := re.search(r"Function properties for (\S+)", line):
            name = match[1]
        elif match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            found[name] = int(match[1]) + int(match[2])
    return found


def find_kernel(cubin: bytes, name: str | None) -> Kernel:
    """A kernel of a cubin by name, or its only one. Raises `Error` where there is none."""
    kernels = read_cubin(cubin)
    found = [kernel for kernel in kernels if name in (None, kernel.name)]
    if len(found) != 1:
        names = ", ".join(kernel.name for kernel in kernels)
        wanted = "one kernel, or the name of one" if name is None else f"a kernel '{name}'"
        raise _kvq.Error(f"expected {wanted}, found {names or 'none'}")
    return found[0]


def _narrow(instructions: tuple[Instruction, ...]) -> int:
    return sum(i.name in ("LDG", "LDGSTS") and i.width < 16 for i in instructions)


def measure(
    chip: Chip, kernel: Kernel, work: Work, threads: int | None, dynamic_shared: int, spill_bytes: int | None = None
) -> Measured:
    """What there is to know of a kernel on a GPU, of blocks of so many threads (by default as many as it may have)."""
    threads = threads or kernel.max_threads or 0
    if threads < 1:
        raise _kvq.Error(f"expected the threads of a block: {kernel.name} does not say how many it may have")
    code = decode(kernel.code, kernel.sm)
    loop = main_loop(code)
    place: Occupancy = occupancy(chip, kernel, threads, dynamic_shared)
    tokens = work.tokens(loop) if loop else 0
    read = work.bytes_of(tokens)
    in_flight = bytes_in_flight(loop, read) * -(-threads // WARP) * place.blocks if loop else 0
    return Measured(
        chip.name,
        kernel.name,
        kernel.registers,
        spill_bytes,
        sum(i.name in ("LDL", "STL") for i in code),
        kernel.shared_bytes + dynamic_shared,
        threads,
        place.blocks,
        place.limit,
        in_flight,
        SIZE * len(code),
        loop and loop.bytes,
        loop and len(loop.whole),
        loop and len(loop.hot),
        tokens or None,
        len(loop.hot) * PER / read if read else None,
        len(loop.whole) * PER / read if read else None,
        loop and _narrow(loop.whole),
        loop and loop.count("BAR"),
        mix(loop.whole) if loop else {},
        bandwidths(chip, loop, in_flight, read) if read else {},
    )

