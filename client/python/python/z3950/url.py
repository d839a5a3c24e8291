"""Functions that parse and find URLs of any scheme, in particular those of RFC 2056.

>>> from z3950 import url
>>> found = url.parse("Z39.50R://CNIDR.org:2100/tmf?a%62c;esn=f;rs=marc")
>>> str(found), found.host, found.databases, found.docid
('z39.50r://cnidr.org:2100/tmf?abc;esn=f;rs=marc', 'cnidr.org', ['tmf'], b'abc')
>>> [str(place) for place in url.extract("See <URL:z39.50s://lib.example/cat> and http://lib.example/.")]
['z39.50s://lib.example/cat', 'http://lib.example/']
"""

from __future__ import annotations

from . import _z3950 as native
from ._z3950 import FoundUrl, Url

__all__ = ["FoundUrl", "Url", "extract", "parse"]


def parse(text: str, *, strict: bool = False) -> Url:
    """Parses a URL. `strict` refuses forms that people write but the standards do not allow, such as fragments and surrounding blanks.

    >>> from z3950 import url
    >>> url.parse("z39.50r://lib.example/?id7")
    Traceback (most recent call last):
    z3950.BadUrl: docid without a database at character 23: name the database between `/` and `?`
    """
    return native.parse(text, strict)


def extract(text: str, *, bare: bool = True) -> list[FoundUrl]:
    """Returns the URLs in a text, with their positions: those between `<URL:` and `>` and, unless `bare` is false, also others, which are
    guesses."""
    return native.extract(text, bare)
