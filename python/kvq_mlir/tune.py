"""`python -m kvq_mlir tune`: measures schedules of attention on this machine, and writes the best to a file."""

from __future__ import annotations

import argparse
import itertools
import json
import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

import kvq_mlir as kvq

from . import _kvq
from .bench_attention import HEAD_DIM, Shape, Storage, add_shapes, parse_case, parse_shapes, ragged_lengths
from .bench_cases import filled, positive, positives
from .bench_timing import interleave, plural, processor
from .ir import attention as _ir
from .schedule import Schedule
from .text import InputError

PACKAGES = ("tqdm",)  # that the command needs beside those of kvq_mlir
FORM = 1  # of the file
FORMATS = "f16; i8; i8 @ i16; i4; i4 @ i16; ggml.q8_0 @ i16; ggml.q4_0 @ i16"
TILES = (16, 32, 64, 128, 256)
PREFETCHES = (0, 1, 2, 4)
SPLITS = (1, 2, 4, 8)
HEADS_INSIDE = (0, 64, 128, 256)  # of token-major caches
WORTH = 0.99  # of the time: what is less of a gain may be chance


@dataclass(frozen=True)
class Tuned:
    """The best schedule that was found for a case."""

    name: str
    shape: Shape
    tokens: int
    threads: int
    op: str
    schedule: Schedule | None  # None where the cost model's is the best
    ratio: float  # of its time to that of the cost model's schedule

    @property
    def key(self) -> dict:
        """What the file keeps it by."""
        return {"cpu": _kvq.host_cpu(), "threads": self.threads, "op": self.op}


class Tuner:
    """Attention over filled caches, to be called with any schedule."""

    def __init__(self, rng: np.random.Generator, name: str, shape: Shape, storage: Storage, tokens: int) -> None:
        k_format, v_format, query_codes = parse_case(name)
        lengths = ragged_lengths(rng, shape, tokens)
        sides = (shape.batch, shape.kv_heads, tokens, HEAD_DIM)
        self._k = filled(rng, k_format, sides, lengths, storage.page, "keys", storage.token_major)
        self._v = filled(rng, v_format, sides, lengths, storage.page, "values", storage.token_major)
        self._q = rng.standard_normal((shape.batch, shape.query_heads, shape.queries, HEAD_DIM), np.float32)
        self._out = np.empty(self._q.shape, np.float32)
        self._query_codes = query_codes

    @property
    def op(self) -> str:
        """What schedules of this attention are kept by."""
        batch, heads, _, dim = self._q.shape
        variant = _ir.Variant(1 / math.sqrt(dim), causal=True, query_codes=self._query_codes)
        windows, pages = (
            tuple(getattr(side, name) not in (None, False) for side in (self._k, self._v)) for name in ("has_window", "page")
        )
        types = (self._k.dynamic_type, self._v.dynamic_type)
        return _kvq.schedule_key(_ir.attention((batch, heads, dim), "f32", dim, *types, windows, variant, pages))

    def attend(self, schedule: Schedule | None, threads: int) -> np.ndarray:
        """Runs it once."""
        codes = self._query_codes
        return kvq.attention(
            self._q, self._k, self._v, out=self._out, threads=threads, query_codes=codes, schedule=schedule
        )

    def search(self, threads: int, seconds: float) -> tuple[Schedule | None, float]:
        """The best schedule, one field after the other, and the ratio of its time to that of the cost model's; None and
        1 where that is the best.

        A candidate whose output is not what the cost model's schedule gives, up to the order of sums, is a
        `RuntimeError`.
        """
        wanted = self.attend(None, threads).copy()
        best: Schedule | None = None
        for field, numbers in self._candidates(threads).items():
            found = {best: best} if best else {}
            for number in numbers:
                schedule = replace(best, **{field: number}) if best else Schedule(**{field: number})
                found[schedule] = schedule
            calls = {None: None} | found
            for schedule in found.values():
                self._check(schedule, threads, wanted)
            samples = interleave(
                {schedule: lambda schedule=schedule: self.attend(schedule, threads) for schedule in calls}, seconds, threads
            )
            ratios = {schedule: float(np.median(samples[schedule] / samples[best])) for schedule in found}
            quickest = min(ratios, key=ratios.get)
            if ratios[quickest] <= WORTH:
                best = quickest
        return self._compare(best, threads, seconds)

    def _candidates(self, threads: int) -> dict[str, tuple[int, ...]]:
        native = _kvq.vector_width()
        found = {"tile": TILES, "vector_width": tuple({max(native // 2, 1), native}), "prefetch": PREFETCHES}
        if self._k.token_major:
            found["heads_inside"] = HEADS_INSIDE
        return found | {"splits": SPLITS} if threads > 1 else found

    def _check(self, schedule: Schedule, threads: int, wanted: np.ndarray) -> None:
        found = self.attend(schedule, threads)
        bound = 1e-5 if self._query_codes is None else 2e-2  # integers of probabilities follow the tile
        difference = float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))
        if not difference <= bound:
            raise RuntimeError(f"{schedule}: differs from the default schedule by {difference:.1e}, at most {bound:.0e} expected")

    def _compare(self, best: Schedule | None, threads: int, seconds: float) -> tuple[Schedule | None, float]:
        """The choice, and how it does in a run of its own."""
        if best is None:
            return None, 1.0
        calls = {schedule: lambda schedule=schedule: self.attend(schedule, threads) for schedule in (None, best)}
        samples = interleave(calls, 2 * seconds, threads)
        ratio = float(np.median(samples[best] / samples[None]))
        return (best, ratio) if ratio <= WORTH else (None, 1.0)


# --- the file --------------------------------------------------------------------------------------------------------


def read_entries(path: Path) -> list[dict]:
    """The entries of a file that is there already; `InputError` where it is none of this version."""
    if not path.exists():
        return []
    try:
        _kvq.check_schedules(str(path))
    except _kvq.Error as error:
        raise InputError(f"{error}; or choose another file") from error
    return json.loads(path.read_text(encoding="utf-8"))["entries"]


def write_entries(path: Path, entries: list[dict], found: list[Tuned]) -> None:
    """Writes the entries, those that were measured again replaced."""
    again = [tuned.key for tuned in found]
    kept = [entry for entry in entries if {key: entry[key] for key in ("cpu", "threads", "op")} not in again]
    kept += [
        tuned.key | {"schedule": str(tuned.schedule), "ratio": round(tuned.ratio, 3)} for tuned in found if tuned.schedule
    ]
    text = json.dumps({"kvq_schedules": FORM, "version": _kvq.schedule_version(), "entries": kept}, indent=2)
    path.write_text(text + "\n", encoding="utf-8")


# --- the command -----------------------------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command `tune`."""
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the file of schedules, which is added to if it is there"
    )
    parser.add_argument("--tokens", default="4096", help="tokens in the cache (default: 4096)")
    parser.add_argument("--threads", default="1", help="numbers of threads, with commas (default: 1)")
    add_shapes(parser)
    parser.add_argument("--page", help="tokens of a page (default: no pages)")
    parser.add_argument("--token-major", action="store_true", help="rows of a token's heads follow each other")
    parser.add_argument(
        "--formats",
        default=FORMATS,
        help="formats with semicolons, KEYS / VALUES where they differ, and with @ i16 or @ i8 for a query in integers: "
        f"names of `formats`, f16, bf16, f32 (default: {FORMATS})",
    )
    parser.add_argument("--seconds", type=float, default=0.2, help="time for each candidate (default: 0.2)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of the table")


def run(arguments: argparse.Namespace) -> None:
    """Runs the command; `InputError` for arguments that are out of range."""
    from tqdm import tqdm

    shapes = parse_shapes(arguments)
    tokens, threads = positive(arguments.tokens, "--tokens"), positives(arguments.threads, "--threads")
    page = None if arguments.page is None else positive(arguments.page, "--page")
    storage = Storage(page, token_major=arguments.token_major)
    if not arguments.seconds > 0:
        raise InputError(f"--seconds: expected more than 0, found {arguments.seconds}")
    if tokens < max(shape.queries for shape in shapes):
        raise InputError(f"--tokens: expected at least as many as queries, found {tokens}")
    names = [name.strip() for name in arguments.formats.split(";")]
    for name in names:
        parse_case(name)  # before minutes of work, not after
    entries = read_entries(arguments.out)
    kvq.use_schedules(None)
    rng = np.random.default_rng(0)
    found: list[Tuned] = []
    cases = list(itertools.product(shapes, names, threads))
    for shape, name, count in tqdm(cases, desc="measuring", unit="case", disable=None, leave=False):
        tuner = Tuner(rng, name, shape, storage, tokens)
        found.append(Tuned(name, shape, tokens, count, tuner.op, *tuner.search(count, arguments.seconds)))
    write_entries(arguments.out, entries, found)
    if arguments.json:
        head = {"processor": processor(), "file": str(arguments.out)}
        results = [asdict(tuned) | tuned.key for tuned in found]
        print(json.dumps(head | {"results": results}, indent=2))
    else:
        print(_report(found, arguments.out))


def _report(found: list[Tuned], path: Path) -> str:
    width = max(len("format"), *(len(tuned.name) for tuned in found))
    lines = [f"{'format':{width}}  {'heads':>7}{'batch':>6}{'queries':>8}{'threads':>8}{'ratio':>7}  schedule"]
    for tuned in found:
        heads = f"{tuned.shape.query_heads}/{tuned.shape.kv_heads}"
        lines.append(
            f"{tuned.name:{width}}  {heads:>7}{tuned.shape.batch:>6}{tuned.shape.queries:>8}{tuned.threads:>8}"
            f"{tuned.ratio:>7.2f}  {tuned.schedule or 'that of the cost model'}"
        )
    count = sum(tuned.schedule is not None for tuned in found)
    lines += [
        "",
        f"{plural(found[0].tokens, 'token')}; {processor()}. ratio: of times to those of the cost model's schedules, in "
        f"the same rounds. {plural(count, 'schedule')} written to {path}.",
    ]
    return "\n".join(lines)
