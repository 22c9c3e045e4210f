"""No option is accepted and ignored (vllm#14221, InfiniLM#552): every option of a pass and a pipeline changes what comes
out, or is rejected.

What there is to be set is read from `kvq-opt --help`, so that something new fails here until it has a line in its table. A
line is what is changed, from and to; everything else of it stays.
"""

import re
import subprocess

import kvq_mlir as kvq
import pytest
from kvq_mlir.ir.decode_step import attend
from lowerings import BUFFERS, I4, KVQ_OPT, TILED, check, named, outcome

STEP = attend((2, 2, 64), 8, "f16", [f"<format = {named(I4)}, recent = 40>"])
PER_TOKEN = "#kvq.format<codes = i4, group = [1, *], scale = f16>"
GPU_STEP = attend((2, 2, 64), 8, "f16", [f"<format = {PER_TOKEN}>"])  # workgroup memory is small
PROMPT = attend((2, 2, 64), 8, "f16", [f"<format = {named(I4)}>"], queries=4)
REGION_PASSES = "kvq-apply-policy,func.func(kvq-split-tokens,kvq-split-regions"
KERNELS = f"{BUFFERS},func.func(convert-kvq-to-gpu)"
# As the pipelines, without schedules, which go before options.
BY_HAND = (
    "kvq-apply-policy,func.func(kvq-split-tokens,kvq-split-regions,kvq-tile-attention,kvq-decompose-attention,kvq-fold-scales),"
    "kvq-expand-caches,func.func(kvq-decompose-values),canonicalize,kvq-bufferize-pipeline"
)
# What the cost model chooses for a tile that takes little time.
FAST = "vector-width=1024"
SCHEDULE_OPTIONS = {
    "splits": ("1", "2"),
    "tile-tokens": ("64", "32"),
    "prefetch": ("0", "2"),
    "heads-inside": ("0", "128"),
    "threads": ("1", "64"),
    "vector-width": ("8", "1024"),
    "l1-bytes": ("32768", "4096"),
    "l2-bytes": (f"32768 {FAST}", f"1048576 {FAST}"),
}
# Products of bytes are of a query in i8 with keys in tiles.
BYTES_STEP = f"""!c = {TILED}
func.func @f(%q: tensor<1x2x1x64xf32>, %c: !c, %n: tensor<1xi64>) -> tensor<1x2x1x64xf32> {{
  %0 = kvq.attention ins(%q, %c, %c : tensor<1x2x1x64xf32>, !c, !c) lengths(%n : tensor<1xi64>)
      outs(%q : tensor<1x2x1x64xf32>) {{scale = 1.0 : f32, query_codes = i8}} -> tensor<1x2x1x64xf32>
  return %0 : tensor<1x2x1x64xf32>
}}"""
# Codes are rounded.
APPEND_STEP = """!c = !kvq.cache<1x2x?x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16>>
func.func @f(%x: tensor<1x2x?x64xf16>, %c: !c, %n: tensor<1xi64>) -> !c {
  %0 = kvq.append ins(%x : tensor<1x2x?x64xf16>) lengths(%n : tensor<1xi64>) into(%c : !c) -> !c
  return %0 : !c
}"""
BYTES = "kvq-tile-pipeline{tile-tokens=16},kvq-bufferize-pipeline"
VECTORS = f"{BUFFERS},func.func(convert-kvq-to-vector)"
# Of each option: the passes with "{}" for the options of the one in question, and two settings.
OPTIONS = {
    "convert-kvq-to-gpu.block-size": (f"{BUFFERS},func.func(convert-kvq-to-gpu{{}})", "64", "128"),
    "convert-kvq-to-vector.byte-products": (f"{BYTES},func.func(convert-kvq-to-vector{{}})", "none", "avxvnni"),
    "convert-kvq-to-vector.vector-width": (f"{BUFFERS},func.func(convert-kvq-to-vector{{}})", "8", "16"),
    "kvq-attach-nvvm-target.chip": (f"{KERNELS},gpu-kernel-outlining,kvq-attach-nvvm-target{{}}", "sm_80", "sm_90a"),
    "kvq-attach-nvvm-target.ptx": (f"{KERNELS},gpu-kernel-outlining,kvq-attach-nvvm-target{{}}", "80", "84"),
    "kvq-decompose-attention.dequantize-rows": (
        "kvq-apply-policy,func.func(kvq-split-tokens{query-tile=4},kvq-split-regions,kvq-tile-attention,kvq-decompose-attention{})",
        *("0", "16"),
    ),
    "kvq-split-tokens.query-tile": ("kvq-apply-policy,func.func(kvq-split-tokens{})", "1", "0"),
    "kvq-split-tokens.row-channels": ("kvq-apply-policy,func.func(kvq-split-tokens{query-tile=0 {}})", "64", "8192"),
    "kvq-split-tokens.splits": ("kvq-apply-policy,func.func(kvq-split-tokens{})", "1", "2"),
    "kvq-tile-attention.tile-tokens": (
        *("kvq-apply-policy,func.func(kvq-split-tokens,kvq-split-regions,kvq-tile-attention{})", "64", "32"),
    ),
    "kvq-tile-pipeline.dequantize-rows": ("kvq-tile-pipeline{query-tile=4 {}}", "0", "16"),
    "kvq-tile-pipeline.query-tile": ("kvq-tile-pipeline{}", "2", "4"),
    "kvq-expand-floats.fma": (f"{VECTORS},func.func(kvq-expand-floats{{}})", "0", "1"),
    "kvq-expand-floats.half": (f"{VECTORS},func.func(kvq-expand-floats{{}})", "0", "1"),
    "kvq-expand-floats.rounding": (f"{VECTORS},func.func(kvq-expand-floats{{}})", "0", "1"),
    "kvq-cpu-pipeline.expand-fma": ("kvq-cpu-pipeline{}", "0", "1"),
    "kvq-cpu-pipeline.expand-half": ("kvq-cpu-pipeline{}", "0", "1"),
    "kvq-cpu-pipeline.expand-rounding": ("kvq-cpu-pipeline{}", "0", "1"),
    **{
        f"{name}.{option}": (passes, *settings)
        for name, passes in {
            "kvq-assign-schedule": "kvq-apply-policy,kvq-assign-schedule{}",
            "kvq-tile-pipeline": "kvq-tile-pipeline{}",
            "kvq-cpu-pipeline": "kvq-cpu-pipeline{}",
        }.items()
        for option, settings in SCHEDULE_OPTIONS.items()
    },
    "kvq-assign-schedule.query-tile": ("kvq-apply-policy,kvq-assign-schedule{}", "1", "64"),
    "kvq-assign-layout.spell-out": ("kvq-apply-policy,kvq-assign-layout{}", "false", "true"),
    "kvq-prefetch-tiles.distance": (
        *(f"{BY_HAND},func.func(convert-kvq-to-vector,kvq-prefetch-tiles{{}})", "1", "2"),
    ),
    "kvq-cpu-pipeline.byte-products": ("kvq-cpu-pipeline{tile-tokens=16 {}}", "none", "avxvnni"),
    "kvq-cpu-pipeline.dequantize-rows": ("kvq-cpu-pipeline{}", "16", "17"),
    "kvq-cpu-pipeline.query-tile": ("kvq-cpu-pipeline{}", "0", "2"),
    "kvq-cpu-pipeline.openmp": ("kvq-cpu-pipeline{}", "0", "1"),
    "kvq-nvvm-pipeline.block-size": ("kvq-nvvm-pipeline{tensor-cores=false {}}", "64", "128"),
    "kvq-nvvm-pipeline.copies": ("kvq-nvvm-pipeline{chip=sm_90a {}}", "async", "bulk"),
    "kvq-nvvm-pipeline.chip": ("kvq-nvvm-pipeline{}", "sm_80", "sm_90a"),
    "kvq-nvvm-pipeline.format": ("kvq-nvvm-pipeline{}", "isa", "''"),
    "kvq-nvvm-pipeline.ptx": ("kvq-nvvm-pipeline{}", "80", "84"),
    "kvq-nvvm-pipeline.query-tile": ("kvq-nvvm-pipeline{}", "1", "0"),
    "kvq-nvvm-pipeline.splits": ("kvq-nvvm-pipeline{}", "1", "2"),
    "kvq-nvvm-pipeline.tensor-cores": ("kvq-nvvm-pipeline{}", "true", "false"),
    "kvq-nvvm-pipeline.tile-tokens": ("kvq-nvvm-pipeline{tensor-cores=false {}}", "64", "32"),
    "kvq-map-to-tensor-cores.chip": (f"{REGION_PASSES},kvq-map-to-tensor-cores{{}})", "sm_80", "sm_89"),
    "kvq-map-to-tensor-cores.ptx": (f"{REGION_PASSES},kvq-map-to-tensor-cores{{}})", "70", "78"),
    "kvq-kernels-to-nvvm-pipeline.chip": (f"{KERNELS},kvq-kernels-to-nvvm-pipeline{{}}", "sm_80", "sm_90a"),
    "kvq-kernels-to-nvvm-pipeline.format": (f"{KERNELS},kvq-kernels-to-nvvm-pipeline{{}}", "isa", "''"),
    "kvq-kernels-to-nvvm-pipeline.ptx": (f"{KERNELS},kvq-kernels-to-nvvm-pipeline{{}}", "80", "84"),
}
# These say something, and change no IR.
SAID = {
    "kvq-report-footprint.capacity": ("{output=table capacity=7}", "{output=table capacity=8}"),
    "kvq-report-footprint.output": ("{output=json}", "{output=table}"),
}
CHECKS = {"kvq-verify-fused.max-bytes": "100", "kvq-verify-fused.max-tokens": "4"}  # too little, which is an error
TESTED_IN_LIT = {
    "kvq-apply-policy.policy-file",  # test/Transforms/apply-policy-file.mlir
    "kvq-raise-attention.strict",  # test/Transforms/raise-attention-strict.mlir
    *("kvq-raise-cache-updates.strict", "kvq-raise.strict"),  # test/Transforms/raise-cache-updates-strict.mlir
    "kvq-assign-layout.target",  # test/Transforms/assign-layout.mlir
    *("kvq-assign-schedule.file", "kvq-assign-schedule.cpu"),  # test/Transforms/assign-schedule-file.mlir
    *("kvq-tile-pipeline.schedules", "kvq-tile-pipeline.cpu", "kvq-cpu-pipeline.schedules", "kvq-cpu-pipeline.cpu"),
    *("convert-kvq-to-gpu.chip", "convert-kvq-to-gpu.copies"),  # test/Conversion/KVQToGPU/invalid-options.mlir
    "kvq-fold-scales.lanes",  # test/Transforms/fold-scales-integers.mlir
}
REJECTED = {
    "query-tile": ("-1", "1 to 4096 query tokens"),
    "row-channels": ("0", "rows of at least 1 channel"),
    "dequantize-rows": ("-1", "at least 1 row"),
    "splits": ("-1", "got -1"),
    "tile-tokens": ("-1", "got -1"),
    "prefetch": ("17", "got 17"),
    "heads-inside": ("-2", "got -2"),
    "distance": ("-1", "got -1"),
    "threads": ("0", "got 0"),
    "l1-bytes": ("0", "got 0"),
    "l2-bytes": ("0", "got 0"),
    "vector-width": ("3", "power of two"),
    "byte-products": ("sse", "sse"),
    "block-size": ("0", "1 to 1024"),
    "chip": ("sm_1", "sm_1"),
    "copies": ("tma", "tma"),
    "capacity": ("-7", "at least 0"),
}


def options_in_help() -> set[str]:
    """ "pass.option" of each pass and pipeline of the project."""
    text = subprocess.run([KVQ_OPT, "--help"], capture_output=True, text=True, check=True).stdout
    found, owner = set(), ""
    for line in text.splitlines():
        if named := re.match(r"      --([\w-]+)", line):
            owner = named[1] if "kvq" in named[1] else ""
        elif (option := re.match(r"        --([\w-]+)", line)) and owner:
            found.add(f"{owner}.{option[1]}")
    return found


def test_every_option_is_in_a_table():
    assert options_in_help() == {*OPTIONS, *SAID, *CHECKS, *TESTED_IN_LIT}


def with_option(passes: str, option: str, value: str) -> str:
    """`passes` with the option in place of "{}", also among others."""
    text = f"{option}={value}"
    return passes.replace(" {}", f" {text}").replace("{}", f"{{{text}}}")


def step_for(name: str) -> str:
    if "rounding" in name:
        return APPEND_STEP
    if "byte-products" in name:
        return BYTES_STEP
    if "query-tile" in name or "dequantize-rows" in name or "row-channels" in name:
        return PROMPT
    return GPU_STEP if "gpu" in name or "nvvm" in name or "tensor-cores" in name else STEP


@pytest.mark.parametrize("name", OPTIONS)
def test_options_change_the_ir(name):
    passes, before, after = OPTIONS[name]
    option = name.partition(".")[2]
    check(*(outcome(step_for(name), with_option(passes, option, value)) for value in (before, after)))


@pytest.mark.parametrize("name", SAID)
def test_options_change_what_is_said(name, capfd):
    said = []
    for options in SAID[name]:
        outcome(STEP, f"kvq-apply-policy,kvq-report-footprint{options}")
        said.append(capfd.readouterr().err)
    assert said[0] and said[1] and said[0] != said[1]


@pytest.mark.parametrize("name", CHECKS)
def test_options_change_what_is_checked(name):
    option = name.partition(".")[2]
    assert not outcome(STEP, f"{BUFFERS},kvq-verify-fused").startswith("error")
    assert outcome(STEP, f"{BUFFERS},kvq-verify-fused{{{option}={CHECKS[name]}}}").startswith("error")


@pytest.mark.parametrize("name", [name for name in OPTIONS if name.partition(".")[2] in REJECTED])
def test_values_that_mean_nothing_are_rejected(name):
    option = name.partition(".")[2]
    value, message = REJECTED[option]
    found = outcome(step_for(name), with_option(OPTIONS[name][0], option, value))
    assert found.startswith("error") and message in found, found[:300]


def test_unknown_options_are_rejected():
    for owner in {name.partition(".")[0] for name in options_in_help()}:
        passes = f"{owner}{{nothing=1}}"
        assert "nothing" in outcome(STEP, passes), owner
