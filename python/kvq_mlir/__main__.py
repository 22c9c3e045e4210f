"""`python -m kvq_mlir`: the demonstration, the benchmarks, the report of bytes and the list of formats."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from .text import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0 done, 1 cannot be done, 2 wrong usage (argparse)."""
    from . import bench, demo, formats, report, tune
    from .evaluation import calibrate_command as calibrate
    from .evaluation import command as evaluation
    from .planning import command as plan

    parser = argparse.ArgumentParser(
        prog="python -m kvq_mlir",
        description="Quantized KV caches: a demonstration on a real model, benchmarks, and exact bytes.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, module, text in (
        ("demo", demo, "bytes, errors, perplexity and speed of five K/V format pairs on SmolLM2-135M"),
        ("eval", evaluation, "errors, bytes and times of cache policies, on a model, on tensors or on adversarial data"),
        ("calibrate", calibrate, "static ranges of keys and values, from a model's pass or from tensors, to a file"),
        ("bench", bench, "time of one fused decode step beside dequantize-then-attend"),
        ("tune", tune, "measures schedules of attention here, and writes the best to a file"),
        ("report", report, "exact bytes of a model's caches, and what fits into a memory"),
        ("plan", plan, "formats for the keys and values of each layer of SmolLM2-135M, within bytes and errors"),
        ("formats", formats, "every preset and kind of format, with its bytes and source"),
    ):
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        module.add_arguments(command)
        command.set_defaults(run=module.run, packages=module.PACKAGES)
    parsed = parser.parse_args(arguments)
    # Before minutes of work, not after. A module has its package's name on PyPI.
    missing = [package for package in parsed.packages if find_spec(package) is None]
    if missing:
        names = " ".join(missing)
        print(f"error: this command needs packages that are missing: pip install {names}", file=sys.stderr)
        return 1
    try:
        parsed.run(parsed)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
