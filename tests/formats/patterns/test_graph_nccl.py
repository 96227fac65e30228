"""Logs of NCCL: rings in another order than ranks, trees, several communicators."""

from __future__ import annotations

import tracemalloc

import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.errors import FormatError, UnsupportedError

#: (host, process) of the ranks 0 to 3.
GPUS = (("n1", 100, 0), ("n1", 101, 1), ("n2", 100, 0), ("n2", 101, 1))
TREES = (
    "[0] 1/2/-1->0->-1 [1] 1/-1/-1->0->2", "[0] -1/-1/-1->1->0 [1] -1/-1/-1->1->0",
    "[0] 3/-1/-1->2->0 [1] 3/0/-1->2->-1", "[0] -1/-1/-1->3->2 [1] -1/-1/-1->3->2",
)  # fmt: skip


def line(rank, text, thread=0):
    host, pid, device = GPUS[rank]
    return f"{host}:{pid}:{pid + thread} [{device}] NCCL INFO {text}\n"


def set_up(pointer, members, comm_id, rings, trees=TREES):
    text = ""
    for place, rank in enumerate(members):
        what = f"ncclCommInitRank comm {pointer}{rank} rank {place} nranks {len(members)} cudaDev 0 nvmlDev 0"
        text += line(rank, f"{what} busId 31000 commId {comm_id} - Init START", 1)
    for place, rank in enumerate(members):
        text += line(rank, f"comm {pointer}{rank} rank {place} nRanks {len(members)} nNodes 2", 1)
        if place == 0:
            for channel, ring in enumerate(rings):
                order = "   ".join(map(str, ring))
                text += line(rank, f"Channel {channel:02}/{len(rings):02} :    {order}", 1)
        text += line(rank, f"Trees {trees[place]}", 1)
    return text


def calls(pointer, members, name, count, root=0):
    what = f"{name}: opCount 1f sendbuff 0x7f recvbuff (nil) count {count} datatype 7 op 0 root {root}"
    return "".join(line(rank, f"{what} comm {pointer}{rank} [nranks=4] stream 0x55") for rank in members)


WORLD = set_up("0xa", range(4), "0xbeef", [[0, 1, 3, 2], [0, 2, 3, 1]])
#: Two communicators of the same size at the same time.
ACROSS = "".join(
    set_up("0xb", pair, f"0xc{pair[0]}", [[0, 1]], ["[0] -1/-1/-1->0->-1"] * 2) for pair in ((0, 2), (1, 3))
)


def read(folder, text, **options):
    (folder / "nccl.log").write_text("a line of the program\n" + text)
    return hb.read(folder / "nccl.log", **options)


def volumes(graph):
    return graph.to_scipy().toarray().tolist()


def test_an_all_reduce_goes_around_both_rings(tmp_path):
    """Half of 2 (p - 1) / p of 4000 bytes in each direction."""
    graph = read(tmp_path, WORLD + calls("0xa", range(4), "AllReduce", 1000))
    half = 3000
    assert volumes(graph) == [[0, half, half, 0], [half, 0, 0, half], [half, 0, 0, half], [0, half, half, 0]]
    assert graph.meta["hosts"] == ["n1", "n1", "n2", "n2"]


def test_trees_where_the_tuner_chose_them(tmp_path):
    """In both trees rank 1 is below 0 and 3 below 2; 0 and 2 exchange the roles."""
    tuned = line(0, "AllReduce: 4000 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}")
    graph = read(tmp_path, WORLD + tuned + calls("0xa", range(4), "AllReduce", 1000))
    full = 4000
    assert volumes(graph) == [[0, full, full, 0], [full, 0, 0, 0], [full, 0, 0, full], [0, 0, full, 0]]
    old = line(0, "4000 Bytes -> Algo 0 proto 0 time 12.5")
    assert volumes(read(tmp_path, WORLD + old + calls("0xa", range(4), "AllReduce", 1000))) == volumes(graph)
    other_size = read(tmp_path, WORLD + old + calls("0xa", range(4), "AllReduce", 100))
    assert volumes(other_size)[0][1] == 300


def test_a_broadcast_starts_at_its_root(tmp_path):
    graph = read(tmp_path, WORLD + calls("0xa", range(4), "Broadcast", 1001, root=3))
    found = volumes(graph)
    # Ring 0, 3-2-0-1, carries 2002 bytes, ring 1, 3-1-0-2, as many.
    assert found == [[0, 2002, 2002, 0], [2002, 0, 0, 0], [2002, 0, 0, 0], [0, 2002, 2002, 0]]


def test_communicators_of_some_ranks(tmp_path):
    text = WORLD + ACROSS + calls("0xb", range(4), "AllGather", 10) + calls("0xb", [1], "Send", 5, root=1)
    graph = read(tmp_path, text)
    assert volumes(graph) == [[0, 0, 40, 0], [0, 0, 0, 60], [40, 0, 0, 0], [0, 40, 0, 0]]
    without = text.replace(" commId 0xbeef", "")
    assert volumes(read(tmp_path, without)) == volumes(graph)


def test_a_log_without_calls_tells_its_rings(tmp_path):
    graph = read(tmp_path, WORLD)
    assert volumes(graph) == [[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]]
    assert any("no calls" in notice for notice in graph.meta["notices"])


def test_old_logs_name_the_communicator_at_the_end(tmp_path):
    """Up to NCCL 2.17 the lines of channels stand before the only line with rank and communicator."""
    def old(pointer, members, ring):
        text = line(members[0], f"Channel 00/01 :    {'   '.join(map(str, ring))}", 1)
        for place, rank in enumerate(members):
            what = f"comm {pointer}{rank} rank {place} nranks {len(members)} cudaDev 0 busId 31000"
            text += line(rank, f"{what} - Init COMPLETE", 1)
        return text

    text = old("0xa", range(4), [0, 2, 1, 3]) + old("0xb", (0, 2), [0, 1])
    called = calls("0xa", range(4), "AllReduce", 100) + calls("0xb", (0, 2), "AllReduce", 10)
    expected = [[0, 0, 640, 0], [0, 0, 0, 600], [40, 600, 0, 0], [600, 0, 0, 0]]
    assert volumes(read(tmp_path, text + called)) == expected
    ended = line(0, "comm 0xb0 rank 0 nranks 2 cudaDev 0 busId 31000 - Destroy COMPLETE")
    assert volumes(read(tmp_path, text + ended))[0] == [0, 0, 2, 0]
    with pytest.raises(UnsupportedError, match=mentions("2 ranks", "commId")):
        read(tmp_path, text + old("0xb", (1, 3), [0, 1]))


def test_other_models(tmp_path):
    text = WORLD + calls("0xa", range(4), "AllReduce", 1000)
    assert volumes(read(tmp_path, text, collectives="ring"))[0] == [0, 6000, 0, 0]
    assert read(tmp_path, text, collectives="ignore").m == 0


def test_a_gpu_outside_the_largest_communicator(tmp_path):
    text = set_up("0xa", range(3), "0xbeef", [[0, 1, 2]], TREES[:1] * 3).replace("1/2", "1/-1")
    text = text.replace(" [1] 1/-1/-1->0->2", "")
    with pytest.raises(FormatError, match=mentions("n2", "3")):
        read(tmp_path, text + set_up("0xb", [2, 3], "0xc", [[0, 1]], ["[0] -1/-1/-1->0->-1"] * 2))


def test_a_number_of_ranks_that_damage_made_huge_takes_no_memory(tmp_path):
    """A list of that many numbers takes 3 GB."""
    path = tmp_path / "damaged.log"
    path.write_text(WORLD.replace("nranks 4", f"nranks {10**8}").replace("nRanks 4", f"nRanks {10**8}"))
    tracemalloc.start()
    with pytest.raises(FormatError, match="99999996 of 100000000 ranks are missing"):
        hb.read(path, "nccl")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24
