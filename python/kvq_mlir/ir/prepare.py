"""What acts before quantization, and its inverse: means and rotations, as text.

rows: the type of rows of f32, with heads the second of three leading axes, or with tokens alone. given: the types of
what is given, by name; its values are called so too.
"""

LARGEST = {"f16": "6.550400e+04", "bf16": "0x7F7F0000", "f32": "0x7F7FFFFF"}


def _extents(rows: str) -> list[str]:
    return rows.removeprefix("tensor<").split("x")[:-1]


def _maps(rows: str, operands: str) -> str:
    """Indexing maps: r for rows, m for the means of a head."""
    names = [f"d{i}" for i in range(len(_extents(rows)))]
    kinds = {"r": names, "m": ["0", *names[1:-2], "0", names[-1]] if len(names) > 2 else ["0", names[-1]]}
    maps = (f"affine_map<({', '.join(names)}) -> ({', '.join(kinds[kind])})>" for kind in operands)
    iterators = ", ".join(['"parallel"'] * len(names))
    return f"{{indexing_maps = [{', '.join(maps)}], iterator_types = [{iterators}]}}"


def _extend(source: str, result: str, element: str) -> tuple[str, str]:
    """An op, if one is needed, and the name of the f32."""
    if element == "f32":
        return "", source
    return f"\n      {result} = arith.extf {source} : {element} to f32", result


def _clamp(source: str, result: str, element: str) -> str:
    """Within ± the largest value of a type; NaN stays."""
    return f"""
      {result}_most = arith.constant {LARGEST[element]} : f32
      {result}_least = arith.negf {result}_most : f32
      {result}_low = arith.minimumf {source}, {result}_most : f32
      {result} = arith.maximumf {result}_low, {result}_least : f32"""


def prepare(source: str, element: str, given: dict[str, str], rotation: int, rows: str) -> tuple[str, str]:
    """Ops from elements `source` to what is quantized in their place, f32, and its name."""
    if "means" not in given and not rotation:
        return "", source
    elements = f"{rows.removesuffix('f32>')}{element}>"
    dynamic = [i for i, extent in enumerate(_extents(rows)) if extent == "?"]
    sizes = "".join(
        f"\n  %axis{i} = arith.constant {i} : index\n  %size{i} = tensor.dim {source}, %axis{i} : {elements}"
        for i in dynamic
    )
    widen, wide = _extend("%x", "%wide", element)
    body, value, inputs, types = widen + _clamp(wide, "%element", element), "%element", source, elements
    arguments, operands = f"%x: {element}", "r"
    if "means" in given:
        mean_element = given["means"].rstrip(">").rpartition("x")[2]
        widen, mean = _extend("%m", "%mean", mean_element)
        body += f"{widen}\n      %difference = arith.subf %element, {mean} : f32{_clamp('%difference', '%centred', 'f32')}"
        value, operands = "%centred", "rm"
        inputs, types = f"{source}, %means", f"{elements}, {given['means']}"
        arguments += f", %m: {mean_element}"
    text = f"""{sizes}
  %scratch = tensor.empty({', '.join(f'%size{i}' for i in dynamic)}) : {rows}
  %prepared = linalg.generic {_maps(rows, operands + "r")} ins({inputs} : {types}) outs(%scratch : {rows}) {{
    ^bb0({arguments}, %ignored: f32):{body}
      linalg.yield {value} : f32
    }} -> {rows}"""
    if not rotation:
        return text, "%prepared"
    return text + _rotate("%prepared", "%rotated", rows, given, rotation), "%rotated"


def restore(source: str, given: dict[str, str], rotation: int, rows: str) -> tuple[str, str]:
    """Ops from values of codes to the tokens that they stand for, in place, and their name."""
    text = ""
    if rotation:
        text, source = _rotate(source, "%restored", rows, given, rotation, "inverse "), "%restored"
    if "means" not in given:
        return text, source
    mean_element = given["means"].rstrip(">").rpartition("x")[2]
    widen, mean = _extend("%m", "%mean", mean_element)
    text += f"""
  %tokens = linalg.generic {_maps(rows, "mr")} ins(%means : {given['means']}) outs({source} : {rows}) {{
    ^bb0(%m: {mean_element}, %x: f32):{widen}
      %sum = arith.addf %x, {mean} : f32
      linalg.yield %sum : f32
    }} -> {rows}"""
    return text, "%tokens"


def _rotate(source: str, result: str, rows: str, given: dict[str, str], rotation: int, direction: str = "") -> str:
    return f"""
  {result} = kvq.rotate hadamard<{rotation}> {direction}ins({source}, %signs : {rows}, {given['signs']})
    outs({source} : {rows}) -> {rows}"""
