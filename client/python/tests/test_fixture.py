"""The fixture of the pytest plugin."""

from __future__ import annotations

import gc
import re
import sys
from pathlib import Path

import pytest
import z3950
from conftest import EMMA, MakeServer
from z3950 import testing
from z3950.testing import Server

pytest_plugins = ["pytester"]


def test_servers_have_addresses_and_databases(z3950_server: MakeServer) -> None:
    server = z3950_server(databases={"a": [("id1", "Emma")], "b": [("id2", "Persuasion"), ("id3", "Emma")]})
    assert server.target.endswith("/a")
    assert server.url == f"z39.50r://{server.target}"
    assert server.http_url == f"http://{server.target}"
    assert repr(server) == f"<Server {server.target}>"
    with z3950.connect(f"{server.target}+b") as both:
        assert len(both.search("ti:emma")) == 2
    with z3950.connect(server.http_url) as sru:
        assert len(sru.search("ti:emma")) == 1


def test_records_in_any_form(z3950_server: MakeServer) -> None:
    [record] = z3950.read(b"=LDR  00000nam a2200000 a 4500\n=001  id7\n=245  10$aEmma\n")
    server = z3950_server(records=[record, record.json, record.pymarc(), record.marc, ("id8", "Emma"), (9, "Emma")])
    with z3950.connect(server.target) as cat:
        assert [found.title for found in cat.search("ti:emma")] == ["Emma"] * 6
        assert cat.get("9").title == "Emma"


def test_apdus_are_what_was_said(demo: Server, cat: z3950.Connection) -> None:
    cat.search("ti:emma")
    assert [(said["direction"], said["apdu"]) for said in demo.apdus] == [
        ("received", "initRequest"),
        ("sent", "initResponse"),
        ("received", "searchRequest"),
        ("sent", "searchResponse"),
    ]


def test_waiting_for_an_apdu_ends(demo: Server) -> None:
    with pytest.raises(z3950.Timeout, match="no scanRequest within 0 s"):
        demo.wait_for("scanRequest", timeout=0)


def test_a_recording_is_replayed(z3950_server: MakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "said.jsonl"
    demo = z3950_server()
    monkeypatch.setenv("Z3950_RECORD", demo.target.removesuffix("/books"))
    between = z3950_server(recorded=path)
    with z3950.connect(between.target.replace("Default", "books")) as cat:
        title = cat.search("ti:emma")[0].title
    between.stop()
    demo.stop()
    monkeypatch.delenv("Z3950_RECORD")
    replay = z3950_server(recorded=path)
    with z3950.connect(replay.target.replace("Default", "books")) as cat:
        assert cat.search("ti:emma")[0].title == title == EMMA


def test_a_recording_without_sessions_keeps_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "said.jsonl"
    path.write_text("before")
    monkeypatch.setenv("Z3950_RECORD", "127.0.0.1:1")
    between = Server(recorded=path)
    with pytest.raises(OSError, match=r"no session with 127\.0\.0\.1:1"):
        between.stop()
    assert path.read_text() == "before"


def test_a_server_that_nobody_stops_tells_why_it_did_not_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("Z3950_RECORD", "127.0.0.1:1")
    told: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(str(unraisable.exc_value)))
    Server(recorded=tmp_path / "said.jsonl")
    gc.collect()
    [words] = told
    assert "no session with 127.0.0.1:1" in words


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"faults": "on search: silence"}, TypeError, "a list of rules"),
        ({"faults": ["on serach: silence"]}, ValueError, "serach"),
        ({"imitate": "voyager"}, ValueError, "yaz-ztest"),
        ({"records": [7]}, TypeError, "a record is"),
        ({"records": [("Emma",)]}, TypeError, "a number and a title"),
        ({"records": [("id7", 7)]}, TypeError, "a number and a title"),
        ({"records": [b"\x00\x01"]}, ValueError, "damaged"),
        ({"records": [("x" * 100_000, "y")]}, ValueError, "cannot have this record: field 001 has 100001 octets"),
        ({"records": [("id7", "Em\x1ema")]}, ValueError, "cannot have this record: a separator octet inside field 245"),
        ({"records": [{"leader": "00000nam a2200000 a 4500", "fields": [{"001": "x" * 10_000}]}]}, ValueError, "001 has 10001 octets"),
        ({"records": [("1", "b \ud800")]}, ValueError, "is no text: it has half of a surrogate pair"),
        ({"databases": {}}, TypeError, "databases has no database"),
        ({"records": [], "imitate": "yaz-ztest"}, TypeError, "only one of"),
        ({"recorded": "said.jsonl", "faults": ["on search: silence"]}, TypeError, "cannot be given with recorded"),
        ({"recorded": "missing.jsonl"}, FileNotFoundError, "^cannot replay missing.jsonl"),
        ({"recorded": __file__}, ValueError, "^cannot replay "),
    ],
)
def test_wrong_settings_are_refused(
    z3950_server: MakeServer, arguments: dict[str, object], error: type[Exception], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(error, match=words):
        z3950_server(**arguments)
    # A panic would have printed its message.
    assert capfd.readouterr().err == ""


def test_a_stopped_server_says_so(demo: Server) -> None:
    demo.stop()
    demo.stop()
    with pytest.raises(z3950.Error, match="the server has been stopped"):
        demo.wait_for("searchRequest")


def test_a_stopped_server_keeps_what_was_said(demo: Server, cat: z3950.Connection) -> None:
    cat.search("ti:emma")
    demo.stop()
    said = [entry["apdu"] for entry in demo.apdus]
    assert said[:4] == ["initRequest", "initResponse", "searchRequest", "searchResponse"]
    assert "close" in said


def test_all_servers_are_stopped_the_last_one_first(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Server] = []
    stopped: list[Server] = []

    class Unwritable(Server):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

        def stop(self) -> None:
            stopped.append(self)
            super().stop()
            raise OSError("the recording cannot be written")

    monkeypatch.setattr(testing, "Server", Unwritable)
    pytester.makepyfile("def test_it(z3950_server): z3950_server(), z3950_server(), z3950_server()")
    pytester.runpytest_inprocess().assert_outcomes(passed=1, errors=1)
    assert len(made) == 3
    assert stopped == made[::-1]


def test_the_tests_of_the_readme_pass(pytester: pytest.Pytester) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    [example] = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    pytester.makepyfile(example)
    pytester.runpytest_inprocess().assert_outcomes(passed=2)


def test_the_rules_of_the_readme_are_rules(z3950_server: MakeServer) -> None:
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    rules = re.findall(r"^\| `(on .*?)` \|", readme, re.MULTILINE)
    assert len(rules) == 10
    server = z3950_server(faults=rules)
    with pytest.warns(testing.UnfiredRule):
        server.stop()


def test_a_project_of_its_own_passes_and_fails_as_it_should(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import z3950

        def titles(target):
            with z3950.connect(target) as cat:
                return [record.title for record in cat.search("ti:emma")]

        def test_it(z3950_server):
            assert titles(z3950_server(records=[("id7", "Emma")]).target) == ["Emma"]

        def test_it_with_a_fault(z3950_server):
            assert titles(z3950_server(records=[("id7", "Emma")], faults=["on present: fail 14"]).target) == ["Emma"]
        """
    )
    outcome = pytester.runpytest_inprocess()
    outcome.assert_outcomes(passed=1, failed=1)
    outcome.stdout.fnmatch_lines(["*z3950.Diagnostic: Present failed:*"])


RULES = ['on search nth=2: fail 2 "try later"', "on present: silence"]


def test_issue_48_a_rule_that_never_struck_is_a_warning(capfd: pytest.CaptureFixture[str]) -> None:
    server = Server(faults=[*RULES, "on init: delay 1ms"])
    with z3950.connect(server.target) as cat:
        cat.search("ti:emma")
    with pytest.warns(testing.UnfiredRule) as warned:
        server.stop()
    assert [str(warning.message) for warning in warned] == [f"the rule `{rule}` of a test server never struck" for rule in RULES]
    assert {Path(warning.filename).name for warning in warned} == {Path(__file__).name}
    # The failure is reported once.
    server.stop()
    del server
    gc.collect()
    assert capfd.readouterr().err == ""


def test_issue_48_an_exception_says_more_than_a_rule_that_never_struck() -> None:
    with pytest.raises(ZeroDivisionError), Server(faults=RULES):
        raise ZeroDivisionError
    with pytest.warns(testing.UnfiredRule), Server(faults=RULES):
        pass


def test_issue_48_pytest_sums_up_rules_that_never_struck(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import z3950

        def test_it(z3950_server):
            z3950_server(faults=["on search nth=2: fail 2 'try later'".replace("'", '"')])

        def test_other(z3950_server):
            server = z3950_server(faults=["on init: delay 1ms"])
            z3950.connect(server.target).close()
        """
    )
    outcome = pytester.runpytest_subprocess()
    outcome.assert_outcomes(passed=2, warnings=1)
    outcome.stdout.fnmatch_lines(["*warnings summary*", '*UnfiredRule: the rule `on search nth=2: fail 2 "try later"` of a test*'])
    strict = pytester.runpytest_subprocess("-W", "error::z3950.testing.UnfiredRule")
    strict.assert_outcomes(passed=2, errors=1)
