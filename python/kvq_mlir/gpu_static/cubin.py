"""Kernels of a cubin, an ELF file: their code and what they take of a GPU."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from .._kvq import Error
from .chips import RESERVED

_ELF, _CUDA = b"\x7fELF\x02\x01", 190
_SYMBOLS = 2  # type of a section
# Attributes of .nv.info: a format, an attribute, and 2 bytes of value or of size.
_SIZED = 4
_MAX_THREADS, _FRAME, _REGISTERS = 0x05, 0x11, 0x2F


@dataclass(frozen=True)
class Kernel:
    """A kernel as ptxas has made it."""

    name: str
    sm: int  # 80 for sm_80
    code: bytes
    registers: int
    shared_bytes: int  # static
    frame_bytes: int  # of a thread, for local variables and spills
    max_threads: int | None  # in a block, if the kernel says so


@dataclass(frozen=True)
class _Section:
    name: str
    type: int
    link: int
    info: int
    size: int
    data: bytes


def _sections(data: bytes) -> list[_Section]:
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    text = headers[names][4]

    def name(at: int) -> str:
        return data[text + at : data.index(b"\0", text + at)].decode()

    nobits = 8  # a section of this type has a size and no bytes
    return [
        _Section(name(h[0]), h[1], h[6], h[7], h[5], b"" if h[1] == nobits else data[h[4] : h[4] + h[5]])
        for h in headers
    ]


def _attributes(info: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at + 4 <= len(info):
        kind, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        if kind == _SIZED:
            found.append((attribute, info[at : at + value]))
            at += value
    return found


def _symbols(sections: list[_Section]) -> list[str]:
    """Names of functions, by number."""
    table = next(s for s in sections if s.type == _SYMBOLS and s.name == ".symtab")
    names = sections[table.link].data
    starts = [struct.unpack_from("<I", table.data, at)[0] for at in range(0, len(table.data), 24)]
    return [names[start : names.index(b"\0", start)].decode() for start in starts]


def read_cubin(data: bytes) -> list[Kernel]:
    """The kernels of a cubin. Raises `Error`, a ValueError, for other bytes."""
    if data[:6] != _ELF or len(data) < 64 or struct.unpack_from("<H", data, 18)[0] != _CUDA:
        raise Error(f"expected a cubin, an ELF file for CUDA, got one that begins with {data[:6]!r}")
    try:
        return _read(data)
    except (struct.error, IndexError, StopIteration) as error:
        raise Error("expected a whole cubin, got one that ends early") from error


def _read(data: bytes) -> list[Kernel]:
    (flags,) = struct.unpack_from("<I", data, 48)
    sm = flags >> 8 & 0xFF if data[8] >= 8 else flags & 0xFF  # since CUDA 13 one byte higher
    sections = _sections(data)
    by_name = {section.name: section for section in sections}
    symbols = _symbols(sections)
    per_function: dict[int, dict[str, int]] = {_REGISTERS: {}, _FRAME: {}}
    for attribute, value in _attributes(by_name[".nv.info"].data) if ".nv.info" in by_name else []:
        if attribute in per_function:
            symbol, number = struct.unpack("<II", value)
            per_function[attribute][symbols[symbol]] = number
    kernels = []
    for section in sections:
        if not section.name.startswith(".text."):
            continue
        name = section.name.removeprefix(".text.")
        own = by_name.get(f".nv.info.{name}")
        if own is None:  # a function that kernels call
            continue
        threads = [struct.unpack("<III", v) for a, v in _attributes(own.data) if a == _MAX_THREADS]
        shared = by_name.get(f".nv.shared.{name}")
        # Since sm_90 it begins with what every block has besides its own.
        reserved = RESERVED if sm >= 90 else 0
        kernels.append(
            Kernel(
                name,
                sm,
                section.data,
                per_function[_REGISTERS].get(name, section.info >> 24),
                shared.size - reserved if shared else 0,
                per_function[_FRAME].get(name, 0),
                threads[0][0] * threads[0][1] * threads[0][2] if threads else None,
            )
        )
    return kernels
