"""The C interface, called by ctypes: random formats and caches are those that their text gives, byte for byte.

Structures and enumerations are written down here once more, as a caller of C would have them from the headers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_float, c_int, c_int8, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np
import pytest
from test_differential import GROUPS, SCALES, SYMMETRIC, UNSIGNED, ZEROS, is_format

import kvq_mlir as kvq
from kvq_mlir import _kvq

# Of the build that the package comes from: build/python/kvq_mlir is beside build/lib.
LIBRARY = Path(_kvq.__file__).parents[2] / "lib" / "libKVQCAPI.so"

WHOLE_AXIS = -1
ZERO_KINDS = {"": 0, "min": 1, "point": 2}
RANGES = ("", "absmax", "minmax", "clip", "search", "rms", "norm", "static")


class Handle(Structure):
    """What MLIR passes contexts, locations, attributes and types as."""

    _fields_ = [("pointer", c_void_p)]


class StringRef(Structure):
    _fields_ = [("data", c_void_p), ("length", c_size_t)]

    def text(self) -> str:
        return ctypes.string_at(self.data, self.length).decode()


class Optional(Structure):
    _fields_ = [("present", c_bool), ("value", c_int64)]


class FormatFields(Structure):
    _fields_ = [
        ("codes", Handle),
        ("group_tokens", c_int64),
        ("group_channels", c_int64),
        ("heads", c_int64),
        ("scale", Handle),
        ("outer_scale", Handle),
        ("zero_kind", c_int),
        ("zero", Handle),
        ("range", c_int),
        ("clip", c_float),
        ("steps", c_int64),
        ("rotation", c_int64),
        ("center", Handle),
        ("rope", c_int),
        ("rule", Handle),
        ("layout", Handle),
    ]


class CacheFields(Structure):
    _fields_ = [
        ("batch", c_int64),
        ("kv_heads", c_int64),
        ("capacity", c_int64),
        ("head_dim", c_int64),
        ("element_type", Handle),
        ("format", Handle),
        ("exact_first", c_int64),
        ("recent", Optional),
        ("residual", Optional),
        ("page", Optional),
        ("ring", Optional),
        ("keep_first", c_int64),
        ("token_major", c_bool),
    ]


class Component(Structure):
    _fields_ = [
        ("name", StringRef),
        ("rank", c_size_t),
        ("shape", POINTER(c_int64)),
        ("element_type", Handle),
        ("alignment", c_int64),
        ("given", c_bool),
    ]


class Bytes(Structure):
    _fields_ = [("total", c_int64), ("alignment", c_int64)]


class LogicalResult(Structure):
    _fields_ = [("value", c_int8)]


STRING_CALLBACK = CFUNCTYPE(None, StringRef, c_void_p)
COMPONENT_CALLBACK = CFUNCTYPE(None, POINTER(Component), c_void_p)
BYTES_CALLBACK = CFUNCTYPE(None, StringRef, c_int64, c_void_p)
DIAGNOSTIC_CALLBACK = CFUNCTYPE(c_int8, Handle, c_void_p)

SIGNATURES = {
    "mlirContextCreate": (Handle,),
    "mlirContextDestroy": (None, Handle),
    "mlirGetDialectHandle__kvq__": (Handle,),
    "mlirDialectHandleLoadDialect": (Handle, Handle, Handle),
    "mlirContextAttachDiagnosticHandler": (ctypes.c_uint64, Handle, DIAGNOSTIC_CALLBACK, c_void_p, c_void_p),
    "mlirDiagnosticPrint": (None, Handle, STRING_CALLBACK, c_void_p),
    "mlirLocationUnknownGet": (Handle, Handle),
    "mlirAttributeParseGet": (Handle, Handle, StringRef),
    "mlirAttributePrint": (None, Handle, STRING_CALLBACK, c_void_p),
    "mlirTypeAttrGet": (Handle, Handle),
    "mlirTypeParseGet": (Handle, Handle, StringRef),
    "mlirTypePrint": (None, Handle, STRING_CALLBACK, c_void_p),
    "kvqFormatAttrGetChecked": (Handle, Handle, POINTER(FormatFields)),
    "kvqFormatAttrGetFields": (FormatFields, Handle),
    "kvqFormatAttrGetCodeBits": (ctypes.c_uint, Handle),
    "kvqCacheTypeGetChecked": (Handle, Handle, POINTER(CacheFields)),
    "kvqCacheTypeForEachComponent": (LogicalResult, Handle, Handle, c_int64, COMPONENT_CALLBACK, c_void_p),
    "kvqCacheTypeGetAllocatedBytes": (LogicalResult, Handle, Handle, c_int64, POINTER(Bytes), BYTES_CALLBACK, c_void_p),
}


class Session:
    """A context of MLIR, through the shared library; `errors` are those that its diagnostics have reported."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(LIBRARY))
        for name, (result, *arguments) in SIGNATURES.items():
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        self.errors: list[str] = []
        self.context = self.library.mlirContextCreate()
        self.library.mlirDialectHandleLoadDialect(self.library.mlirGetDialectHandle__kvq__(), self.context)
        self._handler = DIAGNOSTIC_CALLBACK(self._report)  # held as long as the context calls it
        self.library.mlirContextAttachDiagnosticHandler(self.context, self._handler, None, None)
        self.here = self.library.mlirLocationUnknownGet(self.context)

    def close(self) -> None:
        self.library.mlirContextDestroy(self.context)

    def _report(self, diagnostic: int, _: object) -> int:
        self.errors.append(self._printed(self.library.mlirDiagnosticPrint, diagnostic))
        return 1

    @staticmethod
    def _printed(print_: object, what: Handle) -> str:
        parts: list[str] = []
        print_(what, STRING_CALLBACK(lambda text, _: parts.append(text.text())), None)
        return "".join(parts)

    def parse(self, text: str) -> Handle:
        """The attribute, or type if it is none, of a text."""
        data = text.encode()
        reference = StringRef(ctypes.cast(c_char_p(data), c_void_p), len(data))
        kind = "Attribute" if text.startswith("#") else "Type"
        found = getattr(self.library, f"mlir{kind}ParseGet")(self.context, reference)
        assert found.pointer, (text, self.errors[-3:])
        return found

    def attribute_text(self, attribute: Handle) -> str:
        return self._printed(self.library.mlirAttributePrint, attribute)

    def type_text(self, type_: Handle) -> str:
        return self._printed(self.library.mlirTypePrint, type_)


@pytest.fixture
def session() -> Iterator[Session]:
    opened = Session()
    yield opened
    opened.close()


def draw_format(rng: np.random.Generator, session: Session) -> tuple[FormatFields, str]:
    """The fields of a format, and its text."""
    while True:
        codes = str(rng.choice(SYMMETRIC + UNSIGNED))
        scale = str(rng.choice(SCALES))
        zero = str(rng.choice(ZEROS)) if codes in UNSIGNED else ""
        if is_format(codes, scale, zero):
            break
    tokens, channels = GROUPS[rng.integers(len(GROUPS))]
    range_ = str(rng.choice(("", "clip", "search")))
    text = f"codes = {codes}, group = [{tokens}, {channels}], scale = {scale}" + (f", zero = {zero}" if zero else "")
    kind, _, element = zero.partition(" ")
    fields = FormatFields(
        codes=session.parse(codes) if codes.startswith("#") else session.library.mlirTypeAttrGet(session.parse(codes)),
        group_tokens=tokens,
        group_channels=WHOLE_AXIS if channels == "*" else channels,
        scale=session.parse(scale),
        zero_kind=ZERO_KINDS[kind],
        zero=session.parse(element) if zero else Handle(),
        range=RANGES.index(range_),
    )
    if range_ == "clip":
        fields.clip = np.float32(rng.uniform(0.1, 1))
        text += f", range = clip<{fields.clip:.9e}>"
    if range_ == "search":
        fields.steps = int(rng.integers(1, 9))
        text += f", range = search<{fields.steps}>"
    return fields, text


def draw_cache(rng: np.random.Generator, fmt: kvq.Format) -> kvq.Cache:
    """A cache of a format."""
    return kvq.Cache(
        int(rng.integers(1, 4)),
        int(rng.integers(1, 4)),
        int(rng.integers(0, 200)),
        160,  # whole groups and bytes of every format that is drawn
        fmt,
        dtype=str(rng.choice(("f16", "bf16", "f32"))),
        exact_first=int(rng.integers(0, 9)),
        recent=int(rng.integers(0, 40)),
        page=None if rng.integers(2) else fmt.tokens * int(rng.integers(1, 9)),
        token_major=bool(rng.integers(2)),
    )


def cache_fields(session: Session, cache: kvq.Cache, fmt: Handle) -> CacheFields:
    fields = CacheFields(
        batch=cache.batch,
        kv_heads=cache.kv_heads,
        capacity=cache.capacity,
        head_dim=cache.head_dim,
        element_type=session.parse(cache.dtype),
        format=fmt,
        exact_first=cache.exact_first,
        token_major=cache.token_major,
    )
    if cache.has_window:
        fields.recent = Optional(True, cache.recent)
    if cache.page is not None:
        fields.page = Optional(True, cache.page)
    return fields


def test_formats_and_caches_are_those_of_their_texts(rng: np.random.Generator, session: Session) -> None:
    library = session.library
    for _ in range(40):
        fields, text = draw_format(rng, session)
        fmt = kvq.Format(text)
        attribute = library.kvqFormatAttrGetChecked(session.here, fields)
        assert attribute.pointer, (text, session.errors)
        assert session.attribute_text(attribute) == fmt.attribute, text
        assert library.kvqFormatAttrGetCodeBits(attribute) == fmt.bits
        again = library.kvqFormatAttrGetFields(attribute)
        assert library.kvqFormatAttrGetChecked(session.here, again).pointer == attribute.pointer  # uniqued

        cache = draw_cache(rng, fmt)
        type_ = library.kvqCacheTypeGetChecked(session.here, cache_fields(session, cache, attribute))
        assert type_.pointer, (cache.type, session.errors)
        assert session.type_text(type_) == session.type_text(session.parse(cache.type))

        found: dict[str, tuple[int, ...]] = {}

        def add(component: object, _: object, found: dict = found) -> None:
            whole = component.contents
            found[whole.name.text()] = tuple(whole.shape[axis] for axis in range(whole.rank))

        assert library.kvqCacheTypeForEachComponent(
            session.here, type_, cache.capacity, COMPONENT_CALLBACK(add), None
        ).value
        assert found == {name: array.shape for name, array in cache.storage().items()}
        parts: dict[str, int] = {}
        measured = Bytes(-1, -1)
        callback = BYTES_CALLBACK(lambda name, size, _, parts=parts: parts.__setitem__(name.text(), size))
        assert library.kvqCacheTypeGetAllocatedBytes(
            session.here, type_, cache.capacity, measured, callback, None
        ).value
        assert measured.total == cache.nbytes == sum(parts.values())
    assert session.errors == []


def test_what_is_wrong_is_a_diagnostic(session: Session) -> None:
    fields = FormatFields(
        codes=session.library.mlirTypeAttrGet(session.parse("ui4")),
        group_tokens=1,
        group_channels=32,
        scale=session.parse("f16"),
    )
    assert not session.library.kvqFormatAttrGetChecked(session.here, fields).pointer
    assert session.errors == ["unsigned codes ui4 need a zero: expected 'zero = min T' or 'zero = point T'"]


# Numbers that fields have, and those at the ends of their ranges.
NUMBERS = (0, 1, 2, 4, 8, 32, 64, 128, -1, -5, 3, 2**31, 2**40, 2**41, -(2**63), 2**63 - 1)


def test_any_fields_are_a_cache_or_one_error(rng: np.random.Generator, session: Session) -> None:
    library = session.library
    formats = [
        session.parse(kvq.Format(text).attribute)
        for text in (
            "codes = none",
            "codes = i8, group = [1, 32], scale = f16",
            "codes = ui4, group = [8, 1], scale = f16, zero = min f16",
        )
    ]
    types = [session.parse(text) for text in ("f16", "f32", "i8", "tensor<4xf32>")] + [Handle()]

    def number(*usual: int) -> int:
        return int(rng.choice(usual)) if rng.integers(4) else NUMBERS[rng.integers(len(NUMBERS))]

    def optional(*usual: int) -> Optional:
        return Optional(bool(rng.integers(2)), number(*usual))

    built = 0
    for _ in range(3000):
        fields = CacheFields(
            batch=number(1, 2),
            kv_heads=number(1, 2),
            capacity=number(0, 64),
            head_dim=number(64, 128),
            element_type=types[min(rng.integers(12), 4)] if rng.integers(4) else types[0],
            format=formats[rng.integers(3)] if rng.integers(20) else session.parse("#kvq.codebook<nf4>"),
            exact_first=number(0, 4),
            recent=optional(0, 32),
            residual=optional(8, 32) if not rng.integers(4) else Optional(),
            page=optional(8, 16) if rng.integers(2) else Optional(),
            ring=optional(64, 100) if not rng.integers(4) else Optional(),
            keep_first=number(0, 0, 0, 4),
            token_major=bool(rng.integers(2)),
        )
        session.errors.clear()
        type_ = library.kvqCacheTypeGetChecked(session.here, fields)
        assert len(session.errors) == (not type_.pointer)
        if not type_.pointer:
            continue
        built += 1
        assert session.parse(session.type_text(type_)).pointer == type_.pointer
        measured, sizes = Bytes(-1, -1), []
        callback = BYTES_CALLBACK(lambda _, size, __, sizes=sizes: sizes.append(size))
        found = library.kvqCacheTypeGetAllocatedBytes(
            session.here, type_, number(0, 100), measured, callback, None
        ).value
        assert (len(session.errors) == 0) == bool(found)
        assert not found or measured.total == sum(sizes) >= 0
    assert built > 50  # of about 170
