"""Serves the records of a program to any Z39.50 or SRU client: `backend.py [PORT]`."""

import sys

import z3950

BOOKS = {1: ("Emma", "Austen, Jane"), 2: ("Persuasion", "Austen, Jane"), 3: ("War and peace", "Tolstoy, Leo")}


class Books:
    databases = ("books",)

    def search(self, query, request):
        if query.operator:
            left, right = (set(self.search(operand, request)) for operand in query.operands)
            return sorted({"and": left & right, "or": left | right, "not": left - right}[query.operator])
        place = {"title": slice(0, 1), "author": slice(1, 2)}.get(query.index_name, slice(0, 2))
        return [key for key, row in BOOKS.items() if query.term.lower() in " ".join(row[place]).lower()]

    def record(self, key, request):
        title, author = BOOKS[key]
        record = z3950.Record()
        record.add_field("001", str(key))
        record.add_field("100", [("a", author)], "1 ")
        record.add_field("245", [("a", title)], "10")
        return record

    def scan(self, query, request):
        return [row[1 if query.index_name == "author" else 0] for row in BOOKS.values()]


if __name__ == "__main__":
    z3950.serve(
        Books(), port=int(sys.argv[1]) if sys.argv[1:] else 2100, listening=lambda address: print("listening on", address, flush=True)
    )
