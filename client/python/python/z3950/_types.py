"""Types of arguments, only for annotations. They are not needed at run time, and importing `typing` takes longer than this package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Protocol, TypeAlias, TypedDict

from ._serving import Request
from ._z3950 import Query, Record


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
    #: The character set of records, instead of what they declare, such as `marc-8` or `iso5426`.
    charset: str | None
    #: The character set of queries, by default UTF-8.
    query_charset: str | None
    #: The most records in one answer.
    chunk: int | None
    #: A profile to follow: its name, or a dict with the keys of one in `targets.toml`.
    profile: str | Mapping[str, Any] | None
    #: Certificates in PEM to trust as well as those of the system: the path of a file, or the PEM itself. For TLS alone, as the next three.
    ca_file: str | PathLike[str] | bytes | None
    #: The client's certificate in PEM, followed by its issuers: a path, or the PEM itself.
    certificate: str | PathLike[str] | bytes | None
    #: The private key of the certificate, if it is not with it: a path, or the PEM itself.
    key: str | PathLike[str] | bytes | None
    #: Whether any certificate of the server is accepted.
    insecure: bool
    #: A proxy such as `http://host:port` or `socks5://host:port`, or `none`; by default what the environment says.
    proxy: str | None


class _HasMarc(Protocol):
    def as_marc(self) -> bytes: ...


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


#: A record: one of this package, one of pymarc, MARC-in-JSON, or octets in any form of MARC.
MarcLike: TypeAlias = Record | _HasMarc | Mapping[str, Any] | bytes | bytearray | memoryview

#: A path, the octets themselves, or a file that is open in binary mode.
Source: TypeAlias = str | PathLike[str] | bytes | bytearray | memoryview | _Readable


class Backend(Protocol):
    """What a backend has at least: see `z3950.serve`."""

    def search(self, query: Query, request: Request, /) -> Iterable[Any]:
        """Returns the keys of the records found."""

    def record(self, key: Any, request: Request, /) -> MarcLike | str | None:
        """Returns the record with a key; `None` if there is none."""
