"""Search library catalogues: Z39.50 and SRU.

>>> import z3950
>>> from z3950.testing import Server
>>> server = Server()                           # a small catalogue in this process
>>> with z3950.connect(server.target, timeout=30) as cat:
...     hits = cat.search(z3950.Query.title("war and peace") & z3950.Query.author("tolstoy"))
...     for record in hits[:10]:
...         print(record.title, record.syntax, record.holdings)
War and peace : a novel usmarc []
>>> server.stop()

connect(target)   a Connection: search, scan, get, lookup, update, order, explain
Query             title, author, isbn …, joined by &, | and -; or a text in words, pqf, cql or ccl
ResultSet         len(hits), hits[0], hits[:10], for record in hits, hits.sort("date:desc")
Record            title, author, year, record["245"]["a"], holdings, text, json, marc, marcxml, pymarc()
get, lookup       without a Connection: fetch the record of a URL, look up many identifiers concurrently
find              searches several targets, and yields events: the searches sent, the records found and chosen
read, convert     read and convert files of records in any form of MARC
serve             runs a server for the records that an object of yours provides
targets           the catalogues that have names, as in connect("loc")
Error             NoMatch, Ambiguous, Diagnostic, DamagedRecord, Unavailable, Timeout, BadUrl, BadQuery

`z3950.aio` is the asyncio version, `z3950.url` parses and finds URLs, and `z3950.testing` has a server for tests.
"""

from __future__ import annotations

from ._errors import Ambiguous, BadQuery, BadUrl, DamagedRecord, Diagnostic, Error, NoMatch, Timeout, Unavailable
from ._files import convert, read
from ._serving import Login, Request, serve
from ._sync import Connection, Records, ResultSet, connect, find, get, lookup
from ._z3950 import (
    Answer,
    Description,
    Event,
    Field,
    Holding,
    Query,
    Record,
    ScanTerm,
    SearchSource,
    Target,
    TaskResult,
    __version__,
    targets,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import aio as aio
    from . import testing as testing
    from . import url as url
    from ._types import Backend as Backend
    from ._types import ConnectOptions as ConnectOptions
    from ._types import MarcLike as MarcLike
    from ._types import Source as Source

__all__ = [
    "Ambiguous",
    "Answer",
    "Backend",
    "BadQuery",
    "BadUrl",
    "ConnectOptions",
    "Connection",
    "DamagedRecord",
    "Description",
    "Diagnostic",
    "Error",
    "Event",
    "Field",
    "Holding",
    "Login",
    "MarcLike",
    "NoMatch",
    "Query",
    "Record",
    "Records",
    "Request",
    "ResultSet",
    "ScanTerm",
    "SearchSource",
    "Source",
    "Target",
    "TaskResult",
    "Timeout",
    "Unavailable",
    "__version__",
    "connect",
    "convert",
    "find",
    "get",
    "lookup",
    "read",
    "serve",
    "targets",
]


# These are the names that users see in `help` and in messages.
for _public in (Answer, Connection, Event, Login, Records, Request, ResultSet, connect, convert, find, get, lookup, read, serve):
    _public.__module__ = __name__

#: Modules that are imported on first use, and types with the modules that define them.
_LATER = {"aio": "", "testing": "", "url": "", "Backend": "_types", "ConnectOptions": "_types", "MarcLike": "_types", "Source": "_types"}

if not TYPE_CHECKING:

    def __getattr__(name):
        # Importing asyncio alone takes longer than importing this package.
        if (module := _LATER.get(name)) is None:
            raise AttributeError(f"module 'z3950' has no attribute {name!r}")
        from importlib import import_module

        found = import_module(f".{module or name}", __name__)
        return getattr(found, name) if module else found


def __dir__() -> list[str]:
    return sorted({*__all__, *_LATER, *(name for name in globals() if name.startswith("__"))})
