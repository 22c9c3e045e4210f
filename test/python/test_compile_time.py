"""Compilation takes time in proportion to what differs: ops that are equal share a kernel."""

import time

import pytest

from kvq_mlir import _kvq

TYPES = """
#f = #kvq.format<codes = i8, group = [1, 32], scale = f16>
!c = !kvq.cache<1x2x?x64xf16, #f>
!q = tensor<1x8x1x64xf32>
!n = tensor<1xi64>
"""


HEAD = "func.func @{name}(%q0: !q, %k: !c, %v: !c, %n: !n, %o: !q) -> !q {{\n"


def chain(name: str, scales: list[float]) -> str:
    """A function of attention ops one after the other, one for each scale, on the same caches."""
    body = "".join(
        f"  %q{i + 1} = kvq.attention ins(%q{i}, %k, %v : !q, !c, !c) lengths(%n : !n) outs(%o : !q) "
        f"{{scale = {scale:.9e} : f32}} -> !q\n"
        for i, scale in enumerate(scales)
    )
    return HEAD.format(name=name) + body + f"  return %q{len(scales)} : !q\n}}\n"


def seconds(functions: list[str]) -> float:
    """Processor time, the least of three, down to the LLVM dialect."""
    times = []
    for _ in range(3):
        start = time.process_time()
        _kvq.run_pipeline(TYPES + "".join(functions), "builtin.module(kvq-cpu-pipeline)")
        times.append(time.process_time() - start)
    return min(times)


@pytest.fixture(scope="module")
def one() -> float:
    layer = [chain("layer", [2.0])]
    seconds(layer)  # loads what is loaded once
    return seconds(layer)


def test_time_is_linear_in_distinct_ops(one):
    """From 6 to 24 functions the time of each stays: a quadratic part would show four times as large."""
    few, many = (seconds([chain(f"f{i}", [1 + i / 64]) for i in range(count)]) for count in (6, 24))
    assert many <= 1.8 * 4 * few, f"6 ops {few:.2f} s, 24 ops {many:.2f} s, one {one:.2f} s"


def test_equal_ops_share_a_kernel(one):
    """32 layers that are alike cost a few calls more than one."""
    assert seconds([chain("layers", [2.0] * 32)]) <= 3 * one + 0.1
