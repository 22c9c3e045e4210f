"""Writes the table of kvq's ops that kvq_mlir.builder goes by, from what `llvm-tblgen --dump-json` says of their
definitions: `op_table.py RECORDS OUTPUT`. CMake runs it.
"""

from __future__ import annotations

import json
import pprint
import re
import sys
from pathlib import Path
from typing import Any

Records = dict[str, Any]
DIALECT = "KVQ_Dialect"

# Attributes that numbers of Python stand for.
NUMBERS = {"F32Attr": "f32", "I64Attr": "i64", "UnitAttr": "unit", "DenseI64ArrayAttr": "i64s"}


def is_op(record: Records) -> bool:
    return record.get("opDialect", {}).get("def") == DIALECT


def base_attribute(records: Records, name: str) -> str:
    """What an optional or confined attribute is made of."""
    while isinstance(base := records[name].get("baseAttr"), dict):
        name = base["def"]
    return name


def snake_case(name: str) -> str:
    return re.sub("([A-Z])", lambda letter: "_" + letter.group(1).lower(), name)


def describe(records: Records, op: Records) -> Records:
    """Operands and attributes, by name, and whether the op says how many operands of each it has."""
    operands, attributes = {}, {}
    for argument, name in op["arguments"]["args"]:
        classes = records[argument["def"]]["!superclasses"]
        if "Attr" in classes:
            attributes[name] = NUMBERS.get(base_attribute(records, argument["def"]), "text")
        else:
            kinds = [kind for kind in ("Optional", "Variadic") if kind in classes]
            operands[snake_case(name)] = kinds[0].lower() if kinds else "one"
    traits = [trait.get("def") for trait in op["traits"]]
    return {"operands": operands, "attributes": attributes, "segments": "AttrSizedOperandSegments" in traits}


def main(source: str, output: str) -> None:
    records = json.loads(Path(source).read_text())
    ops = [records[name] for name in records["!instanceof"]["Op"] if is_op(records[name])]
    table = {f"kvq.{op['opName']}": describe(records, op) for op in ops}
    text = pprint.pformat(table, width=110, sort_dicts=False)
    Path(output).write_text(
        '"""Operands and attributes of kvq\'s ops; written by python/op_table.py from include/kvq/IR/KVQOps.td."""\n\n'
        f"OPS = {text}\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
