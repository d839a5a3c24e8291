#!/usr/bin/env python3
"""Writes the character tables in ../src/charset from the data in two published packages.

Get the packages, unpack both into one folder, and name it:

    pip download --no-deps pymarc==5.4.0 smc.bibencodings==0.1
    python3 generate.py FOLDER

Only code points are read; no code of either package is used. The Library of Congress code tables (edition of 2007) are
the source of MARC-8; ISO 5426:1983 (ISO-IR 53) is the source of the other set. Of the positions that its package omits,
C9 is from the chart, in which DC and E0 are unassigned.
"""

import ast
import pathlib
import sys

CHARSET = pathlib.Path(__file__).parent.parent / "src" / "charset"
MARC8_ORIGIN = """\
//! {}: Library of Congress code tables, 2007, as in pymarc 5.4.0; written by
//! asn1/marc/tables/generate.py. """
ISO5426_ORIGIN = "//! ISO 5426:1983 (ISO-IR 53), as in smc.bibencodings 0.1; written by asn1/marc/tables/generate.py. "

# The final octet, constant and name of each set with one octet per character, in the order in which an encoder prefers them.
SETS = [
    (0x42, "BASIC_LATIN", "Basic Latin (ASCII)"),
    (0x45, "EXTENDED_LATIN", "Extended Latin (ANSEL)"),
    (0x4E, "BASIC_CYRILLIC", "Basic Cyrillic"),
    (0x51, "EXTENDED_CYRILLIC", "Extended Cyrillic"),
    (0x53, "BASIC_GREEK", "Basic Greek"),
    (0x32, "BASIC_HEBREW", "Basic Hebrew"),
    (0x33, "BASIC_ARABIC", "Basic Arabic"),
    (0x34, "EXTENDED_ARABIC", "Extended Arabic"),
    (0x67, "GREEK_SYMBOLS", "Greek Symbols"),
    (0x62, "SUBSCRIPTS", "Subscripts"),
    (0x70, "SUPERSCRIPTS", "Superscripts"),
]
EACC = 0x31
# A character that is not in any set and takes three octets in UTF-8, like every character of EACC.
FILLER = "\u303f"
# The umlaut, from the published chart. Unicode does not distinguish it from the trema.
UMLAUT = {0xC9: 0x0308}


def code_points(path):
    """Returns the dictionaries of a module that only consists of dictionaries, without running it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                pass  # a dictionary of dictionaries, by name
    return found


def array(values, indent="    "):
    rows = [values[start : start + 12] for start in range(0, len(values), 12)]
    return "".join(indent + ", ".join(f"0x{value:04X}" for value in row) + ",\n" for row in rows)


def marc8(module):
    out = MARC8_ORIGIN.format("MARC-8 without EACC")
    out += """\
Each set has the code points of 0x20 to 0x7F (or 0xA0 to 0xFF), with 0 for a code
//! without a character, and a bit for each code, set for marks.

"""
    out += "use super::GraphicSet;\n"
    names = "".join(f"    &{name},\n" for _, name, _ in SETS)
    out += f"\n/// The sets, in the order in which an encoder prefers them.\npub(super) static SETS: [&GraphicSet; {len(SETS)}] = [\n{names}];\n"
    for final, constant, name in SETS:
        codes, marks = [0] * 96, 0
        for octet, (code_point, combining) in module[f"CHARSET_{final:02X}"].items():
            place = (octet & 0x7F) - 0x20
            if place < 1 or (0x80 <= octet < 0xA0):
                continue  # controls are the same in every set
            codes[place] = code_point
            marks |= combining << place
        out += f"\n#[rustfmt::skip]\nstatic {constant}: GraphicSet = GraphicSet {{\n"
        out += f'    name: "{name}",\n    final_octet: b\'{chr(final)}\',\n    marks: 0x{marks:024X},\n    codes: [\n'
        out += array(codes, "        ") + "    ],\n};\n"
    (CHARSET / "marc8" / "marc8_table.rs").write_text(out, encoding="utf-8")


def eacc(module):
    table = {code: chr(code_point) for code, (code_point, _) in module[f"CHARSET_{EACC:02X}"].items()}
    assert FILLER not in table.values() and all(len(c.encode()) == 3 for c in table.values())
    out = MARC8_ORIGIN.format("EACC (ANSI Z39.64)")
    out += f"""\
Each entry consists of a code of three octets, its character, and the characters of
//! the following codes, with {FILLER} for a code without a character.

"""
    out += f"/// The number of codes that have a character.\n#[cfg(test)]\npub(super) const COUNT: usize = {len(table):_};\n\n"
    out += f"/// The placeholder for a code without a character.\npub(super) const FILLER: char = '{FILLER}';\n\n"
    out += "#[rustfmt::skip]\npub(super) static RUNS: &[(u32, &str)] = &[\n"
    entries, run, last = [], "", None
    for code in sorted(table):
        shown = literal(table[code])
        gap = 0 if last is None else code - last - 1
        if last is None or code >> 8 != last >> 8 or gap > 8 or len(run) + gap + len(shown) > 94:
            entries += [f'(0x{first:06X}, "{run}"),'] if run else []
            first, run, gap = code, "", 0
        run += FILLER * gap + shown
        last = code
    entries.append(f'(0x{first:06X}, "{run}"),')
    out += lines(entries) + "];\n"
    (CHARSET / "marc8" / "eacc_table.rs").write_text(out, encoding="utf-8")


def lines(entries):
    """Formats entries, as many on each line as fit into 120 characters."""
    out, line = "", "   "
    for entry in entries:
        if len(line) + 1 + len(entry) > 120:
            out, line = out + line + "\n", "   "
        line += " " + entry
    return out + line + "\n"


def literal(character):
    """Escapes private-use, compatibility and blank characters by number, so that no editor changes them."""
    private = 0xE000 <= ord(character) < 0xFB00
    return f"\\u{{{ord(character):04X}}}" if private or character.isspace() else character


def iso5426(module):
    codes = [0] * 96
    for character, octets in module["unicodemap"].items():
        # Several characters share a code; the table lists the plain one with the lowest number first.
        if len(octets) == 1 and octets[0] >= 0xA0 and codes[octets[0] - 0xA0] == 0:
            codes[octets[0] - 0xA0] = ord(character)
    for octet, code_point in UMLAUT.items():
        codes[octet - 0xA0] = code_point
    out = ISO5426_ORIGIN
    out += """\
The code points of 0xA0 to
//! 0xFF, with 0 for unassigned positions; C0 to DF are marks.

"""
    out += "#[rustfmt::skip]\npub(super) static CODES: [u16; 96] = [\n" + array(codes) + "];\n"
    (CHARSET / "iso5426" / "iso5426_table.rs").write_text(out, encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    mapping = code_points(next(folder.rglob("marc8_mapping.py")))
    marc8(mapping)
    eacc(mapping)
    iso5426(code_points(next(folder.rglob("iso5426.py"))))


main()
