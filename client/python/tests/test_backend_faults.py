"""Backends that fail in their own ways, and names of databases that cannot be served."""

from __future__ import annotations

import gc
from typing import Any

import pytest
import z3950
from conftest import MakeServer
from z3950.testing import Server


class Backend:
    """Fails in the same way for every request."""

    def __init__(self, databases: Any = ("books",), fails: Any = None) -> None:
        self.databases = databases
        self.fails = fails

    def search(self, query: z3950.Query, request: z3950.Request) -> Any:
        if request.databases != list(self.databases)[:1]:
            raise AssertionError(request.databases)
        return ["id7"]

    def record(self, key: str, request: z3950.Request) -> Any:
        return {"leader": " " * 24, "fields": [{"001": key}]}


class Failing(Backend):
    def search(self, query: z3950.Query, request: z3950.Request) -> Any:
        raise self.fails


class Checking(Backend):
    def authenticate(self, login: z3950.Login) -> Any:
        if isinstance(self.fails, BaseException):
            raise self.fails
        return self.fails


@pytest.mark.parametrize("fails", [ValueError("a secret"), KeyboardInterrupt(), NotImplementedError("ours"), 1, "yes", None], ids=repr)
def test_issue_48_a_login_that_cannot_be_checked_is_no_temporary_error(
    z3950_server: MakeServer, caplog: pytest.LogCaptureFixture, fails: Any
) -> None:
    server = z3950_server(backend=Checking(fails=fails))
    with pytest.raises(z3950.Diagnostic) as refused, z3950.connect(server.target, user="ann", password="x") as cat:
        cat.search("x")
    assert refused.value.condition == 1014
    assert "secret" not in str(refused.value)
    assert ("the backend Checking has failed" in caplog.text) != isinstance(fails, NotImplementedError)


@pytest.mark.parametrize(
    ("condition", "addinfo"),
    [("a", "x"), (2**70, "x"), (-1, "x"), (True, "x"), (1.5, "x"), (114, 5), (114, "\ud800"), (114, b"octets")],
    ids=repr,
)
def test_issue_48_a_diagnostic_that_cannot_be_sent_is_a_failure(
    z3950_server: MakeServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], condition: Any, addinfo: Any
) -> None:
    server = z3950_server(backend=Failing(fails=z3950.Diagnostic("no", condition, addinfo)))
    with z3950.connect(server.target) as cat, pytest.raises(z3950.Diagnostic) as refused:
        cat.search("x")
    assert refused.value.condition == 1
    assert "the backend Failing has failed: a Diagnostic with condition=" in caplog.text
    assert "Traceback" not in capfd.readouterr().err


def test_issue_48_half_of_a_surrogate_pair_is_not_sent(z3950_server: MakeServer) -> None:
    server = z3950_server(backend=Failing(fails=NotImplementedError("\ud800")))
    with z3950.connect(server.target) as cat, pytest.raises(z3950.Diagnostic) as refused:
        cat.search("x")
    assert (refused.value.condition, refused.value.addinfo) == (3, "?")


async def coroutine(*arguments: object) -> Any:
    return None


@pytest.mark.parametrize("name", ["search", "record", "scan", "authenticate"])
@pytest.mark.filterwarnings("error")
def test_issue_48_methods_must_not_be_async(z3950_server: MakeServer, caplog: pytest.LogCaptureFixture, name: str) -> None:
    backend = Backend()
    setattr(backend, name, coroutine)
    server = z3950_server(backend=backend)

    def ask() -> None:
        with z3950.connect(server.target, user="ann", password="x") as cat:
            if name == "scan":
                cat.scan("x")
            else:
                cat.search("x")[0]

    with pytest.raises(z3950.Diagnostic):
        ask()
    # A coroutine that was never awaited causes a warning when it is garbage-collected, which is an error here.
    gc.collect()
    assert f"{name} of a backend must not be async" in caplog.text


@pytest.mark.parametrize("name", ["a+b", "a b", "a/b", "a?b", "a%2Bb", "a#b", "é"])
def test_issue_48_any_name_of_a_database_can_be_searched(z3950_server: MakeServer, name: str) -> None:
    server = z3950_server(backend=Backend(databases=[name]))
    for target in (server.target, server.url, server.http_url):
        with z3950.connect(target) as cat:
            assert len(cat.search("x")) == 1, target
    assert z3950.url.parse(server.url).databases == [name]


@pytest.mark.parametrize("name", ["", "IR-Explain-1", "ir-explain-1", "IR-Extend-1"])
def test_issue_48_databases_that_cannot_be_searched_are_refused(name: str) -> None:
    for databases in ([name], ["books", name], {name: "a title"}):
        with pytest.raises(ValueError, match=r"not empty|of its own"):
            Server(backend=Backend(databases=databases))
