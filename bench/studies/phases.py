"""Mappings for one phase of a program alone, for the sum of its phases and for the least maximum.

    python -m bench.studies.phases --ranks 32

Records three programs of two phases each (``phased_programs.c``) by ``hopbytes record --phase all`` under
the ``mpirun`` beside Python, and prints J of both phases, their sum and the larger one as shares of tasks in
order.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import hopbytes as hb
from bench.rivals.needed import need

PROGRAMS = ("spectral", "multigrid", "solver")
SOURCE = Path(__file__).with_name("phased_programs.c")
BESIDE = Path(sys.executable).parent
AS_ROOT = {f"{tool}_ALLOW_RUN_AS_ROOT{more}": "1" for tool in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}


def recorded(program: str, ranks: int, folder: Path) -> hb.CommGraph:
    """Record a program with its phases in one file."""
    binary, pattern = folder / "phased", folder / f"{program}.pattern"
    if not binary.exists():
        subprocess.run([BESIDE / "mpicc", "-O2", SOURCE, "-o", binary], check=True)
    run = [BESIDE / "mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), binary, program]
    words = [sys.executable, "-m", "hopbytes", "record", "--phase", "all", "-o", pattern, "--", *run]
    subprocess.run(words, check=True, env=os.environ | AS_ROOT, capture_output=True)
    graph: hb.CommGraph = hb.read(str(pattern))
    return graph


def rows(graph: hb.CommGraph, where: hb.Allocation) -> dict[str, list[int]]:
    """J of each phase for tasks in order and for every mapping."""
    phases = graph.phases
    orders = {
        "in order": np.arange(graph.n, dtype=np.int32),
        **{f"for phase {i}": hb.map_tasks(phase, where).pe for i, phase in enumerate(phases, 1)},
        "for the sum": hb.map_tasks(graph, where).pe,
        "least maximum": hb.map_phases(list(phases), where, goal="max").pe,
    }
    return {
        name: [
            hb.evaluate(phase, hb.Mapping(pe, where), baselines=False).mapping.comm_cost
            for phase in phases
        ]
        for name, pe in orders.items()
    }


def main() -> None:
    """Record and print the table."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--ranks", type=int, default=32, help="a multiple of 4")
    parser.add_argument("--on", default="node:4@10 core:8@1")
    options = parser.parse_args()
    need("mpicc")
    where = hb.allocate(options.on)
    print("program | mapping | J of phase 1 | J of phase 2 | sum | larger, over tasks in order")
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS:
            found = rows(recorded(program, options.ranks, Path(folder)), where)
            base = found["in order"]
            for name, costs in found.items():
                shares = [*(cost / old for cost, old in zip(costs, base, strict=True)),
                          sum(costs) / sum(base), max(costs) / max(base)]
                print(" | ".join([program, name, *(f"{share:.3f}" for share in shares)]))


if __name__ == "__main__":
    main()
