"""Connections and result sets, with methods that block."""

from __future__ import annotations

from . import _z3950 as native
from ._common import (
    Fixed,
    Pages,
    as_count,
    as_docid,
    as_facets,
    as_hits,
    as_keys,
    as_options,
    as_query,
    as_records,
    as_seconds,
    as_targets,
    begin_find,
    check_lookups,
    counted,
    found_at,
    hits_in_html,
    lookups,
    records_of,
    wanted,
)
from ._errors import Error
from ._z3950 import Answer, Event, Query, Record, ScanTerm, SearchSource, TaskResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike
    from types import TracebackType
    from typing import Any, Literal, overload

    from typing_extensions import Self

    from ._types import MarcLike


def connect(
    target: str,
    *,
    timeout: float | None = 30.0,
    user: str | None = None,
    password: str | None = None,
    group: str | None = None,
    syntax: str | None = None,
    elements: str | None = None,
    holdings: bool = False,
    charset: str | None = None,
    query_charset: str | None = None,
    chunk: int | None = None,
    profile: str | Mapping[str, Any] | None = None,
    ca_file: str | PathLike[str] | bytes | None = None,
    certificate: str | PathLike[str] | bytes | None = None,
    key: str | PathLike[str] | bytes | None = None,
    insecure: bool = False,
    proxy: str | None = None,
) -> Connection:
    """Connects to a target: `host:port/database`, `ssl:host/database`, a `z39.50s:` URL, an `http:` URL of SRU, or the name of
    one of `z3950.targets()`.

    `timeout` is the maximum time, in seconds, for which the server may be silent at each step. It does not limit a call as a whole: if
    records arrive slowly, a call may take longer (see `Connection.within`). If the maximum number of connections to the target, usually 16,
    are open, `timeout` also limits the wait until one of them is closed. `None` means no limit.

    `user`, `password` and `group` are sent when the session begins; a user or password in a URL is refused. `syntax` (`usmarc`, `xml` …)
    and `elements` (`F`, `B`) select the form of records; with `holdings=True`, records with information about copies are requested, if the
    server supports them.

    The following options override the target's profile: `charset` is the character set of records, whatever they declare; `query_charset`
    is the character set of queries, by default UTF-8; `chunk` is the maximum number of records in one answer. `profile` is the name of
    another profile to use, or a dict with the same keys as a profile in `targets.toml`, such as `{"attributes": ["2=3"], "pause": 0.5}`.

    For a target with TLS, such as `ssl:host…` or an `https:` URL, `ca_file` contains certificates to trust in addition to those of the
    system, and `certificate` and `key` are those of the client. Each is the path of a PEM file, or the PEM itself: bytes, or a str that
    contains `-----BEGIN`. Each file is read only once per process. `insecure=True` accepts any certificate of the server. If the target
    does not use TLS, these options are refused.

    `proxy` is `http://host:port` or `socks5://host:port`, or `none`; by default, the environment variables `ALL_PROXY`, `HTTPS_PROXY` and
    `NO_PROXY` apply.

    A file that cannot be read raises an `OSError` such as `FileNotFoundError`, and a wrong argument raises `TypeError` or `ValueError`.
    Failures of the connection or the server raise a `z3950.Error`.

    >>> import z3950
    >>> from z3950.testing import Server
    >>> server = Server()                       # a small catalogue in this process
    >>> with z3950.connect(server.target, timeout=5) as cat:
    ...     hits = cat.search('ti:"war and peace" au:tolstoy')
    ...     print(len(hits), hits[0].title)
    1 War and peace : a novel
    >>> server.stop()
    """
    return Connection(native.connect(target, as_options(locals())).wait())


def get(
    url: str,
    *,
    timeout: float | None = 30.0,
    user: str | None = None,
    password: str | None = None,
    group: str | None = None,
    syntax: str | None = None,
    elements: str | None = None,
    holdings: bool = False,
    charset: str | None = None,
    query_charset: str | None = None,
    chunk: int | None = None,
    profile: str | Mapping[str, Any] | None = None,
    ca_file: str | PathLike[str] | bytes | None = None,
    certificate: str | PathLike[str] | bytes | None = None,
    key: str | PathLike[str] | bytes | None = None,
    insecure: bool = False,
    proxy: str | None = None,
) -> Record:
    """Returns the one record that a retrieval URL names: `z39.50r://host/database?docid` (RFC 2056).

    Raises `NoMatch` if there is no such record, and `Ambiguous` if there are several. The URL specifies the form of the record, as in
    `?id7;esn=F;rs=marc`, so `syntax` and `elements` are refused.

    >>> import z3950
    >>> from z3950.testing import Server
    >>> with Server() as server:
    ...     z3950.get(server.url + "?pg1342;rs=marc").title
    'Pride and prejudice : a novel : in three volumes'
    """
    record: Record = native.get(url, as_options(locals())).wait()
    return record


def lookup(
    target: str | Iterable[str],
    identifiers: Iterable[str],
    *,
    jobs: int = 4,
    fallback: bool = False,
    best: bool = False,
    all_targets: bool = False,
    timeout: float | None = 30.0,
    user: str | None = None,
    password: str | None = None,
    group: str | None = None,
    syntax: str | None = None,
    elements: str | None = None,
    holdings: bool = False,
    charset: str | None = None,
    query_charset: str | None = None,
    chunk: int | None = None,
    profile: str | Mapping[str, Any] | None = None,
    ca_file: str | PathLike[str] | bytes | None = None,
    certificate: str | PathLike[str] | bytes | None = None,
    key: str | PathLike[str] | bytes | None = None,
    insecure: bool = False,
    proxy: str | None = None,
) -> Iterator[Answer]:
    """Looks up identifiers such as `isbn:0141439513` and `lccn:85010105`, `jobs` at a time. The answers are in the order of the
    identifiers. If a lookup fails, its answer has an `error`, and the other lookups continue. The answer is then false, as if no record had
    been found, so check its `error` before you conclude that there is no record.

    Several targets are asked in turn until one has the record, or all at once with `all_targets`. With `fallback`, a search that is refused
    or finds nothing is followed by broader searches, with fewer attributes or in any index. With `best`, the best of several records for
    copy cataloguing is chosen, and `Answer.choice` says why.

    >>> import z3950
    >>> from z3950.testing import Server
    >>> with Server() as server:
    ...     for answer in z3950.lookup(server.target, ["local:pg1342", "local:nothing", "isbn:"]):
    ...         print(answer.identifier, answer.hits, answer.error)
    local:pg1342 1 None
    local:nothing 0 None
    isbn: 0 nothing follows isbn:
    """
    asked = as_options(locals())
    from collections import deque

    begun = deque[tuple[str, native.Request | Exception]]()
    targets = as_targets(target, asked)
    check_lookups(identifiers, jobs, fallback=fallback, best=best, all_targets=all_targets)

    def answer() -> Answer:
        identifier, request = begun.popleft()
        if isinstance(request, Exception):
            raise request
        try:
            found: Answer = request.wait()
            return found
        except Error as error:
            return Answer(identifier, error=error)

    def answers() -> Iterator[Answer]:
        for identifier, request in lookups(targets, identifiers, asked, fallback, best, all_targets):
            begun.append((identifier, request if isinstance(request, Exception) else request.spawn()))
            if len(begun) == jobs:
                yield answer()
        while begun:
            yield answer()

    return answers()


def find(
    targets: str | Iterable[str],
    what: str | Query,
    *,
    fallback: bool = False,
    best: bool = False,
    all_targets: bool = False,
    count: int = 20,
    timeout: float | None = 30.0,
    user: str | None = None,
    password: str | None = None,
    group: str | None = None,
    syntax: str | None = None,
    elements: str | None = None,
    holdings: bool = False,
    charset: str | None = None,
    query_charset: str | None = None,
    chunk: int | None = None,
    profile: str | Mapping[str, Any] | None = None,
    ca_file: str | PathLike[str] | bytes | None = None,
    certificate: str | PathLike[str] | bytes | None = None,
    key: str | PathLike[str] | bytes | None = None,
    insecure: bool = False,
    proxy: str | None = None,
) -> Iterator[Event]:
    """Searches one or more targets, and yields events as they arrive: for each search that is answered, each fallback and each record. The
    last event is `ended`. If a server does not answer, an event has the `error`, and the search continues at the other targets.

    `what` is an identifier such as `isbn:0141439513`, or a `Query`. `fallback`, `best` (only for identifiers) and `all_targets` have the
    same meaning as for `lookup`, and `count` is the maximum number of records from each target. Leaving the loop ends the search and frees
    its session, and so does Ctrl-C.

    >>> import z3950
    >>> from z3950.testing import Server
    >>> with Server() as server:
    ...     for event in z3950.find(server.target, "isbn:9780141439587", best=True):
    ...         print(event.kind, event.hits, event.record and event.record.title)
    asked None None
    found 1 None
    done None None
    best 1 None
    record None Emma : a novel : in three volumes
    ended 1 None
    """
    events = begin_find(locals())

    def each() -> Iterator[Event]:
        try:
            while (event := events.next().wait()) is not None:
                yield event
        finally:
            events.close()

    return each()


class Connection(Fixed):
    """A connection to a target, made by `connect`. Threads may share it. If the server has closed the session, a request that changes
    nothing is repeated in a new session. If a request ends the session, for instance with a `Timeout`, the next request opens a new one,
    unless the server closed the session for reasons of cost or security. When a connection is no longer used, its session is kept for one
    minute for the next connection; after that, it is closed as soon as the program makes another request."""

    __slots__ = ("__weakref__", "_native", "_target")

    def __init__(self, connection: native.Connection) -> None:
        self._native = connection
        self._target = connection.target

    @property
    def target(self) -> str:
        """The server and its databases."""
        return self._target

    def within(self, seconds: float) -> Connection:
        """Returns the same connection with a time limit for each call as a whole, in seconds, which also applies to its result sets. A call
        that takes longer fails with `Timeout`; the session stays open if the answer arrives soon afterwards.

        >>> import z3950
        >>> from z3950.testing import Server
        >>> with Server(faults=["on search: delay 1h"]) as server, z3950.connect(server.target) as cat:
        ...     try:
        ...         cat.within(0.1).search("ti:emma")
        ...     except z3950.Timeout as error:
        ...         print(error)
        the call did not end in time: no response within 0.1 s
        """
        return Connection(self._native.within(as_seconds("seconds", seconds)))

    def search(self, query: Query | str, *, first: int = 0, facets: Iterable[str] | Mapping[str, int] = ()) -> ResultSet:
        """Searches the target. A plain string contains words with optional index names, and is parsed by `Query.words`; for PQF, CQL and
        CCL, use `Query.pqf`, `Query.cql` and `Query.ccl`.

        With `first=N`, the answer to the search includes the first N records, which saves a round trip; the maximum is the `chunk` of the
        target's profile, by default 20. With `facets=["author", "date"]` or `{"author": 20}`, the server counts the terms of these fields
        in the records found: see `ResultSet.facets`.
        """
        return ResultSet(self._native.search(as_query(query), as_count("first", first), as_facets(facets)).wait())

    def scan(self, query: Query | str, *, size: int = 20, position: int = 1) -> list[ScanTerm]:
        """Lists `size` terms of an index, with the query's term at `position`, counted from 1.

        >>> import z3950
        >>> from z3950.testing import Server
        >>> with Server() as server, z3950.connect(server.target) as cat:
        ...     [(term.term, term.count) for term in cat.scan("au:tolstoy", size=1)]
        [('tolstoy', 2)]
        """
        terms: list[ScanTerm] = self._native.scan(as_query(query), as_count("size", size), as_count("position", position)).wait()
        return terms

    def get(self, docid: str | bytes) -> Record:
        """Returns the one record with a docid."""
        record: Record = self._native.get(as_docid(docid)).wait()
        return record

    def lookup(self, identifier: str) -> Answer:
        """Looks up an identifier: `isbn:`, `issn:`, `lccn:`, `oclc:`, `local:`, `docid:`, or a number whose kind can be recognized from its
        form. The usual searches for this kind of identifier are tried in turn."""
        answer: Answer = self._native.lookup(identifier).wait()
        return answer

    def update(self, records: MarcLike | Iterable[MarcLike], *, action: str = "insert") -> TaskResult:
        """Inserts, replaces or deletes records: `action` is `insert`, `replace` or `delete`. The request is sent only once: after an
        `Unavailable`, the server may or may not have carried it out."""
        result: TaskResult = self._native.update(action, as_records(records)).wait()
        return result

    def order(
        self,
        hits: ResultSet,
        index: int = 0,
        *,
        name: str | None = None,
        phone: str | None = None,
        email: str | None = None,
    ) -> TaskResult:
        """Orders the record at an index of a result set of this connection; `name`, `phone` and `email` say whom to contact. The order is
        sent only once."""
        found = as_hits(hits)
        position, _, _ = wanted(index, found.count)
        result: TaskResult = self._native.order(found, position, name, phone, email).wait()
        return result

    def explain(self, category: str = "TargetInfo") -> list[Any]:
        """Returns what the server says about itself: the records in a category of its Explain database, such as `TargetInfo` or
        `DatabaseInfo`, as dicts. For an SRU server, returns a list of one `Description`."""
        records: list[Any] = self._native.explain(category).wait()
        return records

    def close(self) -> None:
        """Ends the session. Requests in progress fail with `Unavailable`, and the result sets of the connection can no longer be read."""
        self._native.close().wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Connection {self.target}{' (closed)' if self._native.is_closed else ''}>"


class ResultSet(Fixed):
    """The records found by a search. They are numbered from 0 and fetched when they are read.

    Iteration and `hits[:100]` fetch many records with each request. So does `hits[i]` in a loop with ascending `i`: if the record after
    those fetched last is read, 20 records are fetched, and kept until others are fetched or the set is sorted. A slice with a step also
    fetches the records that it skips.

    >>> import z3950
    >>> from z3950.testing import Server
    >>> with Server() as server, z3950.connect(server.target) as cat:
    ...     hits = cat.search("au:austen")
    ...     hits.sort("title")
    ...     len(hits), hits[0].title
    (4, 'Emma : a novel : in three volumes')
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(self, hits: native.ResultSet) -> None:
        self._native = hits

    @property
    def is_estimate(self) -> bool:
        """Whether the number of records is only an estimate by the server. Iteration yields all records that exist."""
        return self._native.is_estimate

    @property
    def facets(self) -> dict[str, dict[str, int]]:
        """The requested facets: for each field, its terms with the number of records that have them. A server may omit some facets."""
        return {name: dict(terms) for name, terms in self._native.facets}

    @property
    def sources(self) -> list[SearchSource]:
        """The sources that the server searched, if it reports several, including those that failed."""
        return self._native.sources

    @property
    def remarks(self) -> list[str]:
        """The server's remarks about the search, as text for people."""
        return self._native.remarks

    def sort(self, *keys: str) -> None:
        """Sorts the records at the server by keys such as `title`, `date:desc`, or attributes as in `1=31:desc`, the most important key
        first."""
        self._native.sort(as_keys(keys)).wait()

    def __len__(self) -> int:
        return self._native.count

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int) -> Record: ...

        @overload
        def __getitem__(self, index: slice) -> list[Record]: ...

    def __getitem__(self, index: int | slice) -> Record | list[Record]:
        first, size, step = wanted(index, len(self))
        if isinstance(index, slice):
            return records_of(self._native.range(first, size).wait(), size, step) if size else []
        return found_at(index, self._native.record(first).wait(), len(self))

    if TYPE_CHECKING:

        @overload
        def records(self, errors: Literal["raise", "skip"] = "raise") -> Iterator[Record]: ...

        @overload
        def records(self, errors: Literal["yield"]) -> Iterator[Record | Error]: ...

    def records(self, errors: Literal["raise", "skip", "yield"] = "raise") -> Iterator[Record | Error]:
        """Iterates over the records in order. An error in place of a record, which is a `Diagnostic` or a `DamagedRecord`, is raised: this
        ends a `for` loop, but another call of `next` continues with the record after it. With `errors="skip"`, such records are left out;
        with `errors="yield"`, the exception is yielded in place of the record. Other errors, such as `Unavailable`, are always raised.

        >>> import z3950
        >>> from z3950.testing import Server
        >>> server = Server(records=[("id7", "Emma")], faults=["on present: damage truncated"])
        >>> with server, z3950.connect(server.target) as cat:
        ...     for record in cat.search("ti:emma").records(errors="yield"):
        ...         print(type(record).__name__)
        DamagedRecord
        """
        return Records(self._native, errors)

    def __iter__(self) -> Records:
        return Records(self._native)

    def __repr__(self) -> str:
        return f"<ResultSet of {counted(len(self), 'record')}>"

    def _repr_html_(self) -> str | None:
        first = min(len(self), 10)
        try:
            return hits_in_html(len(self), self._native.range(1, first).wait() if first else [])
        except Error:
            # Without a connection, only the number of records is known.
            return None


class Records(Fixed):
    """An iterator over the records of a result set, in order. A `Diagnostic` or `DamagedRecord` in place of a record is raised, and the
    next call continues with the record after it. After an `Unavailable`, such as a `Timeout`, the next call requests the records from that
    position again.

    Only one thread can use the iterator at a time; another thread gets an `Error`. Each thread can create its own iterator over the result
    set.
    """

    __slots__ = ("__weakref__", "_lock", "_native", "_pages")

    def __init__(self, hits: native.ResultSet, errors: str = "raise") -> None:
        from threading import Lock

        self._native = hits
        self._pages = Pages(errors)
        self._lock = Lock()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Record:
        if not self._lock.acquire(blocking=False):
            raise Error("another thread is reading from this")
        try:
            while (record := self._pages.take()) is None:
                if (page := self._pages.next_range()) is None:
                    raise StopIteration
                self._pages.add(self._native.range(*page).wait())
            found: Record = record
            return found
        finally:
            self._lock.release()
