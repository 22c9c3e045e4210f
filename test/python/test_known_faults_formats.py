"""No option is accepted and ignored (vllm#14221, InfiniLM#552): every field of a format, a rule, a layout and a cache changes
what comes out, or is rejected.

What there is to be set is read from error messages and the .td files, so that something new fails here until it has a line
in its table. A line is what is changed, from and to; everything else of it stays.
"""

import re

import kvq_mlir as kvq
import pytest
from kvq_mlir import _kvq
from lowerings import I4, ROOT, TILE, UI4, check, lowered, lowered_keys, named, outcome

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
        f"""!c = !kvq.cache<1x2x128x64xf16, {named(I4)}{parameters}>
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
