"""What acts before quantization, and its inverse: means and rotations, as text.

Rows are tensors of f32 with `axes` leading axes of any extent, heads the second of three. given: the types of what is
given, by name; its values are called so too.
"""

LARGEST = {"f16": "6.550400e+04", "bf16": "0x7F7F0000", "f32": "0x7F7FFFFF"}


def rows_type(axes: int, dim: int, element: str = "f32") -> str:
    return f"tensor<{'?x' * axes}{dim}x{element}>"


def _maps(axes: int, operands: str) -> str:
    """Indexing maps: r for rows, m for the means of a head."""
    names = [f"d{i}" for i in range(axes + 1)]
    kinds = {"r": names, "m": ["0", *names[1:-2], "0", names[-1]] if axes > 1 else ["0", names[-1]]}
    maps = (f"affine_map<({', '.join(names)}) -> ({', '.join(kinds[kind])})>" for kind in operands)
    iterators = ", ".join(['"parallel"'] * (axes + 1))
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


def prepare(axes: int, source: str, element: str, given: dict[str, str], rotation: int, dim: int) -> tuple[str, str]:
    """Ops from elements `source` to what is quantized in their place, f32, and its name."""
    if "means" not in given and not rotation:
        return "", source
    rows, elements = rows_type(axes, dim), rows_type(axes, dim, element)
    sizes = "".join(
        f"\n  %axis{i} = arith.constant {i} : index\n  %size{i} = tensor.dim {source}, %axis{i} : {elements}"
        for i in range(axes)
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
  %scratch = tensor.empty({', '.join(f'%size{i}' for i in range(axes))}) : {rows}
  %prepared = linalg.generic {_maps(axes, operands + "r")} ins({inputs} : {types}) outs(%scratch : {rows}) {{
    ^bb0({arguments}, %ignored: f32):{body}
      linalg.yield {value} : f32
    }} -> {rows}"""
    if not rotation:
        return text, "%prepared"
    return text + _rotate("%prepared", "%rotated", rows, given, rotation), "%rotated"


def restore(axes: int, source: str, given: dict[str, str], rotation: int, dim: int) -> tuple[str, str]:
    """Ops from values of codes to the tokens that they stand for, in place, and their name."""
    rows, text = rows_type(axes, dim), ""
    if rotation:
        text, source = _rotate(source, "%restored", rows, given, rotation, "inverse "), "%restored"
    if "means" not in given:
        return text, source
    mean_element = given["means"].rstrip(">").rpartition("x")[2]
    widen, mean = _extend("%m", "%mean", mean_element)
    text += f"""
  %tokens = linalg.generic {_maps(axes, "mr")} ins(%means : {given['means']}) outs({source} : {rows}) {{
    ^bb0(%m: {mean_element}, %x: f32):{widen}
      %sum = arith.addf %x, {mean} : f32
      linalg.yield %sum : f32
    }} -> {rows}"""
    return text, "%tokens"


def _rotate(source: str, result: str, rows: str, given: dict[str, str], rotation: int, direction: str = "") -> str:
    return f"""
  {result} = kvq.rotate hadamard<{rotation}> {direction}ins({source}, %signs : {rows}, {given['signs']})
    outs({source} : {rows}) -> {rows}"""
