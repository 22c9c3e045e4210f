"""The calls of one decode step: float caches, and the policy that they are kept by."""

from .attention import READ_ONLY


def _module(entries: list[str], body: str) -> str:
    return f"module attributes {{kvq.policy = #kvq.policy<{', '.join(entries)}>}} {{{body}}}"


def _exact(shape: tuple[int, int, int], element: str, storage: str, before_rope: bool = False) -> str:
    batch, heads, dim = shape
    rope = ", rope = pre" * before_rope
    return f"!kvq.cache<{batch}x{heads}x?x{dim}x{element}, #kvq.format<codes = none{rope}>{storage}>"


def append_one(
    shape: tuple[int, int, int], element: str, side: str, entry: str, storage: str = "", before_rope: bool = False
) -> str:
    """@append(tokens, cache, lengths, page table): a token of each sequence, to a cache that is kept by a policy of
    `entry`.

    shape: batch, KV heads, head_dim. storage: what the type says of pages or a ring. before_rope: for keys that are kept
    so.
    """
    batch, heads, dim = shape
    tokens, cache = f"tensor<{batch}x{heads}x1x{dim}x{element}>", _exact(shape, element, storage, before_rope)
    counts, table = f"tensor<{batch}xi64>", f"tensor<{batch}x?xi64>"
    pages = f" pages(%table : {table})" if "page" in storage else ""
    return _module(
        [entry],
        f"""
func.func @append(%tokens: {tokens} {READ_ONLY}, %cache: {cache} {{kvq.side = #kvq.side<{side}>}},
                  %lengths: {counts} {READ_ONLY}, %table: {table} {READ_ONLY}) -> {cache} {{
  %result = kvq.append ins(%tokens : {tokens}) lengths(%lengths : {counts}){pages} into(%cache : {cache}) -> {cache}
  return %result : {cache}
}}
""",
    )


def attend(
    shape: tuple[int, int, int],
    query_heads: int,
    element: str,
    entries: list[str],
    storage: str = "",
    queries: int = 1,
    before_rope: bool = False,
) -> str:
    """@attention(query, keys, values, lengths, page table, out): some query tokens of each sequence.

    before_rope: keys are kept so, and turned as they are read by one more argument before out, a table.
    """
    batch, _, dim = shape
    keys, values = (_exact(shape, element, storage, before) for before in (before_rope, False))
    query = f"tensor<{batch}x{query_heads}x{queries}x{dim}xf32>"
    counts, table, angles = f"tensor<{batch}xi64>", f"tensor<{batch}x?xi64>", f"tensor<?x{dim // 2}xf32>"
    pages = f" key_pages(%table : {table}) value_pages(%table : {table})" if "page" in storage else ""
    rope, argument = "", ""
    if before_rope:
        rope, argument = f" rope(%angles, %angles : {angles}, {angles})", f"%angles: {angles} {READ_ONLY}, "
    return _module(
        entries,
        f"""
func.func @attention(%query: {query} {READ_ONLY}, %key: {keys}, %value: {values}, %lengths: {counts} {READ_ONLY},
                     %table: {table} {READ_ONLY}, {argument}%out: {query}) -> {query} {{
  %result = kvq.attention ins(%query, %key, %value : {query}, {keys}, {values}) lengths(%lengths : {counts}){pages}{rope}
    outs(%out : {query}) {{scale = 1.0 : f32, causal}} -> {query}
  return %result : {query}
}}
""",
    )
