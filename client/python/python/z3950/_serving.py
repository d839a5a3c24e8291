"""Serves the records of a Python program: calls the program's backend, and checks its results."""

from __future__ import annotations

import sys

from . import _z3950 as native
from ._common import as_octets
from ._errors import Diagnostic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from types import FrameType
    from typing import Any

    from ._types import Backend
    from ._z3950 import Query


#: The maximum number of records in one result set.
MOST_HITS = 10_000_000

#: The Bib-1 condition for a record that the server cannot deliver.
NOT_PRESENTED = 14

#: The Bib-1 condition for a search that a backend does not support.
UNSUPPORTED_SEARCH = 3

#: The Bib-1 condition for a permanent error of the server.
FAILED = 1

#: The names of the databases that every server provides itself, in lower case.
RESERVED = ("ir-explain-1", "ir-extend-1")

#: How long Python's exit waits for calls in progress, in seconds.
PATIENCE = 5.0

#: How long Python's exit waits for calls that it has interrupted, in seconds.
LAST_PATIENCE = 0.5


class Request:
    """Details of a request that a backend handles: the client, and what it requests."""

    __slots__ = {
        "address": "The address of the client, without the port; `None` if the client has no address.",
        "after": "For `scan`: the number of terms requested from the given term onwards, including it.",
        "before": "For `scan`: the number of terms requested before the given term.",
        "databases": "The databases to search or scan, or the database of the requested record.",
        "elements": "For `record`: the requested element set, such as `F` or `B`.",
        "syntax": "For `record`: the name of the requested record syntax; `None` if the client requests none.",
        "user": "The name of the user; `None` if the client did not send it.",
    }

    def __init__(
        self,
        databases: list[str],
        address: str | None,
        user: str | None,
        *,
        syntax: str | None = None,
        elements: str | None = None,
        before: int = 0,
        after: int = 0,
    ) -> None:
        self.databases = databases
        self.address = address
        self.user = user
        self.syntax = syntax
        self.elements = elements
        self.before = before
        self.after = after

    def __repr__(self) -> str:
        return f"<Request by {self.user or 'anybody'} to {'+'.join(self.databases)}>"


class Login:
    """The login sent by a client, as passed to `authenticate`. Its `repr` does not show the password."""

    __slots__ = {
        "address": "The address of the client, without the port; `None` if the client has no address.",
        "group": "The group; `None` if the client did not send one.",
        "password": "The password; empty if the client sent none. Octets that are not UTF-8 become surrogates, as in file names.",
        "user": "The name of the user.",
    }

    def __init__(self, user: str, password: str = "", *, group: str | None = None, address: str | None = None) -> None:
        self.user = user
        self.password = password
        self.group = group
        self.address = address

    def __repr__(self) -> str:
        return f"<Login of {self.user}>"


class Adapter:
    """Calls a backend, and checks the results."""

    def __init__(self, backend: object) -> None:
        if isinstance(backend, type):
            raise TypeError(f"a backend is an object, not a class: write {backend.__name__}()")
        for name in ("search", "record"):
            if not callable(getattr(backend, name, None)):
                raise TypeError(f"a backend has the methods search and record; {type(backend).__name__} has no {name}")
        self._backend: Any = backend
        self.can_scan = callable(getattr(backend, "scan", None))
        self.can_authenticate = callable(getattr(backend, "authenticate", None))
        self.databases = databases_of(getattr(backend, "databases", ("Default",)))
        when_python_exits()

    def search(self, query: Query, databases: list[str], address: str | None, user: str | None) -> tuple[Sequence[Any], int]:
        """Returns the keys of the records that a query finds, and their number."""
        found = checked(self._called("search", query, Request(databases, address, user)), "search returns the keys of records")
        if isinstance(found, (list, dict)) or not (hasattr(found, "__len__") and hasattr(found, "__getitem__")):
            from itertools import islice

            found = list(islice(found, MOST_HITS + 1))
        if len(found) > MOST_HITS:
            raise ValueError(f"search returns at most {MOST_HITS} keys")
        return found, len(found)

    def record(
        self, keys: Sequence[Any], place: int, database: str, address: str | None, user: str | None, syntax: str | None, elements: str
    ) -> tuple[str, bytes | str]:
        """Returns the form (`marc`, `xml` or `text`) and the content of the record whose key is at an index of `keys`."""
        key = keys[place]
        given = self._called("record", key, Request([database], address, user, syntax=syntax, elements=elements))
        if given is None:
            raise Diagnostic("there is no such record", NOT_PRESENTED, text_of(key))
        if isinstance(given, str):
            return ("xml" if given.lstrip().startswith("<") else "text"), given
        [record] = native.Reader(as_octets(given), None, None, "repair")
        if (octets := record.marc) is None:
            raise TypeError("the record is not one of MARC")
        return "marc", octets

    def scan(
        self, query: Query, term: str, databases: list[str], address: str | None, user: str | None, before: int, after: int
    ) -> tuple[list[tuple[str, int | None]], list[tuple[str, int | None]], bool]:
        """Returns the terms before a term, the terms from it onwards, and whether the term itself is one of them."""
        request = Request(databases, address, user, before=before, after=after)
        found = checked(self._called("scan", query, request), "scan returns terms, or pairs of a term and a number")
        terms = sorted((listed(entry) for entry in found), key=lambda entry: entry[0].casefold())
        start = term.casefold()
        place = next((place for place, (text, _) in enumerate(terms) if text.casefold() >= start), len(terms))
        rest = terms[place : place + after]
        return terms[max(0, place - before) : place], rest, bool(rest) and rest[0][0].casefold() == start

    def authenticate(self, user: str, password: bytes, group: str | None, address: str | None) -> bool:
        """Returns whether the backend admits a user with this password."""
        login = Login(user, password.decode("utf-8", "surrogateescape"), group=group, address=address)
        admitted = self._called("authenticate", login)
        if not isinstance(admitted, bool):
            raise TypeError(f"authenticate returns True or False, not {type(admitted).__name__}")
        return admitted

    def _called(self, name: str, *arguments: object) -> Any:
        """Calls a method of the backend, and returns its result."""
        given = getattr(self._backend, name)(*arguments)
        if hasattr(given, "__await__") or hasattr(given, "__anext__"):
            if hasattr(given, "close"):
                given.close()
            raise TypeError(f"{name} of a backend must not be async: it is called in a thread of its own")
        return given

    def diagnostic(self, error: BaseException, otherwise: int) -> tuple[int, str]:
        """Returns the diagnostic for an exception: a Bib-1 condition, by default `otherwise`, and its additional information."""
        wrong = ""
        if isinstance(error, Diagnostic):
            condition = otherwise if error.condition is None else error.condition
            addinfo = "" if error.addinfo is None else error.addinfo
            if is_condition(condition) and is_text(addinfo):
                return condition, addinfo
            wrong = f": a Diagnostic with condition={condition!r} and addinfo={addinfo!r} cannot be sent"
        elif isinstance(error, NotImplementedError):
            return (UNSUPPORTED_SEARCH if otherwise == FAILED else otherwise), text_of(error)
        from logging import getLogger

        # The message is only logged: it may contain information that clients must not see.
        getLogger("z3950").error("the backend %s has failed%s", type(self._backend).__name__, wrong, exc_info=error)
        return otherwise, ""


def is_condition(condition: object) -> bool:
    """Returns whether a value can be the condition of a diagnostic."""
    return isinstance(condition, int) and not isinstance(condition, bool) and 0 <= condition < 2**31


def is_text(text: object) -> bool:
    """Returns whether a value is a str without unpaired surrogates."""
    return isinstance(text, str) and text == text_of(text)


def text_of(value: object) -> str:
    """Converts a value to text that can be sent, with `?` in place of unpaired surrogates."""
    return str(value).encode(errors="replace").decode()


def databases_of(given: object) -> list[tuple[str, str | None]]:
    """Returns the names of the databases, each with its title, or `None` if it has no title."""
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"databases of a backend are a list of names, or a dict of names and titles, not {type(given).__name__}")
    named = given.items() if hasattr(given, "items") else [(name, None) for name in given]
    databases = list(named)
    for name, title in databases:
        if not isinstance(name, str) or not isinstance(title, (str, type(None))):
            raise TypeError(f"a database has a name and a title, both str, not {name!r}: {title!r}")
        if not name:
            raise ValueError("a database has a name that is not empty")
        if name.lower() in RESERVED:
            raise ValueError(f"the server has a database {name} of its own, which describes it: take another name")
    if not databases:
        raise ValueError("a backend has at least one database")
    return databases


def checked(found: Any, expected: str) -> Any:
    """Checks that a result can be iterated over or indexed and is not text."""
    if isinstance(found, (str, bytes)) or not (hasattr(found, "__iter__") or hasattr(found, "__getitem__")):
        raise TypeError(f"{expected}, not {type(found).__name__}")
    return found


def listed(entry: object) -> tuple[str, int | None]:
    """Converts an entry of an index to a term and its number of records, or `None` if the number is unknown."""
    match entry:
        case str() as term:
            return term, None
        case (str() as term, int() as count) if count >= 0 and not isinstance(count, bool):
            return term, count
    raise TypeError(f"scan returns terms, or pairs of a term and a number, not {entry!r}")


_is_registered = False


def when_python_exits() -> None:
    """Makes Python wait for calls to backends when it exits."""
    global _is_registered
    if not _is_registered:
        import atexit

        _is_registered = True
        atexit.register(end_calls)


def end_calls() -> None:
    """Waits for calls in progress, for a limited time or until Ctrl-C."""
    try:
        have_ended = native.end_calls(PATIENCE)
    except KeyboardInterrupt:
        have_ended = False
    if not have_ended:
        from contextlib import suppress

        # A call that is still waiting for something is left alone, because it will not run Python code when the interpreter ends.
        with suppress(KeyboardInterrupt):
            interrupt_calls()
            native.end_calls(LAST_PATIENCE)


def interrupt_calls() -> None:
    """Raises `SystemExit` in the calls in progress, because Python code that still runs when the interpreter ends would abort the
    process."""
    try:
        from ctypes import c_ulong, py_object, pythonapi
    except ImportError:
        return
    for thread, frame in sys._current_frames().items():
        if is_call(frame):
            pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread), py_object(SystemExit))


def is_call(frame: FrameType | None) -> bool:
    """Returns whether a frame was called, directly or indirectly, by a method of `Adapter`."""
    while frame is not None:
        if isinstance(frame.f_locals.get("self"), Adapter):
            return True
        frame = frame.f_back
    return False


def serve(
    backend: Backend,
    *,
    host: str = "127.0.0.1",
    port: int = 2100,
    listening: Callable[[str], object] | None = None,
    certificate: str | PathLike[str] | bytes | None = None,
    key: str | PathLike[str] | bytes | None = None,
) -> None:
    """Serves the records of a backend over Z39.50 and SRU until Ctrl-C, which raises `KeyboardInterrupt`; SIGTERM ends the process as
    usual. `listening` is called with `host:port` when the server accepts connections; with `port=0`, the system chooses a free port. In
    tests, use `z3950.testing.Server(backend=…)` instead.

    With `certificate` and `key`, the port accepts only TLS. Each is the path of a PEM file, or the PEM itself: bytes, or a str that
    contains `-----BEGIN`. The key may be in the same PEM as the certificate.

    A backend is an object with the following members. Threads of the server call its methods, which must not be `async`. The `request`
    describes the client and what it requests:

    - `search(query, request)` returns the keys of the records found: values of any type, in a list, a range, a generator …; `query` has
      either an `operator` (`and`, `or`, `not`) and two `operands`, or a `term` with its `index_name` and `attribute_values`;
    - `record(key, request)` returns the record with one of these keys: a record of this package or of pymarc, MARC-in-JSON, octets in any
      form of MARC, or a str that contains XML or plain text. MARC is sent in the requested syntax: `usmarc`, `xml`, `sutrs`, `opac` or
      `grs-1`;
    - `scan(query, request)`, which is optional, returns terms of an index, or pairs of a term and a number of records;
    - `authenticate(login)`, which is optional, returns whether a `z3950.Login` is valid: `True` or `False`. If a backend has this method,
      clients without a login are refused, and `request.user` is the name of the user;
    - `databases`, an optional attribute, is a list of names, or a dict of names and titles. Without it, there is one database, `Default`.

    If a method raises a `z3950.Diagnostic`, its `condition` and `addinfo` are sent to the client. If it raises `NotImplementedError`, the
    client receives its text, in a search as the reason why the query is unsupported (condition 3). Any other exception is logged to the
    logger `z3950`, and the client receives a diagnostic without details.

    When Python exits, it waits for calls in progress for up to five seconds, or until Ctrl-C; then `SystemExit` is raised in the calls that
    have not ended.
    """
    if certificate is None and key is not None:
        raise TypeError("key is given with certificate")
    pem = None if certificate is None else (certificate, certificate if key is None else key, None)
    service = native.Service(Adapter(backend), host, port, pem)
    try:
        if listening is not None:
            listening(service.address)
        while not service.wait():
            pass
    finally:
        service.stop()
