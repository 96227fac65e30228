"""OTF2 archives: written with the package, the developers' sample, and damage."""

from __future__ import annotations

import contextlib
import random
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.graphs import arcs_of
from helpers.paths import SHARED_SAMPLES
from hopbytes.errors import FormatError, ScaleError, UnsupportedError
from hopbytes.formats.patterns import _otf2_events
from hopbytes.patterns.collective_messages import ROOTED, expand

otf2 = pytest.importorskip("otf2")
SAMPLE = SHARED_SAMPLES / "otf2_stencil4d_32"
E = otf2.events


def archive(folder: Path, happenings) -> Path:
    """Write an archive of four ranks; `happenings` gets it and communicators, and yields (rank, event)."""
    with otf2.writer.open(str(folder / "a"), timer_resolution=10**9) as trace:
        define = trace.definitions
        root = define.system_tree_node("node")
        places = []
        for i in range(4):
            process = define.location_group(f"rank {i}", system_tree_parent=root)
            places.append(define.location("main", group=process))
        mpi = otf2.Paradigm.MPI
        define.group("", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=mpi, members=places)

        def comm(*ranks):
            members = [places[i] for i in ranks]
            group = define.group("", group_type=otf2.GroupType.COMM_GROUP, paradigm=mpi, members=members)
            return define.comm("", group=group)

        # Another thread of rank 2, which also sends.
        thread = define.location("thread", group=places[2].group)
        places.append(thread)
        comms = {"world": comm(0, 1, 2, 3), "odd": comm(3, 1)}
        comms["window"] = define.rma_win("w", comm=comms["odd"])
        for when, (place, event) in enumerate(happenings(comms)):
            trace.event_writer_from_location(places[place])(event(when))
    return folder / "a/traces.otf2"


def messages(comms):
    def send(comm, to, size, kind=E.MpiSend):
        more = {"request_id": 1} if kind is E.MpiIsend else {}
        target = {"receiver": to, "communicator": comms[comm]}
        return lambda when: kind(when, msg_tag=0, msg_length=size, **target, **more)

    yield 0, send("world", 1, 100)
    yield 0, send("world", 1, 11, E.MpiIsend)
    yield 3, send("odd", 1, 7)  # member 1 is rank 1
    yield 4, send("world", 0, 5)
    yield 1, lambda when: E.MpiRecv(when, 0, comms["world"], 0, 100)  # the same message, seen from there
    yield 3, lambda when: E.RmaPut(when, comms["window"], 1, 20, 0)
    yield 1, lambda when: E.RmaGet(when, comms["window"], 0, 30, 1)  # comes from rank 3
    swap = otf2.RmaAtomicType.FETCH_AND_ADD
    yield 1, lambda when: E.RmaAtomic(when, comms["window"], 0, swap, 8, 4, 2)


def test_messages_in_ranks_of_the_world(tmp_path):
    """Sends of every kind, of a reordered communicator and of a second thread; puts, gets and atomics."""
    graph = hb.read(archive(tmp_path, messages))
    assert graph.n == 4
    assert arcs_of(graph) == {(0, 1): 111, (3, 1): 7 + 20 + 30 + 4, (2, 0): 5, (1, 3): 8}
    assert graph.arc_messages().sum() == 2 + 1 + 1 + 1 + 1 + 2
    assert "notices" not in graph.meta
    assert "notices" not in hb.read(tmp_path / "a/traces.otf2", collectives="ring").meta


#: OTF2's name → our kind, our block per rank, and (sent, received) per rank of four as Score-P stores them.
STORED = {
    "BCAST": ("bcast", [20] * 4, [(0, 20), (80, 20), (0, 20), (0, 20)]),
    "GATHERV": ("gather", [4, 8, 12, 16], [(4, 0), (8, 40), (12, 0), (16, 0)]),
    "SCATTER": ("scatter", [12] * 4, [(0, 12), (48, 12), (0, 12), (0, 12)]),
    "REDUCE": ("reduce", [20] * 4, [(20, 0), (20, 80), (20, 0), (20, 0)]),
    "ALLREDUCE": ("allreduce", [24] * 4, [(96, 96)] * 4),
    "ALLGATHERV": ("allgather", [4, 8, 12, 16], [(16, 40), (32, 40), (48, 40), (64, 40)]),
    "ALLTOALL": ("alltoall", [10] * 4, [(30, 30)] * 4),  # in place: three times 10
    "REDUCE_SCATTER": ("reduce_scatter", [4, 8, 12, 16], [(40, 16), (40, 32), (40, 48), (40, 64)]),
    "SCAN": ("scan", [20] * 4, [(80, 20), (60, 40), (40, 60), (20, 80)]),
    "EXSCAN": ("scan", [20] * 4, [(60, 0), (40, 20), (20, 40), (0, 60)]),
    "BARRIER": ("barrier", [0] * 4, [(0, 0)] * 4),
}


@pytest.mark.parametrize("model", ["pairs", "ring", "binomial"])
def test_collectives_by_a_model(tmp_path, model):
    """The sizes that Score-P stores become the blocks of the models: the sum over all kinds is exact."""

    def calls(comms):
        for name, (_, _, stored) in STORED.items():
            kind = getattr(otf2.CollectiveOp, name)
            for rank, (sent, received) in enumerate(stored):
                yield rank, lambda when, k=kind, s=sent, r=received: E.MpiCollectiveEnd(
                    when, k, comms["world"], 1, s, r
                )

    path = archive(tmp_path, calls)
    expected: dict[tuple[int, int], int] = {}
    for kind, sizes, _ in STORED.values():
        for message in expand(kind, model, sizes, 1 if kind in ROOTED else 0):
            expected[message[:2]] = expected.get(message[:2], 0) + message.volume
    assert arcs_of(hb.read(path, collectives=model)) == expected
    silent = hb.read(path)
    assert silent.m == 0
    assert any("44 collective calls" in notice for notice in silent.meta["notices"])


def test_communicators_of_two_groups_of_one_rank_and_of_none():
    """Events as the package gives them, of communicators that its writer does not make."""
    places = [SimpleNamespace(group=name) for name in "abcd"]
    groups = [
        SimpleNamespace(group_type=f"GroupType.{kind}", paradigm=f"Paradigm.{paradigm}", members=members)
        for kind, paradigm, members in (
            ("COMM_LOCATIONS", "MPI", places), ("COMM_LOCATIONS", "OPENMP", places[2:]),
            ("COMM_GROUP", "MPI", places[1:]),
        )
    ]  # fmt: skip

    def side(names):
        return SimpleNamespace(members=[place for place in places if place.group in names])

    between = SimpleNamespace(_ref=1, groupA=side("ab"), groupB=side("cd"))
    itself, alone, two = (SimpleNamespace(_ref=names, group=side(names)) for names in ("", "b", "bd"))
    sums = _otf2_events.Sums(SimpleNamespace(groups=groups))

    def take(name, own, comm, **facts):
        sums.take(SimpleNamespace(group=own), type(name, (SimpleNamespace,), {})(communicator=comm, **facts))

    ends = ("a", between, 1), ("d", between, 1), ("c", itself, 0), ("d", two, 0), ("x", two, 0)
    for own, comm, receiver in ends:
        take("MpiSend", own, comm, receiver=receiver, msg_length=10)
        take("MpiRecv", own, comm, sender=receiver, msg_length=10)
    call = {"collective_op": "CollectiveOp.ALLTOALLV", "root": 2**32 - 1, "size_sent": 6, "size_received": 6}
    for own, comm, more in (
        ("a", between, {}), ("b", alone, {}), ("a", two, {}), ("b", two, {}), ("b", two, {"root": 1}),
        ("d", two, {}), ("b", two, {"size_sent": 4}),
        ("b", two, {"collective_op": "CollectiveOp.CREATE_HANDLE"}),
        ("b", two, {"collective_op": "X", "size_sent": 0, "size_received": 0}),
    ):  # fmt: skip
        take("MpiCollectiveEnd", own, comm, **{**call, **more})
    window = SimpleNamespace(**vars(between), group=SimpleNamespace(paradigm="Paradigm.MPI"))
    for kind, size in (("RmaPut", 5), ("RmaGet", 7)):
        take(kind, "a", None, win=SimpleNamespace(comm=window), remote=1, bytes=size)
    assert sums.rows() == {
        "ranks": 4, "uneven": 4, "unknown": 1, "between": 1,
        "messages": [[0, 3, 15, 2], [3, 1, 20, 2], [2, 2, 10, 1], [3, 0, 7, 1]],
        "collectives": [
            [1, (1, 3), "alltoall", 0, 5, 2], [1, (1, 3), "alltoall", 1, 3, 1],
            [3, (1, 3), "alltoall", 0, 3, 1],
        ],
    }  # fmt: skip


@pytest.mark.shared
def test_the_sample_of_a_stencil():
    """Score-P's trace of a four-dimensional stencil: 512 sends of 128 KiB by 32 ranks."""
    graph = hb.read(SAMPLE / "traces.otf2")
    assert (graph.n, graph.m, graph.total_volume) == (32, 160, 512 << 17)
    assert graph.arc_messages().sum() == 512
    assert arcs_of(graph) == {(t, s): v for (s, t), v in arcs_of(graph).items()}


def test_damage_is_one_error(tmp_path):
    """Whatever is cut, missing or garbled: our error in one line, and nothing of the library's on stderr."""
    whole = archive(tmp_path, messages)
    for number, name in enumerate(["traces.otf2", "traces.def", "traces/0.evt", "traces/0.def"]):
        for way in ("cut", "missing"):
            folder = tmp_path / f"{number}{way}"
            shutil.copytree(whole.parent, folder)
            part = folder / name
            content = part.read_bytes()
            part.unlink()
            if way == "cut":
                part.write_bytes(content[: len(content) // 2])
            elif number == 0:
                continue
            with pytest.raises(FormatError, match=mentions("traces.otf2")) as caught:
                hb.read(folder / "traces.otf2")
            assert "\n" not in str(caught.value)


def test_garbled_events_end_cleanly(tmp_path):
    """Random bytes in the events: an error of ours or a pattern, never anything else."""
    events = archive(tmp_path, messages).parent / "traces/0.evt"
    content, chance = events.read_bytes(), random.Random(7)
    for _ in range(6):
        garbled = bytearray(content)
        for _ in range(4):
            garbled[chance.randrange(16, len(garbled))] = chance.randrange(256)
        events.write_bytes(garbled)
        with contextlib.suppress(FormatError, ScaleError, UnsupportedError):
            assert hb.read(events.parents[1] / "traces.otf2").n == 4


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    path = archive(tmp_path, messages)
    with pytest.raises(UnsupportedError, match=mentions("otf2")):
        hb.read(path, "otf2")


@pytest.mark.parametrize(("share", "sent", "received", "size", "block"), [
    ("none", 5, 5, 4, 0), ("received", 9, 20, 4, 20), ("sent", 8, 40, 4, 8),
    ("sent to each", 96, 96, 4, 24),
    ("sent to each", 30, 30, 4, 10), ("sent to each", 31, 30, 4, 8), ("sent to each", 5, 9, 1, 5),
    ("received from each", 40, 16, 4, 4), ("both", 80, 20, 4, 20), ("both", 60, 3, 4, 21),
    ("both", 4, 3, 2, 7),
    ("both but own", 60, 0, 4, 20), ("both but own", 40, 20, 4, 20), ("both but own", 7, 0, 1, 7),
])  # fmt: skip
def test_blocks_of_ranks(share, sent, received, size, block):
    assert _otf2_events._block(share, sent, received, size) == block
