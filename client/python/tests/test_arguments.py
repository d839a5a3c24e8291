"""Misspelt arguments, and arguments without effect, are refused with a hint."""

from __future__ import annotations

import asyncio
import inspect
import re
import socket
import threading
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import z3950
from conftest import EMMA, MakeServer
from z3950 import _z3950 as native
from z3950 import aio
from z3950.testing import Server

TLS = Path(__file__).parent / "tls"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("preferredRecordSyntax", "give syntax= to connect"),
        ("elementSetName", "give elements= to connect"),
        ("timeout", "give timeout= to connect"),
        ("user", "give user= to connect"),
        ("nonsense", "the attributes of its class alone"),
        ("target", "the attributes of its class alone"),
        ("__nonsense__", "the attributes of its class alone"),
    ],
)
def test_audit_r_p3_attributes_that_do_nothing_are_refused(demo: Server, cat: z3950.Connection, name: str, hint: str) -> None:
    hits = cat.search("ti:emma")

    async def others() -> list[object]:
        async with aio.connect(demo.target) as other:
            found = await other.search("ti:emma")
            return [other, found, found.records()]

    for thing in [demo, cat, hits, hits.records(), *asyncio.run(others())]:
        if hasattr(thing, name) != (name == "target"):
            continue
        with pytest.raises(AttributeError, match=hint):
            setattr(thing, name, "XML")
        assert weakref.ref(thing)() is thing
        assert not hasattr(thing, "__dict__")


def test_audit_r_p3_values_of_the_native_half_are_fixed_too(cat: z3950.Connection) -> None:
    [record] = cat.search("ti:emma")
    for value in (record, z3950.Query.any("war"), cat.scan("ti:emma")[0], z3950.targets()[0], z3950.url.parse("http://lib.example/")):
        with pytest.raises(AttributeError):
            value.nonsense = 1  # type: ignore[union-attr]


@pytest.mark.parametrize("query", ["@attr 1=4 emma", " @and war peace", "@attrset bib-1 @attr 1=4 emma", "@not a b", "@set 1", "@prox x"])
def test_audit_r_p3_pqf_is_not_taken_for_words(demo: Server, cat: z3950.Connection, query: str) -> None:
    async def search() -> None:
        async with aio.connect(demo.target) as other:
            await other.search(query)

    for ask in (lambda: cat.search(query), lambda: cat.scan(query), lambda: asyncio.run(search())):
        with pytest.raises(z3950.BadQuery, match=r"Query\.pqf\('"):
            ask()
    assert len(cat.search(z3950.Query.pqf("@attr 1=4 emma"))) == 1
    assert len(cat.search(z3950.Query.words("@attr 1=4 emma"))) == 0


def test_audit_r_p3_a_word_with_an_at_sign_is_a_word(cat: z3950.Connection) -> None:
    assert len(cat.search("ann@lib.example")) == 0
    assert len(cat.search("@example")) == 0


def test_audit_r_p4_options_are_spelled_in_every_signature() -> None:
    options = set(inspect.get_annotations(z3950.ConnectOptions))
    native_ones = inspect.signature(native.Options).parameters
    assert list(native_ones) == list(inspect.signature(z3950.connect).parameters)[1:]
    for function in (z3950.connect, z3950.find, z3950.get, z3950.lookup, aio.connect, aio.find, aio.get, aio.lookup):
        parameters = inspect.signature(function).parameters
        assert options <= set(parameters)
        assert not [name for name, one in parameters.items() if one.kind is one.VAR_KEYWORD]
        assert parameters["timeout"].default == 30
        assert {name: parameters[name].default for name in options - {"timeout"}} == {
            name: native_ones[name].default for name in options - {"timeout"}
        }


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"timeout": True}, TypeError, "timeout is float \\| int \\| None, not bool"),
        ({"timeout": "5"}, TypeError, "timeout is float \\| int \\| None, not str"),
        ({"holdings": 1}, TypeError, "holdings is bool, not int"),
        ({"chunk": True}, TypeError, "chunk is int \\| None, not bool"),
        ({"chunk": 0}, ValueError, "chunk is at least 1"),
        ({"chunk": -1}, OverflowError, "convert|range|negative"),
        ({"charset": "nonsense"}, ValueError, "not the name of a character set"),
        ({"query_charset": "nonsense"}, ValueError, "not the name of a character set"),
        ({"charset": 5}, TypeError, "charset is str \\| None, not int"),
        ({"profile": "nonsense"}, ValueError, "no profile is called"),
        ({"profile": {"nonsense": 1}}, ValueError, "nonsense"),
        ({"profile": {"host": "lib.example"}}, TypeError, "leave it out"),
        ({"profile": 5}, TypeError, "profile is str \\| Mapping \\| None, not int"),
        ({"ca_file": "nowhere.pem"}, FileNotFoundError, "nowhere.pem"),
        ({"ca_file": __file__}, z3950.Error, "no certificate in"),
        ({"ca_file": 5}, TypeError, "ca_file is str \\| PathLike \\| bytes \\| None, not int"),
        ({"certificate": TLS / "ca.pem", "key": TLS / "server-key.pem"}, z3950.Error, "does not belong to the certificate"),
        ({"key": TLS / "server-key.pem"}, ValueError, "give certificate, too"),
        ({"insecure": True, "ca_file": TLS / "ca.pem"}, ValueError, "leave out ca_file"),
        ({"proxy": "ftp://proxy.example"}, ValueError, "only http and socks5"),
        ({"nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_audit_r_p4_wrong_options_are_refused(demo: Server, options: dict[str, Any], error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        z3950.connect(demo.target, **options)
    with pytest.raises(error, match=words):
        aio.connect(demo.target, **options)
    assert demo.apdus == []


def test_audit_r_p4_a_private_authority_and_a_client_certificate(z3950_server: MakeServer) -> None:
    server = z3950_server(certificate=TLS / "server.pem", key=TLS / "server-key.pem", client_ca_file=TLS / "ca.pem")
    with z3950.connect(server.tls_target, ca_file=TLS / "ca.pem", certificate=TLS / "client.pem", key=str(TLS / "client-key.pem")) as cat:
        assert cat.search("ti:emma")[0].title == EMMA
    with z3950.connect(server.tls_target, insecure=True, certificate=TLS / "client.pem", key=TLS / "client-key.pem") as cat:
        assert len(cat.search("ti:emma")) == 1
    for options in ({"ca_file": TLS / "ca.pem"}, {"certificate": TLS / "client.pem", "key": TLS / "client-key.pem"}, {}):
        with pytest.raises(z3950.Unavailable):
            z3950.connect(server.tls_target, **options)  # type: ignore[arg-type]


def test_audit_r_p4_connections_made_in_the_same_way_share_sessions(z3950_server: MakeServer) -> None:
    server = z3950_server(certificate=TLS / "server.pem", key=TLS / "server-key.pem")
    for _ in range(3):
        list(z3950.lookup(server.tls_target, ["local:pg1342"], ca_file=TLS / "ca.pem"))
    assert [said["apdu"] for said in server.apdus].count("initRequest") == 1


def test_audit_r_p4_users_are_admitted(z3950_server: MakeServer) -> None:
    server = z3950_server(users={"ann": "sesame"})
    with z3950.connect(server.target, user="ann", password="sesame") as cat:
        assert len(cat.search("ti:emma")) == 1
    for options in ({}, {"user": "ann", "password": "wrong"}, {"user": "bob", "password": "sesame"}):
        with pytest.raises(z3950.Diagnostic):
            z3950.connect(server.target, **options)  # type: ignore[arg-type]


def test_audit_r_p4_a_proxy_is_used(demo: Server) -> None:
    asked: list[bytes] = []

    def refuse() -> None:
        stream, _ = listener.accept()
        with stream:
            asked.append(stream.recv(4096))
            stream.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(z3950.Unavailable):
            z3950.connect("lib.example:210/cat", proxy=f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()
    assert asked[0].startswith(b"CONNECT lib.example:210 ")
    z3950.connect(demo.target, proxy="none").close()


def test_audit_r_p4_charsets_and_chunks_are_those_given(z3950_server: MakeServer) -> None:
    latin1 = b"".join(z3950.convert({"leader": " " * 24, "fields": [{"001": "1"}, {"245": {"subfields": [{"a": "Jane"}]}}]}, to="marc"))
    server = z3950_server(records=[latin1] + [(number, "Emma é") for number in range(50)])
    with z3950.connect(server.target, chunk=7) as cat:
        assert len(list(cat.search("ti:emma"))) == 50
    asked = [said["value"]["numberOfRecordsRequested"] for said in server.apdus if said["apdu"] == "presentRequest"]
    assert max(asked) == 7
    with z3950.connect(server.target, charset="iso5426") as cat:
        assert cat.search("ti:emma")[0].title != "Emma é"
    with z3950.connect(server.target, query_charset="iso-8859-1") as cat:
        cat.search("ti:é")
    [query] = [said["value"]["query"] for said in server.apdus if said["apdu"] == "searchRequest"][-1:]
    assert "é" not in str(query)


def test_audit_r_p4_profiles_are_followed(demo: Server) -> None:
    with z3950.connect(demo.target, profile={"attributes": ["2=3", "5=100"], "record_syntax": "xml"}) as cat:
        assert cat.search("ti:emma")[0].syntax == "xml"
    [search] = [said["value"]["query"] for said in demo.apdus if said["apdu"] == "searchRequest"]
    assert "5=100" in search
    with z3950.connect(demo.target, profile="loc") as cat:
        assert len(cat.search("ti:emma")) == 1
    [answer] = z3950.lookup(demo.target, ["local:pg1342"], profile={"element_set": "B"}, syntax="usmarc")
    assert answer.hits == 1


def test_audit_r_p4_facets_are_counted(demo: Server, cat: z3950.Connection) -> None:
    hits = cat.search("au:austen", facets={"author": 3, "date": 2})
    assert set(hits.facets) == {"author", "date"}
    assert max(hits.facets["author"].values()) == 4
    assert len(hits.facets["date"]) <= 2
    assert "author" in cat.search("au:austen", facets=["author"]).facets
    assert cat.search("au:austen").facets == {}
    assert (hits.sources, hits.remarks, hits[0].sources) == ([], [], [])

    async def counted() -> dict[str, dict[str, int]]:
        async with aio.connect(demo.target) as other:
            return (await other.search("au:austen", facets=["author"])).facets

    assert "author" in asyncio.run(counted())
    for facets in ("author", [1], {"author": 0}, {"author": True}):
        with pytest.raises((TypeError, ValueError)):
            cat.search("au:austen", facets=facets)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [True, False])
def test_audit_r_p7_true_is_no_number(demo: Server, cat: z3950.Connection, number: bool) -> None:
    for ask in (
        lambda: cat.search("x", first=number),
        lambda: cat.scan("x", size=number),
        lambda: cat.scan("x", position=number),
        lambda: z3950.lookup(demo.target, [], jobs=number),
    ):
        with pytest.raises(TypeError, match="is an int, not bool"):
            ask()


def test_audit_r_p7_an_update_of_nothing_is_refused(demo: Server, cat: z3950.Connection) -> None:
    async def update() -> None:
        async with aio.connect(demo.target) as other:
            await other.update([])

    for ask in (lambda: cat.update([]), lambda: cat.update(iter(())), lambda: cat.update(b""), lambda: asyncio.run(update())):
        with pytest.raises(ValueError, match="there is no record to update"):
            ask()
    assert "extendedServicesRequest" not in [said["apdu"] for said in demo.apdus]


def test_issue_48_pem_is_given_by_path_or_as_it_is(z3950_server: MakeServer) -> None:
    names = {"certificate": "server.pem", "key": "server-key.pem", "client_ca_file": "ca.pem"}
    ours = {"ca_file": "ca.pem", "certificate": "client.pem", "key": "client-key.pem"}
    ways: list[Callable[[Path], Any]] = [str, lambda path: path, Path.read_bytes, Path.read_text]
    for way in ways:
        server = z3950_server(**{option: way(TLS / name) for option, name in names.items()})
        for other in ways:
            options = {option: other(TLS / name) for option, name in ours.items()}
            with z3950.connect(server.tls_target, **options) as cat:
                assert len(cat.search("ti:emma")) == 1
            [answer] = z3950.lookup(server.tls_target, ["local:pg1342"], **options)
            assert answer


SECRET = "MIIEvAIBADANBgkqhkiG9w0BAQ"

#: Keys and certificates that can be read but not used.
SECRETS: list[str | bytes | Path] = [
    f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n",
    f"-----BEGIN PRIVATE KEY-----\n{SECRET}",
    f"-----BEGIN PRIVATE KEY-----\\n{SECRET}\\n-----END PRIVATE KEY-----",
    f"-----BEGIN NONSENSE-----\n{SECRET}\n-----END NONSENSE-----\n",
    f"{SECRET}\n{SECRET}\n",
    SECRET.encode(),
    f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n".encode(),
    Path(f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n"),
    Path(f"{SECRET}\n"),
    f"{SECRET}\0",
    b"\0" + SECRET.encode(),
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("option", ["ca_file", "certificate", "key"])
def test_issue_48_no_error_shows_a_key(option: str, secret: str | bytes | Path) -> None:
    options: dict[str, Any] = {option: secret}
    if option == "key":
        options["certificate"] = TLS / "client.pem"

    async def get() -> None:
        await aio.get("z39.50r://127.0.0.1:1/cat?1", **options)

    calls: list[Callable[[], object]] = [
        lambda: z3950.connect("ssl:127.0.0.1:1", **options),
        lambda: z3950.lookup("ssl:127.0.0.1:1", ["isbn:0141439513"], **options),
        lambda: asyncio.run(get()),
        lambda: aio.connect("ssl:127.0.0.1:1", **options),
    ]
    if option != "ca_file":
        served: dict[str, Any] = {"certificate": TLS / "server.pem", option: secret}
        calls += [lambda: Server(**served), lambda: z3950.serve(Nothing(), port=0, **served)]
    else:
        clients: dict[str, Any] = {"certificate": TLS / "server.pem", "key": TLS / "server-key.pem", "client_ca_file": secret}
        calls += [lambda: Server(**clients)]
    for call in calls:
        with pytest.raises((z3950.Error, ValueError)) as raised:
            call()
        said = "".join(traceback.format_exception_only(raised.value))
        assert SECRET not in said + repr(raised.value)
        assert raised.value.__cause__ is raised.value.__context__ is None


class Nothing:
    """A backend without records."""

    def search(self, query: z3950.Query, request: z3950.Request) -> list[int]:
        return []

    def record(self, key: int, request: z3950.Request) -> None:
        return None


@pytest.mark.parametrize("option", ["ca_file", "certificate", "key"])
def test_issue_48_a_file_that_is_not_there_is_named(option: str, tmp_path: Path) -> None:
    missing = tmp_path / "missing.pem"
    options: dict[str, Any] = {"certificate": TLS / "client.pem"} if option == "key" else {}
    with pytest.raises(FileNotFoundError) as raised:
        z3950.connect("ssl:lib.example", **(options | {option: missing}))
    assert Path(raised.value.filename) == missing
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        z3950.connect("ssl:lib.example", **(options | {option: tmp_path}))
    served: dict[str, Any] = {"certificate": TLS / "server.pem", "key": TLS / "server-key.pem"}
    served["client_ca_file" if option == "ca_file" else option] = missing
    with pytest.raises(FileNotFoundError):
        Server(**served)


@pytest.mark.parametrize(
    "options", [{"ca_file": TLS / "ca.pem"}, {"certificate": TLS / "client.pem", "key": TLS / "client-key.pem"}, {"insecure": True}]
)
def test_issue_48_options_of_tls_are_refused_without_it(demo: Server, options: dict[str, Any]) -> None:
    async def get() -> None:
        await aio.get(f"{demo.url}?pg1342", **options)

    login: dict[str, Any] = {"user": "ann", "password": "sesame"}
    for target in (demo.target, demo.http_url, f"z39.50s://{demo.target}", "loc", "unix:/tmp/z3950.socket"):
        for call in (
            lambda target: z3950.connect(target, **options, **login),
            lambda target: z3950.lookup(target, ["local:pg1342"], **options, **login),
            lambda target: aio.connect(target, **options, **login),
        ):
            with pytest.raises(ValueError, match=f"^{next(iter(options))} is for TLS, .*write ssl:HOST, or https:"):
                call(target)
    for read in (lambda: z3950.get(f"{demo.url}?pg1342", **options), lambda: asyncio.run(get())):
        with pytest.raises(ValueError, match="is for TLS"):
            read()
    assert demo.apdus == []


def test_issue_48_one_of_several_targets_has_tls(z3950_server: MakeServer) -> None:
    server = z3950_server(certificate=TLS / "server.pem", key=TLS / "server-key.pem")
    [answer] = z3950.lookup([server.target.replace("books", "serials"), server.tls_target], ["local:pg1342"], ca_file=TLS / "ca.pem")
    assert answer.target == server.tls_target


@pytest.mark.parametrize("value", [None, 5, b"emma"])
def test_issue_48_what_is_no_text_is_named_by_its_type(demo: Server, cat: z3950.Connection, value: Any) -> None:
    record = z3950.Record()
    field = record.add_field("245", [("a", "Emma")])
    for call in (
        lambda: z3950.Query.title(value),
        lambda: z3950.Query.pqf(value),
        lambda: z3950.Query.index("title", value),
        lambda: z3950.url.parse(value),
        lambda: z3950.url.extract(value),
        lambda: z3950.connect(value),
        lambda: z3950.get(value),
        lambda: z3950.convert(record, to=value),
        lambda: cat.update(record, action=value),
        lambda: cat.explain(value),
        lambda: field.add("a", value),
        lambda: field.__setitem__("a", value),
        lambda: setattr(field, "indicators", value),
        lambda: setattr(record, "leader", value),
    ):
        with pytest.raises(TypeError, match=rf"\bnot {type(value).__name__}\b"):
            call()
