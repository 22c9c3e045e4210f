"""Checks mma.sync, ldmatrix, stmatrix and movmatrix of the emulator.

The tables of fragments are written here as the PTX ISA has them, element by
element; numbers are small integers, so that every sum is exact, but for a product
whose sums are rounded. Each product is one kernel that loads the registers of a
lane, multiplies and stores them.
"""

import subprocess
import sys

import numpy as np

WORK, SEED = sys.argv[1], int.from_bytes(np.random.bytes(4), "little")
rng = np.random.default_rng(SEED)


def e4m3_table():
    codes = np.arange(256)
    exponent, mantissa = codes >> 3 & 15, codes & 7
    value = np.where(exponent, (8 + mantissa) * 2.0 ** (exponent - 10.0), mantissa * 2.0**-9)
    return np.where(codes & 128, -value, value)


def e5m2_table():
    codes = np.arange(256)
    return (codes.astype(np.uint16) << 8).view(np.float16).astype(float)


def encode(kind, values):
    """Returns the bit patterns of small integers."""
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "tf32":
        return values.astype(np.float32).view(np.uint32)
    if kind in ("e4m3", "e5m2"):
        table = e4m3_table() if kind == "e4m3" else e5m2_table()
        first = {table[code]: code for code in reversed(range(255)) if table[code] == table[code]}
        return np.vectorize(lambda v: first[float(v)])(values).astype(np.uint8)
    return values.astype(np.int8 if kind == "s8" else np.uint8).view(np.uint8)


# PTX ISA, "Matrix Fragments for mma.m16n8k…": row and column of element i of a
# lane. groupID = lane >> 2, threadID_in_group = lane % 4.
def a16(lane, i):  # m16n8k16, .f16 and .bf16
    row = lane >> 2 if 0 <= i < 2 or 4 <= i < 6 else (lane >> 2) + 8
    col = lane % 4 * 2 + (i & 1) if i < 4 else lane % 4 * 2 + (i & 1) + 8
    return row, col


def b16(lane, i):
    return (lane % 4 * 2 + (i & 1) if i < 2 else lane % 4 * 2 + (i & 1) + 8), lane >> 2


def a16_k8(lane, i):  # m16n8k8, .f16 and .bf16
    return (lane >> 2 if i < 2 else (lane >> 2) + 8), lane % 4 * 2 + (i & 1)


def b16_k8(lane, i):
    return lane % 4 * 2 + i, lane >> 2


def a32_k8(lane, i):  # m16n8k8, .tf32
    return (lane >> 2 if i in (0, 2) else (lane >> 2) + 8), (lane % 4 if i < 2 else lane % 4 + 4)


def b32_k8(lane, i):
    return (lane % 4 if i == 0 else lane % 4 + 4), lane >> 2


def a32_k4(lane, i):  # m16n8k4, .tf32
    return (lane >> 2 if i == 0 else (lane >> 2) + 8), lane % 4


def b32_k4(lane, i):
    return lane % 4, lane >> 2


def a8(lane, i):  # m16n8k32, .u8, .s8, .e4m3, .e5m2
    row = lane >> 2 if 0 <= i < 4 or 8 <= i < 12 else (lane >> 2) + 8
    return row, (lane % 4 * 4 + (i & 3) if i < 8 else lane % 4 * 4 + (i & 3) + 16)


def b8(lane, i):
    return (lane % 4 * 4 + (i & 3) if i < 4 else lane % 4 * 4 + (i & 3) + 16), lane >> 2


def a8_k16(lane, i):  # m16n8k16, .u8 and .s8
    return (lane >> 2 if i < 4 else (lane >> 2) + 8), lane % 4 * 4 + (i & 3)


def b8_k16(lane, i):
    return lane % 4 * 4 + i, lane >> 2


def c(lane, i):
    return (lane >> 2 if i < 2 else (lane >> 2) + 8), lane % 4 * 2 + (i & 1)


def fragments(matrix, table, bits):
    """Returns the registers of all lanes, as words."""
    count = matrix.size // 32
    elements = np.array([[matrix[table(lane, i)] for i in range(count)] for lane in range(32)])
    return np.ascontiguousarray(elements.astype(f"u{bits // 8}")).view(np.uint32).reshape(32, -1)


def types(kind, count):
    register = {"f16": "vector<2xf16>", "f32": "f32"}.get(kind, "i32")
    return [register] * count


def kernel(intrinsic, a, b, addend, result):
    operands = a + b + addend
    lines = [
        "gpu.module @m {",
        "llvm.func @k(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {",
        "%lane = nvvm.read.ptx.sreg.laneid : i32",
        f"%from = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<{len(operands)} x i32>",
        f"%to = llvm.getelementptr %out[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<{len(result)} x i32>",
    ]
    for i, kind in enumerate(operands):
        lines.append(f"%p{i} = llvm.getelementptr %from[{i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32")
        lines.append(f"%x{i} = llvm.load %p{i} {{alignment = 4 : i64}} : !llvm.ptr<1> -> {kind}")
    struct = f"!llvm.struct<({', '.join(result)})>"
    names = ", ".join(f"%x{i}" for i in range(len(operands)))
    lines.append(f'%r = llvm.call_intrinsic "{intrinsic}"({names}) : ({", ".join(operands)}) -> {struct}')
    for i, kind in enumerate(result):
        lines.append(f"%q{i} = llvm.getelementptr %to[{i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32")
        lines.append(f"%y{i} = llvm.extractvalue %r[{i}] : {struct}")
        lines.append(f"llvm.store %y{i}, %q{i} {{alignment = 4 : i64}} : {kind}, !llvm.ptr<1>")
    return "\n".join(lines + ["llvm.return", "}", "}"])


def run(text, words, count, chip):
    with open(f"{WORK}.mlir", "w") as file:
        file.write(text)
    np.ascontiguousarray(words).tofile(f"{WORK}.bin")
    order = rng.choice(["forward", "reverse", "random"])
    process = subprocess.run(
        ["kvq-emulate", f"{WORK}.mlir", f"--chip={chip}", f"--order={order}",
         f"--arg=const-file:{WORK}.bin", f"--arg=zeros:{128 * count}", "--print=1:i32"],
        capture_output=True, text=True,
    )
    assert process.returncode == 0, process.stderr
    return np.array(process.stdout.split(", "), dtype=np.int64).astype(np.uint32).reshape(32, count)


def check(intrinsic, kinds, depth, tables, bits, accumulators=("f32", "f32"), chip="sm_80", base=0):
    low = 0 if "u8" in kinds else -7
    a = rng.integers(0 if kinds[0] == "u8" else low, 8, (16, depth))
    b = rng.integers(0 if kinds[1] == "u8" else low, 8, (depth, 8))
    addend = rng.integers(-100, 100, (16, 8))
    if base:  # even numbers of 25 bits, of both signs
        addend = (2 * addend + base) * rng.choice([-1, 1], addend.shape)
    exact = a @ b + addend
    if base:  # rounded toward zero
        exact = np.sign(exact) * (np.abs(exact) // 2 * 2)
    a_words = fragments(encode(kinds[0], a), tables[0], bits)
    b_words = fragments(encode(kinds[1], b), tables[1], bits)
    result, added = accumulators
    if added == "f16":
        c_words = fragments(encode("f16", addend), c, 16)
    else:
        element = np.float32 if added == "f32" else np.int32
        c_words = fragments(addend.astype(element).view(np.uint32), c, 32)
    text = kernel(intrinsic, types(kinds[0], a_words.shape[1]), types(kinds[1], b_words.shape[1]),
                  types(added, c_words.shape[1]), types(result, 2 if result == "f16" else 4))
    words = run(text, np.hstack([a_words, b_words, c_words]), 2 if result == "f16" else 4, chip)
    kind = {"f16": np.float16, "f32": np.float32, "s32": np.int32}[result]
    found = np.ascontiguousarray(words).view(kind).reshape(32, 4)
    for lane in range(32):
        for i in range(4):
            assert found[lane, i] == exact[c(lane, i)], (SEED, intrinsic, lane, i)


MMA = "llvm.nvvm.mma.m16n8"
check(f"{MMA}k16.row.col.f32.f32", ("f16", "f16"), 16, (a16, b16), 16)
check(f"{MMA}k16.row.col.f32.f32", ("f16", "f16"), 16, (a16, b16), 16, base=2**24 + 5000)
check(f"{MMA}k16.row.col.f16.f16", ("f16", "f16"), 16, (a16, b16), 16, ("f16", "f16"))
check(f"{MMA}k8.row.col.f32.f32", ("f16", "f16"), 8, (a16_k8, b16_k8), 16)
check(f"{MMA}k16.row.col.bf16", ("bf16", "bf16"), 16, (a16, b16), 16)
check(f"{MMA}k8.row.col.bf16", ("bf16", "bf16"), 8, (a16_k8, b16_k8), 16)
check(f"{MMA}k8.row.col.tf32", ("tf32", "tf32"), 8, (a32_k8, b32_k8), 32)
check(f"{MMA}k4.row.col.tf32", ("tf32", "tf32"), 4, (a32_k4, b32_k4), 32)
INTEGER = ("s32", "s32")
check(f"{MMA}k32.row.col.s8", ("s8", "s8"), 32, (a8, b8), 8, INTEGER)
check(f"{MMA}k32.row.col.satfinite.u8.s8", ("u8", "s8"), 32, (a8, b8), 8, INTEGER)
check(f"{MMA}k32.row.col.s8.u8", ("s8", "u8"), 32, (a8, b8), 8, INTEGER)
check(f"{MMA}k16.row.col.u8", ("u8", "u8"), 16, (a8_k16, b8_k16), 8, INTEGER)
for first in ("e4m3", "e5m2"):
    for second in ("e4m3", "e5m2"):
        check(f"{MMA}k32.row.col.f32.{first}.{second}.f32", (first, second), 32, (a8, b8), 8, chip="sm_89")


# PTX ISA, ldmatrix: lane 8 i + r has the address of row r of matrix i; a lane gets
# elements (lane / 4, lane % 4 * 2 + {0, 1}) of each, of the transposed with .trans.
MOVES = """
gpu.module @m {{
llvm.mlir.global internal @s() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<32 x vector<8xi16>>
llvm.func @k(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {{gpu.kernel, nvvm.kernel}} {{
%lane = nvvm.read.ptx.sreg.laneid : i32
%all = llvm.mlir.constant(-1 : i32) : i32
%s = llvm.mlir.addressof @s : !llvm.ptr<3>
%from = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<8xi16>
%row = llvm.getelementptr %s[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, vector<8xi16>
{body}
llvm.return
}}
}}"""
STAGE = """
%x = llvm.load %from {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xi16>
llvm.store %x, %row {alignment = 16 : i64} : vector<8xi16>, !llvm.ptr<3>
nvvm.bar.warp.sync %all : i32"""


def store_words(names):
    return "\n".join(
        f"%q{i} = llvm.getelementptr %out[%lane, {i}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, "
        f"!llvm.array<{len(names)} x i32>\nllvm.store %{name}, %q{i} : i32, !llvm.ptr<1>"
        for i, name in enumerate(names)
    )


def own(matrices, transposed):
    """Returns what each lane has of each matrix, as words."""
    swapped = matrices.transpose(0, 2, 1) if transposed else matrices
    pairs = np.ascontiguousarray(swapped).view(np.uint32)  # matrix, row, pair
    return np.array([[m[lane // 4, lane % 4] for m in pairs] for lane in range(32)])


matrices = rng.integers(0, 1 << 16, (4, 8, 8)).astype(np.uint16)
for count in (1, 2, 4):
    for suffix in ("", ".trans"):
        name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{suffix}.b16"
        kind = "i32" if count == 1 else f"!llvm.struct<({', '.join(['i32'] * count)})>"
        body = [STAGE, f'%r = llvm.call_intrinsic "{name}"(%row) : (!llvm.ptr<3>) -> {kind}']
        body += [f"%y{i} = llvm.extractvalue %r[{i}] : {kind}" for i in range(count) if count > 1]
        names = ["r"] if count == 1 else [f"y{i}" for i in range(count)]
        text = MOVES.format(body="\n".join(body + [store_words(names)]))
        found = run(text, matrices, count, "sm_80")
        assert (found == own(matrices, suffix)[:, :count]).all(), (SEED, name)

fragment = own(matrices, False)[:, 0]
for transposed in (False, True):
    # stmatrix puts back what ldmatrix gets.
    suffix = ".trans" if transposed else ""
    body = [f"%p{i} = llvm.getelementptr %in[%lane, {i}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, "
            f"!llvm.array<4 x i32>\n%x{i} = llvm.load %p{i} : !llvm.ptr<1> -> i32" for i in range(4)]
    body.append(f'llvm.call_intrinsic "llvm.nvvm.stmatrix.sync.aligned.m8n8.x4{suffix}.b16"'
                "(%row, %x0, %x1, %x2, %x3) : (!llvm.ptr<3>, i32, i32, i32, i32) -> ()")
    body.append("nvvm.bar.warp.sync %all : i32")
    body += [f"%a{i} = llvm.getelementptr %row[{i}] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i32\n"
             f"%y{i} = llvm.load %a{i} : !llvm.ptr<3> -> i32" for i in range(4)]
    text = MOVES.format(body="\n".join(body + [store_words(["y0", "y1", "y2", "y3"])]))
    found = run(text, own(matrices, transposed).astype(np.uint32), 4, "sm_90a")
    assert (found.reshape(-1) == matrices.view(np.uint32).reshape(-1)).all(), (SEED, "stmatrix")

body = """%p = llvm.getelementptr %in[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
%x = llvm.load %p : !llvm.ptr<1> -> i32
%y = llvm.inline_asm "movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;", "=r,r" %x : (i32) -> i32
"""
found = run(MOVES.format(body=body + store_words(["y"])), fragment.astype(np.uint32), 1, "sm_80")
assert (found == own(matrices, True)[:, :1]).all(), (SEED, "movmatrix")
print("matrix products agree")
