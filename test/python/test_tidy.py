"""clang-tidy finds nothing in C++ sources, by the checks of .clang-tidy."""

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from doc_blocks import ROOT

TIDY = shutil.which("clang-tidy-22")
COMMANDS = ROOT / "build" / "compile_commands.json"


def findings(source: Path) -> str:
    command = [TIDY, "-p", ROOT / "build", "--quiet", source]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{source}\n{done.stdout[-4000:]}{done.stderr[-1000:]}"


@pytest.mark.skipif(os.environ.get("KVQ_FULL") != "1", reason="clang-tidy takes minutes: tools/check --full")
def test_clang_tidy():
    assert TIDY, "expected clang-tidy-22, which tools/check --full installs"
    every = {Path(entry["file"]) for entry in json.loads(COMMANDS.read_text())}
    folders = [ROOT / name for name in ("lib", "python", "test", "tools")]
    sources = sorted(path for path in every if any(path.is_relative_to(folder) for folder in folders))
    assert len(sources) > 150
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        found = [text for text in workers.map(findings, sources) if text]
    assert not found, "\n".join(found)
