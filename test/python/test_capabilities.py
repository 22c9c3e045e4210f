"""The table of what chips can do (include/kvq/Conversion/Capabilities.h), held against LLVM and ptxas.

LLVM ends the process where a chip or a PTX version lacks an instruction, and ptxas refuses it: what the table allows has
to be taken by both, and what it forbids by one of them not.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from kvq_mlir import Error, _kvq, run_pipeline

KVQ_OPT = Path(_kvq.__file__).parents[2] / "bin/kvq-opt"
FOLDERS = [f"{os.environ.get('CUDA_HOME', '')}/bin", os.environ["PATH"], "/usr/local/cuda/bin"]
PTXAS = shutil.which("ptxas", path=os.pathsep.join(FOLDERS))

CHIPS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
VERSIONS = (70, 78, 80, 81, 84, 86, 87, 90)

# One instruction of each feature, by what errors call it.
FEATURES = {
    "asynchronous copies": "nvvm.cp.async.shared.global %shared, %global, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>",
    "transposes of matrices": """%0 = llvm.inline_asm "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r" %i : (i32) -> i32
    llvm.store volatile %0, %global : i32, !llvm.ptr<1>""",
    "bulk copies": """llvm.inline_asm has_side_effects "mbarrier.arrive.expect_tx.shared.b64 _, [$0], 64;", "r" %shared : (!llvm.ptr<3>) -> ()
    llvm.inline_asm has_side_effects "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], 64, [$2];", "r,l,r" %shared, %global, %shared : (!llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<3>) -> ()""",
    "fp8 conversions": """%0 = nvvm.convert.f8x2.to.f16x2 %bytes : vector<2xi8> (f8E4M3FN) -> vector<2xf16>
    llvm.store volatile %0, %global : vector<2xf16>, !llvm.ptr<1>""",
    "fp4 conversions": """%0 = nvvm.convert.f4x2.to.f16x2 %byte : i8 (f4E2M1FN) -> vector<2xf16>
    %1 = nvvm.convert.f8x2.to.bf16x2 %bytes : vector<2xi8> (f8E8M0FNU) -> vector<2xbf16>
    llvm.store volatile %0, %global : vector<2xf16>, !llvm.ptr<1>
    llvm.store volatile %1, %global : vector<2xbf16>, !llvm.ptr<1>""",
    "bf16 matrix products": """%0 = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"(%i, %i, %i, %i, %i, %i, %f, %f, %f, %f) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %1 = llvm.extractvalue %0[0] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.store volatile %1, %global : f32, !llvm.ptr<1>""",
    "fp8 matrix products": """%0 = llvm.call_intrinsic "llvm.nvvm.mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"(%i, %i, %i, %i, %i, %i, %f, %f, %f, %f) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %1 = llvm.extractvalue %0[0] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.store volatile %1, %global : f32, !llvm.ptr<1>""",
    "block-scaled matrix products": """%0 = llvm.call_intrinsic "llvm.nvvm.mma.block.scale.m16n8k32.row.col.mxf8f6f4.scale.1x.f32.e4m3.e4m3.f32.ue8m0"(%i, %i, %i, %i, %i, %i, %f, %f, %f, %f, %i, %h, %h, %i, %h, %h) : (i32, i32, i32, i32, i32, i32, f32, f32, f32, f32, i32, i16, i16, i32, i16, i16) -> !llvm.struct<(f32, f32, f32, f32)>
    %1 = llvm.extractvalue %0[0] : !llvm.struct<(f32, f32, f32, f32)>
    llvm.store volatile %1, %global : f32, !llvm.ptr<1>""",
    "warpgroup matrix products": "nvvm.wgmma.fence.aligned",
    "tensor memory": "nvvm.tcgen05.wait <load>",
}


def kernels(chip, version, features):
    """A module with a kernel for each feature."""
    functions = "".join(
        f"""
  llvm.func @f{index}(%shared: !llvm.ptr<3>, %global: !llvm.ptr<1>, %i: i32, %f: f32, %h: i16, %byte: i8, %bytes: vector<2xi8>)
      attributes {{gpu.kernel, nvvm.kernel}} {{
    {FEATURES[name]}
    llvm.return
  }}"""
        for index, name in enumerate(features)
    )
    return f'gpu.module @m [#nvvm.target<chip = "{chip}", features = "+ptx{version}">] {{{functions}\n}}\n'


def is_allowed(chip, version, feature):
    """What the table says; of what it forbids, the error names the feature or the op that upstream forbids."""
    try:
        run_pipeline(kernels(chip, version, [feature]), "builtin.module(kvq-check-capabilities)")
    except Error as error:
        upstream = "is not supported on" in str(error)
        assert upstream or re.search(rf"expected (a chip with|PTX .* or later for) {feature}", str(error)), error
        return False
    return True


def assemble(text, chip, folder):
    """The reason why LLVM or ptxas does not take a module; None if both do."""
    source, ptx = folder / "m.mlir", folder / "m.ptx"
    source.write_text(text)
    command = [KVQ_OPT, source, "--gpu-module-to-binary=format=isa", "--mlir-disable-threading"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        return done.stderr
    if PTXAS is None:
        return None
    found = re.search(r'assembly = "(.*)"', done.stdout)[1]
    ptx.write_bytes(re.sub(rb"\\([0-9A-F]{2})", lambda code: bytes([int(code[1], 16)]), found.encode()).rstrip(b"\0"))
    done = subprocess.run([PTXAS, f"-arch={chip}", ptx, "-o", folder / "m.cubin"], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else None


@pytest.mark.parametrize("chip", CHIPS)
def test_what_the_table_allows_is_taken(chip, tmp_path):
    newest = [name for name in FEATURES if is_allowed(chip, VERSIONS[-1], name)]
    assert len(newest) >= 3, f"{chip}: {newest}"
    before = None
    for version in VERSIONS:
        try:
            allowed = [name for name in FEATURES if is_allowed(chip, version, name)]
        except AssertionError as error:  # the version does not have the chip
            assert "expected a PTX version that LLVM writes, from" in str(error)
            continue
        if allowed != before:
            reason = assemble(kernels(chip, version, allowed), chip, tmp_path)
            assert reason is None, f"{chip}, PTX {version}, {allowed}:\n{reason}"
        before = allowed
    assert before == newest


@pytest.mark.skipif(PTXAS is None, reason="needs ptxas, which is what refuses inline assembly")
@pytest.mark.parametrize("chip", CHIPS)
def test_what_the_table_forbids_is_not(chip, tmp_path):
    for name in FEATURES:
        if not is_allowed(chip, VERSIONS[-1], name):
            assert assemble(kernels(chip, VERSIONS[-1], [name]), chip, tmp_path) is not None, f"{name} on {chip}"
