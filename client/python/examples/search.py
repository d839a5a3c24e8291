"""Searches a catalogue and prints a table of what it finds: `search.py TARGET WORDS`."""

import sys

import z3950

target, words = sys.argv[1:]
with z3950.connect(target, timeout=20) as cat:
    hits = cat.search(words)
    print(f"{len(hits)} found", file=sys.stderr)
    for line in z3950.convert(hits.records(errors="skip"), to="csv", columns="001,title,author,year"):
        sys.stdout.buffer.write(line)
