"""The walk-throughs of docs/Contributing.md, followed to the letter on a copy of the repository."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doc_blocks import BLOCKS, ROOT

FULL = os.environ.get("KVQ_FULL") == "1"
PAGE = ROOT / "docs" / "Contributing.md"
STEPS = [b for b in BLOCKS[PAGE] if b.language == "diff" or "test_contributing.py" in b.reason]
CONFIGURE = """
cmake --log-level=NOTICE -S . -B build -G Ninja -D CMAKE_BUILD_TYPE=Release -D KVQ_BUILD_PYTHON=OFF \
  -D CMAKE_C_COMPILER=clang-22 -D CMAKE_CXX_COMPILER=clang++-22 \
  -D CMAKE_C_COMPILER_LAUNCHER=ccache -D CMAKE_CXX_COMPILER_LAUNCHER=ccache \
  -D CMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -D CMAKE_MODULE_LINKER_FLAGS=-fuse-ld=lld \
  -D MLIR_DIR=/usr/lib/llvm-22/lib/cmake/mlir -D LLVM_DIR=/usr/lib/llvm-22/lib/cmake/llvm \
  -D Python_EXECUTABLE=.venv/bin/python
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What git tracks, without anything built."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    kept = b"\0".join(name for name in names.split(b"\0") if name and (ROOT / os.fsdecode(name)).is_file())
    archive = subprocess.run(["tar", "-c", "--null", "-T", "-"], cwd=ROOT, input=kept, capture_output=True, check=True)
    subprocess.run(["tar", "-x"], cwd=tmp_path, input=archive.stdout, check=True)
    (tmp_path / ".venv").symlink_to(Path(sys.prefix))
    return tmp_path


def apply(change: str, folder: Path) -> None:
    """A change whose hunks say no lines (`@@` alone) goes where its context stands, once in the file."""
    path = re.search(r"^\+\+\+ b/(\S+)", change, re.MULTILINE)[1]
    lines = change.splitlines(keepends=True)[3:]
    old = "".join(line[1:] for line in lines if line[0] in " -")
    new = "".join(line[1:] for line in lines if line[0] in " +")
    target = folder / path
    text = target.read_text() if target.exists() else ""
    assert old == text if not old else text.count(old) == 1, f"{path}: the context of the change is not there, or twice"
    target.write_text(text.replace(old, new) if old else new)


def test_changes_apply(copy):
    changes = [step for step in STEPS if step.language == "diff"]
    assert len(changes) == 6
    for change in changes:
        apply(change.text, copy)


def test_files_that_are_named_exist():
    named = re.findall(r"`((?:include|lib|test|python|tools|docs)/[\w./-]+)`", PAGE.read_text())
    assert len(named) >= 10
    made = re.findall(r"^\+\+\+ b/(\S+)", PAGE.read_text(), re.MULTILINE)
    assert [name for name in named if not (ROOT / name).exists() and name not in made] == []


@pytest.mark.skipif(not FULL, reason="tools/check --full builds what docs/Contributing.md changes")
def test_commands_do_what_they_say(copy):
    environment = {**os.environ, "CCACHE_BASEDIR": str(copy)}
    shell = ["bash", "-euo", "pipefail", "-c"]
    subprocess.run([*shell, CONFIGURE], cwd=copy, env=environment, check=True)
    for step in [step for step in STEPS if step.language == "diff"]:  # one build serves all
        apply(step.text, copy)
    for step in [step for step in STEPS if step.language == "sh"]:
        done = subprocess.run([*shell, step.text], cwd=copy, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{step.name}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
