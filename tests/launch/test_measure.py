"""Measuring machines: what ranks say, what cannot be measured, and a simulated machine of known values."""

import json
import os
import shutil
import socket
import subprocess
from importlib.resources import files

import numpy as np
import pytest

import hopbytes as hb
from bench.studies import simulated_machine as simulated
from helpers.errors import mentions, refused
from hopbytes.errors import FormatError, HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.launch.measure import (
    SIZES,
    Fit,
    Rank,
    fit,
    measure,
    measure_to_file,
    pairs_of_levels,
    pes_of_ranks,
    read_ranks,
    read_times,
    with_measured,
)
from hopbytes.machines.kinds.synthetic import read_synthetic
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.node_machine import NodeMachine


def test_a_file_of_somebody_else_is_refused_before_anything_is_measured(tmp_path, monkeypatch):
    def measured(*_, **__):
        raise AssertionError("ranks were started")

    monkeypatch.setattr("hopbytes.launch.measure.measure", measured)
    (tmp_path / "theirs").write_text("a letter\n")
    with pytest.raises(HopbytesError, match="theirs"):
        measure_to_file(["mpirun", "./app"], hb.allocate("core:2"), str(tmp_path / "theirs"))
    assert (tmp_path / "theirs").read_text() == "a letter\n"


def test_lines_of_ranks():
    lines = ["noise", "[1,0]#hopbytes-measure where 1 n2 4-5 .", "#hopbytes-measure where 0 n1  ."]
    assert read_ranks(lines) == [Rank("n1", frozenset()), Rank("n2", frozenset({4, 5}))]
    with pytest.raises(FormatError, match="1 ranks"):
        read_ranks(lines[:2])
    assert read_times(["#hopbytes-measure time 0 1 64 1.5e-06 ."] * 2) == {(0, 1, 64): [1.5e-6, 1.5e-6]}
    with pytest.raises(FormatError, match="expected seconds"):
        read_times(["#hopbytes-measure time 0 1 64 soon ."])


def test_measured_levels_never_shrink_outwards():
    machine = hb.allocate("node:2 package:2 core:2").machine
    fits = {"node": Fit(1e-6, 1e10, 0), "core": Fit(2e-6, 1e10, 0)}
    found = with_measured(machine, fits, keep_distances=False)
    assert [level.distance for level in found.levels] == [2819, 2819, 2819]
    kept = with_measured(machine, fits, keep_distances=True)
    assert [level.distance for level in kept.levels] == [100, 10, 1]
    assert kept.levels[1].latency is None


def test_switches_around_nodes_can_be_measured_and_stored(tmp_path):
    from hopbytes.machines.kinds.machine import machine_text

    topology = tmp_path / "topology.conf"
    leaves = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\n"
    topology.write_text(f"{leaves}SwitchName=top Switches=s[1-2]\n")
    machine = hb.allocate(f"slurm:{topology} / synthetic:pack:2 core:2 pu:1").machine
    names = [level.name for level in machine.levels]
    fits = {name: Fit((4 - place) * 1e-6, 1e9, 0) for place, name in enumerate(names)}
    found = with_measured(machine, fits, keep_distances=False)
    distances = [round(((4 - place) * 1e-6 + 8192e-9) * 1e9) for place in range(len(names))]
    assert [level.distance for level in found.levels] == distances
    assert found.distance().costs.tolist() == [0, *reversed(distances)]
    target = tmp_path / "cluster.machine.json"
    target.write_text(machine_text(found, "test"))
    where = hb.allocate(str(target))
    assert where.machine == found
    assert where.hosts == ("n1", "n2", "n3", "n4")
    assert where.os_pus(5) == (1,)
    assert hb.allocate(f"machine:{target}:core=9").machine.levels[-1].distance == 9
    graph = hb.CommGraph.from_edges([0, 1], [1, 2], [5, 7])
    assert hb.map_tasks(graph, where, weight="time").info["comm_seconds"] > 0


@pytest.mark.parametrize(("command", "error", "words"), [
    (["/nowhere/mpirun"], UnsupportedError, "expected a command that starts MPI"),
    (["false"], UnsupportedError, "failed with exit code 1"),
    (["true"], FormatError, "0 ranks printed their hosts"),
])  # fmt: skip
def test_commands_that_fail(command, error, words):
    with refused(error, words):
        measure(command, hb.allocate("core:2"))


def test_what_cannot_be_measured(tmp_path):
    with pytest.raises(HopbytesError, match="no levels to measure"):
        measure(["true"], hb.allocate("torus:2x2"))
    with pytest.raises(FormatError, match="expected at least 5"):
        measure(["true"], hb.allocate("core:2"), batches=4)
    with pytest.raises(UnsupportedError, match="expected an MPI compiler"):
        measure(["true"], hb.allocate("core:2"), compiler="no-such-mpicc")


@pytest.mark.launcher
@pytest.mark.parametrize("compiler", ["mpicc.mpich", "mpicc.openmpi"])
def test_a_line_is_written_at_once(tmp_path, compiler):
    """MPICH makes stdio write every piece alone, and Hydra mixes pieces; a packet is what one write gave."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source = files("hopbytes").joinpath("launch/pingpong.c")
    subprocess.run([compiler, str(source), "-o", str(tmp_path / "pingpong")], check=True)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        subprocess.run([str(tmp_path / "pingpong"), "where"], check=True, stdout=theirs.fileno(), timeout=60)
        theirs.close()
        packets = []
        while packet := ours.recv(1 << 16):
            packets.append(packet.decode())
    assert len(packets) == 1
    (place,) = read_ranks(packets[0].splitlines())
    assert place.cpus == os.sched_getaffinity(0)


@pytest.mark.launcher
@pytest.mark.skipif(not shutil.which("mpicc.mpich") or not shutil.which("mpiexec.hydra"), reason="no MPICH")
def test_ranks_of_mpich_are_all_heard():
    words = ["mpiexec.hydra", "-n", "6"]
    found = measure(words, hb.allocate("core:6"), compiler="mpicc.mpich", sizes=(1, 2**20))
    assert found.pairs == {"core": 1}


@pytest.mark.launcher
@pytest.mark.skipif(not shutil.which("mpicc.mpich") or not shutil.which("mpiexec.hydra"), reason="no MPICH")
@pytest.mark.parametrize("limit", [3, 1000])
def test_a_slow_network_gets_fewer_messages_within_the_limit(tmp_path, limit):
    """An MPI whose clock is made up: n bytes take n + 1 microseconds, 4 MB four seconds."""
    (tmp_path / "slow.c").write_text(
        "#include <mpi.h>\n#include <stdio.h>\nstatic double now;\n"
        "static void pass(int n, int tag) { if (tag == 1) now += 1e-6 * (n + 1); }\n"
        "double MPI_Wtime(void) { return now; }\n"
        "int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c) {\n"
        "  pass(n, tag);\n  return PMPI_Send(b, n, t, to, tag, c);\n}\n"
        "int MPI_Recv(void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Status *s) {\n"
        "  pass(n, tag);\n  return PMPI_Recv(b, n, t, from, tag, c, s);\n}\n"
        f'int MPI_Finalize(void) {{\n  FILE *f = fopen("{tmp_path}/clock", "w");\n'
        '  fprintf(f, "%f", now);\n  fclose(f);\n  return PMPI_Finalize();\n}\n'
    )
    slow = tmp_path / "mpicc-slow"
    slow.write_text(f'#!/bin/sh\nexec mpicc.mpich "$@" {tmp_path}/slow.c\n')
    slow.chmod(0o755)
    told, command = [], ["mpiexec.hydra", "-n", "2"]
    where, options = hb.allocate("node:2 core:1"), {"compiler": str(slow), "announce": told.append}
    found = measure(command, where, time_limit=limit, **options)
    assert told == [f"level node (1 of 1): 1 pair of ranks, at most about {limit} seconds"]
    assert found.fits["node"].bandwidth == pytest.approx(1e6, rel=1e-3)
    assert found.fits["node"].latency == pytest.approx(1e-6, rel=1e-3)
    passed = float((tmp_path / "clock").read_text())
    assert passed < limit
    assert (passed > 100) == (limit == 1000)  # with all sizes


@pytest.mark.launcher
@pytest.mark.skipif(shutil.which("smpirun") is None, reason="SimGrid's smpirun is not installed")
def test_known_values_of_a_simulated_machine(tmp_path):
    """Every level within 5 % of what the platform file says (it is far nearer, but rounds are few)."""
    command = simulated.write_platform(tmp_path)
    target = tmp_path / "simulated.machine.json"
    said = measure_to_file(command, hb.allocate(simulated.MACHINE), str(target), compiler="smpicc")
    assert said.splitlines()[1].startswith("node")
    stored = hb.allocate(str(target)).machine
    for level in stored.levels:
        latency, bandwidth = simulated.TRUE[level.name]
        assert level.latency == pytest.approx(latency, rel=0.05)
        assert level.bandwidth == pytest.approx(bandwidth, rel=0.05)
        assert level.distance == pytest.approx((latency + 8192 / bandwidth) * 1e9, rel=0.05)
    assert json.loads(target.read_text())["kind"] == "hopbytes machine"


@pytest.mark.parametrize(("latency", "bandwidth"), [(2e-6, 1e9), (1e-7, 5e10), (0.0, 1e9)])
def test_fit_finds_a_line(latency, bandwidth):
    found = fit({size: [latency + size / bandwidth] * 5 for size in SIZES})
    assert found.latency == pytest.approx(latency, abs=1e-12)
    assert found.bandwidth == pytest.approx(bandwidth)
    assert found.error < 1e-6


def test_fit_takes_medians_and_counts_relative_errors():
    rng = np.random.default_rng(1)
    times = {size: ((1e-6 + size / 1e9) * (1 + 0.02 * rng.standard_normal(9))).tolist() for size in SIZES}
    for batches in times.values():
        batches[0] *= 50  # somebody else used the core
    found = fit(times)
    assert found.latency == pytest.approx(1e-6, rel=0.05)
    assert found.bandwidth == pytest.approx(1e9, rel=0.05)


def test_fit_never_has_a_latency_below_zero():
    assert fit({10: [1e-9], 1000: [1.1e-6], 100000: [1.3e-4]}).latency == 0


@pytest.mark.parametrize("times", [{}, {1: [1e-6]}, {1: [0.0], 2: [1e-6]}, {1: [1e-3], 10**6: [1e-6]}])
def test_times_that_make_no_line(times):
    with pytest.raises(FormatError, match="measure"):
        fit(times)


def test_pairs_first_differ_at_their_level():
    where = hb.allocate("switch:2 node:3 package:2 l3:2 core:4")
    pairs = pairs_of_levels(where, list(range(where.k)))
    assert sorted(pairs) == [0, 1, 2, 3, 4]
    ancestors = [where.machine.ancestors(level) for level in range(5)]
    for level, chosen in pairs.items():
        assert 1 <= len(chosen) <= 3
        for a, b in chosen:
            assert ancestors[level][a] != ancestors[level][b]
            assert level == 0 or ancestors[level - 1][a] == ancestors[level - 1][b]


def test_levels_without_two_ranks_are_left_out():
    where = hb.allocate("node:2 package:2 core:4")
    assert sorted(pairs_of_levels(where, [0, 8])) == [0]
    assert sorted(pairs_of_levels(where, [0, 4, 5])) == [1, 2]
    assert pairs_of_levels(where, [3]) == {}


def bound_machine() -> NodeMachine:
    tree = read_synthetic("pack:2 core:2 pu:2(indexes=core:pack)")
    return NodeMachine("test:", NodeInventory((tree,), (0, 0)), ("n1", "n2"))


def test_ranks_are_found_by_host_and_cpus():
    where = hb.allocate(bound_machine())
    cores = [frozenset(where.os_pus(2)), frozenset(where.os_pus(1)[:1])]
    places = [Rank("n2.cluster", cores[0]), Rank("n1", cores[1])]
    assert pes_of_ranks(places, where) == [6, 1]


def test_unbound_ranks_are_counted_when_there_is_one_per_slot():
    where = hb.allocate(bound_machine())
    free = [Rank("n1", frozenset(range(8)))] * 4 + [Rank("n2", frozenset(range(8)))] * 4
    assert pes_of_ranks(free, where) == list(range(8))
    with pytest.raises(InfeasibleError, match=mentions("3", "8")):
        pes_of_ranks(free[:3], where)
    with pytest.raises(FormatError, match="expected a host of the machine"):
        pes_of_ranks([Rank("elsewhere", frozenset({0}))], where)


def test_times_that_were_left_out_are_not_missing_but_others_are():
    from hopbytes.launch.measure import _times_of_level

    lines = [f"#hopbytes-measure time 0 1 {size} 1e-6 ." for size in (1, 64) for _ in range(5)]
    ended = "#hopbytes-measure sizes 0 1 2 ."
    assert set(_times_of_level([*lines, ended], [(0, 1)], (1, 64, 512), 5)) == {1, 64}
    with pytest.raises(FormatError, match="0 of 5 times of ranks 0 and 1, 512 bytes"):
        _times_of_level(lines, [(0, 1)], (1, 64, 512), 5)
    with pytest.raises(FormatError, match="4 of 5 times"):
        _times_of_level([*lines[1:], ended], [(0, 1)], (1, 64, 512), 5)
