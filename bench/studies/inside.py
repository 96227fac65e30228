"""The test suite of mpi4py under other orders of ranks from inside: which tests fail that pass without?

    pip download --no-deps --no-binary :all: mpi4py && tar xf mpi4py-*.tar.gz
    export PYTHONPATH=tests; python -m bench.studies.inside mpi4py-*/test --orders 20 --family "openmpi 4.1"

mpi4py itself is the one installed (a wheel runs with Open MPI and with MPICH). A line per order: its
ranks, the number of tests that ran, and the tests that fail with it but not in the order of the launcher.
`--calls` measures what a wrapper adds to a call instead.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from hopbytes.mpi.inside.start import LIBRARY
from hopbytes.record.application import family_of, loaded_by, mpi_library
from hopbytes.record.interposer import interposer

#: Seconds for one run of the suite.
PATIENCE = 3600
FAILED = re.compile(r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)", re.MULTILINE)
CALLS = """#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, size, times = 20000000;
    MPI_Init(&argc, &argv);
    double began = MPI_Wtime();
    for (int i = 0; i < times; i++) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double between = MPI_Wtime();
    for (int i = 0; i < times; i++) MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("%.2f %.2f\\n", (between - began) / times * 1e9, (MPI_Wtime() - between) / times * 1e9);
    MPI_Finalize();
}
"""


def launcher_of(family: str, ranks: int) -> tuple[list[str], str]:
    """Return how to start a number of ranks with an MPI that is installed, and its compiler."""
    from helpers.real_mpi import mpi

    words, compiler = mpi(family)
    return [*words[:-1], str(ranks)], shutil.which(compiler) or compiler


def settings_of(compiler: str, folder: str, order: tuple[int, ...] | None) -> dict[str, str]:
    """Return the environment for mpi4py with the compiler's MPI, and with an order of ranks, if given."""
    library = str(interposer(compiler, library=LIBRARY))
    mpi = mpi_library(loaded_by(library) or "")
    name = "openmpi" if family_of(os.path.basename(mpi)) == "openmpi" else "mpich"
    settings = {"MPI4PY_MPIABI": name, "MPI4PY_LIBMPI": mpi, "OMPI_MCA_mpi_yield_when_idle": "1"}
    settings["MPIR_CVAR_POLLS_BEFORE_YIELD"] = "1"  # MPICH: the ranks may be more than the cores
    settings["OMPI_MCA_rmaps_base_oversubscribe"] = "1"
    settings["PRTE_MCA_rmaps_default_mapping_policy"] = ":oversubscribe"
    if name == "mpich":  # Debian calls the file libmpich.so.12
        link = Path(folder, "libmpi.so.12")
        link.unlink(missing_ok=True)
        link.symlink_to(mpi)
        settings["LD_LIBRARY_PATH"] = f"{folder}:{os.path.dirname(mpi)}"
    if order is None:
        return settings
    ranks, kept = (r"\n".join(map(str, numbers)) for numbers in (order, range(len(order))))
    script = Path(folder, "order.sh")
    script.write_text(f"if grep -q '^world'; then printf '{ranks}\\n'; else printf '{kept}\\n'; fi\n")
    return settings | {"LD_PRELOAD": library, "HOPBYTES_INSIDE": str(script)}


@cache
def run(
    family: str, source: str, ranks: int, order: tuple[int, ...] | None, modules: str
) -> tuple[int, frozenset[str]]:
    """Run the suite in an order; return how many tests ran on a rank, and those that failed on any."""
    launch, compiler = launcher_of(family, ranks)
    chosen = ["-i", modules] if modules else []
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*launch, sys.executable, "main.py", "-q", *chosen], cwd=source, timeout=PATIENCE,
            env=os.environ | settings_of(compiler, folder, order), capture_output=True, text=True,
        )
    counts = re.findall(r"Ran (\d+) tests", done.stdout + done.stderr)
    failed = {".".join(found) for found in FAILED.findall(done.stdout + done.stderr)}
    if len(counts) < ranks:
        failed.add(f"the run ended with code {done.returncode} on {ranks - len(counts)} of {ranks} ranks")
    return int(counts[0]) if counts else 0, frozenset(failed)


def suite(family: str, source: str, order: tuple[int, ...], modules: str = "") -> list[str]:
    """Return the tests of mpi4py that fail in an order and not in that of the launcher."""
    failed = run(family, source, len(order), order, modules)[1]
    return sorted(failed - run(family, source, len(order), None, modules)[1]) if failed else []


def nanoseconds(family: str) -> dict[str, list[float]]:
    """Return the least nanoseconds of MPI_Comm_rank and MPI_Comm_size, as launched and with another order."""
    launch, compiler = launcher_of(family, 2)
    least: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "calls.c").write_text(CALLS)
        subprocess.run([compiler, "-O2", "calls.c", "-o", "calls"], cwd=folder, check=True)
        with_order = settings_of(compiler, folder, (1, 0))
        for _ in range(5):
            for name, settings in (("launched", {}), ("ordered", with_order)):
                done = subprocess.run(
                    [*launch, f"{folder}/calls"], env=os.environ | settings, capture_output=True, text=True
                )
                rows = [[float(word) for word in line.split()] for line in done.stdout.splitlines()]
                rows += [least[name]] if name in least else []
                least[name] = [min(column) for column in zip(*rows, strict=True)]
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("source", nargs="?", help="folder test of mpi4py's sdist")
    families = "openmpi 5, openmpi 4.1 or mpich (HOPBYTES_MPICH names its bin)"
    parser.add_argument("--family", action="append", help=families)
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--modules", default="", help="regular expression of the modules that run")
    parser.add_argument("--calls", action="store_true", help="measure the time of a call instead")
    chosen = parser.parse_args()
    random = np.random.default_rng(1)
    for family in chosen.family or ["openmpi 5", "openmpi 4.1", "mpich"]:
        if chosen.calls:
            print(json.dumps({"family": family, "nanoseconds": nanoseconds(family)}), flush=True)
            continue
        for _ in range(chosen.orders):
            order = tuple(range(chosen.ranks))
            while order == tuple(range(chosen.ranks)):
                order = tuple(random.permutation(chosen.ranks).tolist())
            count, _ = run(family, chosen.source, chosen.ranks, order, chosen.modules)
            new = suite(family, chosen.source, order, chosen.modules)
            row = {"family": family, "order": order, "tests": count, "new_failures": new}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
