"""Checks instructions of single threads: conversions, bits, approximations.

All instructions are in one kernel: thread i has word i of three inputs, and each
instruction a row of the output.
"""

import subprocess
import sys

import numpy as np

WORK, SEED = sys.argv[1], int.from_bytes(np.random.bytes(4), "little")
rng = np.random.default_rng(SEED)
N = 1024
np.seterr(all="ignore")

# Words of all kinds: random bits, and floats of moderate and extreme size.
words = [rng.integers(0, 1 << 32, N, dtype=np.uint64).astype(np.uint32) for _ in range(3)]
for word in words:
    sizes = rng.choice([0.01, 1, 30, 500, 1e5], N)
    floats = (rng.standard_normal(N) * sizes).astype(np.float32)
    word[N // 2 :] = floats.view(np.uint32)[N // 2 :]
words[0][:256] = np.arange(256) | np.arange(255, -1, -1) << 8 | 0x12340000
specials = [0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 57344, 61440, 6, 7, 2**-10, 3 * 2**-11, 2**-127]
words[0][256 : 256 + len(specials)] = np.array(specials, np.float32).view(np.uint32)
x, y, z = words
fx, fy, fz = (word.view(np.float32) for word in words)


def half_pair(word):
    return np.ascontiguousarray(word).view(np.float16).reshape(-1, 2).astype(np.float64)


# --- models -------------------------------------------------------------------


def small_values(exponent_bits, mantissa_bits, number):
    """The magnitudes of the first codes of a format."""
    bias = 2 ** (exponent_bits - 1) - 1
    codes = np.arange(number)
    exponent, mantissa = codes >> mantissa_bits, codes & (1 << mantissa_bits) - 1
    normal = (1 + mantissa / 2**mantissa_bits) * 2.0 ** (exponent - bias)
    return np.where(exponent, normal, mantissa / 2**mantissa_bits * 2.0 ** (1 - bias))


FORMATS = {  # bits of the exponent and of the mantissa, finite magnitudes, NaN
    "e4m3x2": (4, 3, 127, 0x7F), "e5m2x2": (5, 2, 124, 0x7F), "e2m1x2": (2, 1, 8, 0x7),
    "e2m3x2": (2, 3, 32, 0x1F), "e3m2x2": (3, 2, 32, 0x1F),
}


def encode(name, values):
    """The nearest code, the even one of two; saturating."""
    exponent_bits, mantissa_bits, number, nan = FORMATS[name]
    table = small_values(exponent_bits, mantissa_bits, number)
    magnitude = np.minimum(np.abs(values.astype(np.float64)), table[-1])
    middle = (table[1:] + table[:-1]) / 2
    code = np.searchsorted(middle, magnitude, side="left")
    tie = (code < number - 1) & (magnitude == middle[np.minimum(code, number - 2)])
    code = np.where(tie & (code % 2 == 1), code + 1, code)
    code = code | np.signbit(values).astype(int) << exponent_bits + mantissa_bits
    return np.where(np.isnan(values), nan, code)


def decode(name, codes):
    exponent_bits, mantissa_bits, number, _ = FORMATS[name]
    bits = exponent_bits + mantissa_bits
    magnitude = codes & (1 << bits) - 1
    value = np.append(small_values(exponent_bits, mantissa_bits, number), [np.nan] * (1 << bits))[magnitude]
    if name == "e5m2x2":
        value = np.where(magnitude == 0x7C, np.inf, value)
    return np.where(codes >> bits & 1, -value, value)


def shift(name):
    return 4 if name == "e2m1x2" else 8


def scale_code(values, up):
    """The power of two at or above the magnitude, or at or below, as an exponent."""
    magnitude = np.abs(values.astype(np.float64))
    code = np.clip((np.ceil if up else np.floor)(np.log2(magnitude)) + 127, 0, 254)
    return np.where(np.isnan(values), 255, np.nan_to_num(code, nan=255)).astype(np.uint32)


def permute(low, high, selector):
    lanes = [word >> 8 * i & 255 for word in (low, high) for i in range(4)]
    result = np.zeros_like(low)
    for i in range(4):
        choice = selector >> 4 * i & 15
        byte = np.choose(choice & 7, lanes)
        byte = np.where(choice & 8, np.where(byte & 128, 255, 0), byte)
        result |= byte.astype(np.uint32) << 8 * i
    return result


def logic(table):
    result = np.zeros_like(x)
    for row in range(8):
        if table >> row & 1:
            result |= (x if row & 4 else ~x) & (y if row & 2 else ~y) & (z if row & 1 else ~z)
    return result


# --- instructions: text, what it computes, and how far off it may be ------------

F2 = "vector<2xf16>"
checks = []


def check(call, expected, result="i32", tolerance=0.0):
    checks.append((call, expected, result, tolerance))


def intrinsic(name, operands, result):
    kinds = {"x": "i32", "y": "i32", "z": "i32", "fx": "f32", "fy": "f32", "fz": "f32",
             "hx": F2, "hy": F2, "hz": F2, "bx": "vector<2xbf16>", "sx": "i16"}
    types = ", ".join(kinds[operand] for operand in operands)
    values = ", ".join(f"%{operand}" for operand in operands)
    return f'llvm.call_intrinsic "llvm.nvvm.{name}"({values}) : ({types}) -> {result}'


for name in FORMATS:
    satfinite = "" if name in ("e4m3x2", "e5m2x2") else ".satfinite"
    check(intrinsic(f"ff.to.{name}.rn{satfinite}", ["fx", "fy"], "i16"),
          encode(name, fx) << shift(name) | encode(name, fy), "i16")
    mask = (1 << shift(name)) - 1
    pair = np.stack([decode(name, x.astype(int) & mask), decode(name, x.astype(int) >> shift(name) & mask)], 1)
    check(intrinsic(f"{name}.to.f16x2.rn", ["sx"], F2), pair, "half pair")
for name in ("e4m3x2", "e5m2x2"):
    pair = encode(name, half_pair(x))
    check(intrinsic(f"f16x2.to.{name}.rn", ["hx"], "i16"), pair[:, 1] << 8 | pair[:, 0], "i16")
check(intrinsic("ff.to.ue8m0x2.rp.satfinite", ["fx", "fy"], "i16"),
      scale_code(fx, True) << 8 | scale_code(fy, True), "i16")
check(intrinsic("ff.to.ue8m0x2.rz.satfinite", ["fx", "fy"], "i16"),
      scale_code(fx, False) << 8 | scale_code(fy, False), "i16")
exponents = np.stack([x & 255, x >> 8 & 255], 1).astype(int)
scales = np.where(exponents == 255, 0x7FFF, np.where(exponents == 0, 0x40, exponents << 7))
check(intrinsic("ue8m0x2.to.bf16x2", ["sx"], "vector<2xbf16>"), scales[:, 1] << 16 | scales[:, 0], "i32")

check(intrinsic("ff2f16x2.rn", ["fx", "fy"], F2), np.stack([fy, fx], 1).astype(np.float16), "half pair")
check(intrinsic("fma.rn.f16x2", ["hx", "hy", "hz"], F2),
      half_pair(x) * half_pair(y) + half_pair(z), "half pair", 2.0**-11)
flushed = np.where(np.abs(fx) < 2**-126, np.copysign(0, fx), fx).astype(np.float64)
check(intrinsic("ex2.approx.ftz.f32", ["fx"], "f32"), np.exp2(flushed), "f32", 1e-6)
check(intrinsic("lg2.approx.ftz.f", ["fx"], "f32"), np.log2(flushed), "f32", 1e-5)
check(intrinsic("rcp.approx.ftz.f", ["fx"], "f32"), 1 / flushed, "f32", 1e-6)
check(intrinsic("rsqrt.approx.ftz.f", ["fx"], "f32"), 1 / np.sqrt(flushed), "f32", 1e-6)
check(intrinsic("sqrt.approx.ftz.f", ["fx"], "f32"), np.sqrt(flushed), "f32", 1e-6)
check(intrinsic("fma.rn.f", ["fx", "fy", "fz"], "f32"),
      fx.astype(np.float64) * fy + fz, "f32", 1e-6)
check(intrinsic("saturate.f", ["fx"], "f32"), np.clip(np.nan_to_num(fx, nan=0), 0, 1), "f32")
rounded = (y + 0x7FFF + (y >> 16 & 1) >> 16) | ((x + 0x7FFF + (x >> 16 & 1) >> 16) << 16)
finite = np.isfinite(fx) & np.isfinite(fy)
check(intrinsic("ff2bf16x2.rn", ["fx", "fy"], "vector<2xbf16>"), np.where(finite, rounded.astype(np.int64), -1), "i32 or -1")

check(intrinsic("prmt", ["x", "y", "z"], "i32"), permute(x, y, z))
for selector in (0x7531, 0x4321, 0x98BA, 0x5410):
    check(f'llvm.call_intrinsic "llvm.nvvm.prmt"(%x, %y, %s{selector}) : (i32, i32, i32) -> i32', permute(x, y, np.full_like(x, selector)))
check('llvm.inline_asm has_side_effects "mov.b32 $0, $1;", "=r,r" %x : (i32) -> i32', x)
for register, numbers in (("tid.x", np.arange(N) % 128), ("ctaid.x", np.arange(N) // 128)):
    check(f'llvm.inline_asm has_side_effects "mov.u32 $0, %{register};", "=r" : () -> i32', numbers)
for table in range(0, 256, 5):
    check(f'llvm.inline_asm "lop3.b32 $0, $1, $2, $3, {hex(table)};", "=r,r,r,r" %x, %y, %z : (i32, i32, i32) -> i32',
          logic(table))
high = (x.astype(np.uint64) * y >> np.uint64(32)).astype(np.uint32)
check(intrinsic("mulhi.ui", ["x", "y"], "i32"), high)
signed = [np.ascontiguousarray(word).view(np.int8).reshape(-1, 4).astype(int) for word in (x, y)]
check(f'llvm.call_intrinsic "llvm.nvvm.idp4a.s.s"(%x, %y, %z) : (i32, i32, i32) -> i32',
      ((signed[0] * signed[1]).sum(1) + z).astype(np.uint64) & 0xFFFFFFFF)


# --- the kernel ---------------------------------------------------------------

lines = ["gpu.module @m {",
         "llvm.func @k(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {",
         "%tid = nvvm.read.ptx.sreg.tid.x : i32", "%block = nvvm.read.ptx.sreg.ctaid.x : i32",
         "%size = nvvm.read.ptx.sreg.ntid.x : i32", "%first = llvm.mul %block, %size : i32",
         "%i = llvm.add %first, %tid : i32"]
for row, name in enumerate("xyz"):
    lines += [f"%p{name} = llvm.getelementptr %in[{row * N}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32",
              f"%a{name} = llvm.getelementptr %p{name}[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32",
              f"%{name} = llvm.load %a{name} : !llvm.ptr<1> -> i32",
              f"%f{name} = llvm.bitcast %{name} : i32 to f32", f"%h{name} = llvm.bitcast %{name} : i32 to {F2}"]
lines += ["%sx = llvm.trunc %x : i32 to i16"]
lines += [f"%s{s} = llvm.mlir.constant({s} : i32) : i32" for s in (0x7531, 0x4321, 0x98BA, 0x5410)]
for row, (call, _, result, _) in enumerate(checks):
    type_ = {"i16": "i16", "half pair": F2, "f32": "f32"}.get(result, call.rsplit(" ", 1)[1])
    lines += [f"%r{row} = {call}",
              f"%b{row} = llvm.getelementptr %out[{row * N}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32",
              f"%t{row} = llvm.getelementptr %b{row}[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32",
              f"llvm.store %r{row}, %t{row} {{alignment = 2 : i64}} : {type_}, !llvm.ptr<1>"]
with open(f"{WORK}.mlir", "w") as file:
    file.write("\n".join(lines + ["llvm.return", "}", "}"]))
np.concatenate(words).tofile(f"{WORK}.bin")
process = subprocess.run(
    ["kvq-emulate", f"{WORK}.mlir", "--chip=sm_100a", "--block=128", f"--grid={N // 128}",
     f"--arg=const-file:{WORK}.bin", f"--arg=zeros:{4 * N * len(checks)}", "--print=1:i32"],
    capture_output=True, text=True,
)
assert process.returncode == 0, process.stderr
rows = np.array(process.stdout.split(", "), dtype=np.int64).astype(np.uint32).reshape(len(checks), N)
for found, (call, expected, result, tolerance) in zip(rows, checks):
    if result == "half pair":
        found = half_pair(found)
        expected = np.asarray(expected).astype(np.float16).astype(np.float64)
    elif result == "f32":
        found = found.view(np.float32).astype(np.float64)
    else:
        found = found.astype(np.int64)
        expected = np.asarray(expected).astype(np.int64)
    if result == "i32 or -1":
        found = np.where(expected == -1, -1, found)
    close = np.abs(found - expected) <= tolerance * np.maximum(np.abs(expected), 2.0**-14)
    same = (found == expected) | close | (np.isnan(found) & np.isnan(np.asarray(expected, float)))
    # Numbers below 2^-126 are zero for some, and infinity is near the largest.
    if result == "f32":
        same |= (np.abs(expected) < 2.0**-125) & (np.abs(found) < 2.0**-125)
        same |= (np.abs(expected) > 2.0**125) & (np.abs(found) > 2.0**125)
    assert same.all(), (SEED, call, np.argwhere(~same)[:3], found[~same][:3], np.asarray(expected)[~same][:3],
                        x[np.argwhere(~same)[0][0]], y[np.argwhere(~same)[0][0]])
print("instructions agree")
