"""Looks up an identifier at two targets, with fallbacks, and prints the events: `find_best.py TARGET TARGET IDENTIFIER`."""

import sys

import z3950

*targets, identifier = sys.argv[1:]
for event in z3950.find(targets, identifier, fallback=True, best=True, all_targets=True):
    print(event)
