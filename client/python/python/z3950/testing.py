"""A server for tests, on a free port, with the records that you give it and, if you like, with faults.

With pytest, use the fixture `z3950_server`, which starts and stops servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote
from warnings import warn

from . import _z3950 as native
from ._common import Fixed, as_octets
from ._errors import Timeout
from ._serving import Adapter

if TYPE_CHECKING:
    from os import PathLike
    from types import TracebackType

    from typing_extensions import Self

    from ._types import Backend, MarcLike

    #: A record, or the number and the title of one.
    _Given: TypeAlias = MarcLike | tuple[str | int, str]


class UnfiredRule(UserWarning):
    """A rule in a server's `faults` never applied to a request. `pytest -W error::z3950.testing.UnfiredRule` turns this warning into an
    error."""


class Server(Fixed):
    """A server on 127.0.0.1, which runs until `stop` is called. Without arguments, it has a small catalogue of books.

    `records` are the records of a single database; `databases` maps the names of several databases to their records. `faults` are rules
    such as `on search nth=2: fail 2`, which applies to the second search of each session; `nth-of-all=2` means the second search of all
    sessions together. `imitate` is the name of a server to imitate: `yaz-ztest`. `recorded` is the path of a recorded conversation that the
    server replays, or records again if the environment variable `Z3950_RECORD` names a server; it cannot be combined with `faults`.
    `backend` is an object whose methods provide the records, as for `z3950.serve`.

    With `certificate` and `key`, which are paths of PEM files or the PEM itself, the server also accepts TLS connections at `tls_target`;
    with `client_ca_file`, clients need a certificate from one of the authorities in it. With `users`, a dict of names and passwords,
    clients must log in as one of these users; a backend may check logins itself instead.

    >>> import z3950
    >>> from z3950.testing import Server
    >>> with Server(records=[("id7", "Emma")], faults=["on present: fail 14"]) as server:
    ...     with z3950.connect(server.target) as cat:
    ...         hits = cat.search("ti:emma")
    ...         try:
    ...             hits[0]
    ...         except z3950.Diagnostic as refusal:
    ...             print(refusal.condition)
    ...     print([said["apdu"] for said in server.apdus if said["direction"] == "received"])
    14
    ['initRequest', 'searchRequest', 'presentRequest', 'close']
    """

    __slots__ = ("__weakref__", "_address", "_database", "_native")

    def __init__(
        self,
        *,
        records: Iterable[_Given] | None = None,
        databases: Mapping[str, Iterable[_Given]] | None = None,
        faults: Sequence[str] = (),
        imitate: str | None = None,
        recorded: str | PathLike[str] | None = None,
        backend: Backend | None = None,
        certificate: str | PathLike[str] | bytes | None = None,
        key: str | PathLike[str] | bytes | None = None,
        client_ca_file: str | PathLike[str] | bytes | None = None,
        users: Mapping[str, str] | None = None,
    ) -> None:
        if isinstance(faults, str):
            raise TypeError("faults is a list of rules")
        if sum(source is not None for source in (records, databases, imitate, recorded, backend)) > 1:
            raise TypeError("only one of records, databases, imitate, recorded and backend can be given")
        if recorded is not None and (faults or certificate or users):
            raise TypeError("faults, certificate and users cannot be given with recorded")
        if certificate is None and (key or client_ca_file):
            raise TypeError("key and client_ca_file are given with certificate")
        if databases is not None and not databases:
            raise TypeError("databases has no database: leave it out for the small catalogue, or give an empty list of records")
        if records is not None:
            databases = {"cat": records}
        named = [(name, [_given(record) for record in records]) for name, records in (databases or {}).items()]
        adapter = None if backend is None else Adapter(backend)
        if adapter is not None and adapter.can_authenticate and users:
            raise TypeError("users cannot be given with a backend that has authenticate")
        pem = None if certificate is None else (certificate, key or certificate, client_ca_file)
        self._native = native.Server(named, list(faults), imitate, recorded, adapter, pem, list((users or {}).items()))
        self._address = self._native.address
        names = [name for name, _ in (adapter.databases if adapter else named)]
        self._database = names[0] if names else "Default" if imitate or recorded else "books"

    @property
    def target(self) -> str:
        """The address and the first database of the server, for `z3950.connect`; a URL if the database's name contains `+`."""
        # In a target, a `+` separates two databases.
        return f"z39.50s://{self._place}" if "+" in self._database else f"{self._address}/{self._database}"

    @property
    def tls_target(self) -> str:
        """The target with TLS, if the server has a `certificate`."""
        return f"ssl:{self._native.tls_address}/{self._database}"

    @property
    def url(self) -> str:
        """The target as a `z39.50r:` URL, to which `?` and a docid can be appended."""
        return f"z39.50r://{self._place}"

    @property
    def http_url(self) -> str:
        """The target as a URL for SRU."""
        return f"http://{self._place}"

    @property
    def _place(self) -> str:
        return f"{self._address}/{quote(self._database, safe='')}"

    @property
    def apdus(self) -> list[dict[str, Any]]:
        """The APDUs of all sessions so far, each with `session`, `direction` (`received` or `sent`), `apdu` (its name in the standard) and
        `value`."""
        return self._native.apdus

    def wait_for(self, apdu: str, *, timeout: float = 10) -> None:
        """Waits until an APDU with this name has been received or sent; raises `z3950.Timeout` after `timeout` seconds."""
        end = monotonic() + timeout
        while not self._native.wait_for(apdu):
            if monotonic() >= end:
                raise Timeout(f"no {apdu} within {timeout:g} s")

    def stop(self) -> None:
        """Stops the server. Each rule in `faults` that never applied causes an `UnfiredRule` warning, because the test has not tested what
        it claims to test."""
        for rule in self._native.stop():
            warn(f"the rule `{rule}` of a test server never struck", UnfiredRule, stacklevel=2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.stop()
        else:
            # An exception is more informative than a warning about rules that never applied.
            self._native.stop()

    def __repr__(self) -> str:
        return f"<Server {self.target}>"


def _given(record: _Given) -> bytes | tuple[str, str]:
    match record:
        case (str() | int() as number, str() as title):
            return _text(str(number)), _text(title)
        case tuple():
            raise TypeError(f"a record for the server is a number and a title, such as ('id7', 'Emma'), not {record!r}")
    return as_octets(record)


def _text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{text!r} is no text: it has half of a surrogate pair") from error
    return text
