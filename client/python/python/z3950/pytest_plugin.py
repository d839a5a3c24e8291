"""The pytest fixture `z3950_server`, which is available when this package is installed.

def test_a_server_that_refuses_its_records(z3950_server):
    server = z3950_server(records=[("id7", "Emma")], faults=["on present: fail 14"])
    with z3950.connect(server.target) as cat, pytest.raises(z3950.Diagnostic):
        cat.search("ti:emma")[0]
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .testing import Server


@pytest.fixture
def z3950_server() -> Iterator[Callable[..., Server]]:
    """Provides a function that starts a `z3950.testing.Server` with the given arguments. Servers are stopped after the test, the last one
    first."""
    from .testing import Server

    with ExitStack() as servers:

        def make(**arguments: object) -> Server:
            server = Server(**arguments)  # type: ignore[arg-type]
            servers.callback(server.stop)
            return server

        yield make
