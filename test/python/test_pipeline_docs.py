"""docs/Pipeline.md: the IR that it shows of each stage is what the stage makes of test/Pipelines/stages.mlir, abridged.

Values have names of the reader's choice there, the same one for the same value; `…` stands for what is left out, and so
do borders of lines; comments are no part of it.
"""

from __future__ import annotations

import re
from pathlib import Path

import kvq_mlir as kvq
import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "test" / "Pipelines" / "stages.mlir"
STAGES = ("SPLIT", "TILE", "DECOMPOSE", "FOLD", "EXPAND", "VALUES", "BUFFERS", "VECTOR")
TOKEN = re.compile(r'%[\w$]+(?:#\d+)?|[#!@^]?[\w.]+|"[^"]*"|->|…|[^\s\w]')
ARGUMENT = re.compile(r"%(in|out)(_\d+)?$")
MAX_STEPS = 200_000


def quoted() -> dict[str, str]:
    """The first block of IR of each section `## number. ...`."""
    found = {}
    for section in re.split(r"^## (?=\d+\. )", (ROOT / "docs" / "Pipeline.md").read_text(), flags=re.M)[1:]:
        block = re.search(r"^```mlir\n(.*?)^```", section, flags=re.M | re.S)
        if block:
            found[section.partition(".")[0]] = block[1]
    return found


def passes() -> dict[str, str]:
    """By prefix of a RUN line, the passes from the start to there, those of files in between included."""
    found, files = {}, {}
    lines = [line for line in SOURCE.read_text().splitlines() if "RUN:" in line]
    for line in lines:
        pipeline = re.search(r"builtin\.module\((.*)\)'", line)
        source = re.search(r"kvq-opt (\S+)", line)
        output = re.search(r" -o (\S+)", line)
        prefix = re.search(r"--check-prefix=(\w+)", line)
        if pipeline:
            text = files.get(source[1], "") + pipeline[1]
            if output:
                files[output[1]] = text + ","
            if prefix:
                found[prefix[1]] = text
        elif prefix:
            found[prefix[1]] = files[line.split("<")[1].strip()].rstrip(",")
    return found


def tokens(text: str) -> list[str]:
    text = re.sub(r"//.*", "", text)
    text = re.sub(r"\^bb\d+\(.*?\):", "", text)  # the arguments of bodies are always called alike
    return TOKEN.findall(text)


def stage(number: str) -> list[str]:
    """The IR after a stage, in the words of the docs: names of types and attributes."""
    source = SOURCE.read_text()
    if number == "0":
        return tokens(source)
    ir = kvq.run_pipeline(source, f"builtin.module({passes()[STAGES[int(number) - 1]]})")
    for codes, name in (("ui4", "k"), ("i4", "v")):
        fmt = f"#kvq.format<codes = {codes},[^>]*>"
        ir = re.sub(rf"(!kvq\.cache)?<1x8x\?x128xf16, {fmt}[^>]*>", f"!{name}c", ir)
        ir = re.sub(fmt, f"#{name}", ir)
    return tokens(ir)


def definitions(written: list[str]) -> set[int]:
    """Where a name is given to a value, perhaps to another one than before: in front of "=", alone or in a list, and as the
    variables of a loop."""
    found = set()
    for i, token in enumerate(written):
        begin = i
        if token == "=" or written[i : i + 2] == [")", "in"]:
            if written[i - 2] == ":":  # %x:2 =
                begin = i - 2
            while written[begin - 1].startswith("%"):
                found.add(begin - 1)
                begin -= 2
                if written[begin] != ",":
                    break
    return found


def abridged(text: str) -> list[str]:
    """As tokens: ops may be left out in front of each one."""
    return tokens(re.sub(r"^\s*(?=}|return|[\w]+\.\w|%[\w, %]+(:\d+)? =)", "… ", text, flags=re.M))


class Matcher:
    """Whether IR is what is written, with names bound to values and `…` to anything."""

    def __init__(self, written: list[str], ir: list[str]) -> None:
        self.written, self.ir, self.steps, self.farthest = written, ir, 0, 0
        self.defined = definitions(written)
        self.places: dict[str, list[int]] = {}
        for i, token in enumerate(ir):
            self.places.setdefault(self.kind(token), []).append(i)

    @staticmethod
    def kind(token: str) -> str:
        return "%" if token.startswith("%") else token

    def same(self, at: int, found: str, names: dict[str, str]) -> dict[str, str] | None:
        """The names, with one more perhaps; None where token `at` is another than `found`."""
        written = self.written[at]
        if not written.startswith("%"):
            return names if written == found else None
        if not found.startswith("%"):
            return None
        if ARGUMENT.match(written) and ARGUMENT.match(found):
            return names if written.split("_")[0] == found.split("_")[0] else None
        (name, _, result), (value, _, of) = written.partition("#"), found.partition("#")
        if result != of:
            return None
        if name not in names or at in self.defined:
            return {**names, name: value}
        return names if names[name] == value else None

    def find(self, at: int, begin: int, names: dict[str, str]) -> bool:
        """From token `at` on, which stands behind a `…`: at the first place where all that follows fits."""
        while self.written[at : at + 1] == ["…"]:
            at += 1
        if at == len(self.written):
            return True
        for place in self.places.get(self.kind(self.written[at]), []):
            if place < begin:
                continue
            self.steps += 1
            if self.steps > MAX_STEPS:
                return False
            i, j, bound = at, place, names
            while bound is not None and i < len(self.written) and self.written[i] != "…" and j < len(self.ir):
                bound = self.same(i, self.ir[j], bound)
                i, j = i + 1, j + 1
            self.farthest = max(self.farthest, i - (bound is None))
            if bound is None or j == len(self.ir) and i < len(self.written):
                continue
            if i == len(self.written) or self.find(i + 1, j, bound):
                return True
        return False


def test_each_stage_is_quoted():
    assert list(quoted()) == [str(number) for number in range(len(STAGES) + 1)]


@pytest.mark.parametrize("number", list(quoted()))
def test_what_is_quoted_is_what_the_stage_makes(number):
    written = abridged(quoted()[number])
    matcher = Matcher(written, stage(number))
    found = matcher.find(0, 0, {})
    at = matcher.farthest
    assert found, f"stage {number}: {' '.join(written[max(0, at - 30) : at])} >>> {' '.join(written[at : at + 12])}"


def test_other_ir_is_found_out():
    """The test itself: a changed number, a value in another's place."""
    written, ir = abridged(quoted()["1"]), stage("1")
    assert Matcher(written, ir).find(0, 0, {})
    for old, new in (("128", "127"), ("%rows", "%slice"), ("arith.mulf", "arith.addf")):
        assert not Matcher([new if token == old else token for token in written], ir).find(0, 0, {})
