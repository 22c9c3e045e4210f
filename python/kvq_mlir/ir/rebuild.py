"""Rebuilding the float values of a whole cache: the first half of attention without fusion."""

from __future__ import annotations

from typing import NamedTuple

from .attention import READ_ONLY, page_table
from .prepare import restore

MOST_TILE_TOKENS, MOST_SCRATCH = 64, 16 * 1024


class Rows(NamedTuple):
    """What rows are written to: their element type and channels, and from which channel on. is_whole: whether rows
    without a token become zero; otherwise they are left as they are."""

    element: str
    channels: int
    begin: int
    is_whole: bool


def rebuild(
    shape: tuple[int, int, int, str],
    cache: str,
    fmt: tuple[str, int],
    tokens: int,
    metadata: tuple[tuple[str, int, str, bool], ...],
    windows: tuple[bool, bool],
    exact_first: int,
    paged: bool,
    keep_first: int | None,
    rows: Rows,
) -> str:
    """@rebuild(cache..., lengths, coded, kept?, begin?, oldest?, pages?, out): tokens of sequence b into
    out[b, :, :lengths[b]].

    shape: batch, KV heads, head_dim, element type. fmt: the core of the format, and the channels that are rotated.
    tokens: tokens in a group. metadata: what goes with codes, empty for exact formats: its name, elements in a row,
    their type, and whether it is given when a cache is made. windows: whether the cache keeps exact first tokens, and a
    recent window. coded[b]: tokens behind the first ones that are stored as codes (as values, in exact formats). paged:
    whether the cache has pages. keep_first: of a ring, how many first tokens it keeps: only coded rows below kept[b] and
    from begin[b] on are there, and behind the first tokens none before oldest[b]. None for what is no ring.

    A work item has one tile of each region, so that no item writes a row of another's.
    """
    batch, heads, dim, element = shape
    counts = f"tensor<{batch}xi64>"
    out = f"tensor<{batch}x{heads}x?x{rows.channels}x{rows.element}>"
    # Codes, and their values where those are not written as they are made: a small part of a GPU's shared memory.
    bytes_per_token = dim * (1 if rows.element == "f32" and not fmt[1] else 1 + 4)
    most = min(MOST_TILE_TOKENS, max(1, MOST_SCRATCH // bytes_per_token))
    tile_tokens = max(n for n in range(1, most + 1) if tokens % n == 0 or (tokens == 1 and 64 % n == 0))
    is_ring, (has_first, has_recent) = keep_first is not None, windows
    given = {name: f"tensor<1x{size}x{kind}>" for name, size, kind, is_given in metadata if is_given}
    per_sequence = ["lengths", "coded", *(["kept", "begin", "oldest"] if is_ring else [])]
    operands = dict.fromkeys(per_sequence, counts) | ({"pages": page_table(batch)} if paged else {})
    parameters = "".join(f"\n    %{name}: {kind} {READ_ONLY}," for name, kind in operands.items())
    place = f"tensor<?x{dim}x{rows.element}>"

    def write(name: str, begin: str, size: str, before: str, text: str, full: str) -> str:
        """%{name}: `before` with `full`, which `text` makes in %{name}_place, in `size` rows from `begin` on."""
        where = f"[%b, %h, {begin}, {rows.begin}] [1, 1, {size}, {dim}] [1, 1, 1, 1]"
        return f"""
        %{name}_place = tensor.extract_slice {before}{where} : {out} to {place}{text}
        %{name} = tensor.insert_slice {full} into {before}{where} : {place} into {out}"""

    def clear(name: str, begin: str, size: str, before: str) -> str:
        fill = f"""
        %{name}_zeros = linalg.fill ins(%zero : {rows.element}) outs(%{name}_place : {place}) -> {place}"""
        return write(name, begin, size, before, fill, f"%{name}_zeros")

    def load(region: str, end: str) -> tuple[str, str]:
        """What makes the rows from %t to `end` in %stored_place, and their name."""
        is_coded = region == "codes" and metadata
        types = [f"tensor<?x{dim}x{'i8' if is_coded else element}>"]
        if is_coded:
            groups = "?" if tokens == 1 else "1"
            types += [f"tensor<{groups}x{size}x{kind}>" for _, size, kind, is_given in metadata if not is_given]
        result = f"%tile:{len(types)}" if len(types) > 1 else "%tile"
        pages = f" pages(%pages : {page_table(batch)})" if paged and region == "codes" else ""
        text = f"""
        {result} = kvq.load_tile %cache <{region}> at [%b, %h] tokens [%t to {end}]{pages} {{tile = {tile_tokens}}}
            : {cache} -> {", ".join(types)}"""
        if not is_coded:
            return text + _convert("%tile", "%full", "%stored_place", dim, element, rows.element), "%full"
        names = [f"%tile#{i}" for i in range(len(types))] if len(types) > 1 else ["%tile"]
        scales = {name: kind for name, kind in given.items() if name not in ("means", "signs")}
        names, types = [*names, *(f"%{name}" for name in scales)], [*types, *scales.values()]
        wide, target = f"tensor<?x{dim}xf32>", "%stored_place"
        if rows.element != "f32":
            target = "%wide"
            text += f"""
        %scratch = tensor.empty() : tensor<{tile_tokens}x{dim}xf32>
        %wide = tensor.extract_slice %scratch[0, 0] [%n, {dim}] [1, 1] : tensor<{tile_tokens}x{dim}xf32> to {wide}"""
        restored, full = restore("%full", given, fmt[1], wide)
        text += f"""
        %full = kvq.dequantize #kvq.format<{fmt[0]}> ins({", ".join(names)} : {", ".join(types)})
            outs({target} : {wide}) -> {wide}{restored}"""
        if rows.element == "f32":
            return text, full
        return text + _convert(full, "%narrow", "%stored_place", dim, "f32", rows.element), "%narrow"

    def region(name: str, begin: str, end: str, before: str, after: str) -> str:
        """The item's tile of a region, `none` for rows without a token."""
        last = "%stored"
        if name == "none":
            body = clear("stored", "%t", "%n", "%o")
        else:
            body = write("stored", "%t", "%n", "%o", *load(name, f"{after}_end"))
            if is_ring:  # what is kept for the sake of whole groups and pages
                body += f"""
        %hidden = arith.maxsi %t, %keep_first : index
        %seen = arith.minsi {after}_end, %oldest_index : index
        %between = arith.subi %seen, %hidden : index
        %gone = arith.maxsi %between, %c0 : index{clear("cleared", "%hidden", "%gone", last)}"""
                last = "%cleared"
        return f"""
      {after}_begin = arith.addi {begin}, %skipped : index
      {after}_most = arith.addi {after}_begin, %tile_tokens : index
      {after}_end = arith.minsi {after}_most, {end} : index
      {after} = scf.for %t = {after}_begin to {after}_end step %tile_tokens iter_args(%o = {before}) -> ({out}) {{
        %left = arith.subi {after}_end, %t : index
        %n = affine.min affine_map<(n) -> (n, {tile_tokens})>(%left){body}
        scf.yield {last} : {out}
      }}"""

    regions = [("first", "%c0", "%first_end")] if has_first else []
    if is_ring:
        regions += [("codes", "%first_end", "%kept_end"), ("codes", "%ring_begin", "%codes_end")]
        regions += [("none", "%kept_end", "%gap_end")] if rows.is_whole else []
    else:
        regions.append(("codes", "%first_end", "%codes_end"))
    regions += [("recent", "%codes_end", "%length")] if has_recent else []
    regions += [("none", "%length", "%rows")] if rows.is_whole else []
    tensors = ["%out0", *(f"%out{i + 1}" for i in range(len(regions)))]
    tiles = "".join(
        region(*each, before, after) for each, before, after in zip(regions, tensors, tensors[1:], strict=False)
    )
    loads = "".join(
        f"\n      %{name}_i64 = tensor.extract %{name}[%b] : {counts}"
        f"\n      %{name}_index = arith.index_cast %{name}_i64 : i64 to index"
        for name in per_sequence
    )
    loads += "".join(
        f"\n      %{name} = kvq.load_given %cache <{name}> at [%h] : {cache} -> {kind}" for name, kind in given.items()
    )
    return f"""
func.func @rebuild(
    %cache: {cache},{parameters}
    %out: {out}) -> {out} attributes {{kvq.unfused}} {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : {rows.element}
  %batch = arith.constant {batch} : index
  %heads = arith.constant {heads} : index
  %exact_first = arith.constant {exact_first} : index
  %keep_first = arith.constant {keep_first or 0} : index
  %tile_tokens = arith.constant {tile_tokens} : index
  %rows = tensor.dim %out, %c2 : {out}
  %tiles = arith.ceildivui %rows, %tile_tokens : index
  %result = kvq.forall (%b, %h, %i) in (%batch, %heads, %tiles) inits(%out0 = %out : {out}) {{
      %skipped = arith.muli %i, %tile_tokens : index{loads}
      %length = arith.minsi %lengths_index, %rows : index
      %first_end = arith.minsi %length, %exact_first : index
      %codes_end = arith.addi %first_end, %coded_index : index{_RING if is_ring else ""}{tiles}
      kvq.yield {tensors[-1]} : {out}
  }}
  return %result : {out}
}}
"""


_RING = """
      %kept_end = arith.addi %first_end, %kept_index : index
      %ring_begin = arith.addi %exact_first, %begin_index : index
      %gap_end = arith.minsi %ring_begin, %codes_end : index"""


def _convert(source: str, result: str, place: str, dim: int, element: str, to: str) -> str:
    """%{result}: rows of one type of elements in those of another, through f32."""
    body, value = "", "%in"
    if element != to and element != "f32":
        body, value = f"\n          %f32 = arith.extf %in : {element} to f32", "%f32"
    if element != to and to != "f32":
        body += f"\n          %converted = arith.truncf {value} : f32 to {to}"
        value = "%converted"
    return f"""
        {result} = linalg.generic {{
            indexing_maps = [affine_map<(t, c) -> (t, c)>, affine_map<(t, c) -> (t, c)>],
            iterator_types = ["parallel", "parallel"]}}
            ins({source} : tensor<?x{dim}x{element}>) outs({place} : tensor<?x{dim}x{to}>) {{
        ^bb0(%in: {element}, %ignored: {to}):{body}
          linalg.yield {value} : {to}
        }} -> tensor<?x{dim}x{to}>"""
