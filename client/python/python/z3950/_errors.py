"""The exceptions of z3950."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._z3950 import Record


class Error(Exception):
    """The base of all exceptions of this package."""


class NoMatch(Error):
    """No record matches."""


class Ambiguous(Error):
    """Several records match where one is wanted."""

    def __init__(self, message: str, hits: int) -> None:
        super().__init__(message)
        #: How many match.
        self.hits = hits

    def __reduce__(self) -> tuple[type[Ambiguous], tuple[str, int]]:
        return type(self), (str(self), self.hits)


class Diagnostic(Error):
    """The server refused the request with a diagnostic."""

    def __init__(self, message: str, condition: int | None = None, addinfo: str | None = None) -> None:
        super().__init__(message)
        #: The number of the first diagnostic, such as 114 of Bib-1: unsupported use attribute.
        self.condition = condition
        #: What the server adds to it, such as the attribute.
        self.addinfo = addinfo

    def __reduce__(self) -> tuple[type[Diagnostic], tuple[str, int | None, str | None]]:
        return type(self), (str(self), self.condition, self.addinfo)


class DamagedRecord(Error):
    """A record of which something is missing or cannot be read."""

    def __init__(self, message: str, record: Record) -> None:
        super().__init__(message)
        #: The record as far as it can be read; its `octets` are as received, and its `damage` says what is wrong.
        self.record = record

    def __reduce__(self) -> tuple[type[DamagedRecord], tuple[str, Record]]:
        return type(self), (str(self), self.record)


class Unavailable(Error, ConnectionError):
    """The server cannot be reached, or the connection was lost: try again later."""


class Timeout(Unavailable, TimeoutError):
    """No answer in time."""


class _Misspelt(Error, ValueError):
    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message)
        #: Where, in octets from the start of the text, if at one place.
        self.offset = offset

    def __reduce__(self) -> tuple[type[_Misspelt], tuple[str, int | None]]:
        return type(self), (str(self), self.offset)


class BadUrl(_Misspelt):
    """A URL or a target that cannot be followed."""


class BadQuery(_Misspelt):
    """A query or an identifier that cannot be sent."""


for _error in (Error, NoMatch, Ambiguous, Diagnostic, DamagedRecord, Unavailable, Timeout, BadUrl, BadQuery):
    _error.__module__ = "z3950"
