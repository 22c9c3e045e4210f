"""No option is accepted and ignored (vllm#14221, InfiniLM#552): every field, attribute and option changes what comes
out, or is rejected.

What there is to be set is read from where it is defined (error messages, the .td files, `kvq-opt --help`), so that
something new fails here until it has a line in its table. A line is what is changed, from and to; everything else of it
stays.
"""

import re
import subprocess
from pathlib import Path

import kvq_mlir as kvq
import pytest
from kvq_mlir import _kvq
from kvq_mlir.ir.decode_step import append_one, attend

ROOT = Path(__file__).parents[2]
KVQ_OPT = Path(_kvq.__file__).parents[2] / "bin/kvq-opt"
SHAPE = (1, 2, 64)  # batch, KV heads, head_dim
TILE, BUFFERS = "kvq-tile-pipeline", "kvq-tile-pipeline,kvq-bufferize-pipeline"


def outcome(ir_text: str, passes: str) -> str:
    """The IR after the passes, or the error."""
    try:
        return _kvq.run_pipeline(ir_text, f"builtin.module({passes})")
    except kvq.Error as error:
        return f"error: {error}"


def lowered(fmt: str, windows: str = "") -> str:
    """An append to a cache and attention over it, as structured ops."""
    entries = [f"<side = {side}, format = {_named(fmt)}{windows}>" for side in ("keys", "values")]
    found = outcome(append_one(SHAPE, "f16", "keys", entries[0]), TILE)
    return found + outcome(attend(SHAPE, 2, "f16", entries), TILE)


def lowered_keys(fmt: str) -> str:
    """Attention over keys of a format, with tables of RoPE where it is before it."""
    table = "tensor<?x16xf32>"
    clause = f"rope(%t, %t : {table}, {table})" if "rope = pre" in fmt else ""
    return outcome(
        f"""!k = !kvq.cache<1x2x128x64xf16, {_named(fmt)}>
!v = !kvq.cache<1x2x128x64xf16, #kvq.format<codes = none>>
func.func @f(%q: tensor<1x2x1x64xf32>, %k: !k, %v: !v, %n: tensor<1xi64>, %t: {table}) -> tensor<1x2x1x64xf32> {{
  %0 = kvq.attention ins(%q, %k, %v : tensor<1x2x1x64xf32>, !k, !v) lengths(%n : tensor<1xi64>) {clause}
      outs(%q : tensor<1x2x1x64xf32>) {{scale = 1.0 : f32}} -> tensor<1x2x1x64xf32>
  return %0 : tensor<1x2x1x64xf32>
}}""",
        TILE,
    )


def _named(fmt: str) -> str:
    return fmt if fmt.startswith("#") else f"#kvq.format<{fmt}>"


def check(before: str, after: str) -> None:
    assert not before.startswith("error") and not after.startswith("error"), (before[:300], after[:300])
    assert before != after


# --- formats and caches ----------------------------------------------------------------------------------------------

I4, UI4 = "codes = i4, group = [1, 32], scale = f16", "codes = ui4, group = [1, 32], scale = f16, zero = min f16"
POINT = "codes = ui4, group = [1, 32], scale = f16, zero = point f16"
FORMAT_FIELDS = {
    "codes": (I4, I4.replace("i4", "i8")),
    "group": (I4, I4.replace("32", "16")),
    "heads": (I4, I4 + ", heads = *"),
    "scale": (I4, I4.replace("f16", "f32")),
    "zero": (UI4, UI4.replace("min", "point")),
    "range": (I4, I4 + ", range = clip<0.5>"),
    "rotate": (I4, I4 + ", rotate = hadamard<32>"),
    "center": (I4, I4 + ", center = f16"),
    "rope": (I4, I4 + ", rope = pre"),
    "rule": (I4, I4 + ", rule = #kvq.rule<scale = nearest>"),
    "layout": (I4, I4 + ", layout = #kvq.layout<codes = stream>"),
}
NEAREST = "scale = nearest"
RULE_FIELDS = {
    "ties": (I4, "", "ties = away"),
    "quotient": (I4, "", "quotient = reciprocal"),
    "metadata": (I4, NEAREST, f"{NEAREST}, metadata = unrounded"),
    "bounds": (I4, "", "bounds = full"),
    "extremum": (I4, f"{NEAREST}, bounds = full", f"{NEAREST}, bounds = full, extremum = signed"),
    "span": (POINT, "", "span = elements"),
    "scale": (I4, "", NEAREST),
    "least": (I4, NEAREST, f"{NEAREST}, least = 1.0e-6"),
    "constant": (UI4, NEAREST, f"{NEAREST}, constant = 1.0"),
    "fit": (UI4, NEAREST, f"{NEAREST}, fit = end"),
    "precision": (I4, NEAREST, f"{NEAREST}, precision = f16"),
}
I5 = I4.replace("i4", "i5")
LAYOUT_FIELDS = {
    "codes": (I4, "codes = planar", "codes = planar<32>"),
    "high": (I5, "codes = planar", "high = stream"),
    "bias": (I4, "codes = planar", "bias"),
    "block": (I4.replace("[1, 32]", "[4, 32]"), "codes = planar", "block = [4, 1]"),
    "tile": (I4, "tile = token_pairs<16>", "tile = channel_pairs<16>"),
    "record": (I4, "codes = planar", "record = [scale, codes]"),
    "row": (I4, "record = [scale, codes]", "row = [scale, codes]"),
}
CACHE_PARAMETERS = {
    "exact_first": ("", ", exact_first = 4"),
    "recent": ("", ", recent = 4"),
    "residual": (", recent = 4", ", residual = 4"),
    "page": ("", ", page = 16"),
    "ring": ("", ", ring = 16"),
    "keep_first": (", ring = 16", ", ring = 16, keep_first = 2"),
    "token_major": ("", ", token_major"),
}


def named_in_error(call, *arguments: str) -> set[str]:
    """What an error says could have been given: "expected one of a, b, got ..." or "expected 'a', 'b' or 'c', got"."""
    with pytest.raises(kvq.Error) as caught:
        call(*arguments)
    return set(re.findall(r"\w+", re.search("expected (?:one of )?(.*?), got", str(caught.value))[1])) - {"or"}


def test_every_field_of_a_format_is_in_the_table():
    assert named_in_error(kvq.Format, "nothing = 1") == FORMAT_FIELDS.keys()


@pytest.mark.parametrize("field", FORMAT_FIELDS)
def test_fields_of_formats(field):
    before, after = FORMAT_FIELDS[field]
    lower = lowered_keys if field == "rope" else lowered
    check(lower(before), lower(after))


def parameters_of(attribute: str, path: str) -> set[str]:
    """The parameters of an attribute or type that are defined in a .td file."""
    text = (ROOT / "include/kvq/IR" / path).read_text()
    definition = text[text.index(f"def KVQ_{attribute}") :]
    definition = definition[definition.index("let parameters") :]
    return set(re.findall(r":\$(\w+)", definition[: definition.index(");")]))


def test_every_field_of_a_rule_is_in_the_table():
    assert parameters_of("RuleAttr", "KVQRules.td") == RULE_FIELDS.keys()


@pytest.mark.parametrize("field", RULE_FIELDS)
def test_fields_of_rules(field):
    fmt, before, after = RULE_FIELDS[field]
    check(*(lowered(f"{fmt}, rule = #kvq.rule<{rule}>" if rule else fmt) for rule in (before, after)))


def test_every_field_of_a_layout_is_in_the_table():
    assert named_in_error(kvq.Format, f"{I4}, layout = #kvq.layout<nothing = 1>") == LAYOUT_FIELDS.keys()


@pytest.mark.parametrize("field", LAYOUT_FIELDS)
def test_fields_of_layouts(field):
    fmt, before, after = LAYOUT_FIELDS[field]
    check(*(lowered(f"{fmt}, layout = #kvq.layout<{layout}>", ", recent = 0") for layout in (before, after)))


def test_every_parameter_of_a_cache_is_in_the_table():
    assert named_in_error(_kvq.Footprint, "!kvq.cache<1x1x1x8xf16, #kvq.format<codes = none>, nothing = 1>") == (
        CACHE_PARAMETERS.keys()
    )


def lowered_append(parameters: str) -> str:
    """An append to a cache of these parameters, as structured ops."""
    counts, table = "tensor<1xi64>", "tensor<1x8xi64>"
    window = "recent" in parameters or "residual" in parameters
    operands = f"flushed(%n : {counts})" if window else f"pages(%t : {table})" if "page" in parameters else ""
    return outcome(
        f"""!c = !kvq.cache<1x2x128x64xf16, {_named(I4)}{parameters}>
func.func @f(%x: tensor<1x2x3x64xf16>, %c: !c, %n: {counts}, %t: {table}) -> !c {{
  %0 = kvq.append ins(%x : tensor<1x2x3x64xf16>) lengths(%n : {counts}) {operands} into(%c : !c) -> !c
  return %0 : !c
}}""",
        TILE,
    )


@pytest.mark.parametrize("parameter", CACHE_PARAMETERS)
def test_parameters_of_caches(parameter):
    before, after = CACHE_PARAMETERS[parameter]
    check(lowered_append(before), lowered_append(after))


# --- attributes of ops -----------------------------------------------------------------------------------------------

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
TILED = (
    "!kvq.cache<1x2x128x64xf16, #kvq.format<codes = i8, group = [1, 32], scale = f16, "
    "layout = #kvq.layout<codes = planar, tile = channel_pairs<16>>>>"
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
    **{f"{op}.format": (text, _named(I4), _named(F4), VALUES_OF) for op, text in VALUE_OPS.items()},
    "pack.format": (VALUE_OPS["pack"], _named(I4), _named(I4.replace("i4", "i8")), VALUES_OF),
    "count_saturated.format": (COUNT_SATURATED, _named(I4), _named(F4), VALUES_OF),
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
    attribute = re.compile(r'(?:Attr\w*(?:<\[?[\w, "]+\]?>+)?|FormatInterface|Prop\w*):\$(\w+)')
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


# --- options of passes and pipelines ---------------------------------------------------------------------------------

STEP = attend((2, 2, 64), 8, "f16", [f"<format = {_named(I4)}, recent = 40>"])
GPU_STEP = attend((2, 2, 64), 8, "f16", [f"<format = {_named(I4)}>"])  # workgroup memory is small
PROMPT = attend((2, 2, 64), 8, "f16", [f"<format = {_named(I4)}>"], queries=4)
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
    "kvq-assign-layout.spell-out": ("kvq-apply-policy,kvq-assign-layout{}", "false", "true"),
    "kvq-prefetch-tiles.distance": (
        *(f"{BY_HAND},func.func(convert-kvq-to-vector,kvq-prefetch-tiles{{}})", "1", "2"),
    ),
    "kvq-cpu-pipeline.byte-products": ("kvq-cpu-pipeline{tile-tokens=16 {}}", "none", "avxvnni"),
    "kvq-cpu-pipeline.dequantize-rows": ("kvq-cpu-pipeline{}", "16", "17"),
    "kvq-cpu-pipeline.query-tile": ("kvq-cpu-pipeline{}", "0", "2"),
    "kvq-cpu-pipeline.openmp": ("kvq-cpu-pipeline{}", "0", "1"),
    "kvq-nvvm-pipeline.block-size": ("kvq-nvvm-pipeline{tensor-cores=false {}}", "64", "128"),
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
    "kvq-assign-layout.target",  # test/Transforms/assign-layout.mlir
    *("kvq-assign-schedule.file", "kvq-assign-schedule.cpu"),  # test/Transforms/assign-schedule-file.mlir
    *("kvq-tile-pipeline.schedules", "kvq-tile-pipeline.cpu", "kvq-cpu-pipeline.schedules", "kvq-cpu-pipeline.cpu"),
    "convert-kvq-to-gpu.chip",  # test/Conversion/KVQToGPU/invalid-options.mlir
    "kvq-fold-scales.turn-rows",  # test/Transforms/fold-scales-integers.mlir
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
