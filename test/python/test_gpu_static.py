"""What cubins say: made here by ptxas, and read back."""

import importlib.util
import json
import re
import subprocess
from pathlib import Path

import pytest

import kvq_mlir as kvq
from kvq_mlir import _kvq, bench_gpu_static
from kvq_mlir.__main__ import main
from kvq_mlir.gpu_static import flow, sass
from kvq_mlir.gpu_static.chips import CHIPS
from kvq_mlir.gpu_static.cubin import Kernel, read_cubin
from kvq_mlir.gpu_static.measure import Work, assemble, find_kernel, measure, spills
from kvq_mlir.gpu_static.model import bytes_in_flight, occupancy

TARGETS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")

try:
    _kvq.find_cuda_tool("ptxas")
    HAS_PTXAS = True
except kvq.Error:
    HAS_PTXAS = False
needs_ptxas = pytest.mark.skipif(not HAS_PTXAS, reason="no ptxas of the CUDA toolkit")

# A loop that copies in groups, waits for all but one, and multiplies; a block in it is rare.
LOOP = """.version 8.7
.target {target}
.address_size 64
.extern .shared .align 128 .b8 ring[];
.visible .entry step(.param .u64 x, .param .u32 n) .maxntid 128, 1, 1 {{
  .shared .align 16 .b8 scratch[256];
  .reg .pred %p<4>; .reg .b32 %r<16>; .reg .f32 %f<16>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [x]; ld.param.u32 %r0, [n]; mov.u32 %r1, ring; mov.u32 %r2, scratch;
  mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
$again:
  cp.async.cg.shared.global [%r1], [%d0], 16; cp.async.cg.shared.global [%r1+512], [%d0+512], 16;
  cp.async.commit_group; cp.async.wait_group 1;
  ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r1+1024]; ld.shared.v2.b32 {{%r8, %r9}}, [%r2];
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f0,%f1,%f2,%f3}}, {{%r4,%r5,%r6,%r7}}, {{%r8,%r9}}, {{%f0,%f1,%f2,%f3}};
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f0,%f1,%f2,%f3}}, {{%r5,%r4,%r6,%r7}}, {{%r8,%r9}}, {{%f0,%f1,%f2,%f3}};
  setp.lt.f32 %p1, %f0, 0f41000000; @%p1 bra $skip;
  ex2.approx.f32 %f4, %f0; ex2.approx.f32 %f5, %f1; st.shared.f32 [%r2], %f4; st.shared.f32 [%r2+4], %f5;
  st.shared.f32 [%r2+8], %f4; st.shared.f32 [%r2+12], %f5; bar.warp.sync -1; bar.sync 0;
$skip:
  add.s64 %d0, %d0, 1024; sub.s32 %r0, %r0, 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra $again;
  st.global.v4.f32 [%d0], {{%f0,%f1,%f2,%f3}}; ret;
}}
"""


@pytest.mark.parametrize("target", TARGETS)
@needs_ptxas
def test_a_loop_of_copies_and_products(target):
    cubin, spilled = assemble(LOOP.format(target=target), target)
    (kernel,) = read_cubin(cubin)
    sm = int(re.sub(r"\D", "", target))
    assert (kernel.name, kernel.sm, kernel.max_threads, kernel.frame_bytes) == ("step", sm, 128, 0)
    assert 16 <= kernel.registers <= 64 and kernel.shared_bytes == 256
    assert spilled == {"step": 0}
    loop = flow.main_loop(sass.decode(kernel.code, kernel.sm))
    assert [loop.count(name) for name in ("HMMA", "LDGSTS", "LDGDEPBAR", "BAR", "STS")] == [2, 2, 1, 1, 1]
    # Four stores side by side have become one.
    assert [i.width for i in loop.whole if i.name in ("LDGSTS", "STS")] == [16, 16, 16]
    assert max(i.pending for i in loop.whole if i.pending is not None) == 1
    assert bytes_in_flight(loop, 0) == 2 * 16 * 32 * 2  # two copies a group, two groups
    # The rare block is not hot: its store and its barrier.
    assert not any(i.name in ("STS", "BAR") for i in loop.hot) and sum(i.name == "HMMA" for i in loop.hot) == 2


@pytest.mark.parametrize("target", TARGETS)
@needs_ptxas
def test_instructions_are_those_of_the_disassembler(target, tmp_path):
    if importlib.util.find_spec("nvidia") is None:
        pytest.skip("PyPI's nvidia-cuda-nvdisasm is not installed")
    import nvidia

    tools = [tool for folder in nvidia.__path__ for tool in Path(folder).rglob("bin/nvdisasm")]
    if not tools:
        pytest.skip("PyPI's nvidia-cuda-nvdisasm is not installed")
    cubin, _ = assemble(LOOP.format(target=target), target)
    path = tmp_path / "step.cubin"
    path.write_bytes(cubin)
    text = subprocess.run([tools[0], path], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^\s+/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)", text[text.index(".text.step:") :], re.M)
    (kernel,) = read_cubin(cubin)
    assert [i.name for i in sass.decode(kernel.code, kernel.sm)] == names


def test_occupancy():
    def blocks(registers, shared, threads=128):
        place = occupancy(CHIPS[0], Kernel("k", 80, b"", registers, 0, 0, threads), threads, shared)
        return place.blocks, place.limit

    assert blocks(168, 0) == (3, "registers")
    assert blocks(128, 0) == (4, "registers")
    assert blocks(32, 0, 1024) == (2, "threads")
    assert blocks(32, 54 * 1024) == (2, "shared memory")
    assert blocks(32, 164 * 1024) == (0, "shared memory")  # more than a block may have
    assert blocks(16, 0, 32) == (32, "blocks")


@needs_ptxas
def test_what_limits_a_loop():
    cubin, _ = assemble(LOOP.format(target="sm_80"), "sm_80")
    work = Work(16, 16, 8, 8)  # two products for 16 tokens, of 512 bytes
    found = measure(CHIPS[0], find_kernel(cubin, "step"), work, None, 54 * 1024)
    assert (found.tokens, found.blocks_per_sm, found.threads) == (16, 2, 128)
    assert found.hot_per_32_bytes == found.hot_instructions / 16
    # Of 16 queries one iteration is for half of them.
    of_half = measure(CHIPS[0], find_kernel(cubin, "step"), Work(16, 16, 8, 8, 16), None, 54 * 1024)
    assert of_half.tokens == 8 and of_half.hot_per_32_bytes == 2 * found.hot_per_32_bytes
    assert found.bytes_in_flight == 2048 * 4 * 2
    assert found.bandwidths["in flight"] == pytest.approx(108 * found.bytes_in_flight / 700e-9)
    assert found.bandwidths[found.limit] == min(found.bandwidths.values())


def test_spills_by_kernel():
    said = """ptxas info    : Function properties for one
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Function properties for two
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"""
    assert spills(said) == {"one": 16, "two": 0}


@needs_ptxas
def test_command(capsys, tmp_path):
    arguments = ["bench", "gpu-static", "--gpus", "A100", "--formats", "i8, per token"]
    assert main([*arguments, "--json"]) == 0
    (step,) = json.loads(capsys.readouterr().out)
    (measured,) = step["attention"]
    assert step["launches"] >= 3 and measured["gpu"] == "A100" and measured["mix"]["HMMA"] and measured["limit"]
    assert main(arguments) == 0
    assert "i8, per token: " in capsys.readouterr().out

    path = tmp_path / "step.cubin"
    path.write_bytes(assemble(LOOP.format(target="sm_80"), "sm_80")[0])
    one = ["bench", "gpu-static", "--cubin", str(path), "--head-dim", "16"]
    assert main(one) == 0
    assert "HMMA:2" in capsys.readouterr().out
    assert main([*one, "--kernel", "other"]) != 0
    assert "expected a kernel 'other', found step" in capsys.readouterr().err
    assert main([*one, "--gpus", "H200"]) != 0
    assert "its code is of sm_80, and no GPU of --gpus runs it" in capsys.readouterr().err


def test_errors(capsys, tmp_path):
    with pytest.raises(kvq.Error, match="expected a cubin, an ELF file for CUDA"):
        read_cubin(b"not an ELF file")
    path = tmp_path / "text"
    path.write_text("x" * 99)
    for arguments, message in (
        (["--cubin", str(path)], "expected a cubin"),
        (["--cubin", str(tmp_path / "none")], "No such file"),
        (["--gpus", "A99"], "expected some of A100, H100, H200, B200, RTX 4090, found 'A99'"),
        (["--head-dim", "1,2,3", "--cubin", str(path)], "expected"),
    ):
        assert main(["bench", "gpu-static", *arguments]) != 0
        assert message in capsys.readouterr().err


# Warp instructions for 32 bytes of codes, in the loop's hot blocks and in all of it, pages included, and registers.
ZEROS = "group = [1, 32], scale = f16, zero = min f16"
BIASED_GROUPS = "codes = i8, group = [1, 32], scale = f16, layout = #kvq.layout<bias>"
LIMITS = {
    "f16": (0.8, 1.0, 168),
    "i8, per token, bias": (1.2, 1.5, 168),
    "i8, per token": (1.4, 1.72, 168),
    "f8E4M3FN, per token": (1.25, 1.6, 168),
    "i4, per token": (2.4, 3.05, 168),
    "i2, per token": (4.6, 5.9, 168),
    "i8, per token, bias / i8, per token, bias, fragments": (1.2, 1.5, 168),
    "i8, per token / i8, per token, fragments": (1.4, 1.72, 168),
    "i4, per token / i4, per token, fragments": (2.4, 3.05, 168),
    "i2, per token / i2, per token, fragments": (4.6, 5.9, 168),
    "ui4, per channel of 64 tokens / i4, per token": (2.7, 3.4, 168),
    "ui4, per channel of 32 tokens / i4, per token": (2.93, 3.65, 168),
    "ui4, per channel of 32 tokens / i4": (3.18, 4.05, 168),
    "i4": (2.93, 3.75, 168),
    "codes = i8, group = [1, 32], scale = f16": (1.7, 2.05, 168),
    BIASED_GROUPS: (1.43, 1.8, 168),
    "codes = ui8, group = [64, 1], scale = f16, zero = min f16 / i8, per token, bias": (1.3, 1.65, 168),
    "codes = ui8, group = [32, 1], scale = f16, zero = min f16 / i8, per token": (1.6, 1.95, 168),
    "codes = ui8, group = [32, 1], scale = f16, zero = min f16 / i8, per token, bias": (1.43, 1.8, 168),
    f"codes = ui8, group = [32, 1], scale = f16, zero = min f16 / {BIASED_GROUPS}": (1.56, 1.95, 168),
    "codes = ui2, group = [64, 1], scale = f16, zero = min f16 / i2, per token": (5.2, 6.6, 168),
    "codes = ui2, group = [32, 1], scale = f16, zero = min f16 / i2, per token": (5.75, 7.2, 168),
    "codes = ui2, group = [32, 1], scale = f16, zero = min f16 / i2": (6.25, 7.8, 168),
    "i2": (5.75, 7.4, 168),
    "codes = f8E4M3FN, group = [32, 1], scale = f16 / f8E4M3FN, per token": (1.43, 1.8, 168),
    "codes = f8E4M3FN, group = [1, 32], scale = f16": (1.4375, 1.75, 168),
    f"codes = ui4, {ZEROS}": (3.18, 3.9, 168),
    f"codes = ui2, {ZEROS}": (6.15, 7.6, 176),
    f"codes = ui8, {ZEROS}": (1.72, 2.35, 176),
    f"ui4, per channel of 64 tokens / codes = ui4, {ZEROS}": (2.94, 3.65, 168),
    "codes = i8, group = [*, 1], scale = f32, range = static": (1.35, 1.6, 168),
    "codes = f4E2M1FN, group = [1, *], scale = f16": (5.25, 6.2, 144),
}
# Formats of many instructions for a code.
LONG_LOOPS = {
    "codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32": (8.2, 9.4, 168),
    "codes = f4E2M1FN, group = [1, 32], scale = f8E8M0FNU": (7.4, 8.5, 168),
    "codes = #kvq.codebook<nf4>, group = [1, *], scale = f16": (7.9, 8.9, 168),
}
LIMITS |= LONG_LOOPS
# Where an A100 takes others: it converts no floats of 8 bits.
LIMITS_OF_A100 = {
    "f8E4M3FN, per token": (3.1, 3.6, 144),
    "codes = f8E4M3FN, group = [1, 32], scale = f16": (3.4, 3.9, 144),
    # Codes that it moves are multiplied by a query times scales as f32.
    "codes = f8E4M3FN, group = [32, 1], scale = f16 / f8E4M3FN, per token": None,
}
BULK_LIMITS = {
    "f16": (0.8, 1.0),
    "i8, per token, bias": (1.35, 1.7),
    "i8, per token": (1.6, 1.95),
    "f8E4M3FN, per token": (1.35, 1.7),
    "i4, per token": (2.8, 3.5),
}


@needs_ptxas
@pytest.mark.parametrize("name", LIMITS)
def test_decoding_on_tensor_cores_keeps_within_its_instructions(name, capsys):
    assert main(["bench", "gpu-static", "--gpus", "A100,H200", "--formats", name, "--json"]) == 0
    (step,) = json.loads(capsys.readouterr().out)
    for kernel in step["attention"]:
        others = LIMITS_OF_A100 if kernel["gpu"] == "A100" else {}
        limits = others.get(name, LIMITS[name])
        if limits is None:
            continue
        hot, whole, registers = limits
        assert kernel["hot_per_32_bytes"] <= hot and kernel["whole_per_32_bytes"] <= whole, kernel
        assert kernel["spill_bytes"] == kernel["local_accesses"] == kernel["barriers"] == 0, kernel
        assert kernel["registers"] <= registers, kernel
        assert kernel["loop_bytes"] <= (20 if name in LONG_LOOPS else 16) * 1024, kernel
        assert kernel["bytes_in_flight"] >= (64 if kernel["gpu"] == "H200" else 24) * 1024, kernel
        # The pages of keys and of values, and the scales of four tokens that follow each other, which are 8 bytes.
        assert kernel["narrow_loads"] <= 4, kernel


@needs_ptxas
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", ["i8, per token", "i4"])
def test_page_numbers_are_loaded_a_step_before_their_copies(name, target):
    """A step's copies begin with numbers that the step before has loaded."""
    sides = bench_gpu_static.Sides((bench_gpu_static._named(name),) * 2, (128, 128), 8, None)
    ptx, _ = _kvq.gpu_code(sides.attention(), chip=target, options="")
    kernel = max(read_cubin(assemble(ptx, target)[0]), key=lambda kernel: len(kernel.code))
    loop = flow.main_loop(sass.decode(kernel.code, kernel.sm)).whole
    copies = [at for at, i in enumerate(loop) if i.name == "LDGSTS"]
    numbers = [at for at, i in enumerate(loop) if i.name == "LDG" and i.width == 4]
    assert len(numbers) == 2 and copies[0] < numbers[0], (copies, numbers)


@needs_ptxas
@pytest.mark.parametrize("name", BULK_LIMITS)
def test_bulk_copies_keep_within_their_instructions(name, capsys):
    """More than copies by lanes, but for f16: sixteen of a step, each with addresses of its own."""
    measured = {}
    for copies in ("async", "bulk"):
        arguments = ["bench", "gpu-static", "--gpus", "H200", "--copies", copies, "--formats", name, "--json"]
        assert main(arguments) == 0
        ((measured[copies],),) = [step["attention"] for step in json.loads(capsys.readouterr().out)]
    kernel, other = measured["bulk"], measured["async"]
    hot, whole = BULK_LIMITS[name]
    assert kernel["hot_per_32_bytes"] <= hot and kernel["whole_per_32_bytes"] <= whole, kernel
    assert kernel["spill_bytes"] == kernel["local_accesses"] == kernel["barriers"] == 0, kernel
    assert kernel["loop_bytes"] <= 16 * 1024 and kernel["bytes_in_flight"] >= 64 * 1024, kernel
    assert kernel["mix"]["UBLKCP"] == 16 and "LDGSTS" not in kernel["mix"] and "UBLKCP" not in other["mix"]
    assert kernel["bytes_in_flight"] == other["bytes_in_flight"] and kernel["tokens"] == other["tokens"], measured


@needs_ptxas
@pytest.mark.parametrize(("name", "dim", "queries", "hot"), [("i8, per token", 128, 16, 2.1), ("i4, per token", 64, 24, 6.5)])
def test_query_rows_share_the_codes_that_a_warp_has_unpacked(name, dim, queries, hot, capsys):
    sizes = ["--head-dim", str(dim), "--queries", str(queries)]
    assert main(["bench", "gpu-static", "--gpus", "A100,H200", "--formats", name, *sizes, "--json"]) == 0
    (step,) = json.loads(capsys.readouterr().out)
    for kernel in step["attention"]:
        assert kernel["hot_per_32_bytes"] <= hot, kernel  # of 8 queries alone, 1.5 and 4
        assert kernel["spill_bytes"] == kernel["local_accesses"] == kernel["barriers"] == 0, kernel
