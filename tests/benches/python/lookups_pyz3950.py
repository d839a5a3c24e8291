"""The same lookups by PyZ3950: `lookups_pyz3950.py TARGET COUNT`."""

import re
import sys

from PyZ3950 import zoom

host, port, database = re.split("[:/]", sys.argv[1])
connection = zoom.Connection(host, int(port), databaseName=database, preferredRecordSyntax="USMARC")
# All result sets have the same name; otherwise, the server would soon have too many.
connection.namedResultSets = 0
for number in range(int(sys.argv[2])):
    found = connection.search(zoom.Query("PQF", f"@attr 1=12 rec{number % 1000 + 1:07}"))
    assert found[0].data
connection.close()
