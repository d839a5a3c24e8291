"""Logs in over TLS to a server with a certificate from a private authority: `login.py TARGET CA.pem USER`."""

import getpass
import sys

import z3950

target, ca_file, user = sys.argv[1:]
password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
with z3950.connect(target, ca_file=ca_file, user=user, password=password) as cat:
    for record in cat.search("au:austen", facets=["date"]).records(errors="skip"):
        print(record.year, record.title)
