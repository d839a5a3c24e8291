"""Reads what convert wrote with readers of others: json, csv, and pymarc if it is there. Prints a line of JSON for each file: how
many records were read, and their fields where pymarc reads them. Arguments: a form and a path, and so on."""

import csv
import io
import json
import sys

try:
    import pymarc
except ImportError:
    pymarc = None


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


def by_pymarc(form, path):
    if form == "marc":
        with open(path, "rb") as file:
            reader = pymarc.MARCReader(file, to_unicode=True, force_utf8=True)
            records = list(reader)
            if any(record is None for record in records):
                raise ValueError(f"{path}: {reader.current_exception!r}")
            return records
    if form in ("marcxml", "marcxchange"):
        with open(path, "rb") as file:
            return pymarc.parse_xml_to_array(file)
    if form == "json":
        with open(path, encoding="utf-8") as file:
            array = "[" + ",".join(line for line in file.read().split("\n") if line) + "]"
        return list(pymarc.JSONReader(array))
    return None


def plainly(form, path):
    """The number of records by the standard library."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    if form == "json":
        return [json.loads(line) for line in text.split("\n") if line]
    if form == "csv":
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        if len({len(row) for row in rows}) != 1:
            raise ValueError(f"{path}: rows of different lengths")
        return rows[1:]
    return None


arguments = sys.argv[1:]
for form, path in zip(arguments[::2], arguments[1::2]):
    found = {"path": path, "validations": 0}
    plain = plainly(form, path) if form in ("json", "csv") else None
    if plain is not None:
        found["plain"] = len(plain)
        found["validations"] += 1
    records = by_pymarc(form, path) if pymarc else None
    if records is not None:
        found["pymarc"] = len(records)
        found["fields"] = [listed(record) for record in records]
        found["validations"] += 1
    print(json.dumps(found))
