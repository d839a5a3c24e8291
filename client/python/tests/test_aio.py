"""Tests of the asyncio classes."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar, cast

import pytest
import z3950
from conftest import EMMA, PRIDE, MakeServer, start
from z3950 import aio
from z3950.testing import Server

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(main, debug=True)


def test_everything_is_there(demo: Server) -> None:
    async def main() -> None:
        async with aio.connect(demo.target) as cat:
            hits = await cat.search("au:austen")
            assert len(hits) == 4
            await hits.sort("title")
            titles = [record.title async for record in hits]
            assert titles[0] == (await hits[0]).title == EMMA
            assert [record.title for record in await hits[:2]] == titles[:2]
            assert [term.term for term in await cat.scan("ti:emma", size=1)] == ["emma"]
            assert (await cat.get("pg1342")).title == PRIDE
            assert await cat.lookup("local:pg1342")
            assert await cat.explain()
            with pytest.raises(z3950.Diagnostic):
                await cat.search(z3950.Query.pqf("@attr 1=9999 x"))
            with pytest.raises(IndexError):
                await hits[4]
        with pytest.raises(z3950.Error, match="closed"):
            await cat.search("emma")
        assert (await aio.get(f"{demo.url}?pg1342")).title == PRIDE
        answers = [answer async for answer in aio.lookup(demo.target, ["local:pg1342", "isbn:"], jobs=2)]
        assert [answer.hits for answer in answers] == [1, 0]
        assert isinstance(answers[1].error, z3950.BadQuery)

    run(main())


def test_a_diagnostic_in_the_place_of_a_record_does_not_end_the_iteration(z3950_server: MakeServer) -> None:
    server = z3950_server(
        records=[(f"id{number}", f"Emma {number}") for number in range(3)],
        faults=["on present nth=1: surrogate 14"],
    )

    async def main() -> list[object]:
        async with aio.connect(server.target) as cat:
            records = aiter(await cat.search("ti:emma"))
            seen: list[object] = []
            while True:
                try:
                    seen.append((await anext(records)).title)
                except z3950.Diagnostic as missing:
                    seen.append(missing.condition)
                except StopAsyncIteration:
                    return seen

    assert run(main()) == [14, 14, 14]


def test_records_one_by_one_come_in_pages(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[(f"id{number}", "Emma") for number in range(45)])

    async def main() -> None:
        async with aio.connect(server.target) as cat:
            hits = await cat.search("ti:emma")
            assert [(await hits[index]).position for index in range(45)] == list(range(45))

    run(main())
    assert [said["apdu"] for said in server.apdus].count("presentRequest") == 4


def test_tasks_share_an_iterator(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[(f"id{number}", f"Emma {number}") for number in range(50)])

    async def main() -> set[int | None]:
        async with aio.connect(server.target) as cat:
            records, seen = aiter(await cat.search("ti:emma")), set[int | None]()

            async def read() -> None:
                async for record in records:
                    assert record.position not in seen
                    seen.add(record.position)

            await asyncio.gather(*(read() for _ in range(3)))
            return seen

    assert run(main()) == set(range(50))


def test_updates_and_orders(z3950_server: MakeServer) -> None:
    server = z3950_server(imitate="yaz-ztest")

    async def main() -> None:
        async with await aio.connect(server.target) as cat:
            hits = await cat.search("water")
            assert (await cat.update(await hits[0], action="replace")).status == "done"
            assert (await cat.order(hits, 0, name="Ann")).status == "done"

    run(main())


@pytest.mark.parametrize("jobs", [1, 3])
def test_as_many_lookups_are_in_progress_as_there_are_jobs(demo: Server, jobs: int) -> None:
    async def main() -> None:
        identifiers = [f"local:{number}" for number in range(6)]
        assert [answer.identifier async for answer in aio.lookup(demo.target, identifiers, jobs=jobs)] == identifiers

    run(main())
    assert len({said["session"] for said in demo.apdus}) == jobs


def test_an_iteration_goes_on_where_there_was_no_answer(z3950_server: MakeServer) -> None:
    server = z3950_server(
        records=[(f"id{number}", "Emma") for number in range(60)],
        # The first request is repeated silently.
        faults=["on present nth-of-all=2: silence", "on present nth-of-all=3: silence"],
    )

    async def main() -> None:
        async with aio.connect(server.target, timeout=1) as cat:
            records = aiter(await cat.search("ti:emma"))
            positions = [(await anext(records)).position for _ in range(20)]
            with pytest.raises(z3950.Timeout):
                await anext(records)
            assert positions + [record.position async for record in records] == list(range(60))

    run(main())


def test_lookups_before_a_wrong_identifier_are_answered(demo: Server) -> None:
    async def main() -> None:
        answers = aio.lookup(demo.target, cast("Any", ["local:pg1342", "local:nothing", None]))
        assert [bool(await anext(answers)) for _ in range(2)] == [True, False]
        with pytest.raises(TypeError, match="an identifier is a str, not NoneType"):
            await anext(answers)

    run(main())


def test_many_at_once(demo: Server) -> None:
    async def main() -> list[int]:
        async def count(query: str) -> int:
            async with aio.connect(demo.target) as cat:
                return len(await cat.search(query))

        return await asyncio.gather(*(count("au:austen") for _ in range(20)))

    assert run(main()) == [4] * 20


def test_a_cancelled_task_cancels_its_request_and_the_session_lives(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search nth=1: delay 1h"])

    async def main() -> int:
        async with aio.connect(server.target, timeout=None) as cat:
            search = asyncio.create_task(cat.search("ti:emma"))
            await asyncio.to_thread(server.wait_for, "searchRequest")
            search.cancel()
            with pytest.raises(asyncio.CancelledError):
                await search
            return len(await cat.search("ti:emma"))

    assert run(main()) == 1
    said = [entry["apdu"] for entry in server.apdus]
    assert "triggerResourceControlRequest" in said
    assert said.count("initRequest") == 1


def test_a_timeout_of_asyncio_is_a_cancellation(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search: silence"])

    async def main() -> None:
        cat = await aio.connect(server.target, timeout=None)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(cat.search("ti:emma"), 0.05)

    run(main())


def test_waiting_and_asyncio_go_together(demo: Server) -> None:
    async def main() -> None:
        async with aio.connect(demo.target) as cat:
            with z3950.connect(demo.target) as other:
                assert len(other.search("ti:emma")) == len(await cat.search("ti:emma"))

    run(main())
    # The thread for asyncio continues to run, and waiting threads take turns with it.
    with z3950.connect(demo.target) as cat:
        assert cat.search("ti:emma")[0].title == EMMA


def test_python_exits_while_results_arrive(demo: Server) -> None:
    script = """
        import asyncio, sys
        from z3950 import aio

        async def main():
            cat = await aio.connect(sys.argv[1])
            searches = [asyncio.create_task(cat.search("ti:emma")) for _ in range(20)]
            await searches[0]

        asyncio.run(main())
    """
    process = start(script, demo.target)
    assert process.communicate()[0] == ""
    assert process.returncode == 0


def test_a_loop_may_be_closed_while_requests_wait(z3950_server: MakeServer) -> None:
    script = """
        import asyncio, logging, sys
        from z3950 import aio

        logging.disable()
        loop = asyncio.new_event_loop()

        async def begin():
            cat = await aio.connect(sys.argv[1], timeout=None)
            return asyncio.create_task(cat.search("ti:emma"))

        task = loop.run_until_complete(begin())
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        # The search ends with an error, which nobody awaits, when the server stops.
        print(sys.stdin.read())
    """
    server = z3950_server(faults=["on search: silence"])
    process = start(script, server.target)
    server.wait_for("searchRequest")
    server.stop()
    assert process.communicate("done")[0] == "done\n"
    assert process.returncode == 0


def test_records_are_not_read_without_waiting(demo: Server) -> None:
    async def main() -> None:
        async with aio.connect(demo.target) as cat:
            hits = await cat.search("au:austen")
            with pytest.raises(TypeError, match="async for"):
                list(cast("Any", hits))

    run(main())


def test_errors_are_raised_where_they_are_awaited(z3950_server: MakeServer) -> None:
    server = z3950_server()
    server.stop()

    async def main() -> None:
        with pytest.raises(z3950.Unavailable):
            await aio.connect(server.target)
        with pytest.raises(ValueError, match="jobs"):
            async for _ in aio.lookup(server.target, [], jobs=0):
                pass

    run(main())
