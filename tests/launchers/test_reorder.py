"""Reordered communicators under real MPI; needs mpi4py and an mpirun it was built for."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from several_hosts import farm, launched

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import ROOT
from helpers.real_mpi import ENVIRONMENT, MPIRUN, needs_mpi4py, needs_two_cpus, run_ranks
from hopbytes.errors import HopbytesError
from hopbytes.launch.replay import message_sizes, replay
from hopbytes.mpi.communicators import grid_neighbours, new_ranks
from hopbytes.mpi.processes import Spot, machine_of, this_spot

pytestmark = pytest.mark.launcher

PROGRAM = Path(__file__).parent / "reorder_program.py"


@needs_mpi4py
def test_communicators_are_reordered_under_open_mpi():
    done = run_ranks(4, sys.executable, str(PROGRAM), "invented")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"rank \d is content", done.stdout)) == 4


@needs_mpi4py
@needs_two_cpus
def test_communicators_are_reordered_across_hosts(tmp_path):
    """Hosts and affinity are what the processes find, nothing is made up."""
    hosts = farm("openmpi-5", tmp_path)
    command = [*hosts.words, "-n", "4", sys.executable, str(PROGRAM)]
    done = launched(command, cwd=tmp_path, env=hosts.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"rank \d is content", done.stdout)) == 4


def spots(count, nodes, cores):
    """Processes dealt round the nodes, as a cyclic launch does."""
    return [Spot(f"n{r % nodes}", (r // nodes,), (0, -1, -1, r // nodes % cores)) for r in range(count)]


def test_processes_become_a_machine():
    where, process = machine_of([*spots(4, 2, 2), Spot("n1", (0, 1), (-1, -1, -1, -1))])
    # Node n0 has processes 0 and 2, n1 has 1, 3 and one that is bound to nothing.
    assert process.tolist() == [0, 2, 1, 3, 4]
    assert where.machine.spec() == (
        "node:2@40 package:[1,2]@10 core:[2,2,1]@1 process:[1,1,1,1,1]@1"
    )
    distance = where.distance
    assert [distance.between(0, pe) for pe in range(1, 5)] == [1, 40, 40, 40]
    assert distance.between(2, 3) == 1
    assert distance.between(3, 4) == 10


def test_one_process_is_a_machine_too():
    where, process = machine_of([this_spot("here")])
    assert (where.k, process.tolist()) == (1, [0])
    assert new_ranks([this_spot("here")], [{}]).tolist() == [0]


@pytest.mark.parametrize("given", [None, "node:8@10 core:8@1"])
def test_a_cyclic_launch_of_a_grid_gets_better(given):
    """64 processes round 8 nodes; neighbours in a 4 x 4 x 4 grid should share nodes."""
    sends = [grid_neighbours(rank, (4, 4, 4), (True, True, True)) for rank in range(64)]
    where = None if given is None else hb.allocate(given, hosts=[f"n{node}" for node in range(8)])
    new = new_ranks(spots(64, 8, 8), sends, where)
    assert sorted(new.tolist()) == list(range(64))
    node = np.empty(64, int)
    node[new] = np.arange(64) % 8  # where each new rank sits
    crossing = sum(node[rank] != node[other] for rank in range(64) for other in sends[rank])
    assert crossing <= 192  # blocks of 2 x 2 x 2; a cyclic launch crosses 320 of 384 times


def test_a_machine_that_does_not_fit_is_refused():
    where = hb.allocate("node:2@10 core:2@1", hosts=("n0", "n1"))
    with pytest.raises(HopbytesError, match=mentions("0", "4")):
        new_ranks([*spots(4, 2, 2), Spot("n0", (0,), (0, -1, -1, 0))], [{}] * 5, where)
    with pytest.raises(HopbytesError, match=mentions("n2", "n0", "n1")):
        new_ranks(spots(3, 3, 1), [{}] * 3, where)


def test_grid_neighbours_at_edges_and_around_them():
    assert grid_neighbours(0, (3,), (False,)) == {1: 1}
    assert grid_neighbours(0, (3,), (True,)) == {1: 1, 2: 1}
    assert grid_neighbours(1, (2, 2), (True, True)) == {3: 1, 0: 1}
    assert grid_neighbours(0, (1,), (True,)) == {}


# ---------------------------------------------------------------- replay


def test_a_round_keeps_the_proportions_of_the_pattern():
    graph = hb.CommGraph.from_edges([0, 0, 1, 1], [1, 2, 1, 0], [1000, 3000, 77, 1], n=3)
    sizes, factor = message_sizes(graph, 400)
    assert factor == 0.1
    assert sizes.tolist() == [100, 300, 1, 0]  # in rows: at least a byte each, none to itself
    assert message_sizes(graph)[1] == 1.0
    assert message_sizes(hb.CommGraph.from_edges([], [], n=2))[0].tolist() == []


@needs_mpi4py
@needs_two_cpus
def test_messages_are_sent_and_timed(mpi_folder):
    graph = hb.CommGraph.from_edges([0, 1], [1, 0], [5000, 10])
    mapping = hb.Mapping(np.array([1, 0], np.int32), hb.allocate("core:2"), {"problem": "processes"})
    measured = replay(graph, mapping, [MPIRUN, "-n", "2"], rounds=3)
    assert measured.round_bytes == 5010
    assert len(measured.seconds) == 3
    assert min(measured.seconds) > 0
    assert not list(mpi_folder.iterdir())
    with pytest.raises(HopbytesError, match="a program, expected the launcher"):
        replay(graph, mapping, [MPIRUN, "-n", "2", "./app"])
    with pytest.raises(HopbytesError, match=mentions("3", "2")):
        replay(graph, mapping, [MPIRUN, "-n", "3"])
    with pytest.raises(HopbytesError, match="ended with code 1 and no measurement"):
        replay(graph, None, [MPIRUN, "-n", "1"], rounds=1)


# ---------------------------------------------------------------- recipes

BESIDE = os.path.dirname(sys.executable)
GUIDE = ROOT / "docs/launching.md"
#: Language, compiler and launcher.
TOOLS = {
    "C, Open MPI 5": ("c", f"{BESIDE}/mpicc", f"{BESIDE}/mpirun"),
    "C, MPICH": ("c", "mpicc.mpich", "mpiexec.hydra"),
    "Fortran, Open MPI 4": ("fortran", "mpif90.openmpi", "mpirun.openmpi"),
    "Fortran, MPICH": ("fortran", "mpif90.mpich", "mpiexec.hydra"),
}
AROUND = {
    "c": (
        "#include <mpi.h>\n#include <stdio.h>\nint main(int argc, char **argv) {\nMPI_Init(&argc, &argv);\n",
        'int mine; MPI_Comm_rank(comm, &mine); printf("%d became %d\\n", old, mine);\nMPI_Finalize(); }\n',
    ),
    "fortran": (
        "program app\nuse mpi\nimplicit none\ninteger :: mine, size\n",
        "call MPI_Comm_rank(comm, mine, ierr)\nprint '(I0, A, I0)', old, ' became ', mine\n"
        "call MPI_Finalize(ierr)\nend program\n",
    ),
}


@pytest.mark.parametrize("tools", TOOLS)
def test_the_recipes_work_as_they_stand_in_the_guide(tmp_path, tools):
    language, compiler, launcher = TOOLS[tools]
    if not shutil.which(compiler) or not shutil.which(launcher):
        pytest.skip(f"needs {compiler} and {launcher}")
    recipe = re.search(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)[1]
    name = {"c": "app.c", "fortran": "app.f90"}[language]
    (tmp_path / name).write_text(recipe.join(AROUND[language]))
    (tmp_path / "newrank").write_text("2\n0\n1\n# written by hopbytes\n")
    build = [compiler, name, "-o", "app"]
    built = subprocess.run(build, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    if built.returncode and "gfortran" in built.stderr and shutil.which("gfortran") is None:
        pytest.skip("needs gfortran")
    assert built.returncode == 0, built.stderr
    more = [] if "hydra" in launcher else ["--oversubscribe", "--bind-to", "none"]
    launch = [launcher, *more, "-n", "3", "./app"]
    done = subprocess.run(launch, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    assert sorted(done.stdout.split("\n")) == ["", "0 became 2", "1 became 0", "2 became 1"], done.stderr
