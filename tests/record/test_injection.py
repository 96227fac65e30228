"""What `record` gives by default under Open MPI: the messages that every class of calls really becomes."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from helpers.real_mpi import mpi
from hopbytes.errors import UnsupportedError
from hopbytes.launch.command import LaunchCommand
from hopbytes.record.interposer import keeps_monitoring_out
from hopbytes.record.session import record

INT = 4
pytestmark = [pytest.mark.launcher, pytest.mark.usefixtures("mpi_folder")]
RANKS = range(4)
NEXT = [(i, (i + 1) % 4) for i in RANKS]
PAIRS = [(i, j) for i in RANKS for j in RANKS if i != j]
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
    source = str(Path(__file__).parent / "counted.c")
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
        monkeypatch.setattr("hopbytes.record.session._own_interposer", lambda application, command: "")
    launch, compiler = mpi(family)
    source = str(Path(__file__).parent / "unfit.c")
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


@pytest.mark.parametrize("framework", ["pml", "coll", "osc"])
def test_components_typed_without_those_that_count(framework, tmp_path):
    app = tmp_path / "app"
    app.write_text("#!/bin/sh\n")
    app.chmod(0o755)
    launch, _ = mpi("openmpi 5")
    typed = [*launch, "--mca", framework, "self", str(app)]
    assert keeps_monitoring_out(LaunchCommand.parse(typed)) == f"--mca {framework} self"
    with pytest.raises(UnsupportedError, match=f"--mca {framework} self: excludes Open MPI's monitoring"):
        record(typed)
    allowed = [*launch, "--mca", framework, "^self", str(app)]
    assert not keeps_monitoring_out(LaunchCommand.parse(allowed))
