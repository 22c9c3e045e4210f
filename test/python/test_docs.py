"""Commands and Python of README.md and docs/*.md do what they say: each page's blocks are run in order, in a folder of their
own that has the repository's in it. What is not run is a skipped test, with the page's reason."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_blocks import BLOCKS, ROOT, Block

FULL = os.environ.get("KVQ_FULL") == "1"
RUN = {page: [b for b in blocks if b.is_run and not b.mark] for page, blocks in BLOCKS.items()}
LONG = [b for blocks in BLOCKS.values() for b in blocks if b.is_run and b.mark == "long"]
NOT_RUN = [b for blocks in BLOCKS.values() for b in blocks if b.is_run and b.mark == "not run"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where relative paths of the repository work, and what is written lies elsewhere."""
    for entry in ("build", "docs", "python", "test", "tools", "README.md"):
        (tmp_path / entry).symlink_to(ROOT / entry)
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    return tmp_path


def environment() -> dict[str, str]:
    """`python` is the environment's, and kvq_mlir the build's, as README has it."""
    path = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "build/python")}


def run_shell(block: Block, folder: Path) -> str:
    command = ["bash", "-euo", "pipefail", "-c", block.text]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{block.name}: status {done.returncode}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr


def run_python(block: Block, folder: Path, names: dict) -> str:
    said = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said):
        exec(compile(block.text, block.name, "exec"), names)
    return said.getvalue()


def run_blocks(blocks: list[Block], folder: Path) -> None:
    names: dict = {"__name__": "__main__"}
    for block in blocks:
        said = run_shell(block, folder) if block.language == "sh" else run_python(block, folder, names)
        if block.output is not None:
            assert block.output.split() == said.split(), f"{block.name} prints\n{said}"


@pytest.mark.parametrize("page", [page for page in RUN if RUN[page]], ids=lambda page: page.name)
def test_blocks_run(page, folder):
    run_blocks(RUN[page], folder)


@pytest.mark.parametrize("block", LONG, ids=lambda block: block.name)
def test_long_blocks_run(block, folder):
    if not FULL:
        pytest.skip(f"{block.name}, in tools/check --full: {block.reason}")
    run_blocks([block], folder)


@pytest.mark.parametrize("block", NOT_RUN, ids=lambda block: block.name)
def test_not_run(block):
    pytest.skip(f"{block.name}: {block.reason}")


def test_marks_have_reasons():
    """What is not run says why, and what is marked is something that would be run."""
    blocks = [block for page in BLOCKS.values() for block in page]
    assert sum(len(page) for page in RUN.values()) >= 10
    for block in blocks:
        if block.mark in ("not run", "long"):
            assert block.is_run, f"{block.name} would not be run anyway"
            assert len(block.reason) >= 15, f"{block.name} says no reason"


def test_marks_are_understood():
    """A comment that is no mark, but for a slip, would have its block run."""
    for page in BLOCKS:
        text = page.read_text(encoding="utf-8")
        comments = re.findall(r"<!-- (?:not|long|output)\b.*?-->", text, re.DOTALL)
        assert len(comments) == sum(1 for block in BLOCKS[page] if block.mark), page


def test_faults_are_found(folder):
    """The test itself: a command that fails, one whose output is another, an exception."""
    page = next(iter(BLOCKS))
    for language, text, output in (
        ("sh", "false | cat\n", None),
        ("sh", "echo one\n", "two\n"),
        ("python", "print(1)\n", "2\n"),
    ):
        with pytest.raises(AssertionError):
            run_blocks([Block(page, 1, language, text, "", "", output)], folder)
    with pytest.raises(ZeroDivisionError):
        run_blocks([Block(page, 1, "python", "1 / 0\n", "", "")], folder)
