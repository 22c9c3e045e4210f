"""Damaged modules: an error that says so, or success, never a crash.

Modules of the round-trip test, with tokens deleted, doubled, swapped or replaced, are parsed and, where they are valid
still, lowered. That happens in a process of its own; when it dies, the case that it died of is printed.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

CASES = 3000 if os.environ.get("KVQ_FULL") else 320
BATCH = 80  # cases in a process
SOURCES = Path(__file__).parent.parent / "IR" / "roundtrip.mlir"
# Names with their sigil, numbers, signs; tensor types and text between quotes stay whole.
TOKEN = re.compile(r'"[^"]*"|tensor<[^<>]*>|[%#!@^]?[\w.$]+|->|\s+|.', re.DOTALL)
NUMBERS = ["0", "1", "-1", "2", "3", "7", "8", "64", "65", "4294967296", "9223372036854775807", "18446744073709551616"]

WORKER = """
import json, sys
import kvq_mlir as kvq
for line in sys.stdin:
    text = json.loads(line)
    outcome = "invalid"
    print("begin", flush=True)
    try:
        kvq.parse(text)
        outcome = "valid"
        kvq.run_pipeline(text, "builtin.module(kvq-cpu-pipeline)")
        outcome = "lowered"
    except kvq.Error as error:
        assert str(error)
    print(outcome, flush=True)
"""


def functions(text: str) -> list[str]:
    """A module for each function of the file, with the aliases that all of them use."""
    text = re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)
    parts = re.split(r"^(?=func\.func)", text, flags=re.MULTILINE)
    heads = [re.findall(r"^[#!].*?>\n", part, re.MULTILINE | re.DOTALL) for part in parts]
    aliases = "".join(alias for head in heads for alias in head)
    bodies = [re.sub(r"^[#!].*?>\n", "", part, flags=re.MULTILINE | re.DOTALL) for part in parts[1:]]
    return [aliases + body for body in bodies]


def prefixes(text: str) -> list[str]:
    """Each function cut short after each of its ops, whose results it then returns, so that damage to one op meets few
    others and lowering has something to do."""
    found = []
    for function in functions(text):
        head, brace, body = function.rpartition(") {\n")
        ops = re.split(r"\n(?=  %)", body.rsplit("\n  return", 1)[0]) if brace else []
        for end, op in enumerate(ops, start=1):
            names, _, rest = op.partition(" = ")
            names = re.sub(r"(%\w+):(\d+)", lambda m: ", ".join(f"{m[1]}#{i}" for i in range(int(m[2]))), names.strip())
            types = re.split(r"->| : ", rest)[-1].strip()
            lines = "\n".join(ops[:end])
            results = f"-> ({types}) attributes {{kvq.unfused}}"
            found.append(f"{head}) {results} {{\n{lines}\n  return {names} : {types}\n}}\n")
        found += [] if brace else [function]
    return found


def replaced_number(rng: np.random.Generator, token: str) -> str:
    """The token with one of its numbers changed to one that is special, or to another's."""
    span = rng.choice([match.span() for match in re.finditer(r"\d+", token)])
    return token[: span[0]] + str(rng.choice(NUMBERS)) + token[span[1] :]


def damaged(rng: np.random.Generator, text: str) -> str:
    """`text` with one or two tokens changed; spaces do not count."""
    tokens = TOKEN.findall(text)
    for _ in range(int(rng.integers(1, 3))):
        solid = [i for i, token in enumerate(tokens) if not token.isspace()]
        at, other = (int(i) for i in rng.choice(solid, 2))
        kind = rng.choice(["delete", "double", "copy", "swap", "number", "alike"], p=[0.1, 0.1, 0.1, 0.1, 0.25, 0.35])
        if kind == "delete":
            tokens[at] = ""
        elif kind == "double":
            tokens[at] += " " + tokens[at]
        elif kind == "copy":
            tokens[at] = tokens[other]
        elif kind == "swap":
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == "number":
            at = int(rng.choice([i for i in solid if re.search(r"\d", tokens[i])]))
            tokens[at] = replaced_number(rng, tokens[at])
        else:  # one format, cache, value or type for another
            sigil = str(rng.choice(["#", "!", "%", "t"]))
            alike = [i for i in solid if tokens[i].startswith(sigil) and len(tokens[i]) > 1] or solid
            at, other = (int(i) for i in rng.choice(alike, 2))
            tokens[at] = tokens[other]
    return "".join(tokens)


def run(cases: list[str]) -> list[str]:
    """What came of each case; fails with the text of the case that the process died of."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    process = subprocess.run(
        [sys.executable, "-c", WORKER], input=lines, capture_output=True, text=True, timeout=600, check=False
    )
    outcomes = process.stdout.split()
    if process.returncode:
        case = cases[outcomes.count("begin") - 1]
        pytest.fail(f"status {process.returncode} of\n{case}\n{process.stderr[-2000:]}")
    return [outcome for outcome in outcomes if outcome != "begin"]


def test_the_sources_are_valid():
    sources = prefixes(SOURCES.read_text(encoding="utf-8"))
    outcomes = run(sources)
    assert len(outcomes) == len(sources) >= 20 and "invalid" not in outcomes
    assert outcomes.count("lowered") >= 10


def test_damaged_modules(rng):
    sources = prefixes(SOURCES.read_text(encoding="utf-8"))
    outcomes = []
    for begin in range(0, CASES, BATCH):
        chosen = rng.integers(len(sources), size=min(BATCH, CASES - begin))
        outcomes += run([damaged(rng, sources[i]) for i in chosen])
    print({outcome: outcomes.count(outcome) for outcome in set(outcomes)})
    assert len(outcomes) == CASES
    assert outcomes.count("lowered") > CASES // 50 and outcomes.count("invalid") > CASES // 5
