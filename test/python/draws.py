"""Random cases of a cache's whole path: a format, cache parameters, a shape and a sequence of appends.

`cover` draws few cases in which every pair of kinds of values of two fields occurs; `draw` draws one by chance. A case
is a line of JSON, so that a failing one can be run alone.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable

import numpy as np
from test_differential import (
    CODEBOOK_RANGES,
    DTYPES,
    SCALES,
    SYMMETRIC,
    TOLERANCE,
    UNSIGNED,
    ZEROS,
    expected_storage,
    is_format,
    same,
    stored_rows,
    values,
)
from test_ring import check as check_ring
from test_rotation import oracle_given

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.devices import ORDERS, Emulator
from kvq_mlir.metrics import relative_l2

Fields = dict[str, object]
CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")

# Every value that a field can have. Not all of them go together.
VALUES: dict[str, tuple] = {
    "codes": SYMMETRIC + UNSIGNED,
    "group": ("1, *", "1, 16", "8, 1", "4, 8", "5, *", "*, 16"),
    "scale": (*SCALES, "f8E4M3FN of f32"),
    "zero": ("", *ZEROS),
    "range": ("", "clip<0.9>", "search<3>", *CODEBOOK_RANGES, "static"),
    "rotate": ("", "hadamard<16>", "hadamard<*>"),
    "center": ("", "bf16"),
    "rope": ("post", "half", "interleaved", "some halves", "some interleaved"),
    "span": ("", "2", "*"),  # KV heads of a group
    "rule": (
        "",
        "ties = up",
        "quotient = reciprocal",
        "scale = nearest",
        "metadata = unrounded, scale = nearest",
        "bounds = full, extremum = signed, scale = nearest",
    ),
    "layout": ("", "stream", "bias", "record", "row", "pairs", "blocks", "block row"),
    "window": ("none", "recent = 0", "recent", "residual"),
    "exact_first": (0, 3),
    "storage": ("contiguous", "pages", "given pages", "ring", "ring of pages"),
    "dtype": ("f16", "bf16", "f32"),
    "input": ("f16", "bf16", "f32"),
    "dim": (64, 80, 96, 128),
    "batch": (1, 3),
    "heads": (1, 2),
    "side": ("keys", "values"),
    "appends": ("at once", "one by one", "ragged"),
    "ratio": (1, 3, 4),
    "q_len": (1, 2),
    "causal": (False, True),
    "splits": (1, 3),
}


def _group(group: str, dim: int) -> tuple[int, int]:
    tokens, channels = group.split(", ")
    return 1 if tokens == "*" else int(tokens), dim if channels == "*" else int(channels)


def _has_meaning(codes: str, rule: str) -> bool:
    if "ties" in rule:
        return kind("codes", codes) != "float"
    return "signed" not in rule or codes.startswith("i")


RECORDS = ("record", "row", "pairs", "block row")  # layouts with metadata in records
BLOCKS = ("blocks", "block row")  # layouts with the codes of several tokens in a row

# Pairs of fields, and whether values of both go together.
TOGETHER: dict[tuple[str, str], Callable[[object, object], bool]] = {
    ("codes", "zero"): lambda codes, zero: (codes in UNSIGNED) == bool(zero) and is_format(codes, "f32", zero),
    ("codes", "scale"): lambda codes, scale: is_format(codes, scale, ""),
    ("codes", "range"): lambda codes, range_: range_ not in CODEBOOK_RANGES or "codebook" in codes,
    ("range", "zero"): lambda range_, zero: range_ not in CODEBOOK_RANGES or not zero,
    ("codes", "rule"): lambda codes, rule: _has_meaning(codes, rule),
    ("rule", "zero"): lambda rule, zero: "signed" not in rule or not zero,
    ("rule", "range"): lambda rule, range_: not ("unrounded" in rule and "search" in range_)
    and not ("signed" in rule and range_ in CODEBOOK_RANGES)
    and not ("scale" in rule and range_ == "static"),
    ("rule", "scale"): lambda rule, scale: "nearest" not in rule or scale in ("f16", "bf16", "f32"),
    ("span", "heads"): lambda span, heads: span != "2" or heads == 2,
    ("codes", "layout"): lambda codes, layout: {"bias": codes[0] == "i", "pairs": codes in UNSIGNED}.get(layout, True),
    ("range", "layout"): lambda range_, layout: (layout not in ("bias", "pairs") or range_ not in CODEBOOK_RANGES)
    and (layout not in RECORDS + BLOCKS or range_ != "static"),
    ("window", "layout"): lambda window, layout: layout not in BLOCKS or window != "none",
    ("span", "layout"): lambda span, layout: layout not in RECORDS or not span,
    ("rule", "layout"): lambda rule, layout: layout != "pairs" or "signed" not in rule,
    ("zero", "layout"): lambda zero, layout: {"bias": not zero, "pairs": bool(zero)}.get(layout, True),
    ("group", "layout"): lambda group, layout: not group.startswith(("1,", "*"))
    if layout in BLOCKS
    else layout not in RECORDS or group.startswith("1,") or (layout == "pairs" and not group.startswith("*")),
    ("group", "rule"): lambda group, rule: not (group.startswith("*") and "scale" in rule),
    ("group", "range"): lambda group, range_: group.startswith("*") == (range_ == "static"),
    ("group", "window"): lambda group, window: window != "none" or group.startswith(("1,", "*")),
    ("rotate", "dim"): lambda rotate, dim: "*" not in rotate or dim in (64, 128),
    ("rotate", "rope"): lambda rotate, rope: not rotate or rope == "post",
    ("center", "rope"): lambda center, rope: not center or rope == "post",
    ("rope", "side"): lambda rope, side: rope == "post" or side == "keys",
    ("group", "dim"): lambda group, dim: dim % _group(group, dim)[1] == 0,
}


def allowed(fields: Fields) -> bool:
    """Whether the values, of some fields or all, go together."""
    return all(rule(fields[a], fields[b]) for (a, b), rule in TOGETHER.items() if a in fields and b in fields)


def draw(rng: np.random.Generator, chosen: Fields | None = None, wanted: Callable | None = None) -> Fields | None:
    """Values for all fields by chance, those of `chosen` among them; None where what was drawn leads nowhere.

    wanted: of a field and its value, beside the fields so far: how much the value is worth. The best ones are drawn.
    """
    fields = dict(chosen or {})
    for name in rng.permutation([name for name in VALUES if name not in fields]).tolist():
        candidates = [value for value in VALUES[name] if allowed({**fields, name: value})]
        if not candidates:
            return None
        if wanted:
            worths = [wanted(fields, name, value) for value in candidates]
            candidates = [value for value, worth in zip(candidates, worths, strict=True) if worth == max(worths)]
        fields[name] = candidates[rng.integers(len(candidates))]
    return fields


def kind(name: str, value: object) -> object:
    """What the value is an example of: codes and zeros that are alike in what compiled code does are one kind."""
    if name == "codes":
        if value not in UNSIGNED and not value.startswith("i"):
            return "codebook" if "codebook" in value else "float"
        return value.rstrip("0123456789") + (" of a part" if value[-1] in "248" else " of two parts")
    if name == "zero" and value:
        return " ".join(["point" if "point" in value else "min", "integer" if value.endswith("i8") else "float"])
    return value


def pairs() -> dict[tuple, list[Fields]]:
    """Every pair of kinds ((field, kind), (other field, kind)), fields in order, with the values that are allowed."""
    found: dict[tuple, list[Fields]] = {}
    for a, b in itertools.combinations(VALUES, 2):
        for x, y in itertools.product(VALUES[a], VALUES[b]):
            if allowed({a: x, b: y}):
                found.setdefault(((a, kind(a, x)), (b, kind(b, y))), []).append({a: x, b: y})
    return found


def pairs_in(fields: Fields) -> set[tuple]:
    return set(itertools.combinations([(name, kind(name, fields[name])) for name in VALUES], 2))


def cover(rng: np.random.Generator, tries: int = 4) -> list[Fields]:
    """Cases in which every allowed pair occurs, each the best of a few that contain a pair that is still missing."""
    order = {name: i for i, name in enumerate(VALUES)}
    missing, cases = pairs(), []

    def worth(fields: Fields, name: str, value: object) -> int:
        ends = [(name, kind(name, value))], [(other, kind(other, fields[other])) for other in fields]
        return sum(tuple(sorted(pair, key=lambda end: order[end[0]])) in missing for pair in itertools.product(*ends))

    while missing:
        todo = list(missing)
        found = []
        for _ in range(tries):
            pair = todo[rng.integers(len(todo))]
            for _ in range(100):
                examples = missing[pair]
                case = draw(rng, examples[rng.integers(len(examples))], worth)
                if case is not None:
                    found.append(case)
                    break
        assert found, f"no case has {pair}: TOGETHER has to say so"
        best = max(found, key=lambda case: len(pairs_in(case) & missing.keys()))
        for pair in pairs_in(best):
            missing.pop(pair, None)
        cases.append(best)
    return cases


# --- cases ---------------------------------------------------------------------------------------------------------


def complete(rng: np.random.Generator, fields: Fields) -> str:
    """The case of these fields, with all numbers that they leave to chance, as a line of JSON."""
    n = _group(fields["group"], fields["dim"])[0]
    window = {
        "none": {},
        "recent = 0": dict(recent=0),
        "recent": dict(recent=int(rng.integers(1, 20))),
        "residual": dict(residual=n * int(rng.integers(1, 4))),
    }[fields["window"]]
    exact = window.get("recent", 0) or window.get("residual", 0)  # tokens that a ring has to keep
    keep_first = fields["exact_first"] + int(rng.integers(0, 3))
    ring = dict(ring=keep_first + exact + fields["q_len"] + int(rng.integers(0, 20)), keep_first=keep_first)
    storage = {
        "contiguous": {},
        "pages": dict(page=n * int(rng.integers(1, 6))),
        "given pages": dict(page=n * int(rng.integers(1, 6)), given=True),
        "ring": ring,
        "ring of pages": dict(**ring, page=n * int(rng.integers(1, 6))),
    }[fields["storage"]]
    lengths = rng.integers(0, 60, fields["batch"])
    lengths[rng.integers(fields["batch"])] = int(rng.integers(20, 60))
    case = {**fields, "window": window, "storage": storage, "appends": _appends(rng, fields["appends"], lengths)}
    return json.dumps({**case, "seed": int(rng.integers(1 << 32))})


def _appends(rng: np.random.Generator, kind: str, lengths: np.ndarray) -> list[list[int]]:
    """Counts of each append."""
    if kind == "at once":
        return [lengths.tolist()]
    if kind == "one by one":
        return [(lengths > step).astype(int).tolist() for step in range(lengths.max())]
    steps, left = [], lengths.copy()
    while left.any():
        step = np.minimum(left, rng.integers(0, 12, len(left)))
        steps.append(step.tolist())
        left = left - step
    return steps


def format_text(case: Fields) -> str:
    parts = {"codes": case["codes"], "group": f"[{case['group']}]"}
    parts |= {name: case[name] for name in ("scale", "zero", "range", "rotate", "center") if case[name]}
    if case["rope"] != "post":
        parts["rope"] = "pre"
    if case["span"]:
        parts["heads"] = case["span"]
    if case["rule"]:
        parts["rule"] = f"#kvq.rule<{case['rule']}>"
    text = ", ".join(f"{name} = {value}" for name, value in parts.items())
    if not case["layout"]:
        return text
    metadata = ["scale"] + ["zero"] * bool(case["zero"])
    tokens = case["group"].partition(",")[0]
    codes = ["codes"] + ["high"] * (kvq.Format(text).bits in (3, 5, 6))
    layout = {
        "stream": "codes = stream",
        "bias": "codes = planar<16>, bias",
        "record": f"record = [{', '.join(metadata + codes)}]",
        "row": f"codes = stream, row = [{', '.join(['codes', *metadata])}]",
        "pairs": "record = [scale, zero]",
        "blocks": f"codes = stream, block = [{tokens}, 1]",
        "block row": f"block = [{tokens}, *], row = [{', '.join([*metadata, *codes])}]",
    }[case["layout"]]
    return f"{text}, layout = #kvq.layout<{layout}>"


def run(text: str, on_gpu: bool = False) -> None:
    """Compiled code against the reference: after all appends codes and metadata equal, attention within bounds.

    on_gpu: attention by a kernel of a drawn chip, on the emulator, over numbers that f16 has digits for.
    """
    case = json.loads(text)
    rng, fmt = np.random.default_rng(case["seed"]), format_text(case)
    batch, heads, dim = case["batch"], case["heads"], case["dim"]
    ring = {name: case["storage"][name] for name in ("ring", "keep_first") if name in case["storage"]}
    parameters = dict(dtype=case["dtype"], exact_first=case["exact_first"], **case["window"], **ring)
    x = rng.standard_normal((2, heads, 40, dim)).astype(np.float32)
    signs = rng.choice(np.int8([-1, 1]), dim) if case["rotate"] and rng.random() < 0.5 else None
    given = kvq.calibrate(x, kvq.Format(fmt), signs)
    capacity = int(max(np.sum(case["appends"], axis=0)) + rng.integers(0, 9))
    shape = (batch, heads, capacity, dim)
    cache = kvq.Cache(*shape, kvq.Format(fmt), given=given, fill=0xFF, **parameters, **_pages(rng, case, capacity))
    oracle = reference.Cache(
        reference.Format.parse(fmt), batch, heads, dim, capacity, calibration=oracle_given(given), **parameters
    )
    # The other side is exact: it costs little to compile.
    exact = kvq.Cache(*shape, kvq.Format("codes = none"), case["dtype"], fill=0xFF, **ring)
    exact_oracle = reference.Cache(reference.Format(None), batch, heads, dim, capacity, case["dtype"], **ring)
    for counts in case["appends"]:
        tokens = max(counts) + int(rng.integers(0, 2))
        for side in ((cache, oracle), (exact, exact_oracle)):
            shape = batch, heads, tokens, dim
            x = rng.standard_normal(shape).astype(DTYPES[case["input"]]) if on_gpu else values(rng, shape, case["input"])
            if case["dtype"] != "f16":  # the largest number, for an infinite element, is too much for any sum
                x[np.isinf(x)] = 1e4
            for b, count in enumerate(counts):
                x[b, :, count:] = np.nan  # padding
            for each in side:
                each.append(x, counts)
    if on_gpu:
        pass  # the processor's codes are the other run's
    elif not ring:
        check_storage(cache, oracle)
    elif not given and not case["rotate"]:  # what is rotated comes back with rounding errors
        check_ring(cache, oracle)

    sides, oracles = [cache, exact], [oracle, exact_oracle]
    if case["side"] == "values":
        sides, oracles = sides[::-1], oracles[::-1]
    q = rng.standard_normal((batch, heads * case["ratio"], case["q_len"], dim)).astype(DTYPES[case["input"]])
    # Large scores saturate the softmax, where those in f32 and in f64 part.
    largest = max(np.abs(oracles[0].values64(b)).max(initial=0) for b in range(batch))
    scale = 1 / math.sqrt(dim) if on_gpu else 1 / (dim * max(1, largest))
    options = dict(scale=scale, causal=case["causal"])
    if case["rope"] != "post":
        style = "half" if "hal" in case["rope"] else "interleaved"
        pairs = int(rng.integers(1, dim // 2)) if "some" in case["rope"] else dim // 2
        options |= dict(rope=kvq.rope_tables(capacity, 2 * pairs), rope_style=style)
    expected = reference.attention(q, *oracles, **options)
    out = np.full(q.shape, np.nan, np.float32)
    device = Emulator(str(rng.choice(CHIPS)), str(rng.choice(ORDERS)), int(rng.integers(1 << 32))) if on_gpu else None
    kvq.attention(q, *sides, **options, out=out, splits=case["splits"], device=device)
    for b in range(batch):
        error = relative_l2(out[b], expected[b])
        assert error <= (2e-3 if on_gpu else TOLERANCE), f"sequence {b}: relative L2 {error}, {device}"


def _pages(rng: np.random.Generator, case: Fields, capacity: int) -> dict:
    """Pages of the cache's own, or those of a given table, in any order, of a pool with a few more."""
    page = case["storage"].get("page")
    if page is None or "given" not in case["storage"]:
        return dict(page=page)
    rows = -(-capacity // page)
    pages = case["batch"] * rows + int(rng.integers(0, 9))
    table = rng.permutation(pages)[: case["batch"] * rows].reshape(case["batch"], rows)
    return dict(page=page, pages=pages, page_table=table)


def check_storage(cache: kvq.Cache, oracle: reference.Cache) -> None:
    """The stored bytes are the oracle's codes and metadata."""
    assert cache.lengths.tolist() == oracle.lengths.tolist()
    assert cache.flushed.tolist() == oracle.flushed.tolist()
    for b in range(cache.batch):
        for name, part in expected_storage(oracle, b).items():
            stored = stored_rows(cache, name, b, part.shape[-2])
            assert same(stored.view(part.dtype), part), f"{name} of sequence {b}"
