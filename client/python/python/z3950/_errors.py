"""The exceptions of z3950."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._z3950 import Record


class Error(Exception):
    """The base class of all exceptions of this package. Its attributes help a program decide what to do next."""

    #: Whether a time limit was reached: the `timeout` of the connection, or the limit of `Connection.within`.
    is_timeout: bool = False
    #: Whether no connection was made, so that nothing was requested from the server.
    is_connect: bool = False
    #: Whether the same request may succeed later: the server cannot be reached, is slow, busy or shutting down, or the connection was lost.
    #: The server may have carried out the request already, so only repeat requests that change nothing. An untrusted certificate and a
    #: refused password are not transient errors.
    is_transient: bool = False
    #: Whether the session has ended, so that the request can only be repeated in a new one, which the next call opens.
    is_connection_lost: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments(), vars(self)

    def _arguments(self) -> tuple[object, ...]:
        """Returns the arguments with which `pickle` restores the exception."""
        return self.args


class NoMatch(Error):
    """No record matches."""


class Ambiguous(Error):
    """Several records match, although exactly one was requested."""

    def __init__(self, message: str, hits: int) -> None:
        super().__init__(message)
        #: The number of matching records.
        self.hits = hits

    def _arguments(self) -> tuple[str, int]:
        return str(self), self.hits


class Diagnostic(Error):
    """The server refused the request with a diagnostic."""

    def __init__(self, message: str, condition: int | None = None, addinfo: str | None = None) -> None:
        super().__init__(message)
        #: The condition of the first diagnostic, such as 114 in Bib-1 (unsupported Use attribute).
        self.condition = condition
        #: The additional information in this diagnostic, such as the unsupported attribute.
        self.addinfo = addinfo

    def _arguments(self) -> tuple[str, int | None, str | None]:
        return str(self), self.condition, self.addinfo


class DamagedRecord(Error):
    """Part of a record is missing or cannot be read."""

    def __init__(self, message: str, record: Record) -> None:
        super().__init__(message)
        #: The readable part of the record. Its `octets` are those received, and its `damage` says what is wrong.
        self.record = record

    def _arguments(self) -> tuple[str, Record]:
        return str(self), self.record


class Unavailable(Error, ConnectionError):
    """The server cannot be reached, its certificate is not trusted, or the connection was lost. `is_transient` says whether it is worth
    trying again later."""


class Timeout(Unavailable, TimeoutError):
    """A time limit was reached."""

    is_timeout = True


class _Misspelt(Error, ValueError):
    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        #: The offset of the fault in the text, in octets; `None` if the fault has no single position.
        self.offset = offset

    def _arguments(self) -> tuple[str, int | None]:
        return str(self), self.offset


class BadUrl(_Misspelt):
    """A URL or a target cannot be used."""


class BadQuery(_Misspelt):
    """A query or an identifier cannot be sent."""


for _error in (Error, NoMatch, Ambiguous, Diagnostic, DamagedRecord, Unavailable, Timeout, BadUrl, BadQuery):
    _error.__module__ = "z3950"
