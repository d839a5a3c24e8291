"""Values are copied, pickled, compared and described."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import weakref
from typing import Any

import pytest
import z3950
from conftest import MakeServer
from z3950 import aio, testing, url
from z3950.testing import Server

QUERIES = [
    z3950.Query.any("war"),
    z3950.Query.title('a "quoted" \\ term é'),
    z3950.Query.docid("id7"),
    z3950.Query.index("callnumber", "PR4034"),
    z3950.Query.attributes([(1, 4), (5, 1)], "war"),
    z3950.Query.pqf("@attrset util @attr 1=2 x"),
    z3950.Query.title("x") & z3950.Query.pqf("@attrset util @attr 1=2 x"),
    z3950.Query.ccl("ti=(war and peace) or au=tolstoy"),
    z3950.Query.cql("dc.title=war sortby date"),
    z3950.Query.cql("dc.title=war sortby date") & z3950.Query.any("peace") - z3950.Query.cql("dc.creator=x"),
    z3950.Query.words("year:1900-1910"),
]


def values(demo: Server) -> list[Any]:
    with z3950.connect(demo.target, holdings=True) as cat:
        opac = cat.search("ti:emma")[0]
        terms = cat.scan("au:tolstoy", size=2)
    with z3950.connect(demo.target, syntax="xml") as cat:
        xml = cat.search("ti:emma")[0]
    with z3950.connect(demo.target, syntax="grs-1") as cat:
        grs1 = cat.search("ti:emma")[0]
    with z3950.connect(demo.http_url) as cat:
        descriptions = cat.explain()
    [of_file] = z3950.read(b"=LDR  00000nam a2200000 a 4500\n=001  id7\n=245  10$aEmma\n")
    [answer] = z3950.lookup(demo.target, ["isbn:0141439513"])
    secret = url.parse("ftp://ann:secret@lib.example/etc/motd")
    found = url.extract("See <URL:z39.50s://lib.example/cat> and http://lib.example/.")
    return [
        opac,
        xml,
        grs1,
        of_file,
        *answer.records,
        *opac.holdings,
        *terms,
        *descriptions,
        *z3950.targets()[:2],
        secret,
        *found,
        *QUERIES,
    ]


def test_audit_r_p6_values_are_pickled_and_copied(demo: Server) -> None:
    for value in values(demo):
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(value, protocol)) == value, value
        for again in (copy.copy(value), copy.deepcopy(value)):
            assert again == value
            assert hash(again) == hash(value)
            assert repr(again) == repr(value)


def test_audit_r_p6_a_copy_has_everything(demo: Server) -> None:
    for value in values(demo):
        again = pickle.loads(pickle.dumps(value))
        for name in dir(type(value)):
            if not name.startswith("_") and not callable(kept := getattr(value, name)):
                assert getattr(again, name) == kept, (value, name)


def test_an_answer_is_described_pickled_and_copied(demo: Server) -> None:
    answers = list(z3950.lookup(demo.target, ["local:pg1342", "local:nothing", "isbn:"]))
    assert [repr(answer) for answer in answers] == [
        "<Answer 'local:pg1342': 1 hit>",
        "<Answer 'local:nothing': 0 hits>",
        "<Answer 'isbn:': nothing follows isbn:>",
    ]
    names = ("choice", "hits", "identifier", "note", "query", "records", "target")
    for answer in answers:
        for again in (pickle.loads(pickle.dumps(answer)), copy.copy(answer), copy.deepcopy(answer)):
            assert [getattr(again, name) for name in names] == [getattr(answer, name) for name in names]
            assert (repr(again), bool(again), type(again.error)) == (repr(answer), bool(answer), type(answer.error))


def test_an_answer_and_its_error_are_collected() -> None:
    error = z3950.Error("no")
    answer = z3950.Answer("local:1", error=error)
    error.answer = answer  # type: ignore[attr-defined]
    watched = weakref.ref(error)
    del answer, error
    gc.collect()
    assert watched() is None


def test_audit_r_p6_a_copy_is_changed_alone(demo: Server) -> None:
    with z3950.connect(demo.target) as cat:
        record = cat.search("ti:emma")[0]
    changed = copy.copy(record)
    changed["245"]["a"] = "Persuasion"
    again = pickle.loads(pickle.dumps(changed))
    assert (record.title != changed.title, again.title, again == changed, again.octets == record.octets) == (
        True,
        "Persuasion a novel : in three volumes",
        True,
        True,
    )


def test_audit_r_p6_a_record_too_long_for_iso_2709() -> None:
    [record] = z3950.read(b"=LDR  00000nam a2200000 a 4500\n=001  id7\n=500  \\\\$a" + b"x" * 200_000 + b"\n")
    again = pickle.loads(pickle.dumps(record))
    assert again == record
    assert again["500"]["a"] == "x" * 200_000


def test_audit_r_p6_a_query_of_many_parts_is_pickled() -> None:
    query = z3950.Query.cql("dc.title=x")
    for _ in range(1000):
        query = query | z3950.Query.any("war")
    assert pickle.loads(pickle.dumps(query)) == query


def test_audit_r_p6_a_restored_query_is_searched_in_the_same_way(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[(1, "Emma b"), (2, "Emma a")])
    query = pickle.loads(pickle.dumps(z3950.Query.cql("dc.title=emma sortby title")))
    for target in (server.target, server.http_url):
        with z3950.connect(target) as cat:
            assert [record.title for record in cat.search(query)] == ["Emma a", "Emma b"]


@pytest.mark.parametrize(
    "state", [("Query", []), ("Query", ["And"]), ("Record", {}), ("Nonsense", 1), ("Url", "x y"), ("Target", {"name": 1})]
)
def test_audit_r_p6_what_is_no_state_is_refused(state: tuple[str, Any]) -> None:
    from z3950 import _z3950 as native

    with pytest.raises(Exception):  # noqa: B017, PT011
        native.restored(*state)


def public() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for module in (z3950, aio, testing, url):
        for name in getattr(module, "__all__", ["Server"]):
            value = getattr(module, name)
            found.append((f"{module.__name__}.{name}", value))
            if inspect.isclass(value):
                members = [(member, getattr(value, member)) for member in vars(value) if not member.startswith("_")]
                found += [(f"{module.__name__}.{name}.{member}", found) for member, found in members]
    return found


def test_audit_r_p7_everything_has_a_docstring() -> None:
    missing = [
        name for name, value in public() if not inspect.getdoc(value) and not name.endswith(("__version__", "MarcLike", "z3950.Source"))
    ]
    assert missing == []


def test_audit_r_p7_everything_has_a_signature() -> None:
    for name, value in public():
        if callable(value) and not inspect.isclass(value) and not name.endswith(("MarcLike", "z3950.Source")):
            assert "args" not in inspect.signature(value).parameters, name


def test_audit_r_p7_dir_has_what_is_public_alone() -> None:
    assert {name for name in dir(z3950) if not name.startswith("__")} == {*z3950.__all__, "aio", "testing", "url"} - {"__version__"}


def test_audit_r_p7_explain_by_sru_gives_an_object(demo: Server) -> None:
    with z3950.connect(demo.http_url) as cat:
        [description] = cat.explain()
    assert isinstance(description, z3950.Description)
    assert (description.host, description.database) == ("127.0.0.1", "books")
    assert {"dc.title", "dc.creator"} <= set(description.indexes)
    assert "marcxml" in description.schemas
    assert description.title in description.xml
    assert repr(description).startswith("<Description books ")
