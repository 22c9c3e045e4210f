"""`python -m kvq_mlir formats`: every preset, and one format of each kind, with what they take."""

from __future__ import annotations

import argparse
import itertools
import json
import textwrap
from dataclasses import asdict, dataclass
from fractions import Fraction

from . import _kvq
from .cache_types import cache_type
from .format import Format, Segments, parse_attribute
from .text import InputError

PACKAGES = ()  # that the command needs beside those of kvq_mlir
OWN = "docs/Semantics.md"
WIDTHS = (2, 3, 4, 5, 6, 8)
FLOATS = ("f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN")
CODEBOOKS = ("nf4", "iq4_nl", *(f"lloyd_max = {bits}" for bits in (1, 2, 3, 4)))


@dataclass(frozen=True)
class Row:
    """A format, and what one head of one side of it takes for rows of some head dim: None where they do not fit."""

    name: str
    format: str
    bytes_per_token: float | None
    bits_per_element: float | None
    source: str


def kinds() -> dict[str, tuple[str, str]]:
    """(text, element type) of one format of each kind, by what is particular about it."""
    token, channel = "group = [1, 32], scale = f16", "group = [32, 1], scale = f16"
    texts = {f"i{bits}": f"codes = i{bits}, {token}" for bits in WIDTHS}
    texts |= {f"ui{bits}, minimum": f"codes = ui{bits}, {token}, zero = min f16" for bits in WIDTHS}
    texts |= {f"ui{bits}, zero point": f"codes = ui{bits}, {token}, zero = point ui8" for bits in WIDTHS}
    texts |= {f"{codes}": f"codes = {codes}, {token}" for codes in FLOATS}
    texts |= {f"codebook {name}": f"codes = #kvq.codebook<{name}>, {token}" for name in CODEBOOKS}
    texts["i4, per token"] = "codes = i4, group = [1, *], scale = f16"
    texts["ui4, per channel of 32 tokens"] = f"codes = ui4, {channel}, zero = min f16"
    texts["ui4, blocks of 32 tokens"] = "codes = ui4, group = [32, 16], scale = f16, zero = min f16"
    texts["i4, power of two scale"] = "codes = i4, group = [1, 32], scale = f8E8M0FNU"
    texts["i4, e4m3 scale"] = "codes = i4, group = [1, 32], scale = f8E4M3FN"
    texts["i4, bf16 scale"] = "codes = i4, group = [1, 32], scale = bf16"
    texts["i4, f32 scale"] = "codes = i4, group = [1, 32], scale = f32"
    texts["f4E2M1FN, two-level scale"] = "codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32"
    texts["i8, given scale a channel"] = "codes = i8, group = [*, 1], scale = f32, range = static"
    texts["i4, rotated"] = f"codes = i4, {token}, rotate = hadamard<32>"
    texts["i4, centred"] = f"codes = i4, {token}, center = f16"
    texts["i4, clipped range"] = f"codes = i4, {token}, range = clip<0.9>"
    texts["i4, searched range"] = f"codes = i4, {token}, range = search<8>"
    texts["codebook lloyd_max = 3, rms"] = f"codes = #kvq.codebook<lloyd_max = 3>, {token}, range = rms"
    texts["codebook lloyd_max = 3, norm"] = "codes = #kvq.codebook<lloyd_max = 3>, group = [1, *], scale = f16, range = norm"
    for bits, order in itertools.product((8, 4), ("channel", "token")):
        tile = f"layout = #kvq.layout<codes = planar, tile = {order}_pairs<64>>"
        texts[f"i{bits}, {order} pairs"] = f"codes = i{bits}, {token}, {tile}"
    found = {name: (text, "f16") for name, text in texts.items()}
    return found | {f"exact {dtype}": ("codes = none", dtype) for dtype in ("f16", "bf16", "f32")}


def measure(name: str, fmt: Format | Segments, dtype: str, head_dim: int, source: str) -> Row:
    """The row of one format; that of segments is for the channels that they have."""
    if isinstance(fmt, Segments):
        head_dim = fmt.parts[-1][1]
    try:
        footprint = _kvq.Footprint(cache_type(1, 1, "?", head_dim, fmt, dtype))
    except _kvq.Error:
        return Row(name, str(fmt), None, None, source)
    bytes_ = Fraction(footprint.token_group_bytes["total"], footprint.token_group)
    return Row(name, str(fmt), float(bytes_), float(bytes_ * 8 / head_dim), source)


def list_formats(head_dim: int) -> list[Row]:
    """All rows, presets first."""
    rows = [measure(name, parse_attribute(text), "f16", head_dim, source) for name, text, _, source, _ in _kvq.presets()]
    return rows + [measure(name, Format(text), dtype, head_dim, OWN) for name, (text, dtype) in kinds().items()]


def _number(number: float | None) -> str:
    return "-" if number is None else f"{number:,.10g}"


def _table(rows: list[Row], head_dim: int) -> str:
    heads = ("format", "bits per element", "bytes per token", "source")
    lines = [(row.name, _number(row.bits_per_element), _number(row.bytes_per_token), row.source) for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    text = [f"One head of one side, head dim {head_dim}; presets by name, then one format of each kind.", ""]
    for name, bits, size, source in (heads, *lines):
        text.append(f"{name:<{widths[0]}}  {bits:>{widths[1]}}  {size:>{widths[2]}}  {source}".rstrip())
    if any(row.bytes_per_token is None for row in rows):
        text += ["", f"-: its groups or codes do not divide {head_dim} channels."]
    return "\n".join(text)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def describe_presets() -> str:
    """docs/Presets.md."""
    text = [
        "# Presets",
        "",
        _wrapped(
            "Formats in which engines store their caches, byte for byte. A preset is an alias: "
            '`#kvq.preset<"ggml.q4_0">` in IR and `kvq_mlir.Format.preset("ggml.q4_0")` in Python give the format that '
            "stands here, and print it. This file is what `python -m kvq_mlir formats --presets` prints."
        ),
        "",
        _wrapped(
            "The bytes are those of the rule that is quoted, for finite elements, worked out by "
            "`python/kvq_mlir/reference/layouts` independently and compared by `test/python/test_presets.py`. What "
            "`rule` in a format names is where it leaves the rules of docs/Semantics.md, which describes each field "
            "(R28). NaN and infinite elements follow docs/Semantics.md everywhere; engines do not define them."
        ),
    ]
    for name, attribute, rule, source, notes in _kvq.presets():
        text += ["", f"## {name}", "", "```", attribute, "```", ""]
        text += [_wrapped(f"Rule: {rule}."), "", _wrapped(f"Source: {source}.")]
        if notes:
            text += ["", _wrapped(notes)]
    return "\n".join(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--head-dim", type=int, default=128, metavar="N", help="channels of a head (default: 128)")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print JSON, with the text of each format")
    output.add_argument("--presets", action="store_true", help="print docs/Presets.md: rule and source of each preset")


def run(arguments: argparse.Namespace) -> None:
    if arguments.head_dim < 1:
        raise InputError(f"expected --head-dim of at least 1, got {arguments.head_dim}")
    if arguments.presets:
        print(describe_presets())
        return
    rows = list_formats(arguments.head_dim)
    if arguments.json:
        print(json.dumps({"head_dim": arguments.head_dim, "formats": [asdict(row) for row in rows]}, indent=2))
    else:
        print(_table(rows, arguments.head_dim))
