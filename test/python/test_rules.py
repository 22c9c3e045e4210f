"""Rules other than the default one: every field, in random combinations, against the NumPy oracle."""

import os

import numpy as np
import pytest
from attention_paths import CHIPS
from test_differential import same, values

import kvq_mlir as kvq
from kvq_mlir import reference
from kvq_mlir.devices import ORDERS

FULL = bool(os.environ.get("KVQ_FULL"))
KINDS = ("signed", "minimum", "point", "float", "codebook")


def draw(rng: np.random.Generator, kind: str) -> str:
    """A format of one kind of codes under a rule that has meaning for it."""

    def maybe(*fields: str) -> list[str]:
        return [str(rng.choice(fields))] if rng.random() < 0.5 else []

    bits = rng.choice([2, 3, 4, 5, 6, 8])
    codes = {
        "signed": f"i{bits}",
        "float": rng.choice(["f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"]),
        "codebook": f"#kvq.codebook<{rng.choice(['nf4', 'iq4_nl', 'lloyd_max = 3', 'values = [-1.0, -0.25, 0.0, 0.5]'])}>",
    }.get(kind, f"ui{bits}")
    scales = ["f16", "bf16", "f32"]
    zero = ""
    rule = {
        "float": maybe("ties = lower"),
        "codebook": maybe("ties = up"),
    }.get(kind, maybe("ties = up", "ties = away")) + maybe("quotient = reciprocal")
    if kind == "signed":
        rule += maybe("bounds = full")
    if kind == "minimum":
        zero = f", zero = min {rng.choice(scales)}"
    if kind == "point":
        zero = f", zero = point {rng.choice(['ui8', *scales])}"
        rule = [field for field in rule if "quotient" not in field]
        rule += maybe("span = elements") + maybe("quotient = reciprocal", "quotient = fused")
    how = rng.choice(["covering", "nearest", "nearest", "nearest", "exponent"])
    if how == "exponent" and "codebook" not in codes:
        scales = ["f8E8M0FNU"]
        rule.append("scale = exponent")
    if how == "nearest":
        rule.append("scale = nearest")
        rule += maybe("least = 1.0e-6", "least = 0.02") + maybe("constant = 1.0e-4") + maybe("precision = f16", "precision = bf16")
        rule += maybe("metadata = unrounded")
        if kind in ("signed", "codebook"):
            rule += maybe("extremum = signed")
        if kind in ("signed", "codebook", "float") and "metadata = unrounded" in rule:
            rule += maybe("fit = squares")
        if kind == "minimum":
            rule += maybe("fit = end")
        if not {"extremum = signed", "fit = squares", "fit = end"} & set(rule):
            scales.append("f8E4M3FN")
    group = rng.choice(["[1, 32]", "[1, *]", "[4, 16]", "[8, 1]"])
    ranges = ["clip<0.8>"]
    if "metadata = unrounded" not in rule:
        ranges.append("search<3>")
    if kind == "codebook" and "extremum = signed" not in rule:
        ranges += ["rms", "norm"]
    clip = f", range = {rng.choice(ranges)}" if rng.random() < 0.4 else ""
    rng.shuffle(rule)
    return (
        f"codes = {codes}, group = {group}, scale = {rng.choice(scales)}{zero}{clip}, "
        f"rule = #kvq.rule<{', '.join(rule)}>"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(20 if FULL else 1))
def test_codes_under_random_rules(kind, part, rng):
    on_gpu = int(rng.integers(4))
    for i in range(4):
        text = draw(rng, kind)
        fmt, oracle = kvq.Format(text), reference.Format.parse(text)
        dtype = str(rng.choice(["f16", "f32"]))
        x = values(rng, (2, 2, 8 * int(rng.integers(1, 9)), 64), dtype)
        if rng.random() < 0.5:
            x = np.where(np.abs(x) < 100, np.round(x * 2) / 2, x).astype(x.dtype)  # ties
        x[rng.random(x.shape) < 0.0005] = np.nan
        z = kvq.quantize(x, fmt)
        codes, scales, zeros = reference.quantize(x, oracle, dtype)
        case = f"{text}: T = {dtype}, shape {x.shape}"
        assert same(z.scales, scales), case
        assert zeros is None or same(z.zeros, zeros), case
        assert same(z.codes, codes), case
        if FULL or i == on_gpu:
            check_emulated(x, fmt, dtype, rng)


def check_emulated(x: np.ndarray, fmt: kvq.Format, dtype: str, rng: np.random.Generator) -> None:
    """A GPU's kernel stores the same."""
    device = kvq.Emulator(str(rng.choice(CHIPS)), str(rng.choice(ORDERS)), int(rng.integers(1 << 32)))
    caches = [kvq.Cache(*x.shape, fmt, dtype, fill=0xFF, device=d) for d in (None, device)]
    for cache in caches:
        cache.append(x)
    for name, stored in caches[0].storage().items():
        assert same(caches[1].storage()[name], stored), (str(fmt), device, name)


def near_ties(rng: np.random.Generator) -> np.ndarray:
    """Rows of odd multiples of half (in the second 32 channels, of an eighth) of some step, and a row of zeros."""
    step = np.exp(rng.standard_normal((1, 1, 400, 1))).astype(np.float32)
    x = (rng.integers(-127, 127, (1, 1, 400, 64)) + 0.5).astype(np.float32)
    x[..., 32:] = np.round(x[..., 32:]) / 16
    x[..., 0], x[..., 32] = 127, 6
    x[0, 0, 7] = 0
    return x * step


BYTES = "codes = i8, group = [1, 32], scale = f16"
MINIMA = "codes = ui8, group = [1, 32], scale = f16, zero = min f16"
POINTS = "codes = ui8, group = [1, 4], scale = f32, zero = point f32"
BOOK = "codes = #kvq.codebook<values = [-1.0, 0.0, 0.5, 1.0]>, group = [1, 32], scale = f32"


@pytest.mark.parametrize(
    "text, before, field",
    [
        (BYTES.replace("f16", "f32"), "", "ties = away"),
        (BYTES.replace("f16", "f32"), "ties = away", "ties = up"),
        (BYTES.replace("f16", "f32"), "", "quotient = reciprocal"),
        (BYTES, "scale = nearest", "metadata = unrounded"),
        (f"{BYTES}, range = clip<0.5>", "", "bounds = full"),
        (BYTES, "scale = nearest", "extremum = signed"),
        (BYTES, "scale = nearest", "least = 0.5"),
        (BYTES, "scale = nearest", "constant = 0.5"),
        (BYTES.replace("f16", "f8E4M3FN"), "", "scale = nearest"),
        (MINIMA, "scale = nearest", "fit = end"),
        (MINIMA, "scale = nearest", "precision = f16"),
        (MINIMA, "scale = nearest", "precision = bf16"),
        (POINTS, "scale = nearest", "span = elements"),
        (POINTS, "scale = nearest, quotient = reciprocal", "quotient = fused"),
        ("codes = f4E2M1FN, group = [1, 32], scale = f32", "", "ties = lower"),
        ("codes = f4E2M1FN, group = [1, 32], scale = f8E8M0FNU", "", "scale = exponent"),
        (BOOK, "", "ties = up"),
        (BOOK, "scale = nearest, metadata = unrounded", "fit = squares"),
    ],
)
def test_every_field_changes_something(text, before, field, rng):
    """An option that is accepted has an effect."""
    x = near_ties(rng)
    if "codebook" in text:
        x = (x / 32).astype(np.float32)
        x[..., 32:] = np.round(np.clip(x[..., 32:], -1, 1) * 4) / 4
        x[..., 32] = 1
    name = field.partition(" = ")[0]
    kept = [part for part in before.split(", ") if part and part.partition(" = ")[0] != name]
    without, under = (
        kvq.quantize(x, kvq.Format(f"{text}, rule = #kvq.rule<{rule}>")) for rule in (before, ", ".join([*kept, field]))
    )
    parts = [(z.codes, z.scales, z.zeros) for z in (without, under)]
    assert not all(a is None or same(a, b) for a, b in zip(*parts, strict=True))


def test_a_default_rule_does_not_print():
    plain = "codes = i4, group = [1, 32], scale = f16"
    assert kvq.Format(f"{plain}, rule = #kvq.rule<>") == kvq.Format(plain)
    assert kvq.Format(f"{plain}, rule = #kvq.rule<ties = even, least = 0.0>") == kvq.Format(plain)
    assert str(kvq.Format(f"{plain}, rule = #kvq.rule<least = 1.0e-6, scale = nearest>")).endswith(
        "rule = #kvq.rule<scale = nearest, least = 1.0e-06>"
    )


@pytest.mark.parametrize("codes", ["i2", "i5", "i8"])
@pytest.mark.parametrize("scale", ["f32", "bf16"])
def test_the_largest_scale_leaves_every_code_finite(codes, scale):
    """Full bounds have one code more below zero than above it: the cap of scales is that of the farther one."""
    text = f"codes = {codes}, group = [1, 8], scale = {scale}, rule = #kvq.rule<bounds = full>"
    x = np.zeros((1, 1, 2, 8), np.float32)
    x[0, 0, 0, 3], x[0, 0, 1, 5] = np.inf, -np.inf
    fmt = kvq.Format(text)
    z = kvq.quantize(x, fmt)
    codes_, scales, _ = reference.quantize(x, reference.Format.parse(text), "f32")
    assert same(z.scales, scales)
    assert same(z.codes, codes_)
    assert np.isfinite(kvq.dequantize(z)).all()
    lowest = z.scales if scale == "f32" else (z.scales.astype(np.uint32) << 16).view(np.float32)
    assert np.isfinite(lowest * np.float32(-(2 ** (int(codes[1:]) - 1)))).all()
