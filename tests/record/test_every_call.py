"""Every MPI call that moves data, under every MPI there is, also counted by Open MPI: exact matrices."""

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from helpers.graphs import arcs_of
from helpers.real_mpi import FAMILIES, mpi, no_compiler
from hopbytes.launch.command import LaunchCommand
from hopbytes.record.application import application_of
from hopbytes.record.counts import read_counts
from hopbytes.record.interposer import handed_on, interposer_for, preloading
from hopbytes.record.session import record

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


CHAIN = [(0, 1), (1, 2), (2, 3)]


def out_of(root):
    return [(root, i) for i in RANKS if i != root]


def into(root):
    return [(i, root) for i in RANKS if i != root]


def messages():
    """Yield pair and integers of every message of counted.c under Open MPI's plainest algorithms.

    Its component ``basic`` sends directly from and to the root; all-reduce, all-gather and reduce-scatter go
    through rank 0, scans along a chain; ``libnbc`` broadcasts to four ranks directly.
    """
    sizes = {
        1000: NEXT, 100: out_of(1), 200: into(2), 60: into(0) + out_of(0), 50: CHAIN, 70: CHAIN, 30: into(2),
        35: out_of(1), 31: into(0), 4 * 31: out_of(0), 10: out_of(0), 37: PAIRS,
        4 * 13: into(0), 13: out_of(0), 110: out_of(1), 41: PAIRS,
        170: [(2, 0), (3, 1)], 19: [(2, 0), (3, 1)],
        130: [(3, 1)], 140: [(1, 3)], 150: [(3, 1)], 160: [(3, 1), (1, 3)], 1: [(3, 1), (1, 3)],
    }  # fmt: skip
    for ints, pairs in sizes.items():
        yield from ((pair, ints) for pair in pairs)
    yield from ((pair, pair[0] + 1) for pair in into(2) + into(0))  # gatherv, allgatherv
    yield from ((pair, pair[1] + 1) for pair in out_of(1) + PAIRS)  # scatterv, alltoallv
    # reduce_scatter of blocks of 1, 2, 3, 4 by halves: first with the rank 2 away, then with the next.
    halves = {(0, 2): 7, (1, 3): 7, (2, 0): 3, (3, 1): 3, (0, 1): 2, (1, 0): 1, (2, 3): 4, (3, 2): 3}
    yield from halves.items()


@pytest.mark.parametrize("family", ["openmpi 5", "openmpi 4.1"])
def test_every_class_of_calls(family, tmp_path, monkeypatch):
    """Also where the environment names components without those that count, which ranks would not survive."""
    monkeypatch.setenv("OMPI_MCA_coll", "basic,libnbc,self,inter")
    launch, compiler = mpi(family)
    source = str(HERE / "counted.c")
    subprocess.run([compiler, source, "-o", "app"], check=True)
    bytes_of, messages_of = Counter(), Counter()
    for sign, words in [(1, ["everything"]), (-1, [])]:
        done = record([*launch, "./app", *words], hosts=False)
        assert done.graph is not None, done.problem
        assert done.graph.meta["recorded"]["by"] == "monitoring (E + I + S + R)"
        pairs = list(zip(done.graph.sources().tolist(), done.graph.targets.tolist(), strict=True))
        for pair, sent, times in zip(
            pairs, done.graph.arc_volumes().tolist(), done.graph.arc_messages().tolist(), strict=True
        ):
            bytes_of[pair] += sign * sent
            messages_of[pair] += sign * times
    wanted = Counter()
    for pair, ints in messages():
        wanted[pair] += INT * ints
    assert {pair: sent for pair, sent in bytes_of.items() if sent} == wanted
    # Barriers are messages without bytes.
    least = Counter(pair for pair, _ in messages())
    assert all(messages_of[pair] >= times for pair, times in least.items())


def recorded(family, flag, monkeypatch, tmp_path, compilers=True):
    """Record unfit.c with a kind of calls compiled in; return the graph, and what was said."""
    if not compilers:
        monkeypatch.setattr("hopbytes.record.session.interposer_for", no_compiler)
    launch, compiler = mpi(family)
    source = str(HERE / "unfit.c")
    subprocess.run([compiler, flag, source, "-o", "app"], check=True)
    done = record([*launch, "./app"], hosts=False)
    assert done.graph is not None, done.problem
    return done.graph, list(done.graph.meta.get("notices", ()))


#: What every rank sends to the next, beside what each kind of calls adds.
UNFIT = {
    "-DPAUSED": {}, "-DPARTITIONED": dict.fromkeys(NEXT, 2 * 4 * 25), "-DGROUP=1": {(0, 1): 5},
    "-DGROUP=2": {(0, 2): 5}, "-DGROUP=3": {(0, 3): 5},
}  # fmt: skip


@pytest.mark.parametrize("flag", UNFIT)
@pytest.mark.parametrize("family", ["openmpi 5", "openmpi 4.1"])
def test_calls_that_it_is_wrong_about(family, flag, tmp_path, monkeypatch):
    """It counts while paused, no partitioned sends, and crashes where groups of unequal size meet."""
    if (family, flag) == ("openmpi 4.1", "-DPARTITIONED"):
        pytest.skip("it has no partitioned sends")
    graph, notices = recorded(family, flag, monkeypatch, tmp_path)
    ends = zip(graph.sources().tolist(), graph.targets.tolist(), graph.arc_volumes().tolist(), strict=True)
    wanted = Counter(dict.fromkeys(NEXT, 9000)) + Counter(UNFIT[flag])
    found = {(source, target): sent for source, target, sent in ends if sent}
    # Communicators are agreed upon by collective calls, which the model turns into messages.
    pairs = NEXT + list(UNFIT[flag])
    assert {pair: found[pair] for pair in pairs} == {pair: wanted[pair] for pair in pairs}
    assert graph.meta["recorded"]["by"] == "interposer"
    assert notices == []


@pytest.mark.parametrize("family", ["openmpi 5", "openmpi 4.1"])
def test_two_groups_without_a_compiler(family, tmp_path, monkeypatch):
    """Its files name a rank of the other group behind O2A, which is not the writing one."""
    graph, notices = recorded(family, "-DGROUP=2", monkeypatch, tmp_path, compilers=False)
    assert graph.n == 4
    assert set(zip(graph.sources().tolist(), graph.targets.tolist(), strict=True)) >= {*NEXT, (0, 2)}
    assert graph.meta["recorded"]["by"].startswith("monitoring")
    assert any(
        "uses messages between two groups: Open MPI's monitoring counts them wrongly" in n for n in notices
    )


def test_a_pause_without_a_compiler_is_said(tmp_path, monkeypatch):
    graph, notices = recorded("openmpi 5", "-DPAUSED", monkeypatch, tmp_path, compilers=False)
    assert graph.total_volume >= 4 * 69000
    assert any("uses MPI_Pcontrol: Open MPI's monitoring counts them wrongly" in notice for notice in notices)
