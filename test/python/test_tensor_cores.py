"""Attention on tensor cores, on the emulator, against the oracle: what maps to kvq.block_attention, with fresh draws."""

import attention_paths as paths
import numpy as np
import pytest
from test_attention_variants import random_variant
from test_emulated import check, draw_device
from test_differential import DTYPES, fill
from test_rotation import oracle_given

import kvq_mlir as kvq
from kvq_mlir import _kvq, reference
from kvq_mlir.devices import ORDERS
from kvq_mlir.ir import attention as attention_ir
from kvq_mlir.metrics import relative_l2

BIASED = "layout = #kvq.layout<codes = planar, bias>"
NUMBERS = "-3.0e5, -2.0e5, -1.0e5, -5.0e4, -1.0e4, -100.0, -1.0, 0.0, 1.0, 100.0, 7.0e3, 5.0e4, 1.0e5, 2.0e5, 2.5e5, 3.0e5"
FORMATS = {
    "i8": "codes = i8, group = [1, *], scale = f16",
    "i8 biased": f"codes = i8, group = [1, *], scale = f32, {BIASED}",
    "i8 by 32": "codes = i8, group = [1, 32], scale = f16",
    "ui8": "codes = ui8, group = [1, *], scale = bf16, zero = min bf16",
    "i4": "codes = i4, group = [1, *], scale = f16",
    "i4 by 32": "codes = i4, group = [1, 32], scale = f16",
    "i4 biased by 32": f"codes = i4, group = [1, 32], scale = f32, {BIASED}",
    "ui4": "codes = ui4, group = [1, *], scale = f16, zero = min f16",
    "ui4 by 32": "codes = ui4, group = [1, 32], scale = f16, zero = min f16",
    "ui8 by 16": "codes = ui8, group = [1, 16], scale = f16, zero = min f16",
    "ui4 point": "codes = ui4, group = [1, *], scale = f32, zero = point f32",
    "i4 stream": "codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<codes = stream>",
    "i2": "codes = i2, group = [1, *], scale = f16",
    "ui2 by 32": "codes = ui2, group = [1, 32], scale = f16, zero = min f16",
    "f8E4M3FN": "codes = f8E4M3FN, group = [1, *], scale = f32",
    "f8E5M2": "codes = f8E5M2, group = [1, *], scale = f16",
    "i8, scales of f8": "codes = i8, group = [1, *], scale = f8E4M3FN",
    "i4 by 32, two levels": "codes = i4, group = [1, 32], scale = f8E4M3FN of f32",
    "ui4 point of integers": "codes = ui4, group = [1, *], scale = f8E4M3FN, zero = point ui8",
    "f8E4M3FN by 32, powers of two": "codes = f8E4M3FN, group = [1, 32], scale = f8E8M0FNU",
    "f4E2M1FN": "codes = f4E2M1FN, group = [1, *], scale = f16",
    "f4E2M1FN by 32, powers of two": "codes = f4E2M1FN, group = [1, 32], scale = f8E8M0FNU",
    "f4E2M1FN by 16, two levels": "codes = f4E2M1FN, group = [1, 16], scale = f8E4M3FN of f32",
    "nf4 by 32": "codes = #kvq.codebook<nf4>, group = [1, 32], scale = f16",
    "iq4_nl": "codes = #kvq.codebook<iq4_nl>, group = [1, *], scale = f32, layout = #kvq.layout<codes = stream>",
    "numbers": f"codes = #kvq.codebook<values = [{NUMBERS}]>, group = [1, *], scale = f32",
    "lloyd_max": "codes = #kvq.codebook<lloyd_max = 4>, group = [1, 64], scale = f16, range = rms",
    "i8 static": "codes = i8, group = [*, 1], scale = f32, range = static",
    "ui4 static": "codes = ui4, group = [*, 16], scale = f16, zero = point ui8, range = static",
    "ui2 static": "codes = ui2, group = [*, 1], scale = bf16, zero = min f16, range = static",
    "i4 static, of heads": "codes = i4, group = [*, 32], heads = *, scale = f8E4M3FN of f32, range = static",
    "f8E4M3FN static": "codes = f8E4M3FN, group = [*, *], scale = f32, range = static",
    "f8E5M2 static": "codes = f8E5M2, group = [*, 8], scale = f8E8M0FNU, range = static",
    "exact": "codes = none",
}
# Several tokens share a scale, which the query is multiplied by: of keys.
KEY_FORMATS = FORMATS | {
    "ui4 by channel": "codes = ui4, group = [32, 1], scale = f16, zero = min f16",
    "ui8 by channel": "codes = ui8, group = [32, 1], scale = f16, zero = min f16",
    "ui2 by channel": "codes = ui2, group = [32, 1], scale = f16, zero = min f16",
    "f8E4M3FN by channel": "codes = f8E4M3FN, group = [32, 1], scale = f16",
    "i4 by channel and 16 tokens": "codes = i4, group = [16, 1], scale = f16",
    "i8 by channel": "codes = i8, group = [64, 1], scale = f32",
    "i4 by 128 tokens, 16 channels": "codes = i4, group = [128, 16], scale = f16",
    "ui2 by 16 tokens": "codes = ui2, group = [16, 32], scale = bf16, zero = point f16",
    "f8E5M2 by channel": "codes = f8E5M2, group = [32, 1], scale = f16",
    "f4E2M1FN by channel": "codes = f4E2M1FN, group = [32, 1], scale = bf16",
    "nf4 by channel": "codes = #kvq.codebook<nf4>, group = [64, 1], scale = f16",
    "i4 by channel, two levels": "codes = i4, group = [32, 1], scale = f8E4M3FN of f32",
    "ui4 by channel, points of integers": "codes = ui4, group = [32, 1], scale = f16, zero = point ui8",
}
# Values in the order of operands, in tiles of a step of tokens.
FRAGMENTS = {
    f"{codes} in fragments of {tokens}": (
        f"codes = {codes}, {rest}, layout = #kvq.layout<codes = planar{bias}, tile = fragments<{tokens}>>"
    )
    for codes, rest, bias, tokens in (
        ("i8", "group = [1, *], scale = f16", ", bias", 64),
        ("i8", "group = [1, *], scale = f32", "", 32),
        ("ui8", "group = [1, *], scale = bf16, zero = min bf16", "", 16),
        ("i4", "group = [1, *], scale = f16", "", 64),
        ("ui4", "group = [1, *], scale = f16, zero = point f16", "", 64),
        ("i2", "group = [1, *], scale = f16", ", bias", 64),
        ("ui2", "group = [1, *], scale = f16, zero = min f16", "", 32),
    )
}
VALUE_FORMATS = FORMATS | FRAGMENTS
WINDOWS = ({}, {}, {"exact_first": 3}, {"recent": 20}, {"recent": 33, "exact_first": 5})
NAMES = ("causal", "positions", "mask", "slopes", "sinks", "softcap", "window")


def maps(text, chip):
    """Whether all attention of a module is for the tensor cores of a chip."""
    passes = f"kvq-split-tokens,kvq-split-regions,kvq-map-to-tensor-cores{{chip={chip}}}"
    found = kvq.run_pipeline(text, f"builtin.module(func.func({passes}))")
    return "kvq.block_attention" in found and "kvq.partial_attention" not in found


def draw_given(text, heads, dim, seed, spread=1):
    """What a format asks for when its cache is made, of elements up to a few times `spread`."""
    sample = np.random.default_rng(seed).standard_normal((2, heads, 40, dim))
    return kvq.calibrate((spread * sample).astype(np.float32), kvq.Format(text))


def make_cache(text, batch, heads, capacity, dim, dtype="f16", spread=1, **parameters):
    given = draw_given(text, heads, dim, capacity, spread)
    return kvq.Cache(batch, heads, capacity, dim, kvq.Format(text), dtype, given=given, fill=0xFF, **parameters)


class Side:
    """A cache and its oracle."""

    def __init__(self, text, batch, heads, capacity, dim, dtype="f16", spread=1, **parameters):
        self.compiled = make_cache(text, batch, heads, capacity, dim, dtype, spread, **parameters)
        parameters.pop("page", None)  # where tokens lie is nothing to the oracle
        parameters.pop("token_major", None)
        calibration = oracle_given(draw_given(text, heads, dim, capacity, spread))
        options = dict(dtype=dtype, calibration=calibration, **parameters)
        self.oracle = reference.Cache(reference.Format.parse(text), batch, heads, dim, capacity, **options)

    def append(self, x, counts):
        self.compiled.append(x, counts)
        self.oracle.append(x, counts)


def format_of(name):
    return KEY_FORMATS.get(name) or FRAGMENTS[name]


def draw_parameters(rng, name):
    parameters = {"dtype": str(rng.choice(["f16", "bf16"]))}
    if name == "exact":
        return parameters if rng.random() < 0.5 else {**parameters, "page": int(rng.choice([16, 32, 64]))}
    parameters |= WINDOWS[rng.integers(len(WINDOWS))]
    if name in FRAGMENTS:
        return parameters if rng.random() < 0.5 else {**parameters, "page": int(rng.choice([64, 128]))}
    if (tokens := reference.Format.parse(KEY_FORMATS[name]).tokens) > 1:
        parameters.setdefault("recent", int(rng.integers(0, 40)))
        if rng.random() < 0.3:
            parameters["page"] = tokens * int(rng.integers(1, 3))
    elif rng.random() < 0.3:
        parameters["page"] = int(rng.choice([16, 32, 48, 64, 128]))
    if rng.random() < 0.2 and "heads =" not in KEY_FORMATS[name]:
        parameters["token_major"] = True
    return parameters


def draw_pair(rng, names, lengths, heads, dim):
    """Two sides, filled. Pages of both begin at the same token."""
    parameters = [draw_parameters(rng, name) for name in names]
    grouped = reference.Format.parse(KEY_FORMATS[names[0]]).tokens > 1
    if (names[1] in FRAGMENTS or "page" in parameters[1]) and ("page" in parameters[0] or grouped):
        for of in parameters:
            of.pop("exact_first", None)
    capacity = int(max(lengths)) + int(rng.integers(0, 70))
    sides = [
        Side(format_of(name), len(lengths), heads, capacity, dim, **of)
        for name, of in zip(names, parameters, strict=True)
    ]
    fill(rng, sides, np.array(lengths), heads, dim)
    return sides


@pytest.mark.parametrize("key", KEY_FORMATS)
def test_pairs_and_variants_are_within_bounds_of_the_oracle(key, rng):
    check_pair(rng, (key, str(rng.choice(list(VALUE_FORMATS)))))


@pytest.mark.parametrize("value", FRAGMENTS)
def test_values_in_fragments(value, rng):
    check_pair(rng, (str(rng.choice(list(FORMATS))), value))


def check_pair(rng, names):
    """Attention over a drawn pair of caches, of drawn shapes, with drawn variants."""
    dim = int(rng.choice([64, 128]))
    if dim == 64 and any(name.endswith("by 32") and name.startswith(("i4", "ui4", "ui2")) for name in names):
        dim = 128  # groups fill the bytes that lanes load
    heads, ratio, q_len = int(rng.integers(1, 3)), int(rng.choice([1, 2, 4, 7, 8, 12])), int(rng.choice([1, 1, 2, 3]))
    lengths = [int(rng.choice([q_len, 15, 63, 64, 65, 255, 256, 257, 300, rng.integers(3, 700)])) for _ in range(2)]
    k, v = draw_pair(rng, names, lengths, heads, dim)
    device = draw_device(rng)
    variant = random_variant(rng, 2, heads * ratio, q_len, lengths, [name for name in NAMES if rng.random() < 0.3])
    q = rng.standard_normal((2, heads * ratio, q_len, dim)).astype(DTYPES[str(rng.choice(["f16", "f32"]))])
    print(f"K {k.compiled.type}; V {v.compiled.type}; ratio {ratio}, {q_len=}, {lengths=}, {variant}, {device}")
    check(q, k, v, device, variant, splits=int(rng.choice([1, 1, 3])))


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", KEY_FORMATS)
def test_formats_map_to_tensor_cores(name, dtype):
    keys = make_cache(KEY_FORMATS[name], 1, 2, 256, 128, dtype, residual=None if name == "exact" else 128)
    cache = make_cache(FORMATS.get(name, FORMATS["i8"]), 1, 2, 256, 128, dtype)
    windows = keys.has_window, False
    variant = attention_ir.Variant(scale=0.1, causal=True)
    text = attention_ir.attention((1, 16, 128), "f32", 128, keys.type, cache.type, windows, variant, (False, False))
    assert maps(text, "sm_80") and maps(text, "sm_89")


def compiles(text, chip, tensor_cores=True):
    """Whether kernels fit the chip's memory with the first tiles that are tried."""
    try:
        kvq.run_pipeline(text, f"builtin.module(kvq-nvvm-pipeline{{chip={chip} tensor-cores={str(tensor_cores).lower()}}})")
    except kvq.Error as error:
        assert "bytes of" in str(error), error
        return False
    return True


TURNED = "codes = i8, group = [1, *], scale = f16, rotate = hadamard<64>"  # a state of its own


def draw_mix(rng):
    """Both sides with windows, whose exact rows are the longest, or of formats that threads attend to."""
    others = ["codes = i5, group = [1, *], scale = f16", TURNED]
    texts = [KEY_FORMATS[rng.choice(list(KEY_FORMATS))], str(rng.choice([*FORMATS.values(), *others]))]
    return int(rng.choice([128, 192, 256])), int(rng.choice([4, 8, 16, 32])), texts, str(rng.choice(["sm_80", "sm_89", "sm_120a"]))


MIXES = [
    (256, 32, [FORMATS["i8"], FORMATS["i4"]], "sm_80"),
    (128, 32, [FORMATS["i8"], TURNED], "sm_80"),
    (128, 32, [FORMATS["i8"]] * 2, "sm_89"),
    *[None] * 4,
]


@pytest.mark.parametrize("mix", MIXES)
def test_what_is_planned_fits_at_first(mix, rng):
    """Rings have what the rest of the kernel leaves. Where threads alone fit, so does what is in part for tensor cores."""
    dim, ratio, texts, chip = mix or draw_mix(rng)
    sides = []
    for text in texts:
        windows = {} if text == FORMATS["exact"] else dict(exact_first=4, recent=128)
        sides.append(make_cache(text, 1, 2, 512, dim, str(rng.choice(["f16", "bf16"])), **windows))
    k, v = sides
    print(f"K {k.type}; V {v.type}; {ratio=}, {chip}")
    variant = attention_ir.Variant(scale=0.1, causal=True)
    windows = k.has_window, v.has_window
    text = attention_ir.attention((1, 2 * ratio, dim), "f32", dim, k.type, v.type, windows, variant, (False, False))
    assert mix is None or maps(text, chip)
    expected = maps(text, chip) or compiles(text, chip, tensor_cores=False)
    assert compiles(text, chip) or not expected


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_exact_tokens_are_as_exact_as_their_type(dtype, rng):
    """bf16 is multiplied as bf16, whose few digits would be too few for a query and for probabilities."""
    k, v = (Side(FORMATS["exact"], 1, 2, 300, 128, dtype) for _ in range(2))
    for side in (k, v):
        side.append(4 * rng.standard_normal((1, 2, 300, 128)).astype(np.float32), [300])
    q = rng.standard_normal((1, 16, 1, 128)).astype(np.float32)
    expected = reference.attention(q, k.oracle, v.oracle)
    found = kvq.attention(q, k.compiled, v.compiled, device=draw_device(rng))
    assert relative_l2(found, expected) <= 1e-3


@pytest.mark.parametrize("name", [name for name in KEY_FORMATS if reference.Format.parse(KEY_FORMATS[name]).tokens > 1])
def test_a_query_times_scales_keeps_its_digits(name, rng):
    """Scales are as much smaller as codes are larger: up to 57344 of f8E5M2, whose products must not be subnormal."""
    k, v = Side(KEY_FORMATS[name], 1, 1, 300, 128), Side(FORMATS["i8"], 1, 1, 300, 128)
    for side in (k, v):
        side.append(rng.standard_normal((1, 1, 300, 128)).astype(np.float16), [300])
    q = rng.standard_normal((1, 8, 1, 128)).astype(np.float16)
    expected = reference.attention(q, k.oracle, v.oracle)
    found = kvq.attention(q, k.compiled, v.compiled, device=draw_device(rng))
    assert relative_l2(found, expected) <= 1e-3


@pytest.mark.parametrize(("dim", "ratio", "q_len"), [(128, 9, 1), (128, 3, 6), (64, 5, 5), (64, 3, 11), (192, 4, 3)])
def test_query_rows_of_several_tiles(dim, ratio, q_len, rng):
    """As many at once as there are registers for, in rounds, the last one not full; rows see different tokens."""
    k, v = draw_pair(rng, [str(name) for name in rng.choice(["i8", "ui4", "exact"], 2)], [300, 40], 1, dim)
    variant = random_variant(rng, 2, ratio, q_len, [300, 40], ["causal", "positions", "slopes", "sinks", "window"])
    q = rng.standard_normal((2, ratio, q_len, dim)).astype(np.float32)
    check(q, k, v, draw_device(rng), variant)


@pytest.mark.parametrize("name", ["i8", "i8 biased", "i4", "ui4"])
def test_codes_are_unpacked_once_for_several_query_rows(name):
    """The same steps have the same instructions on codes, and a product for each eight rows."""

    def count(heads):
        cache = kvq.Cache(1, 1, 256, 64, kvq.Format(FORMATS[name]))
        variant = attention_ir.Variant(scale=0.1, causal=True)
        text = attention_ir.attention((1, heads, 64), "f32", 64, cache.type, cache.type, (False, False), variant, (False, False))
        ptx, _ = _kvq.gpu_code(text, chip="sm_80")
        return ptx.count("lop3.b32"), ptx.count("mma.sync")

    one, two = count(8), count(16)
    assert one[0] > 0 and two == (one[0], 2 * one[1])


ANY_SIZE = ("i4 by 32", "i4 by 32, two levels", "f8E4M3FN by 32, powers of two")


@pytest.mark.parametrize("spread", [1, 1e-6, 1e4])
@pytest.mark.parametrize("text", ["codes = i8, group = [1, *], scale = f32", *(FORMATS[name] for name in ANY_SIZE)])
def test_scales_of_any_size(text, spread, rng):
    """Probabilities times scales leave the range of an f16 at neither end, whatever values' scales are. Long enough for
    whole steps."""
    tokens, dim = int(rng.integers(400, 1200)), 128
    k, v = Side(FORMATS["i8"], 1, 1, tokens, dim), Side(text, 1, 1, tokens, dim, spread=spread)
    x = rng.standard_normal((2, 1, 1, tokens, dim))
    k.append(x[0].astype(np.float16), [tokens])
    v.append((spread * x[1]).astype(np.float16), [tokens])
    q = rng.standard_normal((1, 8, 1, dim)).astype(np.float32)
    check(q, k, v, draw_device(rng), {}, splits=1)


@pytest.mark.parametrize("means", [(0, 100), (2, -30), (-1, 1)])
@pytest.mark.parametrize("name", ["ui4", "ui4 by 32", "ui2 by 32", "ui8 by 16"])
def test_zeros_far_from_codes(name, means, rng):
    """What zeros add is more than all that codes do: of keys times sums of the query, of values times probabilities. Both
    are split, or as exact as who dequantizes rounds them."""
    dim = int(rng.choice([128] if name.endswith("by 32") else [64, 128]))
    tokens, spread = int(rng.integers(400, 900)), float(rng.choice([1, 0.05]))
    path = paths.Path(FORMATS[name], FORMATS[name], dim)
    x = spread * rng.standard_normal((2, 1, 2, tokens, dim)) + np.reshape(means, (2, 1, 1, 1, 1))
    caches = paths.fill(path, x.astype(np.float16), np.array([tokens]), capacity=tokens)
    q = rng.standard_normal((1, 16, 1, dim)).astype(np.float32)
    out, _ = paths.attend(path, paths.Mode(chip=str(rng.choice(["sm_80", "sm_90a"]))), q, caches)
    error, half = relative_l2(out[0], paths.expect(path, q, caches)[0]), paths.half_errors(q, caches, path)[0]
    print(f"{spread=}, error {error:.2e}, of f16 {half:.2e}")
    assert error <= 2 * half + 1e-5


@pytest.mark.parametrize("spread", [1e-30, 1e-6, 1e4, 1e25])
@pytest.mark.parametrize("name", ["i8 static", "ui2 static", "f8E4M3FN static"])
def test_given_scales_of_any_size(name, spread, rng):
    """Of keys the query is multiplied by them, and is within an f16 all the same; of values the output is."""
    if "zero = min f16" in FORMATS[name]:
        spread = np.clip(spread, 1e-3, 1e3)  # which holds no others
    tokens, dim = int(rng.integers(100, 500)), 128
    k, v = (Side(FORMATS[name], 1, 1, tokens, dim, "f32", spread) for _ in range(2))
    x = rng.standard_normal((2, 1, 1, tokens, dim))
    for side, of in zip((k, v), x, strict=True):
        side.append((spread * of).astype(np.float32), [tokens])
    q = (rng.standard_normal((1, 8, 1, dim)) / spread).astype(np.float32)
    check(q, k, v, draw_device(rng), {}, splits=1)


def test_scores_that_grow(rng):
    """Each step's scores are larger than all before by more than a rescaling allows for, then they fall."""
    k, v = (Side(FORMATS[name], 1, 1, 1100, 64) for name in ("exact", "i8"))
    direction = np.zeros(64)
    direction[0] = 1
    rise = np.concatenate([np.linspace(-60, 60, 600), np.linspace(60, -200, 500)])
    keys = (rise[None, None, :, None] * direction).astype(np.float16)
    k.append(keys, [1100])
    v.append(rng.standard_normal((1, 1, 1100, 64)).astype(np.float16), [1100])
    q = np.zeros((1, 3, 1, 64), np.float32)
    q[:, 0, :, 0], q[:, 1, :, 0], q[:, 2, :, 0] = 8, 1, -8
    check(q, k, v, draw_device(rng), {})


@pytest.mark.parametrize("number", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["exact", "i8", "i4 by 32", "f8E4M3FN", "f8E4M3FN by 32, powers of two"])
def test_scores_that_are_no_numbers_leave_other_rows_theirs(name, number, rng):
    """A lane has scores of two query rows: it finds out that those of one grow too large whatever those of the other are,
    and no other lane does."""
    k, v = (Side(FORMATS[name], 1, 1, 600, 64) for name in ("exact", name))
    keys = rng.standard_normal((1, 1, 600, 64)).astype(np.float16)
    keys[..., 0], keys[..., 1] = np.linspace(-20, 20, 600), 0
    k.append(keys, [600])
    v.append(rng.standard_normal((1, 1, 600, 64)).astype(np.float16), [600])
    q = np.zeros((1, 8, 1, 64), np.float32)
    odd = int(rng.integers(0, 8))
    q[:, odd ^ 1, :, 0], q[:, odd, :, 1] = 8, number  # times 0
    expected = reference.attention(q, k.oracle, v.oracle)
    found = kvq.attention(q, k.compiled, v.compiled, device=draw_device(rng))
    assert np.isnan(expected[:, odd]).all() and np.isnan(found[:, odd]).all()
    assert relative_l2(np.delete(found, odd, 1), np.delete(expected, odd, 1)) <= 2e-3


def test_tokens_that_are_hidden_have_no_influence(rng):
    """What is behind the end of a sequence, and scales of tokens that a row does not see, may be NaN."""
    k, v = (Side(FORMATS["i8"], 1, 1, 256, 64) for _ in range(2))
    x = rng.standard_normal((1, 1, 100, 64)).astype(np.float16)
    x[:, :, 97:] = np.nan
    for side in (k, v):
        side.append(x, [100])
    q = rng.standard_normal((1, 2, 4, 64)).astype(np.float32)
    expected = reference.attention(q, k.oracle, v.oracle)
    found = kvq.attention(q, k.compiled, v.compiled, device=draw_device(rng))
    assert np.isnan(expected[:, :, 1:]).all() and np.isnan(found[:, :, 1:]).all()
    assert relative_l2(found[:, :, 0], expected[:, :, 0]) <= 2e-3


LONG = ("i8", "i8 biased", "ui8", "i4", "i4 by 32", "ui4", "ui4 by 32", "i2", "ui2 by 32", "f8E5M2", "f8E4M3FN", "f4E2M1FN", "nf4 by 32")


@pytest.mark.parametrize("name", LONG)
def test_long_contexts_have_no_bias(name, rng):
    """Sums of products with codes lose digits toward zero, token after token, most of all those of offsets: values whose
    mean over 64K tokens is little beside them, and a mean that is large."""
    tokens, dim = 1 << 16, 128
    path = paths.Path(KEY_FORMATS[str(rng.choice(["i8", "ui4", "i2"]))], FORMATS[name], dim)
    x = rng.standard_normal((2, 1, 1, tokens, dim)).astype(np.float16)
    q = rng.standard_normal((1, 4, 1, dim)).astype(np.float32)
    caches = paths.fill(path, x, np.array([tokens]), capacity=tokens)
    out, _ = paths.attend(path, paths.Mode(chip="sm_80"), q, caches)
    expected, half = paths.expect(path, q, caches), paths.half_errors(q, caches, path)[0]
    error = relative_l2(out[0], expected[0])
    print(f"error {error:.2e}, of f16 {half:.2e}")
    assert error <= (2e-3 if name.startswith(("i2", "ui2")) else 2 * half + 2e-4)
    if name in ("i2", "i4"):  # weights that are almost equal: nearly all of the output cancels
        alike, _ = paths.attend(path, paths.Mode(chip="sm_80"), q / 10, caches)
        error = relative_l2(alike[0], paths.expect(path, q / 10, caches)[0])
        half = paths.half_errors(q / 10, caches, path)[0]
        print(f"with almost equal weights {error:.2e}, of f16 {half:.2e}")
        assert error <= 2e-3

    # Equal weights, values around 1.
    ones = np.full((1, 1, 1, tokens, dim), 1, np.float16)
    caches = paths.fill(path, np.concatenate([x[:1], ones + x[1:] / 16]), np.array([tokens]), capacity=tokens)
    out, _ = paths.attend(path, paths.Mode(chip="sm_80"), 0 * q, caches)
    expected = paths.held(caches)[1][0].mean(axis=1)
    # Almost all have the same number of a codebook, which is an f16.
    most = 2.5e-4 if name.startswith("nf4") else 1e-4
    assert relative_l2(out[0, :, 0], np.broadcast_to(expected, out[0, :, 0].shape)) <= most


@pytest.mark.parametrize("copies", kvq.devices.COPIES)
@pytest.mark.parametrize("names", [("i2", "i2"), ("ui4 by channel", "i4"), ("i2", "i2 in fragments of 64")])
def test_short_steps_are_copied_two_ahead(names, copies, rng):
    """Long enough that slots of the ring, five of them, come around in whole steps."""
    k, v = draw_pair(rng, names, [1800, int(rng.integers(900, 1400))], 1, 128)
    q = rng.standard_normal((2, int(rng.choice([4, 8])), 1, 128)).astype(np.float32)
    chips = ("sm_80", "sm_90a") if copies == "async" else ("sm_90a", "sm_100a")
    chip, order = str(rng.choice(chips)), str(rng.choice(ORDERS))
    print(f"K {k.compiled.type}; V {v.compiled.type}; {chip}, {order}")
    check(q, k, v, kvq.Emulator(chip, order, seed=int(rng.integers(1 << 32)), copies=copies), {}, splits=1)


def test_orders_change_nothing(rng):
    k, v = draw_pair(rng, ("i4", "i8"), [333], 2, 128)
    q = rng.standard_normal((1, 16, 1, 128)).astype(np.float32)
    outs = [
        kvq.attention(q, k.compiled, v.compiled, device=kvq.Emulator(order=order, seed=3), splits=2) for order in ORDERS
    ]
    assert all(np.array_equal(outs[0], out) for out in outs[1:])


def test_without_codes_there_are_no_pages(rng):
    """A sequence whose tokens are all recent has no page, and a table may have no entry."""
    k = Side(KEY_FORMATS["i4 by 128 tokens, 16 channels"], 1, 1, 68, 64, recent=20, page=256)
    v = Side(FORMATS["i8"], 1, 1, 68, 64, page=64)
    for side in (k, v):
        side.append(rng.standard_normal((1, 1, 40, 64)).astype(np.float16), [40])
    q = rng.standard_normal((1, 4, 1, 64)).astype(np.float32)
    check(q, k, v, draw_device(rng), {})
