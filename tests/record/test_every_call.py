"""Every MPI call that moves data, under every MPI there is: one exact matrix per call."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from helpers.graphs import arcs_of
from helpers.real_mpi import FAMILIES, mpi
from hopbytes.launch.command import LaunchCommand
from hopbytes.record.application import application_of
from hopbytes.record.counts import read_counts
from hopbytes.record.interposer import handed_on, interposer_for, preloading

HERE = Path(__file__).parent
INT = 4
pytestmark = [pytest.mark.launcher, pytest.mark.usefixtures("mpi_folder")]
RANKS = range(4)
NEXT = [(i, (i + 1) % 4) for i in RANKS]
PAIRS = [(i, j) for i in RANKS for j in RANKS if i != j]
TO_MANY, TO_ONE = [(1, i) for i in (0, 2, 3)], [(i, 2) for i in (0, 1, 3)]
UP = [(i, j) for i in RANKS for j in RANKS if i < j]
LINE = [(i, j) for i in RANKS for j in (i - 1, i + 1) if 0 <= j < 4]
OUT, BACK = [(1, i) for i in (0, 2, 3)], [(i, 1) for i in (0, 2, 3)]


def each(pairs, ints):
    """Return pair → bytes; `ints` is a number, or gives one for a pair."""
    return {pair: INT * (ints(*pair) if callable(ints) else ints) for pair in pairs}


#: What a call leaves where data goes directly from where it is to where it is needed: by the MPI standard's
#: words and the arguments in every_call.c. Forms with a request, large counts or starts are derived.
LEAVES = {
    **{f"{kind}send": each(NEXT, 11) for kind in ("", "b", "s", "r")},
    "sendrecv": each(NEXT, 11), "sendrecv_replace": each(NEXT, 11), "psend": each(NEXT, 4 * 11),
    "proc_null": {}, "vector": each(NEXT, 10),
    "bcast": each(TO_MANY, 5), "reduce": each(TO_ONE, 5), "allreduce": each(PAIRS, 6),
    "scan": each(UP, 5), "exscan": each(UP, 7), "gather": each(TO_ONE, 3),
    "gatherv": each(TO_ONE, lambda i, j: i + 1), "scatter": each(TO_MANY, 3),
    "scatterv": each(TO_MANY, lambda i, j: j + 1), "allgather": each(PAIRS, 3),
    "allgatherv": each(PAIRS, lambda i, j: i + 1), "alltoall": each(PAIRS, 3),
    "alltoallv": each(PAIRS, lambda i, j: j + 1), "alltoallw": each(PAIRS, lambda i, j: j + 1),
    "reduce_scatter": each(PAIRS, lambda i, j: j + 1), "reduce_scatter_block": each(PAIRS, 3), "barrier": {},
    "neighbor_allgather": each(LINE, 3), "neighbor_allgatherv": each(NEXT, 5),
    "neighbor_alltoall": each(LINE, 3), "neighbor_alltoallv": each(NEXT, 5),
    "neighbor_alltoallw": each(NEXT, 5), "neighbor_alltoall_of_graph": each([(i, 3 - i) for i in RANKS], 9),
    "put": each([(3, 1)], 13), "get": each([(1, 3)], 13), "accumulate": each([(3, 1)], 13),
    "get_accumulate": each([(3, 1), (1, 3)], 13), "fetch_and_op": each([(3, 1), (1, 3)], 1),
    "compare_and_swap": {(3, 1): 2 * INT, (1, 3): INT},
    "send_in_part": each([(2, 0), (3, 1)], 17), "send_in_part_again": each([(2, 0), (3, 1)], 17),
    "bcast_in_part": each([(2, 0), (3, 1)], 5),
    "alltoall_in_part": each([(2, 0), (3, 1), (0, 2), (1, 3)], 3),
    "send_between": each([(1, 2)], 19),
    "bcast_between": each(OUT, 5), "bcast_between_back": each([(2, 1)], 6),
    "gather_between": each(BACK, 3), "scatter_between": each(OUT, 3), "reduce_between": each(BACK, 5),
    "allreduce_between": each(OUT + BACK, 6), "alltoall_between": each(OUT + BACK, 3),
    "allgather_between": {**each(OUT, 9), **each(BACK, 3)},
    "reduce_scatter_block_between": {**each(OUT, 3), **each(BACK, 9)},
}  # fmt: skip


def expected(name, starts):
    """Return the matrix of a call by its name: ``ibcast_c``, ``bcast_init``, ``rput``."""
    if name in LEAVES:
        return LEAVES[name]
    plain = name.removesuffix("_c")
    base = plain.removesuffix("_init")
    times = 1
    if base != plain:
        times = 2 if base.endswith("send") else starts
    for form in (base, base[1:]):
        if form in LEAVES and (form == base or base[0] in "ir"):
            return {pair: times * volume for pair, volume in LEAVES[form].items()}
    raise AssertionError(f"{name}: a call nobody expects")


def phases_of(family, source, folder, language="c", flags=()):
    """Compile, run under the interposer; return what the program said and its folder of counts."""
    launch, compiler = mpi(family, language)
    program = folder / "program"
    built = subprocess.run(
        [compiler, *flags, str(HERE / source), "-w", "-o", str(program)], capture_output=True, text=True
    )
    if language == "fortran" and re.search("command not found|not found in PATH|execvp", built.stderr):
        pytest.skip("no Fortran compiler")
    assert not built.returncode, built.stderr
    command = LaunchCommand.parse([*launch, str(program)])
    library = interposer_for(application_of(command), command)
    counts = folder / "counts"
    counts.mkdir()
    settings = handed_on(command, preloading(str(library), str(counts), 0.0))
    done = subprocess.run(
        [*launch, str(program)], env={**os.environ, **settings}, capture_output=True, text=True,
        timeout=120, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), str(counts)


def matrix(folder, phase):
    graph, _ = read_counts(folder, "pairs", phase)
    return arcs_of(graph)


#: Calls every MPI has, those of MPI 4, and their large counts.
FEWEST = {"openmpi 5": 100, "openmpi 4.1": 75, "mpich": 190}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_call(family, tmp_path):
    (starts, *names), folder = phases_of(family, "every_call.c", tmp_path)
    starts = int(starts.removeprefix("starts="))
    found = {name: matrix(folder, phase) for phase, name in enumerate(names, 2)}
    assert found == {name: expected(name, starts) for name in names}
    assert len(found) == len(names) >= FEWEST[family]


@pytest.mark.parametrize("binding", ["mpif.h", "mpi", "mpi_f08"])
@pytest.mark.parametrize("family", FAMILIES)
def test_fortran(family, binding, tmp_path):
    """The same matrices from Fortran, whatever of MPI's names its bindings call."""
    flag = {"mpif.h": "-DHEADER", "mpi": "-DMODULE", "mpi_f08": "-DF08"}[binding]
    flags = (flag, "-ffree-line-length-none", "-fallow-argument-mismatch")
    names, folder = phases_of(family, "calls.F90", tmp_path, "fortran", flags)
    found = {name: matrix(folder, phase) for phase, name in enumerate(names, 2)}
    assert found == {name: expected(name, 2) for name in names}
    assert len(found) == 11


@pytest.mark.parametrize("family", ["openmpi 5", "mpich"])
def test_sessions(family, tmp_path):
    """Sessions without MPI_Init: ranks are those of mpi://WORLD, also of one that lives beside another."""
    said, folder = phases_of(family, "sessions.c", tmp_path)
    assert "".join(said) == "done" * 4  # launchers may mix the lines of ranks
    back = [(j, i) for i, j in NEXT]
    assert matrix(folder, 0) == {**each(NEXT, 11 + 2), **each(back, 5)}
