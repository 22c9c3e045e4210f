"""Attention as front ends write it in linalg: each part in several ways, drawn apart from the others.

`draw` gives a module, the arrays that its function takes, and what it computes, in float64.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

BATCH, HEADS, RATIO, DIM, LAYERS = 2, 2, 3, 16, 3
LOWEST = -3.4028234663852886e38
DTYPES = {"f16": np.float16, "f32": np.float32}

# Every way to write each part.
FORMS: dict[str, tuple] = {
    "keys": ("bhtd", "bthd", "tbhd", "(bh)td", "bt(hd)", "lbhtd"),
    "values": ("bhtd", "bthd", "tbhd", "(bh)td", "bt(hd)", "lbhtd"),
    "dtype": ("f32", "f16"),
    "tokens": (40, "?"),
    "queries": (1, 3),
    "contraction": ("einsum", "batch_matmul", "transposed", "grouped"),
    "repeat": ("generic", "linalg.broadcast", "in the map"),
    "scale": ("after", "divided", "query", "key", "both", "none"),
    "softcap": (None, 5.0),
    "mask": ("none", "float", "float per sequence", "i1 selects", "i1 adds", "length", "lengths", "causal", "hidden", "window"),
    "hides": (float("-inf"), LOWEST, -1e9),
    "softmax": ("linalg.softmax", "exp", "exp2", "reciprocal", "unshifted", "guarded"),
    "fused": (False, True),
}
Form = dict[str, object]


@dataclass
class Value:
    name: str
    axes: list[int | str]
    element: str

    @property
    def type(self) -> str:
        return f"tensor<{''.join(f'{extent}x' for extent in self.axes)}{self.element}>"


def number(value: float, element: str) -> str:
    """A constant as MLIR has it."""
    if np.isinf(value):
        return {"f32": "0xFF800000", "f16": "0xFC00"}[element]
    return f"{value:.17e}"


@dataclass
class Writer:
    """Emits ops; `extent` names the value of each dynamic extent."""

    extent: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def op(self, text: str) -> str:
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def constant(self, value: float, element: str = "f32") -> str:
        return self.op(f"arith.constant {number(value, element)} : {element}")

    def empty(self, axes: list[int | str], element: str) -> Value:
        dynamic = ", ".join(self.extent[a] for a in axes if a == "?")
        value = Value("", list(axes), element)
        value.name = self.op(f"tensor.empty({dynamic}) : {value.type}")
        return value

    def fill(self, axes: list[int | str], element: str, number_: float) -> Value:
        out = self.empty(axes, element)
        constant = self.constant(number_, element) if element != "i1" else self.op("arith.constant false")
        return Value(
            self.op(f"linalg.fill ins({constant} : {element}) outs({out.name} : {out.type}) -> {out.type}"), out.axes, element
        )

    def generic(
        self,
        inputs: list[tuple[Value, str]],
        out: tuple[list[int | str], str, str],
        body: str,
        init: float | None = None,
        loops: str = "",
    ) -> Value:
        """inputs: values and their axes, a letter for each; out: extents, axes and element type. body: its last line yields;
        it has the inputs as %in0, … and what there is as %o. init: for a reduction."""
        extents, letters, element = out
        loops = loops or letters + "".join(sorted({c for _, axes in inputs for c in axes if c.isalpha()} - set(letters)))
        start = self.empty(extents, element) if init is None else self.fill(extents, element, init)
        maps = ", ".join(
            f"affine_map<({', '.join(loops)}) -> ({', '.join(axes)})>" for axes in [*(axes for _, axes in inputs), letters]
        )
        kinds = ", ".join(f'"{"parallel" if c in letters else "reduction"}"' for c in loops)
        arguments = ", ".join([*(f"%in{i}: {v.element}" for i, (v, _) in enumerate(inputs)), f"%o: {element}"])
        ins = ""
        if inputs:
            ins = f"ins({', '.join(v.name for v, _ in inputs)} : {', '.join(v.type for v, _ in inputs)})"
        return Value(
            self.op(
                f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {ins} "
                f"outs({start.name} : {start.type}) {{\n  ^bb0({arguments}):\n    {body}\n  }} -> {start.type}"
            ),
            list(extents),
            element,
        )

    def elementwise(self, x: Value, body: str, others: tuple[tuple[Value, str], ...] = (), element: str = "") -> Value:
        letters = "uvwxyz"[: len(x.axes)]
        return self.generic([(x, letters), *others], (x.axes, letters, element or x.element), body)

    def transpose(self, x: Value, order: list[int]) -> Value:
        out = self.empty([x.axes[i] for i in order], x.element)
        return Value(
            self.op(f"linalg.transpose ins({x.name} : {x.type}) outs({out.name} : {out.type}) permutation = {order}")
            if order != sorted(order)
            else x.name,
            out.axes,
            x.element,
        )

    def collapse(self, x: Value, groups: list[list[int]]) -> Value:
        axes = ["?" if "?" in (part := [x.axes[i] for i in group]) else int(np.prod(part)) for group in groups]
        out = Value("", axes, x.element)
        out.name = self.op(f"tensor.collapse_shape {x.name} {groups} : {x.type} into {out.type}")
        return out

    def expand(self, x: Value, groups: list[list[int]], axes: list[int | str]) -> Value:
        out = Value("", axes, x.element)
        shape = ", ".join(self.extent[a] if a == "?" else str(a) for a in axes)
        out.name = self.op(f"tensor.expand_shape {x.name} {groups} output_shape [{shape}] : {x.type} into {out.type}")
        return out


# --- keys and values --------------------------------------------------------------------------------------------------


def stored(x: np.ndarray, layout: str, rng: np.random.Generator) -> np.ndarray:
    """Rows [b, h, t, d] in a layout."""
    b, h, t, d = x.shape
    if layout == "lbhtd":
        every = rng.standard_normal((LAYERS, *x.shape)).astype(x.dtype)
        every[1] = x
        return every
    order = {"bhtd": (0, 1, 2, 3), "bthd": (0, 2, 1, 3), "tbhd": (2, 0, 1, 3)}
    if layout in order:
        return np.ascontiguousarray(x.transpose(order[layout]))
    return x.reshape(b * h, t, d) if layout == "(bh)td" else np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(b, t, h * d)


def rows(w: Writer, x: Value, layout: str, tokens: int | str) -> Value:
    """A layout as [b, h, t, d]."""
    if layout == "bt(hd)":
        x = w.expand(x, [[0], [1], [2, 3]], [BATCH, tokens, HEADS, DIM])
        return w.transpose(x, [0, 2, 1, 3])
    if layout == "(bh)td":
        return w.expand(x, [[0, 1], [2], [3]], [BATCH, HEADS, tokens, DIM])
    if layout == "lbhtd":
        out = Value("", [BATCH, HEADS, tokens, DIM], x.element)
        size = w.extent["?"] if tokens == "?" else tokens
        out.name = w.op(
            f"tensor.extract_slice {x.name}[1, 0, 0, 0, 0] [1, {BATCH}, {HEADS}, {size}, {DIM}] [1, 1, 1, 1, 1] "
            f": {x.type} to {out.type}"
        )
        return out
    return w.transpose(x, {"bhtd": [0, 1, 2, 3], "bthd": [0, 2, 1, 3], "tbhd": [1, 2, 0, 3]}[layout])


def repeated(w: Writer, x: Value, ratio: int, how: str) -> Value:
    """KV heads, each `ratio` times: [b, h * ratio, t, d]."""
    b, h, t, d = x.axes
    if ratio == 1:
        return x
    if how == "linalg.broadcast":
        out = w.empty([b, h, ratio, t, d], x.element)
        wide = Value(
            w.op(f"linalg.broadcast ins({x.name} : {x.type}) outs({out.name} : {out.type}) dimensions = [2]"),
            out.axes,
            x.element,
        )
    elif how == "generic":
        wide = w.generic([(x, "bhtd")], ([b, h, ratio, t, d], "bhgtd", x.element), f"linalg.yield %in0 : {x.element}")
    else:  # an axis of extent 1 is read at 0
        thin = w.expand(x, [[0], [1, 2], [3], [4]], [b, h, 1, t, d])
        wide = w.generic([(thin, "bh0td")], ([b, h, ratio, t, d], "bhgtd", x.element), f"linalg.yield %in0 : {x.element}")
    return w.collapse(wide, [[0], [1, 2], [3], [4]])


# --- scores -----------------------------------------------------------------------------------------------------------

SCALE = 0.25


def scaled(w: Writer, x: Value, factor: float) -> Value:
    c = w.constant(factor, x.element)
    return w.elementwise(x, f"%y = arith.mulf %in0, {c} : {x.element}\n    linalg.yield %y : {x.element}")


def widened(w: Writer, x: Value) -> Value:
    if x.element == "f32":
        return x
    return w.elementwise(x, f"%y = arith.extf %in0 : {x.element} to f32\n    linalg.yield %y : f32", element="f32")


PRODUCT = "%p = arith.mulf %in0, %in1 : f32\n    %s = arith.addf %o, %p : f32\n    linalg.yield %s : f32"


def batch_matmul(w: Writer, left: Value, right: Value, transposed: bool = False) -> Value:
    """[b, h, m, k] by [b, h, k, n], heads and sequences along one axis."""
    merge = [[0, 1], [2], [3]]
    (b, h, m, _), n = left.axes, right.axes[2 if transposed else 3]
    a, c = w.collapse(left, merge), w.collapse(right, merge)
    out = w.fill([b * h, m, n], "f32", 0.0)
    maps = ""
    if transposed:
        dims = "affine_map<(b, m, n, k) -> ({})>"
        maps = f" indexing_maps = [{dims.format('b, m, k')}, {dims.format('b, n, k')}, {dims.format('b, m, n')}]"
    result = Value(
        w.op(
            f"linalg.batch_matmul{maps} ins({a.name}, {c.name} : {a.type}, {c.type}) outs({out.name} : {out.type}) "
            f"-> {out.type}"
        ),
        out.axes,
        "f32",
    )
    return w.expand(result, merge, [b, h, m, n])


def contract(w: Writer, form: Form, q: Value, k: Value) -> Value:
    """Scores [b, query head, i, t]."""
    b, heads, n, dim = q.axes
    _, kv, t, _ = k.axes
    if form["contraction"] == "grouped":
        q5 = w.expand(q, [[0], [1, 2], [3], [4]], [b, kv, heads // kv, n, dim])
        s = w.generic([(k, "bhtd"), (q5, "bhgid")], ([b, kv, t, heads // kv, n], "bhtgi", "f32"), PRODUCT, 0.0)
        return w.collapse(w.transpose(s, [0, 1, 3, 4, 2]), [[0], [1, 2], [3], [4]])
    k = repeated(w, k, heads // kv, form["repeat"])
    if form["contraction"] == "einsum":
        return w.generic([(q, "bhid"), (k, "bhtd")], ([b, heads, n, t], "bhit", "f32"), PRODUCT, 0.0)
    if form["contraction"] == "transposed":
        return batch_matmul(w, q, k, transposed=True)
    return batch_matmul(w, q, w.transpose(k, [0, 1, 3, 2]))


def contract_values(w: Writer, form: Form, p: Value, v: Value) -> Value:
    b, heads, n, t = p.axes
    _, kv, _, dim = v.axes
    if form["contraction"] == "grouped":
        p5 = w.expand(p, [[0], [1, 2], [3], [4]], [b, kv, heads // kv, n, t])
        o = w.generic([(v, "bhtd"), (p5, "bhgit")], ([b, kv, dim, heads // kv, n], "bhdgi", "f32"), PRODUCT, 0.0)
        return w.collapse(w.transpose(o, [0, 1, 3, 4, 2]), [[0], [1, 2], [3], [4]])
    v = repeated(w, v, heads // kv, form["repeat"])
    if form["contraction"] == "einsum":
        return w.generic([(p, "bhit"), (v, "bhtd")], ([b, heads, n, dim], "bhid", "f32"), PRODUCT, 0.0)
    return batch_matmul(w, p, v)


def capped(w: Writer, s: Value, cap: float, fused: bool) -> Value:
    c = w.constant(cap)
    parts = [
        f"%a = arith.divf %in0, {c} : f32\n    linalg.yield %a : f32",
        "%a = math.tanh %in0 : f32\n    linalg.yield %a : f32",
        f"%a = arith.mulf %in0, {c} : f32\n    linalg.yield %a : f32",
    ]
    if fused:
        parts = [
            f"%a = arith.divf %in0, {c} : f32\n    %b = math.tanh %a : f32\n    %d = arith.mulf %b, {c} : f32\n"
            "    linalg.yield %d : f32"
        ]
    for part in parts:
        s = w.elementwise(s, part)
    return s


# --- masks ------------------------------------------------------------------------------------------------------------


def compares(w: Writer, form: Form, n: int, t: int | str) -> tuple[Value, str]:
    """An i1 of what is hidden for "hidden", of what is visible otherwise, and its axes among b, h, i, t."""
    index = "%t0 = linalg.index {} : index\n    %t = arith.index_cast %t0 : index to i64\n    "
    if form["mask"] == "length":
        end = w.op("tensor.extract %position[%zero] : tensor<2xi64>")
        body = index.format(0) + f"%c = arith.cmpi sle, %t, {end} : i64\n    linalg.yield %c : i1"
        return w.generic([], ([t], "t", "i1"), body), "t"
    position = Value("%position", [BATCH], "i64")
    if form["mask"] == "lengths":
        body = index.format(1) + "%c = arith.cmpi ugt, %in0, %t : i64\n    linalg.yield %c : i1"
        return w.generic([(position, "b")], ([BATCH, t], "bt", "i1"), body), "bt"
    query = "%i0 = linalg.index 1 : index\n    %i = arith.index_cast %i0 : index to i64\n    "
    at = "%p = arith.addi %in0, %i : i64\n    "
    if form["mask"] == "hidden":
        body = index.format(2) + query + at + "%c = arith.cmpi sgt, %t, %p : i64\n    linalg.yield %c : i1"
    elif form["mask"] == "causal":
        body = index.format(2) + query + at + "%c = arith.cmpi sge, %p, %t : i64\n    linalg.yield %c : i1"
    else:
        nine = w.op("arith.constant 9 : i64")
        body = (
            index.format(2) + query + at + "%c = arith.cmpi sle, %t, %p : i64\n    "
            f"%f = arith.subi %p, {nine} : i64\n    %e = arith.cmpi slt, %f, %t : i64\n    "
            "%a = arith.andi %c, %e : i1\n    linalg.yield %a : i1"
        )
    return w.generic([(position, "b")], ([BATCH, n, t], "bit", "i1"), body), "bit"


def masked(w: Writer, form: Form, s: Value) -> Value:
    _, _, n, t = s.axes
    kind = form["mask"]
    if kind == "none":
        return s
    letters = {"b": "u", "h": "v", "i": "w", "t": "x"}
    add = "%y = arith.addf %in0, %in1 : f32\n    linalg.yield %y : f32"
    if kind in ("float", "float per sequence"):
        axes = [n, t] if kind == "float" else [BATCH, 1, n, t]
        mask = Value("%mask", axes, "f32")
        return w.elementwise(s, add, ((mask, "wx" if kind == "float" else "u0wx"),))
    if kind in ("i1 selects", "i1 adds"):
        none = w.op("arith.constant 0 : i8")
        body = f"%y = arith.cmpi ne, %in0, {none} : i8\n    linalg.yield %y : i1"
        condition, axes = w.elementwise(Value("%mask", [n, t], "i8"), body, element="i1"), "it"
    else:
        condition, axes = compares(w, form, n, t)
    low = w.constant(form["hides"])
    read = "".join(letters[c] for c in axes)
    hides = kind == "hidden"
    if kind == "i1 adds" or (kind in ("causal", "hidden", "length") and not form["fused"]):
        zero = w.constant(0.0)
        chosen = f"{low}, {zero}" if hides else f"{zero}, {low}"
        body = f"%y = arith.select %in0, {chosen} : f32\n    linalg.yield %y : f32"
        return w.elementwise(s, add, ((w.elementwise(condition, body, element="f32"), read),))
    chosen = f"{low}, %in0" if hides else f"%in0, {low}"
    return w.elementwise(s, f"%y = arith.select %in1, {chosen} : f32\n    linalg.yield %y : f32", ((condition, read),))


# --- softmax ----------------------------------------------------------------------------------------------------------


def softmax(w: Writer, s: Value, how: str, fused: bool) -> Value:
    b, h, n, t = s.axes
    if how == "linalg.softmax":
        out = w.empty(s.axes, "f32")
        return Value(
            w.op(f"linalg.softmax dimension(3) ins({s.name} : {s.type}) outs({out.name} : {out.type}) -> {out.type}"),
            s.axes,
            "f32",
        )
    thin = ([b, h, n, 1], "bhi0", "f32") if fused else ([b, h, n], "bhi", "f32")
    score = s
    if how != "unshifted":
        top = w.generic(
            [(s, "bhit")], thin, "%y = arith.maximumf %in0, %o : f32\n    linalg.yield %y : f32", float("-inf"), "bhit"
        )
        s = w.generic(
            [(s, "bhit"), (top, thin[1])],
            (s.axes, "bhit", "f32"),
            "%y = arith.subf %in0, %in1 : f32\n    linalg.yield %y : f32",
        )
    if how == "exp2":
        s = scaled(w, s, np.log2(np.e))
    e = w.elementwise(s, f"%y = math.{'exp2' if how == 'exp2' else 'exp'} %in0 : f32\n    linalg.yield %y : f32")
    total = w.generic([(e, "bhit")], thin, "%y = arith.addf %in0, %o : f32\n    linalg.yield %y : f32", 0.0, "bhit")
    divide = "%y = arith.divf %in0, %in1 : f32\n    linalg.yield %y : f32"
    if how == "reciprocal":
        one = w.constant(1.0)
        total = w.elementwise(total, f"%y = arith.divf {one}, %in0 : f32\n    linalg.yield %y : f32")
        divide = "%y = arith.mulf %in1, %in0 : f32\n    linalg.yield %y : f32"
    p = w.generic([(e, "bhit"), (total, thin[1])], (s.axes, "bhit", "f32"), divide)
    if how != "guarded":
        return p
    low = w.constant(float("-inf"))
    seen = w.elementwise(score, f"%y = arith.cmpf une, %in0, {low} : f32\n    linalg.yield %y : i1", element="i1")
    some = w.generic(
        [(seen, "bhit")], (thin[0], thin[1], "i1"), "%y = arith.ori %in0, %o : i1\n    linalg.yield %y : i1", 0.0, "bhit"
    )
    zero = w.constant(0.0)
    no = w.op("arith.constant false")
    none = w.elementwise(some, f"%y = arith.cmpi eq, %in0, {no} : i1\n    linalg.yield %y : i1")
    return w.generic(
        [(p, "bhit"), (none, thin[1])],
        (s.axes, "bhit", "f32"),
        f"%y = arith.select %in1, {zero}, %in0 : f32\n    linalg.yield %y : f32",
    )


# --- all of it --------------------------------------------------------------------------------------------------------


def attend(w: Writer, form: Form, q: Value, k: Value, v: Value) -> Value:
    """Attention of q [b, query head, i, d] over k and v [b, h, t, d], in %out [b, i, query head, d]."""
    scale = form["scale"]
    if scale in ("query", "both"):
        q = scaled(w, q, SCALE if scale == "query" else SCALE**0.5)
    if scale in ("key", "both"):
        k = scaled(w, k, SCALE if scale == "key" else SCALE**0.5)
    s = contract(w, form, widened(w, q), widened(w, k))
    if scale in ("after", "divided"):
        s = scaled(w, s, SCALE) if scale == "after" else divided(w, s)
    if form["softcap"]:
        s = capped(w, s, form["softcap"], form["fused"])
    p = softmax(w, masked(w, form, s), form["softmax"], form["fused"])
    o = contract_values(w, form, p, widened(w, v))
    out = Value("%out", [o.axes[i] for i in (0, 2, 1, 3)], "f32")
    result = w.op(f"linalg.transpose ins({o.name} : {o.type}) outs(%out : {out.type}) permutation = [0, 2, 1, 3]")
    return Value(result, out.axes, "f32")


def function(w: Writer, arguments: list[str], result: Value) -> str:
    """@f of what `w` has written; arguments, of which %out comes last, are not written to."""
    head = ", ".join(f"{argument} {{bufferization.writable = false}}" for argument in arguments)
    body = "\n".join(w.lines)
    return (
        f"func.func @f({head}, %out: {result.type}) -> {result.type} {{\n{body}\n"
        f"  return {result.name} : {result.type}\n}}\n"
    )


def module(form: Form, arguments: dict[str, Value]) -> str:
    w = Writer()
    w.lines.append("  %zero = arith.constant 0 : index")
    t = form["tokens"]
    if t == "?":
        axis = {"lbhtd": 3, "tbhd": 0, "bthd": 1, "bt(hd)": 1, "(bh)td": 1, "bhtd": 2}[form["keys"]]
        at = w.op(f"arith.constant {axis} : index")
        w.extent["?"] = w.op(f"tensor.dim %k, {at} : {arguments['k'].type}")
    k = rows(w, arguments["k"], form["keys"], t)
    v = rows(w, arguments["v"], form["values"], t)
    result = attend(w, form, arguments["q"], k, v)
    return function(w, [f"{x.name}: {x.type}" for x in arguments.values()], result)


def divided(w: Writer, s: Value) -> Value:
    c = w.constant(1 / SCALE)
    return w.elementwise(s, f"%y = arith.divf %in0, {c} : f32\n    linalg.yield %y : f32")


def visible(form: Form, position: np.ndarray, mask: np.ndarray | None, n: int, t: int) -> np.ndarray:
    """[b, i, t]: what is added to scores."""
    kind = form["mask"]
    i, token = np.arange(n)[:, None], np.arange(t)
    at = position[:, None, None] + i
    if kind in ("float", "float per sequence"):
        return np.broadcast_to(mask.reshape(-1, n, t).astype(np.float64), (BATCH, n, t))
    seen = {
        "none": np.True_,
        "i1 selects": mask,
        "i1 adds": mask,
        "length": token <= position[0],
        "lengths": token < position[:, None, None],
        "causal": token <= at,
        "hidden": token <= at,
        "window": (token <= at) & (token > at - 9),
    }[kind]
    return np.broadcast_to(np.where(seen, 0.0, -np.inf), (BATCH, n, t))


@dataclass
class Attention:
    text: str
    arrays: tuple[np.ndarray, ...]
    expected: np.ndarray


def draw(form: Form, rng: np.random.Generator, tokens: int = 40) -> Attention:
    n = form["queries"]
    dtype = DTYPES[form["dtype"]]
    q = rng.standard_normal((BATCH, HEADS * RATIO, n, DIM)).astype(np.float32)
    k, v = (rng.standard_normal((BATCH, HEADS, tokens, DIM)).astype(dtype) for _ in range(2))
    position = rng.integers(1, tokens - n + 1, BATCH)
    mask: np.ndarray | None = None
    if form["mask"] == "float":
        mask = rng.standard_normal((n, tokens)).astype(np.float32)
    elif form["mask"] == "float per sequence":
        mask = rng.standard_normal((BATCH, 1, n, tokens)).astype(np.float32)
    elif form["mask"] in ("i1 selects", "i1 adds"):
        mask = (rng.random((n, tokens)) < 0.7).astype(np.int8)
        mask[:, 0] = 1
    kinds = {"float32": "f32", "float16": "f16", "int64": "i64", "int8": "i8"}
    arrays = {"q": q, "k": stored(k, form["keys"], rng), "v": stored(v, form["values"], rng), "position": position}
    if mask is not None:
        arrays["mask"] = mask
    arguments = {}
    for name, x in arrays.items():
        # The extent of tokens is the only one that is as large.
        axes = ["?" if form["tokens"] == "?" and extent == tokens else extent for extent in x.shape]
        arguments[name] = Value(f"%{name}", axes, kinds[str(x.dtype)])
    scale = 1.0 if form["scale"] == "none" else SCALE
    wide = [x.astype(np.float64).repeat(RATIO, 1) for x in (k, v)]
    s = np.einsum("bhid,bhtd->bhit", q.astype(np.float64), wide[0]) * scale
    if form["softcap"]:
        s = form["softcap"] * np.tanh(s / form["softcap"])
    s = s + visible(form, position, mask, n, tokens)[:, None]
    p = np.exp(s - s.max(-1, keepdims=True))
    out = np.einsum("bhit,bhtd->bihd", p / p.sum(-1, keepdims=True), wide[1])
    return Attention(module(form, arguments), tuple(arrays.values()), out)


def any_form(rng: np.random.Generator) -> Form:
    return {name: ways[rng.integers(len(ways))] for name, ways in FORMS.items()}


PLAIN = {name: ways[0] for name, ways in FORMS.items()} | {"mask": "causal", "queries": 3}


def each_way() -> list[Form]:
    """A plain form, with each way of each part in turn."""
    return [PLAIN | {name: way} for name, ways in FORMS.items() for way in ways]


def describe(form: Form) -> str:
    """Where a form is not the plain one."""
    return ", ".join(f"{name}: {way}" for name, way in form.items() if way != PLAIN[name]) or "plain"
