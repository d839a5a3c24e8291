"""Tests of servers for the records of a Python program."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pymarc
import pytest
import z3950
from conftest import MakeServer, start
from z3950.testing import Server

TLS = Path(__file__).parent / "tls"

EMMA = {"leader": "00000nam a2200000 a 4500", "fields": [{"001": "id7"}, {"245": {"ind1": "1", "ind2": "0", "subfields": [{"a": "Emma"}]}}]}


class Books:
    """Finds the same keys for every query, and returns the same records for them."""

    databases: Any = ("books",)

    def __init__(self, found: Any = ("id7",), record: Any = EMMA, terms: Any = ()) -> None:
        self.found, self.given, self.terms = found, record, terms
        self.queries: list[z3950.Query] = []
        self.requests: list[z3950.Request] = []

    def search(self, query: z3950.Query, request: z3950.Request) -> Any:
        self.queries.append(query)
        self.requests.append(request)
        return answer(self.found)

    def record(self, key: Any, request: z3950.Request) -> Any:
        self.requests.append(request)
        return answer(self.given, key)

    def scan(self, query: z3950.Query, request: z3950.Request) -> Any:
        self.queries.append(query)
        self.requests.append(request)
        return answer(self.terms)


def answer(given: Any, *arguments: Any) -> Any:
    """Returns the answer, raises it if it is an exception, or calls it if it is a function."""
    if isinstance(given, BaseException):
        raise given
    return given(*arguments) if callable(given) else given


def served(make: MakeServer, *given: Any, **others: Any) -> tuple[Books, Server]:
    books = Books(*given, **others)
    return books, make(backend=books)


def test_audit_r_p8_a_backend_is_searched(z3950_server: MakeServer) -> None:
    books, server = served(z3950_server)
    assert server.target.endswith("/books")
    with z3950.connect(server.target, user="ann") as cat:
        hits = cat.search(z3950.Query.title("emma") & z3950.Query.attributes([(1, 1003), (5, 1)], "aus"))
        assert [record.title for record in hits] == ["Emma"]
    [query] = books.queries
    assert query.operator == "and"
    left, right = query.operands
    assert (left.index_name, left.term, left.operator, left.operands) == ("title", "emma", None, [])
    assert (right.index_name, right.term, right.attribute_values) == ("author", "aus", {1: 1003, 5: 1})
    assert (query.term, query.index_name, query.attribute_values) == (None, None, {})
    search, record = books.requests
    assert (search.databases, search.address, search.syntax) == (["books"], "127.0.0.1", None)
    assert (record.databases, record.syntax, record.elements) == (["books"], "usmarc", "F")
    assert "books" in repr(search)


@pytest.mark.parametrize(
    ("found", "count"),
    [
        ([], 0),
        (["a", "b"], 2),
        ({3, 1, 2}, 3),
        ({"a": 1}, 1),
        (range(1_000_000), 1_000_000),
        (lambda: (number for number in range(30)), 30),
        (((1, "composite"), (2, "keys")), 2),
    ],
)
def test_audit_r_p8_keys_are_anything(z3950_server: MakeServer, found: Any, count: int) -> None:
    seen: list[Any] = []

    def record(key: Any) -> Any:
        seen.append(key)
        return EMMA

    _, server = served(z3950_server, found, record)
    with z3950.connect(server.target) as cat:
        hits = cat.search("x")
        assert len(hits) == count
        if count:
            assert hits[-1].title == "Emma"
    assert len(seen) == min(count, 1)


@pytest.mark.parametrize(
    "record",
    [EMMA, z3950.read(b"=LDR  00000nam a2200000 a 4500\n=001  id7\n=245  10$aEmma\n"), "marc", "marcxml", "pymarc"],
    ids=["json", "record", "marc", "marcxml", "pymarc"],
)
@pytest.mark.parametrize("syntax", ["usmarc", "xml", "sutrs", "opac", "grs-1"])
def test_audit_r_p8_marc_comes_in_every_syntax(z3950_server: MakeServer, record: Any, syntax: str) -> None:
    [made] = z3950.read(b"=LDR  00000nam a2200000 a 4500\n=001  id7\n=245  10$aEmma\n")
    forms: dict[str, Any] = {"marc": made.marc, "marcxml": (made.marcxml or "").encode(), "pymarc": made.pymarc()}
    given = forms.get(record) if isinstance(record, str) else record if isinstance(record, dict) else made
    _, server = served(z3950_server, record=given)
    with z3950.connect(server.target, syntax=syntax) as cat:
        found = cat.search("x")[0]
        assert found.syntax == syntax
        assert "Emma" in found.text


def test_audit_r_p8_text_and_xml_are_sent_as_they_are(z3950_server: MakeServer) -> None:
    for text, syntax in [("Emma, by Jané Austen\n", "sutrs"), ("<book><title>Emma</title></book>", "xml")]:
        _, server = served(z3950_server, record=text)
        with z3950.connect(server.target, syntax=syntax) as cat:
            assert cat.search("x")[0].text.strip() == text.strip()
        with z3950.connect(server.target, syntax="usmarc") as cat, pytest.raises(z3950.Diagnostic) as refused:
            cat.search("x")[0]
        assert refused.value.condition == 238


def test_audit_r_p8_sru_is_served_too(z3950_server: MakeServer) -> None:
    books, server = served(z3950_server)
    with z3950.connect(server.http_url) as cat:
        assert [record.title for record in cat.search("ti:emma")] == ["Emma"]
        [description] = cat.explain()
        assert description.database == "books"
    assert books.queries[0].term == "emma"


@pytest.mark.parametrize(
    ("terms", "start", "expected"),
    [
        (["b", ("a", 3), "c"], "b", [("a", 3), ("b", None), ("c", None)]),
        (["Zebra", "apple"], "m", [("apple", None), ("Zebra", None)]),
        ([], "b", []),
        (lambda: iter([("é", 0)]), "a", [("é", 0)]),
    ],
)
def test_audit_r_p8_indexes_are_scanned(z3950_server: MakeServer, terms: Any, start: str, expected: list[tuple[str, int | None]]) -> None:
    books, server = served(z3950_server, terms=terms)
    with z3950.connect(server.target) as cat:
        found = cat.scan(z3950.Query.title(start), size=3, position=2)
    assert [(term.term, term.count) for term in found] == expected
    assert (books.queries[0].term, books.queries[0].index_name) == (start, "title")
    assert (books.requests[0].before, books.requests[0].after) == (1, 2)


def test_audit_r_p8_what_a_backend_does_not_have_is_refused(z3950_server: MakeServer) -> None:
    class Least:
        def search(self, query: z3950.Query, request: z3950.Request) -> Iterable[int]:
            raise NotImplementedError("proximity")

        def record(self, key: int, request: z3950.Request) -> Any:
            return EMMA

    server = z3950_server(backend=Least())
    assert server.target.endswith("/Default")
    with z3950.connect(server.target) as cat:
        asked: list[tuple[Callable[[], object], int]] = [
            (lambda: cat.scan("x"), 1025),
            (lambda: cat.search("x"), 3),
            (lambda: cat.update(EMMA), 1025),
        ]
        for ask, condition in asked:
            with pytest.raises(z3950.Diagnostic) as refused:
                ask()
            assert refused.value.condition == condition
    with z3950.connect(server.target.replace("Default", "other")) as cat, pytest.raises(z3950.Diagnostic) as refused:
        cat.search("x")
    assert (refused.value.condition, refused.value.addinfo) == (235, "other")


WRONG: list[Any] = [
    ValueError("a secret"),
    KeyboardInterrupt(),
    SystemExit(3),
    GeneratorExit(),
    RecursionError(),
    MemoryError(),
    None,
    5,
    "text",
    b"octets",
    object(),
    Books,
    True,
]


@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_audit_r_p8_a_backend_that_fails_does_not_harm_the_server(
    z3950_server: MakeServer, caplog: pytest.LogCaptureFixture, wrong: Any
) -> None:
    books, server = served(z3950_server, wrong, wrong if wrong not in ("text", Books) else 7, wrong)
    with z3950.connect(server.target) as cat:
        for ask in (lambda: cat.search("x"), lambda: cat.scan("x")):
            with pytest.raises(z3950.Diagnostic) as refused:
                ask()
            assert refused.value.condition == 1
            assert "secret" not in str(refused.value)
        books.found = ["id7", "id8"]
        for slot in cat.search("x").records(errors="yield"):
            assert isinstance(slot, z3950.Diagnostic)
            assert slot.condition == 14
        books.given, books.terms = EMMA, ["x"]
        # The session continues.
        assert cat.search("x")[0].title == "Emma"
        assert [term.term for term in cat.scan("x")] == ["x"]
    assert [entry["apdu"] for entry in server.apdus].count("initRequest") == 1
    assert "the backend Books has failed" in caplog.text


def test_audit_r_p8_odd_answers_are_refused(z3950_server: MakeServer) -> None:
    async def coroutine() -> list[int]:
        return []

    class Endless:
        def __len__(self) -> int:
            return 2**40

        def __getitem__(self, index: int) -> int:
            return index

    class Lies(Endless):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> int:
            raise IndexError(index)

    for found in (coroutine, Endless(), lambda: iter([1, 1 / 0])):
        _, server = served(z3950_server, found)
        with z3950.connect(server.target) as cat, pytest.raises(z3950.Diagnostic) as refused:
            cat.search("x")
        assert refused.value.condition == 1
    _, server = served(z3950_server, Lies())
    with z3950.connect(server.target) as cat:
        assert [type(slot) for slot in cat.search("x").records(errors="yield")] == [z3950.Diagnostic] * 3
    for terms in ([("a", -1)], [("a", "b")], [1], [("a", True)]):
        _, server = served(z3950_server, terms=terms)
        with z3950.connect(server.target) as cat, pytest.raises(z3950.Diagnostic):
            cat.scan("x")


def test_audit_r_p8_diagnostics_reach_the_client(z3950_server: MakeServer, caplog: pytest.LogCaptureFixture) -> None:
    told = z3950.Diagnostic("no such index", 114, "9999")
    _, server = served(z3950_server, told, told, told)
    with z3950.connect(server.target) as cat:
        for ask in (lambda: cat.search("x"), lambda: cat.scan("x")):
            with pytest.raises(z3950.Diagnostic) as refused:
                ask()
            assert (refused.value.condition, refused.value.addinfo) == (114, "9999")
    assert caplog.text == ""


class Members(Books):
    """Admits one user."""

    def __init__(self, admits: Any = None) -> None:
        super().__init__()
        self.logins: list[z3950.Login] = []
        self.admits = admits

    def authenticate(self, login: z3950.Login) -> Any:
        self.logins.append(login)
        if self.admits is None:
            return (login.user, login.password) == ("ann", "pässword")
        return answer(self.admits, login)


def refusal_of(target: str, **login: Any) -> int | None:
    with pytest.raises(z3950.Diagnostic) as refused, z3950.connect(target, **login) as cat:
        cat.search("x")
    return refused.value.condition


def test_audit_r_p8_a_backend_admits_users(z3950_server: MakeServer) -> None:
    members = Members()
    server = z3950_server(backend=members)
    for target in (server.target, server.http_url):
        with z3950.connect(target, user="ann", password="pässword") as cat:
            assert [record.title for record in cat.search("x")] == ["Emma"]
        assert {request.user for request in members.requests} == {"ann"}
        assert members.logins[-1].address == "127.0.0.1"
        assert (repr(members.logins[-1]), members.logins[-1].group) == ("<Login of ann>", None)
        members.requests.clear()
    assert refusal_of(server.target, user="ann", password="wrong") == 1011
    with z3950.connect(server.target, user="ann", password="pässword", group="staff"):
        assert members.logins[-1].group == "staff"
    asked = len(members.logins)
    assert refusal_of(server.target) == 1010
    assert len(members.logins) == asked
    assert members.requests == []


@pytest.mark.parametrize(
    ("admits", "condition"),
    [
        (z3950.Diagnostic("expired", 1013), 1013),
        (ValueError("a secret"), 1014),
        (KeyboardInterrupt(), 1014),
        (1, 1014),
        ("yes", 1014),
        (Books, 1014),
    ],
    ids=repr,
)
def test_audit_r_p8_who_cannot_be_checked_is_not_admitted(z3950_server: MakeServer, admits: Any, condition: int) -> None:
    server = z3950_server(backend=Members(admits))
    assert refusal_of(server.target, user="ann", password="pässword") == condition


def test_audit_r_p8_a_backend_with_users_takes_no_list_of_users() -> None:
    with pytest.raises(TypeError, match="users cannot be given"):
        Server(backend=Members(), users={"ann": "x"})


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        (object(), "object has no search"),
        (Books, r"an object, not a class: write Books\(\)"),
        (type("B", (Books,), {"databases": "books"})(), "databases of a backend are a list"),
        (type("B", (Books,), {"databases": [1]})(), "a database has a name"),
        (type("B", (Books,), {"databases": []})(), "at least one database"),
    ],
)
def test_audit_r_p8_what_is_no_backend_is_refused_at_once(backend: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        Server(backend=backend)
    with pytest.raises((TypeError, ValueError), match=words):
        z3950.serve(backend, port=0)


def test_audit_r_p8_sessions_are_served_side_by_side(z3950_server: MakeServer) -> None:
    both = threading.Barrier(2)

    def meet() -> list[str]:
        both.wait(timeout=30)
        return ["id7"]

    _, server = served(z3950_server, meet)
    counts: list[int] = []

    def search() -> None:
        with z3950.connect(server.target) as cat:
            counts.append(len(cat.search("x")))

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [1, 1]


def test_audit_r_p8_pymarc_records_keep_their_text(z3950_server: MakeServer) -> None:
    record = pymarc.Record(force_utf8=True)
    record.add_field(  # type: ignore[no-untyped-call]
        pymarc.Field("245", pymarc.Indicators("1", "0"), [pymarc.Subfield("a", "Jané")])
    )
    _, server = served(z3950_server, record=record)
    with z3950.connect(server.target) as cat:
        assert cat.search("x")[0]["245"]["a"] == "Jané"


SCRIPT = """
    import subprocess, sys, threading
    from z3950.testing import Server

    begun, go = threading.Event(), threading.Event()

    class Slow:
        def search(self, query, request):
            begun.set()
            go.wait()
            return []

        def record(self, key, request):
            return None

    server = Server(backend=Slow())
    search = f"import z3950; z3950.connect('{server.target}').search('x')"
    subprocess.Popen([sys.executable, "-c", search], stderr=subprocess.DEVNULL)
    begun.wait()
    timer = threading.Timer(0.2, go.set)
    timer.daemon = True
    timer.start()
"""


def test_audit_r_p8_python_exits_while_a_backend_is_called() -> None:
    process = start(SCRIPT)
    said, _ = process.communicate()
    assert process.returncode == 0, said


def test_audit_r_p8_a_server_stops_while_its_backend_is_called(z3950_server: MakeServer) -> None:
    begun, go = threading.Event(), threading.Event()

    def wait() -> list[str]:
        begun.set()
        go.wait()
        return []

    _, server = served(z3950_server, wait)
    cat = z3950.connect(server.target)
    failed: list[Exception] = []

    def search() -> None:
        try:
            cat.search("x")
        except z3950.Error as error:
            failed.append(error)

    thread = threading.Thread(target=search)
    thread.start()
    begun.wait()
    server.stop()
    go.set()
    thread.join()
    assert len(failed) == 1


def test_audit_r_p8_serve_goes_on_until_it_is_interrupted() -> None:
    class Stop(Exception):
        pass

    seen: list[str] = []

    def listening(address: str) -> None:
        with z3950.connect(f"{address}/books") as cat:
            seen.extend(record.title or "" for record in cat.search("x"))
        raise Stop

    with pytest.raises(Stop):
        z3950.serve(Books(), port=0, listening=listening)
    assert seen == ["Emma"]
    with Server() as taken, pytest.raises(OSError, match="in use"):
        z3950.serve(Books(), port=int(taken.target.split(":")[1].split("/")[0]))


def test_issue_48_async_methods_are_refused_in_plain_words(z3950_server: MakeServer, caplog: pytest.LogCaptureFixture) -> None:
    class Async(Books):
        async def search(self, query: z3950.Query, request: z3950.Request) -> list[str]:
            return []

    server = z3950_server(backend=Async())
    with z3950.connect(server.target) as cat, pytest.raises(z3950.Diagnostic):
        cat.search("x")
    assert "search of a backend must not be async" in caplog.text


def test_issue_48_a_backend_is_served_by_tls() -> None:
    class Stop(Exception):
        pass

    seen: list[str] = []

    def listening(address: str) -> None:
        with z3950.connect(f"ssl:{address}/books", ca_file=TLS / "ca.pem") as cat:
            seen.extend(record.title or "" for record in cat.search("x"))
        with z3950.connect(f"https://{address}/books", ca_file=TLS / "ca.pem") as cat:
            seen.append(str(len(cat.search("x"))))
        with pytest.raises(z3950.Error):
            z3950.connect(f"{address}/books")
        raise Stop

    certificate, key = TLS / "server.pem", TLS / "server-key.pem"
    both = certificate.read_text() + key.read_text()
    given: list[dict[str, Any]] = [{"certificate": certificate, "key": key}, {"certificate": both}, {"certificate": both.encode()}]
    for pem in given:
        with pytest.raises(Stop):
            z3950.serve(Books(), port=0, listening=listening, **pem)
    assert seen == ["Emma", "1"] * 3
    with pytest.raises(TypeError, match="key is given with certificate"):
        z3950.serve(Books(), port=0, key=key)
    with pytest.raises(ValueError, match="does not belong to the certificate"):
        z3950.serve(Books(), port=0, certificate=TLS / "ca.pem", key=key)


#: Lets mypy check that the methods of a backend match the protocol.
_: Callable[..., None] = z3950.serve
