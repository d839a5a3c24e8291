"""Looks up an identifier at two targets, with fallbacks, and takes the best record: `find_best.py TARGET TARGET IDENTIFIER`."""

import sys

import z3950

*targets, identifier = sys.argv[1:]
for answer in z3950.lookup(targets, [identifier], fallback=True, best=True, all_targets=True):
    print(answer.target, answer.hits, answer.choice, answer.error)
    print(*answer.records, sep="\n")
