"""Damaged records, and diagnostics in place of records, do not affect the other records."""

from __future__ import annotations

import asyncio
import pickle

import pytest
import z3950
from conftest import MakeServer
from z3950 import aio
from z3950.testing import Server

RECORDS = [(number, f"Emma {number}") for number in range(450)]

#: A fault, the exception that it causes for a record, and the number of the 450 records that can still be read.
FAULTS = [
    ("on present nth=2: surrogate 14", z3950.Diagnostic, 370),
    ("on present nth=2: damage truncated", z3950.DamagedRecord, 370),
    ("on present nth=1: surrogate 14", z3950.Diagnostic, 430),
]


@pytest.mark.parametrize(("fault", "kind", "sound"), FAULTS)
def test_audit_r_p2_an_error_in_the_middle_does_not_end_the_iteration(
    z3950_server: MakeServer, fault: str, kind: type[z3950.Error], sound: int
) -> None:
    server = z3950_server(records=RECORDS, faults=[fault])
    with z3950.connect(server.target) as cat:
        read = list(cat.search("ti:emma").records(errors="skip"))
    with z3950.connect(server.target) as cat:
        slots = list(cat.search("ti:emma").records(errors="yield"))
    with z3950.connect(server.target) as cat, pytest.raises(kind):
        list(cat.search("ti:emma").records())
    assert len(read) == sound
    assert [slot.fields("001") for slot in slots if isinstance(slot, z3950.Record)] == [record.fields("001") for record in read]
    assert {type(slot) for slot in slots if not isinstance(slot, z3950.Record)} == {kind}
    assert len(slots) == 450


@pytest.mark.parametrize(("fault", "kind", "sound"), FAULTS)
def test_audit_r_p2_nor_that_of_asyncio(z3950_server: MakeServer, fault: str, kind: type[z3950.Error], sound: int) -> None:
    server = z3950_server(records=RECORDS, faults=[fault])

    async def main() -> None:
        async with aio.connect(server.target) as cat:
            hits = await cat.search("ti:emma")
            assert len([record async for record in hits.records(errors="skip")]) == sound
        async with aio.connect(server.target) as cat:
            hits = await cat.search("ti:emma")
            slots = [slot async for slot in hits.records(errors="yield")]
            assert [type(slot) for slot in slots].count(kind) == 450 - sound
        async with aio.connect(server.target) as cat:
            hits = await cat.search("ti:emma")
            with pytest.raises(kind):
                _ = [record async for record in hits.records()]

    asyncio.run(main())


def test_audit_r_p2_a_damaged_record_is_an_error_that_has_it(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[("id7", "Emma")], faults=["on present: damage truncated", "on search: damage truncated"])
    with z3950.connect(server.target) as cat:
        hits = cat.search("ti:emma")
        for read in (lambda: hits[0], lambda: hits[:1], lambda: next(iter(hits))):
            with pytest.raises(z3950.DamagedRecord, match="is damaged: ") as raised:
                read()
            record = raised.value.record
            assert record.damage
            assert record.damage in str(raised.value)
            assert "damaged" in repr(record)
        assert "is damaged" in (hits._repr_html_() or "")


def test_audit_r_p2_sound_records_have_no_damage(demo: Server) -> None:
    with z3950.connect(demo.target) as cat:
        assert [record.damage for record in cat.search("au:austen")] == [None] * 4


def test_audit_r_p2_a_repaired_record_says_what_was_wrong() -> None:
    sound = b"".join(z3950.convert(b"=LDR  00000nam a2200000 a 4500\n=001  id7\n=245  10$aEmma\n", to="marc"))
    [record] = z3950.read(sound)
    assert record.damage is None
    [record] = z3950.read(sound.replace(b"Emma", b"Emm\xff"), errors="repair")
    assert record.damage
    assert "245" in record.damage


def test_audit_r_p2_what_cannot_be_skipped_is_raised(z3950_server: MakeServer) -> None:
    server = z3950_server(records=RECORDS, faults=["on present: reset"])
    with z3950.connect(server.target) as cat, pytest.raises(z3950.Unavailable):
        list(cat.search("ti:emma").records(errors="skip"))


def test_audit_r_p2_a_server_that_refuses_everything_is_not_asked_for_ever(z3950_server: MakeServer) -> None:
    server = z3950_server(records=RECORDS, faults=["on present: fail 14", "on search: count 1000000000"])
    with z3950.connect(server.target) as cat:
        hits = cat.search("ti:emma")
        with pytest.raises(z3950.Diagnostic):
            list(hits.records(errors="skip"))
    assert len(server.apdus) < 20_000


@pytest.mark.parametrize("errors", ["ignore", "", None, 1])
def test_audit_r_p2_unknown_handling_is_refused(cat: z3950.Connection, errors: object) -> None:
    with pytest.raises(ValueError, match="errors is 'raise', 'skip' or 'yield', not "):
        cat.search("ti:emma").records(errors=errors)  # type: ignore[call-overload]


def test_audit_r_p2_the_error_can_be_sent_to_another_process(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[("id7", "Emma")], faults=["on present: damage truncated"])
    with z3950.connect(server.target) as cat, pytest.raises(z3950.DamagedRecord) as raised:
        cat.search("ti:emma")[0]
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value)
    assert again.record == raised.value.record
