"""`gpu-check build`: compiles the kernels of plans, with kvq."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import InputError
from .formats import FORMATS
from .plan import Kernel, Plan

REPO = Path(__file__).resolve().parents[3]
BUILD = REPO / "build"
MANIFEST = "gpu-check.json"


def import_kvq() -> Any:
    """The package; `InputError` where it is not built, or for another Python."""
    if str(BUILD / "python") not in sys.path:
        sys.path.insert(0, str(BUILD / "python"))
    try:
        import kvq_mlir
    except ImportError as error:
        python = REPO / ".venv/bin/python"
        if python.exists() and Path(sys.prefix) != python.parents[1] and "GPU_CHECK_PYTHON" not in os.environ:
            os.environ["GPU_CHECK_PYTHON"] = sys.executable
            os.execv(python, [str(python), *sys.argv])
        raise InputError(f"kvq is not built in {BUILD}: tools/quickstart builds it ({error})") from error
    return kvq_mlir


def source(kernel: Kernel, plan: Plan) -> str:
    """The module of a kernel."""
    kvq = import_kvq()
    from kvq_mlir.cache_types import cache_type
    from kvq_mlir.ir.append import append
    from kvq_mlir.ir.attention import Variant, attention
    from kvq_mlir.ir.rebuild import Rows, rebuild

    fmt = kvq.Format(FORMATS[kernel.format].text)
    batch, heads, dim = kernel.batch, plan.kv_heads, plan.head_dim
    cache = cache_type(batch, heads, "?", dim, fmt)
    if kernel.kind == "append":
        return append((batch, heads, dim), "f16", cache, window=False)
    if kernel.kind == "rebuild":
        rows, metadata = Rows("f16", dim, 0, False), fmt.row_types(fmt.rows_type(heads, dim))
        return rebuild((batch, heads, dim, "f16"), cache, (fmt.core, 0), 1, metadata, (False, False), 0, False, None, rows)
    variant, none = Variant(scale=plan.scale, causal=True), (False, False)
    return attention((batch, heads * kernel.group, dim), "f16", dim, cache, cache, none, variant, none)


def has_ptxas() -> bool:
    """Whether kvq-compile finds the assembler of the CUDA toolkit."""
    home = os.environ.get("CUDA_HOME")
    folders = [*([f"{home}/bin"] if home else []), os.environ.get("PATH", ""), "/usr/local/cuda/bin"]
    return shutil.which("ptxas", path=os.pathsep.join(folders)) is not None


def _compile(path: Path, chip: str, emit: str, splits: int, copies: str) -> bytes:
    command = [BUILD / "bin/kvq-compile", path, f"--emit={emit}", f"--chip={chip}", f"--copies={copies}"]
    done = subprocess.run([*command, f"--splits={splits}"] if splits else command, capture_output=True)
    if done.returncode:
        raise InputError(f"{path.name}: {done.stderr.decode().strip()}")
    return done.stdout


def build(
    folder: Path, plans: list[Plan], chips: list[str], ptx: bool = False, copies: str = "async", say: Any = print
) -> None:
    """Writes sources, images of the chips, and the manifest. ptx: that, rather than cubins, as without ptxas. copies: of
    codes, "async" or "bulk"."""
    emit = "ptx" if ptx or not has_ptxas() else "cubin"
    if not (BUILD / "bin/kvq-compile").exists():
        raise InputError(f"kvq is not built in {BUILD}: tools/quickstart builds it")
    folder.mkdir(parents=True, exist_ok=True)

    def compile_(plan: Plan, kernel: Kernel) -> dict[str, Any]:
        path = folder / f"{plan.name}-{kernel.name}.mlir"
        path.write_text(sources[plan.name, kernel.name])
        built = {}
        for chip in chips if plan.tokens else ():
            image = f"{path.stem}.{chip}.{emit}"
            (folder / image).write_bytes(_compile(path, chip, emit, kernel.splits, copies))
            call = json.loads(_compile(path, chip, "manifest", kernel.splits, copies))[chip][kernel.kind]
            built[chip] = {"image": image, "call": call}
        options = f"splits={kernel.splits} copies={copies}" if kernel.splits else f"copies={copies}"
        return {"source": path.name, "function": kernel.kind, "options": options, "built": built}

    sources = {(plan.name, kernel.name): source(kernel, plan) for plan in plans for kernel in plan.kernels()}
    described = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for plan in plans:
            kernels = list(plan.kernels())
            jobs = [pool.submit(compile_, plan, kernel) for kernel in kernels]
            try:
                found = {kernel.name: job.result() for kernel, job in zip(kernels, jobs, strict=True)}
            except InputError:
                pool.shutdown(cancel_futures=True)
                raise
            described[plan.name] = {"chips": chips if plan.tokens else [], "kernels": found}
    (folder / MANIFEST).write_text(json.dumps(described))
    kernels = [kernel for plan in described.values() for kernel in plan["kernels"].values()]
    images = [built["image"] for kernel in kernels for built in kernel["built"].values()]
    if images:
        size = sum((folder / image).stat().st_size for image in images) / 2**20
        kinds = "cubins" if emit == "cubin" else "PTX, which the driver assembles in minutes when it first runs"
        say(f"{folder}: {len(images)} kernels for {', '.join(chips)}, {size:.1f} MiB, {kinds}")


def load_manifest(folder: Path) -> dict[str, Any]:
    try:
        return json.loads((folder / MANIFEST).read_text())
    except FileNotFoundError:
        raise InputError(f"{folder} has no {MANIFEST}: tools/gpu-check build {folder} makes one") from None
