"""Bytecode of each version of the dialect that was ever written is still read (docs/Compatibility.md).

`test/Bytecode/Inputs/v<number>` holds modules as bytecode, never written again, and as the text that they were: both are
the same module. Those of the newest version have every op, attribute and type of the dialect, so something new fails here
until a file has it.
"""

import re
import subprocess
from pathlib import Path

import pytest
from lowerings import KVQ_OPT

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "test" / "Bytecode" / "Inputs"
FILES = sorted(GOLDEN.glob("v*/*.mlirbc"))
VERSION = int(re.search(r"kBytecodeVersion = (\d+)", (ROOT / "lib/IR/Bytecode.cpp").read_text())[1])
DEFINITIONS = "".join(path.read_text() for path in sorted((ROOT / "include/kvq/IR").glob("*.td")))


def printed(path: Path, *options: str) -> str:
    """The module as text, with every op in its generic form, so that no default is left out."""
    command = [KVQ_OPT, "--mlir-print-op-generic", *options, path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def newest() -> str:
    return "".join(path.read_text() for path in sorted(GOLDEN.glob(f"v{VERSION}/*.mlir")))


def test_each_version_has_files():
    assert {path.parent.name for path in FILES} == {f"v{version}" for version in range(1, VERSION + 1)}
    assert all(path.with_suffix(".mlir").exists() for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_was_written_is_read(path):
    assert path.read_bytes()[:4] == b"ML\xefR"
    module = printed(path)
    assert "kvq." in module
    assert module == printed(path.with_suffix(".mlir"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_it_is_written_again_as_the_newest_version(path, tmp_path):
    again = tmp_path / "again.mlirbc"
    subprocess.run([KVQ_OPT, "--emit-bytecode", path, "-o", again], check=True)
    assert printed(again) == printed(path)


def test_every_op_is_in_a_file():
    ops = set(re.findall(r'\w*Op<"(\w+)"', DEFINITIONS))
    assert {"attention", "append", "load_tile"} <= ops
    assert ops - set(re.findall(r"\bkvq\.(\w+)", newest())) == set()


def test_every_attribute_and_type_is_in_a_file():
    kinds = (r'let mnemonic = "(\w+)"', r'KVQ_Attr<"\w+", "(\w+)"', r'EnumAttr<KVQ_Dialect, \w+, "(\w+)"')
    names = {name for kind in kinds for name in re.findall(kind, DEFINITIONS)}
    assert {"format", "cache", "policy", "schedule", "region"} <= names
    assert names - set(re.findall(r"[#!]kvq\.(\w+)<", newest())) == set()
