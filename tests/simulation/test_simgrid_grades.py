"""Flows and replays by SimGrid beside times worked out by hand, and programs that fail in its place."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hopbytes as hb
from bench.studies.simulation_time import by_simgrid
from hopbytes.errors import FormatError, HopbytesError, MissingPackageError, UnsupportedError
from hopbytes.simulation import bound, simgrid
from hopbytes.simulation.simgrid import actions, actions_in_order
from hopbytes.simulation.simulate import GRADES, trace_of

CLUSTER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" radical="0-{last}" suffix="" speed="1Gf" bw="125MBps" lat="0us"
           topology="{kind}" topo_parameters="{shape}" sharing_policy="SPLITDUPLEX"/>
</platform>
"""


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
    thinner = islands.replace("@100", "@100:over=2")
    assert times(across, thinner, grade) == pytest.approx(20e-3 + 2e-6, rel=1e-3)


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


def test_a_platform_has_the_routes_of_all_pairs_or_of_those_that_exchange_messages(tmp_path, monkeypatch):
    """Every route has the links, the latency and the slowest rate of the machine's own route."""
    graph = arcs((0, 4), (5, 4), (2, 6), n=8)
    where = hb.allocate("mesh:4:bw=7000000:lat=1e-6 / core:2:bw=5e9:lat=3e-7", hosts="a,b,c,d")
    mapping, network = hb.Mapping(range(8), where), where.machine.network()
    pairs = {(a, b) for a in "abcd" for b in "abcd"}
    own = {(a, a) for a in "abcd"}
    for most, expected in ((4, pairs), (3, {("a", "c"), ("b", "d"), *own})):
        monkeypatch.setattr(simgrid, "ALL_PAIRS", most)
        monkeypatch.setattr(simgrid, "BATCH", 2)
        hb.simulate(graph, mapping, grade="bound", platform=tmp_path / "p.xml", force=True)
        zone = ElementTree.parse(tmp_path / "p.xml").getroot().find("zone")
        links = {link.get("id"): link for link in zone.iter("link")}
        assert [host.get("id") for host in zone.iter("host")] == list("abcd")
        routes = {(route.get("src"), route.get("dst")): route for route in zone.iter("route")}
        assert {*routes} == expected
        for (a, b), route in routes.items():
            crossed = [links[part.get("id")] for part in route]
            rates = [float(link.get("bandwidth").removesuffix("Bps")) for link in crossed]
            waits = [float(link.get("latency").removesuffix("s")) for link in crossed]
            if a == b:
                assert (rates, waits) == ([5e9], [3e-7])
                continue
            way = network.routes(["abcd".index(a)], ["abcd".index(b)]).links.tolist()
            assert [link.get("id") for link in crossed] == [f"l{link}" for link in way]
            assert (set(rates), sum(waits)) == ({7e6}, pytest.approx(1e-6 * len(way)))
    two = hb.Mapping([0, 1, 2, 3], hb.allocate("torus:2 / core:2", hosts="a,b"))
    hb.simulate(arcs((0, 2), n=4), two, grade="bound", platform=tmp_path / "t.xml")
    text = (tmp_path / "t.xml").read_text()
    assert text.count('id="message') == 2 + text.count('<link_ctn id="message')
    assert 'latency="1e-06s"' in text  # hdr100: 1 us a message besides its hops


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


def test_the_eager_limit_is_told_to_simgrid(tmp_path, monkeypatch):
    """Messages of up to that many bytes go at once; SimGrid's thresholds are the first size that does not."""
    stand_in(tmp_path, monkeypatch, f"echo $@ > {tmp_path}/told; echo '1.5|Simulated time: 1.5 seconds.'")
    graph = hb.read(trace(tmp_path, BACK_AND_FORTH))
    hb.simulate(graph, hb.Mapping(range(2), hb.allocate(TWO)), grade="replay", eager=1000)
    told = (tmp_path / "told").read_text().split()
    assert {"--cfg=smpi/send-is-detached-thresh:1001", "--cfg=smpi/async-small-thresh:1001"} <= set(told)


TWO = "node:2@10:bw=1e9:lat=0 core:1"
#: Back and forth: 1 MB each way, one after the other. The sum of both would take the time of one.
BACK_AND_FORTH = """0 init
0 comm_size 2
0 compute 1e12
0 isend 1 5 1000000 6
0 recv 1 6 1000000 6
1 init
1 recv 0 5 1000000 6
1 send 0 6 1e6 6
1 reduce 1 99999999 0 6
0 reduce 1 99999999 0 6
0 finalize
"""


def trace(tmp_path, text):
    path = tmp_path / "all.ti"
    path.write_text(text)
    return str(path)


@needs_simgrid
def test_messages_follow_one_another(tmp_path):
    graph = hb.read(trace(tmp_path, BACK_AND_FORTH))
    mapping = hb.Mapping(range(2), hb.allocate(TWO))
    found = hb.simulate(graph, mapping, grade="replay")
    assert found.seconds == pytest.approx(2e-3, rel=1e-3)
    assert any("computation is left out" in notice for notice in found.notices)
    assert hb.simulate(graph, mapping, grade="replay", iterations=1).seconds == pytest.approx(1e-3, rel=1e-3)
    assert hb.simulate(graph, mapping, grade="replay", bytes_scale=3).seconds == pytest.approx(6e-3, rel=1e-3)
    assert hb.simulate(graph, mapping, grade="flows").seconds == pytest.approx(1e-3, rel=1e-3)


@needs_simgrid
def test_a_trace_that_waits_forever_is_one_line(tmp_path):
    graph = hb.read(trace(tmp_path, "0 init\n0 comm_size 2\n0 recv 1 5 10 6\n1 init\n1 barrier\n"))
    with pytest.raises(HopbytesError, match="no process sends") as caught:
        hb.simulate(graph, hb.Mapping(range(2), hb.allocate(TWO)), grade="replay")
    assert "\n" not in str(caught.value)


def test_actions_are_cleaned(tmp_path):
    """Old sends get a tag, computation goes, and ranks that do not end get an end."""
    path = trace(tmp_path, "0 init\n0 sleep 1\n0 SEND 1 64\n1 init\n1 allreduce 8 1e9 # all\n1 recv 0 64\n")
    assert list(actions_in_order(path, 2)) == [
        "0 init", "0 send 1 0 64", "1 init", "1 allreduce 8 0", "1 recv 0 0 64", "0 finalize", "1 finalize",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "said"),
    [("0 fly 1", "fly"), ("0 send 1 x 3 6", "expected a number"), ("7 init", "expected 0 to 1"),
     ("0 send 1 $(id) 3", "expected a number"), ("1 barrier", "expected init"),
     ("2 init", "expected 0 to 1")],
)  # fmt: skip
def test_actions_that_cannot_be_replayed(tmp_path, line, said):
    path = trace(tmp_path, f"0 init\n{line}\n")
    with pytest.raises(FormatError, match=r":2: .*" + said.replace("$", r"\$")):
        list(actions_in_order(path, 2))
    with pytest.raises(HopbytesError, match="1 of 2 ranks"):
        list(actions_in_order(trace(tmp_path, "0 init\n"), 2))


def test_a_trace_that_is_gone(tmp_path):
    path = trace(tmp_path, BACK_AND_FORTH)
    graph = hb.read(path)
    assert trace_of(graph) == path
    assert trace_of(hb.read("stencil:4")) is None
    (tmp_path / "all.ti").unlink()
    with pytest.raises(FormatError, match=r"all\.ti"):
        list(actions_in_order(path, 2))


@needs_simgrid
@pytest.mark.parametrize(
    "spec",
    ["torus:4x2x2:lat=1e-7:bw=12500000000 / core:4", "fattree:4x4:up=1x1 / core:4",
     "dragonfly:4x2x2 / core:4", "node:16 core:4", "island:2@100 node:8@10 core:4"],
)  # fmt: skip
def test_both_solve_the_same_model(monkeypatch, spec):
    """In random order of ranks: within 1e-4 with exact steps, which SimGrid's own precision explains."""
    graph, where = hb.read("hierarchical:4x4x4"), hb.allocate(spec)
    mapping = hb.map_tasks(graph, where, "random")
    theirs = by_simgrid(graph, mapping)
    stepped = hb.simulate(graph, mapping, grade="flows")
    monkeypatch.setattr(bound, "TOLERANCE", 0.0)
    exact = hb.simulate(graph, mapping, grade="flows")
    assert exact.seconds == pytest.approx(theirs, rel=1e-4)
    assert stepped.seconds == pytest.approx(theirs, rel=5e-3)


def test_many_flows_are_announced():
    """5256 flows of 73 nodes on a switch, all the same: as long as the node that sends 72 of them."""
    where = hb.allocate("node:73@10:bw=1e9:lat=1e-6 core:1")
    graph, told = hb.read("alltoall:tasks=73:bytes=1000000"), []
    found = hb.simulate(graph, hb.Mapping(range(73), where), announce=told.append)
    assert told == [f"hopbytes simulates {found.flows} flows, which takes up to about 5 seconds"]
    assert found.seconds == pytest.approx(found.parts["link"] + 1e-6, rel=1e-3)


def test_the_time_limit_holds(monkeypatch):
    where = hb.allocate("node:73@10:bw=1e9:lat=1e-6 core:1")
    graph = spread_sizes(73)
    monkeypatch.setattr(bound, "TOLERANCE", 0.0)
    with pytest.raises(HopbytesError, match="within 1e-09 seconds"):
        hb.simulate(graph, hb.Mapping(range(73), where), time_limit=1e-9)


def spread_sizes(n):
    """Return an all-to-all with a size of its own for every pair."""
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b]
    return hb.CommGraph.from_edges(*zip(*pairs, strict=True), range(1, len(pairs) + 1))


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
    grades = (grade for grade in GRADES if grade != "waiting")  # which needs a trace
    least, flows, replay = (hb.simulate(graph, mapping, grade=grade).seconds for grade in grades)
    assert flows == pytest.approx(replay, rel=0.03)
    assert min(flows, replay) > 0.9999 * least


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
