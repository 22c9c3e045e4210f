"""A wheel of the package, installed into a virtual environment of its own and used there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from kvq_mlir import _kvq

FULL = bool(os.environ.get("KVQ_FULL"))
REPO = Path(__file__).parents[2]
BUILD = Path(_kvq.__file__).parents[2]
# Without the package that the tests themselves use.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

SCRIPT = """
import sys
from pathlib import Path

import numpy as np

import kvq_mlir as kvq
from kvq_mlir.builder import Module, tensor

assert Path(kvq.__file__).is_relative_to(sys.prefix), kvq.__file__
rng = np.random.default_rng(0)
keys, values = rng.standard_normal((2, 1, 2, 100, 64), dtype=np.float32)
query = rng.standard_normal((1, 4, 1, 64), dtype=np.float32)
fmt = kvq.Format("codes = i8, group = [1, 32], scale = f16")
caches = [kvq.Cache(1, 2, 100, 64, fmt) for _ in range(2)]
for cache, tokens in zip(caches, (keys, values)):
    cache.append(tokens)
scores = np.einsum("bhqd,bhtd->bhqt", query, keys.repeat(2, 1)) / 8
weights = np.exp(scores - scores.max(-1, keepdims=True))
exact = np.einsum("bhqt,bhtd->bhqd", weights / weights.sum(-1, keepdims=True), values.repeat(2, 1))
error = np.linalg.norm(kvq.attention(query, *caches) - exact) / np.linalg.norm(exact)
assert error < 0.02, error  # of codes of 8 bits

module = Module()
f = module.function("append", {"tokens": tensor((1, 2, 1, 64), "f32"), "cache": caches[0].type, "lengths": "tensor<1xi64>"})
f.returns(f.op("kvq.append", **f.arguments, results=[f["cache"]]))
module.verify()
print("used")
"""


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=ENVIRONMENT, text=True, capture_output=True, **options)


def succeed(*command: str | Path, **options: object) -> str:
    done = run(*command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def make_wheel(folder: Path, *settings: str) -> Path:
    """A wheel, made without the network."""
    options = [part for setting in settings for part in ("--config-settings", setting)]
    build = ("--config-settings", f"build-dir={folder / 'build'}")
    offline = ("--no-build-isolation", "--no-deps", "--no-index")
    succeed(sys.executable, "-m", "pip", "wheel", *offline, "-w", folder, REPO / "python", *build, *options)
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_use(wheel: Path, folder: Path) -> None:
    """Installs a wheel where no other kvq_mlir is, and uses it."""
    succeed(sys.executable, "-m", "venv", folder / "env")
    python = folder / "env" / "bin" / "python"
    succeed(python, "-m", "pip", "install", "--no-index", "--no-deps", wheel)
    # NumPy comes from where the tests have it.
    packages = succeed(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip()
    Path(packages, "tests.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    assert succeed(python, "-c", SCRIPT, cwd=folder) == "used\n"
    listed = succeed(folder / "env" / "bin" / "kvq-mlir", "formats", cwd=folder)
    assert "ggml.q8_0" in listed
    assert run(folder / "env" / "bin" / "kvq-mlir", "formatz", cwd=folder).returncode == 2


def test_a_wheel_of_a_build_is_installed_and_used(tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, f"cmake.define.KVQ_REUSE_BUILD={BUILD}")
    version = re.search(r"project\(kvq VERSION ([0-9.]+)", (REPO / "CMakeLists.txt").read_text())[1]
    assert wheel.name.startswith(f"kvq_mlir-{version}-cp{sys.version_info.major}{sys.version_info.minor}-")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(path.relative_to(REPO / "python")) for path in (REPO / "python" / "kvq_mlir").rglob("*.py")}
    others = {name for name in names - sources if ".dist-info/" not in name}
    assert sources <= names
    assert others == {f"kvq_mlir/{Path(_kvq.__file__).name}", "kvq_mlir/_op_table.py"}
    check_use(wheel, tmp_path)


@pytest.mark.skipif(not FULL, reason="compiles everything once more, with tools/check --full")
def test_a_wheel_is_compiled_installed_and_used(tmp_path: Path) -> None:
    settings = dict(re.findall(r"(?m)^(\w+):\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text()))
    names = ("CMAKE_C_COMPILER", "CMAKE_CXX_COMPILER", "CMAKE_SHARED_LINKER_FLAGS", "CMAKE_MODULE_LINKER_FLAGS")
    wheel = make_wheel(tmp_path, *(f"cmake.define.{name}={settings[name]}" for name in names))
    check_use(wheel, tmp_path)


def test_a_build_that_is_none_is_an_error(tmp_path: Path) -> None:
    done = run("cmake", "-S", REPO, "-B", tmp_path / "build", f"-DKVQ_REUSE_BUILD={tmp_path}")
    assert done.returncode != 0
    message = f"expected a build with Python, found no _kvq.*.so and _op_table.py in {tmp_path}"
    assert message in " ".join(done.stderr.split())
