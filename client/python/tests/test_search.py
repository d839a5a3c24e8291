"""Tests of connections, of searches, and of requests without a search."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest
import z3950
from conftest import EMMA, PRIDE, WAR, MakeServer
from z3950.testing import Server


def test_a_catalogue_is_searched_and_looked_up(demo: Server) -> None:
    with z3950.connect(demo.target, timeout=30) as cat:
        hits = cat.search('ti:"war and peace" au:tolstoy')
        assert len(hits) == len(cat.search(z3950.Query.title("war and peace") & z3950.Query.author("tolstoy"))) == 1
        for record in hits[:10]:
            assert (record.title, record.syntax, record.holdings) == (WAR, "usmarc", [])
            assert record.pymarc().title == f"{WAR} /"
    assert z3950.get(f"{demo.url}?pg1342;rs=marc").title == PRIDE
    answers = list(z3950.lookup(demo.target, ["isbn:0141439513", "lccn:85010105", "local:pg1342"], jobs=2))
    assert [bool(answer) for answer in answers] == [True, False, True]


def test_lookups_before_a_wrong_identifier_are_answered(demo: Server) -> None:
    def rows() -> Iterator[str]:
        yield from ("local:pg1342", "local:nothing")
        raise OSError("the file ends here")

    for identifiers, error in ((["local:pg1342", "local:nothing", None, "local:pg1342"], TypeError), (rows(), OSError)):
        answers = z3950.lookup(demo.target, cast("Any", identifiers))
        assert [bool(next(answers)) for _ in range(2)] == [True, False]
        with pytest.raises(error):
            next(answers)
        assert list(answers) == []


def test_a_string_is_never_guessed_to_be_another_language(cat: z3950.Connection, demo: Server) -> None:
    for text in ["dc.title=emma", "ti=emma"]:
        cat.search(text)
    queries = [said["value"]["query"] for said in demo.apdus if said["apdu"] == "searchRequest"]
    assert all("1016" in query for query in queries), queries


def test_all_languages_are_read_by_name(cat: z3950.Connection) -> None:
    for query in [
        z3950.Query.pqf("@attr 1=4 emma"),
        z3950.Query.cql("dc.title=emma"),
        z3950.Query.ccl("ti=emma"),
        z3950.Query.words("ti:emma"),
        z3950.Query.index("ti", "emma"),
        z3950.Query.title("emma") | z3950.Query.title("nothing"),
        z3950.Query.title("emma") - z3950.Query.author("tolstoy"),
    ]:
        assert cat.search(query)[0].title == EMMA, query


def test_equal_queries_are_one_key() -> None:
    query = z3950.Query.title("emma") & z3950.Query.author("austen")
    hits = {query: 1, z3950.Query.title("emma"): 2}
    assert hits[z3950.Query.words("ti:emma au:austen")] == 1
    assert z3950.Query.title("emma") | z3950.Query.author("austen") not in hits


def test_indexes_and_slices_are_those_of_lists(z3950_server: MakeServer) -> None:
    titles = [f"Title {number}" for number in range(45)]
    server = z3950_server(records=[(f"id{number}", title) for number, title in enumerate(titles)])
    with z3950.connect(server.target) as cat:
        hits = cat.search("ti:title")
        assert len(hits) == 45
        assert [record.title for record in hits] == titles
        assert [record.position for record in hits[:3]] == [0, 1, 2]
        for index in [0, 44, -1, -45]:
            assert hits[index].title == titles[index]
        for wanted in [
            slice(10), slice(5, 3), slice(40, 100), slice(-3, None), slice(None, None, -1), slice(0, 44, 7), slice(30, 2, -9),
        ]:  # fmt: skip
            assert [record.title for record in hits[wanted]] == titles[wanted], wanted


def test_records_one_by_one_come_in_pages(z3950_server: MakeServer) -> None:
    titles = [f"Title {number:02}" for number in range(45)]
    server = z3950_server(records=[(f"id{number}", title) for number, title in enumerate(titles)])

    def requests() -> list[tuple[int, int]]:
        presents = [said["value"] for said in server.apdus if said["apdu"] == "presentRequest"]
        return [(present["resultSetStartPoint"], present["numberOfRecordsRequested"]) for present in presents]

    with z3950.connect(server.target) as cat:
        hits = cat.search("ti:title")
        assert [hits[index].title for index in range(45)] == titles
        assert requests() == [(1, 1), (2, 20), (22, 20), (42, 4)]
        # The last page is still cached; a record at another position is fetched alone.
        assert [hits[index].title for index in (-1, 42, 7, 7)] == [titles[44], titles[42], titles[7], titles[7]]
        assert requests()[4:] == [(8, 1)]
        hits.sort("title:desc")
        assert hits[7].title == titles[-8]
        assert hits[8].title == titles[-9]
        assert requests()[5:] == [(8, 1), (9, 20)]
    with pytest.raises(z3950.Error, match="the connection is closed"):
        hits[8]


@pytest.mark.filterwarnings("ignore::z3950.testing.UnfiredRule")
def test_an_error_is_raised_for_the_record_that_it_is_about(z3950_server: MakeServer) -> None:
    failures = [f"on present nth={number}: fail 2" for number in range(3, 9)]
    server = z3950_server(records=[(f"id{number}", "Emma") for number in range(60)], faults=failures)
    with z3950.connect(server.target) as cat:
        hits = cat.search("ti:emma")
        assert [hits[index].position for index in range(21)] == list(range(21))
        for _ in range(2):
            with pytest.raises(z3950.Diagnostic):
                hits[21]
        assert hits[20].position == 20


@pytest.mark.filterwarnings("ignore::z3950.testing.UnfiredRule")
def test_a_slice_with_a_step_tells_that_the_server_failed(z3950_server: MakeServer) -> None:
    failures = [f"on present nth={number}: fail 2" for number in range(2, 9)]
    server = z3950_server(records=[(f"id{number}", "Emma") for number in range(60)], faults=failures)
    for wanted in [slice(0, 44), slice(0, 44, 7), slice(43, None, -7)]:
        with z3950.connect(server.target) as cat:
            hits = cat.search("ti:emma")
            with pytest.raises(z3950.Diagnostic):
                hits[wanted]


def test_there_may_be_fewer_records_than_the_server_estimates(z3950_server: MakeServer) -> None:
    server = z3950_server(imitate="yaz-ztest", faults=["on search: count 15"])
    with z3950.connect(server.target.replace("Default", "Slow0")) as cat:
        hits = cat.search("10")
        assert (hits.is_estimate, len(hits)) == (True, 15)
        for wanted in [slice(None), slice(None, None, 7), slice(None, None, -7), slice(12, 15)]:
            there = [position for position in range(15)[wanted] if position < 10]
            assert [record.position for record in hits[wanted]] == there, wanted
        for index in [14, -1]:
            with pytest.raises(IndexError, match=f"there is no record {index}: the server has fewer than the 15 that it estimated"):
                hits[index]
        assert len(list(hits)) == 10
    with z3950.connect(server.target) as cat:
        assert not cat.search("10").is_estimate


def test_first_records_come_with_the_answer(cat: z3950.Connection, demo: Server) -> None:
    assert cat.search("ti:emma", first=1)[0].title == EMMA
    assert "presentRequest" not in [said["apdu"] for said in demo.apdus]
    # Not more than the first Present returns.
    assert len(cat.search("the", first=50)) > 50
    [answer] = [said["value"] for said in demo.apdus if said["apdu"] == "searchResponse" and said["value"]["numberOfRecordsReturned"] > 1]
    assert answer["numberOfRecordsReturned"] == 20


def test_several_sets_of_one_connection_are_read_in_turn(cat: z3950.Connection) -> None:
    austen, tolstoy = cat.search("au:austen"), cat.search("au:tolstoy")
    titles = [(mine.title, yours.title) for mine, yours in zip(austen, tolstoy, strict=False)]
    assert len(titles) == 2
    assert len(set(titles)) == 2


def test_sort_scan_get_lookup(cat: z3950.Connection) -> None:
    hits = cat.search("au:austen")
    hits.sort("title:desc")
    titles = [record.title or "" for record in hits]
    assert titles == sorted(titles, reverse=True)
    terms = cat.scan("ti:emma", size=3, position=2)
    assert [term.term for term in terms][1] == "emma"
    assert str(terms[1]) == "emma"
    assert cat.get("pg1342").title == cat.get(b"pg1342").title == PRIDE
    answer = cat.lookup("local:pg1342")
    assert answer
    assert (answer.hits, answer.records[0].title) == (1, PRIDE)
    assert not cat.lookup("local:nothing")


@pytest.mark.parametrize("jobs", [1, 3])
def test_as_many_lookups_are_in_progress_as_there_are_jobs(demo: Server, jobs: int) -> None:
    begun: list[str] = []

    def identifiers() -> Iterator[str]:
        for number in range(6):
            begun.append(f"local:{number}")
            yield begun[-1]

    answers = z3950.lookup(demo.target, identifiers(), jobs=jobs)
    for number, answer in enumerate(answers):
        assert answer.identifier == f"local:{number}"
        assert len(begun) == min(number + jobs, 6)
    # Each concurrent lookup has its own session, which later lookups reuse.
    assert len({said["session"] for said in demo.apdus}) == jobs


def test_several_targets_are_asked_and_the_best_record_is_taken(demo: Server) -> None:
    with Server() as other:
        targets = [f"{demo.target.split('/')[0]}/serials", other.target]
        [answer] = z3950.lookup(targets, ["isbn:0141439513"])
        assert (answer.target, answer.hits, answer.choice) == (targets[1], 1, None)
        [answer] = z3950.lookup([other.target, demo.target], ["isbn:0141439513"], best=True, all_targets=True, fallback=True)
        assert (answer.target, answer.hits, len(answer.records)) == (other.target, 2, 1)
        assert "is the best of 2 records" in (answer.choice or "")
    [answer] = z3950.lookup([targets[1], demo.target], ["isbn:0141439513"], timeout=5)
    assert answer.target == demo.target
    [answer] = z3950.lookup([targets[1], targets[0]], ["isbn:0141439513"], timeout=5)
    assert isinstance(answer.error, z3950.Unavailable)


def test_doubtful_identifiers_are_noted(demo: Server) -> None:
    doubts = {
        "doi:10.1/x": "doi: is not a prefix: the prefixes are isbn:",
        "isbn:0141439514": "wrong check digit",
        "isbn:123": "123 is not an ISBN",
    }
    for answer in z3950.lookup(demo.target, doubts):
        assert not answer
        assert doubts[answer.identifier] in (answer.note or "")
        assert doubts[answer.identifier] in repr(answer)
    [answer] = z3950.lookup(demo.target, ["isbn:0141439513"])
    assert answer
    assert answer.note is None


def test_updates_and_orders(z3950_server: MakeServer) -> None:
    server = z3950_server(imitate="yaz-ztest")
    with z3950.connect(server.target) as cat:
        hits = cat.search("water")
        assert cat.update(hits[0], action="replace").status == "done"
        assert cat.update([hits[0].pymarc(), hits[0].json], action="delete").status == "done"
        assert cat.update(hits[0]).status == "done"
        assert cat.order(hits, 1, name="Ann", phone="555 0100", email="ann@lib.example").status == "done"
        assert cat.order(hits, -1, name="Ann").status == "done"
        assert cat.order(hits).status == "done"
    tasks = [said["value"]["taskSpecificParameters"] for said in server.apdus if said["apdu"] == "extendedServicesRequest"]
    updates = [task["update"]["esRequest"] for task in tasks[:3]]
    order, last, first = [task["itemOrder"]["esRequest"] for task in tasks[3:]]
    actions = [(update["toKeep"]["action"], len(update["notToKeep"])) for update in updates]
    assert actions == [("recordReplace", 1), ("recordDelete", 2), ("recordInsert", 1)]
    assert order["toKeep"] == {"contact": {"name": "Ann", "phone": "555 0100", "email": "ann@lib.example"}}
    assert last["toKeep"] == {"contact": {"name": "Ann"}}
    assert first["toKeep"] == {}
    items = [task["notToKeep"]["resultSetItem"]["item"] for task in (order, last, first)]
    assert items == [2, len(hits), 1]


def test_a_task_may_be_accepted_for_later(cat: z3950.Connection) -> None:
    task = cat.order(cat.search("ti:emma"))
    assert (task.status, repr(task)) == ("accepted", "<TaskResult accepted>")


def test_orders_from_another_connection_are_refused(demo: Server, cat: z3950.Connection) -> None:
    cat.search("ti:emma")
    with z3950.connect(demo.target) as other:
        hits = other.search("au:tolstoy")
        with pytest.raises(ValueError, match="the result set belongs to another connection"):
            cat.order(hits, 0)
    assert "extendedServicesRequest" not in [said["apdu"] for said in demo.apdus]


def test_explain(demo: Server) -> None:
    with z3950.connect(demo.target) as cat:
        for category in ("TargetInfo", "DatabaseInfo"):
            assert cat.explain(category)
            assert category in [said["value"]["query"] for said in demo.apdus if said["apdu"] == "searchRequest"][-1]
    with z3950.connect(demo.http_url) as cat:
        [description] = cat.explain()
        assert "databaseInfo" in description.xml


def test_sru_is_searched_in_the_same_way(demo: Server) -> None:
    with z3950.connect(demo.http_url) as cat:
        hits = cat.search("au:tolstoy")
        assert [record.title for record in hits] == ["Anna Karenin", WAR]


def test_targets_have_names() -> None:
    [congress] = [target for target in z3950.targets() if target.name == "loc"]
    assert "loc.gov" in congress.address
    assert str(congress) == "loc"


def test_users_and_forms_are_sent(demo: Server) -> None:
    with z3950.connect(demo.target, user="ann", password="secret", syntax="xml", elements="F") as cat:
        record = cat.search("ti:emma")[0]
    assert record.syntax == "xml"
    init, present = (next(said["value"] for said in demo.apdus if said["apdu"] == name) for name in ("initRequest", "presentRequest"))
    assert "idAuthentication" in init
    assert "secret" not in str(init)
    assert present["preferredRecordSyntax"]


def test_users_passwords_and_groups_are_sent() -> None:
    told: list[bytes] = []

    def listen() -> None:
        stream, _ = listener.accept()
        with stream:
            told.append(stream.recv(4096))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listening = threading.Thread(target=listen)
        listening.start()
        # Transcripts do not contain the credentials.
        with pytest.raises(z3950.Unavailable, match="closed during Init"):
            z3950.connect("{}:{}/cat".format(*listener.getsockname()), user="ann", password="secret", group="staff")
        listening.join()
    [init] = told
    # groupId [0], userId [1] and password [2] of IdPass (Z39.50-2003 §4.1).
    assert b"\x80\x05staff\x81\x03ann\x82\x06secret" in init


def test_one_record_comes_in_the_form_of_its_connection(demo: Server) -> None:
    with z3950.connect(demo.target, syntax="xml", elements="B") as cat:
        assert cat.get("pg1342").syntax == "xml"
    [search] = [said["value"] for said in demo.apdus if said["apdu"] == "searchRequest"]
    assert "B" in str(search["smallSetElementSetNames"])


def test_notebooks_get_html(cat: z3950.Connection) -> None:
    hits = cat.search("ti:emma")
    assert f"<td>{EMMA}</td>" in (hits._repr_html_() or "")
    assert hits[0]._repr_html_().startswith(f"<strong>{EMMA}</strong>")
    assert repr(hits) == "<ResultSet of 1 record>"
    assert repr(hits[0]) == f"<Record '{EMMA}' (usmarc)>"
    assert repr(cat).startswith("<Connection 127.0.0.1:")
    cat.close()
    assert hits._repr_html_() is None


def test_notebooks_show_diagnostics_in_their_places(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[("id7", "Emma <3")], faults=["on present nth=2: surrogate 14"])
    with z3950.connect(server.target) as cat:
        hits = cat.search("ti:emma")
        assert "<td>Emma &lt;3</td>" in (hits._repr_html_() or "")
        assert "diagnostic 14" in (hits._repr_html_() or "")
