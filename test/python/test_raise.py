"""From what frameworks make of models that do not know kvq to quantized caches."""

import itertools
import os
import re
import subprocess
import time

import kvq_mlir as kvq
import numpy as np
import pytest
from kvq_mlir import _kvq
from kvq_mlir.front_ends import from_torch_mlir
from lowerings import KVQ_OPT
from models.architectures import ARCHITECTURES, SEED, Architecture, draw_tokens
from models.compiled import MODELS, CompiledModel, Kept, Plan, read_model, same_everywhere, with_policy
from models.numpy_models import Decoder

FULL = os.environ.get("KVQ_FULL") == "1"
# Logits are of about 1. An f32 sum in another order may round a token of an f16 cache to its other neighbour.
TOLERANCE = {"f32": 1e-4, "f16": 2e-3}
# ... or the code of an element to another, which changes logits by less than this. Quantization itself changes them by 0.1
# to 1.
CODE_TOLERANCE = {"f32": 5e-3, "f16": 5e-2}

PER_CHANNEL = "codes = ui4, group = [8, 1], scale = f16, zero = min f16"
PER_TOKEN = "codes = ui4, group = [1, 32], scale = f16, zero = min f16"
INT8 = "codes = i8, group = [1, *], scale = f32"
FP8 = "codes = f8E4M3FN, group = [1, *], scale = f32"
NF4 = "codes = #kvq.codebook<nf4>, group = [1, 16], scale = f16"
INT3 = "codes = i3, group = [1, 16], scale = bf16"
FORMATS = {
    "int8": Kept(INT8),
    "per token": Kept(PER_TOKEN, exact_first=3),
    "per channel": Kept(PER_CHANNEL, recent=8),
    "sinks and window": Kept(PER_CHANNEL, exact_first=4, recent=5),
    "fp8": Kept(FP8),
    "nf4": Kept(NF4, recent=16),
    "int3": Kept(INT3),
    "exact": Kept(),
}


def framework_logits(a: Architecture) -> np.ndarray:
    """steps x batch x vocabulary"""
    return np.load(MODELS / f"{a.name}.npz")["logits"]


def decode(model: Decoder | CompiledModel, a: Architecture) -> np.ndarray:
    return np.stack([model.step(tokens) for tokens in draw_tokens(a)])


def reference_of(a: Architecture, plan: Plan) -> Decoder:
    return Decoder(a, a.draw_weights(SEED), lambda *place: plan.get(place, Kept()).reference_cache(a))


def check_decoding(a: Architecture, plan: Plan) -> None:
    found = decode(CompiledModel(a, a.draw_weights(SEED), plan), a)
    expected = decode(reference_of(a, plan), a)
    error, effect = (np.abs(expected - other).max() for other in (found, framework_logits(a)))
    print(f"error {error:.2e}, of quantization {effect:.2e}")
    assert error <= CODE_TOLERANCE[a.cache_type]
    assert effect >= 5 * CODE_TOLERANCE[a.cache_type], "nothing was quantized"


# --- the frameworks' outputs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_reference_decodes_as_the_framework_does(name):
    a = ARCHITECTURES[name]
    assert np.abs(decode(reference_of(a, {}), a) - framework_logits(a)).max() <= TOLERANCE[a.cache_type]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_raised_models_decode_as_the_framework_does(name):
    """48 steps over exact caches whose storage holds NaN in the beginning."""
    a = ARCHITECTURES[name]
    found = decode(CompiledModel(a, a.draw_weights(SEED), {}), a)
    assert np.abs(found - framework_logits(a)).max() <= TOLERANCE[a.cache_type]


# --- quantized caches -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_raised_models_decode_under_a_policy(name):
    """Keys and values of each layer kept in another way, against the reference with caches kept so."""
    a = ARCHITECTURES[name]
    ways = [FORMATS[way] for way in ("sinks and window", "per token", "int8", "nf4")]
    check_decoding(a, dict(zip(itertools.product(range(a.layers), ("keys", "values")), ways, strict=True)))


PAIRS = [pair for pair in itertools.product(FORMATS, FORMATS) if pair != ("exact", "exact")]


def test_pairs_of_formats(rng):
    """llama.cpp#28456, #27150: unusual pairs of keys and values fall to a slow path. Every pair is fused: the pipeline ends
    with kvq-verify-fused, which lets no dequantized tensor be longer than a tile."""
    for i in range(len(PAIRS)) if FULL else rng.choice(len(PAIRS), 3, replace=False):
        print(PAIRS[i])
        a = ARCHITECTURES[("llama", "llama-jax", "gemma2")[rng.integers(3)]]
        keys, values = (FORMATS[way] for way in PAIRS[i])
        if keys.exact_first != values.exact_first and {keys.recent, values.recent} != {None}:
            keys, values = Kept(keys.fields, 0, keys.recent), Kept(values.fields, 0, values.recent)
        check_decoding(a, same_everywhere(a, keys, values))


# --- what becomes of the IR -------------------------------------------------------------------------------------------


def kvq_opt(ir_text: str, *options: str) -> tuple[str, str]:
    """Output and diagnostics."""
    done = subprocess.run([KVQ_OPT, "-", *options], input=ir_text, text=True, capture_output=True, check=False)
    return done.stdout, done.stderr


REMARKS = ("--remarks-filter=kvq-raise.*", "--remark-format=emitRemark")


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_all_of_a_model_is_raised(name):
    a = ARCHITECTURES[name]
    raised, remarks = kvq_opt(read_model(name), "--kvq-raise", *REMARKS)
    assert raised.count("kvq.attention ") == a.layers
    assert raised.count("kvq.append ") == 2 * a.layers
    assert "Missed" not in remarks
    assert remarks.count("[Passed] RaiseAttention") == a.layers
    for layer in range(a.layers):
        for side in ("keys", "values"):
            assert f"is the cache of the {side} of attention {layer}" in remarks
    # Neither the tensors of scores nor those of caches are left.
    capacity = a.capacity or "?"
    assert not re.search(rf"tensor<(\d+x)*{capacity}x{a.head_dim}xf\d+>|tensor<(\d+x)*{capacity}xf\d+>", raised)
    assert f"softcap = {a.softcap:e}" in raised if a.softcap else "softcap" not in raised


OTHER_READER = """
  %where = tensor.dim %concat_23, %c2 : tensor<1x2x?x32xf32>
  %newest = tensor.extract %concat_23[%c0, %c0, %c0, %c0] : tensor<1x2x?x32xf32>
  "test.use"(%newest) : (f32) -> ()
"""


def test_a_cache_that_something_else_reads_stays_a_tensor():
    """It is reported, and under a policy it is an error: nothing falls to a slow path in silence (case 46)."""
    text = read_model("llama")
    concat = next(line for line in text.splitlines() if "tensor.concat dim(2)" in line)
    name = concat.split()[0]
    text = text.replace(concat, concat + OTHER_READER.replace("%concat_23", name))
    unknown = "--allow-unregistered-dialect"
    raised, remarks = kvq_opt(text, "--kvq-raise", unknown, *REMARKS)
    assert raised.count("kvq.append ") == 3
    missed = [line for line in remarks.splitlines() if "Missed" in line]
    assert len(missed) == 1
    assert "Reason=\"'tensor.extract' reads the tensor\", Remark=\"keys of attention 0 stay a tensor\"" in missed[0]
    policy = f"module attributes {{kvq.policy = #kvq.policy<<format = #kvq.format<{INT8}>>>}} {{"
    _, error = kvq_opt(text.replace("module {", policy), "--kvq-raise", "--kvq-apply-policy", unknown)
    assert "error: op 'kvq.from_components' carries a !kvq.cache whose type kvq-apply-policy cannot change" in error


@pytest.mark.parametrize(
    "name, before, after, attribute",
    [
        ("gemma2", "2.000000e+01 : f32", "3.000000e+01 : f32", "softcap"),
        ("gemma2", "%c9_i64 = arith.constant 9 : i64", "%c9_i64 = arith.constant 5 : i64", "window"),
        ("gemma2", "0.17677669529663689 : f64", "2.500000e-01 : f64", "scale"),
        ("llama-jax", "0.176776692", "2.500000e-01", "scale"),
        ("llama", "0.17677669529663689 : f64", "2.500000e-01 : f64", "scale"),
    ],
)
def test_numbers_of_a_model_come_to_its_attention(name, before, after, attribute):
    """What a model says of its attention is neither dropped nor taken for something else (case 48)."""
    text = read_model(name)
    assert text.count(before) == 1
    pattern = re.compile(rf"kvq\.attention .*\b{attribute} = (\S+)")
    one, other = (set(pattern.findall(kvq_opt(t, "--kvq-raise")[0])) for t in (text, text.replace(before, after)))
    assert one and other and one.isdisjoint(other)


# --- many layers ------------------------------------------------------------------------------------------------------


def model_of_layers(count: int) -> str:
    """@decode: `count` calls of the layer of llama-layer.mlir, one after the other, with caches of their own."""
    text = read_model("llama-layer").replace("func.func @layer", "func.func private @layer").rstrip().removesuffix("}")
    parameters = re.search(r"@layer\((.*?)\)", text)[1]
    x, cache, _, *weights = re.findall(r": (tensor<\S+>)", parameters)
    inputs, results, body = [f"%x0: {x}"], [x], ""
    names = [f"%x{count}"]
    shared = "".join(f", %w{i}" for i in range(len(weights)))
    types = f"({', '.join([x, cache, cache, *weights])}) -> ({x}, {cache}, {cache})"
    for i in range(count):
        inputs += [f"%k{i}: {cache}", f"%v{i}: {cache}"]
        results += [cache, cache]
        names += [f"%kn{i}", f"%vn{i}"]
        body += f"    %x{i + 1}, %kn{i}, %vn{i} = call @layer(%x{i}, %k{i}, %v{i}{shared}) : {types}\n"
    inputs += [f"%w{i}: {weight}" for i, weight in enumerate(weights)]
    return f"""{text}  func.func @decode({", ".join(inputs)}) -> ({", ".join(results)}) {{
{body}    return {", ".join(names)} : {", ".join(results)}
  }}
}}
"""


FUSED = "builtin.module(kvq-raise,kvq-apply-policy,func.func(kvq-fuse-dequantize),kvq-assign-layout,kvq-outline-kernels)"


def raise_layers(count: int) -> tuple[str, float]:
    """The IR of a model of so many layers, quantized, and the least of three processor times of its passes."""
    plan = {(i, side): FORMATS["per token"] for i in range(count) for side in ("keys", "values")}
    text, times = with_policy(model_of_layers(count), plan), []
    for _ in range(3):
        start = time.process_time()
        fused = _kvq.run_pipeline(text, FUSED)
        times.append(time.process_time() - start)
    return fused, min(times)


def test_32_layers_are_raised_in_seconds_and_share_kernels():
    fused, seconds = raise_layers(32)
    kernels = re.findall(r"func\.func private @(\w+)", fused)
    assert sorted(kernels) == ["kvq_append", "kvq_attention"]
    assert fused.count("call @kvq_attention") == 32
    assert fused.count("call @kvq_append") == 64
    assert seconds <= 5
    _, few = raise_layers(8)
    assert seconds <= 1.8 * 4 * few, f"8 layers {few:.2f} s, 32 layers {seconds:.2f} s"


# --- front ends -------------------------------------------------------------------------------------------------------

SCATTER = """%11 = tm_tensor.scatter {dimension_map = array<i64: 0, 1>} unique_indices(true) ins(%9, %c : tensor<8x1x1xf32>, tensor<8x2xi64>) outs(%arg1 : tensor<4x8xf32>) {
    ^bb0(%arg6: f32, %arg7: f32):
      tm_tensor.yield %arg6 : f32
    } -> tensor<4x8xf32>
"""


def test_scatter_of_torch_mlir():
    head = "func.func @f(%9: tensor<8x1x1xf32>, %c: tensor<8x2xi64>, %arg1: tensor<4x8xf32>) -> tensor<4x8xf32> {\n"
    adapted = from_torch_mlir(head + SCATTER + "return %11 : tensor<4x8xf32>\n}")
    assert re.search(r"tensor\.scatter %\w+ into %\w+\[%\w+\] scatter_dims\(\[0, 1\]\) unique", kvq.parse(adapted))


@pytest.mark.parametrize(
    "before, after, named",
    [
        ("unique_indices(true)", "unique_indices(false)", "tm_tensor.scatter"),
        ("tm_tensor.yield %arg6", "tm_tensor.yield %arg7", "tm_tensor.scatter"),
        ("%11 = tm_tensor.scatter", "%11 = tm_tensor.attention", "tm_tensor.attention"),
    ],
)
def test_what_torch_mlir_has_alone_is_an_error(before, after, named):
    with pytest.raises(kvq.Error, match=f"got {named}"):
        from_torch_mlir(SCATTER.replace(before, after))
