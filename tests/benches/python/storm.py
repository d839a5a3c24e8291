"""Runs searches that each read a record, and prints the memory of the process: `storm.py TARGET [COUNT]`, by default 100,000.

TARGET is a server whose memory does not grow with searches, such as `yaz-ztest`. The first tenth warms up. Nothing is asserted.
"""

import resource
import sys

import z3950


def resident() -> float:
    """Returns the resident memory in MiB."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / (1 << 20)


def main() -> None:
    target, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    warm = 0.0
    with z3950.connect(target) as cat:
        for number in range(1, count + 1):
            hits = cat.search("water", first=1)
            assert hits[0].json
            if number == count // 10:
                warm = resident()
                print(f"after {number} searches: {warm:.1f} MiB")
    print(f"after {count} searches: {resident():.1f} MiB, {resident() - warm:+.1f} MiB")


if __name__ == "__main__":
    main()
