"""Ways to write what dequantizes codes: helpers, and what moves values between a kvq.dequantize and attention."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

BATCH, HEADS, RATIO, TOKENS, DIM = 2, 2, 2, 96, 64
SHAPE = (BATCH, HEADS, TOKENS, DIM)
Arrays = dict[str, np.ndarray]


def tensor(shape: tuple[int | str, ...], element: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{element}>"


ROWS = tensor(SHAPE, "f32")
AXES = "b, h, t, c"


def generic(
    result: str,
    out: tuple[int | str, ...],
    element: str,
    inputs: list[tuple[str, str, str]],
    body: str,
    axes: str = AXES,
    dims: str = "",
) -> str:
    """%result: a structured op. inputs: name, type and map's results of each; the body has them as %in0, %in1, ..."""
    names, types = ", ".join(f"%{name}" for name, _, _ in inputs), ", ".join(kind for _, kind, _ in inputs)
    maps = ", ".join(f"affine_map<({axes}) -> ({expr})>" for expr in [*(expr for _, _, expr in inputs), axes])
    iterators = ", ".join('"parallel"' for _ in axes.split(","))
    arguments = ", ".join(
        f"%in{i}: {kind.rsplit('x', 1)[-1].removeprefix('tensor<').rstrip('>')}" for i, (_, kind, _) in enumerate(inputs)
    )
    kind = tensor(out, element)
    return f"""
  %{result}_init = tensor.empty({dims}) : {kind}
  %{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
      ins({names} : {types}) outs(%{result}_init : {kind}) {{
  ^bb0({arguments}, %o: {element}):{body}
  }} -> {kind}"""


def dequantize(
    result: str,
    fmt: str,
    codes: str,
    metadata: list[str],
    out: tuple[int | str, ...],
    types: list[str],
    element: str = "f32",
) -> str:
    kind = tensor(out, element)
    operands = ", ".join(f"%{name}" for name in [codes, *metadata])
    return f"""
  %{result}_init = tensor.empty() : {kind}
  %{result} = kvq.dequantize #kvq.format<{fmt}> ins({operands} : {", ".join(types)}) outs(%{result}_init : {kind}) -> {kind}"""


@dataclass
class Case:
    """draw: the arrays. body: makes %x of them, of the type `rows`. values: what it stands for, [batch, heads, tokens,
    channels] in float64."""

    name: str
    draw: Callable[[np.random.Generator], Arrays]
    body: str
    values: Callable[[Arrays], np.ndarray]
    rows: str = ROWS

    def __repr__(self) -> str:
        return self.name


def i8(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-128, 128, shape).astype(np.int8)


def u8(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(0, 256, shape).astype(np.uint8)


def scales(rng: np.random.Generator, *shape: int, dtype: str = "float32") -> np.ndarray:
    return rng.uniform(0.005, 0.02, shape).astype(dtype)


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64)


def each(x: np.ndarray, tokens: int = 1, channels: int = 1) -> np.ndarray:
    """Metadata of groups, for each of their elements."""
    return wide(x).repeat(tokens, -2).repeat(channels, -1)


def nibbles(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return wide(x & 15), wide(x >> 4)


def planar(x: np.ndarray) -> np.ndarray:
    return np.concatenate(nibbles(x), -1)


def interleaved(x: np.ndarray) -> np.ndarray:
    return np.stack(nibbles(x), -1).reshape(*x.shape[:-1], -1)


INT8 = "codes = i8, group = [1, *], scale = f32"
UI4_TOKENS = "codes = ui4, group = [32, 1], scale = f16, zero = min f16"
C, S = tensor(SHAPE, "i8"), tensor((*SHAPE[:3], 1), "f32")

# What moves values between a kvq.dequantize and attention.
MOVES = [
    Case(
        "transposed",
        lambda r: {"c": i8(r, BATCH, TOKENS, HEADS, DIM), "s": scales(r, BATCH, TOKENS, HEADS, 1)},
        dequantize(
            "y",
            INT8,
            "c",
            ["s"],
            (BATCH, TOKENS, HEADS, DIM),
            [tensor((BATCH, TOKENS, HEADS, DIM), "i8"), tensor((BATCH, TOKENS, HEADS, 1), "f32")],
        )
        + f"""
  %x_init = tensor.empty() : {ROWS}
  %x = linalg.transpose ins(%y : {tensor((BATCH, TOKENS, HEADS, DIM), "f32")}) outs(%x_init : {ROWS}) permutation = [0, 2, 1, 3]""",
        lambda a: (wide(a["c"]) * a["s"]).swapaxes(1, 2),
    ),
    Case(
        "tokens first, as a generic",
        lambda r: {"c": i8(r, TOKENS, BATCH, HEADS, DIM), "s": scales(r, TOKENS, BATCH, HEADS, 1)},
        dequantize(
            "y",
            INT8,
            "c",
            ["s"],
            (TOKENS, BATCH, HEADS, DIM),
            [tensor((TOKENS, BATCH, HEADS, DIM), "i8"), tensor((TOKENS, BATCH, HEADS, 1), "f32")],
        )
        + generic(
            "x",
            SHAPE,
            "f32",
            [("y", tensor((TOKENS, BATCH, HEADS, DIM), "f32"), "t, b, h, c")],
            "\n    linalg.yield %in0 : f32",
        ),
        lambda a: (wide(a["c"]) * a["s"]).transpose(1, 2, 0, 3),
    ),
    Case(
        "later token groups",
        lambda r: {
            "p": u8(r, BATCH, HEADS, TOKENS + 64, DIM // 2),
            "s": scales(r, BATCH, HEADS, 5, DIM, dtype="float16"),
            "z": scales(r, BATCH, HEADS, 5, DIM, dtype="float16"),
        },
        f"""
  %c_init = tensor.empty() : {tensor((BATCH, HEADS, TOKENS + 64, DIM), "i8")}
  %c = kvq.unpack #kvq.format<{UI4_TOKENS}> ins(%p : {tensor((BATCH, HEADS, TOKENS + 64, DIM // 2), "i8")}) outs(%c_init : {tensor((BATCH, HEADS, TOKENS + 64, DIM), "i8")}) -> {tensor((BATCH, HEADS, TOKENS + 64, DIM), "i8")}"""
        + dequantize(
            "y",
            UI4_TOKENS,
            "c",
            ["s", "z"],
            (BATCH, HEADS, TOKENS + 64, DIM),
            [tensor((BATCH, HEADS, TOKENS + 64, DIM), "i8")] + [tensor((BATCH, HEADS, 5, DIM), "f16")] * 2,
        )
        + f"""
  %x = tensor.extract_slice %y[0, 0, 64, 0] [{BATCH}, {HEADS}, {TOKENS}, {DIM}] [1, 1, 1, 1] : {tensor((BATCH, HEADS, TOKENS + 64, DIM), "f32")} to {ROWS}""",
        lambda a: (planar(a["p"]) * each(a["s"], 32) + each(a["z"], 32))[:, :, 64:],
    ),
    Case(
        "tokens from where the host says",
        lambda r: {
            "c": i8(r, BATCH, HEADS, TOKENS + 7, DIM),
            "s": scales(r, BATCH, HEADS, TOKENS + 7, 1),
            "at": np.array([5], np.int64),
        },
        dequantize(
            "y",
            INT8,
            "c",
            ["s"],
            (BATCH, HEADS, TOKENS + 7, DIM),
            [tensor((BATCH, HEADS, TOKENS + 7, DIM), "i8"), tensor((BATCH, HEADS, TOKENS + 7, 1), "f32")],
        )
        + f"""
  %zero = arith.constant 0 : index
  %at_i64 = tensor.extract %at[%zero] : tensor<1xi64>
  %first = arith.index_cast %at_i64 : i64 to index
  %x = tensor.extract_slice %y[0, 0, %first, 0] [{BATCH}, {HEADS}, {TOKENS}, {DIM}] [1, 1, 1, 1] : {tensor((BATCH, HEADS, TOKENS + 7, DIM), "f32")} to {ROWS}""",
        lambda a: (wide(a["c"]) * a["s"])[:, :, a["at"][0] :][:, :, :TOKENS],
    ),
    Case(
        "some heads of some sequences",
        lambda r: {"c": i8(r, 4, 6, TOKENS, DIM), "s": scales(r, 4, 6, TOKENS, 1)},
        dequantize(
            "y", INT8, "c", ["s"], (4, 6, TOKENS, DIM), [tensor((4, 6, TOKENS, DIM), "i8"), tensor((4, 6, TOKENS, 1), "f32")]
        )
        + f"""
  %x = tensor.extract_slice %y[1, 3, 0, 0] [{BATCH}, {HEADS}, {TOKENS}, {DIM}] [1, 1, 1, 1] : {tensor((4, 6, TOKENS, DIM), "f32")} to {ROWS}""",
        lambda a: (wide(a["c"]) * a["s"])[1:3, 3:5],
    ),
    Case(
        "a layer of all, cut before",
        lambda r: {"c": i8(r, 3, *SHAPE), "s": scales(r, 3, *SHAPE[:3], 1)},
        f"""
  %lc = tensor.extract_slice %c[2, 0, 0, 0, 0] [1, {BATCH}, {HEADS}, {TOKENS}, {DIM}] [1, 1, 1, 1, 1] : {tensor((3, *SHAPE), "i8")} to {C}
  %ls = tensor.extract_slice %s[2, 0, 0, 0, 0] [1, {BATCH}, {HEADS}, {TOKENS}, 1] [1, 1, 1, 1, 1] : {tensor((3, *SHAPE[:3], 1), "f32")} to {S}"""
        + dequantize("x", INT8, "lc", ["ls"], SHAPE, [C, S]),
        lambda a: (wide(a["c"]) * a["s"])[2],
    ),
    Case(
        "a layer of all, cut behind",
        lambda r: {"c": i8(r, 3, *SHAPE), "s": scales(r, 3, *SHAPE[:3], 1)},
        dequantize("y", INT8, "c", ["s"], (3, *SHAPE), [tensor((3, *SHAPE), "i8"), tensor((3, *SHAPE[:3], 1), "f32")])
        + f"""
  %x = tensor.extract_slice %y[1, 0, 0, 0, 0] [1, {BATCH}, {HEADS}, {TOKENS}, {DIM}] [1, 1, 1, 1, 1] : {tensor((3, *SHAPE), "f32")} to {ROWS}""",
        lambda a: (wide(a["c"]) * a["s"])[1],
    ),
    Case(
        "channels of wider rows",
        lambda r: {"c": i8(r, BATCH, HEADS, TOKENS, 160), "s": scales(r, BATCH, HEADS, TOKENS, 5)},
        dequantize(
            "y",
            "codes = i8, group = [1, 32], scale = f32",
            "c",
            ["s"],
            (BATCH, HEADS, TOKENS, 160),
            [tensor((BATCH, HEADS, TOKENS, 160), "i8"), tensor((BATCH, HEADS, TOKENS, 5), "f32")],
        )
        + f"""
  %x = tensor.extract_slice %y[0, 0, 0, 32] [{BATCH}, {HEADS}, {TOKENS}, {DIM}] [1, 1, 1, 1] : {tensor((BATCH, HEADS, TOKENS, 160), "f32")} to {ROWS}""",
        lambda a: (wide(a["c"]) * each(a["s"], 1, 32))[..., 32 : 32 + DIM],
    ),
    Case(
        "heads of all sequences on one axis",
        lambda r: {"c": i8(r, BATCH * HEADS, TOKENS, DIM), "s": scales(r, BATCH * HEADS, TOKENS, 1)},
        dequantize(
            "y",
            INT8,
            "c",
            ["s"],
            (BATCH * HEADS, TOKENS, DIM),
            [tensor((BATCH * HEADS, TOKENS, DIM), "i8"), tensor((BATCH * HEADS, TOKENS, 1), "f32")],
        )
        + f"""
  %x = tensor.expand_shape %y [[0, 1], [2], [3]] output_shape [{BATCH}, {HEADS}, {TOKENS}, {DIM}] : {tensor((BATCH * HEADS, TOKENS, DIM), "f32")} into {ROWS}""",
        lambda a: (wide(a["c"]) * a["s"]).reshape(SHAPE),
    ),
    Case(
        "tokens in blocks",
        lambda r: {"c": i8(r, BATCH, HEADS, 6, 16, DIM), "s": scales(r, BATCH, HEADS, 6, 16, 1)},
        dequantize(
            "y",
            INT8,
            "c",
            ["s"],
            (BATCH, HEADS, 6, 16, DIM),
            [tensor((BATCH, HEADS, 6, 16, DIM), "i8"), tensor((BATCH, HEADS, 6, 16, 1), "f32")],
        )
        + f"""
  %x = tensor.collapse_shape %y [[0], [1], [2, 3], [4]] : {tensor((BATCH, HEADS, 6, 16, DIM), "f32")} into {ROWS}""",
        lambda a: (wide(a["c"]) * a["s"]).reshape(SHAPE),
    ),
    Case(
        "all heads of a token in a row, behind others",
        lambda r: {"c": i8(r, BATCH, TOKENS, 5 * DIM), "s": scales(r, BATCH, TOKENS, 5 * DIM // 32)},
        dequantize(
            "y",
            "codes = i8, group = [1, 32], scale = f32",
            "c",
            ["s"],
            (BATCH, TOKENS, 5 * DIM),
            [tensor((BATCH, TOKENS, 5 * DIM), "i8"), tensor((BATCH, TOKENS, 5 * DIM // 32), "f32")],
        )
        + f"""
  %k = tensor.extract_slice %y[0, 0, {2 * DIM}] [{BATCH}, {TOKENS}, {2 * DIM}] [1, 1, 1] : {tensor((BATCH, TOKENS, 5 * DIM), "f32")} to {tensor((BATCH, TOKENS, 2 * DIM), "f32")}
  %h = tensor.expand_shape %k [[0], [1], [2, 3]] output_shape [{BATCH}, {TOKENS}, {HEADS}, {DIM}] : {tensor((BATCH, TOKENS, 2 * DIM), "f32")} into {tensor((BATCH, TOKENS, HEADS, DIM), "f32")}
  %x_init = tensor.empty() : {ROWS}
  %x = linalg.transpose ins(%h : {tensor((BATCH, TOKENS, HEADS, DIM), "f32")}) outs(%x_init : {ROWS}) permutation = [0, 2, 1, 3]""",
        lambda a: (
            (wide(a["c"]) * each(a["s"], 1, 32))[..., 2 * DIM : 4 * DIM].reshape(BATCH, TOKENS, HEADS, DIM).swapaxes(1, 2)
        ),
    ),
    Case(
        "transposed, each head for its query heads",
        lambda r: {"c": i8(r, BATCH, TOKENS, HEADS, DIM), "s": scales(r, BATCH, TOKENS, HEADS, 1)},
        dequantize(
            "y",
            INT8,
            "c",
            ["s"],
            (BATCH, TOKENS, HEADS, DIM),
            [tensor((BATCH, TOKENS, HEADS, DIM), "i8"), tensor((BATCH, TOKENS, HEADS, 1), "f32")],
        )
        + generic(
            "e",
            (BATCH, HEADS, RATIO, TOKENS, DIM),
            "f32",
            [("y", tensor((BATCH, TOKENS, HEADS, DIM), "f32"), "b, t, h, c")],
            "\n    linalg.yield %in0 : f32",
            "b, h, r, t, c",
        )
        + f"""
  %x = tensor.collapse_shape %e [[0], [1, 2], [3], [4]] : {tensor((BATCH, HEADS, RATIO, TOKENS, DIM), "f32")} into {tensor((BATCH, HEADS * RATIO, TOKENS, DIM), "f32")}""",
        lambda a: (wide(a["c"]) * a["s"]).swapaxes(1, 2).repeat(RATIO, 1),
        tensor((BATCH, HEADS * RATIO, TOKENS, DIM), "f32"),
    ),
]
