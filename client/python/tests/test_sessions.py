"""Sessions: closed at any moment, lost, limited in number, and kept for the next request."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
import z3950
from conftest import MakeServer, start
from z3950 import _z3950 as native
from z3950 import aio
from z3950.testing import Server


@contextmanager
def when_it_waits(server: Server, act: Callable[[], object]) -> Iterator[None]:
    """Calls a function in another thread after the server has received a search."""

    def run() -> None:
        server.wait_for("searchRequest")
        act()

    acting = threading.Thread(target=run)
    acting.start()
    yield
    acting.join()


@contextmanager
def handling(handler: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Handles a signal in this thread; yields a function that sends it."""
    before = signal.signal(signal.SIGUSR1, lambda *_: handler())
    try:
        yield lambda: os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_another_thread_closes_the_connection_that_waits(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search: silence"])
    cat = z3950.connect(server.target, timeout=None)
    with when_it_waits(server, cat.close), pytest.raises(z3950.Unavailable, match="the session has ended"):
        cat.search("ti:emma")


def test_a_handler_of_signals_closes_the_connection_that_waits(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search: silence"])
    cat = z3950.connect(server.target, timeout=None)
    with (
        handling(cat.close) as send,
        when_it_waits(server, send),
        pytest.raises(z3950.Unavailable, match="the session has ended"),
    ):
        cat.search("ti:emma")


def test_a_task_closes_the_connection_that_another_one_waits_for(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search: silence"])

    async def main() -> None:
        cat = await aio.connect(server.target, timeout=None)
        search = asyncio.create_task(cat.search("ti:emma"))
        await asyncio.to_thread(server.wait_for, "searchRequest")
        await cat.close()
        with pytest.raises(z3950.Unavailable, match="the session has ended"):
            await search

    asyncio.run(main())


def test_a_handler_of_signals_uses_the_connection_that_waits(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search: delay 500ms"])
    terms: list[z3950.ScanTerm] = []
    with z3950.connect(server.target) as cat:
        # The scan is sent after the search, which continues in the meantime.
        with handling(lambda: terms.extend(cat.scan("ti:emma", size=1))) as send, when_it_waits(server, send):
            assert len(cat.search("ti:emma")) == 1
        assert [term.term for term in terms] == ["emma"]


def test_a_closed_connection_makes_room_although_its_result_sets_are_kept(demo: Server) -> None:
    kept: list[z3950.ResultSet] = []
    for _ in range(17):
        with z3950.connect(demo.target) as cat:
            kept.append(cat.search("ti:emma"))
    assert [len(hits) for hits in kept] == [1] * 17


def test_a_connection_too_many_is_refused_in_time(demo: Server) -> None:
    connections = [z3950.connect(demo.target) for _ in range(16)]
    with pytest.raises(z3950.Timeout, match=r"as many sessions as the target allows are in use, .* within 0\.1 s"):
        z3950.connect(demo.target, timeout=0.1)
    for connection in connections:
        connection.close()
    z3950.connect(demo.target).close()


def test_an_update_is_not_sent_on_a_session_that_the_server_has_closed(z3950_server: MakeServer) -> None:
    server = z3950_server(imitate="yaz-ztest")
    host, port = server.target.removesuffix("/Default").split(":")
    clients: list[socket.socket] = []

    def pass_on() -> None:
        """Forwards the connections of two successive clients to the server."""
        for _ in range(2):
            client, _ = listener.accept()
            clients.append(client)
            with client, socket.create_connection((host, int(port))) as upstream, suppress(ConnectionError):
                other = {client: upstream, upstream: client}
                while octets := (source := select.select(list(other), [], [])[0][0]).recv(65536):
                    other[source].sendall(octets)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        between = threading.Thread(target=pass_on, daemon=True)
        between.start()
        with z3950.connect(f"127.0.0.1:{listener.getsockname()[1]}/Default") as cat:
            record = cat.search("water")[0]
            clients[0].shutdown(socket.SHUT_RDWR)
            assert cat.update(record, action="replace").status == "done"
        between.join()
    said = [entry["apdu"] for entry in server.apdus]
    assert (said.count("initRequest"), said.count("extendedServicesRequest")) == (2, 1)


def test_what_was_begun_goes_on_while_nobody_waits(demo: Server) -> None:
    begun = native.lookup([demo.target], "local:pg1342", native.Options()).spawn()
    demo.wait_for("searchRequest")
    assert begun.wait()


def test_sessions_that_nobody_uses_are_closed_when_python_exits(demo: Server) -> None:
    script = """
        import sys, z3950
        [answer] = z3950.lookup(sys.argv[1], ["local:pg1342"])
        print(answer.hits)
    """
    process = start(script, demo.target)
    assert process.communicate()[0] == "1\n"
    assert process.returncode == 0
    demo.wait_for("close")
