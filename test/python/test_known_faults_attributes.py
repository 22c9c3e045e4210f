"""No option is accepted and ignored (vllm#14221, InfiniLM#552): every attribute of an op changes what comes out, or is
rejected.

What there is to be set is read from the .td files, so that something new fails here until it has a line in its table. A
line is what is changed, from and to; everything else of it stays.
"""

import re

import kvq_mlir as kvq
import pytest
from lowerings import I4, ROOT, TILE, TILED, check, named, outcome

CACHE = "!kvq.cache<1x2x128x64xf16, #kvq.format<codes = i4, group = [1, 32], scale = f16>, exact_first = 4, recent = 8>"
VALUE_OPS = {
    "quantize": (
        "%x: tensor<4x64xf16>, %c: tensor<4x64xi8>, %s: tensor<4x2xf16>",
        "%0:2 = kvq.quantize {0} ins(%x : tensor<4x64xf16>) outs(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>) "
        "-> tensor<4x64xi8>, tensor<4x2xf16>",
        "%0#0 : tensor<4x64xi8>",
    ),
    "dequantize": (
        "%x: tensor<4x64xf16>, %c: tensor<4x64xi8>, %s: tensor<4x2xf16>",
        "%0 = kvq.dequantize {0} ins(%c, %s : tensor<4x64xi8>, tensor<4x2xf16>) outs(%x : tensor<4x64xf16>) "
        "-> tensor<4x64xf16>",
        "%0 : tensor<4x64xf16>",
    ),
    "pack": (
        "%c: tensor<4x64xi8>, %p: tensor<4x32xi8>",
        "%0 = kvq.pack {0} ins(%c : tensor<4x64xi8>) outs(%p : tensor<4x32xi8>) -> tensor<4x32xi8>",
        "%0 : tensor<4x32xi8>",
    ),
    "unpack": (
        "%c: tensor<4x64xi8>, %p: tensor<4x32xi8>",
        "%0 = kvq.unpack {0} ins(%p : tensor<4x32xi8>) outs(%c : tensor<4x64xi8>) -> tensor<4x64xi8>",
        "%0 : tensor<4x64xi8>",
    ),
}
F4 = "codes = f4E2M1FN, group = [1, 32], scale = f16"
ATTENTION = (
    "%q: tensor<1x2x3x64xf32>, %c: !c, %n: tensor<1xi64>, %f: tensor<1xi64>",
    "%0 = kvq.attention ins(%q, %c, %c : tensor<1x2x3x64xf32>, !c, !c) lengths(%n : tensor<1xi64>) "
    "key_flushed(%f : tensor<1xi64>) value_flushed(%f : tensor<1xi64>) outs(%q : tensor<1x2x3x64xf32>) "
    "{{{0}}} -> tensor<1x2x3x64xf32>",
    "%0 : tensor<1x2x3x64xf32>",
)
ROWS = "!kvq.cache<1x2x64x128xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>"
ATTENTION_CHANNELS = (
    f"%q: tensor<1x2x3x128xf32>, %c: {ROWS}, %n: tensor<1xi64>, %o: tensor<1x2x3x64xf32>",
    f"%0 = kvq.attention ins(%q, %c, %c : tensor<1x2x3x128xf32>, {ROWS}, {ROWS}) lengths(%n : tensor<1xi64>) "
    "outs(%o : tensor<1x2x3x64xf32>) {{scale = 1.0 : f32, value_channels = array<i64: {0}>}} -> tensor<1x2x3x64xf32>",
    "%0 : tensor<1x2x3x64xf32>",
)
PARTIAL_CHANNELS = (
    f"%q: tensor<2x128xf32>, %c: {ROWS}, %i: index, %a: tensor<2x64xf32>, %m: tensor<2xf32>, %s: tensor<2xf32>",
    f"%0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<2x128xf32>, {ROWS}, {ROWS}) at [%i, %i] tokens [%i to %i] "
    "flushed [%i, %i] outs(%a, %m, %s : tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>) {{key_region = "
    "#kvq.region<codes>, value_region = #kvq.region<codes>, tile = 8, value_channels = array<i64: {0}>}} "
    "-> tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>",
    "%0#0 : tensor<2x64xf32>",
)
BEFORE_ROPE = "!kvq.cache<1x2x128x64xf16, #kvq.format<codes = none, rope = pre>>"
AFTER_ROPE = "!kvq.cache<1x2x128x64xf16, #kvq.format<codes = none>>"
TABLE = "tensor<128x32xf32>"
ATTENTION_ROPE = (
    f"%q: tensor<1x2x3x64xf32>, %k: {BEFORE_ROPE}, %v: {AFTER_ROPE}, %n: tensor<1xi64>, %t: {TABLE}",
    f"%0 = kvq.attention ins(%q, %k, %v : tensor<1x2x3x64xf32>, {BEFORE_ROPE}, {AFTER_ROPE}) "
    f"lengths(%n : tensor<1xi64>) rope(%t, %t : {TABLE}, {TABLE}) outs(%q : tensor<1x2x3x64xf32>) "
    "{{scale = 1.0 : f32, rope_style = #kvq.rope_style<{0}>}} -> tensor<1x2x3x64xf32>",
    "%0 : tensor<1x2x3x64xf32>",
)
PARTIAL_ROPE = (
    f"%q: tensor<2x64xf32>, %k: {BEFORE_ROPE}, %v: {AFTER_ROPE}, %i: index, %m: tensor<2xf32>, %t: {TABLE}",
    f"%0:3 = kvq.partial_attention ins(%q, %k, %v : tensor<2x64xf32>, {BEFORE_ROPE}, {AFTER_ROPE}) at [%i, %i] "
    f"tokens [%i to %i] flushed [%i, %i] rope(%t, %t : {TABLE}, {TABLE}) "
    "outs(%q, %m, %m : tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>) {{key_region = #kvq.region<codes>, "
    "value_region = #kvq.region<codes>, tile = 8, rope_style = #kvq.rope_style<{0}>}} "
    "-> tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>",
    "%0#0 : tensor<2x64xf32>",
)
SHIFT_ROPE = (
    f"%k: {AFTER_ROPE}, %n: tensor<1xi64>, %t: {TABLE}",
    "%0 = kvq.shift drop(%n, %n : tensor<1xi64>, tensor<1xi64>) lengths(%n : tensor<1xi64>) "
    f"rope(%t, %t : {TABLE}, {TABLE}) into(%k : {AFTER_ROPE}) {{{{rope_style = #kvq.rope_style<{{0}}>}}}} -> {AFTER_ROPE}",
    f"%0 : {AFTER_ROPE}",
)
APPEND_ROPE = (
    f"%x: tensor<1x2x?x64xf16>, %k: {AFTER_ROPE}, %n: tensor<1xi64>, %t: {TABLE}",
    f"%0 = kvq.append ins(%x : tensor<1x2x?x64xf16>) lengths(%n : tensor<1xi64>) rope(%t, %t : {TABLE}, {TABLE}) "
    f"into(%k : {AFTER_ROPE}) {{{{rope_style = #kvq.rope_style<{{0}}>}}}} -> {AFTER_ROPE}",
    f"%0 : {AFTER_ROPE}",
)
SEGMENTS = "!kvq.cache<1x2x128x128xf16, #kvq.segments<[0:64] = #kvq.format<codes = i8, group = [1, 32], scale = f16>, [64:128] = none>>"
APPEND_SEGMENT = (
    f"%x: tensor<1x2x?x128xf16>, %k: {SEGMENTS}, %n: tensor<1xi64>, %t: {TABLE}",
    f"%0 = kvq.append ins(%x : tensor<1x2x?x128xf16>) lengths(%n : tensor<1xi64>) rope(%t, %t : {TABLE}, {TABLE}) "
    f"into(%k : {SEGMENTS}) {{{{rope_segment = {{0}}}}}} -> {SEGMENTS}",
    f"%0 : {SEGMENTS}",
)
SAME_SEGMENTS = SEGMENTS.replace("none", "#kvq.format<codes = i8, group = [1, 32], scale = f16>")
SEGMENT = "!kvq.cache<1x2x128x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>>"
EXTRACT_SEGMENT = (
    f"%c: {SAME_SEGMENTS}",
    f"%0 = kvq.extract_segment %c[{{0}}] : {SAME_SEGMENTS} -> {SEGMENT}",
    f"%0 : {SEGMENT}",
)
INSERT_SEGMENT = (
    f"%s: {SEGMENT}, %c: {SAME_SEGMENTS}",
    f"%0 = kvq.insert_segment %s into %c[{{0}}] : {SEGMENT} into {SAME_SEGMENTS}",
    f"%0 : {SAME_SEGMENTS}",
)
PARTIAL = (
    "%q: tensor<2x64xf32>, %c: !c, %b: index, %lo: index, %hi: index, %f: index, %m: tensor<2xf32>, %s: tensor<2xf32>",
    "%0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<2x64xf32>, !c, !c) at [%b, %b] tokens [%lo to %hi] "
    "flushed [%f, %f] outs(%q, %m, %s : tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>) {{{0}}} "
    "-> tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>",
    "%0#0 : tensor<2x64xf32>",
)
PARTIAL_QUERIES = (
    "%q: tensor<4x64xf32>, %c: !c, %i: index, %m: tensor<4xf32>",
    "%0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<4x64xf32>, !c, !c) at [%i, %i] tokens [%i to %i] "
    "flushed [%i, %i] slopes(%m : tensor<4xf32>) position [%i] outs(%q, %m, %m : tensor<4x64xf32>, tensor<4xf32>, "
    "tensor<4xf32>) {{key_region = #kvq.region<codes>, value_region = #kvq.region<codes>, tile = 8{0}}} "
    "-> tensor<4x64xf32>, tensor<4xf32>, tensor<4xf32>",
    "%0#0 : tensor<4x64xf32>",
)
LOAD = (
    "%c: !c, %b: index, %lo: index, %hi: index",
    "%0 = kvq.load_tile %c {0} : !c -> tensor<?x64xf16>",
    "%0 : tensor<?x64xf16>",
)
GIVEN = "!kvq.cache<1x2x64x64xf16, #kvq.format<codes = ui8, group = [*, 32], scale = f16, zero = min f16, range = static>>"
LOAD_GIVEN = (
    f"%c: {GIVEN}, %h: index",
    f"%0 = kvq.load_given %c <{{0}}> at [%h] : {GIVEN} -> tensor<1x2xf16>",
    "%0 : tensor<1x2xf16>",
)
PAGED = "!kvq.cache<1x2x128x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16>, page = 16>"
PARTIAL_PAGED = (
    f"%q: tensor<2x64xf32>, %c: {PAGED}, %t: tensor<1x8xi64>, %i: index, %m: tensor<2xf32>, %s: tensor<2xf32>",
    f"%0:3 = kvq.partial_attention ins(%q, %c, %c : tensor<2x64xf32>, {PAGED}, {PAGED}) at [%i, %i] "
    "tokens [%i to %i] flushed [%i, %i] key_pages(%t : tensor<1x8xi64>) value_pages(%t : tensor<1x8xi64>) "
    "outs(%q, %m, %s : tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>) {{key_region = #kvq.region<codes>, "
    "value_region = #kvq.region<codes>, tile = 8{0}}} -> tensor<2x64xf32>, tensor<2xf32>, tensor<2xf32>",
    "%0#0 : tensor<2x64xf32>",
)
LOAD_PAGED = (
    f"%c: {PAGED}, %t: tensor<1x8xi64>, %b: index, %lo: index, %hi: index",
    f"%0:2 = kvq.load_tile %c <codes> at [%b, %b] tokens [%lo to %hi] pages(%t : tensor<1x8xi64>) {{0}} : {PAGED} "
    "-> tensor<?x64xi8>, tensor<?x2xf16>",
    "%0#0 : tensor<?x64xi8>",
)
LOAD_TILED = (
    f"%c: {TILED}, %b: index, %lo: index, %hi: index, %z: index",
    f"%0:2 = kvq.load_tile %c <codes> at [%b, %b] tokens [%lo to %hi] {{0[0]}} : {TILED} -> {{0[1]}}, {{0[2]}}\n"
    "  %1 = tensor.dim %0#0, %z : {0[1]}",
    "%1 : index",
)
NIBBLES = TILED.replace("i8", "i4")
LOAD_NIBBLES = (
    f"%c: {NIBBLES}, %b: index, %lo: index, %hi: index, %z: index",
    f"%0:2 = kvq.load_tile %c <codes> at [%b, %b] tokens [%lo to %hi] {{0[0]}} : {NIBBLES} -> {{0[1]}}, tensor<2x16xf16>\n"
    "  %1 = tensor.dim %0#0, %z : {0[1]}",
    "%1 : index",
)
TRUNCATE = (
    "%n: tensor<1xi64>, %f: tensor<1xi64>, %to: tensor<1xi64>",
    "%0, %1 = kvq.truncate {0} lengths(%n : tensor<1xi64>) flushed(%f : tensor<1xi64>) to(%to : tensor<1xi64>) "
    "-> tensor<1xi64>, tensor<1xi64>",
    "%1 : tensor<1xi64>",
)
COUNT_SATURATED = (
    "%x: tensor<4x64xf16>, %s: tensor<4x2xf16>, %n: tensor<i64>",
    "%0 = kvq.count_saturated {0} ins(%x, %s : tensor<4x64xf16>, tensor<4x2xf16>) outs(%n : tensor<i64>) "
    "-> tensor<i64>",
    "%0 : tensor<i64>",
)
ROTATE = (
    "%x: tensor<4x64xf32>, %s: tensor<1x64xi8>",
    "%0 = kvq.rotate {0} ins(%x, %s : tensor<4x64xf32>, tensor<1x64xi8>) outs(%x : tensor<4x64xf32>) "
    "-> tensor<4x64xf32>",
    "%0 : tensor<4x64xf32>",
)
I8_ROWS = "memref<1x2x128x64xi8>, memref<1x2x128x1xf16>, memref<1x2x4x64xf16>, memref<1x2x40x64xf16>"
WINDOWED = "!kvq.cache<1x2x172x64xf16, #kvq.format<codes = i8, group = [1, *], scale = f16>, exact_first = 4, recent = 40>"
BLOCK = (
    "%q: memref<4x64xf32>, %c: memref<1x2x128x64xi8>, %s: memref<1x2x128x1xf16>, %x: memref<1x2x4x64xf16>, "
    "%w: memref<1x2x40x64xf16>, %i: index, %m: memref<4xf32>",
    "scf.forall (%b) in (2) {{ kvq.block_attention ins(%q : memref<4x64xf32>) keys(%c, %s, %x, %w : {0[0]}) "
    "values(%c, %s, %x, %w : {0[0]}) at [%i, %i] tokens [%i to %i] slopes(%m : memref<4xf32>) position [%i] "
    "outs(%q, %m, %m : memref<4x64xf32>, memref<4xf32>, memref<4xf32>) "
    "{{key_type = {0[1]}, value_type = {0[2]}, {0[3]}}} }}",
    "%i : index",
)
BLOCK_ATTRIBUTES = "key_region = #kvq.region<{}>, value_region = #kvq.region<{}>, shared_bytes = {}"


BIASED = WINDOWED.replace("scale = f16>", "scale = f16, layout = #kvq.layout<codes = planar, bias>>")
FP8 = WINDOWED.replace("codes = i8", "codes = f8E4M3FN")
ALL_CODES = BLOCK_ATTRIBUTES.format("codes", "codes", 99999)


def in_block(attributes: str, key: str = WINDOWED, value: str = WINDOWED) -> list[str]:
    return [I8_ROWS, key, value, attributes]


ON_BLOCKS = "func.func(convert-kvq-to-gpu)"
REGIONS = "key_region = #kvq.region<{}>, value_region = #kvq.region<{}>, tile = {}"
AT = "<{}> at [%b, %b] tokens [%lo to %hi] {{tile = {}}}"
VALUES_OF = "func.func(kvq-decompose-values)"
# Of each attribute: the op, its attributes before and after, and the passes that read them.
OP_ATTRIBUTES = {
    **{f"{op}.format": (text, named(I4), named(F4), VALUES_OF) for op, text in VALUE_OPS.items()},
    "pack.format": (VALUE_OPS["pack"], named(I4), named(I4.replace("i4", "i8")), VALUES_OF),
    "count_saturated.format": (COUNT_SATURATED, named(I4), named(F4), VALUES_OF),
    "rotate.size": (ROTATE, "hadamard<16>", "hadamard<32>", VALUES_OF),
    "rotate.inverse": (ROTATE, "hadamard<16>", "hadamard<16> inverse", VALUES_OF),
    "truncate.cache_type": (TRUNCATE, CACHE, CACHE.replace("= 4", "= 5"), "kvq-expand-caches"),
    "attention.scale": (ATTENTION, "scale = 1.0 : f32", "scale = 0.5 : f32", TILE),
    "attention.causal": (ATTENTION, "scale = 1.0 : f32", "scale = 1.0 : f32, causal", TILE),
    "attention.softcap": (ATTENTION, "scale = 1.0 : f32", "scale = 1.0 : f32, softcap = 2.0 : f32", TILE),
    "attention.window": (ATTENTION, "scale = 1.0 : f32", "scale = 1.0 : f32, window = 9", TILE),
    "attention.window_first": (
        *(ATTENTION, "scale = 1.0 : f32, window = 9", "scale = 1.0 : f32, window = 9, window_first = 2"),
        TILE,
    ),
    "attention.value_channels": (ATTENTION_CHANNELS, "0, 64", "64, 128", TILE),
    "attention.query_codes": (ATTENTION, "scale = 1.0 : f32", "scale = 1.0 : f32, query_codes = i16", TILE),
    "attention.schedule": (
        *(ATTENTION, "scale = 1.0 : f32", "scale = 1.0 : f32, schedule = #kvq.schedule<splits = 2>"),
        TILE,
    ),
    "attention.rope_style": (ATTENTION_ROPE, "half", "interleaved", TILE),
    "partial_attention.rope_style": (PARTIAL_ROPE, "half", "interleaved", "func.func(kvq-decompose-attention)"),
    "append.rope_style": (APPEND_ROPE, "half", "interleaved", "kvq-expand-caches"),
    "append.rope_segment": (APPEND_SEGMENT, "0", "1", TILE),
    "extract_segment.segment": (EXTRACT_SEGMENT, "0", "1", "kvq-expand-caches"),
    "insert_segment.segment": (INSERT_SEGMENT, "0", "1", "kvq-expand-caches"),
    "shift.rope_style": (SHIFT_ROPE, "half", "interleaved", "kvq-expand-caches"),
    "partial_attention.query_codes": (
        *(PARTIAL, REGIONS.format("codes", "codes", 8), REGIONS.format("codes", "codes", "8, query_codes = i16")),
        "func.func(kvq-decompose-attention)",
    ),
    "partial_attention.softcap": (
        *(PARTIAL, REGIONS.format("first", "first", 8), REGIONS.format("first", "first", "8, softcap = 2.0 : f32")),
        "func.func(kvq-decompose-attention)",
    ),
    "partial_attention.value_channels": (PARTIAL_CHANNELS, "0, 64", "64, 128", "func.func(kvq-decompose-attention)"),
    "partial_attention.key_region": (
        *(PARTIAL, REGIONS.format("first", "first", 8), REGIONS.format("codes", "first", 8)),
        "func.func(kvq-decompose-attention)",
    ),
    "partial_attention.value_region": (
        *(PARTIAL, REGIONS.format("first", "first", 8), REGIONS.format("first", "recent", 8)),
        "func.func(kvq-decompose-attention)",
    ),
    "partial_attention.tile": (
        *(PARTIAL, REGIONS.format("first", "first", 8), REGIONS.format("first", "first", 16)),
        "func.func(kvq-decompose-attention)",
    ),
    "partial_attention.within_pages": (
        *(PARTIAL_PAGED, "", ", within_pages"),
        "func.func(kvq-decompose-attention)",
    ),
    "partial_attention.query_tokens": (
        *(PARTIAL_QUERIES, ", query_tokens = 2", ", query_tokens = 4"),
        "func.func(kvq-decompose-attention)",
    ),
    "partial_attention.causal": (PARTIAL_QUERIES, "", ", causal", "func.func(kvq-decompose-attention)"),
    "partial_attention.window": (PARTIAL_QUERIES, "", ", window = 9", "func.func(kvq-decompose-attention)"),
    "partial_attention.window_first": (
        *(PARTIAL_QUERIES, ", window = 9", ", window = 9, window_first = 2"),
        "func.func(kvq-decompose-attention)",
    ),
    **{
        f"block_attention.{name}": (BLOCK, in_block(before), in_block(after), ON_BLOCKS)
        for name, before, after in (
            ("key_region", ALL_CODES, BLOCK_ATTRIBUTES.format("first", "codes", 99999)),
            ("value_region", ALL_CODES, BLOCK_ATTRIBUTES.format("codes", "recent", 99999)),
            ("shared_bytes", ALL_CODES, BLOCK_ATTRIBUTES.format("codes", "codes", 30000)),
            ("held_bytes", ALL_CODES, f"{ALL_CODES}, held_bytes = 70000"),
            ("overwrites", ALL_CODES, f"{ALL_CODES}, overwrites"),
            ("softcap", ALL_CODES, f"{ALL_CODES}, softcap = 2.0 : f32"),
            ("query_tokens", ALL_CODES, f"{ALL_CODES}, query_tokens = 2"),
            ("causal", ALL_CODES, f"{ALL_CODES}, causal"),
            ("window", ALL_CODES, f"{ALL_CODES}, window = 9"),
            ("window_first", f"{ALL_CODES}, window = 9", f"{ALL_CODES}, window = 9, window_first = 2"),
        )
    },
    "block_attention.query_codes": (
        *(BLOCK, in_block(ALL_CODES, key=FP8), in_block(f"{ALL_CODES}, query_codes = f8E4M3FN", key=FP8)),
        ON_BLOCKS,
    ),
    "block_attention.moves_fp8": (
        *(BLOCK, in_block(ALL_CODES, key=FP8), in_block(f"{ALL_CODES}, moves_fp8", key=FP8)),
        ON_BLOCKS,
    ),
    "block_attention.key_type": (BLOCK, in_block(ALL_CODES), in_block(ALL_CODES, key=BIASED), ON_BLOCKS),
    "block_attention.value_type": (BLOCK, in_block(ALL_CODES), in_block(ALL_CODES, value=BIASED), ON_BLOCKS),
    "load_given.component": (LOAD_GIVEN, "scales", "zeros", "kvq-expand-caches"),
    "load_tile.within_page": (LOAD_PAGED, "{tile = 8}", "{tile = 8, within_page}", "kvq-expand-caches"),
    "load_tile.as_tile": (
        LOAD_TILED,
        ["{within_page, tile = 16}", "tensor<?x64xi8>", "tensor<?x2xf16>"],
        ["{within_page, tile = 16, as_tile}", "tensor<32x16x2xi8>", "tensor<2x16xf16>"],
        "kvq-expand-caches",
    ),
    "load_tile.packed": (
        LOAD_NIBBLES,
        ["{within_page, tile = 16, as_tile}", "tensor<32x16x2xi8>"],
        ["{within_page, tile = 16, as_tile, packed}", "tensor<16x16x2xi8>"],
        "kvq-expand-caches",
    ),
    "load_tile.region": (LOAD, AT.format("first", 8), AT.format("recent", 8), "kvq-expand-caches"),
    "load_tile.tile": (LOAD, AT.format("recent", 8), AT.format("recent", 16), "kvq-expand-caches"),
}


def attributes_in_td() -> set[str]:
    """ "op.attribute" of each op of the dialect."""
    text = "".join((ROOT / f"include/kvq/IR/KVQ{level}Ops.td").read_text() for level in ("Value", "Cache", "Tile"))
    arguments = re.compile(r"let arguments = \(ins(.*?)\);", re.DOTALL)
    attribute = re.compile(r'(?:Attr\w*[<>\[\]\w, "]*|FormatInterface|Prop\w*):\$(\w+)')
    (shared,) = (attribute.findall(arguments.search(text[text.index("class KVQ_ValueOp") :])[1]),)
    found = set()
    for definition in re.split(r"\ndef ", text)[1:]:
        if not (name := re.match(r'KVQ_\w+ : (KVQ_Op|KVQ_ValueOp)<"(\w+)"', definition)):
            continue
        own = arguments.search(definition)
        names = shared if name[1] == "KVQ_ValueOp" else attribute.findall(own[1]) if own else []
        found |= {f"{name[2]}.{attribute}" for attribute in names}
    return found


def test_every_attribute_of_an_op_is_in_the_table():
    assert attributes_in_td() == OP_ATTRIBUTES.keys()


def module_of(op: tuple[str, str, str], attributes: str | list[str]) -> str:
    parameters, body, result = op
    return f"""!c = {CACHE}
func.func @f({parameters}) -> {result.partition(" : ")[2]} {{
  {body.format(attributes)}
  return {result}
}}"""


@pytest.mark.parametrize("name", OP_ATTRIBUTES)
def test_attributes_of_ops(name):
    op, before, after, passes = OP_ATTRIBUTES[name]
    found = [outcome(module_of(op, attributes), passes) for attributes in (before, after)]
    if name == "pack.format":  # the bits are all that it reads of the format, and they are in the types too
        assert found[1].startswith("error"), found[1]
        found[1] = ""
    check(*found)


@pytest.mark.parametrize("op", ["attention", "partial_attention"])
def test_misspelt_attributes_are_rejected(op):
    text = {"attention": ATTENTION, "partial_attention": PARTIAL}[op]
    written = "scale = 1.0 : f32, casual" if op == "attention" else "tiles = 4"
    name = written.split()[-1] if op == "attention" else "tiles"
    assert f"'kvq.{op}' op has no attribute '{name}': expected one of " in outcome(module_of(text, written), TILE)
