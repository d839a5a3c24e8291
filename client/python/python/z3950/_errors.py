"""The exceptions of z3950."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._z3950 import Record


class Error(Exception):
    """The base of all exceptions of this package. Its attributes say what a program may do next."""

    #: Whether a wait has reached its limit: a `timeout`, or that of `Connection.within`.
    is_timeout: bool = False
    #: Whether no connection was made, so that nothing was asked of the server.
    is_connect: bool = False
    #: Whether the same request may succeed later without any change: the server cannot be reached, is slow, busy or closing, or the
    #: connection was lost. The server may have carried it out, so repeat only what changes nothing. A certificate that is not trusted
    #: and a refused password are not transient.
    is_transient: bool = False
    #: Whether the session has ended, so that the request needs another one, which the next call opens.
    is_connection_lost: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments(), vars(self)

    def _arguments(self) -> tuple[object, ...]:
        """Returns the arguments with which `pickle` restores the exception."""
        return self.args


class NoMatch(Error):
    """No record matches."""


class Ambiguous(Error):
    """Several records match where one is wanted."""

    def __init__(self, message: str, hits: int) -> None:
        super().__init__(message)
        #: How many match.
        self.hits = hits

    def _arguments(self) -> tuple[str, int]:
        return str(self), self.hits


class Diagnostic(Error):
    """The server refused the request with a diagnostic."""

    def __init__(self, message: str, condition: int | None = None, addinfo: str | None = None) -> None:
        super().__init__(message)
        #: The number of the first diagnostic, such as 114 of Bib-1: unsupported use attribute.
        self.condition = condition
        #: What the server adds to it, such as the attribute.
        self.addinfo = addinfo

    def _arguments(self) -> tuple[str, int | None, str | None]:
        return str(self), self.condition, self.addinfo


class DamagedRecord(Error):
    """A record of which something is missing or cannot be read."""

    def __init__(self, message: str, record: Record) -> None:
        super().__init__(message)
        #: The record as far as it can be read; its `octets` are as received, and its `damage` says what is wrong.
        self.record = record

    def _arguments(self) -> tuple[str, Record]:
        return str(self), self.record


class Unavailable(Error, ConnectionError):
    """The server cannot be reached, its certificate is not trusted, or the connection was lost. `is_transient` says whether it is worth
    trying again later."""


class Timeout(Unavailable, TimeoutError):
    """No answer in time."""

    is_timeout = True


class _Misspelt(Error, ValueError):
    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        #: Where, in octets from the start of the text, if at one place.
        self.offset = offset

    def _arguments(self) -> tuple[str, int | None]:
        return str(self), self.offset


class BadUrl(_Misspelt):
    """A URL or a target that cannot be followed."""


class BadQuery(_Misspelt):
    """A query or an identifier that cannot be sent."""


for _error in (Error, NoMatch, Ambiguous, Diagnostic, DamagedRecord, Unavailable, Timeout, BadUrl, BadQuery):
    _error.__module__ = "z3950"
