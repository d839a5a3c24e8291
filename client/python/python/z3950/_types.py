"""Types of arguments, for annotations alone: at run time nothing needs them, and `typing` takes longer to import than all of this."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, Protocol, TypeAlias, TypedDict

from ._z3950 import Record


class ConnectOptions(TypedDict, total=False):
    """Options of a connection. All are optional."""

    #: Seconds to wait for the connection and for each answer, by default 30; `None` for no limit.
    timeout: float | None
    user: str | None
    password: str | None
    group: str | None
    #: The record syntax to ask for, such as `usmarc`, `unimarc`, `xml`, `opac` or `sutrs`; by default MARC if the server has it.
    syntax: str | None
    #: The element set to ask for, such as `F` or `B`.
    elements: str | None
    #: Whether searches ask for OPAC records, which tell of copies and whether they are available. A server without them is asked as usual.
    holdings: bool


class _HasMarc(Protocol):
    def as_marc(self) -> bytes: ...


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


#: A record: one of this package, one of pymarc, MARC-in-JSON, or octets in any form of MARC.
MarcLike: TypeAlias = Record | _HasMarc | Mapping[str, Any] | bytes | bytearray | memoryview

#: A path, the octets themselves, or a file that is open in binary mode.
Source: TypeAlias = str | PathLike[str] | bytes | bytearray | memoryview | _Readable
