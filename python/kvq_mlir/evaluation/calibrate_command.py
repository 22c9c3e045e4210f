"""`python -m kvq_mlir calibrate`: static ranges of keys and values, from a model's pass or from tensors, to a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..text import InputError
from .command import add_policy_arguments, add_source_arguments, check_common, choose_policies, open_source
from .ranges import measure_ranges, write_ranges

PACKAGES = ("threadpoolctl",)  # that the command needs beside those of kvq_mlir


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command `calibrate`."""
    add_source_arguments(parser)
    add_policy_arguments(parser, "one policy is calibrated")
    parser.add_argument(
        "--percentile",
        type=float,
        default=100,
        metavar="P",
        help="of the elements of a group that a static range holds, above 50 (default: 100, all)",
    )
    parser.add_argument(
        "--search",
        type=int,
        default=1,
        metavar="N",
        help="ranges to try, down to half as wide, for the least squared error (default: 1, the whole one)",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the .safetensors file to write")


def run(arguments: argparse.Namespace) -> None:
    """Runs the command; `InputError` for what the user can put right."""
    from threadpoolctl import threadpool_limits

    check_common(arguments)
    if not 50 < arguments.percentile <= 100:
        raise InputError(f"--percentile: expected more than 50, up to 100, found {arguments.percentile:g}")
    if arguments.search < 1:
        raise InputError(f"--search: expected at least 1, found {arguments.search}")
    if arguments.out.suffix != ".safetensors":
        raise InputError(f"--out: expected a .safetensors file, found {arguments.out}")
    policies = choose_policies(arguments)
    if len(policies) != 1:
        raise InputError(f"expected one policy, by --policy or by --keys and --values, found {len(policies)}")
    (policy,) = policies
    source = open_source(arguments)
    shape = source.shape
    choices = policy.choose(shape.layers, shape.kv_heads, shape.head_dim, arguments.dtype)
    with threadpool_limits(arguments.threads):
        givens = measure_ranges(source.recording, choices, arguments.dtype, arguments.percentile, arguments.search)
    if not givens:
        raise InputError(f"policy '{policy.name}' has no static range: nothing is given to its caches")
    metadata = {"kvq.policy": policy.text, "kvq.source": source.description, "kvq.tokens": str(source.tokens)}
    count = write_ranges(arguments.out, givens, choices, metadata)
    print(f"{source.description}: {source.tokens:,} tokens, {shape.layers} layers")
    print(f"Written: {arguments.out}, {count} tensors for {len(givens)} caches")
