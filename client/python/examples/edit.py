"""Edits the records of a file: `edit.py IN.mrc OUT.mrc`."""

import sys

import z3950

with open(sys.argv[2], "wb") as out:
    for record in z3950.read(sys.argv[1]):
        if "245" in record:
            record["245"]["a"] = record["245"].get("a", "").upper()
        record.remove_fields("852", "950")
        record.add_field("650", [("a", "Novels"), ("x", "English")], " 0")
        out.writelines(z3950.convert([record], to="marc"))
