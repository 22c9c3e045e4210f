"""Rebuilding the float values of a whole cache: the first half of attention without fusion."""

from .attention import READ_ONLY, page_table
from .prepare import restore

TILE_TOKENS = 64


def rebuild(
    shape: tuple[int, int, int, str],
    cache: str,
    fmt: tuple[str, int],
    tokens: int,
    metadata: tuple[tuple[str, int, str, bool], ...],
    windows: tuple[bool, bool],
    exact_first: int,
    paged: bool,
    ring: bool,
) -> str:
    """@rebuild(cache..., lengths, coded, kept?, begin?, pages?, out): tokens of sequence b into out[b, :, :lengths[b]], the rest as it
    was.

    shape: batch, KV heads, head_dim, element type. fmt: the core of the format, and the channels that are rotated.
    tokens: tokens in a group. metadata: what goes with codes, empty for exact formats: its name, elements in a row,
    their type, and whether it is given when a cache is made. windows: whether the cache keeps exact first tokens, and a
    recent window. coded[b]: tokens behind the first ones that are stored as codes (as values, in exact formats). paged:
    whether the cache has pages. ring: whether it is a ring, of which only coded rows below kept[b] and from begin[b] on
    are there.
    """
    batch, heads, dim, element = shape
    counts = f"tensor<{batch}xi64>"
    out = f"tensor<{batch}x{heads}x?x{dim}xf32>"
    core, rotation = fmt
    given_rows = {name: f"tensor<1x{size}x{kind}>" for name, size, kind, given in metadata if given}
    tile_tokens = TILE_TOKENS if tokens == 1 else tokens
    values = f"tensor<?x{dim}x{element}>"
    bounds = "".join(f"\n    %{name}: {counts} {READ_ONLY}," for name in ("kept", "begin")) if ring else ""
    parameter = bounds + (f"\n    %pages: {page_table(batch)} {READ_ONLY}," if paged else "")

    def region(name: str, begin: str, end: str, before: str, after: str) -> str:
        """A loop over the tiles of a region."""
        is_coded = name == "codes" and metadata
        if is_coded:
            rows = "?" if tokens == 1 else "1"
            types = [f"tensor<?x{dim}xi8>"]
            types += [f"tensor<{rows}x{size}x{kind}>" for _, size, kind, given in metadata if not given]
            names = [f"%tile#{i}" if len(types) > 1 else "%tile" for i in range(len(types))]
            scales = {name: kind for name, kind in given_rows.items() if name not in ("means", "signs")}
            operands = ", ".join([*names, *(f"%{name}" for name in scales)])
            operand_types = ", ".join([*types, *scales.values()])
            text, full = restore("%full", given_rows, rotation, f"tensor<?x{dim}xf32>")
            compute = f"""%full = kvq.dequantize #kvq.format<{core}> ins({operands} : {operand_types})
            outs(%place : tensor<?x{dim}xf32>) -> tensor<?x{dim}xf32>{text}"""
        else:
            types = [values]
            compute, full = _widen(dim, element), "%full"
        pages = f" pages(%pages : {page_table(batch)})" if paged and name == "codes" else ""
        result = f"%tile:{len(types)}" if len(types) > 1 else "%tile"
        return f"""
      {after} = scf.for %t = {begin} to {end} step %tile_tokens iter_args(%o = {before}) -> ({out}) {{
        %left = arith.subi {end}, %t : index
        %n = arith.minsi %left, %tile_tokens : index
        %stop = arith.addi %t, %n : index
        {result} = kvq.load_tile %cache <{name}> at [%b, %h] tokens [%t to %stop]{pages} {{tile = {tile_tokens}}}
            : {cache} -> {", ".join(types)}
        %place = tensor.extract_slice %o[%b, %h, %t, 0] [1, 1, %n, {dim}] [1, 1, 1, 1]
            : {out} to tensor<?x{dim}xf32>
        {compute}
        %stored = tensor.insert_slice {full} into %o[%b, %h, %t, 0] [1, 1, %n, {dim}] [1, 1, 1, 1]
            : tensor<?x{dim}xf32> into {out}
        scf.yield %stored : {out}
      }}"""

    has_first, has_recent = windows
    loads = "".join(
        f"\n      %{name} = kvq.load_given %cache <{name}> at [%h] : {cache} -> {kind}" for name, kind in given_rows.items()
    )
    loops, last = "", "%o1"
    if has_first:
        loops += region("first", "%c0", "%first_end", last, "%o2")
        last = "%o2"
    if ring:
        loops += region("codes", "%first_end", "%kept_end", last, "%o5")
        loops += region("codes", "%ring_begin", "%codes_end", "%o5", "%o3")
    else:
        loops += region("codes", "%first_end", "%codes_end", last, "%o3")
    last = "%o3"
    if has_recent:
        loops += region("recent", "%codes_end", "%length", last, "%o4")
        last = "%o4"
    return f"""
func.func @rebuild(
    %cache: {cache},
    %lengths: {counts} {READ_ONLY},
    %coded: {counts} {READ_ONLY},{parameter}
    %out: {out}) -> {out} attributes {{kvq.unfused}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = arith.constant {batch} : index
  %heads = arith.constant {heads} : index
  %exact_first = arith.constant {exact_first} : index
  %tile_tokens = arith.constant {tile_tokens} : index
  %result = scf.for %b = %c0 to %batch step %c1 iter_args(%o0 = %out) -> ({out}) {{
    %length_i64 = tensor.extract %lengths[%b] : {counts}
    %coded_i64 = tensor.extract %coded[%b] : {counts}
    %length = arith.index_cast %length_i64 : i64 to index
    %coded_b = arith.index_cast %coded_i64 : i64 to index
    %first_end = arith.minsi %length, %exact_first : index
    %codes_end = arith.addi %first_end, %coded_b : index{_ring_bounds(counts) if ring else ""}
    %sequence = scf.for %h = %c0 to %heads step %c1 iter_args(%o1 = %o0) -> ({out}) {{{loads}{loops}
      scf.yield {last} : {out}
    }}
    scf.yield %sequence : {out}
  }}
  return %result : {out}
}}
"""


def _ring_bounds(counts: str) -> str:
    return f"""
    %kept_i64 = tensor.extract %kept[%b] : {counts}
    %begin_i64 = tensor.extract %begin[%b] : {counts}
    %kept_b = arith.index_cast %kept_i64 : i64 to index
    %begin_b = arith.index_cast %begin_i64 : i64 to index
    %kept_end = arith.addi %first_end, %kept_b : index
    %ring_begin = arith.addi %exact_first, %begin_b : index"""


def _widen(dim: int, element: str) -> str:
    """%full: an exact tile as f32, in %place."""
    if element == "f32":
        body = "linalg.yield %in : f32"
    else:
        body = f"%wide = arith.extf %in : {element} to f32\n          linalg.yield %wide : f32"
    return f"""%full = linalg.generic {{
            indexing_maps = [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c)>],
            iterator_types = ["parallel", "parallel"]}}
            ins(%tile : tensor<?x{dim}x{element}>) outs(%place : tensor<?x{dim}xf32>) {{
        ^bb0(%in: {element}, %ignored: f32):
          {body}
        }} -> tensor<?x{dim}xf32>"""
