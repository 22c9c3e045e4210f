"""What a setting changes: the IR that a cache's append and attention become."""

from pathlib import Path

import kvq_mlir as kvq
from kvq_mlir import _kvq
from kvq_mlir.ir.decode_step import append_one, attend

ROOT = Path(__file__).parents[2]
KVQ_OPT = Path(_kvq.__file__).parents[2] / "bin/kvq-opt"
SHAPE = (1, 2, 64)  # batch, KV heads, head_dim
I4, UI4 = "codes = i4, group = [1, 32], scale = f16", "codes = ui4, group = [1, 32], scale = f16, zero = min f16"
TILED = (
    "!kvq.cache<1x2x128x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16, "
    "layout = #kvq.layout<codes = planar, tile = channel_pairs<16>>>>"
)
TILE, BUFFERS = "kvq-tile-pipeline", "kvq-tile-pipeline,kvq-bufferize-pipeline"


def outcome(ir_text: str, passes: str) -> str:
    """The IR after the passes, or the error."""
    try:
        return _kvq.run_pipeline(ir_text, f"builtin.module({passes})")
    except kvq.Error as error:
        return f"error: {error}"


def lowered(fmt: str, windows: str = "") -> str:
    """An append to a cache and attention over it, as structured ops."""
    entries = [f"<side = {side}, format = {named(fmt)}{windows}>" for side in ("keys", "values")]
    found = outcome(append_one(SHAPE, "f16", "keys", entries[0]), TILE)
    return found + outcome(attend(SHAPE, 2, "f16", entries), TILE)


def lowered_keys(fmt: str) -> str:
    """Attention over keys of a format, with tables of RoPE where it is before it."""
    table = "tensor<?x16xf32>"
    clause = f"rope(%t, %t : {table}, {table})" if "rope = pre" in fmt else ""
    return outcome(
        f"""!k = !kvq.cache<1x2x128x64xf16, {named(fmt)}>
!v = !kvq.cache<1x2x128x64xf16, #kvq.format<codes = none>>
func.func @f(%q: tensor<1x2x1x64xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %t: {table}) -> tensor<1x2x1x64xf32> {{
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>) {clause}
      outs(%q : tensor<1x2x1x64xf32>) {{scale = 1.0 : f32}} -> tensor<1x2x1x64xf32>
  return %0 : tensor<1x2x1x64xf32>
}}""",
        TILE,
    )


def named(fmt: str) -> str:
    return fmt if fmt.startswith("#") else f"#kvq.format<{fmt}>"


def check(before: str, after: str) -> None:
    assert not before.startswith("error") and not after.startswith("error"), (before[:300], after[:300])
    assert before != after
