"""Lookups by this package: `lookups.py TARGET COUNT`."""

import sys

import z3950

target, count = sys.argv[1], int(sys.argv[2])
with z3950.connect(target) as cat:
    for number in range(count):
        answer = cat.lookup(f"local:rec{number % 1000 + 1:07}")
        assert answer.records[0].octets
