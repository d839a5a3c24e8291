"""Code shared by the blocking and the asyncio classes."""

from __future__ import annotations

from . import _z3950 as native
from ._errors import BadQuery, DamagedRecord, Diagnostic, Error, Unavailable
from ._z3950 import Query, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from ._types import MarcLike

#: The number of records in the first request of an iteration, and in each later one.
FIRST_PAGE, PAGE = 20, 200

#: The maximum number of consecutive answers without a record that an iteration with `errors="skip"` accepts before it raises an error.
BARREN = 2

#: The Bib-1 condition for a request for records beyond the end of the result set.
OUT_OF_RANGE = 13

#: The largest number that can be sent.
MOST = 2**63 - 1

#: The options in `ConnectOptions`, with the names of their types. They are repeated here so that `_types` need not be imported.
OPTIONS: dict[str, tuple[str, ...]] = {
    "timeout": ("float", "int", "None"),
    **dict.fromkeys(("user", "password", "group", "syntax", "elements", "charset", "query_charset", "proxy"), ("str", "None")),
    **dict.fromkeys(("holdings", "insecure"), ("bool",)),
    "chunk": ("int", "None"),
    "profile": ("str", "Mapping", "None"),
    **dict.fromkeys(("ca_file", "certificate", "key"), ("str", "PathLike", "bytes", "None")),
}

#: The types in `OPTIONS` that `isinstance` checks, by name.
KINDS = {"float": float, "int": int, "str": str, "bool": bool, "bytes": bytes}

#: The default maximum number of terms of a facet.
TERMS = 10

#: The keywords with which a query in PQF begins, unless it is a plain term.
PQF = ("@attr", "@and", "@or", "@not", "@prox", "@set", "@term")

#: The names of settings in other libraries, in lower case, with the corresponding names in this one.
ELSEWHERE = {
    "preferredrecordsyntax": "syntax",
    "recordsyntax": "syntax",
    "elementsetname": "elements",
    "elementset": "elements",
    "groupid": "group",
    "userid": "user",
    "cclqual": "profile",
    "presentchunk": "chunk",
}


class Fixed:
    """A base class for objects that only accept the attributes defined by their class."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            plain = name.replace("_", "").lower()
            setting = next((known for known in OPTIONS if known.replace("_", "") == plain), ELSEWHERE.get(plain))
            hint = f"give {setting}= to connect" if setting else "it has the attributes of its class alone"
            raise AttributeError(f"{name!r} of a {type(self).__name__} cannot be set: {hint}") from None


def as_query(query: Query | str) -> Query:
    """Converts an argument to a query. A plain string is parsed as words; its query language is never guessed."""
    if isinstance(query, str):
        if query.lstrip().startswith(PQF):
            raise BadQuery(f"this is PQF, and a plain string is words: write Query.pqf({query!r})", 0)
        return Query.words(query)
    if isinstance(query, Query):
        return query
    raise TypeError(f"a query is a str or a z3950.Query, not {type(query).__name__}")


def as_options(arguments: Mapping[str, Any]) -> native.Options:
    """Checks the connection options among the arguments of a function, and returns them."""
    options = {name: arguments[name] for name in OPTIONS}
    for name, value in options.items():
        kinds = OPTIONS[name]
        if not any(is_a(kind, value) for kind in kinds):
            raise TypeError(f"{name} is {' | '.join(kinds)}, not {type(value).__name__}")
    if options["profile"] is not None and not isinstance(options["profile"], str):
        options["profile"] = dict(options["profile"])
    return native.Options(**options)


def is_a(kind: str, value: object) -> bool:
    """Returns whether a value has the type with this name. `True` and `False` do not count as numbers."""
    if kind == "PathLike":
        return hasattr(value, "__fspath__")
    if kind == "Mapping":
        return hasattr(value, "keys") and hasattr(value, "__getitem__")
    return (
        type(value).__name__ == "NoneType"
        if kind == "None"
        else isinstance(value, KINDS[kind]) and (kind == "bool") == isinstance(value, bool)
    )


def as_facets(facets: Iterable[str] | Mapping[str, int]) -> list[tuple[str, int]]:
    """Converts an argument to a list of facets, each with its maximum number of terms."""
    if isinstance(facets, str):
        raise TypeError(f"facets is a list of fields: write facets=[{facets!r}]")
    numbered = facets.items() if hasattr(facets, "items") else [(name, TERMS) for name in facets]
    for name, limit in numbered:
        if not isinstance(name, str):
            raise TypeError(f"a facet is a str, not {type(name).__name__}")
        as_count(f"the number of terms of {name}", limit, least=1)
    return list(numbered)


def as_count(name: str, number: int, least: int = 0) -> int:
    """Checks a number of records, terms or lookups, and returns it."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"{name} is an int, not {type(number).__name__}")
    if number < least:
        raise ValueError(f"{name} is at least {least}, not {number}")
    if number > MOST:
        raise ValueError(f"{name} is at most {MOST}, not {number}")
    return number


def as_seconds(name: str, seconds: float) -> float:
    """Checks a number of seconds, and returns it."""
    if not is_a("float", seconds) and not is_a("int", seconds):
        raise TypeError(f"{name} is a float or an int, not {type(seconds).__name__}")
    return seconds


def as_docid(docid: str | bytes) -> bytes:
    """Converts an argument to a docid. Bytes are sent unchanged."""
    if isinstance(docid, (str, bytes)):
        if not docid:
            raise BadQuery("the docid is empty")
        return docid.encode() if isinstance(docid, str) else docid
    raise TypeError(f"a docid is a str or bytes, not {type(docid).__name__}")


def as_hits(hits: object) -> native.ResultSet:
    """Returns the native object that a result set wraps."""
    found = getattr(hits, "_native", None)
    if isinstance(found, native.ResultSet):
        return found
    raise TypeError(f"hits is a z3950.ResultSet, not {type(hits).__name__}")


def as_keys(keys: tuple[str, ...]) -> list[str]:
    """Checks that all sort keys are strings, and returns them as a list."""
    for key in keys:
        if not isinstance(key, str):
            raise TypeError(f"a key is a str, not {type(key).__name__}: write sort('title', 'date:desc')")
    return list(keys)


def as_octets(record: MarcLike) -> bytes:
    """Converts a record to octets that `native.Reader` can read."""
    from collections.abc import Mapping

    if isinstance(record, Record):
        if (octets := record.marc) is None:
            raise TypeError("the record is not one of MARC")
        return octets
    if isinstance(record, Mapping):
        import json

        return json.dumps(dict(record)).encode()
    if isinstance(record, (bytes, bytearray, memoryview)):
        return bytes(record)
    if hasattr(record, "as_marc"):
        octets = record.as_marc()
        # A str would be treated as the path of a file.
        if not isinstance(octets, bytes):
            raise TypeError(f"as_marc() of a {type(record).__name__} gives bytes, not {type(octets).__name__}")
        return octets
    raise TypeError(f"a record is a z3950.Record, a pymarc.Record, a dict or bytes, not {type(record).__name__}")


def as_records(records: MarcLike | Iterable[MarcLike]) -> list[Record]:
    """Returns the records of an update as a list, given one record or several."""
    if not (found := list(each_record(records))):
        raise ValueError("there is no record to update")
    return found


def each_record(records: MarcLike | Iterable[MarcLike]) -> EachRecord:
    """Iterates over the records in one object, or in each of several objects. A single object may itself be iterable, such as a dict."""
    from collections.abc import Mapping

    if isinstance(records, (Record, Mapping, bytes, bytearray, memoryview)) or hasattr(records, "as_marc"):
        records = [records]  # type: ignore[list-item]
    return EachRecord(records)


class EachRecord:
    """An iterator over the records in several objects, in order. It can be continued after it has raised an exception."""

    def __init__(self, records: Iterable[MarcLike]) -> None:
        self._given = iter(records)
        self._read: Iterator[Record] = iter(())

    def __iter__(self) -> Iterator[Record]:
        return self

    def __next__(self) -> Record:
        while True:
            for record in self._read:
                return record
            given = next(self._given)
            self._read = iter((given,)) if isinstance(given, Record) else native.Reader(as_octets(given), None, None, "strict")


def counted(number: int, noun: str) -> str:
    """Formats a number with its noun: `1 record`, `2 records`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def as_targets(target: str | Iterable[str], options: native.Options) -> list[str]:
    """Checks one target or several, and returns them as a list."""
    targets = [target] if isinstance(target, str) else list(target)
    if not targets:
        raise ValueError("there is no target to ask")
    for one in targets:
        if not isinstance(one, str):
            raise TypeError(f"a target is a str, not {type(one).__name__}")
    native.check_targets(targets, options)
    return targets


def check_lookups(identifiers: Iterable[str], jobs: int, **flags: bool) -> None:
    """Checks the types of the identifiers, of the number of concurrent lookups, and of the flags."""
    if isinstance(identifiers, (str, bytes)):
        raise TypeError("identifiers is a list of str; for a single one, there is Connection.lookup")
    as_count("jobs", jobs, least=1)
    check_flags(flags)


def check_flags(flags: Mapping[str, object]) -> None:
    """Checks that all values are booleans."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} is a bool, not {type(flag).__name__}")


def begin_find(arguments: Mapping[str, Any]) -> native.Events:
    """Begins a search with the arguments of `find`, and returns its events."""
    options = as_options(arguments)
    what, count = arguments["what"], as_count("count", arguments["count"])
    if not isinstance(what, (str, Query)):
        raise TypeError(f"what is a str, which is an identifier, or a z3950.Query, not {type(what).__name__}")
    flags = {name: arguments[name] for name in ("fallback", "best", "all_targets")}
    check_flags(flags)
    return native.find(as_targets(arguments["targets"], options), what, options, **flags, count=count)


def lookups(
    targets: list[str], identifiers: Iterable[str], options: native.Options, *flags: bool
) -> Iterator[tuple[str, native.Request | Exception]]:
    """Yields each identifier with the request that looks it up. If this fails, for instance because iterating over `identifiers` raises an
    exception, the exception is yielded as the last item, so that earlier lookups are still answered."""
    try:
        for identifier in identifiers:
            yield identifier, native.lookup(targets, identifier, options, *flags)
    except Exception as error:
        yield "", error


def wanted(index: int | slice, length: int) -> tuple[int, int, int]:
    """Returns the range of positions that a Python index selects: its first position, counted from 1, its size, and the step."""
    if isinstance(index, slice):
        positions = range(length)[index]
        if not positions:
            return 1, 0, 1
        low, high = sorted((positions[0], positions[-1]))
        return low + 1, high - low + 1, positions.step
    if not hasattr(index, "__index__"):
        raise TypeError(f"an index is an int or a slice, not {type(index).__name__}")
    try:
        return range(length)[index] + 1, 1, 1
    except IndexError:
        raise IndexError(f"there is no record {index}: the result set has {length}") from None


def records_of(page: list[Record | Error], size: int, step: int) -> list[Record]:
    """Returns every `step`-th record of a page, from its end if `step` is negative; raises the error if one of them is an error instead.

    The page has `size` slots. It has fewer if an error ended it, which is then in the last slot, or if the server overestimated the number
    of records.
    """
    if 0 < len(page) < size:
        record_of(page[-1])
    return [record_of(page[place]) for place in range(size)[::step] if place < len(page)]


def found_at(index: int, record: Record | None, length: int) -> Record:
    """Returns the record found at an index; raises `IndexError` if there is none because the server overestimated the number of records."""
    if record is None:
        raise IndexError(f"there is no record {index}: the server has fewer than the {length} that it estimated")
    return record


def record_of(slot: Record | Error) -> Record:
    """Returns the record in a slot, or raises the error that the slot contains instead."""
    if isinstance(slot, Error):
        raise slot
    return slot


class Pages:
    """The state of an iteration over a result set: the range to request next, and the records received."""

    __slots__ = ("_barren", "_errors", "_has_ended", "_next", "_size", "_slots")

    def __init__(self, errors: str) -> None:
        if errors not in ("raise", "skip", "yield"):
            raise ValueError(f"errors is 'raise', 'skip' or 'yield', not {errors!r}")
        self._errors = errors
        self._next = 1
        self._size = FIRST_PAGE
        self._slots: Iterator[Record | Error] = iter(())
        self._has_ended = False
        #: The number of answers since the last one that contained a record.
        self._barren = 0

    def next_range(self) -> tuple[int, int] | None:
        """Returns the first position, counted from 1, and the number of records of the next request; `None` at the end."""
        return None if self._has_ended else (self._next, self._size)

    def add(self, page: list[Record | Error]) -> None:
        """Stores the records of an answer, and the errors in place of records."""
        self._size = PAGE
        self._slots = iter(page)
        self._has_ended = not page
        self._barren = self._barren + 1 if all(isinstance(slot, Error) for slot in page) else 0

    def take(self) -> Any:
        """Returns the next record received; `None` if there is none, so that more must be requested. An error in place of a record is
        raised, skipped or returned, depending on `errors`, and the next call continues with the record after it. An `Unavailable` is always
        raised, and the records from its position on are requested again. Any other error is raised and ends the iteration, and so does a
        diagnostic that there are no more records."""
        for slot in self._slots:
            if isinstance(slot, Unavailable):
                raise slot
            self._next += 1
            if isinstance(slot, Error):
                self._has_ended |= not is_of_one_record(slot)
                if self._has_ended or self._errors == "raise":
                    raise slot
                if self._errors == "skip":
                    if self._barren > BARREN:
                        raise slot
                    continue
            return slot
        return None


def is_of_one_record(error: Error) -> bool:
    """Returns whether an error concerns only one record, so that the records after it can be read."""
    return isinstance(error, DamagedRecord) or (isinstance(error, Diagnostic) and error.condition != OUT_OF_RANGE)


def hits_in_html(length: int, slots: list[Record | Error]) -> str:
    """Returns the first records as an HTML table for notebooks, with an error message in place of each record that failed."""
    from html import escape

    cells = [(str(slot), "") if isinstance(slot, Error) else (slot.title or "", slot.syntax or "") for slot in slots]
    rows = "".join(
        f"<tr><td>{number}</td><td>{escape(title)}</td><td>{escape(syntax)}</td></tr>" for number, (title, syntax) in enumerate(cells)
    )
    return f"<p>{counted(length, 'record')}</p><table><tr><th></th><th>title</th><th>syntax</th></tr>{rows}</table>"
