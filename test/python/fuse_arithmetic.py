"""Ways to write out dequantization."""

from __future__ import annotations

import numpy as np
from fuse_moves import (
    AXES,
    BATCH,
    DIM,
    HEADS,
    RATIO,
    ROWS,
    SHAPE,
    TOKENS,
    C,
    Case,
    S,
    each,
    generic,
    i8,
    interleaved,
    nibbles,
    planar,
    scales,
    tensor,
    u8,
    wide,
)


def six_bits(p: np.ndarray) -> np.ndarray:
    bits = np.unpackbits(p, axis=-1, bitorder="little").reshape(*p.shape[:-1], -1, 6)
    return wide(bits) @ 2.0 ** np.arange(6)


SCALE_BODY = """
    %f = arith.sitofp %in0 : i8 to f32
    %v = arith.mulf %f, %in1 : f32
    linalg.yield %v : f32"""
P = tensor((*SHAPE[:3], DIM // 2), "i8")
PAIRS = (*SHAPE[:3], DIM // 2, 2)
GROUPS = (*SHAPE[:3], 2, 32)


def splat(name: str, value: int, shape: tuple[int, ...], element: str = "i8") -> str:
    return f"\n  %{name} = arith.constant dense<{value}> : {tensor(shape, element)}"


HALVES = (
    splat("mask", 15, (*SHAPE[:3], DIM // 2))
    + splat("four", 4, (*SHAPE[:3], DIM // 2))
    + f"""
  %low = arith.andi %p, %mask : {P}
  %high = arith.shrui %p, %four : {P}"""
)

# Dequantization that is written out.
ARITHMETIC = [
    Case(
        "signed bytes times a scale of the token",
        lambda r: {"c": i8(r, *SHAPE), "s": scales(r, *SHAPE[:3])},
        generic("x", SHAPE, "f32", [("c", C, AXES), ("s", tensor(SHAPE[:3], "f32"), "b, h, t")], SCALE_BODY),
        lambda a: wide(a["c"]) * a["s"][..., None],
    ),
    Case(
        "ops on whole tensors, in f16",
        lambda r: {"c": i8(r, *SHAPE), "s": scales(r, *SHAPE[:3], dtype="float16")},
        f"""
  %f = arith.sitofp %c : {C} to {tensor(SHAPE, "f16")}
  %s_init = tensor.empty() : {tensor(SHAPE, "f16")}
  %sb = linalg.broadcast ins(%s : {tensor(SHAPE[:3], "f16")}) outs(%s_init : {tensor(SHAPE, "f16")}) dimensions = [3]
  %v = arith.mulf %sb, %f : {tensor(SHAPE, "f16")}
  %x = arith.extf %v : {tensor(SHAPE, "f16")} to {ROWS}""",
        lambda a: wide(a["c"]) * wide(a["s"])[..., None],
    ),
    Case(
        "halves of bytes side by side, with minima",
        lambda r: {"p": u8(r, *SHAPE[:3], DIM // 2), "s": scales(r, *SHAPE[:3], 2), "z": scales(r, *SHAPE[:3], 2)},
        HALVES
        + f"""
  %codes = tensor.concat dim(3) %low, %high : ({P}, {P}) -> {C}
  %g = tensor.expand_shape %codes [[0], [1], [2], [3, 4]] output_shape [{BATCH}, {HEADS}, {TOKENS}, 2, 32] : {C} into {tensor(GROUPS, "i8")}"""
        + generic(
            "y",
            GROUPS,
            "f32",
            [
                ("g", tensor(GROUPS, "i8"), "b, h, t, g, c"),
                ("s", tensor(GROUPS[:4], "f32"), "b, h, t, g"),
                ("z", tensor(GROUPS[:4], "f32"), "b, h, t, g"),
            ],
            """
    %f = arith.uitofp %in0 : i8 to f32
    %m = arith.mulf %f, %in1 : f32
    %v = arith.addf %in2, %m : f32
    linalg.yield %v : f32""",
            "b, h, t, g, c",
        )
        + f"\n  %x = tensor.collapse_shape %y [[0], [1], [2], [3, 4]] : {tensor(GROUPS, 'f32')} into {ROWS}",
        lambda a: planar(a["p"]) * each(a["s"], 1, 32) + each(a["z"], 1, 32),
    ),
    Case(
        "pairs of nibbles, less a zero point in integers",
        lambda r: {
            "p": u8(r, *SHAPE[:3], DIM // 2),
            "s": scales(r, *SHAPE[:3], 1, dtype="float16"),
            "z": r.integers(0, 16, (*SHAPE[:3], 1)).astype(np.uint8),
        },
        "\n  %shifts = arith.constant dense<[0, 4]> : tensor<2xi8>"
        + generic(
            "y",
            PAIRS,
            "i8",
            [("p", P, "b, h, t, j"), ("shifts", "tensor<2xi8>", "k")],
            """
    %mask = arith.constant 15 : i8
    %n = arith.shrui %in0, %in1 : i8
    %m = arith.andi %n, %mask : i8
    linalg.yield %m : i8""",
            "b, h, t, j, k",
        )
        + f"\n  %c = tensor.collapse_shape %y [[0], [1], [2], [3, 4]] : {tensor(PAIRS, 'i8')} into {C}"
        + generic(
            "x",
            SHAPE,
            "f32",
            [
                ("c", C, AXES),
                ("z", tensor((*SHAPE[:3], 1), "i8"), "b, h, t, 0"),
                ("s", tensor((*SHAPE[:3], 1), "f16"), "b, h, t, 0"),
            ],
            """
    %c32 = arith.extui %in0 : i8 to i32
    %z32 = arith.extui %in1 : i8 to i32
    %d = arith.subi %c32, %z32 : i32
    %f = arith.sitofp %d : i32 to f32
    %s32 = arith.extf %in2 : f16 to f32
    %v = arith.mulf %s32, %f : f32
    linalg.yield %v : f32""",
        ),
        lambda a: (interleaved(a["p"]) - a["z"]) * wide(a["s"]),
    ),
    Case(
        "bytes by channel, for 32 tokens",
        lambda r: {
            "c": u8(r, *SHAPE),
            "s": scales(r, BATCH, HEADS, 3, DIM),
            "z": scales(r, BATCH, HEADS, 3, DIM) - np.float32(1),
        },
        generic(
            "x",
            SHAPE,
            "f32",
            [("c", C, AXES), *((name, tensor((BATCH, HEADS, 3, DIM), "f32"), "b, h, t floordiv 32, c") for name in "sz")],
            """
    %f = arith.uitofp %in0 : i8 to f32
    %v = math.fma %f, %in1, %in2 : f32
    linalg.yield %v : f32""",
        ),
        lambda a: wide(a["c"]) * each(a["s"], 32) + each(a["z"], 32),
    ),
    Case(
        "kvq.unpack, and arithmetic",
        lambda r: {
            "p": u8(r, *SHAPE[:3], DIM // 4),
            "s": scales(r, BATCH, HEADS, 3, DIM),
            "z": scales(r, BATCH, HEADS, 3, DIM),
        },
        f"""
  %c_init = tensor.empty() : {C}
  %c = kvq.unpack #kvq.format<codes = ui2, group = [1, *], scale = f16, zero = min f16> ins(%p : {tensor((*SHAPE[:3], DIM // 4), "i8")}) outs(%c_init : {C}) -> {C}"""
        + generic(
            "x",
            SHAPE,
            "f32",
            [("c", C, AXES), *((name, tensor((BATCH, HEADS, 3, DIM), "f32"), "b, h, t floordiv 32, c") for name in "sz")],
            """
    %f = arith.sitofp %in0 : i8 to f32
    %m = arith.mulf %f, %in1 : f32
    %v = arith.addf %m, %in2 : f32
    linalg.yield %v : f32""",
        ),
        lambda a: np.concatenate([wide(a["p"] >> 2 * i & 3) for i in range(4)], -1) * each(a["s"], 32) + each(a["z"], 32),
    ),
    Case(
        "a scaled zero point is subtracted",
        lambda r: {
            "c": u8(r, *SHAPE),
            "s": scales(r, *SHAPE[:3], 1),
            "z": r.uniform(0, 255, (*SHAPE[:3], 1)).astype(np.float32),
        },
        generic(
            "x",
            SHAPE,
            "f32",
            [("c", C, AXES), *((name, S, "b, h, t, 0") for name in "sz")],
            """
    %f = arith.uitofp %in0 : i8 to f32
    %m = arith.mulf %f, %in1 : f32
    %o0 = arith.mulf %in2, %in1 : f32
    %v = arith.subf %m, %o0 : f32
    linalg.yield %v : f32""",
        ),
        lambda a: (wide(a["c"]) - a["z"]) * a["s"],
    ),
    Case(
        "nibbles less 8, set side by side",
        lambda r: {"p": u8(r, *SHAPE[:3], DIM // 2), "s": scales(r, *SHAPE[:3], 1)},
        HALVES
        + f"""
  %c_init = tensor.empty() : {C}
  %c0 = tensor.insert_slice %low into %c_init[0, 0, 0, 0] [{BATCH}, {HEADS}, {TOKENS}, {DIM // 2}] [1, 1, 1, 2] : {P} into {C}
  %c = tensor.insert_slice %high into %c0[0, 0, 0, 1] [{BATCH}, {HEADS}, {TOKENS}, {DIM // 2}] [1, 1, 1, 2] : {P} into {C}"""
        + generic(
            "x",
            SHAPE,
            "f32",
            [("c", C, AXES), ("s", S, "b, h, t, 0")],
            """
    %eight = arith.constant 8 : i8
    %d = arith.subi %in0, %eight : i8
    %f = arith.sitofp %d : i8 to f32
    %v = arith.mulf %f, %in1 : f32
    linalg.yield %v : f32""",
        ),
        lambda a: (interleaved(a["p"]) - 8) * a["s"],
    ),
    Case(
        "nibbles less 8 in floats, from the second token on",
        lambda r: {"p": u8(r, BATCH, HEADS, TOKENS + 1, DIM // 2), "s": scales(r, BATCH, HEADS, TOKENS + 1, 1)},
        "\n  %shifts = arith.constant dense<[0, 4]> : tensor<2xi8>"
        + generic(
            "y",
            (BATCH, HEADS, TOKENS + 1, DIM // 2, 2),
            "f32",
            [
                ("p", tensor((BATCH, HEADS, TOKENS + 1, DIM // 2), "i8"), "b, h, t, j"),
                ("shifts", "tensor<2xi8>", "k"),
                ("s", tensor((BATCH, HEADS, TOKENS + 1, 1), "f32"), "b, h, t, 0"),
            ],
            """
    %mask = arith.constant 15 : i8
    %eight = arith.constant 8.0 : f32
    %n = arith.shrui %in0, %in1 : i8
    %m = arith.andi %n, %mask : i8
    %f = arith.uitofp %m : i8 to f32
    %d = arith.subf %f, %eight : f32
    %v = arith.mulf %in2, %d : f32
    linalg.yield %v : f32""",
            "b, h, t, j, k",
        )
        + f"""
  %z = tensor.collapse_shape %y [[0], [1], [2], [3, 4]] : {tensor((BATCH, HEADS, TOKENS + 1, DIM // 2, 2), "f32")} into {tensor((BATCH, HEADS, TOKENS + 1, DIM), "f32")}
  %x = tensor.extract_slice %z[0, 0, 1, 0] [{BATCH}, {HEADS}, {TOKENS}, {DIM}] [1, 1, 1, 1] : {tensor((BATCH, HEADS, TOKENS + 1, DIM), "f32")} to {ROWS}""",
        lambda a: ((interleaved(a["p"]) - 8) * a["s"])[:, :, 1:],
    ),
    Case(
        "records that kvq.unpack reads, each head for its query heads",
        lambda r: {"p": u8(r, *SHAPE[:3], DIM // 2 + 2) & np.uint8(0xBB)},
        f"""
  %c_init = tensor.empty() : {C}
  %s_init = tensor.empty() : {tensor((*SHAPE[:3], 1), "f16")}
  %c:2 = kvq.unpack #kvq.format<codes = i4, group = [1, *], scale = f16, layout = #kvq.layout<bias, record = [codes, scale]>>
      ins(%p : {tensor((*SHAPE[:3], DIM // 2 + 2), "i8")}) outs(%c_init, %s_init : {C}, {tensor((*SHAPE[:3], 1), "f16")}) -> {C}, {tensor((*SHAPE[:3], 1), "f16")}"""
        + generic(
            "e",
            (BATCH, HEADS, RATIO, TOKENS, DIM),
            "f32",
            [("c#0", C, "b, h, t, c"), ("c#1", tensor((*SHAPE[:3], 1), "f16"), "b, h, t, 0")],
            """
    %f = arith.sitofp %in0 : i8 to f32
    %s32 = arith.extf %in1 : f16 to f32
    %v = arith.mulf %f, %s32 : f32
    linalg.yield %v : f32""",
            "b, h, r, t, c",
        )
        + f"""
  %x = tensor.collapse_shape %e [[0], [1, 2], [3], [4]] : {tensor((BATCH, HEADS, RATIO, TOKENS, DIM), "f32")} into {tensor((BATCH, HEADS * RATIO, TOKENS, DIM), "f32")}""",
        lambda a: ((planar(a["p"][..., :-2]) - 8) * wide(np.ascontiguousarray(a["p"][..., -2:]).view(np.float16))).repeat(
            RATIO, 1
        ),
        tensor((BATCH, HEADS * RATIO, TOKENS, DIM), "f32"),
    ),
    Case(
        "nibbles of all heads of a token, in a row of a batch of tokens",
        lambda r: {
            "p": u8(r, BATCH * TOKENS, HEADS * DIM // 2),
            "s": scales(r, BATCH * TOKENS, HEADS),
            "z": scales(r, BATCH * TOKENS, HEADS),
        },
        "\n  %shifts = arith.constant dense<[0, 4]> : tensor<2xi8>"
        + generic(
            "c",
            (BATCH * TOKENS, HEADS * DIM // 2, 2),
            "i8",
            [("p", tensor((BATCH * TOKENS, HEADS * DIM // 2), "i8"), "t, j"), ("shifts", "tensor<2xi8>", "k")],
            """
    %mask = arith.constant 15 : i8
    %n = arith.shrui %in0, %in1 : i8
    %m = arith.andi %n, %mask : i8
    linalg.yield %m : i8""",
            "t, j, k",
        )
        + f"""
  %f = tensor.collapse_shape %c [[0], [1, 2]] : {tensor((BATCH * TOKENS, HEADS * DIM // 2, 2), "i8")} into {tensor((BATCH * TOKENS, HEADS * DIM), "i8")}
  %g = tensor.expand_shape %f [[0, 1], [2, 3]] output_shape [{BATCH}, {TOKENS}, {HEADS}, {DIM}] : {tensor((BATCH * TOKENS, HEADS * DIM), "i8")} into {tensor((BATCH, TOKENS, HEADS, DIM), "i8")}"""
        + generic(
            "x",
            SHAPE,
            "f32",
            [
                ("g", tensor((BATCH, TOKENS, HEADS, DIM), "i8"), "b, t, h, c"),
                *((name, tensor((BATCH * TOKENS, HEADS), "f32"), f"b * {TOKENS} + t, h") for name in "sz"),
            ],
            """
    %f0 = arith.uitofp %in0 : i8 to f32
    %m = arith.mulf %f0, %in1 : f32
    %v = arith.addf %m, %in2 : f32
    linalg.yield %v : f32""",
        ),
        lambda a: (
            interleaved(a["p"]).reshape(BATCH, TOKENS, HEADS, DIM) * wide(a["s"]).reshape(BATCH, TOKENS, HEADS, 1)
            + wide(a["z"]).reshape(BATCH, TOKENS, HEADS, 1)
        ).swapaxes(1, 2),
    ),
    Case(
        "one scale for all",
        lambda r: {"c": i8(r, *SHAPE)},
        splat("s", "0.0078125", SHAPE, "f32")
        + f"""
  %f = arith.sitofp %c : {C} to {ROWS}
  %x = arith.mulf %f, %s : {ROWS}""",
        lambda a: wide(a["c"]) / 128,
    ),
    Case(
        "a scale for each head",
        lambda r: {"c": i8(r, *SHAPE), "s": scales(r, HEADS)},
        generic("x", SHAPE, "f32", [("c", C, AXES), ("s", tensor((HEADS,), "f32"), "h")], SCALE_BODY),
        lambda a: wide(a["c"]) * a["s"][:, None, None],
    ),
    Case(
        "floats of a byte",
        lambda r: {"c": u8(r, *SHAPE) & np.uint8(0xBF), "s": scales(r, *SHAPE[:3])},
        generic(
            "x",
            SHAPE,
            "f32",
            [("c", C, AXES), ("s", tensor(SHAPE[:3], "f32"), "b, h, t")],
            """
    %e = arith.bitcast %in0 : i8 to f8E5M2
    %f = arith.extf %e : f8E5M2 to f32
    %v = arith.mulf %f, %in1 : f32
    linalg.yield %v : f32""",
        ),
        lambda a: wide((a["c"].astype(np.uint16) << 8).view(np.float16)) * a["s"][..., None],
    ),
    Case(
        "nibbles by the number of the channel",
        lambda r: {"p": u8(r, *SHAPE[:3], DIM // 2), "s": scales(r, *SHAPE[:3], 1), "z": scales(r, *SHAPE[:3], 1)},
        generic(
            "x",
            SHAPE,
            "f32",
            [("p", P, "b, h, t, c floordiv 2"), *((name, S, "b, h, t, 0") for name in "sz")],
            """
    %two = arith.constant 2 : index
    %zero = arith.constant 0 : index
    %mask = arith.constant 15 : i8
    %four = arith.constant 4 : i8
    %i = linalg.index 3 : index
    %r = arith.remui %i, %two : index
    %even = arith.cmpi eq, %r, %zero : index
    %l = arith.andi %in0, %mask : i8
    %h = arith.shrui %in0, %four : i8
    %n = arith.select %even, %h, %l : i8
    %f = arith.uitofp %n : i8 to f32
    %m = arith.mulf %f, %in1 : f32
    %v = arith.addf %m, %in2 : f32
    linalg.yield %v : f32""",
        ),
        lambda a: np.stack(nibbles(a["p"])[::-1], -1).reshape(SHAPE) * a["s"] + a["z"],
    ),
    Case(
        "six bits across bytes",
        lambda r: {"p": u8(r, *SHAPE[:3], 48), "s": scales(r, *SHAPE[:3], 1), "z": scales(r, *SHAPE[:3], 1)},
        generic(
            "x",
            SHAPE,
            "f32",
            [
                ("p", tensor((*SHAPE[:3], 48), "i8"), "b, h, t, (c * 6) floordiv 8"),
                ("p", tensor((*SHAPE[:3], 48), "i8"), "b, h, t, (c * 6 + 5) floordiv 8"),
                *((name, S, "b, h, t, 0") for name in "sz"),
            ],
            """
    %six = arith.constant 6 : index
    %eight = arith.constant 8 : index
    %wide8 = arith.constant 8 : i16
    %mask = arith.constant 63 : i16
    %byte = arith.constant 255 : i16
    %i = linalg.index 3 : index
    %i6 = arith.muli %i, %six : index
    %r = arith.remui %i6, %eight : index
    %shift = arith.index_cast %r : index to i16
    %up = arith.subi %wide8, %shift : i16
    %l = arith.extui %in0 : i8 to i16
    %h = arith.extui %in1 : i8 to i16
    %l1 = arith.shrui %l, %shift : i16
    %h1 = arith.shli %h, %up : i16
    %crosses0 = arith.constant 2 : i16
    %crosses = arith.cmpi ugt, %shift, %crosses0 : i16
    %none = arith.constant 0 : i16
    %h2 = arith.select %crosses, %h1, %none : i16
    %n0 = arith.ori %l1, %h2 : i16
    %n = arith.andi %n0, %mask : i16
    %f = arith.uitofp %n : i16 to f32
    %m = arith.mulf %f, %in2 : f32
    %v = arith.addf %m, %in3 : f32
    linalg.yield %v : f32""",
        ),
        lambda a: six_bits(a["p"]) * a["s"] + a["z"],
    ),
    Case(
        "nibbles of tokens before heads",
        lambda r: {
            "p": u8(r, BATCH, TOKENS, HEADS, DIM // 2),
            "s": scales(r, BATCH, TOKENS, HEADS, 2),
            "z": scales(r, BATCH, TOKENS, HEADS, 2),
        },
        "\n  %shifts = arith.constant dense<[0, 4]> : tensor<2xi8>"
        + generic(
            "y",
            (BATCH, HEADS, TOKENS, 2, DIM // 2),
            "f32",
            [
                ("p", tensor((BATCH, TOKENS, HEADS, DIM // 2), "i8"), "b, t, h, j"),
                ("shifts", "tensor<2xi8>", "k"),
                *((name, tensor((BATCH, TOKENS, HEADS, 2), "f32"), "b, t, h, k") for name in "sz"),
            ],
            """
    %mask = arith.constant 15 : i8
    %n = arith.shrui %in0, %in1 : i8
    %m = arith.andi %n, %mask : i8
    %f = arith.uitofp %m : i8 to f32
    %p1 = arith.mulf %f, %in2 : f32
    %v = arith.addf %p1, %in3 : f32
    linalg.yield %v : f32""",
            "b, h, t, k, j",
        )
        + f"\n  %x = tensor.collapse_shape %y [[0], [1], [2], [3, 4]] : {tensor((BATCH, HEADS, TOKENS, 2, DIM // 2), 'f32')} into {ROWS}",
        lambda a: (planar(a["p"]) * each(a["s"], 1, 32) + each(a["z"], 1, 32)).swapaxes(1, 2),
    ),
]
