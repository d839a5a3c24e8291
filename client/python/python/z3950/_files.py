"""Functions that read and convert files of records."""

from __future__ import annotations

from . import _z3950 as native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Literal

    from ._types import MarcLike, Source
    from ._z3950 import Record


def read(
    source: Source | MarcLike | Iterable[MarcLike],
    form: str | None = None,
    *,
    charset: str | None = None,
    errors: Literal["strict", "repair", "skip"] = "strict",
) -> Iterator[Record]:
    """Reads the records of a file, one at a time, in any form of MARC: ISO 2709, MARCXML, MARC-in-JSON, mrk or lines. A `str` is the path
    of a file. The source can also be one or several records of pymarc, or dicts of MARC-in-JSON.

    The form and the character set are detected unless they are given. A damaged record raises an `Error`, after which the next record can
    be read; with `errors="skip"`, it is left out. A record is damaged if part of it is missing or would have to be guessed, or if it
    contains octets that cannot be decoded. With `errors="repair"`, the readable part of a damaged record is returned, with U+FFFD in place
    of octets that cannot be decoded.

    >>> import z3950
    >>> [record.title for record in z3950.read(b"=LDR  00000nam a2200000 a 4500\\n=245  10$aEmma\\n")]
    ['Emma']
    """
    return native.Reader(source, form, charset, errors)


def convert(
    source: Source | MarcLike | Iterable[MarcLike],
    to: Literal["marc", "marcxml", "marcxchange", "json", "mrk", "line", "dc", "mods", "brief", "csv", "tsv", "spreadsheet"],
    form: str | None = None,
    *,
    columns: str | Iterable[str] | None = None,
    charset: str | None = None,
    errors: Literal["strict", "repair", "skip"] = "strict",
) -> Iterator[bytes]:
    """Converts records to another form, and yields the output in pieces. The source is a file, as for `read`, or a record, a result set, or
    a list of records; these may be records of pymarc. Text in the output is encoded in UTF-8.

    For a table (`csv`, `tsv`, or `spreadsheet`, which is CSV with numbers that spreadsheet programs do not reformat), `columns` selects the
    columns, such as `001,title,author,245c,020a,008/35-37,holdings`.

    >>> import io, z3950
    >>> file = io.BytesIO()
    >>> file.writelines(z3950.convert(b"=LDR  00000nam a2200000 a 4500\\n=245  10$aEmma\\n", to="marcxml"))
    >>> len(list(z3950.read(file.getvalue())))
    1
    >>> b"".join(z3950.convert(file.getvalue(), to="csv", columns=["title", "year"]))
    b'title,year\\r\\nEmma,\\r\\n'
    """
    chosen = columns if columns is None or isinstance(columns, str) else ",".join(columns)
    return native.Converter(native.Reader(source, form, charset, errors), to, chosen)
