"""The asyncio version of this package. Cancelling a task cancels its request, and the session stays open.

>>> import asyncio
>>> from z3950 import aio
>>> from z3950.testing import Server
>>> async def main(target):
...     async with aio.connect(target) as cat:
...         hits = await cat.search("au:tolstoy")
...         async for record in hits:
...             print(record.title)
>>> with Server() as server:
...     asyncio.run(main(server.target))
Anna Karenin
War and peace : a novel
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

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
    lookups,
    records_of,
    wanted,
)
from ._errors import Error
from ._z3950 import Answer, Event, Query, Record, ScanTerm, SearchSource, TaskResult

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from os import PathLike
    from types import TracebackType

    from typing_extensions import Self

    from ._types import MarcLike

__all__ = ["Connection", "Records", "ResultSet", "connect", "find", "get", "lookup"]


async def _result(request: native.Request) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: object, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def done(result: object, error: BaseException | None) -> None:
        # The event loop may have been closed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, result, error)

    started = request.start(done)
    try:
        return await future
    finally:
        started.cancel()


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
) -> _Connecting:
    """Connects to a target: `async with connect(…) as cat`, or `cat = await connect(…)`. See `z3950.connect`."""
    return _Connecting(target, as_options(locals()))


async def get(
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
    """Returns the one record that a retrieval URL names. See `z3950.get`."""
    record: Record = await _result(native.get(url, as_options(locals())))
    return record


async def lookup(
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
) -> AsyncIterator[Answer]:
    """Looks up identifiers, `jobs` at a time. See `z3950.lookup`."""
    asked, begun = as_options(locals()), deque[asyncio.Task[Answer]]()
    targets = as_targets(target, asked)
    check_lookups(identifiers, jobs, fallback=fallback, best=best, all_targets=all_targets)

    async def answer(identifier: str, request: native.Request | Exception) -> Answer:
        if isinstance(request, Exception):
            raise request
        try:
            found: Answer = await _result(request)
            return found
        except Error as error:
            return Answer(identifier, error=error)

    try:
        for identifier, request in lookups(targets, identifiers, asked, fallback, best, all_targets):
            begun.append(asyncio.create_task(answer(identifier, request)))
            if len(begun) == jobs:
                yield await begun.popleft()
        while begun:
            yield await begun.popleft()
    finally:
        for task in begun:
            task.cancel()


async def find(
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
) -> AsyncIterator[Event]:
    """Searches one or more targets, and yields events as they arrive. See `z3950.find`."""
    events = begin_find(locals())
    try:
        while (event := await _result(events.next())) is not None:
            yield event
    finally:
        events.close()


class _Connecting:
    def __init__(self, target: str, options: native.Options) -> None:
        self._request = native.connect(target, options)
        self._connection: Connection | None = None

    async def _connect(self) -> Connection:
        return Connection(await _result(self._request))

    def __await__(self) -> Generator[Any, None, Connection]:
        return self._connect().__await__()

    async def __aenter__(self) -> Connection:
        self._connection = await self
        return self._connection

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._connection is not None:
            await self._connection.close()


class Connection(Fixed):
    """A connection to a target, made by `connect`. Tasks may share it."""

    __slots__ = ("__weakref__", "_native", "_target")

    def __init__(self, connection: native.Connection) -> None:
        self._native = connection
        self._target = connection.target

    @property
    def target(self) -> str:
        """The server and its databases."""
        return self._target

    def within(self, seconds: float) -> Connection:
        """Returns the same connection with a time limit for each call as a whole. See `z3950.Connection.within`."""
        return Connection(self._native.within(as_seconds("seconds", seconds)))

    async def search(self, query: Query | str, *, first: int = 0, facets: Iterable[str] | Mapping[str, int] = ()) -> ResultSet:
        """Searches the target. See `z3950.Connection.search`."""
        return ResultSet(await _result(self._native.search(as_query(query), as_count("first", first), as_facets(facets))))

    async def scan(self, query: Query | str, *, size: int = 20, position: int = 1) -> list[ScanTerm]:
        """Lists terms of an index. See `z3950.Connection.scan`."""
        terms: list[ScanTerm] = await _result(self._native.scan(as_query(query), as_count("size", size), as_count("position", position)))
        return terms

    async def get(self, docid: str | bytes) -> Record:
        """Returns the one record with a docid."""
        record: Record = await _result(self._native.get(as_docid(docid)))
        return record

    async def lookup(self, identifier: str) -> Answer:
        """Looks up an identifier. See `z3950.Connection.lookup`."""
        answer: Answer = await _result(self._native.lookup(identifier))
        return answer

    async def update(self, records: MarcLike | Iterable[MarcLike], *, action: str = "insert") -> TaskResult:
        """Inserts, replaces or deletes records. See `z3950.Connection.update`."""
        result: TaskResult = await _result(self._native.update(action, as_records(records)))
        return result

    async def order(
        self,
        hits: ResultSet,
        index: int = 0,
        *,
        name: str | None = None,
        phone: str | None = None,
        email: str | None = None,
    ) -> TaskResult:
        """Orders a record of a result set. See `z3950.Connection.order`."""
        found = as_hits(hits)
        position, _, _ = wanted(index, found.count)
        result: TaskResult = await _result(self._native.order(found, position, name, phone, email))
        return result

    async def explain(self, category: str = "TargetInfo") -> list[Any]:
        """Returns what the server says about itself. See `z3950.Connection.explain`."""
        records: list[Any] = await _result(self._native.explain(category))
        return records

    async def close(self) -> None:
        """Ends the session. See `z3950.Connection.close`."""
        await _result(self._native.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Connection {self.target}{' (closed)' if self._native.is_closed else ''}>"


class ResultSet(Fixed):
    """The records found by a search: `len(hits)`, `await hits[0]`, `await hits[:10]`, `async for record in hits`."""

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

    async def sort(self, *keys: str) -> None:
        """Sorts the records at the server. See `z3950.ResultSet.sort`."""
        await _result(self._native.sort(as_keys(keys)))

    def __len__(self) -> int:
        return self._native.count

    @overload
    def __getitem__(self, index: int) -> Coroutine[Any, Any, Record]: ...

    @overload
    def __getitem__(self, index: slice) -> Coroutine[Any, Any, list[Record]]: ...

    def __getitem__(self, index: int | slice) -> Coroutine[Any, Any, Any]:
        first, size, step = wanted(index, len(self))

        async def fetch() -> Record | list[Record]:
            if isinstance(index, slice):
                return records_of(await _result(self._native.range(first, size)), size, step) if size else []
            return found_at(index, await _result(self._native.record(first)), len(self))

        return fetch()

    def __iter__(self) -> NoReturn:
        # Without this, Python would iterate with `hits[0]`, `hits[1]` and so on, which return awaitables.
        raise TypeError("the records of asyncio are read with `async for`")

    @overload
    def records(self, errors: Literal["raise", "skip"] = "raise") -> AsyncIterator[Record]: ...

    @overload
    def records(self, errors: Literal["yield"]) -> AsyncIterator[Record | Error]: ...

    def records(self, errors: Literal["raise", "skip", "yield"] = "raise") -> AsyncIterator[Record | Error]:
        """Iterates over the records in order, with `async for`; `errors` says how to treat an error in place of a record. See
        `z3950.ResultSet.records`."""
        return Records(self._native, errors)

    def __aiter__(self) -> Records:
        return Records(self._native)

    def __repr__(self) -> str:
        return f"<ResultSet of {counted(len(self), 'record')}>"


class Records(Fixed):
    """An iterator over the records of a result set, in order. A `Diagnostic` or `DamagedRecord` in place of a record is raised, and the
    next call continues with the record after it. After an `Unavailable`, such as a `Timeout`, the next call requests the records from that
    position again.

    Tasks may share the iterator: each call returns the next record.
    """

    __slots__ = ("__weakref__", "_lock", "_native", "_pages")

    def __init__(self, hits: native.ResultSet, errors: str = "raise") -> None:
        self._native = hits
        self._pages = Pages(errors)
        self._lock = asyncio.Lock()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Record:
        async with self._lock:
            while (record := self._pages.take()) is None:
                if (page := self._pages.next_range()) is None:
                    raise StopAsyncIteration
                self._pages.add(await _result(self._native.range(*page)))
            found: Record = record
            return found
