"""The test suite of mpi4py under other orders of ranks from inside: which tests fail that pass without?

    pip download --no-deps --no-binary :all: mpi4py && tar xf mpi4py-*.tar.gz
    export PYTHONPATH=tests; taskset -c 0 python -m bench.studies.inside mpi4py-*/test --family "openmpi 4.1"

mpi4py itself is the one installed (a wheel runs with Open MPI and with MPICH). For the standard ABI it is
built by `MPI4PY_BUILD_MPICC=mpicc_abi pip install --no-binary mpi4py --target ABI mpi4py`, and PYTHONPATH
names ABI; the family is then "mpich 5 abi". A line per order: its ranks, the number of tests that ran, the
seconds of processor time, and the tests that fail with it twice but not in the order of the launcher.
`--calls` measures what a wrapper adds to a call instead.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np

from hopbytes.mpi.inside.start import LIBRARY
from hopbytes.record.application import family_of, loaded_by, mpi_library
from hopbytes.record.interposer import interposer

#: Seconds for one run of the suite.
PATIENCE = 1200
#: Modules whose tests repeat what they do for many types and sizes, wait for files, start programs, or use a
#: process alone, and the number of orders in which they run. All others run in every order.
FEW_ORDERS = {
    "cco_(nb_|ngh_|pr_)?(buf|vec)": 6, "rma(_nb)?": 6, "io": 3, "spawn|util_pool": 2,
    "datatype|msgspec|pack|util_dtlib": 6,
}  # fmt: skip
#: Tests that fail or wait in the order of the launcher and then never end, by family: MPICH 4.0.2 loses what
#: one-sided calls write, so that locks of several ranks do not hold. Open MPI 4.1 with PMIx 4 (Debian 12)
#: loses a program that it spawns now and then (openpmix issue 2735).
ENDLESS = {"mpich": "*test_util_sync.*World.*", "openmpi 4.1": "*test_spawn.*"}
#: A library with which processes that wait sleep: they may be more than the cores. They try some times first:
#: on a busy computer a process that sleeps gets a core again much later, and some calls yield without a wait.
ASLEEP = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* Slices of 0.1 ms, where Linux allows it: a process that wakes need not wait for the slice of another. */
static __attribute__((constructor)) void take_short_slices(void) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice, of_deadlines[2];
    } wanted = {48, SCHED_OTHER, 0, getpriority(PRIO_PROCESS, 0), 0, 100000, {0, 0}};
    syscall(SYS_sched_setattr, 0, &wanted, 0);
}
static long now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000L + at.tv_nsec;
}
static int rest(void) {
    static long last, tries;
    if (now() - last > 5000) tries = 0; /* it worked in between */
    if (tries++ > 200) nanosleep(&(struct timespec){0, 1000}, 0);
    last = now();
    return 0;
}
int sched_yield(void) { return rest(); }
unsigned ucp_worker_progress(void *worker) { /* MPICH 4.0 does not yield */
    static unsigned (*next)(void *);
    if (!next) next = dlsym(dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD), "ucp_worker_progress");
    unsigned found = next(worker);
    if (!found) rest();
    return found;
}
"""
#: Ranks that wait yield to those that work.
YIELD = {
    "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_hwloc_default_binding_policy": "none",
    "OMPI_MCA_osc": "^ucx",
}  # fmt: skip
#: Starts the suite with mpi4py.MPI as the first module that Python knows. For each data type that it copies,
#: pickle looks for the module of the constructor, and would look into hundreds of others before.
START = """import os, runpy, sys, unittest
sys.path.insert(0, os.getcwd())
start = unittest.TestProgram.runTests
def first(program):
    for name in [each for each in sys.modules if each != "mpi4py.MPI"]:
        sys.modules[name] = sys.modules.pop(name)
    start(program)
unittest.TestProgram.runTests = first
runpy.run_path("main.py", run_name="__main__")
"""
ENDED = "the run ended"
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
    settings = dict(YIELD, LD_PRELOAD=asleep())
    if not compiler.endswith("_abi"):
        settings |= {"MPI4PY_MPIABI": name, "MPI4PY_LIBMPI": mpi}
    if os.path.basename(mpi).startswith("libmpich"):  # Debian calls the file libmpich.so.12
        link = Path(folder, "libmpi.so.12")
        link.unlink(missing_ok=True)
        link.symlink_to(mpi)
        settings["LD_LIBRARY_PATH"] = f"{folder}:{os.path.dirname(mpi)}"
    if order is None:
        return settings
    ranks, kept = (r"\n".join(map(str, numbers)) for numbers in (order, range(len(order))))
    script = Path(folder, "order.sh")
    script.write_text(f"if grep -q '^world'; then printf '{ranks}\\n'; else printf '{kept}\\n'; fi\n")
    return settings | {"LD_PRELOAD": f"{library} {asleep()}", "HOPBYTES_INSIDE": str(script)}


@cache
def asleep() -> str:
    """Return the path of that library, compiled once."""
    folder = tempfile.mkdtemp()
    words = ["cc", "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", f"{folder}/asleep.so", "-ldl"]
    subprocess.run(words, input=ASLEEP, text=True, check=True)
    return words[-2]


@cache
def run(
    family: str, source: str, ranks: int, order: tuple[int, ...] | None, options: tuple[str, ...]
) -> tuple[int, float, frozenset[str]]:
    """Run the suite in an order; return how many tests ran on a rank, its time, and what failed on any."""
    launch, compiler = launcher_of(family, ranks)
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["timeout", "-k", "9", str(PATIENCE), *launch, sys.executable, "-c", START, "-q", *options],
            cwd=source, env=os.environ | settings_of(compiler, folder, order), capture_output=True,
            text=True,
        )  # fmt: skip
    seconds = sum(os.times()[2:4]) - sum(before[2:4])
    counts = re.findall(r"Ran (\d+) tests", done.stdout + done.stderr)
    failed = {".".join(found) for found in FAILED.findall(done.stdout + done.stderr)}
    if len(counts) < ranks:
        failed.add(f"{ENDED} with code {done.returncode} on {ranks - len(counts)} of {ranks} ranks")
    return int(counts[0]) if counts else 0, round(seconds, 1), frozenset(failed)


def suite(family: str, source: str, order: tuple[int, ...], modules: str = "") -> dict[str, object]:
    """Run modules in an order, "" those without a row in the table; return what fails in that order alone."""
    words = [("-i", modules)] if modules else [("-e", f"test_({names})[.]") for names in FEW_ORDERS]
    words += [("-x", ENDLESS[family])] if family in ENDLESS else []
    # Fewer types, and no import of setuptools.
    options = ("--no-numpy", "--no-builddir", *(word for pair in words for word in pair))
    count, seconds, failed = run(family, source, len(order), order, options)
    known = run(family, source, len(order), None, options)[2] if failed else frozenset()
    new = {name for name in failed if name not in known or name.startswith(ENDED)}
    if new:  # some tests wait for others a short time, which fails at times on a busy computer
        new &= run.__wrapped__(family, source, len(order), order, options)[2]
    row = {"family": family, "modules": modules, "order": order, "tests": count, "seconds": seconds}
    return row | {"new_failures": sorted(new)}


def orders(ranks: list[int], count: int) -> list[tuple[int, ...]]:
    """Return orders other than the launcher's: all of few ranks, then random ones of more, each once."""
    random = np.random.default_rng(1)
    every = [each for n in sorted(ranks) for each in random.permutation(list(permutations(range(n)))[1:])]
    return [tuple(each.tolist()) for each in every[:count]]


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
    families = "openmpi 5, openmpi 4.1, mpich, mpich 5 abi (HOPBYTES_MPICH names the bin of another MPICH)"
    parser.add_argument("--family", action="append", help=families)
    parser.add_argument("--orders", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first order that is run, counted from 0")
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--modules", default="", help="only these (regular expression), in all orders")
    parser.add_argument("--calls", action="store_true", help="measure the time of a call instead")
    chosen = parser.parse_args()
    if chosen.source:
        compileall.compile_dir(chosen.source, quiet=1)  # main.py itself keeps nothing compiled
    for family in chosen.family or ["openmpi 5", "openmpi 4.1", "mpich"]:
        if chosen.calls:
            print(json.dumps({"family": family, "nanoseconds": nanoseconds(family)}), flush=True)
            continue
        groups = {f"test_({names})[.]": count for names, count in FEW_ORDERS.items()}
        groups = {"": chosen.orders} | groups if not chosen.modules else {chosen.modules: chosen.orders}
        for modules, count in groups.items():
            for order in orders(chosen.ranks, min(count, chosen.orders))[chosen.first :]:
                print(json.dumps(suite(family, chosen.source, order, modules)), flush=True)


if __name__ == "__main__":
    main()
