"""`python -m kvq_mlir`: the demonstration and the benchmarks."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from .text import InputError

# Modules of the commands that the package itself does not need; each has its package's name on PyPI.
EXTRA_PACKAGES = ("gguf", "matplotlib", "threadpoolctl", "tokenizers", "tqdm")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit status: 0 done, 1 cannot be done, 2 wrong usage (argparse)."""
    from . import bench, demo

    parser = argparse.ArgumentParser(
        prog="python -m kvq_mlir", description="Quantized KV caches: a demonstration on a real model, and benchmarks."
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, module, text in (
        ("demo", demo, "bytes, errors, perplexity and speed of five K/V format pairs on SmolLM2-135M"),
        ("bench", bench, "time of one fused decode step beside dequantize-then-attend"),
    ):
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    parsed = parser.parse_args(arguments)
    # Before minutes of work, not after.
    missing = [package for package in EXTRA_PACKAGES if find_spec(package) is None]
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
