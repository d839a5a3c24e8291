"""What is misspelt, or does nothing, is refused with a hint."""

from __future__ import annotations

import asyncio
import weakref

import pytest
import z3950
from z3950 import aio
from z3950.testing import Server


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
