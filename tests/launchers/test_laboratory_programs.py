"""Programs of the laboratory under a real mpirun: leaders of PTRAM, first cuts by PT-Scotch; need mpi4py."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES, ROOT
from helpers.real_mpi import HAS_MPI4PY, needs_mpi4py, run_ranks
from hopbytes_laboratory.ptscotch import VARIABLE, missing_ptscotch

pytestmark = pytest.mark.launcher

FABRIC = f"ib:{EXAMPLES / 'fabric'} / core:4"
PROGRAM = [sys.executable, "-m", "hopbytes_laboratory.ptram"]


@pytest.fixture(autouse=True)
def laboratory(monkeypatch):
    """Processes find the laboratory, which is not installed."""
    folders = [str(ROOT / "bench" / "laboratory"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))


def lead(count, *arguments, program=PROGRAM):
    return run_ranks(count, *program, *arguments)


@needs_mpi4py
@pytest.mark.parametrize(("leaders", "on"), [(1, FABRIC), (3, FABRIC), (5, "fattree:3x3:up=1x2 / core:2@1")])
def test_the_placement_of_the_serial_mapper(tmp_path, leaders, on):
    where = hb.allocate(on)
    pattern = f"stencil:{where.k // 2}x2"
    done = lead(leaders, pattern, "--on", on, "-o", str(tmp_path / "found.json"))
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert [each["rank"] for each in record["leaders"]] == list(range(leaders))
    groups = ["--group", "2", "--threads", "2", "-o", str(tmp_path / "two.json")]
    grouped = lead(leaders, pattern, "--on", on, *groups)
    assert grouped.returncode == 0, grouped.stderr
    assert hb.read(tmp_path / "two.json", where=where).pe.tolist() == json.loads(
        (tmp_path / "found.json").read_text()
    )["pe"]
    serial = hb.map_tasks(hb.read(pattern), where, ["ptram", "ptram"], threads=1)
    assert hb.read(tmp_path / "found.json", where=where).pe.tolist() == serial.pe.tolist()
    assert record["comm_cost"] == serial.info["comm_cost"]


@needs_mpi4py
def test_a_leader_that_dies_in_a_search_ends_all(tmp_path):
    program = tmp_path / "dying.py"
    program.write_text(
        "import sys\n"
        "from hopbytes_laboratory.ptram import __main__ as program, leaders\n"
        "def dying(part, terms, by_share):\n"
        "    if part.wire.rank == 1:\n"
        "        raise ValueError('out of order')\n"
        "    part.wire.gathered(0)\n"
        "leaders.led_greedy = dying\n"
        "sys.exit(program.main())\n"
    )
    done = lead(3, "stencil:4", "--on", "torus:4", program=[sys.executable, str(program)])
    assert done.returncode != 0
    assert "hopbytes: leader 1: out of order" in done.stderr


def test_without_mpi4py_it_says_what_is_missing(tmp_path):
    (tmp_path / "mpi4py.py").write_text("raise ImportError('none here')\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [*PROGRAM, "stencil:4", "--on", "torus:4"], env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, timeout=60, check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("hopbytes: needs mpi4py and an MPI library")
    assert len(done.stderr.splitlines()) == 1


# First cuts by PT-Scotch, which needs libptscotch with 64-bit integers.

LACKING = missing_ptscotch() if HAS_MPI4PY else ""
CUTS = (sys.executable, "-m", "hopbytes_laboratory.ptscotch")
ON = ("--on", "node:2@10 core:3@1")


@needs_mpi4py
@pytest.mark.skipif(bool(LACKING), reason=LACKING or "-")
@pytest.mark.parametrize(("size", "both"), [(2, []), (3, ["both"])])
def test_cuts_of_ptscotch_keep_bounds_and_come_again(tmp_path, size, both):
    graph = hb.read("stencil:120x110:bytes=1")
    words = [*CUTS, *both, "map", "--distributed", "grid:120x110", *ON, "--preset", "turbo"]
    found = []
    for name in ("a.npy", "b.npy"):
        done = run_ranks(size, *words, "-o", name, "--json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert '"PT-Scotch"' in done.stdout
        found.append(np.load(tmp_path / name))
    assert found[0].tolist() == found[1].tolist()
    assert np.bincount(found[0], minlength=6).max() <= 1.03 * graph.n / 6 + 1
    alone = hb.map_tasks(graph, ON[1], "fast", partition=True, threads=1).comm_cost
    assert hb.evaluate(graph, hb.Mapping(found[0], hb.allocate(ON[1]))).comm_cost <= 1.2 * alone


@needs_mpi4py
def test_a_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "libptscotch-9.so"))
    done = run_ranks(2, *CUTS, "map", "--distributed", "grid:120x110", *ON)
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("hopbytes: ")]
    assert len(lines) == 1, done.stderr
    assert "PT-Scotch: " in lines[0]
    assert "install libptscotch-dev" in lines[0]
