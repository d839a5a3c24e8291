"""Fields of MARC records, read and changed without pymarc, and the data of a citation."""

from __future__ import annotations

import csv
import io
import pickle
import types
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pymarc
import pytest
import z3950
from conftest import EMMA, MakeServer
from z3950.testing import Server

MRK = (
    "=LDR  00000nam a2200000 a 4500\n=001  id7\n=008  010101s1816    enk           000 1 eng d\n=020  \\\\$a0141439513\n"
    "=100  1\\$aAusten, Jane\n=245  10$aEmma /$cJané Austen.\n=260  \\\\$aLondon :$bMurray,$c1816.\n=650  \\0$aLove$xFiction.\n"
    "=650  \\0$aMarriage\n"
).encode()


@pytest.fixture
def record() -> z3950.Record:
    [record] = z3950.read(MRK)
    return record


def test_audit_r_p5_the_data_of_a_citation(record: z3950.Record) -> None:
    assert (record.title, record.author, record.year, record.publisher) == ("Emma", "Austen, Jane", 1816, "Murray")
    assert (record.isbn, record.issn) == (["9780141439518"], [])


@pytest.mark.parametrize("elements", ["dc", "mods", "marcxml"])
def test_audit_r_p5_that_of_xml_too(demo: Server, elements: str) -> None:
    with z3950.connect(demo.target, syntax="xml", elements=elements) as cat:
        record = cat.search("ti:emma")[0]
    assert record.title == EMMA
    assert (record.author or "").startswith("Austen, Jane")
    assert record.year
    assert record.isbn


def test_audit_r_p5_records_without_a_citation_have_none(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[("id7", "Emma")])
    with z3950.connect(server.target, syntax="sutrs") as cat:
        record = cat.search("ti:emma")[0]
    assert (record.author, record.year, record.publisher, record.isbn, record.issn, record.leader) == (None, None, None, [], [], None)
    assert "245" not in record
    assert list(record) == record.get_fields("245") == []
    with pytest.raises(KeyError):
        record["245"]
    with pytest.raises(z3950.Error, match="no MARC record"):
        record.add_field("650", [("a", "x")])


def test_audit_r_p5_fields_are_read(record: z3950.Record) -> None:
    assert record["245"]["a"] == "Emma /"
    assert record["245"].indicators == "10"
    assert record["245"].subfields == list(record["245"]) == [("a", "Emma /"), ("c", "Jané Austen.")]
    assert record["001"].value == str(record["001"]) == "id7"
    assert record["245"].value is None
    assert record["001"].subfields == []
    assert record["001"].indicators == ""
    assert [field["a"] for field in record.get_fields("650")] == ["Love", "Marriage"]
    assert [field.tag for field in record.get_fields("001", "245")] == ["001", "245"]
    assert [field.tag for field in record] == ["001", "008", "020", "100", "245", "260", "650", "650"]
    assert ("245" in record, "999" in record, "c" in record["245"], "b" in record["245"]) == (True, False, True, False)
    assert (record["245"].get("b"), record["245"].get("b", "-"), record["245"].get("c")) == (None, "-", "Jané Austen.")
    assert repr(record["245"]) == "<Field 245 10 $a Emma / $c Jané Austen.>"
    for missing in (lambda: record["999"], lambda: record["245"]["z"], lambda: record["001"]["a"]):
        with pytest.raises(KeyError):
            missing()
    for wrong in (lambda: record[245], lambda: record["245"][1], lambda: 245 in record, lambda: record.get_fields(1)):  # type: ignore[index,operator,arg-type]
        with pytest.raises(TypeError):
            wrong()


def test_audit_r_p5_fields_are_changed(record: z3950.Record) -> None:
    title = record["245"]
    title["a"] = "Emma : a novel /"
    title["h"] = "[text]"
    title.add("h", "[more]")
    title.indicators = "14"
    del record["260"]["c"]
    record["650"].subfields = {"a": "Courtship"}
    record["001"].value = "id8"
    record.leader = (record.leader or "")[:6] + "m" + (record.leader or "")[7:]
    record.add_field("100", [("a", "Another")], "1 ")
    record.add_field("003", "DE-1")
    assert record.remove_fields("020", "999") == 1
    record.get_fields("650")[1].remove()
    # The field is still found after other fields before it were added and removed.
    title["c"] = "Jane"
    assert record.marc is not None
    [again] = z3950.read(record.marc)
    assert [(field.tag, field.indicators, str(field)) for field in again] == [
        ("001", "", "id8"),
        ("003", "", "DE-1"),
        ("008", "", str(record["008"])),
        ("100", "1 ", "Austen, Jane"),
        ("100", "1 ", "Another"),
        ("245", "14", "Emma : a novel / Jane [text] [more]"),
        ("260", "  ", "London : Murray,"),
        ("650", " 0", "Courtship"),
    ]
    assert (again.leader or "")[6] == "m"
    for form in (record.text, record.marcxml, str(record.json), str(record)):
        assert "a novel" in (form or "")
    assert record.title == "Emma : a novel"


def test_audit_r_p5_a_record_of_a_server_is_changed_and_sent_back(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[("id7", "Emma")])
    with z3950.connect(server.target) as cat:
        record, other = cat.search("ti:emma")[0], cat.search("ti:emma")[0]
        assert record == other
        octets = record.octets
        record["245"]["a"] = "Persuasion"
        assert (record.title, record.octets, record != other) == ("Persuasion", octets, True)
        assert "Persuasion" in record.text
        cat.update(record, action="replace")
        assert cat.get("id7").title == "Persuasion"


def test_audit_r_p5_what_would_damage_the_record_is_refused(record: z3950.Record) -> None:
    before = record.marc
    title = record["245"]
    changes: list[tuple[Callable[[], object], type[Exception]]] = [
        (lambda: title.add("a", "x\x1fby"), ValueError),
        (lambda: title.add("ab", "x"), ValueError),
        (lambda: title.add("", "x"), ValueError),
        (lambda: title.add("\x1f", "x"), ValueError),
        (lambda: title.add("a", None), TypeError),  # type: ignore[arg-type]
        (lambda: setattr(title, "indicators", "1"), ValueError),
        (lambda: setattr(title, "indicators", "\x1f1"), ValueError),
        (lambda: setattr(title, "value", "x"), TypeError),
        (lambda: setattr(record["001"], "value", "a\x1e"), ValueError),
        (lambda: setattr(record["001"], "indicators", "10"), TypeError),
        (lambda: record["001"].add("a", "x"), TypeError),
        (lambda: setattr(record, "leader", "short"), ValueError),
        (lambda: record.add_field("24", [("a", "x")]), ValueError),
        (lambda: record.add_field("245", "text"), TypeError),
        (lambda: record.add_field("245", [("a", "x\x1d")]), ValueError),
        (lambda: record.add_field("245", [("a",)]), TypeError),  # type: ignore[list-item]
        (lambda: record.add_field("245", 5), TypeError),  # type: ignore[arg-type]
        (lambda: record.add_field("001", "x", "10"), TypeError),
        (lambda: setattr(title, "nonsense", 1), AttributeError),
    ]
    for change, error in changes:
        with pytest.raises(error):
            change()
    assert record.marc == before
    title.remove()
    for gone in (lambda: title["a"], lambda: title.add("a", "x"), lambda: title.tag):
        with pytest.raises(z3950.Error, match="was removed"):
            gone()


def test_audit_r_p5_records_become_tables(record: z3950.Record) -> None:
    table = b"".join(z3950.convert([record, record], to="csv")).decode()
    header, first, second = csv.reader(io.StringIO(table))
    assert header == ["001", "title", "author", "year", "publisher", "isbn", "issn"]
    assert first == second == ["id7", "Emma", "Austen, Jane", "1816", "Murray", "9780141439518", ""]
    table = b"".join(z3950.convert([record], to="tsv", columns=["650a", "245c"])).decode()
    assert table == "650a\t245c\nLove | Marriage\tJané Austen.\n"
    assert b'="9780141439518"' in b"".join(z3950.convert([record], to="spreadsheet", columns="isbn")).replace(b'""', b'"')
    assert b"".join(z3950.convert([], to="csv", columns="title")) == b"title\r\n"
    with pytest.raises(ValueError, match="is not a column"):
        z3950.convert([record], to="csv", columns="nonsense")
    with pytest.raises(TypeError, match="have columns"):
        z3950.convert([record], to="marc", columns="title")
    with pytest.raises(ValueError, match="csv, tsv or spreadsheet"):
        z3950.convert([record], to="xlsx")  # type: ignore[arg-type]


def test_audit_r_p5_copies_are_columns() -> None:
    with Server() as server, z3950.connect(server.target, holdings=True) as cat:
        table = b"".join(z3950.convert(cat.search("ti:emma"), to="csv", columns="title,library,available")).decode()
    assert table.splitlines()[0] == "title,library,available"
    assert EMMA in table


LOCAL = (
    b"=LDR  00000nam a2200000 a 4500\n=001  id7\n=245  10$aEmma\n=600  10$aAusten, Jane\n=650  \\0$aLove\n=651  \\0$aEngland\n"
    b"=852  \\\\$aMain\n=901  \\\\$ax\n=950  \\\\$ay\n=99A  \\\\$az\n=CAT  \\\\$aq\n"
)


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        (["6XX"], ["600", "650", "651"]),
        (["6xx"], ["600", "650", "651"]),
        (["65X"], ["650", "651"]),
        (["X50"], ["650", "950"]),
        (["9XX"], ["901", "950", "99A"]),
        (["9xX", "852", "650"], ["650", "852", "901", "950", "99A"]),
        (["00X"], ["001"]),
        (["CAT"], ["CAT"]),
        (["7XX"], []),
        (["XXX"], ["001", "245", "600", "650", "651", "852", "901", "950", "99A", "CAT"]),
    ],
)
def test_issue_48_x_in_a_tag_is_any_character(tags: list[str], found: list[str]) -> None:
    [record] = z3950.read(LOCAL)
    assert [field.tag for field in record.get_fields(*tags)] == found
    assert sum(len(record.fields(tag)) for tag in tags) == len(found)
    assert sum(len(record.fields(tag, "a")) for tag in tags) == len([tag for tag in found if tag != "001"])
    assert any(tag in record for tag in tags) == bool(found)
    if found:
        assert record[tags[0]].tag in found
    before = len(list(record))
    assert record.remove_fields(*tags) == len(found)
    assert len(list(record)) == before - len(found)
    assert record.get_fields(*tags) == []


@pytest.mark.parametrize("tag", ["", "9X", "9", "9XXX", "245a", "6**", "6..", "24 ", "é50", "9-9", "LDR", "000", "\x1f50"])
def test_issue_48_a_tag_that_is_none_is_refused(tag: str) -> None:
    [record] = z3950.read(LOCAL)
    before = record.marc
    calls: list[Callable[[], object]] = [
        lambda: record.get_fields(tag),
        lambda: record.get_fields("245", tag),
        lambda: record.remove_fields("245", tag),
        lambda: record.fields(tag),
        lambda: record.fields(tag, "a"),
        lambda: record[tag],
        lambda: tag in record,
        lambda: record.add_field(tag, [("a", "x")]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"is not a tag|the leader is record\.leader"):
            call()
    assert record.marc == before


def test_issue_48_a_record_is_made_from_nothing() -> None:
    record = z3950.Record()
    assert (record.leader, list(record), record.title, record.syntax) == ("00000nam a2200000 a 4500", [], None, "usmarc")
    record.add_field("245", [("a", "Jané /"), ("c", "Austen.")], "10")
    record.add_field("001", "id7")
    assert [field.tag for field in record] == ["001", "245"]
    assert record.marc is not None
    [again] = z3950.read(record.marc)
    assert (again["245"]["a"], again.title) == ("Jané /", "Jané")
    assert record.json["fields"][0] == {"001": "id7"}
    assert z3950.Record.from_dict(record.json) == record == pickle.loads(pickle.dumps(record))
    assert record.pymarc()["245"]["a"] == "Jané /"
    assert z3950.Record() == z3950.Record() != record
    serial = z3950.Record(leader="00000nas a2200000 a 4500")
    assert (serial.leader or "")[7] == "s"
    for leader in ("", " " * 23, "é" * 12, "x" * 25):
        with pytest.raises(ValueError, match="24 characters of ASCII"):
            z3950.Record(leader)


def test_issue_48_a_new_record_is_kept_by_a_server(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[])
    record = z3950.Record()
    record.add_field("001", "id7")
    record.add_field("245", {"a": "Emma"}, "00")
    with z3950.connect(server.target) as cat:
        cat.update(record)
        assert cat.get("id7").title == "Emma"


def test_issue_48_a_record_is_made_from_a_dict(record: z3950.Record) -> None:
    made = z3950.Record.from_dict(record.json)
    assert (made.json, made.title, made["245"]["c"]) == (record.json, "Emma", "Jané Austen.")
    assert made.add_field("650", {"a": "x"}).tag == "650"
    assert z3950.Record.from_dict(types.MappingProxyType(record.json)).title == "Emma"
    assert [found.title for found in z3950.read(record.json)] == ["Emma"]
    wrong: list[tuple[Any, type[Exception]]] = [
        ({}, ValueError),
        ({"leader": "00000nam a2200000 a 4500", "fields": "x"}, ValueError),
        ({"leader": "00000nam a2200000 a 4500", "fields": [{"245": 5}]}, ValueError),
        (b"{}", TypeError),
        (None, TypeError),
        ([("leader", "")], TypeError),
    ]
    for value, error in wrong:
        with pytest.raises(error, match="MARC-in-JSON") as raised:
            z3950.Record.from_dict(value)
        assert "repair" not in str(raised.value)


@pytest.mark.parametrize("form", ["marcxml", "marc", "json", "mrk", "line", "dc", "mods", "brief", "csv", "marcxchange"])
def test_issue_48_one_record_is_converted_as_it_is(record: z3950.Record, form: Any) -> None:
    [record] = z3950.read(record.marc or b"")
    expected = b"".join(z3950.convert([record], to=form))
    assert b"Emma" in expected

    class Own:
        def as_marc(self) -> bytes:
            return record.marc or b""

    singles: list[Any] = [record, record.pymarc(), record.json, record.marc, Own()]
    for one in (*singles, iter([record]), (found for found in [record])):
        assert b"".join(z3950.convert(one, to=form)) == expected
    assert [found.title for found in z3950.read(record)] == [found.title for found in z3950.read(record.pymarc())] == ["Emma"]


def test_issue_48_records_become_mods(record: z3950.Record) -> None:
    for records in ([], [record], [record, record]):
        root = ElementTree.fromstring(b"".join(z3950.convert(records, to="mods")))
        assert root.tag == "{http://www.loc.gov/mods/v3}modsCollection"
        titles = root.findall("{*}mods/{*}titleInfo/{*}title")
        assert [(title.text or "")[:4] for title in titles] == ["Emma"] * len(records)


@pytest.mark.parametrize(
    ("tag", "content", "error"),
    [
        ("999", [("", "x"), ("b", "y")], ValueError),
        ("999", {"é": "x"}, ValueError),
        ("999", {" ": "x"}, ValueError),
        ("001", {"a": "x"}, TypeError),
        ("LDR", "00000nam a2200000 a 4500", ValueError),
        ("000", "00000nam a2200000 a 4500", ValueError),
    ],
)
def test_issue_48_a_field_that_other_programs_would_read_otherwise_is_refused(tag: str, content: Any, error: type[Exception]) -> None:
    record = z3950.Record()
    before = record.marc
    with pytest.raises(error):
        record.add_field(tag, content)
    assert record.marc == before


def test_issue_48_a_leader_does_not_change_what_fields_are() -> None:
    record = z3950.Record()
    record.add_field("245", {"a": "Café"}, "10")
    record.leader = "00000nas  4400000 a 4500"
    assert record.leader == "00000nas a2200000 a 4500"
    assert record["245"].subfields == [("a", "Café")]
    assert pymarc.Record(data=record.marc or b"")["245"]["a"] == "Café"
