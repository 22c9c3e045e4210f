"""`python -m kvq_mlir bench gpu-static`: what the machine code of GPU kernels says about their speed, without a GPU.

docs/GPUStatic.md has the model.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from . import _kvq
from .bench_cases import NamedFormat, named_format, positive
from .cache_types import cache_type, has_window
from .devices import COPIES
from .format import Format
from .gpu_static.chips import CHIPS, Chip
from .gpu_static.measure import Measured, Work, assemble, find_kernel, measure
from .ir import append as _append_ir
from .ir import attention as _attention_ir
from .text import InputError

BATCH, KV_HEADS = 8, 8
PAGE = 64
FORMATS = {  # what the limits in docs/GPUStatic.md are for
    "f16": "codes = none",
    "i8, per token, bias": "codes = i8, group = [1, *], scale = f16, layout = #kvq.layout<bias>",
    "i8, per token": "codes = i8, group = [1, *], scale = f16",
    "f8E4M3FN, per token": "codes = f8E4M3FN, group = [1, *], scale = f16",
    "i4, per token": "codes = i4, group = [1, *], scale = f16",
    "i2, per token": "codes = i2, group = [1, *], scale = f16",
    "ui4, per channel of 32 tokens": "codes = ui4, group = [32, 1], scale = f16, zero = min f16",
    "ui4, per channel of 64 tokens": "codes = ui4, group = [64, 1], scale = f16, zero = min f16",
    "i4": "codes = i4, group = [1, 32], scale = f16",
}
IN_FRAGMENTS = {  # beside keys in rows
    "i8, per token, bias": "i8, per token, bias, fragments",
    "i8, per token": "i8, per token, fragments",
    "i4, per token": "i4, per token, fragments",
    "i2, per token": "i2, per token, fragments",
    "i4": "i4, fragments",
}


def _in_fragments(text: str) -> str:
    bias = "bias, " if "bias" in text else ""
    return f"{text.partition(', layout')[0]}, layout = #kvq.layout<{bias}tile = fragments<64>>"


CASES = (
    *list(FORMATS)[:6],
    "ui4, per channel of 32 tokens / i4, per token",
    "ui4, per channel of 64 tokens / i4, per token",
    "i4",
    "ui4, per channel of 32 tokens / i4",
    *(f"{keys} / {values}" for keys, values in IN_FRAGMENTS.items()),
)
FORMATS |= {values: _in_fragments(FORMATS[keys]) for keys, values in IN_FRAGMENTS.items()}


@dataclass(frozen=True)
class Step:
    """A decode step with one format of keys and one of values, and of floats of 8 bits the query's."""

    keys: str
    values: str
    query_codes: str | None
    launches: int  # of a step of one layer: attention, and the appends to both sides
    attention: list[Measured]  # by GPU


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `bench gpu-static`."""
    parser.add_argument(
        "--formats",
        default="; ".join(CASES),
        help="formats with semicolons, KEYS / VALUES where they differ, @ f8E4M3FN for products of floats of 8 bits: "
        "names of `formats` (default: %(default)s)",
    )
    parser.add_argument("--gpus", default="all", help="with commas (default: all)")
    parser.add_argument(
        "--copies",
        default="async",
        choices=COPIES,
        help="how codes come to shared memory, 'bulk' on GPUs that have bulk copies (default: async)",
    )
    parser.add_argument("--cubin", metavar="FILE", help="measure a kernel of a cubin rather than compile one")
    parser.add_argument("--kernel", metavar="NAME", help="of the cubin (default: the only one)")
    parser.add_argument("--bits", default="8", help="of a code in the cubin, or of keys, values (default: 8)")
    parser.add_argument("--head-dim", default="128", help="channels, or those of keys, values (default: 128)")
    parser.add_argument("--queries", default="8", help="query heads of a KV head (default: 8)")
    parser.add_argument("--threads", help="in a block of the cubin's kernel (default: as many as it may have)")
    parser.add_argument("--dynamic-shared", default="0", help="bytes that a block of the cubin's kernel is launched with")


def _gpus(text: str) -> list[Chip]:
    known = {chip.name.lower(): chip for chip in CHIPS}
    if text.strip().lower() == "all":
        return list(CHIPS)
    chosen = []
    for name in text.split(","):
        chip = known.get(name.strip().lower())
        if chip is None:
            raise InputError(f"--gpus: expected some of {', '.join(c.name for c in CHIPS)}, found '{name.strip()}'")
        chosen.append(chip)
    return chosen


def _pair(text: str, option: str) -> tuple[int, int]:
    """A number for both sides, or one for keys and one for values."""
    parts = [positive(part.strip(), option) for part in text.split(",")]
    if len(parts) > 2:
        raise InputError(f"{option}: expected a number, or one for keys and one for values, found {len(parts)}")
    return parts[0], parts[-1]


def _work(arguments: argparse.Namespace, bits: tuple[float, float]) -> Work:
    return Work(*_pair(arguments.head_dim, "--head-dim"), *bits, positive(arguments.queries, "--queries"))


def measure_cubin(arguments: argparse.Namespace, gpus: list[Chip]) -> list[Measured]:
    """The cubin's kernel on those of the GPUs that it is for."""
    path = Path(arguments.cubin)
    try:
        cubin = path.read_bytes()
        kernel = find_kernel(cubin, arguments.kernel)
    except (OSError, _kvq.Error) as error:
        raise InputError(f"--cubin {path}: {error}") from error
    fitting = [chip for chip in gpus if chip.sm == kernel.sm]
    if not fitting:
        raise InputError(f"--cubin {path}: its code is of sm_{kernel.sm}, and no GPU of --gpus runs it")
    threads = arguments.threads and positive(arguments.threads, "--threads")
    dynamic = 0 if arguments.dynamic_shared == "0" else positive(arguments.dynamic_shared, "--dynamic-shared")
    work = _work(arguments, _pair(arguments.bits, "--bits"))
    try:
        return [measure(chip, kernel, work, threads, dynamic) for chip in fitting]
    except _kvq.Error as error:
        raise InputError(f"--cubin {path}: {error}") from error


class Sides:
    """The caches of a decode step, as types."""

    def __init__(
        self, named: tuple[NamedFormat, NamedFormat], dims: tuple[int, int], queries: int, query_codes: str | None
    ) -> None:
        self.formats = [side.format for side in named]
        self.recent = [fmt.tokens if fmt.tokens > 1 else 0 for fmt in self.formats]
        self.types = [
            cache_type(
                BATCH, KV_HEADS, "?", dim, side.format, side.dtype, 0, recent, None, PAGE, None, 0, False
            )
            for side, dim, recent in zip(named, dims, self.recent, strict=True)
        ]
        self.windows = tuple(has_window(fmt, recent, None) for fmt, recent in zip(self.formats, self.recent, strict=True))
        self.dims, self.query_heads, self.query_codes = dims, KV_HEADS * queries, query_codes

    @property
    def bits(self) -> tuple[float, float]:
        return tuple(16 if fmt.is_exact else fmt.bits for fmt in self.formats)

    def attention(self) -> str:
        variant = _attention_ir.Variant(scale=0.1, causal=True, query_codes=self.query_codes)
        shape = (BATCH, self.query_heads, self.dims[0])
        return _attention_ir.attention(shape, "f16", self.dims[1], *self.types, self.windows, variant, (True, True))

    def append(self, side: int) -> str:
        shape = (BATCH, KV_HEADS, self.dims[side])
        return _append_ir.append(shape, "f16", self.types[side], self.windows[side], paged=True)


def measure_step(names: tuple[str, str], sides: Sides, work: Work, gpus: list[Chip], copies: str) -> Step:
    """Compiles a decode step for the GPUs, and measures its attention."""
    found, launches = [], 0
    for target in dict.fromkeys(chip.target for chip in gpus):
        ptx, called = _kvq.gpu_code(sides.attention(), chip=target, options=f"copies={copies}")
        cubin, spilled = assemble(ptx, target)
        # The kernel that reads the cache: others merge what it leaves.
        name, threads, dynamic = called[0]
        kernel = find_kernel(cubin, name)
        found += [
            measure(chip, kernel, work, threads, dynamic, spilled.get(name))
            for chip in gpus
            if chip.target == target
        ]
        if not launches:
            appends = [_kvq.gpu_code(sides.append(side), chip=target)[1] for side in range(2)]
            launches = len(called) + sum(map(len, appends))
    return Step(*names, sides.query_codes, launches, found)


def _named(name: str) -> NamedFormat:
    return NamedFormat(name, Format(FORMATS[name])) if name in FORMATS else named_format(name, "--formats")


def _steps(arguments: argparse.Namespace, gpus: list[Chip]) -> list[Step]:
    from tqdm import tqdm

    dims, queries = _pair(arguments.head_dim, "--head-dim"), positive(arguments.queries, "--queries")
    pairs = []
    for text in arguments.formats.split(";"):
        formats, _, query = text.partition("@")
        parts = [part.strip() for part in formats.split("/")]
        if len(parts) > 2:
            raise InputError(f"--formats: expected a name, or keys / values, found '{text.strip()}'")
        pairs.append(((parts[0], parts[-1]), query.strip() or None))
    steps = []
    for names, query in tqdm(pairs, desc="compiling", unit="format", disable=None, leave=False):
        named = tuple(_named(name) for name in names)
        try:
            sides = Sides(named, dims, queries, query)
            steps.append(measure_step(names, sides, _work(arguments, sides.bits), gpus, arguments.copies))
        except _kvq.Error as error:
            raise InputError(f"{' / '.join(names)}: {error}") from error
    return steps


def _number(value: float | None, text: str = "") -> str:
    return "-" if value is None else format(value, text)


COLUMNS = (
    f"{'GPU':9}{'regs':>5}{'spill':>6}{'local':>6}{'KB':>7}{'blocks':>7}{'in flight':>10}{'loop KB':>8}"
    f"{'narrow':>7}{'bars':>5}{'hot':>6}{'whole':>7}{'GB/s':>7}{'of peak':>8}  limit"
)


def _row(m: Measured) -> str:
    peak = next(chip.gigabytes for chip in CHIPS if chip.name == m.gpu) * 1e9
    reached = m.bandwidths[m.limit] if m.limit else None
    return (
        f"{m.gpu:9}{m.registers:>5}{_number(m.spill_bytes):>6}{m.local_accesses:>6}{m.shared_bytes / 1024:>7.1f}"
        f"{m.blocks_per_sm:>7}{m.bytes_in_flight / 1024:>7.0f} KB"
        f"{_number(m.loop_bytes and m.loop_bytes / 1024, '.1f'):>8}{_number(m.narrow_loads):>7}{_number(m.barriers):>5}"
        f"{_number(m.hot_per_32_bytes, '.2f'):>6}{_number(m.whole_per_32_bytes, '.2f'):>7}"
        f"{_number(reached and reached / 1e9, ',.0f'):>7}{_number(reached and reached / peak, '.0%'):>8}"
        f"  {m.limit or 'no loop with products of matrices'}"
    )


def _notes() -> str:
    return (
        "KB: shared memory of a block. blocks: of an SM. in flight: bytes on their way to an SM. narrow: loads from global\n"
        "memory of fewer than 16 bytes, bars: barriers of the block, both in the loop. hot, whole: warp instructions for 32\n"
        "bytes of codes, without the loop's rare blocks and with them. GB/s: of codes, that the limit allows."
    )


def _measured_as_json(m: Measured) -> dict:
    return asdict(m) | {"limit": m.limit}


def _as_json(step: Step) -> dict:
    return asdict(step) | {"attention": [_measured_as_json(m) for m in step.attention]}


def run(arguments: argparse.Namespace) -> None:
    """Measures and prints; `InputError` for arguments that are out of range, and where ptxas is missing."""
    gpus = _gpus(arguments.gpus)
    if arguments.cubin:
        measured = measure_cubin(arguments, gpus)
        if arguments.json:
            print(json.dumps([_measured_as_json(m) for m in measured], indent=2))
            return
        print(f"{measured[0].kernel}\n\n{COLUMNS}")
        for m in measured:
            print(_row(m))
        print("\nloop: " + " ".join(f"{name}:{count}" for name, count in measured[0].mix.items()))
        print(f"\n{_notes()}")
        return
    steps = _steps(arguments, gpus)
    if arguments.json:
        print(json.dumps([_as_json(step) for step in steps], indent=2))
        return
    print(
        f"Attention of a decode step: {BATCH} sequences, {KV_HEADS} KV heads of {arguments.queries} query heads, head dim "
        f"{arguments.head_dim}, pages of {PAGE} tokens"
    )
    for step in steps:
        name = step.keys if step.keys == step.values else f"{step.keys} / {step.values}"
        name += f" @ {step.query_codes}" if step.query_codes else ""
        print(f"\n{name}: {step.launches} launches a step, appends included\n{COLUMNS}")
        for m in step.attention:
            print(_row(m))
    print(f"\n{_notes()}")
