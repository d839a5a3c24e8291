"""Tests with other servers, if they are installed: yaz-ztest, and zebrasrv with records of the small catalogue."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import z3950
from conftest import EMMA, PRIDE, start
from z3950.testing import Server

TABLES = "/usr/share/idzebra-2.0/tab"

#: Starts a program with the address to listen at as its last argument, and returns the address.
Start = Callable[..., str]


def installed(program: str) -> str:
    if (path := shutil.which(program)) is None:
        assert os.environ.get("Z3950_PEERS") != "required", f"{program} is not installed"
        pytest.skip(f"{program} is not installed")
    return path


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Start]:
    processes: list[subprocess.Popen[bytes]] = []

    def start(program: str, *arguments: str) -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "{}:{}".format(*free.getsockname())
        command = [installed(program), "-v", "none", *arguments, f"tcp:{address}"]
        processes.append(subprocess.Popen(command, cwd=tmp_path))
        while processes[-1].poll() is None:
            with suppress(z3950.Unavailable), z3950.connect(address):
                return address
        pytest.fail(f"{program} has ended")

    yield start
    for process in processes:
        process.kill()
        process.wait()


def test_yaz_ztest(peer: Start, tmp_path: Path) -> None:
    # Without this file, the server crashes at the first Scan.
    (tmp_path / "dummy-words").write_text("war:3\npeace:2\n")
    target = f"{peer('yaz-ztest', '-S')}/Default"
    with z3950.connect(target, timeout=30) as cat:
        hits = cat.search('ti:"war and peace" au:tolstoy')
        assert len(hits) == len(cat.search(z3950.Query.title("war and peace") & z3950.Query.author("tolstoy"))) > 0
        for record in hits[:10]:
            assert record.syntax == "usmarc"
            assert record.title
            assert record.pymarc()["245"]["a"] in record.fields("245", "a")
            assert record.json["fields"]
            assert record.marcxml
        assert len(list(hits)) == len(hits)
        assert cat.scan("ti:war")[0].term == "war"
        assert cat.update(hits[0], action="replace").status == "done"
        with pytest.raises(z3950.Diagnostic) as refused:
            z3950.connect(target.replace("Default", "nothing")).search("x")
        assert refused.value.condition == 109
    answers = list(z3950.lookup(target, ["isbn:0141439513", "lccn:85010105"], jobs=4))
    assert [answer.error for answer in answers] == [None, None]


def test_zebrasrv(peer: Start, tmp_path: Path) -> None:
    indexer = installed("zebraidx")
    modules = next(Path("/usr/lib").glob("*/idzebra-2.0/modules"))
    for name in ("register", "lock", "tmp", "records"):
        (tmp_path / name).mkdir()
    (tmp_path / "zebra.cfg").write_text(
        f"profilePath: .:{TABLES}\nmodulePath: {modules}\nattset: bib1.att\nrecordType: grs.marcxml.marc21\n"
        "register: register:1G\nlockDir: lock\nsetTmpDir: tmp\nkeyTmpDir: tmp\n"
    )
    rules = Path(f"{TABLES}/marc21.abs").read_text()
    (tmp_path / "marc21.abs").write_text(f"{rules}\nmelm 001 Local-number:w,Doc-id:w,Doc-id:p,Doc-id:u\nmelm 020$a ISBN:w\n")
    with Server() as demo, z3950.connect(demo.target) as cat:
        (tmp_path / "records/austen.mrc").write_bytes(b"".join(record.octets for record in cat.search("au:austen")))
    for step in (["init"], ["update", "records"]):
        subprocess.run([indexer, "-v", "none", "-c", "zebra.cfg", *step], cwd=tmp_path, check=True)
    target = f"{peer('zebrasrv', '-c', 'zebra.cfg')}/Default"
    with z3950.connect(target, timeout=30) as cat:
        assert len(cat.search("au:austen")) == 4
        hits = cat.search("ti:emma au:austen")
        assert [(record.title, record.syntax) for record in hits] == [(EMMA, "usmarc")]
        assert hits[0].pymarc()["245"]["a"].startswith("Emma")
        assert cat.search(z3950.Query.title("pride") - z3950.Query.title("emma"))[0].title == PRIDE
        assert cat.scan("ti:emma", size=1)[0].term == "emma"
        assert cat.lookup("isbn:9780141439587").records[0].title == EMMA
    # Python's strictest mode.
    script = "import sys, z3950; print(z3950.get(f'z39.50r://{sys.argv[1]}?pg1342;rs=marc').title)"
    process = start(script, target)
    assert process.communicate()[0] == f"{PRIDE}\n"
