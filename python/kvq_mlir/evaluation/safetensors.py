"""Files of tensors in the safetensors format, without its package: 8 bytes of header length, little endian, a JSON header
of names with dtype, shape and byte offsets, and then the bytes (github.com/huggingface/safetensors, "Format")."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ..text import InputError

LONGEST_HEADER = 100_000_000  # bytes; the format's own limit
DTYPES = {
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "I64": np.dtype(np.int64),
    "I32": np.dtype(np.int32),
    "I16": np.dtype(np.int16),
    "I8": np.dtype(np.int8),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(bool),
}
BITS = {"BF16": np.dtype(np.uint16), "F8_E4M3": np.dtype(np.uint8), "F8_E5M2": np.dtype(np.uint8)}  # NumPy lacks these
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class TensorFile:
    """The tensors of a file, read when they are asked for. Raises `InputError` for a file that is none."""

    def __init__(self, path: Path):
        self.path = path
        try:
            with path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                size = path.stat().st_size
                if not 2 <= length <= min(size - 8, LONGEST_HEADER):
                    raise InputError(f"{path} is no safetensors file: a header of {length} bytes in a file of {size}")
                header = json.loads(file.read(length))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:  # of UTF-8 or of JSON
            raise InputError(f"{path} is no safetensors file: its header is no JSON") from error
        self.metadata: dict[str, str] = header.pop("__metadata__", {})
        self._entries: dict[str, dict] = header
        self._start, self._size = 8 + length, size

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> np.ndarray:
        """A tensor as an array; bfloat16 as float32, which holds it, floats of 8 bits as their bits, uint8. `InputError` for
        another type, and where bytes are missing."""
        entry = self._entries[name]
        kind, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        dtype = (DTYPES | BITS).get(kind)
        if dtype is None:
            raise InputError(f"{self.path}: tensor '{name}': expected one of {', '.join(DTYPES | BITS)}, found {kind}")
        if end - begin != math.prod(shape) * dtype.itemsize or self._start + end > self._size:
            raise InputError(
                f"{self.path}: tensor '{name}': expected {math.prod(shape) * dtype.itemsize} bytes within the file, found "
                f"offsets {begin} to {end} of {self._size - self._start}"
            )
        with self.path.open("rb") as file:
            file.seek(self._start + begin)
            array = np.frombuffer(file.read(end - begin), dtype.newbyteorder("<")).reshape(shape)
        if kind == "BF16":
            return (array.astype(np.uint32) << 16).view(np.float32)
        return array.astype(dtype)


def save(path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None) -> None:
    """Writes tensors by name, and strings beside them. Raises TypeError for a type that the format lacks."""
    header: dict[str, dict] = {"__metadata__": dict(metadata)} if metadata else {}
    data, offset = [], 0
    for name, array in tensors.items():
        if array.dtype not in NAMES:
            raise TypeError(f"tensor '{name}': expected one of {', '.join(map(str, NAMES))}, got {array.dtype}")
        data.append(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())
        end = offset + len(data[-1])
        header[name] = {"dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that tensors are aligned
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data))
