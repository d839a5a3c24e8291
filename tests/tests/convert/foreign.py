"""Reads what convert wrote with readers of others: json, csv, and pymarc if it is there. Prints a line of JSON for each file: how
many records each reader found, and the first record that is not the same in all files that are compared. Arguments: a form,
"compared" or "alone", and a path, and so on. The form "perl" is what foreign.pl has read."""

import csv
import io
import json
import re
import sys

try:
    import pymarc
except ImportError:
    pymarc = None

# The characters of structure, which pymarc leaves as they are written.
MNEMONICS = {"dollar": "$", "bsol": "\\", "lcub": "{", "rcub": "}", "esc": "\x1b"}


def listed(record):
    """The fields of a record as lists, which are compared between forms."""
    fields = []
    for field in record.fields:
        if field.is_control_field():
            fields.append([field.tag, field.data])
        else:
            subfields = [[subfield.code, subfield.value] for subfield in field.subfields]
            fields.append([field.tag, list(field.indicators), subfields])
    return [str(record.leader)[5:9], fields]


def unescaped(listed):
    def text(value):
        return re.sub(r"\{(\w+)\}", lambda found: MNEMONICS.get(found[1], found[0]), value)

    def blanks(value):
        return value.replace("\\", " ")

    leader, fields = listed
    read = []
    for field in fields:
        if len(field) == 2:
            read.append([field[0], text(blanks(field[1]))])
        else:
            subfields = [[code, text(value)] for code, value in field[2]]
            read.append([field[0], [blanks(one) for one in field[1]], subfields])
    return [blanks(leader), read]


def by_pymarc(form, path):
    if form == "marc":
        with open(path, "rb") as file:
            reader = pymarc.MARCReader(file, to_unicode=True, force_utf8=True)
            records = list(reader)
            if any(record is None for record in records):
                raise ValueError(f"{path}: {reader.current_exception!r}")
    elif form in ("marcxml", "marcxchange"):
        with open(path, "rb") as file:
            records = pymarc.parse_xml_to_array(file)
    elif form == "json":
        with open(path, encoding="utf-8") as file:
            array = "[" + ",".join(line for line in file.read().split("\n") if line) + "]"
        records = list(pymarc.JSONReader(array))
    elif form == "mrk" and hasattr(pymarc, "MARCMakerReader"):
        with open(path, encoding="utf-8", newline="") as file:
            # It takes the end of the last record for the beginning of another one.
            records = list(pymarc.MARCMakerReader(io.StringIO(file.read().rstrip("\n"), newline="")))
        return [unescaped(listed(record)) for record in records]
    else:
        return None
    return [listed(record) for record in records]


def plainly(form, path):
    """The records by the standard library."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if form in ("json", "perl"):
        return [json.loads(line) for line in text.split("\n") if line]
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    if len({len(row) for row in rows}) != 1:
        raise ValueError(f"{path}: rows of different lengths")
    return rows[1:]


def ordered(record):
    """Control fields first, as XML has them."""
    return [record[0], sorted(record[1], key=len)]


reference = None


def filled(record):
    """Without the fill character of UNIMARC, which MARC::Record does not have as an indicator."""
    fields = record[1]
    return [record[0], [field if len(field) == 2 else [field[0], [one.replace("|", " ") for one in field[1]], field[2]] for field in fields]]


def difference(form, records):
    """The first record that is not that of the first file that was compared."""
    global reference
    records = [ordered(record) for record in records]
    if reference is None:
        reference = records
    for number, (expected, found) in enumerate(zip(reference, records), 1):
        if form == "perl":
            expected = filled(expected)
        if expected != found:
            fields = [pair for pair in zip(expected[1], found[1]) if pair[0] != pair[1]]
            return [number, expected[0], found[0], fields[:1]]
    return None


arguments = iter(sys.argv[1:])
for form, compared, path in zip(arguments, arguments, arguments):
    found = {"path": path, "differs": None}
    if form in ("json", "csv"):
        found["json and csv"] = len(plainly(form, path))
    records = None
    if form == "perl":
        records = plainly(form, path)
        found["MARC::File::MARCMaker"] = len(records)
    elif pymarc:
        records = by_pymarc(form, path)
        if records is not None:
            found["pymarc"] = len(records)
    if records is not None and compared == "compared":
        found["differs"] = difference(form, records)
    print(json.dumps(found))
