"""The Python blocks of the pages in `client/docs` run."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

PAGES = Path(__file__).parents[2] / "docs"


def blocks(page: str) -> list[str]:
    found = re.findall(r"```python\n(.*?)```", (PAGES / page).read_text(), re.DOTALL)
    assert found
    return found


def test_the_cells_of_the_page_on_notebooks_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in blocks("notebook.md"):
        done = eval(compile(cell, "notebook.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.iscoroutine(done):
            asyncio.run(done)
    assert [row["title"].split(" : ")[0] for row in names["rows"]].count("Emma") == 1
    assert names["counts"]["ti:war"] > 0
    assert names["found"]["isbn:9780306406157"] == []
    assert (tmp_path / "austen.xml").read_text().count("<leader>") == len(names["rows"])
    assert capsys.readouterr().out.strip().isdigit()


def test_the_tests_of_the_page_on_tests_pass(pytester: pytest.Pytester) -> None:
    [example] = blocks("tests.md")
    pytester.makepyfile(example)
    pytester.runpytest_inprocess().assert_outcomes(passed=2)
