"""Modules built op by op are those of the package's templates, which are text; what is wrong is said where it is built."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import kvq_mlir as kvq
from kvq_mlir import _kvq
from kvq_mlir.builder import Function, Module, tensor
from kvq_mlir.ir.append import append
from kvq_mlir.ir.attention import Variant, attention

READ_ONLY = {"bufferization.writable": False}
COUNTS = tensor((2,), "i64")
FORMATS = (
    kvq.Format.of(codes="i4", group=(1, 32), scale="f16"),
    kvq.Format.of(codes="ui3", group=(8, None), scale="bf16", zero="point i8", range="clip<0.9>"),
    kvq.Format.of(codes="none"),
)


def built(name: str, arguments: dict[str, Any], written: tuple[str, ...]) -> tuple[Module, Function]:
    """A module with a function, which only promises not to write to the other arguments."""
    module = Module()
    read = {argument: READ_ONLY for argument in arguments if argument not in written}
    return module, module.function(name, arguments, read)


def maybe(rng: np.random.Generator, value: Any) -> Any:
    return value if rng.integers(2) else None


def draw_cache_type(rng: np.random.Generator) -> kvq.CacheType:
    fmt = FORMATS[rng.integers(len(FORMATS))]
    return kvq.CacheType(
        2,
        2,
        None,
        64,
        fmt,
        dtype=str(rng.choice(("f16", "bf16", "f32"))),
        recent=0 if fmt.is_exact else int(rng.integers(0, 40)),
        page=maybe(rng, 8 * int(rng.integers(1, 9))),
    )


def has_window(cache: kvq.CacheType) -> bool:
    return not cache.format.is_exact and (cache.recent or 0) + cache.token_group > 1


def test_an_append_is_the_templates(rng: np.random.Generator) -> None:
    for _ in range(10):
        cache = draw_cache_type(rng)
        rope = maybe(rng, (16, "interleaved"))
        text = append(
            (2, 2, 64),
            "f32",
            str(cache),
            window=has_window(cache),
            paged=cache.page is not None,
            count_saturated=not cache.format.is_exact,
            rope=rope,
        )
        operands = {
            "tokens": tensor((2, 2, None, 64), "f32"),
            "cache": cache,
            "lengths": COUNTS,
            "flushed": COUNTS if has_window(cache) else None,
            "counts": COUNTS,
            "pages": None if cache.page is None else tensor((2, None), "i64"),
            "cos": rope and tensor((None, 16), "f32"),
            "sin": rope and tensor((None, 16), "f32"),
            "saturated": None if cache.format.is_exact else tensor((2, 2), "i64"),
        }
        arguments = {name: type_ for name, type_ in operands.items() if type_ is not None}
        written = ("cache", "saturated")
        module, f = built("append", arguments, written)
        results = f.op(
            "kvq.append",
            **f.arguments,
            rope_style=rope and "#kvq.rope_style<interleaved>",
            results=[f[name] for name in written if name in arguments],
        )
        f.returns(*(results if isinstance(results, tuple) else [results]))
        module.verify()
        assert str(module) == str(Module(text))


def test_attention_is_the_templates(rng: np.random.Generator) -> None:
    for _ in range(10):
        key, value = draw_cache_type(rng), draw_cache_type(rng)
        variant = Variant(
            scale=float(np.float32(rng.uniform(0.01, 1))),  # the template rounds others twice
            causal=bool(rng.integers(2)),
            softcap=maybe(rng, float(np.float32(rng.uniform(1, 50)))),
            window=maybe(rng, (100, 4)),
            positions=bool(rng.integers(2)),
            sinks=bool(rng.integers(2)),
            lse=bool(rng.integers(2)),
        )
        windows, paged = (tuple(map(test, (key, value))) for test in (has_window, lambda cache: cache.page is not None))
        text = attention((2, 4, 64), "f16", 64, str(key), str(value), windows, variant, paged)
        table, out, lse = tensor((2, None), "i64"), tensor((2, 4, None, 64), "f32"), tensor((2, 4, None), "f32")
        operands = {
            "query": tensor((2, 4, None, 64), "f16"),
            "key": key,
            "value": value,
            "lengths": COUNTS,
            "key_flushed": COUNTS if windows[0] else None,
            "value_flushed": COUNTS if windows[1] else None,
            "key_pages": table if paged[0] else None,
            "value_pages": table if paged[1] else None,
            "positions": COUNTS if variant.positions else None,
            "sinks": tensor((4,), "f32") if variant.sinks else None,
            "init": out,
            "lse": lse if variant.lse else None,
        }
        arguments = {name: type_ for name, type_ in operands.items() if type_ is not None}
        module, f = built("attention", arguments, ("key", "value", "init", "lse"))
        results = f.op(
            "kvq.attention",
            **f.arguments,
            scale=variant.scale,
            causal=variant.causal,
            softcap=variant.softcap,
            window=variant.window and variant.window[0],
            window_first=variant.window and variant.window[1],
            results=[f[name] for name in ("init", "lse") if name in arguments],
        )
        f.returns(*(results if isinstance(results, tuple) else [results]))
        assert str(module) == str(Module(text))


def test_an_operand_may_be_several_values() -> None:
    fmt = FORMATS[0]
    rows, codes, scales = tensor((2, 3, 5, 64), "f32"), tensor((2, 3, 5, 64), "i8"), tensor((2, 3, 5, 2), "f16")
    module = Module()
    f = module.function("quantize", {"x": rows, "codes": codes, "scales": scales})
    quantized = f.op(
        "kvq.quantize", [f["x"]], inits=[f["codes"], f["scales"]], format=fmt, results=[f["codes"], f["scales"]]
    )
    assert [value.type for value in quantized] == [codes, scales]
    f.returns(*quantized)
    module.verify()
    assert f"func.func @quantize(%arg0: {rows}, %arg1: {codes}, %arg2: {scales}) -> ({codes}, {scales})" in str(module)


def test_ops_of_other_dialects_and_passes() -> None:
    row = tensor((4,), "f32")
    module = Module()
    f = module.function("twice", {"x": row})
    f.op("arith.constant", value="2.0 : f32")
    twice = f.op("arith.addf", f["x"], f["x"], attributes={"kvq.layer": 3})  # its type is inferred
    assert twice.type == row
    f.returns(twice)
    module.run("builtin.module(canonicalize)")
    assert "kvq.layer = 3" in str(module)
    assert "arith.constant" not in str(module)
    with pytest.raises(kvq.Error, match="passes have run on the module"):
        f.op("arith.addf", f["x"], f["x"])
    with pytest.raises(kvq.Error, match="passes have run on the module"):
        module.function("other", {})


def test_a_built_module_compiles_and_runs(rng: np.random.Generator) -> None:
    rows, signs = tensor((9, 4), "f32"), tensor((1, 4), "i8")
    module = Module()
    f = module.function("rotate", {"x": rows, "signs": signs, "out": rows}, {"x": READ_ONLY, "signs": READ_ONLY})
    f.returns(f.op("kvq.rotate", f["x"], f["signs"], f["out"], size=4, results=[rows]))
    x, flips = rng.standard_normal((9, 4), dtype=np.float32), np.array([[1, -1, -1, 1]], np.int8)
    out = np.full_like(x, np.nan)
    _kvq.compile(str(module)).invoke("rotate", (x, flips, out))
    hadamard = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    # Two additions and a product in f32, of numbers of a few units.
    np.testing.assert_allclose(out, (x * flips).astype(np.float64) @ hadamard, rtol=0, atol=1e-5)


QUERY = tensor((2, 4, 1, 64), "f32")


def decode() -> tuple[Module, Function]:
    cache = kvq.CacheType(2, 2, None, 64, FORMATS[0])
    module = Module()
    return module, module.function("f", {"q": QUERY, "cache": cache, "n": COUNTS})


OPERANDS = {"key": "cache", "value": "cache", "lengths": "n", "init": "q"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lengths": None}, "kvq.attention: expected operand 'lengths', got none"),
        ({"lengths": 3}, "kvq.attention: expected a Value as operand, got 3"),
        ({"query": None}, "kvq.attention: expected operand 'query' once, got it by position and by name"),
        ({"scale": True}, "kvq.attention: expected a number as attribute 'scale', got True"),
        ({"window": 0.5}, "kvq.attention: expected an integer as attribute 'window', got 0.5"),
        ({"causal": 1}, "kvq.attention: expected True or False as attribute 'causal', got 1"),
        ({"value_channels": [0, 0.5]}, "kvq.attention: expected integers as attribute 'value_channels'"),
        ({"query_codes": 8}, "kvq.attention: expected an attribute as attribute 'query_codes', got 8"),
        ({"query_codes": "i99999999999"}, "cannot parse 'i99999999999'"),
        ({"scales": 1.0}, "'lse' and attributes 'scale', 'causal', .*, got 'scales'"),
        ({"results": None}, "'kvq.attention': expected the types of its results"),
        ({"results": ["tensor<"]}, "cannot parse 'tensor<'"),
    ],
)
def test_errors_name_the_operand_or_attribute(changes: dict[str, Any], message: str) -> None:
    _, f = decode()
    arguments: dict[str, Any] = {name: f[argument] for name, argument in OPERANDS.items()}
    arguments |= {"scale": 0.5, "results": [f["q"]]} | changes
    with pytest.raises(kvq.Error, match=message):
        f.op("kvq.attention", f["q"], **arguments)


def test_errors_of_ops_have_the_line_that_made_them() -> None:
    module, f = decode()
    arguments = {name: f[argument] for name, argument in OPERANDS.items()}
    line = inspect.currentframe().f_lineno + 2
    with pytest.raises(kvq.Error) as caught:
        f.op("kvq.attention", f["q"], **arguments, results=[f["q"]])
    assert str(caught.value) == f"{__file__}:{line}:1: error: 'kvq.attention' op requires attribute 'scale'"
    # What is not valid is not left behind.
    f.returns()
    module.verify()
    with pytest.raises(kvq.Error, match="function 'f' has returned: expected no op behind that"):
        f.op("arith.addf", f["q"], f["q"])


def test_errors_of_modules() -> None:
    module, f = decode()
    with pytest.raises(kvq.Error, match=r"empty block: expect at least a terminator"):
        module.verify()
    with pytest.raises(kvq.Error, match="expected one function 'f', got another"):
        module.function("f", {})
    with pytest.raises(kvq.Error, match="expected attributes of 'x', got some of 'y'"):
        module.function("g", {"x": COUNTS}, {"y": READ_ONLY})
    with pytest.raises(kvq.Error, match="expected one of the arguments 'q', 'cache', 'n', got 'm'"):
        f["m"]
    with pytest.raises(kvq.Error, match="unknown op 'kvq.attend': 'kvq' has append, attention"):
        f.op("kvq.attend")
    with pytest.raises(kvq.Error, match="unknown op 'llama.attend': there is no dialect 'llama'"):
        f.op("llama.attend")
    with pytest.raises(kvq.Error, match="expected a Value of the same function, got one of another"):
        f.op("arith.addf", f["q"], module.function("g", {"q": QUERY})["q"])
    with pytest.raises(kvq.Error, match=r"<module>:2:3: error: custom op 'foo' is unknown"):
        Module("func.func @f() {\n  foo\n}")


def test_cache_types_are_their_fields(rng: np.random.Generator) -> None:
    for _ in range(10):
        built_type = draw_cache_type(rng)
        parsed = kvq.CacheType.parse(str(built_type))
        assert parsed == built_type
        assert hash(parsed) == hash(built_type)
        fields = (parsed.batch, parsed.kv_heads, parsed.capacity, parsed.head_dim, parsed.format, parsed.dtype)
        assert kvq.CacheType(*fields, recent=parsed.recent or 0, page=parsed.page) == parsed
        cache = kvq.Cache(2, 2, 100, 64, parsed.format, dtype=parsed.dtype, recent=parsed.recent or 0, page=parsed.page)
        assert parsed.allocated_bytes(100)["total"] == cache.nbytes
        assert parsed.retained_bytes(0)["total"] == 0
        assert {part.name: part.shape for part in parsed.components(100)} == {
            name: array.shape for name, array in cache.storage().items()
        }
    with pytest.raises(kvq.Error, match="group of 32 channels does not divide head_dim 100"):
        kvq.CacheType(1, 8, None, 100, FORMATS[0])
    with pytest.raises(kvq.Error, match="expected a !kvq.cache type, got tensor<2xi64>"):
        kvq.CacheType.parse(COUNTS)


def test_formats_of_fields() -> None:
    assert kvq.Format.of(codes="ui4", group=(32, 1), scale="f16", zero="min f16") == kvq.Format(
        "codes = ui4, group = [32, 1], scale = f16, zero = min f16"
    )
    every = kvq.Format.of(
        codes="i8",
        group=(1, None),
        heads="*",
        scale="f32",
        range="search<4>",
        rotate="hadamard<64>",
        center="bf16",
        rope="post",
        rule="#kvq.rule<ties = up>",
        layout="#kvq.layout<codes = planar, bias>",
    )
    assert every == kvq.Format(
        "codes = i8, group = [1, *], heads = *, scale = f32, range = search<4>, rotate = hadamard<64>, center = bf16, "
        "rule = #kvq.rule<ties = up>, layout = #kvq.layout<codes = planar, bias>"
    )
    with pytest.raises(kvq.Error, match="unsigned codes ui4 need a zero"):
        kvq.Format.of(codes="ui4", group=(1, None), scale="f16")
