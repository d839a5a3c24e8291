"""Measures the Python package against the Rust library, PyZ3950 and pymarc, and prints the rows of `tests/BENCHMARKS.md`.

    measure.py RECORDS.mrc --rust LOOKUPS --pyz3950 CHECKOUT

RECORDS.mrc has at least 10,000 records of `../shared/bench/gen.py`; LOOKUPS is the example `lookups` of `client/python`, built with
`--release`; CHECKOUT is PyZ3950, of which a copy is patched for Python 3.11. The package is installed with `--release`, too, and so are
pymarc and ply, which PyZ3950 needs. Contenders take turns, and each figure is the median of five runs, with the least and the most in
parentheses. Everything runs on one processor: with two, client and server would spend most of their time waking the other one. Nothing
is asserted.
"""

import argparse
import itertools
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
ROUNDS, LOOKUPS, REPEATS, RECORDS = 5, 1_000, 10, 10_000
SERVE = """
import sys, z3950
from z3950.testing import Server
with Server(records=[open(sys.argv[1], "rb").read()]) as server:
    print(server.target, flush=True)
    sys.stdin.read()
"""


def cpu(command: list[str], environment: dict[str, str]) -> float:
    """Returns the user and system time in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=os.environ | environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def turns(contenders: dict[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Returns the times of each contender's runs, after a first turn that warms up."""
    runs = [{name: measure() for name, measure in contenders.items()} for _ in range(ROUNDS + 1)]
    return {name: [run[name] for run in runs[1:]] for name in contenders}


def milliseconds(runs: list[float]) -> str:
    """Formats the median, minimum and maximum."""
    return f"{statistics.median(runs) * 1000:.1f} ({min(runs) * 1000:.1f} to {max(runs) * 1000:.1f})"


def table(work: str, unit: str, runs: dict[str, list[float]], base: str) -> None:
    """Prints rows in Markdown, with the ratio of each median to that of one contender."""
    print(f"\n| {work} | {unit} | ratio |\n|---|---|---|")
    for name, times in runs.items():
        print(f"| {name} | {milliseconds(times)} | {statistics.median(times) / statistics.median(runs[base]):.3g} |")


def patched(checkout: Path, folder: Path) -> Path:
    """Returns a copy whose regular expressions Python 3.11 accepts, which requires flags in the middle to be local."""
    shutil.copytree(checkout / "PyZ3950", folder / "PyZ3950")
    path = folder / "PyZ3950/ccl.py"
    text = path.read_text()
    text = text.replace("r'(?i)ATTRSET'", "r'(?i:ATTRSET)'").replace("r'(?i)(AND)|(OR)|(NOT)'", "r'(?i:(AND)|(OR)|(NOT))'")
    path.write_text(text.replace('"(?i)" + quals + r"|(\\([0-9]+,[0-9]+\\))"', '"(?i:" + quals + r"|(\\([0-9]+,[0-9]+\\)))"'))
    return folder


def lookups(records: Path, rust: Path, checkout: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first.mrc"
        octets = records.read_bytes()
        ends = [place.end() for place in itertools.islice(re.finditer(b"\x1d", octets), 1_000)]
        first.write_bytes(octets[: ends[-1]])
        server = subprocess.Popen([sys.executable, "-c", SERVE, str(first)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdin
        assert server.stdout
        target = server.stdout.readline().strip()
        old = {"PYTHONPATH": str(patched(checkout, Path(folder))), "PYTHONWARNINGS": "ignore"}
        commands: dict[str, tuple[list[str], dict[str, str]]] = {
            "the Rust library": ([str(rust)], {}),
            "z3950 for Python": ([sys.executable, str(HERE / "lookups.py")], {}),
            "PyZ3950, patched": ([sys.executable, str(HERE / "lookups_pyz3950.py")], old),
        }

        def contender(command: list[str], environment: dict[str, str]) -> Callable[[], float]:
            def spent() -> float:
                # The cost of starting and connecting is excluded. It varies, but repetition reduces the effect.
                idle = cpu([*command, target, "0"], environment)
                return (cpu([*command, target, str(LOOKUPS * REPEATS)], environment) - idle) / REPEATS

            return spent

        runs = turns({name: contender(*command) for name, command in commands.items()})
        table(f"{LOOKUPS} kept lookups", "CPU ms", runs, "the Rust library")
        server.stdin.close()
        server.wait()


def dicts(records: Path) -> None:
    from importlib.metadata import version

    import pymarc
    import z3950

    ends = [place.end() for place in itertools.islice(re.finditer(b"\x1d", records.read_bytes()), RECORDS)]
    octets = records.read_bytes()[: ends[-1]]

    def ours() -> float:
        begin = time.process_time()
        assert sum(len(record.json["fields"]) > 0 for record in z3950.read(octets)) == RECORDS
        return time.process_time() - begin

    def theirs() -> float:
        begin = time.process_time()
        assert sum(len(record.as_dict()["fields"]) > 0 for record in pymarc.MARCReader(octets) if record) == RECORDS
        return time.process_time() - begin

    name = f"pymarc {version('pymarc')}"
    table(f"{RECORDS} records to dicts", "CPU ms", turns({"z3950": ours, name: theirs}), "z3950")


def edits(records: Path) -> None:
    from importlib.metadata import version

    import pymarc
    import z3950

    ends = [place.end() for place in itertools.islice(re.finditer(b"\x1d", records.read_bytes()), RECORDS)]
    octets = records.read_bytes()[: ends[-1]]

    def ours() -> float:
        begin = time.process_time()
        edited = 0
        for record in z3950.read(octets):
            record["245"]["a"] = "Emma"
            edited += len(record.marc or b"") > 0
        assert edited == RECORDS
        return time.process_time() - begin

    def theirs() -> float:
        begin = time.process_time()
        edited = 0
        for record in pymarc.MARCReader(octets):
            if record:
                record["245"]["a"] = "Emma"
                edited += len(record.as_marc()) > 0
        assert edited == RECORDS
        return time.process_time() - begin

    name = f"pymarc {version('pymarc')}"
    table(f"{RECORDS} records read, edited and written", "CPU ms", turns({"z3950": ours, name: theirs}), "z3950")


def imports() -> None:
    code = "import time; begin = time.perf_counter(); import {}; print(time.perf_counter() - begin)"

    def contender(module: str) -> Callable[[], float]:
        return lambda: float(subprocess.check_output([sys.executable, "-c", code.format(module)]))

    runs = turns({f"`import {module}`": contender(module) for module in ("z3950", "z3950.aio", "asyncio", "pymarc")})
    table("work", "ms", runs, "`import z3950`")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", type=Path)
    parser.add_argument("--rust", type=Path, required=True)
    parser.add_argument("--pyz3950", type=Path, required=True)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    lookups(arguments.records, arguments.rust, arguments.pyz3950)
    dicts(arguments.records)
    edits(arguments.records)
    imports()


if __name__ == "__main__":
    main()
