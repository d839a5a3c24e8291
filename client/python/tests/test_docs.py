"""The examples of all docstrings and of the pages run."""

from __future__ import annotations

import ast
import doctest
import importlib.metadata
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import z3950
from z3950 import aio, testing, url

MODULES = (z3950, aio, testing, url)
PACKAGE = Path(__file__).parent.parent
FLAGS = doctest.IGNORE_EXCEPTION_DETAIL


def documented() -> Iterator[tuple[str, str]]:
    """Yields the names and docstrings of the modules and of their public objects, including native classes."""
    for module in MODULES:
        yield module.__name__, module.__doc__ or ""
        for name, value in public(module):
            yield name, inspect.getdoc(value) or ""
            if inspect.isclass(value):
                for member, attribute in vars(value).items():
                    if not member.startswith("_"):
                        yield f"{name}.{member}", inspect.getdoc(attribute) or ""


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    names = getattr(module, "__all__", None) or [
        name for name in vars(module) if name[0].isupper() and getattr(vars(module)[name], "__module__", None) == module.__name__
    ]
    for name in names:
        yield f"{module.__name__}.{name}", getattr(module, name)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, text in documented() if ">>>" in text])
def test_examples_run(name: str, text: str) -> None:
    check(name, text)


def test_everything_has_a_docstring() -> None:
    missing = [name for name, text in documented() if not text and not name.endswith(("__version__", "MarcLike"))]
    native = ("Holding", "ScanTerm", "Target", "TaskResult", "FoundUrl")
    assert [name for name in missing if name.split(".")[-2] not in native] == []


@pytest.mark.parametrize("page", ["README.md", "docs/coming-from.md"])
def test_examples_of_pages_run(page: str) -> None:
    text = (PACKAGE / page).read_text()
    assert ">>>" in text
    check(page, text.replace("```", ""))


def test_audit_r_p1_what_is_installed_has_the_text_of_its_licences() -> None:
    files = {file.name: Path(str(file.locate())) for file in importlib.metadata.files("z3950") or [] if file.name.startswith("LICENSE-")}
    assert sorted(files) == ["LICENSE-APACHE", "LICENSE-MIT"]
    for name, file in files.items():
        for copy in (file, PACKAGE / name):
            assert copy.read_text() == (PACKAGE.parent.parent / name).read_text(), copy


def test_what_is_installed_has_no_dead_links() -> None:
    about = importlib.metadata.metadata("z3950")
    assert about["License-Expression"] == "MIT OR Apache-2.0"
    assert "Search library catalogues" in about["Description"]
    assert re.findall(r"\]\((?!https?:).*?\)", about["Description"]) == []


def check(name: str, text: str) -> None:
    example = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(example, out=said.append)
    assert not said, "".join(said)


def test_importing_is_cheap() -> None:
    # Modules that take long to import are only imported on first use. `site` is disabled because it may have imported them.
    code = "import sys; before = set(sys.modules); import z3950; print(sorted(set(sys.modules) - before))"
    environment = os.environ | {"PYTHONPATH": str(Path(z3950.__file__).parent.parent)}
    imported = subprocess.check_output([sys.executable, "-S", "-c", code], text=True, env=environment)
    cheap = {"z3950", "__future__", *sys.builtin_module_names}
    assert [name for name in ast.literal_eval(imported) if name.split(".")[0] not in cheap] == []


def test_what_is_imported_later_is_there() -> None:
    code = "import z3950; print(z3950.aio.connect.__module__, z3950.MarcLike, {'aio', 'MarcLike'} - set(dir(z3950)))"
    said = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert said.startswith("z3950.aio ")
    assert said.endswith(" set()\n")
