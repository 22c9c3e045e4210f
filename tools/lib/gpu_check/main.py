"""The command line of tools/gpu-check."""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import InputError
from .build import build, load_manifest
from .check import Case, check_append, check_attention, check_unfused
from .driver import Driver
from .formats import FORMATS
from .machines import GPU, EmulatedMachine, find_chip, has_driver
from .measure import Bench, Measured
from .plan import CHIPS, EMULATED_CHIP, FULL, PLANS, SMALL, Kernel, Plan
from .report import goals, name_of, tables

NOTHING_RAN = "Nothing ran on hardware: no times."
CHECKED_TOKENS = {"full": (5000, 2500), "small": (200, 130)}  # of one sequence, of several
LONG_CHECK = 131072 + 77


class Progress:
    """Lines, and how long it has been."""

    def __init__(self) -> None:
        self.failed, self._begin = 0, time.monotonic()

    def say(self, text: str) -> None:
        print(text, flush=True)

    def seconds(self) -> float:
        return time.monotonic() - self._begin


def check(machine: Any, plan: Plan, formats: Sequence[str], load: Any, progress: Progress) -> None:
    """Every kernel of the plan against the reference; says what was found."""
    progress.say(f"Outputs against float64 on the same codes, on {machine.name}:")
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for kernel in plan.kernels():
        if kernel.format not in formats:
            continue
        try:
            found[kernel.format, kernel.kind] += _check_kernel(machine, plan, kernel, load)
        except (RuntimeError, ValueError) as error:
            raise InputError(f"{kernel.name}: {error}") from error
    names = {"attention": "attention", "append": "append", "rebuild": "unfused"}
    units = {"attention": "relative L2", "append": "of half a step between codes", "rebuild": "relative L2"}
    for (fmt, kind), results in found.items():
        error, bound = max(results, key=lambda result: math.inf if math.isnan(result[0]) else result[0])
        good = error <= bound  # not so a NaN
        progress.failed += not good
        progress.say(
            f"  {fmt:6}{names[kind]:10}{error:9.1e}, at most {bound:.1e} {units[kind]}, {len(results)} "
            f"case{'s' * (len(results) != 1)}: {'right' if good else 'WRONG'}"
        )


def _check_kernel(machine: Any, plan: Plan, kernel: Kernel, load: Any) -> list[tuple[float, float]]:
    """Errors, and what each may be."""
    alone, together = CHECKED_TOKENS[plan.name]
    lengths = [alone] if kernel.batch == 1 else [1 + (together * (b + 1)) // kernel.batch for b in range(kernel.batch)]
    case = Case(machine, plan, kernel.format, kernel.batch, lengths)
    if kernel.kind == "append":
        return [check_append(case, load(kernel.name))]
    if kernel.kind == "rebuild":
        f16 = Kernel("attention", "f16", kernel.batch, plan.groups[0], plan.splits[kernel.batch][-1])
        return [check_unfused(case, f16, load(kernel.name), load(f16.name))]
    cases = [case]
    if machine.is_gpu and kernel.batch == 1:
        cases.append(Case(machine, plan, kernel.format, 1, [LONG_CHECK]))
    return [check_attention(each, kernel, load(kernel.name)) for each in cases]


def measure(machine: GPU, plan: Plan, options: argparse.Namespace, load: Any, progress: Progress) -> None:
    progress.say("\nTimes: medians of CUDA graphs, caches cold in L2")
    bench = Bench(machine, plan, load, options.seconds)
    progress.say(f"a copy on the device reads and writes {bench.copy / 1e12:.2f} TB/s")

    def tell(m: Measured) -> None:
        if m.what == "append":
            progress.say(f"  {progress.seconds():4.0f} s: {m.format}, batch {m.batch}")

    found = bench.run(options.formats, options.tokens, tell)
    for line in tables(found, plan, options.formats, options.tokens):
        progress.say(line)
    progress.say("\nGoals")
    for line in goals(found):
        progress.say(line)
    if options.json:
        described = {"gpu": machine.name, "chip": machine.chip, "copy": bench.copy, "measured": [asdict(m) for m in found]}
        options.json.write_text(json.dumps(described, indent=1))


def run(folder: Path, options: argparse.Namespace) -> int:
    """Checks and times what a folder has, on a GPU or else on the emulator."""
    manifest, problem, progress = load_manifest(folder), has_driver(), Progress()
    if options.device == "cuda" and problem:
        raise InputError(f"--device cuda: {problem}")
    if options.device == "emulator" or problem:
        reason = problem or "--device emulator"
        progress.say(f"{reason}: on the emulator, in small. {NOTHING_RAN}")
        plan, machine = SMALL, EmulatedMachine(folder, _plan_of(manifest, SMALL, folder), EMULATED_CHIP)
    else:
        plan, machine = FULL, GPU(folder, _plan_of(manifest, FULL, folder))
        progress.say(f"{machine.name}, kernels of {machine.chip}")
    loaded: dict[str, Any] = {}

    def load(name: str) -> Any:
        if name not in loaded:
            loaded[name] = machine.load(name)
        return loaded[name]

    check(machine, plan, options.formats, load, progress)
    if machine.is_gpu:
        measure(machine, plan, options, load, progress)
    wrong = f"{progress.failed} WRONG" if progress.failed else "all outputs are right"
    progress.say(f"\n{wrong}, {progress.seconds():.0f} s" + ("" if machine.is_gpu else f". {NOTHING_RAN}"))
    return 1 if progress.failed else 0


def _plan_of(manifest: dict[str, Any], plan: Plan, folder: Path) -> dict[str, Any]:
    found = manifest.get(plan.name)
    names = {kernel.name for kernel in plan.kernels()}
    if found is None or not names <= set(found["kernels"]):
        raise InputError(f"{folder} has no kernels of the plan '{plan.name}': tools/gpu-check build {folder} makes them")
    return found


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _formats(text: str) -> list[str]:
    names = _list(text)
    unknown = [name for name in names if name not in FORMATS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(FORMATS)}, got '{text}'")
    return names


def _tokens(text: str) -> list[int]:
    names = _list(text)
    if not names or not all(name.removesuffix("K").isdecimal() and int(name.removesuffix("K")) for name in names):
        raise argparse.ArgumentTypeError(f"expected numbers of tokens, such as 2K,4096, got '{text}'")
    return sorted(int(name.removesuffix("K")) * (1024 if name.endswith("K") else 1) for name in names)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/gpu-check",
        description="Checks kvq's kernels on a GPU and times them; docs/GPUCheck.md. Without arguments: builds, and runs "
        "on the GPU of this machine, or without one on the emulator.",
    )
    commands = parser.add_subparsers(dest="command")
    built = commands.add_parser("build", help="compile the kernels into a folder; needs kvq's build")
    built.add_argument("folder", type=Path)
    built.add_argument("--chips", type=_list, default=["sm_90a"], help="with commas (default: sm_90a)")
    built.add_argument("--copies", choices=("async", "bulk"), default="async", help="of codes (default: async)")
    built.add_argument("--ptx", action="store_true", help="no cubins, PTX: as without ptxas")
    ran = commands.add_parser("run", help="check and time a folder's kernels; needs PyTorch and the CUDA driver")
    ran.add_argument("folder", type=Path)
    for each in (parser, ran):
        each.add_argument("--device", choices=("cuda", "emulator"), help="default: cuda where there is a driver")
        each.add_argument("--formats", type=_formats, default=list(FORMATS), help=f"some of {','.join(FORMATS)}")
        each.add_argument(
            "--tokens", type=_tokens, default=list(FULL.tokens), help=f"default: {','.join(map(name_of, FULL.tokens))}"
        )
        each.add_argument("--seconds", type=float, default=0.1, help="for each measurement (default: %(default)s)")
        each.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    try:
        if options.command == "build":
            build(options.folder, list(PLANS.values()), options.chips, options.ptx, options.copies)
            return 0
        if options.command == "run":
            return run(options.folder, options)
        with tempfile.TemporaryDirectory(prefix="gpu-check-") as name:
            folder = Path(name)
            if options.device == "emulator" or has_driver():
                build(folder, [SMALL], [])
            else:
                build(folder, [FULL], [find_chip(CHIPS, Driver().capability, folder)])
            return run(folder, options)
    except InputError as error:
        print(f"gpu-check: error: {error}", file=sys.stderr)
        return 1
