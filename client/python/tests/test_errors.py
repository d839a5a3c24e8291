"""Every failure raises a Python exception with a plain message."""

from __future__ import annotations

import asyncio
import collections
import multiprocessing
import operator
import os
import pickle
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, cast

import pytest
import z3950
from conftest import EMMA, MakeServer, start
from z3950 import _z3950 as native
from z3950 import aio
from z3950.testing import Server

TLS = Path(__file__).parent / "tls"


def test_the_exceptions_are_a_family() -> None:
    for name in ["NoMatch", "Ambiguous", "Diagnostic", "Unavailable", "Timeout", "BadUrl", "BadQuery"]:
        assert issubclass(getattr(z3950, name), z3950.Error)
    assert issubclass(z3950.Timeout, TimeoutError)
    assert issubclass(z3950.BadQuery, ValueError)


def test_exceptions_survive_pickling() -> None:
    for error in [
        z3950.Error("words"), z3950.Diagnostic("words", 114, "1=5"), z3950.Ambiguous("words", 3), z3950.BadQuery("words", 7),
    ]:  # fmt: skip
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_what_no_record_or_several_match(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[("id7", "Emma"), ("id7", "Emma")])
    with z3950.connect(server.target) as cat:
        with pytest.raises(z3950.NoMatch, match="no record matches"):
            cat.get("id8")
        with pytest.raises(z3950.Ambiguous, match="2 records match") as raised:
            cat.get("id7")
    assert raised.value.hits == 2
    with pytest.raises(z3950.NoMatch):
        z3950.get(f"{server.url}?id8")


def test_a_diagnostic_has_its_condition_and_addinfo(cat: z3950.Connection) -> None:
    with pytest.raises(z3950.Diagnostic, match="Search failed") as raised:
        cat.search(z3950.Query.pqf("@attr 1=9999 emma"))
    assert (raised.value.condition, raised.value.addinfo) == (114, "9999")
    # The connection can still be used.
    assert len(cat.search("ti:emma")) == 1


def test_audit_r_d3_a_search_that_is_refused_with_a_status_of_success_is_refused(z3950_server: MakeServer) -> None:
    rules = [f'on {request}: fail-as-success 236 "not for you"' for request in ["search", "sru search"]]
    server = z3950_server(records=[("id7", "Emma")], faults=rules)
    for target in [server.target, f"http://{server.target}"]:
        with z3950.connect(target) as cat:
            with pytest.raises(z3950.Diagnostic) as raised:
                cat.search("ti:emma")
            assert raised.value.condition == 236
            assert str(raised.value.addinfo).startswith("not for you")
            with pytest.raises(z3950.Diagnostic):
                cat.lookup("isbn:0141439513")
            with pytest.raises(z3950.Diagnostic):
                cat.get("id7")
        (answer,) = z3950.lookup(target, ["isbn:0141439513"])
        assert isinstance(answer.error, z3950.Diagnostic)
    with pytest.raises(z3950.Diagnostic):
        z3950.get(f"{server.url}?id7")


class Written:
    """A record whose binary form is a str, which is wrong."""

    def as_marc(self) -> str:
        return __file__


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda cat: cat.search(7), TypeError, "a query is a str or a z3950.Query, not int"),
        (lambda cat: cat.search(None), TypeError, "not NoneType"),
        (lambda cat: cat.search("tilte:emma"), z3950.BadQuery, "did you mean"),
        (lambda cat: cat.search(""), z3950.BadQuery, "."),
        (lambda cat: z3950.Query.pqf("@and emma"), z3950.BadQuery, "."),
        (lambda cat: z3950.Query.title("emma") & cast("Any", "emma"), TypeError, "unsupported operand"),
        (lambda cat: z3950.Query.title(cast("Any", b"emma")), TypeError, "str"),
        (lambda cat: cat.search("emma")["0"], TypeError, "an index is an int or a slice, not str"),
        (lambda cat: cat.search("ti:emma")[1], IndexError, "there is no record 1: the result set has 1"),
        (lambda cat: cat.search("ti:emma").sort("tilte"), ValueError, "did you mean title"),
        (lambda cat: cat.search("ti:emma", first=-1), ValueError, "first is at least 0, not -1"),
        (lambda cat: cat.search("ti:emma", first="1"), TypeError, "first is an int, not str"),
        (lambda cat: cat.search("ti:emma").sort(["title"]), TypeError, "a key is a str, not list: write sort"),
        (lambda cat: cat.order(None), TypeError, r"hits is a z3950\.ResultSet, not NoneType"),
        (lambda cat: cat.order([cat.search("ti:emma")[0]]), TypeError, r"hits is a z3950\.ResultSet, not list"),
        (lambda cat: cat.scan("ti:emma", size=10**30), ValueError, "size is at most 9223372036854775807, not 1"),
        (lambda cat: cat.scan("ti:emma", size=-1), ValueError, "size is at least 0, not -1"),
        (lambda cat: cat.scan("ti:emma", position=-1), ValueError, "position is at least 0, not -1"),
        (lambda cat: cat.search("ti:emma")[0].fields(245), TypeError, "a tag is a str such as '245', not int"),
        (lambda cat: cat.search("ti:emma")[0].fields("245", 1), TypeError, "a code is a str such as 'a', not int"),
        (lambda cat: z3950.Query.title("emma") and z3950.Query.author("austen"), TypeError, "join queries by &"),
        (lambda cat: not z3950.Query.title("emma"), TypeError, "join queries by &"),
        (lambda cat: cat.scan("ti:war au:tolstoy"), z3950.BadQuery, "one term"),
        (lambda cat: cat.lookup("isbn:"), z3950.BadQuery, "."),
        (lambda cat: cat.lookup(["isbn:0141439513"]), TypeError, "an identifier is a str, not list"),
        (lambda cat: list(z3950.lookup("lib.example", cast("Any", [12]))), TypeError, "an identifier is a str, not int"),
        (lambda cat: cat.get(""), z3950.BadQuery, "^the docid is empty$"),
        (lambda cat: cat.get(b""), z3950.BadQuery, "^the docid is empty$"),
        (lambda cat: cat.get(12), TypeError, "a docid is a str or bytes, not int"),
        (lambda cat: cat.update([12]), TypeError, "a record is"),
        (lambda cat: cat.update(b"\x00"), ValueError, "there is no record to update"),
        (lambda cat: cat.update(cast("Any", Written())), TypeError, r"as_marc\(\) of a Written gives bytes, not str"),
        (lambda cat: cat.update(cat.search("ti:emma")[0], action="upsert"), ValueError, "neither insert, replace nor delete"),
        (lambda cat: z3950.connect("lib.example:port/x"), z3950.BadUrl, "."),
        (lambda cat: z3950.connect(""), z3950.BadUrl, "empty"),
        (lambda cat: z3950.connect("lib.example", timeout=cast("Any", "5")), TypeError, r"^timeout is float \| int \| None, not str$"),
        (lambda cat: z3950.connect("lib.example", user=cast("Any", 5)), TypeError, r"^user is str \| None, not int$"),
        (lambda cat: z3950.connect("lib.example", holdings=cast("Any", 1)), TypeError, "^holdings is bool, not int$"),
        (lambda cat: z3950.connect("lib.example", timeout=-1), ValueError, "timeout"),
        (lambda cat: z3950.connect("lib.example", timeout=float("nan")), ValueError, "timeout"),
        (lambda cat: z3950.connect("lib.example", syntax="usmark"), ValueError, "record syntax"),
        (lambda cat: z3950.connect("lib.example", syntax="usmarc", holdings=True), ValueError, "leave out syntax"),
        (lambda cat: cast("Any", z3950.connect)("lib.example", colour="red"), TypeError, "unexpected keyword argument 'colour'"),
        (lambda cat: z3950.get("z39.50r://lib.example/cat"), z3950.BadUrl, "names no record"),
        (lambda cat: z3950.get("nothing"), z3950.BadUrl, "."),
        (lambda cat: z3950.get("z39.50r://lib.example/cat?id7", syntax="xml"), TypeError, "the URL names the form of the record"),
        (lambda cat: z3950.get("z39.50r://lib.example/cat?id7", elements="B"), TypeError, "the URL names the form of the record"),
        (lambda cat: z3950.lookup("lib.example:port/x", ["isbn:0141439513"]), z3950.BadUrl, "port"),
        (lambda cat: z3950.lookup([], ["isbn:0141439513"]), ValueError, "there is no target"),
        (lambda cat: z3950.lookup(cast("Any", [12]), ["isbn:0141439513"]), TypeError, "a target is a str, not int"),
        (lambda cat: z3950.lookup("lib.example", [], best=cast("Any", "x")), TypeError, "best is a bool, not str"),
        (lambda cat: z3950.lookup("lib.example", [], jobs=0), ValueError, "jobs is at least 1, not 0"),
        (lambda cat: z3950.lookup("lib.example", [], jobs=cast("Any", 2.5)), TypeError, "jobs is an int, not float"),
        (lambda cat: z3950.lookup("lib.example", "isbn:0141439513"), TypeError, "a list of str"),
        (lambda cat: cast("Any", z3950).nothing, AttributeError, "nothing"),
    ],
)
def test_wrong_values_are_refused_in_plain_words(
    cat: z3950.Connection, call: Callable[[Any], object], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as raised:
        call(cat)
    assert "Py" not in str(raised.value)


@pytest.mark.parametrize(
    ("call", "url"),
    [
        (z3950.connect, "z39.50s://ann:secret@{}"),
        (z3950.connect, "z39.50s://ann@{}"),
        (z3950.connect, "http://ann:secret@{}"),
        (z3950.get, "z39.50r://ann:secret@{}?pg1342"),
        (lambda url: list(z3950.lookup(url, ["local:pg1342"])), "z39.50s://ann:secret@{}"),
        (aio.connect, "z39.50s://ann:secret@{}"),
        (lambda url: asyncio.run(aio.get(url)), "z39.50r://ann:secret@{}?pg1342"),
    ],
)
def test_a_user_in_a_url_is_refused(demo: Server, call: Callable[[str], Any], url: str) -> None:
    with pytest.raises(z3950.BadUrl, match="give them as user= and password=") as raised:
        call(url.format(demo.target))
    assert "secret" not in str(raised.value)
    assert demo.apdus == []


def test_a_server_that_is_not_there(z3950_server: MakeServer) -> None:
    server = z3950_server()
    server.stop()
    with pytest.raises(z3950.Unavailable, match=r"connection refused$") as raised:
        z3950.connect(server.target)
    assert not isinstance(raised.value, z3950.Timeout)
    # With several targets, the message names the one that failed.
    assert str(raised.value).startswith(f"{server.target}: cannot connect: ")
    with pytest.raises(z3950.Unavailable, match=rf"^{re.escape(server.url)}\?pg1342: cannot connect: "):
        z3950.get(f"{server.url}?pg1342")
    [answer] = z3950.lookup(server.target, ["local:pg1342"])
    assert isinstance(answer.error, z3950.Unavailable)
    assert str(answer.error).startswith(f"{server.target}: cannot connect: ")


def test_a_file_of_targets_that_is_not_valid_is_no_bad_url(tmp_path: Path) -> None:
    file = tmp_path / "z3950" / "targets.toml"
    file.parent.mkdir()
    file.write_text("[targets")
    script = """
        import os, sys, z3950
        os.environ["XDG_CONFIG_HOME"] = sys.argv[1]
        for call in (z3950.targets, lambda: z3950.connect("lib.example")):
            try:
                call()
            except z3950.Error as error:
                print(type(error).__name__, "targets.toml is not a valid targets file" in str(error))
    """
    assert start(script, str(tmp_path)).communicate()[0] == "Error True\n" * 2


def test_no_answer_in_time(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search: silence"])
    with z3950.connect(server.target, timeout=0.1) as cat, pytest.raises(z3950.Timeout, match="Search in time"):
        cat.search("ti:emma")


def test_no_connection_in_time() -> None:
    with socket.socket() as listener, socket.socket() as waiting:
        # The queue has room for one connection; further ones are not answered.
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting.connect(listener.getsockname())
        with pytest.raises(z3950.Timeout, match=r"no connection in time: no response within 0\.1 s"):
            z3950.connect("{}:{}/cat".format(*listener.getsockname()), timeout=0.1)


def test_the_request_after_a_lost_one_has_a_new_session(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search nth-of-all=2: silence"])
    with z3950.connect(server.target, timeout=1) as cat:
        hits = cat.search("au:austen")
        with pytest.raises(z3950.Timeout):
            cat.search("ti:emma")
        hits.sort("title")
        assert hits[0].title == EMMA
        assert len(cat.search("ti:emma")) == 1


def test_queries_are_joined_up_to_the_limit(cat: z3950.Connection) -> None:
    # Every join is checked, so that no tree can become too deep to be copied, sent or dropped.
    for join in (operator.and_, operator.or_, operator.sub):
        query = term = z3950.Query.title("emma")
        for _ in range(1000):
            query = join(query, term)
        assert z3950.Query.pqf(str(query)) == query
        cat.search(query)
        for left, right in ((query, term), (term, query)):
            with pytest.raises(z3950.BadQuery, match="more than 1000 operators"):
                join(left, right)


def test_a_server_that_dies_while_one_iterates(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[(f"id{number}", "Emma") for number in range(60)])
    with z3950.connect(server.target) as cat:
        records = iter(cat.search("ti:emma"))
        assert next(records).title == "Emma"
        server.stop()
        # The records received must not be taken for the complete result.
        for _ in range(2):
            with pytest.raises(z3950.Unavailable):
                collections.deque(records, maxlen=0)


def test_an_iteration_goes_on_where_there_was_no_answer(z3950_server: MakeServer) -> None:
    titles = [f"Title {number:03}" for number in range(300)]
    server = z3950_server(
        records=[(f"id{number}", title) for number, title in enumerate(titles)],
        faults=[f"on present nth-of-all={number}: {fault}" for number, fault in enumerate(("silence", "silence", "reset"), 2)],
    )
    with z3950.connect(server.target, timeout=1) as cat:
        records = iter(cat.search("ti:title"))
        seen: list[str | None] = []
        failures: list[type[Exception]] = []
        while True:
            try:
                seen.append(next(records).title)
            except z3950.Unavailable as failure:
                failures.append(type(failure))
            except StopIteration:
                break
    assert seen == titles
    assert failures[0] is z3950.Timeout


def test_no_record_at_a_position_ends_the_iteration(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search: count 9999999999999"])
    with z3950.connect(server.target) as cat:
        records = iter(cat.search("au:austen"))
        assert len([next(records) for _ in range(4)]) == 4
        with pytest.raises(z3950.Diagnostic) as raised:
            next(records)
        assert raised.value.condition == 13
        assert list(records) == []


def test_a_diagnostic_in_the_place_of_a_record_does_not_end_the_iteration(z3950_server: MakeServer) -> None:
    server = z3950_server(
        records=[(f"id{number}", f"Emma {number}") for number in range(3)],
        faults=["on present: surrogate 14"],
    )
    with z3950.connect(server.target) as cat:
        records = iter(cat.search("ti:emma"))
        seen: list[str | None] = []
        while True:
            try:
                seen.append(next(records).title)
            except z3950.Diagnostic as missing:
                seen.append(str(missing.condition))
            except StopIteration:
                break
    assert "14" in seen
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("fault", "records", "words"),
    [
        ("on init: reject 101 x", 0, "access was refused"),
        ("on init: octets 00", 0, "expected an APDU"),
        ("on search: count -5", 0, "resultCount is -5"),
        ("on search: count 9223372036854775807", 4, "no record at this position"),
        ("on search: garbage 1000000", 0, "expected an APDU"),
        ("on present: fewer 0", 0, "gave no reason"),
        ("on present: more 1000", 0, "more records than requested"),
        ("on present: returned -1", 0, "numberOfRecordsReturned is -1"),
        ("on present: cut 50", 0, "50 octets into an APDU"),
        ("on present: reset 5", 0, "closed"),
        ("on present: close", 0, "closed the session"),
        ("on present: damage truncated", 4, None),
        ("on present: damage directory", 4, None),
        ("on present: damage empty", 4, None),
        ("on present: after segment", 4, None),
    ],
)
def test_what_a_server_sends_is_records_or_an_error(z3950_server: MakeServer, fault: str, records: int, words: str | None) -> None:
    server = z3950_server(faults=[fault])
    seen: list[z3950.Record] = []
    expected = pytest.raises(z3950.Error, match=words) if words else nullcontext()
    with expected, z3950.connect(server.target) as cat:
        hits = cat.search("au:austen")
        for found in hits.records(errors="yield") if words is None else hits:
            record = found.record if isinstance(found, z3950.DamagedRecord) else found
            assert isinstance(record, z3950.Record)
            seen.append(record)
            _ = record.title, record.json, record.text, record.marcxml, record.holdings, record.fields("245"), record.octets
            assert str(record) == record.text
            assert repr(record).startswith("<Record ")
    assert len(seen) == records


def test_a_closed_connection_says_so(demo: Server) -> None:
    with z3950.connect(demo.target) as cat:
        hits = cat.search("ti:emma")
    for call in (lambda: cat.search("emma"), lambda: hits[0], lambda: list(hits), lambda: cat.get("pg1342")):
        with pytest.raises(z3950.Error, match="the connection is closed"):
            call()
    cat.close()
    assert repr(cat).endswith("(closed)>")


def test_a_result_is_taken_once(demo: Server) -> None:
    request = native.connect(demo.target, native.Options())
    request.wait()
    with pytest.raises(z3950.Error, match="was taken before"):
        request.wait()


def test_a_panic_is_an_exception() -> None:
    # The builder of servers panics if it cannot open files.
    script = """
        import resource, z3950
        from z3950.testing import Server

        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        try:
            Server()
        except z3950.Error as error:
            print(type(error).__name__, error)
    """
    assert "\nError internal error: " in start(script).communicate()[0]


def test_other_threads_go_on_while_one_waits(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search: silence"])
    failed: list[z3950.Error] = []

    def wait() -> None:
        try:
            slow.search("emma")
        except z3950.Error as error:
            failed.append(error)

    waiting = threading.Thread(target=wait)
    with z3950.connect(server.target) as slow:
        waiting.start()
        # If the other thread held the GIL or the runtime, this thread would have to wait too.
        server.wait_for("searchRequest")
        with z3950.connect(server.target) as other:
            assert other.scan("ti:emma", size=1)
        server.stop()
        waiting.join()
    assert failed


def test_threads_share_a_connection(cat: z3950.Connection) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(len(list(cat.search("au:austen"))))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [4] * 8


def test_an_iterator_is_for_one_thread_at_a_time(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on present: silence"])
    with z3950.connect(server.target, timeout=None) as slow:
        records = iter(slow.search("au:austen"))

        def wait() -> None:
            with suppress(z3950.Error):
                next(records)

        waiting = threading.Thread(target=wait)
        waiting.start()
        server.wait_for("presentRequest")
        with pytest.raises(z3950.Error, match="another thread is reading"):
            next(records)
        server.stop()
        waiting.join()


def test_an_interrupt_ends_the_wait_and_the_connection_lives(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search nth=1: delay 1h"])
    script = """
        import signal, sys, z3950
        # Where this runs in the background, SIGINT is ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cat = z3950.connect(sys.argv[1], timeout=None)
        try:
            cat.search("ti:emma")
        except KeyboardInterrupt:
            print("interrupted", len(cat.search("ti:emma")))
    """
    process = start(script, server.target)
    server.wait_for("searchRequest")
    process.send_signal(signal.SIGINT)
    assert process.communicate()[0] == "interrupted 1\n"
    assert process.returncode == 0
    said = [entry["apdu"] for entry in server.apdus]
    assert said.count("initRequest") == said.count("triggerResourceControlRequest") == 1


def test_a_handler_of_signals_runs_while_one_waits(z3950_server: MakeServer) -> None:
    server = z3950_server(faults=["on search: silence"])

    def handler(*_: object) -> None:
        raise z3950.Error("from the handler")

    def kill_when_it_waits() -> None:
        server.wait_for("searchRequest")
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with z3950.connect(server.target, timeout=None) as cat:
            kill = threading.Thread(target=kill_when_it_waits)
            kill.start()
            with pytest.raises(z3950.Error, match="from the handler"):
                cat.search("ti:emma")
            kill.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_a_child_leaves_the_blocks_of_its_parent() -> None:
    script = """
        import os, sys, warnings, z3950
        from z3950.testing import Server

        warnings.filterwarnings("ignore", category=DeprecationWarning)
        with Server() as server, z3950.connect(server.target) as cat:
            child = os.fork()
            if child == 0:
                # Neither waits for the threads of the parent's server nor closes its session.
                sys.exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), cat.search("ti:emma")[0].title)
    """
    process = start(script)
    assert process.communicate()[0] == f"7 {EMMA}\n"


def test_a_fork_while_another_thread_waits(z3950_server: MakeServer, demo: Server) -> None:
    script = """
        import os, sys, threading, warnings, z3950

        warnings.filterwarnings("ignore", category=DeprecationWarning)
        cat = z3950.connect(sys.argv[1], timeout=None)
        threading.Thread(target=cat.search, args=("emma",), daemon=True).start()
        sys.stdin.read()
        child = os.fork()
        with z3950.connect(sys.argv[2]) as own:
            # One write for each line, so that those of the two processes never mix.
            os.write(1, f"{own.search('ti:emma')[0].title}\\n".encode())
        if child:
            os.waitpid(child, 0)
    """
    silent = z3950_server(faults=["on search: silence"])
    process = start(script, silent.target, demo.target)
    silent.wait_for("searchRequest")
    # Both processes end, although a thread of the parent is still waiting.
    assert process.communicate()[0] == f"{EMMA}\n" * 2
    assert process.returncode == 0


def _in_the_child(cat: z3950.Connection, file: Iterator[z3950.Record], target: str, answers: Any) -> None:
    for call in (lambda: cat.search("ti:emma"), lambda: next(file)):
        try:
            call()
        except z3950.Error as error:
            answers.send(str(error))
    answers.send(repr(cat))
    with z3950.connect(target) as own:
        answers.send(own.search("ti:emma")[0].title)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_use_after_a_fork_is_refused(cat: z3950.Connection, demo: Server, tmp_path: Path) -> None:
    hits = cat.search("ti:emma")
    path = tmp_path / "many.mrc"
    path.write_bytes(b"".join(z3950.convert(hits, "marc")) * 1000)
    file = z3950.read(path)
    assert next(file).title == EMMA
    receiver, sender = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_in_the_child, args=(cat, file, demo.target, sender))
    child.start()
    for _ in range(2):
        assert "before a fork" in receiver.recv()
    assert receiver.recv() == f"<Connection {cat.target} (closed)>"
    assert receiver.recv() == EMMA
    child.join()
    assert child.exitcode == 0
    # The child has not affected the parent's session or its position in the file.
    assert hits[0].title == EMMA
    assert len(list(file)) == 999


QUESTIONS = ("is_timeout", "is_connect", "is_transient", "is_connection_lost")


def answers(error: BaseException) -> tuple[bool, ...]:
    found = tuple(getattr(error, question) for question in QUESTIONS)
    assert all(type(answer) is bool for answer in found)
    assert isinstance(error, z3950.Error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), vars(again), str(again)) == (type(error), vars(error), str(error))
    return found


def test_issue_48_errors_say_what_to_do_next(z3950_server: MakeServer) -> None:
    stopped = z3950_server()
    stopped.stop()
    pem = {"certificate": TLS / "server.pem", "key": TLS / "server-key.pem"}
    with pytest.raises(z3950.Unavailable) as refused:
        z3950.connect(stopped.target)
    assert answers(refused.value) == (False, True, True, False)
    with pytest.raises(z3950.Unavailable, match="certificate") as untrusted:
        z3950.connect(z3950_server(**pem).tls_target)
    assert answers(untrusted.value) == (False, True, False, False)
    faults: list[tuple[str, type[z3950.Error], tuple[bool, ...]]] = [
        ("silence", z3950.Timeout, (True, False, True, False)),
        ("reset", z3950.Unavailable, (False, False, True, True)),
        ("fail 2", z3950.Diagnostic, (False, False, True, False)),
        ("fail 109", z3950.Diagnostic, (False, False, True, False)),
        ("fail 114", z3950.Diagnostic, (False, False, False, False)),
    ]
    for fault, kind, expected in faults:
        server = z3950_server(faults=[f"on search: {fault}"])
        timeout = 1 if kind is z3950.Timeout else 30

        async def search(target: str, timeout: float) -> None:
            async with aio.connect(target, timeout=timeout) as cat:
                await cat.search("ti:emma")

        with z3950.connect(server.target, timeout=timeout) as cat, pytest.raises(kind) as raised:
            cat.search("ti:emma")
        assert answers(raised.value) == expected, fault
        with pytest.raises(kind) as raised:
            asyncio.run(search(server.target, timeout))
        assert answers(raised.value) == expected, fault


def test_issue_48_errors_of_no_server_are_not_transient(cat: z3950.Connection) -> None:
    [record] = z3950.read(b"=LDR  00000nam a2200000 a 4500\n=001  id7\n")
    for error in (
        z3950.Error("x"),
        z3950.NoMatch("x"),
        z3950.Ambiguous("x", 2),
        z3950.Diagnostic("x", 2),
        z3950.DamagedRecord("x", record),
        z3950.Unavailable("x"),
        z3950.BadUrl("x"),
        z3950.BadQuery("x", 1),
    ):
        assert answers(error) == (False,) * 4
    assert answers(z3950.Timeout("x")) == (True, False, False, False)
    with pytest.raises(z3950.BadQuery) as raised:
        cat.search("tilte:emma")
    assert answers(raised.value) == (False,) * 4
    with pytest.raises(z3950.NoMatch) as missing:
        cat.get("nothing")
    assert answers(missing.value) == (False,) * 4


def is_limit(raised: pytest.ExceptionInfo[z3950.Timeout]) -> None:
    assert str(raised.value).startswith("the call did not end in time")
    assert answers(raised.value) == (True, False, True, False)


def test_issue_48_each_call_has_a_limit_as_a_whole(z3950_server: MakeServer) -> None:
    slow = z3950_server(faults=["on search: delay 1h"])
    with z3950.connect(slow.target, timeout=None) as cat:
        limited = cat.within(0.2)
        asks: list[Callable[[], object]] = [
            lambda: limited.search("ti:emma"),
            lambda: limited.get("pg1342"),
            lambda: limited.lookup("local:pg1342"),
        ]
        for ask in asks:
            with pytest.raises(z3950.Timeout) as raised:
                ask()
            is_limit(raised)

    async def search() -> None:
        async with aio.connect(slow.target, timeout=None) as cat:
            with pytest.raises(z3950.Timeout) as raised:
                await cat.within(0.2).search("ti:emma")
            is_limit(raised)

    asyncio.run(search())


def test_issue_48_the_limit_is_that_of_result_sets_too(z3950_server: MakeServer) -> None:
    server = z3950_server(records=[(number, "Emma") for number in range(60)], faults=["on present: delay 1h"])
    with z3950.connect(server.target, timeout=None) as cat:
        hits = cat.within(2).search("ti:emma")
        reads: list[Callable[[], object]] = [
            lambda: hits[0],
            lambda: hits[:10],
            lambda: next(iter(hits)),
            lambda: list(hits.records(errors="skip")),
        ]
        for read in reads:
            with pytest.raises(z3950.Timeout) as raised:
                read()
            is_limit(raised)

    async def read_one() -> None:
        async with aio.connect(server.target, timeout=None) as cat:
            hits = await cat.within(2).search("ti:emma")
            with pytest.raises(z3950.Timeout) as raised:
                await hits[0]
            is_limit(raised)

    asyncio.run(read_one())


def test_issue_48_a_limit_is_that_of_the_same_connection(demo: Server, cat: z3950.Connection) -> None:
    limited = cat.within(60)
    assert limited.target == cat.target
    hits = limited.search("au:austen")
    # It uses the same session, but does not have the limit of the connection from which it was created.
    assert cat.order(hits, 0).status in ("done", "accepted")
    assert limited.order(cat.search("ti:emma"), 0).status in ("done", "accepted")
    assert [entry["apdu"] for entry in demo.apdus].count("initRequest") == 1
    limited.close()
    for closed in (cat, limited, cat.within(1)):
        with pytest.raises(z3950.Error, match="the connection is closed"):
            closed.search("ti:emma")
        assert repr(closed).endswith("(closed)>")


@pytest.mark.parametrize(
    ("seconds", "error"),
    [(0, ValueError), (-1, ValueError), (float("nan"), ValueError), (float("inf"), ValueError), (True, TypeError), ("5", TypeError),
     (None, TypeError)],
)  # fmt: skip
def test_issue_48_a_limit_is_a_number_of_seconds(demo: Server, cat: z3950.Connection, seconds: Any, error: type[Exception]) -> None:
    async def limited() -> None:
        async with aio.connect(demo.target) as other:
            other.within(seconds)

    for call in (lambda: cat.within(seconds), lambda: asyncio.run(limited())):
        with pytest.raises(error, match="seconds"):
            call()
