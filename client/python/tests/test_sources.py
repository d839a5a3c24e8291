"""Tests of sources that cannot be read, and of the messages of their exceptions."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import z3950
from z3950.testing import Server

RECORD = b"=LDR  00000nam a2200000 a 4500\n=001  id7\n=245  10$aEmma\n"


@pytest.mark.parametrize("form", [None, "marc"])
def test_issue_48_a_folder_is_named_in_the_exception(tmp_path: Path, form: str | None) -> None:
    with pytest.raises(OSError) as refused:  # noqa: PT011
        list(z3950.read(tmp_path, form))
    assert refused.value.filename == str(tmp_path)
    if os.name == "posix":
        assert (type(refused.value), refused.value.errno) == (IsADirectoryError, errno.EISDIR)


def test_issue_48_a_file_that_is_not_ready_is_said_to_be_so() -> None:
    class Pipe:
        def read(self, size: int) -> Any:
            return None

    with pytest.raises(BlockingIOError, match="non-blocking"):
        list(z3950.read(Pipe()))


def test_issue_48_exceptions_show_texts_as_python_does(tmp_path: Path) -> None:
    [record] = z3950.read(RECORD)
    odd = "\x1e\u200b'\U000e0001"
    refused: list[Callable[[], object]] = [
        lambda: z3950.read(RECORD, odd),
        lambda: z3950.read(RECORD, charset=odd),
        lambda: list(z3950.convert(RECORD, odd)),  # type: ignore[arg-type]
        lambda: record.get_fields(odd),
        lambda: setattr(record["245"], "indicators", odd),
        lambda: setattr(record, "leader", odd),
        lambda: z3950.connect("localhost", syntax=odd),
        lambda: z3950.connect("localhost", charset=odd),
        lambda: z3950.connect("localhost", profile=odd),
        lambda: Server(faults=[odd]),
    ]
    for call in refused:
        with pytest.raises(ValueError) as error:  # noqa: PT011
            call()
        assert repr(odd) in str(error.value)
