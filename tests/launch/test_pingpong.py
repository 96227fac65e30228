"""The ping-pong of mpi4py and what measure() makes of it, on threads whose messages take known times."""

import os

import pytest

import hopbytes as hb
from helpers.threads_as_mpi import started
from hopbytes.launch import measure as measuring
from hopbytes.launch import pingpong
from hopbytes.launch.measure import BATCH_BYTES, measure, table

#: Latency and bandwidth between cores by the outermost level at which they differ.
TRUE = {"node": (5e-6, 1e9), "package": (1e-6, 4e9), "core": (2e-7, 1e10)}
WHERE = hb.allocate("node:2 package:3 core:2")


def cost(a, b, size):
    """Return the seconds of a message on :data:`WHERE`."""
    level = "node" if a // 6 != b // 6 else "package" if a // 2 != b // 2 else "core"
    return TRUE[level][0] + size / TRUE[level][1]


@pytest.fixture
def heard(monkeypatch):
    """Start the program as threads where measure() would start processes; return the commands and worlds."""
    commands = []

    def output(command, marker=""):
        lines = []
        monkeypatch.setattr(pingpong, "_say", lambda text: lines.append(f"#hopbytes-measure {text} ."))
        count, words = int(command[1]), command[command.index("--") + 1 :]
        _, world = started(monkeypatch, count, cost, lambda: pingpong.main(words))
        commands.append((words, world, lines))
        return lines

    monkeypatch.setattr(measuring, "_output", output)
    monkeypatch.setattr(measuring, "_program", lambda compiler, folder: ["--"])
    return commands


def test_every_level_is_measured_as_it_is(heard):
    told = []
    found = measure(["-n", "12"], WHERE, announce=told.append, time_limit=70)
    for level, (latency, bandwidth) in TRUE.items():
        assert found.fits[level].latency == pytest.approx(latency)
        assert found.fits[level].bandwidth == pytest.approx(bandwidth)
    assert found.pairs == {"node": 1, "package": 2, "core": 3}
    assert told == [
        "level node (1 of 3): 1 pair of ranks, at most about 12 seconds",
        "level package (2 of 3): 2 pairs of ranks, at most about 23 seconds",
        "level core (3 of 3): 3 pairs of ranks, at most about 35 seconds",
    ]
    assert [level.distance for level in found.machine.levels] == [13192, 3048, 1019]
    head, node, package, _ = table(found).splitlines()
    assert head.index("pairs") + len("pairs") == node.index("1") + 1
    assert node.split() == ["node", "1", "5.000", "us", "1.00", "GB/s", "0%", "13192"]
    assert package.split() == ["package", "2", "1.000", "us", "4.00", "GB/s", "0%", "3048"]
    (where, *_), (_, world, lines), *_ = heard
    assert where == ["where"]
    assert lines[-1] == "#hopbytes-measure sizes 0 6 9 ."
    for size, rounds in ((1, 200), (65536, 63), (4194304, 2)):  # one before the batches, and back
        assert world.sent.count((0, 6, size)) == world.sent.count((6, 0, size)) == 5 * rounds + 1
        assert rounds in (200, 2) or rounds == BATCH_BYTES // (size + 1)


def test_distances_stay_and_the_farthest_pairs_are_asked(heard):
    found = measure(["-n", "12"], WHERE, keep_distances=True, sizes=(1, 4096), batches=6)
    assert found.machine.distance().costs.tolist() == WHERE.machine.distance().costs.tolist()
    assert [words[3] for words, *_ in heard[1:]] == ["0-6", "0-4,6-10", "0-1,6-7,10-11"]
    assert len(heard[1][2]) == 2 * 6 + 1


def test_a_sweep_ends_where_its_time_does(heard, monkeypatch):
    monkeypatch.setitem(TRUE, "core", (1e-6, 1e6))
    found = measure(["-n", "2"], hb.allocate("core:2"), time_limit=20.0)
    assert found.fits["core"].bandwidth == pytest.approx(1e6)
    _, world, lines = heard[1]
    assert int(lines[-1].split()[4]) < 9  # 4 MB take four seconds, twelve times
    assert 15 < sum(cost(0, 1, size) for _, _, size in world.sent) < 20


def test_where_ranks_run(monkeypatch, capsys):
    started(monkeypatch, 2, cost, lambda: pingpong.main(["where"]))
    cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    lines = [f"#hopbytes-measure where {rank} here {cpus} ." for rank in (0, 1)]
    assert sorted(capsys.readouterr().out.splitlines()) == lines
