"""SimGrid's times against those worked out by hand, between grades, and programs that fail in its place."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import hopbytes as hb
from hopbytes.errors import HopbytesError, MissingPackageError, UnsupportedError
from hopbytes.simulation import simgrid
from hopbytes.simulation.simgrid import actions

needs_simgrid = pytest.mark.skipif(
    shutil.which("smpirun") is None, reason="needs SimGrid's smpirun (Debian: libsimgrid-dev)"
)
SLOW = "node:4@10:bw=1e9:lat=1e-6 core:2@1:bw=1e10:lat=1e-7"


def arcs(*pairs, size=10**7, n=None):
    """Return a graph with one message of `size` bytes per pair."""
    sources, targets = zip(*pairs, strict=True)
    return hb.CommGraph.from_edges(sources, targets, [size] * len(pairs), n=n)


def times(graph, spec, grade, **options):
    """Return the seconds of tasks in order."""
    mapping = hb.Mapping(range(graph.n), hb.allocate(spec))
    return hb.simulate(graph, mapping, grade=grade, **options).seconds


@pytest.mark.parametrize("grade", ["flows", pytest.param("replay", marks=needs_simgrid)])
def test_hand_computed_times(grade):
    """Two flows on one link, a saturated ring, a full bisection with and without oversubscription."""
    assert times(arcs((0, 2), (1, 3), n=8), SLOW, grade) == pytest.approx(20e-3 + 1e-6, rel=1e-3)
    ring = arcs(*((i, (i + 3) % 8) for i in range(8)))
    assert times(ring, "torus:8:bw=1000000000:lat=1e-6", grade) == pytest.approx(30e-3 + 3e-6, rel=1e-3)
    islands = "island:2@100:bw=1e9:lat=2e-6 node:2@10:bw=1e9:lat=1e-6"
    across = arcs((0, 2), (1, 3), (2, 0), (3, 1))
    assert times(across, islands, grade) == pytest.approx(10e-3 + 2e-6, rel=1e-3)
    assert times(across, islands, grade, oversubscription=2) == pytest.approx(20e-3 + 2e-6, rel=1e-3)


@pytest.mark.parametrize("grade", ["flows", pytest.param("replay", marks=needs_simgrid)])
@pytest.mark.parametrize("size", [3 * 10**9, 10**11])
def test_messages_of_more_bytes_than_an_int_holds(grade, size):
    """MPI counts bytes by an int; two flows share a link of 1 GB/s."""
    seconds = times(arcs((0, 2), (1, 3), size=size, n=8), SLOW, grade)
    assert seconds == pytest.approx(2 * size / 1e9, rel=1e-3)


@pytest.mark.parametrize("grade", ["flows", pytest.param("replay", marks=needs_simgrid)])
def test_a_flow_gets_what_others_leave(grade):
    """Nodes 0 and 1 send to node 2, node 0 also to node 3: 0 -> 3 gets half of the link of node 0.

    Flows 0 -> 2 and 1 -> 2 share the link into node 2, and 0 -> 2, 0 -> 3 that out of node 0: all three have
    half a link, and end together after twice the time of one alone. No bound of one link says more.
    """
    graph = arcs((0, 2), (1, 2), (0, 3))
    assert times(graph, "node:4@10:bw=1e9:lat=0 core:1", grade) == pytest.approx(20e-3, rel=1e-3)
    chained = hb.CommGraph.from_edges([0, 1, 0], [2, 2, 3], [10**7, 3 * 10**7, 3 * 10**7])
    # 0 -> 2 ends after 20 ms; then the others, with 20 MB left each, run at the full rate.
    assert times(chained, "node:4@10:bw=1e9:lat=0 core:1", grade) == pytest.approx(40e-3, rel=1e-3)


@needs_simgrid
@pytest.mark.parametrize(
    "spec",
    ["node:8@10:bw=1e9:lat=1e-6 core:4@1:bw=1e10:lat=1e-7", "torus:2x4:lat=1e-7:bw=1000000000 / core:4",
     "dragonfly:3x2x2:lat=1e-7:bw=1000000000 / core:4", "island:2 node:4 core:4"],
)  # fmt: skip
@pytest.mark.parametrize("mapper", ["identity", "random"])
def test_flows_agree_with_the_replay(spec, mapper):
    """Within 3 %; neither is below the lower bounds."""
    graph, where = hb.read("stencil:4x4x2:points=27"), hb.allocate(spec)
    mapping = hb.map_tasks(graph, where, mapper)
    bound, flows, replay = (hb.simulate(graph, mapping, grade=each).seconds for each in simgrid_grades())
    assert flows == pytest.approx(replay, rel=0.03)
    assert min(flows, replay) > 0.9999 * bound


def simgrid_grades():
    """Return all grades."""
    return "bound", "flows", "replay"


def test_the_default_is_flows():
    graph = arcs((0, 2), n=8)
    assert hb.simulate(graph, hb.Mapping(range(8), hb.allocate(SLOW))).grade == "flows"


@needs_simgrid
def test_spread_flows_take_one_path_and_it_is_said():
    graph, where = hb.read("stencil:4x4"), hb.allocate("fattree:4x4:route=spread")
    found = hb.simulate(graph, hb.map_tasks(graph, where, "random"), grade="replay")
    assert any("one of them" in notice for notice in found.notices)
    assert found.seconds >= found.parts["link"]


@needs_simgrid
def test_the_platform_is_kept_and_simgrid_runs_programs_on_it(tmp_path):
    """A ring of one message under SMPI on the file, from a host to itself as well."""
    path = tmp_path / "machine.xml"
    graph, where = hb.read("stencil:4x2"), hb.allocate("torus:2x2 / core:2")
    hb.simulate(graph, hb.map_tasks(graph, where), grade="bound", platform=path)
    where = hb.allocate(f"simgrid:{path}")
    assert where.machine.network().n_endpoints == 4
    if shutil.which("smpicc") is None:
        pytest.skip("needs smpicc")
    (tmp_path / "ring.c").write_text(
        "#include <mpi.h>\n#include <stdio.h>\nint main(int c, char **v) { int r, n, x = 0;\n"
        "MPI_Init(&c, &v);\n"
        "MPI_Comm_rank(MPI_COMM_WORLD, &r); MPI_Comm_size(MPI_COMM_WORLD, &n);\n"
        "MPI_Sendrecv_replace(&r, 1, MPI_INT, (r + 1) % n, 0, (r + n - 1) % n, 0, MPI_COMM_WORLD, 0);\n"
        "MPI_Reduce(&r, &x, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); if (x) printf(\"sum %d\\n\", x);\n"
        "MPI_Finalize(); return 0; }\n"
    )
    (tmp_path / "hosts").write_text("n0\nn0\nn1\nn2\nn3\n")
    subprocess.run(["smpicc", "-o", "ring", "ring.c"], cwd=tmp_path, check=True)
    done = subprocess.run(
        ["smpirun", "-np", "5", "-platform", str(path), "-hostfile", "hosts", "--log=root.thresh:error",
         "--cfg=smpi/simulate-computation:no", "./ring"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "sum 10" in done.stdout


def test_a_platform_file_that_cannot_be_written(tmp_path):
    graph, mapping = arcs((0, 2), n=8), hb.Mapping(range(8), hb.allocate(SLOW))
    with pytest.raises(UnsupportedError, match=r"missing/machine\.xml"):
        hb.simulate(graph, mapping, grade="bound", platform=tmp_path / "missing" / "machine.xml")
    theirs = tmp_path / "theirs.xml"
    theirs.write_text("<platform/>")
    with pytest.raises(UnsupportedError, match=r"theirs\.xml"):
        hb.simulate(graph, mapping, grade="bound", platform=theirs)
    assert theirs.read_text() == "<platform/>"
    hb.simulate(graph, mapping, grade="bound", platform=theirs, force=True)
    hb.simulate(graph, mapping, grade="bound", platform=theirs)  # now it is ours
    assert "written by hopbytes" in theirs.read_text()


def stand_in(folder, monkeypatch, body):
    """Put a program called smpirun before all others in PATH."""
    program = folder / "smpirun"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("echo '0.0|all is lost'; exit 134", "all is lost"),
        ("kill -ABRT $$", "signal 6"),
        ("exit 0", "nothing"),
        ("echo nonsense; exit 0", "nonsense"),
    ],
)
def test_a_crash_of_the_simulator_is_one_line(tmp_path, monkeypatch, body, said):
    stand_in(tmp_path, monkeypatch, body)
    with pytest.raises(HopbytesError, match=said) as caught:
        times(arcs((0, 2), n=8), SLOW, "replay")
    assert "\n" not in str(caught.value)
    assert "flows" in str(caught.value)


def test_a_simulator_that_hangs_is_stopped_with_all_it_started(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch, f"sleep 1000 & echo $! > {tmp_path}/child; wait")
    with pytest.raises(HopbytesError, match=r"within 0\.5 seconds"):
        times(arcs((0, 2), n=8), SLOW, "replay", time_limit=0.5)
    child = int((tmp_path / "child").read_text())
    until = time.monotonic() + 10
    while _runs(child):
        assert time.monotonic() < until
        time.sleep(0.05)


def _runs(process):
    try:  # ps is not everywhere
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_without_simgrid(monkeypatch):
    """Only the replay needs it; the default finds the same time without."""
    graph, mapping = arcs((0, 2), (1, 3), n=8), hb.Mapping(range(8), hb.allocate(SLOW))
    with_it = hb.simulate(graph, mapping)
    monkeypatch.setattr(simgrid, "PROGRAM", "no-such-smpirun")
    found = hb.simulate(graph, mapping)
    assert (found.grade, found.seconds, found.notices) == ("flows", with_it.seconds, with_it.notices)
    with pytest.raises(MissingPackageError, match="libsimgrid-dev"):
        hb.simulate(graph, mapping, grade="replay")


def test_long_simulations_are_announced(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch, "echo '1.5|Simulated time: 1.5 seconds.'")
    where = hb.allocate("torus:64")
    graph, told = hb.read("alltoall:tasks=64"), []
    found = hb.simulate(graph, hb.Mapping(range(64), where), grade="replay", tell=told.append)
    assert found.seconds == 1.5
    assert "4032 messages" in told[0]


CLUSTER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" radical="0-{last}" suffix="" speed="1Gf" bw="125MBps" lat="0us"
           topology="{kind}" topo_parameters="{shape}" sharing_policy="SPLITDUPLEX"/>
</platform>
"""


@needs_simgrid
@pytest.mark.parametrize(
    ("kind", "shape", "last"),
    [("TORUS", "4,2,2", 15), ("FAT_TREE", "2;4,4;1,2;1,2", 15)],
    ids=["torus", "fat tree"],
)
def test_clusters_take_as_long_as_in_simgrid_itself(tmp_path, kind, shape, last):
    """SimGrid's own routing of its own kind of cluster, and our routes of the machine read from its file."""
    path = tmp_path / "cluster.xml"
    path.write_text(CLUSTER.format(kind=kind, shape=shape, last=last))
    graph = hb.read("stencil:4x4:bytes=10000000")
    mapping = hb.map_tasks(graph, hb.allocate(f"simgrid:{path}"), "random", seed=2)
    ours = hb.simulate(graph, mapping, grade="flows").seconds
    hosts = [f"n{number}" for number in mapping.pe.tolist()]
    trace = actions(graph.sources(), graph.targets, graph.arc_volumes().astype(float), 16)
    theirs = simgrid.simulated_seconds([path.read_bytes()], hosts, trace, timeout=60)
    assert ours == pytest.approx(theirs, rel=1e-3)
