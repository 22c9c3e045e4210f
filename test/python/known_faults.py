"""What the tests of known faults share: formats, data on the grid of a format, and two fixtures of attention.

`mean`: the query is 0, so that every token weighs the same and the output is the mean of the values.
`pick`: each key is a sign pattern of its own and the query is one of them, so large that the other tokens weigh
nothing: the output is that token's value.

Caches start with every byte 0xFF and outputs as NaN, so that what is read or left unwritten by mistake shows as NaN;
comparisons are written so that NaN fails.
"""

import functools
import itertools
import os
import zlib

import numpy as np
from attention_paths import CHIPS
from conftest import fresh_rng

import kvq_mlir as kvq
from kvq_mlir.devices import ORDERS

FULL = bool(os.environ.get("KVQ_FULL"))
FLOATS = ("f16", "f32")
DTYPES = {"f16": np.float16, "f32": np.float32}
UNIT = {"f16": 2.0**-24, "f32": 2.0**-149}  # the smallest positive number of a type
BITS = (2, 4, 8)
GROUPS = ((1, "*"), (1, 8), (1, 32), (8, 1), (32, 1))
PICK = np.float32(1000)  # times the difference of two patterns: exp(-2000) is 0


def formats(groups=GROUPS, bits=BITS, scales=FLOATS, zeros=FLOATS, signed=True, unsigned=True) -> list[str]:
    """The texts of all formats of these fields."""
    kinds = [(f"i{b}", "") for b in bits if signed]
    kinds += [(f"ui{b}", f", zero = min {zero}") for b in bits if unsigned for zero in zeros]
    return [
        f"codes = {codes}, group = [{n}, {g}], scale = {scale}{zero}"
        for (n, g), scale, (codes, zero) in itertools.product(groups, scales, kinds)
    ]


def highest_code(text: str) -> int:
    """N of the format."""
    fmt = kvq.Format(text)
    return 2 ** (fmt.bits - fmt.signed) - 1


def group_of(text: str, dim: int) -> tuple[int, int]:
    """(tokens, channels) that share a scale in rows of `dim`."""
    tokens, channels = kvq.Format(text).group
    return tokens, channels or dim


def blocks(text: str, tokens: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """For each element of [tokens, dim]: the number of its group, and its place in that group."""
    n, g = group_of(text, dim)
    t, c = np.indices((tokens, dim))
    return t // n * (dim // g) + c // g, t % n * g + c % g


def on_grid(rng: np.random.Generator, text: str, shape: tuple[int, int, int, int]) -> np.ndarray:
    """Random data that the format holds without error: small integers times a power of two that differs from group to
    group, every group with both ends of its range. float32, and float16 holds them too."""
    fmt, top = kvq.Format(text), highest_code(text)
    group, place = blocks(text, *shape[2:])
    exponents = rng.integers(-6, 3, (*shape[:2], group.max() + 1))[:, :, group]
    lowest = -top if fmt.signed else 0
    codes = rng.integers(lowest, top + 1, shape)
    codes = np.where(place == 0, top, np.where(place == place.max(), lowest, codes))
    offset = 0 if fmt.signed else rng.integers(-100, 100, (*shape[:2], group.max() + 1))[:, :, group]
    return ((codes + offset) * 2.0**exponents).astype(np.float32)


def filled(x: np.ndarray, text: str, dtype: str = "f32", chunk: int | None = None, **options) -> kvq.Cache:
    """A cache with room to spare that holds the tokens x, appended at once or `chunk` at a time."""
    batch, heads, tokens, dim = x.shape
    cache = kvq.Cache(batch, heads, tokens + 37, dim, kvq.Format(text), dtype, fill=0xFF, **options)
    for begin in range(0, tokens, chunk or max(tokens, 1)):
        cache.append(np.ascontiguousarray(x[:, :, begin : begin + (chunk or tokens)]))
    return cache


def spans(x: np.ndarray, text: str) -> tuple[np.ndarray, np.ndarray]:
    """For each element of x, of its group: the extent of the elements over the highest code, and the largest |x|.
    float64."""
    group, _ = blocks(text, *x.shape[2:])
    flat = x.astype(np.float64).reshape(*x.shape[:2], -1)
    steps, largest = np.empty((2, *flat.shape))
    for g in range(group.max() + 1):
        inside = flat[..., group.ravel() == g]
        top = np.abs(inside).max(axis=-1, keepdims=True)
        largest[..., group.ravel() == g] = top
        extent = top if kvq.Format(text).signed else np.ptp(inside, axis=-1, keepdims=True)
        steps[..., group.ravel() == g] = extent / highest_code(text)
    return steps.reshape(x.shape), largest.reshape(x.shape)


def patterns(tokens: int, dim: int) -> np.ndarray:
    """Different rows of +-1, [tokens, dim]: the binary digits of the token's number, again and again."""
    digits = max(1, (tokens - 1).bit_length())
    assert digits <= dim, f"{dim} channels do not tell {tokens} tokens apart"
    return np.where(np.arange(tokens)[:, None] >> np.arange(dim) % digits & 1, 1, -1).astype(np.float32)


def pattern_keys(values: kvq.Cache, tokens: int, text: str = "codes = none", dim: int | None = None) -> kvq.Cache:
    """Keys for `pick` beside `values`, every head the same."""
    rows = patterns(tokens, dim or values.head_dim)
    return filled(np.broadcast_to(rows, (values.batch, values.kv_heads, *rows.shape)), text)


def pick(keys: kvq.Cache, values: kvq.Cache, tokens: int, ratio: int = 1, **options) -> np.ndarray:
    """The value of each token as attention gives it, [batch, ratio * kv_heads, tokens, dim]."""
    q = np.broadcast_to(patterns(tokens, keys.head_dim), (keys.batch, ratio * keys.kv_heads, tokens, keys.head_dim))
    return attend(PICK * q, keys, values, **options)


def mean(keys: kvq.Cache, values: kvq.Cache, ratio: int = 1, q_len: int = 1, **options) -> np.ndarray:
    """The mean of the values that each query sees, [batch, ratio * kv_heads, q_len, dim]."""
    q = np.zeros((keys.batch, ratio * keys.kv_heads, q_len, keys.head_dim), np.float32)
    return attend(q, keys, values, **options)


def attend(
    q: np.ndarray, keys: kvq.Cache, values: kvq.Cache, scale: float = 1.0, causal: bool = False, **options
) -> np.ndarray:
    """Attention into an output of NaN; the defaults are those of most tests, so that they share kernels."""
    out = np.full((*q.shape[:3], values.head_dim), np.nan, np.float32)
    kvq.attention(np.ascontiguousarray(q), keys, values, scale=scale, causal=causal, out=out, **options)
    return out


@functools.cache
def draws_of_run() -> int:
    """What decides whatever the tests of a run share."""
    return int(fresh_rng().integers(1 << 32))


def emulator_for(text: str, share: float = 0.05) -> kvq.Emulator | None:
    """Whether a format is for kernels of GPUs in this run, and for those of which chip: the same for all tests, which
    share them. Some of those that tensor cores may take, a smaller share of the others, all in the long run."""
    rng = np.random.default_rng([draws_of_run(), zlib.crc32(text.encode())])
    share = max(share, 0.15) if "[1, *]" in text or "[1, 32]" in text else share
    if rng.random() >= share and not FULL:
        return None
    return kvq.Emulator(str(rng.choice(CHIPS)), str(rng.choice(ORDERS)), int(rng.integers(1 << 32)))


def check_emulated(x: np.ndarray, text: str, dtype: str, keys: kvq.Cache, values: kvq.Cache) -> None:
    """Kernels of GPUs store every byte that `values` holds of x, and attend to it. They may multiply by probabilities
    times scales, and by zeros, as f16: each within 2^-11; scales below 2^-60 lose digits, and all of it below 2^-80."""
    device = emulator_for(text)
    if device is None:
        return
    print(text, device)
    for chunk in (None, max(1, x.shape[2] // 5)):
        stored, expected = (filled(x, text, dtype, chunk, device=d).storage() for d in (device, None))
        for name, array in expected.items():
            assert stored[name].tobytes() == array.tobytes(), (name, chunk)
    targets = np.unique(np.linspace(0, x.shape[2] - 1, 6).astype(int))
    q = np.broadcast_to(PICK * patterns(x.shape[2], keys.head_dim)[targets], (*x.shape[:2], len(targets), keys.head_dim))
    found = attend(q, keys, values, device=device)
    expected = values.dequantize()[:, :, targets].astype(np.float64)
    bound = 2e-3 * np.abs(expected).max(axis=-1, keepdims=True) + 2.0**-80
    assert np.all(np.abs(found - expected) <= bound), device


def every_path(x: np.ndarray, text: str, dtype: str = "f32") -> dict[str, np.ndarray]:
    """x [batch, heads, tokens, dim], whole token groups, quantized and back: float32 of its shape, by the code that
    does it. Keys have the values' format. Split attention, another kernel, is left to the long run. What kernels of GPUs
    make of it is compared here."""
    tokens = x.shape[2]
    cache = filled(x, text, dtype)
    keys = pattern_keys(cache, tokens, text)
    check_emulated(x, text, dtype, keys, cache)
    found = {
        "quantize and dequantize": kvq.dequantize(kvq.quantize(x.astype(DTYPES[dtype]), kvq.Format(text))),
        "a cache, dequantized": cache.dequantize(),
        "a cache filled token by token": filled(x, text, dtype, chunk=1).dequantize(),
        "attention": pick(keys, cache, tokens),
    }
    if FULL:
        found["split attention"] = pick(keys, cache, tokens, splits=3)
    return found


def metadata(x: np.ndarray, text: str, dtype: str = "f32") -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Codes, scales and zeros of x, all as float64; zeros None without."""
    z = kvq.quantize(x.astype(DTYPES[dtype]), kvq.Format(text))
    return tuple(None if part is None else part.astype(np.float64) for part in (z.codes, z.scales, z.zeros))


def worst(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest absolute difference; NaN if there is one."""
    return float(np.max(np.abs(found.astype(np.float64) - expected)))
