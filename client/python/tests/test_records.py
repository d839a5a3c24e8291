"""Tests of records and files of records, including damaged ones."""

from __future__ import annotations

import collections
import gc
import io
import json
import os
import signal
import sys
import time
import weakref
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pymarc
import pytest
import z3950
from conftest import MakeServer, start
from z3950.testing import Server

EMMA = (
    "=LDR  00000nam a2200000 a 4500\n=001  id7\n=020  \\\\$a0141439513\n=245  10$aEmma /$cJané Austen.\n"
    "=650  \\0$aLove$xFiction.\n=852  \\\\$aNLI$bMain$hPR4034\n\n"
).encode()


def one(octets: bytes) -> z3950.Record:
    [record] = z3950.read(octets)
    return record


#: The same records in ISO 2709.
MARC = b"".join(z3950.convert(EMMA, "marc"))


def test_a_record_has_all_its_forms() -> None:
    record = one(EMMA)
    assert record.title == "Emma"
    assert record.syntax == "usmarc"
    assert record.fields("650") == ["Love Fiction."]
    assert record.fields("650", "x") == ["Fiction."]
    assert record.fields("001") == ["id7"]
    assert record.fields("999") == record.fields("245", "z") == record.fields("9XX") == []
    assert record.json["fields"][0] == {"001": "id7"}
    assert record.json["fields"][2]["245"]["subfields"][1] == {"c": "Jané Austen."}
    assert record.marc is not None
    assert record.marcxml is not None
    for again in (one(record.marc), one(record.marcxml.encode())):
        assert again.json["fields"] == record.json["fields"]
    assert "Jané" in record.text == str(record)
    [copy] = record.holdings
    assert (copy.library, copy.location, copy.call_number, copy.available) == ("NLI", "Main", "PR4034", None)
    assert repr(copy) == "<Holding NLI, Main, PR4034 (availability unknown)>"
    assert (record.position, record.database) == (None, None)


def test_pymarc_reads_the_same_record() -> None:
    found = one(EMMA).pymarc()
    assert isinstance(found, pymarc.Record)
    assert found["245"]["c"] == "Jané Austen."
    assert found.as_dict()["fields"] == one(EMMA).json["fields"]


def test_pymarc_is_missed_in_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymarc", None)
    with pytest.raises(ImportError, match="pip install pymarc"):
        one(EMMA).pymarc()


def test_a_record_that_pymarc_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(z3950.Error, match="pymarc refuses this record"):
        one(b"=LDR  00000nam a2200000 a 4500\n").pymarc()


def test_octets_that_are_no_text_are_refused_or_replaced() -> None:
    marc = MARC[:10] + b"  " + MARC[12:]
    for octets, charset in ((marc.replace("é".encode(), b"\xff\xfe"), None), (marc.replace("é".encode(), b"\xe9e"), "utf-8")):
        with pytest.raises(z3950.Error, match=r"record 1 \(octet 0\) is damaged: .*is not UTF-8") as refused:
            list(z3950.read(octets, charset=charset))
        assert 'errors="repair"' in str(refused.value)
        assert "leader" not in str(refused.value)
        assert list(z3950.read(octets, charset=charset, errors="skip")) == []
        [repaired] = z3950.read(octets, charset=charset, errors="repair")
        assert repaired.title == "Emma"
        assert repaired.json["fields"]
        assert "\ufffd" in repaired.text


@pytest.mark.parametrize(
    "octets",
    [
        MARC[:-1],
        MARC[:150],
        MARC[:100] + MARC[107:],
        MARC[:150] + MARC[151:],
        MARC[:150] + b"1234567" + MARC[150:],
        MARC[:30] + MARC[36:],
    ],
    ids=["no end", "cut off", "fields short", "one octet short", "octets in a field", "directory short"],
)
def test_a_record_that_is_not_whole_is_refused_or_repaired(octets: bytes, cat: z3950.Connection) -> None:
    with pytest.raises(z3950.Error, match="is damaged"):
        list(z3950.read(octets))
    with pytest.raises(z3950.Error, match="is damaged"):
        list(z3950.convert(octets, "marc"))
    with pytest.raises(z3950.Error, match="is damaged"):
        cat.update(octets)
    assert list(z3950.read(octets, errors="skip")) == []
    assert len(list(z3950.read(octets, errors="repair"))) == 1


def test_wrong_numbers_in_a_leader_are_no_damage() -> None:
    # The lengths are recomputed, and all fields are at the positions in the directory.
    for octets in (b"00000" + MARC[5:], b"00999" + MARC[5:], MARC[:10] + b"  " + MARC[12:]):
        assert one(octets).fields("245") == ["Emma / Jané Austen."]


def test_a_record_that_is_no_marc(z3950_server: MakeServer) -> None:
    server = z3950_server(imitate="yaz-ztest")
    with z3950.connect(server.target, syntax="sutrs") as cat:
        record = cat.search("water")[0]
    assert record.syntax == "sutrs"
    assert record.marc is None
    assert record.marcxml is None
    assert record.fields("245") == []
    assert isinstance(record.json, str)
    with pytest.raises(z3950.Error, match="no MARC record"):
        record.pymarc()
    with pytest.raises(z3950.Error, match="only MARC records"):
        list(z3950.convert([record], "marcxml"))


def test_opac_records_have_holdings(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[EMMA])
    with z3950.connect(server.target, syntax="opac") as cat:
        record = cat.search("ti:emma")[0]
    assert (record.syntax, record.title) == ("opac", "Emma")
    assert "holdingsData" in record.json
    assert [copy.location for copy in record.holdings] == ["Main"]


def test_holdings_are_asked_for_where_the_server_has_them(z3950_server: MakeServer) -> None:
    for faults, syntax in ((), "opac"), (["on any syntax=opac: fail 239"], "usmarc"):
        server = z3950_server(records=[EMMA], faults=faults)
        with z3950.connect(server.target, holdings=True) as cat:
            [record] = cat.search("ti:emma")
            [found] = cat.lookup("isbn:0141439513").records
        assert (record.syntax, found.syntax) == (syntax, syntax)
        assert [copy.location for copy in record.holdings] == ["Main"]


def test_files_of_every_kind_are_read(tmp_path: Path) -> None:
    path = tmp_path / "in.mrk"
    path.write_bytes(EMMA * 3)
    with path.open("rb") as file:
        for source in (path, str(path), EMMA * 3, bytearray(EMMA * 3), memoryview(EMMA * 3), file, io.BytesIO(EMMA * 3)):
            assert [record.title for record in z3950.read(source)] == ["Emma"] * 3
    assert list(z3950.read(b"")) == []


def test_records_are_converted_piece_by_piece(tmp_path: Path, cat: z3950.Connection) -> None:
    path = tmp_path / "out.xml"
    with path.open("wb") as file:
        file.writelines(z3950.convert(EMMA * 2, to="marcxml"))
    assert [record.title for record in z3950.read(path)] == ["Emma", "Emma"]
    for form in ("marc", "marcxchange", "json", "mrk", "line"):
        octets = b"".join(z3950.convert(EMMA * 2, to=form))
        assert [record.title for record in z3950.read(octets)] == ["Emma", "Emma"], form
    assert b"Emma" in b"".join(z3950.convert(EMMA, to="dc"))
    assert b"".join(z3950.convert(b"", to="marcxml")).endswith(b"</collection>\n")
    assert len(list(z3950.read(b"".join(z3950.convert(cat.search("au:austen"), to="marc"))))) == 4


def test_records_of_other_packages_are_converted() -> None:
    record = one(EMMA)
    octets = b"".join(z3950.convert([record.pymarc(), record.json, record, MARC], to="marc"))
    assert list(z3950.read(octets)) == [record] * 4
    # The iteration can continue after an exception for one record.
    pieces = z3950.convert(cast("Any", [7, record]), to="marc")
    with pytest.raises(TypeError):
        next(pieces)
    assert next(pieces) == record.marc


def test_conversion_reads_no_more_than_it_needs() -> None:
    class Endless:
        def __init__(self) -> None:
            self.given = 0

        def read(self, size: int, /) -> bytes:
            self.given += size
            return (EMMA * (size // len(EMMA) + 1))[:size]

    file = Endless()
    pieces = z3950.convert(file, to="json", form="mrk")
    assert b"Emma" in next(pieces)
    assert file.given < 1 << 20


def test_a_damaged_record_does_not_end_a_file() -> None:
    marc = one(EMMA).marc
    assert marc is not None
    octets = marc + b"garbage" * 4 + b"\x1d" + marc
    records = z3950.read(octets)
    titles: list[str | None] = []
    while True:
        try:
            titles.append(next(records).title)
        except z3950.Error as damage:
            titles.append(str(damage))
        except StopIteration:
            break
    assert titles[0] == titles[2] == "Emma"
    assert "record 2 (octet" in str(titles[1])
    assert len(list(z3950.read(octets, errors="skip"))) == 2


def test_wrong_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        z3950.read(tmp_path / "missing.mrc")
    assert missing.value.filename == str(tmp_path / "missing.mrc")
    with pytest.raises(IsADirectoryError):
        z3950.read(tmp_path)
    with pytest.raises(TypeError, match="records come from"):
        z3950.read(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="binary mode"):
        list(z3950.read(io.StringIO("text"), "mrk"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="marcxml"):
        z3950.convert(EMMA, to="doc")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="character set"):
        z3950.read(EMMA, charset="klingon")
    with pytest.raises(ValueError, match="strict, repair or skip"):
        z3950.read(EMMA, errors="ignore")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"a record is a z3950\.Record, a pymarc\.Record, a dict or bytes, not int"):
        list(z3950.convert([7], to="json"))  # type: ignore[list-item]


def test_an_exception_of_a_file_comes_through() -> None:
    class Broken:
        def read(self, size: int, /) -> bytes:
            raise PermissionError("the tape is stuck")

    with pytest.raises(PermissionError, match="the tape is stuck"):
        list(z3950.read(Broken()))


@pytest.mark.parametrize("has_writer", [True, False])
def test_an_interrupt_ends_the_wait_for_a_pipe(tmp_path: Path, has_writer: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = """
        import signal, sys, z3950

        interrupts = [KeyboardInterrupt()]

        def interrupt(*_):
            if interrupts:
                raise interrupts.pop()

        signal.signal(signal.SIGINT, interrupt)
        try:
            print("ready", flush=True)
            z3950.read(sys.argv[1])
        except KeyboardInterrupt:
            print("interrupted")
    """
    process = start(script, str(pipe))
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    with pipe.open("wb") if has_writer else nullcontext():
        # The first signals may arrive before the program waits.
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.001)
    assert process.communicate()[0] == "interrupted\n"


def test_an_interrupt_ends_the_search_for_a_record(tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    # The octets before the record are not kept in memory.
    path = tmp_path / "filler.mrc"
    with path.open("wb") as file:
        file.seek(8 << 30)
        file.write(MARC)
    seen: list[z3950.Record] = []
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        records = z3950.read(path)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            seen.extend(records)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen == [], "it was read to its end"


@pytest.mark.parametrize("octets", [EMMA, EMMA.replace(EMMA[12:17], b"99999")], ids=["sound", "damaged"])
def test_an_interrupt_ends_the_reading_of_many_records(octets: bytes) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def read_all() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        collections.deque(records, maxlen=0)

    # The last record is not damaged.
    records = z3950.read(octets * 300_000 + EMMA, errors="skip")
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            read_all()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert next(records, None), "it was read to its end"


def test_records_with_the_same_octets_are_equal(demo: Server) -> None:
    with z3950.connect(demo.target) as cat:
        hits = cat.search("au:austen")
        assert hits[0] == hits[0]
        assert hits[0] != hits[1]
        assert len(set(hits[:] + hits[:])) == len(hits)
        assert hits[0] != "Emma"
        assert next(z3950.read(hits[0].octets)) == hits[0]
    assert one(EMMA) == one(EMMA) != one(EMMA.replace(b"Emma", b"Persuasion"))
    long = {"leader": "00000nam a2200000 a 4500", "fields": [{"001": "x" * 10_000}]}
    assert one(json.dumps(long).encode()) == one(json.dumps(long).encode())


def test_cycles_through_files_are_collected() -> None:
    class File(io.BytesIO):
        reader: object

    file, other = File(EMMA), File(EMMA)
    file.reader, other.reader = z3950.read(file), z3950.convert(other, to="json")
    gone = [weakref.ref(file), weakref.ref(other)]
    del file, other
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_records_of_files_have_octets_in_utf_8() -> None:
    record = one(MARC.replace("é".encode(), b"\xe2e").replace(b"a2200", b" 2200"))
    assert record.text == one(MARC).text
    assert record.octets == record.marc


def test_records_of_servers_keep_their_octets(demo: Server) -> None:
    with z3950.connect(demo.target) as cat:
        record = cat.search("ti:emma")[0]
    assert record.octets == record.marc
    assert record.database == "books"
