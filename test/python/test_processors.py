"""What is compiled for a processor follows from what it has, and gives the same everywhere: codes to the bit."""

from __future__ import annotations

import platform

import attention_paths as paths
import numpy as np
import pytest
from attention_paths import MODES, PATHS, Mode, Path
from processors import compiled_for, emulated, find_qemu

import kvq_mlir as kvq
from kvq_mlir import _kvq

LENGTHS = np.array([0, 1, 33, 70])
ON_X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="runs code for x86-64")
# Without anything beyond SSE2; with instructions for rounding; with AVX2, but neither fused products nor f16; all.
X86 = [("x86-64", ""), ("x86-64-v2", ""), ("x86-64-v2", "+avx2"), ("x86-64-v3", "")]
SOME = ["planar", "tiles", "blocks", "records", "windows"]


def check(target, path: Path, modes: list[Mode], rng: np.random.Generator) -> None:
    """Appends and attention within `target` against what is compiled for this processor, and the reference."""
    x = paths.draw(rng, path, len(LENGTHS), tokens=70)
    odd = x.copy()
    odd[..., ::7, :8] = [0, 6e-8, -6e-8, 1e-5, 65504, -65504, 0.5, -0.0]
    here, odd_here = (paths.fill(path, tokens, LENGTHS, capacity=80) for tokens in (x, odd))
    outputs = []
    with target:
        there, odd_there = (paths.fill(path, tokens, LENGTHS, capacity=80) for tokens in (x, odd))
        for mode in modes:
            q = paths.queries(rng, path, mode, len(LENGTHS))
            outputs.append((mode, q, paths.attend(path, mode, q, there)[0]))
    for ours, others in zip(here + odd_here, there + odd_there, strict=True):
        for name, array in ours.storage().items():
            assert np.array_equal(array.view(np.uint8), others.storage()[name].view(np.uint8)), name
    for mode, q, out in outputs:
        paths.check(out, paths.expect(path, q, here), mode.tolerance)


@ON_X86
@pytest.mark.parametrize("cpu, features", X86)
def test_lesser_processors(cpu, features, rng):
    name = str(rng.choice(SOME))
    print(name)
    check(compiled_for(cpu, features), PATHS[name], [MODES["plain"], MODES[str(rng.choice(["i16", "i8"]))]], rng)


FORMATS = [
    "codes = i8, group = [1, *], scale = f16, range = clip<0.9>",
    "codes = ui4, group = [1, 32], scale = f16, zero = point f16, rule = #kvq.rule<ties = up>",
    "codes = ui8, group = [4, 1], scale = f16, zero = point f16, rule = #kvq.rule<quotient = fused, scale = nearest>",
    "codes = i6, group = [1, 16], scale = bf16, rule = #kvq.rule<ties = away>",
    "codes = f8E4M3FN, group = [1, 16], scale = f32",
    "codes = f4E2M1FN, group = [1, 16], scale = f8E8M0FNU",
    "codes = #kvq.codebook<nf4>, group = [1, 64], scale = f16",
]


def quantized(rng: np.random.Generator) -> list[np.ndarray]:
    """Codes, metadata and values of all formats, of numbers of any size."""
    found = []
    x = (rng.standard_normal((1, 2, 8, 64)) * 10.0 ** rng.integers(-8, 5, (1, 2, 8, 1))).astype(np.float16)
    for text in FORMATS:
        z = kvq.quantize(x, kvq.Format(text))
        found += [z.codes, z.scales, *([] if z.zeros is None else [z.zeros]), kvq.dequantize(z)]
    return found


@ON_X86
def test_formats_on_lesser_processors(rng):
    """Rounding and conversions that SSE2 does not have."""
    seed = int(rng.integers(1 << 32))
    expected = quantized(np.random.default_rng(seed))
    with compiled_for("x86-64"):
        for a, b in zip(quantized(np.random.default_rng(seed)), expected, strict=True):
            assert np.array_equal(a.view(np.uint8), b.view(np.uint8))


CONVERT = """
func.func @extend(%x: tensor<?xf16> {{bufferization.writable = false}}, %out: tensor<?xf32>) -> tensor<?xf32> {{
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x : tensor<?xf16>) outs(%out : tensor<?xf32>) {{
  ^bb0(%a: f16, %o: f32):
    %y = arith.extf %a : f16 to f32
    linalg.yield %y : f32
  }} -> tensor<?xf32>
  return %r : tensor<?xf32>
}}
func.func @round(%x: tensor<?xf32> {{bufferization.writable = false}}, %out: tensor<?xf16>) -> tensor<?xf16> {{
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x : tensor<?xf32>) outs(%out : tensor<?xf16>) {{
  ^bb0(%a: f32, %o: f16):
    %y = arith.truncf %a : f32 to f16
    linalg.yield %y : f16
  }} -> tensor<?xf16>
  return %r : tensor<?xf16>
}}
{rounding}
"""
ROUNDING = """
func.func @{name}(%x: tensor<?xf32> {{bufferization.writable = false}}, %out: tensor<?xf32>) -> tensor<?xf32> {{
  %r = linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}}
      ins(%x : tensor<?xf32>) outs(%out : tensor<?xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %y = math.{name} %a : f32
    linalg.yield %y : f32
  }} -> tensor<?xf32>
  return %r : tensor<?xf32>
}}"""
WHOLE = {"roundeven": np.rint, "ceil": np.ceil, "floor": np.floor}


def same(found: np.ndarray, expected: np.ndarray, bits: type) -> bool:
    """To the bit, but for what a NaN holds."""
    number = ~np.isnan(expected)
    return np.isnan(found[~number]).all() and np.array_equal(found[number].view(bits), expected[number].view(bits))


@ON_X86
def test_every_half_and_every_place_of_rounding(rng):
    text = CONVERT.format(rounding="".join(ROUNDING.format(name=name) for name in WHOLE))
    kernel = _kvq.compile(text, cpu="x86-64")
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    out = np.empty(halves.shape, np.float32)
    kernel.invoke("extend", (halves, out))
    assert same(out, halves.astype(np.float32), np.uint32)
    # Each half, the middles between two, and the floats next to either.
    finite = np.sort(halves[np.isfinite(halves)].astype(np.float32))
    middles = ((finite[1:].astype(np.float64) + finite[:-1]) / 2).astype(np.float32)
    places = np.concatenate(
        [finite, middles, np.float32([65519.996, 65520, 65535, 65536, 1e10, 3e38, np.inf, np.nan, 1e-30])]
    )
    places = np.concatenate(
        [places, np.nextafter(places, np.float32(np.inf)), np.nextafter(places, np.float32(-np.inf)), -places]
    )
    places = np.concatenate([places, rng.integers(0, 1 << 32, 100_000, np.uint64).astype(np.uint32).view(np.float32)])
    out = np.empty(places.shape, np.float16)
    kernel.invoke("round", (places, out))
    with np.errstate(over="ignore"):
        assert same(out, places.astype(np.float16), np.uint16)
    numbers = np.concatenate(
        [
            places,
            (rng.integers(-(1 << 25), 1 << 25, 50_000) / 2).astype(np.float32),
            np.float32([-0.0, -0.3, 0.3, 8388607.5]),
        ]
    )
    for name, function in WHOLE.items():
        out = np.empty(numbers.shape, np.float32)
        kernel.invoke(name, (numbers, out))
        with np.errstate(invalid="ignore"):
            assert same(out, function(numbers), np.uint32), name


ARM = ["", "+dotprod", "+dotprod,+i8mm"]
BYTE_TILES = Path(
    paths.with_layout(paths.BYTES, "codes = planar, tile = channel_pairs<64>"),
    paths.with_layout(paths.BYTES, "codes = planar, tile = token_pairs<64>"),
)


@pytest.mark.skipif(not find_qemu("aarch64"), reason="runs code for AArch64 with qemu")
@pytest.mark.parametrize("features", ARM)
@pytest.mark.parametrize("path", [PATHS["tiles"], BYTE_TILES, PATHS["planar"]], ids=["nibbles", "bytes", "planar"])
def test_arm(path, features, rng, tmp_path):
    """Products of bytes by sdot and usdot, where there are any."""
    check(emulated(tmp_path, "aarch64", features), path, [MODES["i8"], MODES["plain"]], rng)


@pytest.mark.skipif(not find_qemu("riscv64"), reason="runs code for RISC-V with qemu")
def test_a_processor_of_which_nothing_is_known(rng, tmp_path):
    """Without vectors, and all that may not be there written out."""
    check(emulated(tmp_path, "riscv64", "+m,+a,+f,+d"), PATHS["planar"], [MODES["plain"], MODES["i16"]], rng)
