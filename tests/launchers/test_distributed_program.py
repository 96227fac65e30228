"""map-distributed and eval-distributed under a real mpirun; needs mpi4py and an mpirun it was built for."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import hopbytes as hb
from helpers.real_mpi import MPIRUN, RUN_AS_ROOT, needs_mpi4py

pytestmark = [pytest.mark.launcher, needs_mpi4py]
PROGRAM = [sys.executable, "-m", "hopbytes"]
ON = ("--on", "node:2@10 core:3@1")
#: No run here may last longer; what hangs fails.
LIMIT = 90


def ranks(count, *words):
    return ["-n", str(count), *words]


def mpirun(folder, *parts):
    """Run programs of an MPI job, each with its number of ranks, side by side."""
    words = [MPIRUN, "--oversubscribe", "--bind-to", "none", *parts[0]]
    for part in parts[1:]:
        words += [":", *part]
    return subprocess.run(
        words, cwd=folder, env={**os.environ, **RUN_AS_ROOT}, capture_output=True, text=True, timeout=LIMIT,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


def complaints(done):
    return [line for line in done.stderr.splitlines() if line.startswith("hopbytes: ")]


@pytest.mark.parametrize(("size", "suffix", "output"), [(1, "graph", "a.txt"), (3, "parhip", "a.npy")])
def test_a_file_is_mapped_and_evaluated(tmp_path, size, suffix, output):
    graph = hb.read("stencil:60x50:bytes=2")
    hb.write(graph, tmp_path / f"a.{suffix}")
    words = [*PROGRAM, "map", "--distributed", f"a.{suffix}", *ON, "--preset", "fast", "-o", output, "--json"]
    done = mpirun(tmp_path, ranks(size, *words))
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    pe = np.load(tmp_path / output) if output == "a.npy" else np.loadtxt(tmp_path / output, dtype=np.int32)
    value = hb.evaluate(graph, hb.Mapping(pe.astype(np.int32), hb.allocate(ON[1]))).comm_cost
    assert record["comm_cost"] == value
    assert np.bincount(pe).max() <= record["bound_asked"] == 515
    assert len(record["sent"]) == len(record["peak_bytes"]) == size
    assert len(record["computing"]) == size
    assert min(record["computing"]) > 0
    assert sum(each["vertices"] for each in record["held"]) == 3000
    done = mpirun(tmp_path, ranks(2, *PROGRAM, "eval", "--distributed", f"a.{suffix}", output, *ON, "--json"))
    assert json.loads(done.stdout)["comm_cost"] == value
    done = mpirun(tmp_path, ranks(2, *PROGRAM, "eval", "--distributed", f"a.{suffix}", output, *ON))
    assert done.stdout.startswith(f"J {value:,}; ")


def test_one_task_per_slot(tmp_path):
    on = ("--on", "node:20@10 core:120@1")
    words = [*PROGRAM, "map", "--distributed", "grid:60x40", "--processes", "--preset", "fast"]
    done = mpirun(tmp_path, ranks(3, *words, *on, "-o", "a.npy", "--json"))
    assert done.returncode == 0, done.stderr
    record, pe = json.loads(done.stdout), np.load(tmp_path / "a.npy")
    assert sorted(pe.tolist()) == list(range(2400))
    assert (record["problem"], record["pes"]) == ("processes", 2400)
    grid = hb.read("stencil:60x40:bytes=1")
    assert record["comm_cost"] == hb.evaluate(grid, hb.Mapping(pe, hb.allocate(on[1]))).comm_cost
    done = mpirun(tmp_path, ranks(2, *words, "--on", "node:2 core:3", "-o", "a.npy", "--force"))
    assert done.returncode == 1
    assert complaints(done) == [
        "hopbytes: 2400 processes, expected at most one for each of the 6 slots"
    ]
    assert len(np.load(tmp_path / "a.npy")) == 2400


def test_what_all_ranks_find_is_told_once(tmp_path):
    hb.write(hb.read("stencil:20x20"), tmp_path / "whole.parhip")
    (tmp_path / "cut.parhip").write_bytes((tmp_path / "whole.parhip").read_bytes()[:999])
    for graph, said in (("cut.parhip", "is the file complete?"), ("none.graph", "No such file")):
        done = mpirun(tmp_path, ranks(3, *PROGRAM, "map", "--distributed", graph, *ON, "-o", "a.txt"))
        assert done.returncode == 1
        assert len(complaints(done)) == 1, done.stderr
        assert said in complaints(done)[0]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["cut.parhip", "whole.parhip"]


@pytest.mark.parametrize(
    ("first", "other", "said"),
    [
        (["grid:9x9", *ON], ["grid:9x8", *ON], "graph and output differs"),
        (["grid:9x9", *ON], ["grid:9x9", *ON, "--seed", "4"], "seed differs"),
        (["grid:9x9", *ON], ["grid:9x9", "--on", "node:zwei"], "zwei"),
    ],
)
def test_ranks_with_different_arguments(tmp_path, first, other, said):
    start = [*PROGRAM, "map", "--distributed"]
    done = mpirun(tmp_path, ranks(2, *start, *first), ranks(1, *start, *other))
    assert done.returncode != 0
    assert len(complaints(done)) == 1, done.stderr
    assert said in complaints(done)[0]


@pytest.mark.parametrize(("way", "on"), [("islands", ON[1]), ("one_each", "node:4 core:400")])
def test_a_rank_that_dies_ends_all(tmp_path, way, on):
    (tmp_path / "dying.py").write_text(
        "import os, signal, sys\n"
        f"from hopbytes.mpi.distributed import islands, {way} as way\n"
        "from hopbytes.cli import main\n"
        "before = islands.deal\n"
        "def deal(rows, island, groups):\n"
        "    if rows.member.rank == 1:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return before(rows, island, groups)\n"
        "islands.deal, way.FEWEST = deal, 100\n"
        "main()\n"
    )
    words = [sys.executable, "dying.py", "map", "--distributed", "grid:40x40", "--on", on, "-o", "a.txt"]
    done = mpirun(tmp_path, ranks(3, *words))
    assert done.returncode != 0
    assert "rank 1" in done.stderr or ",1]" in done.stderr  # mpirun says which one
    assert [each.name for each in tmp_path.iterdir()] == ["dying.py"]


@pytest.mark.parametrize(
    ("error", "said"),
    [("ValueError('out of order')", "rank 1: ValueError: out of order (dying.py:6)"),
     ("HopbytesError('lonely')", "rank 1: lonely")],
)  # fmt: skip
def test_an_error_of_one_rank_ends_all(tmp_path, error, said):
    (tmp_path / "dying.py").write_text(
        "from hopbytes.errors import HopbytesError\n"
        "from hopbytes.mpi.distributed import mapping as program\n"
        "from hopbytes.cli import main, over_ranks\n"
        "def failing(rows, where, pe, before=program.judge):\n"
        "    if rows.member.rank == 1:\n"
        f"        raise {error}\n"
        "    return before(rows, where, pe)\n"
        "program.judge, over_ranks.PATIENCE = failing, 0.5\n"
        "main()\n"
    )
    words = [sys.executable, "dying.py", "map", "--distributed", "grid:20x20", *ON, "--preset", "fast"]
    done = mpirun(tmp_path, ranks(3, *words))
    assert done.returncode != 0
    assert len(complaints(done)) == 1, done.stderr
    assert complaints(done)[0].startswith(f"hopbytes: {said}")


@pytest.mark.slow
def test_a_killed_job_leaves_the_old_file(tmp_path):
    (tmp_path / "a.txt").write_text("old\n")
    words = [*PROGRAM, "map", "--distributed", "grid:700x700", *ON, "-o", "a.txt", "--force"]
    command = [MPIRUN, "--oversubscribe", "--bind-to", "none", "-n", "2", *words]
    with subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, **RUN_AS_ROOT}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as child:  # fmt: skip
        time.sleep(4)
        child.send_signal(signal.SIGTERM)
        assert child.wait(LIMIT) != 0
    assert (tmp_path / "a.txt").read_text() == "old\n"
