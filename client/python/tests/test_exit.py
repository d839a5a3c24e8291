"""Python exits while threads are busy, or with calls of a backend in progress."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import start

RECORD = b"=LDR  00000nam a2200000 a 4500\n=001  id7\n=245  10$aEmma\n\n"

#: The number of concurrent processes, because it is a matter of chance whether a thread is running at the exit.
SEVERAL = 6

#: The maximum time in seconds for a process that is expected to end.
LIMIT = 120


def ended(*processes: subprocess.Popen[str]) -> list[tuple[int, str]]:
    """Returns the exit status of each process, with its output."""
    try:
        said = [process.communicate(timeout=LIMIT)[0] for process in processes]
        return [(process.returncode, words) for process, words in zip(processes, said, strict=True)]
    finally:
        for process in processes:
            process.kill()
            process.wait()


BUSY = """
    import pathlib, sys, threading, z3950

    with open(sys.argv[1], "rb") as file:
        octets = file.read()
    records = list(z3950.read(octets))[:100]

    def read_file():
        with open(sys.argv[1], "rb") as file:
            return list(z3950.read(file))

    def described():
        [record] = z3950.read(octets[: octets.index(b"\\n\\n")])
        for _ in range(100):
            record["245"].subfields = (pair for pair in [("a", "Emma")])

    def refused():
        try:
            z3950.url.parse("z39.50r://")
        except z3950.BadUrl:
            pass

    work = {
        "octets": lambda: list(z3950.read(octets)),
        "path": lambda: list(z3950.read(sys.argv[1])),
        "file": read_file,
        "path object": lambda: list(z3950.read(pathlib.Path(sys.argv[1]))),
        "table": lambda: list(z3950.convert(octets, to="csv")),
        "records": lambda: list(z3950.convert((record for record in records), to="json")),
        "record": lambda: [z3950.Record.from_dict({"leader": "00000nam a2200000 a 4500", "fields": []}) for _ in range(100)],
        "subfields": described,
        "exception": lambda: [refused() for _ in range(100)],
    }[sys.argv[2]]
    begun = threading.Semaphore(0)

    def run():
        while True:
            work()
            begun.release()

    threads = [threading.Thread(target=run, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        begun.acquire()
"""


WORK = ["octets", "path", "path object", "file", "table", "records", "record", "subfields", "exception"]


@pytest.mark.parametrize("work", WORK)
def test_issue_48_python_exits_while_threads_read(tmp_path: Path, work: str) -> None:
    path = tmp_path / "many.mrk"
    path.write_bytes(RECORD * 300)
    assert ended(*(start(BUSY, str(path), work) for _ in range(SEVERAL))) == [(0, "")] * SEVERAL


def test_issue_48_python_exits_while_a_thread_waits_for_a_pipe() -> None:
    script = """
        import sys, threading, z3950

        class Pipe:
            def read(self, size):
                begun.set()
                return sys.stdin.buffer.raw.read(size)

        begun = threading.Event()
        threading.Thread(target=lambda: list(z3950.read(Pipe())), daemon=True).start()
        begun.wait()
    """
    process = start(script)
    try:
        assert process.wait(timeout=LIMIT) == 0
    finally:
        process.kill()
        process.communicate()


SERVE = """
    import threading, z3950

    class Books:
        def search(self, query, request):
            return range(3)

        def record(self, key, request):
            return "text"

    begun = threading.Event()
    options = {"port": 0, "listening": lambda address: begun.set()}
    threading.Thread(target=z3950.serve, args=(Books(),), kwargs=options, daemon=True).start()
    begun.wait()
"""


def test_issue_48_python_exits_while_a_thread_serves() -> None:
    assert ended(*(start(SERVE) for _ in range(2 * SEVERAL))) == [(0, "")] * 2 * SEVERAL


SLOW = """
    import os, signal, sys, threading, warnings, z3950
    from z3950 import _serving
    from z3950.testing import Server

    warnings.filterwarnings("ignore", category=DeprecationWarning)
    begun, go = threading.Event(), threading.Event()

    def work():
        begun.set()
        go.wait()

    class Slow:
        def search(self, query, request):
            work()
            return []

        def record(self, key, request):
            return None

    server = Server(backend=Slow())

    def search():
        try:
            z3950.connect(server.target).search("x")
        except z3950.Error:
            pass

    def begin():
        threading.Thread(target=search, daemon=True).start()
        begun.wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_issue_48_a_child_does_not_wait_for_the_calls_of_its_parent() -> None:
    script = (
        SLOW
        + """
    begin()
    child = os.fork()
    if child == 0:
        # A server of its own is as good as the first one.
        go.set()
        with Server(backend=Slow()) as own, z3950.connect(own.target) as cat:
            sys.exit(7 + len(cat.search("x")))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    go.set()
    print(code)
    """
    )
    assert ended(start(script)) == [(0, "7\n")]


ENDLESS = {
    "waits": "",
    "computes": """
    def work():
        begun.set()
        while True:
            pass
    """,
}


@pytest.mark.parametrize("stop", ["", "server.stop()"])
@pytest.mark.parametrize("work", ENDLESS)
def test_issue_48_python_exits_although_a_call_does_not_end(work: str, stop: str) -> None:
    script = f"""{SLOW}{ENDLESS[work]}
    _serving.PATIENCE = 0.1
    begin()
    {stop}
    """
    [(code, said)] = ended(start(script))
    assert code == 0, said


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGALRM")
def test_issue_48_ctrl_c_ends_the_wait_for_calls() -> None:
    script = (
        SLOW
        + """
    wait = _serving.native.end_calls

    def interrupted(seconds):
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        return wait(seconds)

    _serving.native.end_calls = interrupted
    _serving.PATIENCE = 1e6
    begin()
    """
    )
    assert ended(start(script)) == [(0, "")]
