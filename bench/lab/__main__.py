"""``python -m bench.lab``: see the head of the package."""

from __future__ import annotations

import argparse
import json
import lzma
import tempfile
from pathlib import Path

import bench.lab
from bench.lab import papers
from bench.lab.fabric import FABRICS
from bench.lab.hosts import enter
from bench.lab.measure import ORDERS, measure, write
from bench.lab.programs import MPIS, PROGRAMS
from bench.lab.table import report, results


def main() -> None:
    """Build, check and measure, or print a table of what was measured."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m bench.lab", description=bench.lab.__doc__, formatter_class=plain
    )
    usual = [name for name in FABRICS if name != "small"]
    parser.add_argument("--fabrics", nargs="+", default=usual, metavar="NAME", help="a name, or a machine")
    known, orders = list(PROGRAMS), list(ORDERS)
    parser.add_argument("--programs", nargs="+", default=known, choices=known + papers.NAMES, metavar="NAME")
    parser.add_argument("--mpi", nargs="+", default=["openmpi"], choices=MPIS)
    every = orders + list(papers.ORDERS)
    parser.add_argument("--orders", nargs="+", default=orders, choices=every, metavar="NAME")
    parser.add_argument("--repetitions", type=int, default=5, help="of every order, in turn")
    parser.add_argument("--out", type=Path, help="append rows to this file, a line of JSON each")
    parser.add_argument("--recordings", type=Path, help="folder that keeps recordings for later runs")
    parser.add_argument("--check", action="store_true", help="build and check the fabrics, run nothing")
    parser.add_argument("--list", action="store_true", help="print fabrics and programs")
    parser.add_argument("--table", type=Path, metavar="ROWS", help="print a table of measured rows")
    given = parser.parse_args()
    if given.list:
        print("\n".join(f"{name:10} {spec}" for name, spec in FABRICS.items()))
        print("\n".join(f"{name:10} {' '.join(program.words)}" for name, program in PROGRAMS.items()))
        print("\n".join(papers.NAMES))
        return
    if given.table is not None:
        opened = lzma.open if given.table.suffix == ".xz" else open
        with opened(given.table, "rt") as stream:
            rows = [*map(json.loads, stream)]
        print("\n".join([*report(rows), *papers.tables(results(rows))]))
        return
    enter()
    programs = [] if given.check else given.programs
    with tempfile.TemporaryDirectory(prefix="hopbytes-recordings-") as folder:
        for name in given.fabrics:
            kept = Path(folder) if given.recordings is None else given.recordings.resolve()
            found = measure(name, programs, given.mpi, given.orders, given.repetitions, kept)
            write(found, given.out)


if __name__ == "__main__":
    main()
