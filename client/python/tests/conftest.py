"""Common fixtures and helpers of the tests."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import z3950
from z3950.testing import Server

#: The fixture of the package's own plugin.
MakeServer = Callable[..., Server]

#: Titles of the small catalogue.
EMMA, PRIDE, WAR = (
    "Emma : a novel : in three volumes",
    "Pride and prejudice : a novel : in three volumes",
    "War and peace : a novel",
)


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Starts Python in its strictest mode with a script, and captures the output."""
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", textwrap.dedent(script), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Makes a program that is started in this context end on SIGINT, even if tests run in the background, where the signal is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def demo(z3950_server: MakeServer) -> Server:
    """The small catalogue."""
    return z3950_server()


@pytest.fixture
def cat(demo: Server) -> Iterator[z3950.Connection]:
    """A connection to the small catalogue."""
    with z3950.connect(demo.target) as connection:
        yield connection
