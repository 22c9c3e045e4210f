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
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from . import _kvq
from .decode_step import measure_step
from .format import Format, Segments, read_format
from .policy import Choice, Policy
from .shapes import MODELS, Shape, find_model
from .text import InputError

PACKAGES = ()  # that the command needs beside those of kvq_mlir
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
class Caches:
    """The equal caches of one side of a model."""

    kind: Choice
    layers: tuple[int, ...]  # one for each
    head_dim: int
    dtype: str

    def footprint(self, sequences: int) -> _kvq.Footprint:
        """Bytes of one of them; `Error` where the type is not valid."""
        return _kvq.Footprint(self.type(sequences))

    def type(self, sequences: int) -> str:
        return self.kind.type(sequences, self.head_dim, self.dtype)


@dataclass(frozen=True)
class Side:
    """How the keys, or the values, of a model are kept."""

    caches: tuple[Caches, ...]

    @classmethod
    def of(cls, choices: list[Choice], head_dim: int, dtype: str) -> Side:
        layers: dict[Choice, list[int]] = {}
        for choice in choices:
            layers.setdefault(choice.anywhere(), []).append(choice.layer)
        return cls(tuple(Caches(kind, tuple(found), head_dim, dtype) for kind, found in layers.items()))

    def all_bytes(self, tokens: int, sequences: int) -> int:
        """Bytes of all layers, alignment included."""
        total = 0
        for caches in self.caches:
            bytes_ = caches.footprint(sequences).allocated(tokens)
            total += len(caches.layers) * (bytes_["total"] + bytes_["alignment"])
        return total

    def measure(self, tokens: int, sequences: int) -> dict:
        """Bytes of all layers by component."""
        sums = {name: {} for name in (*KINDS, "given_bytes", "alignment_bytes")}
        for caches in self.caches:
            one, all_, count = caches.footprint(1), caches.footprint(sequences), len(caches.layers)
            allocated, empty, two_empty = all_.allocated(tokens), one.allocated(0), caches.footprint(2).allocated(0)
            # What a further sequence adds; the rest of storage without tokens is given, once for all sequences.
            fixed = {part: two_empty[part] - size for part, size in empty.items()}
            _add(sums["bytes_per_token"], one.token_group_bytes, Fraction(count, one.token_group))
            _add(sums["fixed_bytes_per_sequence"], fixed, count)
            _add(sums["given_bytes"], {"total": empty["total"] - fixed["total"]}, count)
            _add(sums["allocated_bytes"], allocated, count)
            _add(sums["retained_bytes"], all_.retained(tokens), count)
            _add(sums["alignment_bytes"], {"total": allocated["alignment"]}, count)
        return {
            "caches": [
                {"count": len(caches.layers), "layers": list(caches.layers), "type": caches.type(sequences)}
                for caches in self.caches
            ],
            **{name: {part: _whole(size) for part, size in sums[name].items()} for name in KINDS},
            "given_bytes": sums["given_bytes"]["total"],
            "alignment_bytes": sums["alignment_bytes"]["total"],
        }


def _add(sums: dict[str, int | Fraction], bytes_: dict[str, int], factor: int | Fraction) -> None:
    """Adds parts and total, without the alignment beside it; the total stays last."""
    total = sums.pop("total", 0)
    for part, size in bytes_.items():
        if part not in ("total", "alignment"):
            sums[part] = sums.get(part, 0) + size * factor
    sums["total"] = total + bytes_["total"] * factor


def _whole(number: int | Fraction) -> int | float:
    return int(number) if number == int(number) else float(number)


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


def choose(shape: Shape, arguments: argparse.Namespace) -> list[Choice]:
    """What the arguments say of each layer: one format for each side, or a policy."""
    if arguments.policy is None:
        windows = {
            name: dict(zip(shape.sides, given * 2 if len(given) == 1 else given))
            for name, given in (("recent", arguments.recent), ("residual", arguments.residual))
        }
        return [choice for side in shape.sides for choice in _choose_side(shape, side, arguments, windows)]
    try:
        return Policy.read(arguments.policy).choose(shape.layers, shape.kv_heads, shape.sides)
    except OSError as error:
        raise InputError(f"--policy: cannot read {arguments.policy}: {error.strerror}") from error
    except (_kvq.Error, UnicodeDecodeError) as error:
        raise InputError(f"--policy: {error}") from error


def _keeps_latent_apart(fmt: Format | Segments, latent: int) -> bool:
    """Whether the first channels of a row, which are the values too, have formats of their own, or are exact."""
    return fmt.is_exact or (isinstance(fmt, Segments) and any(end == latent for _, end, _ in fmt.parts))


def _choose_side(
    shape: Shape, side: str, arguments: argparse.Namespace, windows: dict[str, dict[str, int]]
) -> list[Choice]:
    """All layers alike. Exact formats have no windows."""
    try:
        text = getattr(arguments, side) or "codes = none"
        fmt = read_format(text)
    except _kvq.Error as error:
        raise InputError(f"--{side}: {error}") from error
    kept = {}
    if not fmt.is_exact:
        recent, residual = windows["recent"][side], windows["residual"][side]
        kept = dict(exact_first=arguments.exact_first, recent=recent, residual=residual or None)
    return [Choice(layer, side, (0, shape.kv_heads), fmt, **kept) for layer in range(shape.layers)]


def make_sides(shape: Shape, choices: list[Choice], dtype: str) -> dict[str, Side]:
    """Keys and values, or the latent row alone."""
    sides = {}
    for name in shape.sides:
        sides[name] = Side.of([choice for choice in choices if choice.side == name], shape.head_dim, dtype)
        for caches in sides[name].caches:
            try:
                caches.footprint(1)
            except _kvq.Error as error:
                raise InputError(f"--{name}: {error}") from error
            latent = shape.latent_values
            if latent is not None and not _keeps_latent_apart(caches.kind.format, latent):
                raise InputError(
                    f"--keys: expected 'codes = none' for a latent row, or segments with a border at channel {latent}, "
                    f"between its latent and its RoPE channels, found '{caches.kind.format}'"
                )
    return sides


def make_report(shape: Shape, sides: dict[str, Side], tokens: int, concurrency: int, memory: int | None) -> dict:
    """All numbers of caches, as `--json` prints them: of all layers, and of all sequences where it does not say
    otherwise."""
    measured = {name: side.measure(tokens, concurrency) for name, side in sides.items()}
    total = {kind: _whole(sum(Fraction(side[kind]["total"]) for side in measured.values())) for kind in KINDS}
    for part in ("alignment_bytes", "given_bytes"):
        total[part] = sum(side[part] for side in measured.values())
    dtype = next(iter(sides.values())).caches[0].dtype
    exact = [
        Choice(layer, side, (0, shape.kv_heads), Format("codes = none"))
        for side in sides
        for layer in range(shape.layers)
    ]
    total["exact_bytes_per_token"] = Side.of(exact, shape.head_dim, dtype).measure(0, 1)["bytes_per_token"]["total"]
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


def add_step(result: dict, shape: Shape, choices: list[Choice], dtype: str, splits: int) -> None:
    """Adds what a decode step needs beside the caches, and with it the peak. Null for latent rows, whose attention over
    one cache cannot be compiled."""
    result["decode_step"] = None
    if shape.latent_values is not None:
        return
    step = measure_step(shape, choices, result["concurrency"], dtype, splits)
    result["decode_step"] = step
    # One call after the other; of an attention one work item at a time.
    largest_call = max(step["split_workspace_bytes"] + step["attention_scratch_bytes"], step["append_scratch_bytes"])
    total = result["total"]
    total["peak_bytes"] = total["allocated_bytes"] + total["alignment_bytes"] + largest_call


def _number(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:,.3f}".rstrip("0").rstrip(".")


def _byte_text(bytes_: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if bytes_ >= size:
            return f"{_number(bytes_)} B ({bytes_ / size:,.2f} {unit})"
    return f"{_number(bytes_)} B"


def _plural(count: int, noun: str, ending: str = "s") -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}{ending}"


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


def _types(name: str, side: dict) -> list[str]:
    """A line for each type of a side's caches, with their layers where there are several."""
    caches = side["caches"]
    if len(caches) == 1:
        return [f"{name + ':':8}{caches[0]['type']}"]
    lines = []
    for i, kind in enumerate(caches):
        head = f"{name + ':' if i == 0 else '':8}"
        lines.append(f"{head}{_plural(kind['count'], 'cache')}, {_layers(kind['layers'])}: {kind['type']}")
    return lines


def _layers(layers: list[int]) -> str:
    """"layers 0, 2-7"."""
    ranges: list[list[int]] = []
    for layer in sorted(set(layers)):
        if ranges and layer == ranges[-1][1] + 1:
            ranges[-1][1] = layer
        else:
            ranges.append([layer, layer])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    return ("layer " if len(set(layers)) == 1 else "layers ") + ", ".join(texts)


def _step_text(step: dict, peak: int) -> str:
    return (
        f"A decode step makes {_plural(step['appends'], 'append')} and {_plural(step['attentions'], 'attention')}. "
        f"Temporaries of the largest attention: {_byte_text(step['split_workspace_bytes'])} as workspace of "
        f"{_plural(step['splits'], 'split')}, {_byte_text(step['attention_scratch_bytes'])} for conversion in each "
        f"work item that runs; of the largest append {_byte_text(step['append_scratch_bytes'])}. With one work item at "
        f"a time memory peaks at {_byte_text(peak)}. On a GPU the attentions are "
        f"{_plural(step['gpu_launches_of_attention'], 'kernel launch', 'es')}."
    )


def _text(result: dict, title: str, shape: Shape, names: list[str], dtype: str) -> str:
    tokens, sequences, total = result["tokens"], result["concurrency"], result["total"]
    lines = [
        f"{title}: {_plural(shape.layers, 'layer')}, {_plural(shape.kv_heads, 'KV head')}, head dim {shape.head_dim}"
    ]
    for name in names:
        lines += _types(name, result[name])
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
    if total["given_bytes"]:
        lines.append(f"Given once, for all sequences: {_byte_text(total['given_bytes'])} (static ranges, outer scales).")
    if memory := result.get("memory"):
        lines.append(_fit_text(memory, tokens, sequences))
    if step := result["decode_step"]:
        lines += ["", textwrap.fill(_step_text(step, total["peak_bytes"]), 118)]
    meaning = (
        "Allocated: storage for that many tokens of every sequence. Retained: what of it holds tokens when all "
        "sequences are that long; exact windows are allocated in full from the start."
    )
    if shape.latent_values is not None:
        meaning += (
            f" The row is a latent one (MLA): its first {shape.latent_values} channels are the values, a view "
            "that takes no bytes of its own."
        )
    return "\n".join([*lines, "", textwrap.fill(meaning, 118)])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", metavar="NAME", help=f"shape by name: {', '.join(MODELS)}")
    for name in ("layers", "kv-heads", "head-dim"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help="shape by numbers, all three together")
    parser.add_argument(
        "--query-heads", type=int, metavar="N", help="with a shape by numbers, for temporaries (default: --kv-heads)"
    )
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help="formats and windows by layer, side and heads: a module with the attribute kvq.policy",
    )
    for name in ("keys", "values"):
        parser.add_argument(f"--{name}", metavar="FORMAT", help=f"format of {name}, preset or segments (default: codes = none)")
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
    parser.add_argument(
        "--page", type=int, default=0, metavar="N", help="tokens in a page; none is shared (default: no pages)"
    )
    parser.add_argument("--ring", type=int, metavar="N", help="tokens that a sequence keeps; others are written over")
    parser.add_argument("--keep-first", type=int, default=0, metavar="N", help="of those of a ring, the first ones")
    parser.add_argument("--dtype", choices=["f16", "bf16", "f32"], default="f16", help="exact elements (default: f16)")
    parser.add_argument("--tokens", type=int, required=True, metavar="N", help="tokens of each sequence")
    parser.add_argument("--concurrency", type=int, default=1, metavar="N", help="sequences at once (default: 1)")
    parser.add_argument("--splits", type=int, default=1, metavar="N", help="token splits of attention (default: 1)")
    parser.add_argument("--memory", metavar="SIZE", help="memory for caches, such as 80GiB: what fits into it")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")


def _check(arguments: argparse.Namespace) -> None:
    names = ("layers", "kv_heads", "head_dim", "query_heads", "tokens", "concurrency", "splits", "ring")
    for name in names:
        number = getattr(arguments, name)
        if number is not None and number < 1:
            raise InputError(f"--{name.replace('_', '-')}: expected at least 1, found {number}")
    if arguments.tokens > MOST_TOKENS:
        raise InputError(f"--tokens: expected at most {MOST_TOKENS}, found {arguments.tokens}")
    windows = {"recent": arguments.recent, "residual": arguments.residual}
    for name, given in windows.items():
        if len(given) > 2:
            raise InputError(f"--{name}: expected one number, or one for keys and one for values, found {given}")
    smallest = {name: min(given) for name, given in windows.items()}
    others = {name: getattr(arguments, name.replace("-", "_")) for name in ("exact-first", "page", "keep-first")}
    for name, number in {**others, **smallest}.items():
        if number < 0:
            raise InputError(f"--{name}: expected at least 0, found {number}")
    if arguments.policy is not None:
        given = [name for name in ("keys", "values", "exact_first") if getattr(arguments, name)]
        given += [name for name, numbers in windows.items() if any(numbers)]
        if given:
            raise InputError(f"--{given[0].replace('_', '-')}: expected none beside --policy, which says it")


def _find_shape(arguments: argparse.Namespace) -> Shape:
    numbers = (arguments.layers, arguments.kv_heads, arguments.head_dim)
    given = sum(number is not None for number in numbers)
    if arguments.model is not None and given == 0 and arguments.query_heads is None:
        return find_model(arguments.model)
    if arguments.model is None and given == len(numbers):
        query_heads = arguments.query_heads or arguments.kv_heads
        if query_heads % arguments.kv_heads:
            raise InputError(
                f"--query-heads: expected a multiple of {_plural(arguments.kv_heads, 'KV head')}, found {query_heads}"
            )
        return Shape(*numbers, query_heads)
    raise InputError("expected either --model, or --layers, --kv-heads and --head-dim together")


def run(arguments: argparse.Namespace) -> None:
    _check(arguments)
    shape = _find_shape(arguments)
    memory = None if arguments.memory is None else parse_memory(arguments.memory)
    if shape.latent_values is not None and arguments.values is not None:
        raise InputError("--values: expected none for a latent row, whose first channels are the values")
    storage = dict(page=arguments.page or None, ring=arguments.ring, keep_first=arguments.keep_first)
    choices = [replace(choice, **storage) for choice in choose(shape, arguments)]
    sides = make_sides(shape, choices, arguments.dtype)
    try:
        result = make_report(shape, sides, arguments.tokens, arguments.concurrency, memory)
        add_step(result, shape, choices, arguments.dtype, arguments.splits)
    except _kvq.Error as error:
        raise InputError(str(error)) from error
    title = arguments.model.lower() if arguments.model else "model"
    if arguments.json:
        print(json.dumps({"model": arguments.model and title, **result}, indent=2))
    else:
        print(_text(result, title, shape, list(sides), arguments.dtype))
