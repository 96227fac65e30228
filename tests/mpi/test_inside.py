"""The order of ranks inside a program: the wrappers of an mpi.h, and the answer to what rank 0 asks."""

import os
import shlex
import sys

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import executable
from hopbytes.errors import HopbytesError
from hopbytes.mpi.communicators import grid_neighbours
from hopbytes.mpi.inside import start
from hopbytes.mpi.inside.answer import Question, new_order
from hopbytes.mpi.inside.wrappers import wrappers

HEADER = """
typedef int MPI_Comm; typedef int MPI_Request;
typedef int (MPI_Copy)(MPI_Comm, int, void *);
__attribute__((visibility("default"))) int MPI_Send(const void *buf, int n, MPI_Comm comm)
    __attribute__((__deprecated__("MPI_Send (it), was removed")));
int MPI_Init(int *argc, char ***argv);
extern int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made) ;
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made);
int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote, int tag, MPI_Comm *made);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Spawn(char *argv[], const int counts[], int ranges[][3], MPI_Comm comm, int (*f)(MPI_Comm, int));
static inline int MPI_Helper(MPI_Comm comm) { return MPI_Send(0, 0, comm); }
"""


def wrapped(header):
    lines = wrappers(header).splitlines()
    return {line.split("(")[0].split()[-1]: line for line in lines if line.startswith("int") and "{" in line}


def test_each_function_with_a_communicator_has_a_wrapper_under_both_names():
    header = HEADER.replace(", int (*f)(MPI_Comm, int)", "")
    found = wrapped(header)
    names = {"Send", "Init", "Comm_split", "Intercomm_create", "Spawn", "Errhandler_get", "Errhandler_set"}
    assert found.keys() == {prefix + name for name in names for prefix in ("MPI_", "PMPI_")}
    assert "NEXT(MPI_Send)(buf, n, IN(comm))" in found["MPI_Send"]
    assert "NEXT(PMPI_Intercomm_create)(IN(local), leader, IN(peer), remote, tag, made)" in (
        found["PMPI_Intercomm_create"]
    )
    params = "char *argv[], const int counts[], int ranges[][3], MPI_Comm comm"
    assert f"int MPI_Spawn({params})" in found["MPI_Spawn"]
    assert "special_Init(NEXT(MPI_Init), argc, argv)" in found["MPI_Init"]


@pytest.mark.parametrize("header", ["", "int MPI_Send(int x);", HEADER])
def test_a_header_that_is_not_understood_is_refused(header):
    with pytest.raises(HopbytesError, match=r"mpi\.h"):
        wrappers(header)


def text_of(hosts, *, world=True, programs=None, arcs=None):
    """Return what the processes on these hosts write, each bound to a core of its own."""
    lines, used = [], {}
    for rank, host in enumerate(hosts):
        cpu = used[host] = used.get(host, -1) + 1
        program = programs[rank] if programs else "ab"
        lines += ["world"] if world else []
        lines.append(f"process\t{host}\t{program}\t{cpu}-{cpu}\t0-7\t\t\t{cpu}")
        lines += [f"{rank} {to} {size}" for to, size in (arcs[rank] if arcs else {}).items()]
    return "\n".join(lines) + "\n"


def solve(graph, where, constraints):
    return hb.map_tasks(graph, where, seed=1, threads=1, constraints=constraints, partition=False)


def crossing(ranks, hosts, graph):
    host_of = dict(zip(ranks.tolist(), hosts, strict=True))
    ends = zip(graph.sources().tolist(), graph.targets.tolist(), strict=True)
    return sum(host_of[source] != host_of[target] for source, target in ends)


CYCLIC = [f"n{rank % 8}" for rank in range(64)]
GRID = [grid_neighbours(rank, (4, 4, 4), (True, True, True)) for rank in range(64)]


@pytest.mark.parametrize("given", [None, "node:8@10 core:8@1"])
@pytest.mark.parametrize("world", [True, False])
def test_the_order_costs_what_a_rank_file_would_cost(given, world):
    """A pattern for MPI_COMM_WORLD, and the same as a topology: as many arcs cross nodes as `map` leaves."""
    arcs = [(rank, to, 1) for rank, near in enumerate(GRID) for to in near]
    graph = hb.CommGraph.from_edges(*np.array(arcs).T, n=64)
    where = None if given is None else hb.allocate(given, hosts=[f"n{i}" for i in range(8)])
    question = Question.read(text_of(CYCLIC, world=world, arcs=None if world else GRID))
    seen = []

    def noted(*given):
        seen.append(given[2] is not None)
        return solve(*given)

    found = new_order(question, graph if world else None, where, noted)
    assert sorted(found.ranks.tolist()) == list(range(64))
    node = hb.map_tasks(graph, "node:8@10 core:8@1", seed=1, partition=False).pe // 8
    crossings = sum(node[source] != node[target] for source, target, _ in arcs)
    assert crossing(found.ranks, CYCLIC, graph) == crossings
    kept = new_order(question, graph if world else None, where, noted, keep_first=True)
    assert seen == [False, world]
    assert crossing(kept.ranks, CYCLIC, graph) == crossing(found.ranks, CYCLIC, graph)
    assert kept.ranks[0] == 0 if world else kept.ranks.tolist() == found.ranks.tolist()


def test_a_stored_mapping_is_followed():
    where = hb.allocate("node:2@10 core:2@1", hosts=("n0", "n1"))
    mapping = hb.Mapping(np.array([3, 0, 2, 1], np.int32), where)
    question = Question.read(text_of(["n0", "n1", "n0", "n1"]))  # processes on PE 0, 2, 1, 3
    assert new_order(question, mapping, None, solve).ranks.tolist() == [1, 2, 3, 0]
    with pytest.raises(HopbytesError, match="rank 0"):
        new_order(question, mapping, None, solve, keep_first=True)
    with pytest.raises(HopbytesError, match=mentions("4", "3")):
        new_order(Question.read(text_of(["n0", "n1", "n0"])), mapping, None, solve)
    half = hb.Mapping(np.array([0, 0, 1, 2], np.int32), where)
    with pytest.raises(HopbytesError, match="PE 0"):
        new_order(question, half, None, solve)


def test_what_cannot_be_ordered_says_so():
    ring = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    mixed = Question.read(text_of(["n0", "n1", "n0", "n1"], programs=["a", "a", "b", "b"]))
    with pytest.raises(HopbytesError, match=mentions("0", "2", "programs")):
        new_order(mixed, ring, None, solve)
    question = Question.read(text_of(["n0", "n1", "n0", "n1"]))
    assert new_order(question, None, None, solve).ranks.tolist() == [0, 1, 2, 3]
    with pytest.raises(HopbytesError, match=mentions("n1", "other")):
        new_order(question, ring, hb.allocate("node:2 core:2", hosts=("n0", "other")), solve)


@pytest.mark.parametrize("arc", ["0 4 1", "-1 0 1", "0 1 -5", "invalid"])
def test_an_invalid_topology_keeps_its_order(arc):
    """MPI itself refuses it afterwards."""
    text = text_of(["n0", "n1", "n0", "n1"], world=False, arcs=[{2: 9}, {}, {}, {}])
    assert new_order(Question.read(text + arc + "\n"), None, None, solve).ranks.tolist() == [0, 1, 2, 3]


def test_rank_0_may_move_if_it_has_no_input(monkeypatch, tmp_path):
    """What it calls is this hopbytes in this folder, whatever the names of both are."""
    (tmp_path / "a b").mkdir()
    monkeypatch.chdir(tmp_path / "a b")
    (tmp_path / "input").write_text("x")
    stat = os.fstat
    for path, who in ((os.devnull, "any"), (tmp_path / "input", "first"), (None, "any")):
        with open(path or os.devnull) as stream, monkeypatch.context() as changed:
            known = stream.fileno() if path else -1
            changed.setattr(start.os, "fstat", lambda _, known=known: stat(known))
            lines = start._script(["run", "--on", "node:2 core:2"]).splitlines()
        assert lines[0] == "#!/bin/sh"
        assert shlex.split(lines[2])[1] == str(tmp_path / "a b")
        words = shlex.split(lines[3])
        assert words[:2] == ["exec", "env"]
        assert words[2].endswith(f"={who}")
        assert words[3:] == [sys.executable, "-m", "hopbytes", "run", "--on", "node:2 core:2"]


def test_a_program_starts_with_the_library_and_the_script_it_calls(monkeypatch, tmp_path):
    said = '[ "$1" = --version ] && { printf "HYDRA build details:\\n Version: 4.0.2\\n"; exit; }'
    keep = 'echo "$LD_PRELOAD $*" > started; cp "$HOPBYTES_INSIDE" script; exit 9'
    executable(tmp_path / "mpiexec", f"#!/bin/sh\n{said}\n{keep}\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.chdir(tmp_path)
    for name, found in (("application_of", None), ("check_belongs", None), ("interposer_for", "/order.so")):
        monkeypatch.setattr(start, name, lambda *given, found=found: found)
    words = ["mpiexec", "-n", "2", "./app"]
    code, line = start.start_inside(words, ["run", "--", "true"], "mine", dry_run=True)
    settings = f"LD_PRELOAD=/order.so HOPBYTES_INSIDE={tmp_path}/mine.order.sh"
    assert (code, line) == (0, f"{settings} mpiexec -n 2 ./app")
    assert "-m hopbytes run -- true" in (tmp_path / "mine.order.sh").read_text()
    assert start.start_inside(words, ["run"]) == (9, "")
    assert (tmp_path / "started").read_text() == "/order.so -n 2 ./app\n"
    assert (tmp_path / "script").exists()
    assert not list(tmp_path.glob(".hopbytes*"))
    own = ["mpiexec", "-genv", "LD_PRELOAD", "/y.so", "./app"]
    assert "/order.so" in start.start_inside(own, [], "more", dry_run=True)[1].split("-genv ")[1]
