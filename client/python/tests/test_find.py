"""Searches at several targets, as events."""

from __future__ import annotations

import asyncio
import copy
import pickle
import signal
from collections.abc import Iterable
from contextlib import closing
from typing import Any, cast

import pytest
import z3950
from conftest import EMMA, PRIDE, MakeServer, start
from z3950 import aio
from z3950.testing import Server

NAMES = ("kind", "target", "hits", "step", "query", "reason", "choice", "record", "outcome")


def state(event: z3950.Event) -> list[object]:
    return [getattr(event, name) for name in NAMES]


def kinds(events: Iterable[z3950.Event]) -> list[str]:
    return [event.kind for event in events]


def test_audit_r_g44_events_of_a_lookup_at_two_targets(z3950_server: MakeServer, demo: Server) -> None:
    empty = z3950_server(records=[("id7", "Persuasion")])
    events = list(z3950.find([empty.target, demo.target], "isbn:9780141439587", fallback=True, best=True))
    assert {event.target for event in events if event.kind == "asked"} == {empty.target, demo.target}
    assert all(event.reason and event.step for event in events if event.kind == "again")
    [found] = [event for event in events if event.kind == "found" and event.target == demo.target]
    assert (found.hits, bool(found.query)) == (1, True)
    [record] = [event.record for event in events if event.record]
    assert record.title == EMMA
    assert (events[-1].kind, events[-1].target, events[-1].outcome) == ("ended", demo.target, "delivered")
    assert events[-1].choice == "pg158 is the only record"


def test_audit_r_g44_events_of_a_query(demo: Server) -> None:
    events = list(z3950.find(demo.target, z3950.Query.author("austen"), count=2))
    assert kinds(events) == ["asked", "found", "record", "record", "done", "ended"]
    assert (events[1].hits, events[1].query, events[-1].outcome) == (4, None, "delivered")
    assert [event.record.position for event in events if event.record] == [0, 1]


def test_audit_r_g44_events_are_the_same_with_asyncio(demo: Server) -> None:
    async def find() -> list[z3950.Event]:
        return [event async for event in aio.find(demo.target, "local:pg1342")]

    assert [state(event) for event in asyncio.run(find())] == [state(event) for event in z3950.find(demo.target, "local:pg1342")]


def test_audit_r_g44_events_are_described_pickled_and_copied(demo: Server) -> None:
    for event in z3950.find(demo.target, "local:pg1342", best=True):
        assert repr(event).startswith(f"<Event {event.kind}")
        for again in (pickle.loads(pickle.dumps(event)), copy.copy(event), copy.deepcopy(event)):
            assert (state(again), repr(again)) == (state(event), repr(event))


def test_audit_r_g44_a_target_that_does_not_answer_is_an_event(z3950_server: MakeServer, demo: Server) -> None:
    refusing = z3950_server(faults=["on search: fail 2"])
    events = list(z3950.find([refusing.target, demo.target], "local:pg1342", all_targets=True))
    [error] = [event.error for event in events if event.error]
    assert isinstance(error, z3950.Diagnostic)
    assert [event.record.title for event in events if event.record] == [PRIDE]


def test_audit_r_g44_an_error_in_the_place_of_a_record_is_an_event(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on present: surrogate 14"])
    errors = [event.error for event in z3950.find(server.target, z3950.Query.author("austen"), chunk=2)]
    assert z3950.Diagnostic in [type(error) for error in errors]


@pytest.mark.parametrize("last", ["asked", "found", "record"])
def test_audit_r_g44_leaving_the_loop_frees_the_session(demo: Server, last: str) -> None:
    # If the session were not free, the next search would wait for it in vain.
    profile = {"sessions": 1}
    for _ in range(3):
        with closing(cast("Any", z3950.find(demo.target, z3950.Query.author("austen"), profile=profile))) as events:
            for event in events:
                if event.kind == last:
                    break
        assert list(events) == []
    assert [event.outcome for event in z3950.find(demo.target, "local:pg1342", profile=profile)][-1] == "delivered"


def test_audit_r_g44_an_interrupt_ends_the_search(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search nth-of-all=1: delay 1h"])
    script = """
        import signal, sys, z3950
        # Where this runs in the background, SIGINT is ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        events = z3950.find(sys.argv[1], "local:pg1342", timeout=None)
        try:
            list(events)
        except KeyboardInterrupt:
            print("interrupted", list(events), [event.kind for event in z3950.find(sys.argv[1], "local:pg1342")][-1])
    """
    process = start(script, server.target)
    server.wait_for("searchRequest")
    process.send_signal(signal.SIGINT)
    assert process.communicate()[0] == "interrupted [] ended\n"
    assert process.returncode == 0


def test_audit_r_g44_a_cancelled_task_ends_the_search(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search nth-of-all=1: silence"])

    async def find() -> str:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(last(), timeout=0.2)
        return await last()

    async def last() -> str:
        return [event.kind async for event in aio.find(server.target, "local:pg1342", timeout=None)][-1]

    assert asyncio.run(find()) == "ended"


def test_audit_r_g44_wrong_arguments_of_a_search_are_refused_at_once(demo: Server) -> None:
    query = z3950.Query.title("emma")
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
        ((demo.target, "isbn:"), {}, z3950.BadQuery, "nothing follows isbn:"),
        ((demo.target, 5), {}, TypeError, "what is a str"),
        ((demo.target, query), {"best": True}, ValueError, "best=True is for identifiers"),
        ((demo.target, query), {"fallback": 1}, TypeError, "fallback is a bool"),
        ((demo.target, query), {"count": -1}, ValueError, "count is at least 0"),
        (([], query), {}, ValueError, "there is no target"),
    ]
    for arguments, options, error, words in wrong:
        with pytest.raises(error, match=words):
            z3950.find(*arguments, **options)
