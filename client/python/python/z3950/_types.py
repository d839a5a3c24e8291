"""Types of arguments, only for annotations. They are not needed at run time, and importing `typing` takes longer than importing this
package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Protocol, TypeAlias, TypedDict

from ._serving import Request
from ._z3950 import Query, Record


class ConnectOptions(TypedDict, total=False):
    """Options of a connection. All are optional."""

    #: How long to wait for the connection and for each answer, in seconds, by default 30; `None` for no limit.
    timeout: float | None
    user: str | None
    password: str | None
    group: str | None
    #: The record syntax to request, such as `usmarc`, `unimarc`, `xml`, `opac` or `sutrs`; by default MARC, if the server supports it.
    syntax: str | None
    #: The element set to request, such as `F` or `B`.
    elements: str | None
    #: Whether to request OPAC records, which list copies and their availability. A server that does not support them is asked for its usual
    #: records.
    holdings: bool
    #: The character set of records, such as `marc-8` or `iso5426`, which overrides the one that they declare.
    charset: str | None
    #: The character set of queries, by default UTF-8.
    query_charset: str | None
    #: The maximum number of records in one answer.
    chunk: int | None
    #: The profile to use: the name of a profile, or a dict with the same keys as a profile in `targets.toml`.
    profile: str | Mapping[str, Any] | None
    #: Certificates to trust in addition to those of the system: the path of a PEM file, or the PEM itself. This and the next three options
    #: apply only to TLS.
    ca_file: str | PathLike[str] | bytes | None
    #: The client's certificate, followed by the certificates of its issuers: the path of a PEM file, or the PEM itself.
    certificate: str | PathLike[str] | bytes | None
    #: The private key, if `certificate` does not contain it: the path of a PEM file, or the PEM itself.
    key: str | PathLike[str] | bytes | None
    #: Whether to accept any certificate of the server.
    insecure: bool
    #: The proxy, such as `http://host:port` or `socks5://host:port`, or `none`; by default the one set in the environment.
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
    """The methods that every backend must have: see `z3950.serve`."""

    def search(self, query: Query, request: Request, /) -> Iterable[Any]:
        """Returns the keys of the records found."""

    def record(self, key: Any, request: Request, /) -> MarcLike | str | None:
        """Returns the record with a key; `None` if there is none."""
