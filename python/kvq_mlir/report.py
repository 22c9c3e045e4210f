"""`python -m kvq_mlir report`: exact bytes of a model's caches, and what fits into a memory.

Every number comes from the storage components of the cache types, by `_kvq.Footprint`: what is reported is what
`kvq_mlir.Cache` allocates.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from . import _kvq
from .cache import cache_type
from .format import Format
from .text import InputError

PACKAGES = ()  # that the command needs beside those of kvq_mlir


@dataclass(frozen=True)
class Shape:
    """What the caches of a model are made for."""

    layers: int
    kv_heads: int
    head_dim: int
    latent_values: int | None = None  # MLA: the first channels of the one row kept are the values


MODELS = {
    # config.json of meta-llama/Llama-3.1-8B: 32 heads of 4096 / 32 channels, num_key_value_heads 8
    "llama-3.1-8b": Shape(layers=32, kv_heads=8, head_dim=128),
    # Qwen2.5 technical report (arXiv 2412.15115), table 1; config.json: 28 heads of 3584 / 28 channels
    "qwen2.5-7b": Shape(layers=28, kv_heads=4, head_dim=128),
    # Mistral 7B (arXiv 2310.06825), table 1; the sliding window of v0.1 is not counted on: every token is kept
    "mistral-7b": Shape(layers=32, kv_heads=8, head_dim=128),
    # config.json of HuggingFaceTB/SmolLM2-135M: 9 heads of 576 / 9 channels, num_key_value_heads 3
    "smollm2-135m": Shape(layers=30, kv_heads=3, head_dim=64),
    # DeepSeek-V3 technical report (arXiv 2412.19437), section 4.2: kv_lora_rank 512, and 64 channels of RoPE
    "deepseek-v3": Shape(layers=61, kv_heads=1, head_dim=512 + 64, latent_values=512),
}
UNITS = {"": 1, "B": 1} | {
    prefix + infix + "B": base**power
    for infix, base in (("", 1000), ("i", 1024))
    for power, prefix in enumerate(("K", "M", "G", "T"), start=1)
}
MOST_MEMORY = 1 << 60  # keeps all sums within 63 bits
MOST_TOKENS = 1 << 40  # that a cache type allows
MOST_SEQUENCES = 1 << 60  # of at least a byte each
# The parts of a cache in the order of the table, and their names there.
PARTS = {part: part for part in ("codes", "values", "scales", "zeros", "padding", "page_tails", "first", "recent")}
PARTS["page_tails"] = "page tails"
PARTS["values"] = "elements"  # of an exact format; beside a side of the name they need another one
KINDS = {
    "bytes_per_token": "one more token",
    "fixed_bytes_per_sequence": "fixed, a sequence",
    "allocated_bytes": "allocated",
    "retained_bytes": "retained",
}


@dataclass(frozen=True)
class Side:
    """How the keys, or the values, of every layer are kept."""

    shape: Shape
    format: Format
    dtype: str
    exact_first: int = 0
    recent: int = 0
    residual: int = 0
    page: int = 0

    def type(self, sequences: int) -> str:
        """The cache's type for one layer. Exact formats have no windows."""
        windows = (0, 0, None) if self.format.is_exact else (self.exact_first, self.recent, self.residual or None)
        return cache_type(
            sequences,
            self.shape.kv_heads,
            "?",
            self.shape.head_dim,
            self.format,
            self.dtype,
            *windows,
            page=self.page or None,
        )

    def footprint(self, sequences: int) -> _kvq.Footprint:
        """Bytes of one layer's cache; `Error` where the type is not valid."""
        return _kvq.Footprint(self.type(sequences))

    def all_bytes(self, tokens: int, sequences: int) -> int:
        """Bytes of all layers, alignment included."""
        bytes_ = self.footprint(sequences).allocated(tokens)
        return self.shape.layers * (bytes_["total"] + bytes_["alignment"])

    def measure(self, tokens: int, sequences: int) -> dict:
        """Bytes of all layers by component."""
        one, all_, layers = self.footprint(1), self.footprint(sequences), self.shape.layers
        allocated = all_.allocated(tokens)
        return {
            "format": str(self.format),
            "type": self.type(sequences),
            "bytes_per_token": _scale(one.token_group_bytes, Fraction(layers, one.token_group)),
            "fixed_bytes_per_sequence": _scale(one.allocated(0), layers),
            "allocated_bytes": _scale(allocated, layers),
            "retained_bytes": _scale(all_.retained(tokens), layers),
            "alignment_bytes": allocated["alignment"] * layers,
        }


def _whole(number: int | Fraction) -> int | float:
    return int(number) if number == int(number) else float(number)


def _scale(bytes_: dict[str, int], factor: int | Fraction) -> dict[str, int | float]:
    """Parts and total, without the alignment beside it."""
    return {part: _whole(size * factor) for part, size in bytes_.items() if part != "alignment"}


def parse_memory(text: str) -> int:
    """Bytes from "80GiB", "1.5 TB", "4096"; `InputError` for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", text.strip())
    units = {unit.lower(): factor for unit, factor in UNITS.items()}
    if not match or match[2].lower() not in units:
        known = " ".join(unit for unit in UNITS if unit)
        raise InputError(f"--memory: expected a number and one of {known}, such as 80GiB, found '{text}'")
    memory = int(Fraction(match[1]) * units[match[2].lower()])
    if not 1 <= memory <= MOST_MEMORY:
        raise InputError(f"--memory: expected 1 to {MOST_MEMORY:,} bytes, found {memory:,}")
    return memory


def find_model(name: str) -> Shape:
    """The shape of a model by its name; `InputError` with the nearest names for an unknown one."""
    if name.lower() in MODELS:
        return MODELS[name.lower()]
    nearest = get_close_matches(name.lower(), MODELS, n=2, cutoff=0.4) or list(MODELS)
    raise InputError(f"--model: unknown model '{name}', nearest: {', '.join(nearest)}")


def largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest number up to `most` that fits, by bisection: 0 has to fit, and less than what fits fits too."""
    low, high = 0, 1
    while high < most and fits(high):
        low, high = high, min(2 * high, most)
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def make_sides(shape: Shape, arguments: argparse.Namespace) -> dict[str, Side]:
    """Keys and values, or the latent row alone."""
    texts = {"keys": arguments.keys, "values": arguments.values}
    if shape.latent_values is not None:
        if arguments.values is not None:
            raise InputError("--values: expected none for a latent row, whose first channels are the values")
        del texts["values"]
    recent, residual = (
        dict(zip(("keys", "values"), given * 2 if len(given) == 1 else given))
        for given in (arguments.recent, arguments.residual)
    )
    sides = {}
    for name, text in texts.items():
        try:
            fmt = Format(text or "codes = none")
            windows = (arguments.exact_first, recent[name], residual[name])
            sides[name] = Side(shape, fmt, arguments.dtype, *windows, arguments.page)
            sides[name].footprint(1)
        except _kvq.Error as error:
            raise InputError(f"--{name}: {error}") from error
    if shape.latent_values is not None and not sides["keys"].format.is_exact:
        raise InputError(
            f"--keys: expected 'codes = none' for a latent row, which needs one format for its latent and one for its "
            f"RoPE channels, found '{sides['keys'].format}'"
        )
    return sides


def make_report(shape: Shape, sides: dict[str, Side], tokens: int, concurrency: int, memory: int | None) -> dict:
    """All numbers, as `--json` prints them: of all layers, and of all sequences where it does not say otherwise."""
    measured = {name: side.measure(tokens, concurrency) for name, side in sides.items()}
    total = {kind: _whole(sum(Fraction(side[kind]["total"]) for side in measured.values())) for kind in KINDS}
    total["alignment_bytes"] = sum(side["alignment_bytes"] for side in measured.values())
    exact = [Side(shape, Format("codes = none"), side.dtype) for side in sides.values()]
    total["exact_bytes_per_token"] = sum(shape.layers * side.footprint(1).token_group_bytes["total"] for side in exact)
    result = {
        "layers": shape.layers,
        "kv_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "tokens": tokens,
        "concurrency": concurrency,
        **measured,
        "total": total,
    }
    if memory is not None:

        def fits(tokens: int, sequences: int) -> bool:
            return sum(side.all_bytes(tokens, sequences) for side in sides.values()) <= memory

        result["memory"] = {
            "bytes": memory,
            # Null where the windows alone do not fit.
            "most_tokens": largest(lambda n: fits(n, concurrency), MOST_TOKENS) if fits(0, concurrency) else None,
            "most_sequences": largest(lambda n: fits(tokens, n), MOST_SEQUENCES),
        }
    return result


def _number(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.3f}".rstrip("0").rstrip(".")


def _byte_text(bytes_: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if bytes_ >= size:
            return f"{_number(bytes_)} B ({bytes_ / size:,.2f} {unit})"
    return f"{_number(bytes_)} B"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _table(result: dict, names: list[str]) -> list[str]:
    """One line for each part of each side."""
    lines = [f"{'bytes':17}" + "".join(f"{header:>22}" for header in KINDS.values())]
    for name in names:
        side = result[name]
        parts = {part: text for part, text in PARTS.items() if any(side[kind].get(part) for kind in KINDS)}
        for i, (part, text) in enumerate({**parts, "total": "total"}.items()):
            cells = "".join(f"{_number(side[kind][part]):>22}" for kind in KINDS)
            lines.append(f"{name if i == 0 else '':6} {text:10}{cells}")
    if len(names) > 1:
        lines.append(f"{'both':6} {'total':10}" + "".join(f"{_number(result['total'][kind]):>22}" for kind in KINDS))
    return lines


def _fit_text(memory: dict, tokens: int, sequences: int) -> str:
    text = f"{_byte_text(memory['bytes'])} for caches alone: "
    if memory["most_tokens"] is None:
        return text + f"less than the exact windows of {_plural(sequences, 'sequence')}."
    return text + (
        f"{_plural(sequences, 'sequence')} of up to {_plural(memory['most_tokens'], 'token')}, or up to "
        f"{_plural(memory['most_sequences'], 'sequence')} of {_plural(tokens, 'token')}."
    )


def _text(result: dict, title: str, shape: Shape, names: list[str], dtype: str) -> str:
    tokens, sequences, total = result["tokens"], result["concurrency"], result["total"]
    lines = [
        f"{title}: {_plural(shape.layers, 'layer')}, {_plural(shape.kv_heads, 'KV head')}, head dim {shape.head_dim}"
    ]
    lines += [f"{name + ':':8}{result[name]['type']}" for name in names]
    lines += ["", *_table(result, names), ""]
    ratio = total["bytes_per_token"] / total["exact_bytes_per_token"]
    average = total["retained_bytes"] / (tokens * sequences)
    lines += [
        f"A further token takes {ratio:.1%} of its {_number(total['exact_bytes_per_token'])} B in {dtype}; "
        f"at {_plural(tokens, 'token')} a token takes {_number(average)} B on average.",
        f"{_plural(sequences, 'sequence')} of {_plural(tokens, 'token')}: "
        f"{_byte_text(total['allocated_bytes'] + total['alignment_bytes'])}, "
        f"{_number(total['alignment_bytes'])} of them for alignment.",
    ]
    if memory := result.get("memory"):
        lines.append(_fit_text(memory, tokens, sequences))
    meaning = (
        "Allocated: storage for that many tokens of every sequence. Retained: what of it holds tokens when all "
        "sequences are that long; exact windows are allocated in full from the start."
    )
    if shape.latent_values is not None:
        meaning += (
            f" The row is an exact latent one (MLA): its first {shape.latent_values} channels are the values, a view "
            "that takes no bytes of its own."
        )
    return "\n".join([*lines, "", textwrap.fill(meaning, 118)])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="NAME", help=f"shape by name: {', '.join(MODELS)}")
    for name in ("layers", "kv-heads", "head-dim"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help="shape by numbers, all three together")
    for name in ("keys", "values"):
        parser.add_argument(f"--{name}", metavar="FORMAT", help=f"format of quantized {name} (default: codes = none)")
    parser.add_argument(
        "--recent",
        type=int,
        nargs="+",
        default=[0],
        metavar="N",
        help="newest tokens that stay exact at least, where others are quantized: one number, or keys' and values'",
    )
    parser.add_argument(
        "--residual",
        type=int,
        nargs="+",
        default=[0],
        metavar="N",
        help="newest tokens that stay exact until N are there, and are then quantized together; not with --recent",
    )
    parser.add_argument("--exact-first", type=int, default=0, metavar="N", help="first tokens that stay exact")
    parser.add_argument("--page", type=int, default=0, metavar="N", help="tokens in a page; none is shared (default: no pages)")
    parser.add_argument("--dtype", choices=["f16", "bf16", "f32"], default="f16", help="exact elements (default: f16)")
    parser.add_argument("--tokens", type=int, required=True, metavar="N", help="tokens of each sequence")
    parser.add_argument("--concurrency", type=int, default=1, metavar="N", help="sequences at once (default: 1)")
    parser.add_argument("--memory", metavar="SIZE", help="memory for caches, such as 80GiB: what fits into it")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")


def _check(arguments: argparse.Namespace) -> None:
    numbers = {name: getattr(arguments, name) for name in ("layers", "kv_heads", "head_dim", "tokens", "concurrency")}
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise InputError(f"--{name.replace('_', '-')}: expected at least 1, found {number}")
    if arguments.tokens > MOST_TOKENS:
        raise InputError(f"--tokens: expected at most {MOST_TOKENS}, found {arguments.tokens}")
    windows = {"recent": arguments.recent, "residual": arguments.residual}
    for name, given in windows.items():
        if len(given) > 2:
            raise InputError(f"--{name}: expected one number, or one for keys and one for values, found {given}")
    smallest = {name: min(given) for name, given in windows.items()}
    for name, number in {"exact-first": arguments.exact_first, "page": arguments.page, **smallest}.items():
        if number < 0:
            raise InputError(f"--{name}: expected at least 0, found {number}")


def _find_shape(arguments: argparse.Namespace) -> Shape:
    numbers = (arguments.layers, arguments.kv_heads, arguments.head_dim)
    given = sum(number is not None for number in numbers)
    if arguments.model is not None and given == 0:
        return find_model(arguments.model)
    if arguments.model is None and given == len(numbers):
        return Shape(*numbers)
    raise InputError("expected either --model, or --layers, --kv-heads and --head-dim together")


def run(arguments: argparse.Namespace) -> None:
    _check(arguments)
    shape = _find_shape(arguments)
    memory = None if arguments.memory is None else parse_memory(arguments.memory)
    sides = make_sides(shape, arguments)
    try:
        result = make_report(shape, sides, arguments.tokens, arguments.concurrency, memory)
    except _kvq.Error as error:
        raise InputError(str(error)) from error
    title = arguments.model.lower() if arguments.model else "model"
    if arguments.json:
        print(json.dumps({"model": arguments.model and title, **result}, indent=2))
    else:
        print(_text(result, title, shape, list(sides), arguments.dtype))
