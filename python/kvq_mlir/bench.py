"""`python -m kvq_mlir bench`: times of compiled code.

`cpu` (in `bench_cpu`) times fused attention beside a kernel written by hand, `pairs` (in `bench_pairs`) every pair of
formats beside exact ones, `append` (in `bench_append`) the storing of new tokens. `gpu-static` (in `bench_gpu_static`)
says what the machine code of GPU kernels allows.
"""

from __future__ import annotations

import argparse

from . import bench_append, bench_cpu, bench_gpu_static, bench_pairs

PACKAGES = ("threadpoolctl", "tqdm")  # that the command needs beside those of kvq_mlir


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command `bench`."""
    targets = parser.add_subparsers(title="targets", required=True, dest="target", metavar="TARGET")
    for name, module, text in (
        ("cpu", bench_cpu, "fused attention on the CPU, beside a kernel written by hand"),
        ("pairs", bench_pairs, "attention over every pair of formats of keys and values, beside exact ones"),
        ("append", bench_append, "storing new tokens"),
        ("gpu-static", bench_gpu_static, "GPU kernels, as far as their machine code tells"),
    ):
        target = targets.add_parser(name, help=text, description=f"Times of {text}.")
        module.add_arguments(target)
        target.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
        target.set_defaults(run_target=module.run)


def run(arguments: argparse.Namespace) -> None:
    """Runs the command; `InputError` for arguments that are out of range."""
    arguments.run_target(arguments)
