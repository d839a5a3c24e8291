"""The example scripts run."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import z3950
from conftest import EMMA, PRIDE, MakeServer, interruptible
from z3950.testing import Server

EXAMPLES = Path(__file__).parent.parent / "examples"
TLS = Path(__file__).parent / "tls"


def run(name: str, *arguments: str, said: str = "") -> str:
    command = [sys.executable, "-W", "error", "-X", "dev", str(EXAMPLES / name), *arguments]
    return subprocess.run(command, input=said, capture_output=True, text=True, check=True).stdout


def test_every_example_has_a_test() -> None:
    tests = Path(__file__).read_text()
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in tests] == []


def test_login_by_tls_with_a_private_authority(z3950_server: MakeServer) -> None:
    server = z3950_server(certificate=TLS / "server.pem", key=TLS / "server-key.pem", users={"ann": "sesame"})
    said = run("login.py", server.tls_target, str(TLS / "ca.pem"), "ann", said="sesame\n")
    assert EMMA in said
    assert PRIDE in said
    with pytest.raises(subprocess.CalledProcessError) as refused:
        run("login.py", server.tls_target, str(TLS / "ca.pem"), "ann", said="wrong\n")
    assert "z3950.Diagnostic" in refused.value.stderr


def test_edit_a_record(tmp_path: Path) -> None:
    before, after = tmp_path / "in.mrc", tmp_path / "out.mrc"
    with Server() as server, z3950.connect(server.target) as cat:
        before.write_bytes(b"".join(z3950.convert(cat.search("ti:emma"), to="marc")))
    run("edit.py", str(before), str(after))
    [record] = z3950.read(after)
    assert record["245"]["a"].startswith("EMMA")
    assert "852" not in record
    assert [text for text in record.fields("650") if text.startswith("Novels")] == ["Novels English"]


def test_a_blocking_search(demo: Server) -> None:
    lines = run("search.py", demo.target, "ti:emma").splitlines()
    assert lines[0] == "001,title,author,year"
    assert EMMA in lines[1]


def test_the_best_record_of_two_targets(demo: Server) -> None:
    lines = (EXAMPLES / "find_best.py").read_text().splitlines()
    assert len([line for line in lines if line]) <= 10
    said = run("find_best.py", demo.target, demo.target, "isbn:9780141439587").splitlines()
    for expected in (f"<Event asked, at {demo.target}>", "is the best of", f"<Event record, at {demo.target}, <Record 'Emma"):
        assert [line for line in said if expected in line], said
    assert said[-1].startswith(f"<Event ended, at {demo.target}, ")


def test_yaz_client_searches_a_backend_in_python() -> None:
    if not shutil.which("yaz-client"):
        pytest.skip("yaz-client is not installed")
    command = [sys.executable, "-W", "error", "-X", "dev", str(EXAMPLES / "backend.py"), "0"]
    with interruptible():
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with server:
        assert server.stdout is not None
        address = server.stdout.readline().removeprefix("listening on ").strip()
        asked = (
            f"open {address}/books\nfind @and @attr 1=4 persuasion @attr 1=1003 austen\nshow 1\n"
            "find @attr 1=1003 austen\nformat xml\nshow 1+2\nscan @attr 1=4 pers\nfind @attr 1=4 nothing\nquit\n"
        )
        said = subprocess.run(["yaz-client"], input=asked, capture_output=True, text=True, check=False).stdout
        server.send_signal(signal.SIGINT)
        _, words = server.communicate()
    for expected in ("Number of hits: 1,", "245 10 $a Persuasion", "Number of hits: 2,", "<marc:", "Number of hits: 0,"):
        assert expected.replace("<marc:", "<subfield") in said, said
    assert "* Persuasion" in said, said
    assert words.rstrip().endswith("KeyboardInterrupt")
