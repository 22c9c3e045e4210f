"""Text of front ends, for the MLIR that kvq is built with."""

import re

from ._kvq import Error

# An op of torch-mlir's own dialect that MLIR has too.
_SCATTER = re.compile(
    r"""tm_tensor\.scatter\ \{dimension_map\ =\ array<i64:\ (?P<dims>[\d,\ ]+)>\}\ unique_indices\(true\)
    \ ins\((?P<updates>%[\w#]+),\ (?P<indices>%[\w#]+)\ :\ (?P<updates_type>tensor<\S+>),\ (?P<indices_type>tensor<\S+>)\)
    \ outs\((?P<into>%[\w#]+)\ :\ (?P<into_type>tensor<\S+>)\)\ \{\s*
    \^bb0\((?P<new>%\w+):\ \w+,\ %\w+:\ \w+\):\s*tm_tensor\.yield\ (?P=new)\ :\ \w+\s*\}""",
    re.VERBOSE,
)


def from_torch_mlir(ir_text: str) -> str:
    """The linalg IR of a model as torch-mlir prints it (`output_type="linalg-on-tensors"`), in MLIR's own dialects.

    `tm_tensor.scatter` that stores its updates, to which torch-mlir lowers index_copy and index_put, becomes
    `tensor.scatter`. Raises `Error`, a ValueError, which names the op, for any other of the dialect tm_tensor:
    a scatter of indices that repeat or that adds up, tm_tensor.attention (export with
    `torch.export.export(...).run_decompositions()`), ...
    """
    text = _SCATTER.sub(
        r"tensor.scatter \g<updates> into \g<into>[\g<indices>] scatter_dims([\g<dims>]) unique : "
        r"(\g<updates_type>, \g<into_type>, \g<indices_type>)",
        ir_text,
    )
    if left := re.search(r"tm_tensor\.\w+", text):
        raise Error(f"expected no op of torch-mlir's own but tm_tensor.scatter that stores elements, got {left[0]}")
    return text
