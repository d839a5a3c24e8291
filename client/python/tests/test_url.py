"""URLs."""

from __future__ import annotations

import pytest
import z3950
from z3950 import url


def test_the_parts_of_a_url() -> None:
    found = url.parse("z39.50r://lib.example:2100/a+b?id%2F7;esn=f;rs=marc+xml#there")
    assert (found.scheme, found.host, found.port) == ("z39.50r", "lib.example", 2100)
    assert (found.databases, found.docid) == (["a", "b"], b"id/7")
    assert (found.element_set, found.record_syntaxes, found.fragment) == ("f", ["marc", "xml"], "there")
    assert found == url.parse("Z39.50R://LIB.example:2100/a+b?id%2f7;esn=f;rs=marc+xml")
    assert len({found, url.parse(str(found))}) == 1


def test_other_schemes() -> None:
    found = url.parse("ftp://ann:secret@lib.example/etc/motd")
    assert "secret" not in str(found)
    assert "secret" not in repr(found)
    assert (found.port, found.databases, found.docid) == (21, [], None)
    assert any("password" in caution for caution in found.cautions)


def test_malformed_urls_say_where() -> None:
    with pytest.raises(z3950.BadUrl, match="character 26") as raised:
        url.parse("z39.50r://cnidr.org/tmf?a/b", strict=True)
    assert raised.value.offset == 25
    with pytest.raises(z3950.BadUrl):
        url.parse(" z39.50r://lib.example/a?b", strict=True)
    assert url.parse(" z39.50r://lib.example/a?b").docid == b"b"
    with pytest.raises(TypeError):
        url.parse(b"z39.50r://lib.example/a?b")  # type: ignore[arg-type]


def test_places_in_a_text_are_counted_in_characters() -> None:
    text = "Só <URL:z39.50s://lib.example/cat>, siehe http://lib.example/ü."
    places = url.extract(text)
    assert [text[place.start : place.end] for place in places] == ["z39.50s://lib.example/cat", "http://lib.example/ü"]
    assert [place.is_guess for place in places] == [False, True]
    assert len(url.extract(text, bare=False)) == 1
