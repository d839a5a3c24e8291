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

    `timeout` is the longest silence of the server at each step, in seconds, not a limit for all of them: a search whose records come
    slowly may take longer (see `Connection.within`). If as many connections are open as the target allows, usually 16, it is also that of
    the wait until one is closed. `None` is no limit.

    `user`, `password` and `group` are sent when the session begins; those in a URL are refused. Of records, `syntax` (`usmarc`, `xml` …)
    and `elements` (`F`, `B`) say the form; with `holdings=True`, searches ask for the copies, where the server knows of them.

    Say what is not in the target's profile: `charset` is the character set of records that declare another or none, `query_charset` that of
    queries (UTF-8), `chunk` the most records in one answer. `profile` is the name of another profile to follow, or a dict with the keys
    of one in `targets.toml`, such as `{"attributes": ["2=3"], "pause": 0.5}`.

    For TLS, which a target has as `ssl:host…` or `https:`, `ca_file` has certificates in PEM to trust as well as those of the system, and
    `certificate` and `key` are those of the client; `insecure=True` accepts any certificate. Each is the path of a file, or the PEM itself:
    bytes, or a str with `-----BEGIN` in it. Files are read once in a process. Of another target these options are refused, because it would
    be reached without TLS.

    `proxy` is `http://host:port` or `socks5://host:port`, or `none`; otherwise the variables `ALL_PROXY`, `HTTPS_PROXY` and `NO_PROXY`
    apply.

    `Connection.within` limits each call as a whole. A file that cannot be read is an `OSError`, such as `FileNotFoundError`, and a wrong
    argument a `TypeError` or `ValueError`; what goes wrong with the server is a `z3950.Error`.

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
    """The one record that a retrieval URL names, `z39.50r://host/database?docid` (RFC 2056).

    Raises `NoMatch` if there is none, `Ambiguous` if there are several. The URL names the form of the record, as in
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
    identifiers; one that cannot be answered has an `error` and does not end the others. An answer is also false then, so look at its
    `error` before you take the record for one that is not there.

    Several targets are asked in turn until one has the record, or all at once with `all_targets`. With `fallback`, a search that is refused
    or finds nothing is followed by others, with fewer attributes or in any index. With `best`, the best of several records for copy
    cataloguing is taken, and `Answer.choice` says why.

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
    """Searches at one or more targets, and yields events as they arrive: for each search that is answered, each fallback and each record.
    The last event is `ended`. If a server does not answer, an event has the `error`, and the search continues at the other targets.

    `what` is an identifier such as `isbn:0141439513`, or a `Query`. `fallback`, `best` (only for identifiers) and `all_targets` are
    those of `lookup`, and `count` is the maximum number of records from each target. Leaving the loop ends the search and frees its
    session, and so does Ctrl-C.

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
    nothing is repeated in a new one. If a session ended at a request, for instance with a `Timeout`, the next request opens another,
    unless the server closed it for cost or security. The session of a connection that nobody uses any more is kept for the next one for a
    minute, after which it is closed as soon as a request is made."""

    __slots__ = ("__weakref__", "_native", "_target")

    def __init__(self, connection: native.Connection) -> None:
        self._native = connection
        self._target = connection.target

    @property
    def target(self) -> str:
        """The server and its databases."""
        return self._target

    def within(self, seconds: float) -> Connection:
        """The same connection with a limit for each call as a whole, in seconds, also for the calls of its result sets. A call that takes
        longer fails with `Timeout`; the session stays open if the answer comes soon after.

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
        """Searches. A plain string is words with optional index names, as `Query.words` reads it; for PQF, CQL and CCL there are
        `Query.pqf`, `Query.cql` and `Query.ccl`.

        With `first=N`, the answer to the search brings the first N records, which saves a round trip; of more than 20, or the `chunk` of
        the target's profile, it brings as many as these. With `facets=["author", "date"]` or `{"author": 20}`, the server counts the terms
        of these fields in the records found: see `ResultSet.facets`.
        """
        return ResultSet(self._native.search(as_query(query), as_count("first", first), as_facets(facets)).wait())

    def scan(self, query: Query | str, *, size: int = 20, position: int = 1) -> list[ScanTerm]:
        """Lists terms of an index: `size` of them, with the query's term at `position`, counted from 1.

        >>> import z3950
        >>> from z3950.testing import Server
        >>> with Server() as server, z3950.connect(server.target) as cat:
        ...     [(term.term, term.count) for term in cat.scan("au:tolstoy", size=1)]
        [('tolstoy', 2)]
        """
        terms: list[ScanTerm] = self._native.scan(as_query(query), as_count("size", size), as_count("position", position)).wait()
        return terms

    def get(self, docid: str | bytes) -> Record:
        """The one record with a docid."""
        record: Record = self._native.get(as_docid(docid)).wait()
        return record

    def lookup(self, identifier: str) -> Answer:
        """Looks up an identifier: `isbn:`, `issn:`, `lccn:`, `oclc:`, `local:`, `docid:`, or a number whose form tells its kind. The usual
        searches for it are tried in turn."""
        answer: Answer = self._native.lookup(identifier).wait()
        return answer

    def update(self, records: MarcLike | Iterable[MarcLike], *, action: str = "insert") -> TaskResult:
        """Inserts, replaces or deletes records: `action` is `insert`, `replace` or `delete`. It is sent once: after an `Unavailable` the
        server may or may not have carried it out."""
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
        sent once."""
        found = as_hits(hits)
        position, _, _ = wanted(index, found.count)
        result: TaskResult = self._native.order(found, position, name, phone, email).wait()
        return result

    def explain(self, category: str = "TargetInfo") -> list[Any]:
        """What the server says about itself: the records of a category of its Explain database, such as `TargetInfo` or `DatabaseInfo`, as
        dicts. A server of SRU has one `Description`."""
        records: list[Any] = self._native.explain(category).wait()
        return records

    def close(self) -> None:
        """Ends the session. Requests in progress fail with `Unavailable`, and result sets cannot be read after that."""
        self._native.close().wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Connection {self.target}{' (closed)' if self._native.is_closed else ''}>"


class ResultSet(Fixed):
    """What a search found. Records are numbered from 0 and fetched as they are read.

    Iteration and `hits[:100]` fetch many records with a request. So does `hits[i]` in a loop with ascending `i`: the record after those
    fetched last brings 20, which are kept until others are fetched or the set is sorted. A slice with a step fetches all records between.

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
        """Whether the server only estimates how many records there are. Iteration gives all that there are."""
        return self._native.is_estimate

    @property
    def facets(self) -> dict[str, dict[str, int]]:
        """For each of the facets asked for, the terms and how many of the records have them. A server may leave some out."""
        return {name: dict(terms) for name, terms in self._native.facets}

    @property
    def sources(self) -> list[SearchSource]:
        """Where the records come from, if the server reports several sources, and which of these failed."""
        return self._native.sources

    @property
    def remarks(self) -> list[str]:
        """What the server remarks on the search, in words for people."""
        return self._native.remarks

    def sort(self, *keys: str) -> None:
        """Sorts the records at the server: `title`, `date:desc`, or attributes as in `1=31:desc`, the most important first."""
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
        """The records in order. An error in the place of a record, which is a `Diagnostic` or a `DamagedRecord`, is raised; the next call
        goes on after it, but a `for` loop has ended. With `errors="skip"` such records are left out, and with `errors="yield"` the
        exception is in the place of the record. Other errors, such as `Unavailable`, are raised in any case.

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
    """The records of a result set in order. A `Diagnostic` or `DamagedRecord` in the place of a record is raised, and the record after
    it follows. After an `Unavailable`, such as a `Timeout`, the next call requests the records from there on again.

    One thread reads it at a time; another one gets an `Error`. Each thread can iterate over the result set by itself.
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
