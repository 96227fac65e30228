"""Logs of NCCL: rings in another order than ranks, trees, several communicators."""

import io
import re
import tracemalloc

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.graphs import arcs_of
from helpers.paths import file_with
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import Source
from hopbytes.formats.patterns.nccl import HEAD_BYTES, lines_in, log_lines

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
    with pytest.raises(FormatError, match="rank 4, expected less than 4"):
        read(tmp_path, WORLD + calls("0xa", range(4), "Broadcast", 1001, root=4))


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


SIZE, PER_HOST = 24, 8
#: Two rings that are not in the order of ranks, and the cycle they are.
RINGS = (
    [0, 7, 6, 5, 4, 3, 2, 1, 8, 15, 14, 13, 12, 11, 10, 9, 16, 23, 22, 21, 20, 19, 18, 17],
    [0, 3, 2, 1, 5, 4, 7, 6, 16, 19, 18, 17, 21, 20, 23, 22, 8, 11, 10, 9, 13, 12, 15, 14],
)


def head(rank, thread=1):
    host, place = divmod(rank, PER_HOST)
    return f"gpu-{host}:{500 + place}:{900 + place + thread} [{place}] NCCL INFO "


def ring_line(channel, ring, style):
    """Return the line of rank 0 as NCCL up to 2.20 (20 ranks at most) or newer (128 bytes) prints it."""
    if style == "old":
        text = f"Channel {channel:02}/02 :" + "".join(f" {rank:3}" for rank in ring[:20])
        return text.ljust(130)
    text = f"Channel {channel:02}/02 :" + "".join(f" {rank:2}" for rank in ring)
    return text if len(text) < 84 else text[:80] + "..."


def links(rank, ring, rest):
    """Return the connections of a rank for a ring, those of a tree behind them."""
    place = ring.index(rank)
    before, after, far = ring[place - 1], ring[(place + 1) % SIZE], (rank + 5) % SIZE
    lines = []
    if before // PER_HOST != rank // PER_HOST:
        lines.append(f"{before}[{before % 8}] -> {rank}[{rank % 8}] [receive] via NET/IB/0/GDRDMA{rest}")
    how = "via P2P/CUMEM/read" if after // PER_HOST == rank // PER_HOST else "[send] via NET/IB/0"
    lines.append(f"{rank}[{rank % 8}] -> {after}[{after % 8}] {how}{rest}")
    return lines, [f"{rank}[{rank % 8}] -> {far}[{far % 8}] [send] via NET/IB/1{rest}"]


def log(style="new", said_by_ranks=None, rccl=False, prefix=""):
    """Return the lines of a job; `said_by_ranks` is links, neighbours or None."""
    lines = []
    for rank in range(SIZE):
        pointer, own = f"0x{rank + 16:x}", head(rank)
        rest = f" comm {pointer} nRanks {SIZE}" if rccl else ""
        identity = f"comm {pointer} rank {rank} nranks {SIZE} cudaDev {rank % 8} busId {rank % 8 + 1}000"
        if style == "new":
            lines.append(f"{own}ncclCommInitRank {identity} commId 0xfeed - Init START")
        for channel, ring in enumerate(RINGS):
            if rank == 0:
                lines.append(own + ring_line(channel, ring, style))
        for channel, ring in enumerate(RINGS):
            place = ring.index(rank)
            if said_by_ranks == "neighbours":
                around = f"{ring[place - 1]} -> {rank} -> {ring[(place + 1) % SIZE]}"
                lines.append(f"{own}Ring {channel:02} : {around}{rest}")
        both = [links(rank, ring, rest) for ring in RINGS]
        if said_by_ranks == "links":
            number = "" if style == "old" else "/0"
            for part in (0, 1):
                for channel, texts in enumerate(both):
                    lines += [f"{own}Channel {channel:02}{number} : {text}" for text in texts[part]]
                lines.append(f"{own}Connected all {('rings', 'trees')[part]}{rest}")
        lines.append(f"{own}ncclCommInitRank {identity} - Init COMPLETE")
        lines.append(
            f"{head(rank, 0)}AllReduce: opCount 0 sendbuff 0x7f recvbuff 0x8f count 1200 datatype 1 "
            f"op 0 root 0 comm {pointer} [nranks={SIZE}] stream 0x5"
        )
    return "".join(f"{prefix}{line}\n" for line in lines)


def read_rings(folder, text, name="nccl.log", **options):
    path = file_with(folder / name, text)
    return hb.read(path, "nccl", **options)


def along(rings):
    """Return the arcs of an all-reduce of 1200 bytes in equal parts around rings."""
    volume = 2 * (SIZE - 1) * (1200 // len(rings)) // SIZE
    arcs = {}
    for ring in rings:
        for source, target in zip(ring, [*ring[1:], ring[0]], strict=True):
            arcs[source, target] = arcs.get((source, target), 0) + volume
    return arcs


@pytest.mark.parametrize("style", ["old", "new"])
@pytest.mark.parametrize("said_by_ranks", ["links", "neighbours"])
@pytest.mark.parametrize("rccl", [False, True])
def test_cut_rings_are_made_from_what_ranks_say(tmp_path, style, said_by_ranks, rccl):
    graph = read_rings(tmp_path, log(style, said_by_ranks, rccl))
    assert graph.n == SIZE
    assert arcs_of(graph) == along(RINGS)
    assert any("2 rings as a whole" in notice for notice in graph.meta["notices"])


@pytest.mark.parametrize("style", ["old", "new"])
def test_without_neighbours_the_model_ring_counts(tmp_path, style):
    graph = read_rings(tmp_path, log(style))
    assert arcs_of(graph) == along([list(range(SIZE))])
    assert any("model ring" in notice for notice in graph.meta["notices"])
    uncalled = re.sub(".*AllReduce.*\n", "", log(style))
    assert set(arcs_of(read_rings(tmp_path, uncalled)).values()) == {2}


def test_neighbours_of_some_ranks_make_no_ring(tmp_path):
    text = re.sub(r"gpu-1:503:904 \[3\] NCCL INFO Ring.*\n", "", log("new", "neighbours"))
    text = re.sub(r"gpu-[012]:50[24]:90[35] \[[24]\] NCCL INFO Ring.*\n", "", text)
    assert arcs_of(read_rings(tmp_path, text)) == along([list(range(SIZE))])


def test_connections_for_trees_first(tmp_path):
    """Connections are made for the first call: those of trees may be before those of rings."""
    text = log("new", "links")
    for rank in range(SIZE):
        own = head(rank)
        mine = [line for line in text.splitlines(True) if line.startswith(own) and "via" in line]
        rest = [line for line in mine if "NET/IB/1" in line]
        trees = f"{own}Connected all trees\n"
        text = text.replace(trees, "")
        for line in rest:
            text = text.replace(line, "")
        ring = [line for line in mine if line not in rest]
        text = text.replace(ring[0], "".join(rest) + trees + ring[0])
    assert arcs_of(read_rings(tmp_path, text)) == along(RINGS)


def test_labels_of_launchers(tmp_path):
    expected = arcs_of(read_rings(tmp_path, log("new", "links")))
    for prefix in (
        "[1,3]<stdout>:", "12: ", "[default0]:", "[2026-04-28 14:14:49] ", "12:00:01 node ",
        "(EngineCore_DP0 pid=742) (RayWorkerWrapper pid=233, ip=10.20.1.125) ", "\x1b[36m(pid=2)\x1b[0m ",
    ):  # fmt: skip
        assert arcs_of(read_rings(tmp_path, log("new", "links", prefix=prefix))) == expected, prefix


def test_lines_that_came_into_each_other(tmp_path):
    """The beginning of one rank's line, the lines of others, then its end."""
    text = log("new", "links")
    lines = text.splitlines()
    mixed = []
    for line in lines:
        if line.endswith("Init COMPLETE") and mixed:
            mixed.append(f"{line[:-30]}{head(3)}CC Off, workFifoBytes 1048576")
            mixed.append(line[-30:])
        else:
            mixed.append(line)
    assert arcs_of(read_rings(tmp_path, "\n".join(mixed))) == along(RINGS)


def test_a_file_for_each_process(tmp_path):
    (tmp_path / "other.log").write_text("")
    for rank in range(SIZE):
        name = f"nccl.gpu-{rank // 8}.{500 + rank % 8}.log"
        own = [line for line in log("new", "links").splitlines(True) if line.startswith(head(rank)[:9])]
        (tmp_path / name).write_text("".join(own))
    graph = hb.read(tmp_path / "nccl.gpu-1.503.log", "nccl")
    assert arcs_of(graph) == along(RINGS)
    assert graph.meta["hosts"] == [f"gpu-{rank // 8}" for rank in range(SIZE)]
    (tmp_path / "nccl.gpu-2.507.log").unlink()
    with pytest.raises(FormatError, match=r"1 of 24 ranks are missing \(23\)"):
        hb.read(tmp_path / "nccl.gpu-1.503.log", "nccl")
    # A name without the process is one file.
    whole = file_with(tmp_path / "gpu-1.log", (tmp_path / "nccl.gpu-1.503.log").read_text())
    with pytest.raises(FormatError, match="23 of 24 ranks are missing"):
        hb.read(whole, "nccl")


def test_communicators_that_were_split(tmp_path):
    """Two halves of the same size, without commId, told apart by their color."""
    text = log("new", "links")
    for rank in range(SIZE):
        color, place = rank % 2, rank // 2
        pointer = f"0xa{rank:x}"
        what = f"ncclCommSplit comm {pointer} rank {place} nranks 12 cudaDev 0 nvmlDev 0 busId 1000"
        what += f" parent 0x{rank + 16:x} splitCount 1 color {color + 7} key {place}-"
        text += f"{head(rank)}{what} Init START\n"
        if place == 0:
            text += f"{head(rank)}Channel 00/01 : {' '.join(map(str, range(12)))}\n"
        text += f"{head(rank)}{what} Init COMPLETE\n"
        text += (
            f"{head(rank, 0)}AllGather: opCount 0 sendbuff 0x7f recvbuff 0x8f count 10 datatype 1 "
            f"op 0 root 0 comm {pointer} [nranks=12] stream 0x5\n"
        )
    graph = arcs_of(read_rings(tmp_path, text))
    for arc, volume in along(RINGS).items():
        graph[arc] -= volume
    kept = {arc: volume for arc, volume in graph.items() if volume}
    assert kept == {(rank, (rank + 2) % SIZE): 110 for rank in range(SIZE)}


def test_trees_of_nccl_2_4_are_reversed(tmp_path):
    """Rank 1 is below rank 0: ``up->own->down`` there, ``down->own->up`` in later releases."""

    def two(tree_0, tree_1):
        text = ""
        for rank, tree in enumerate((tree_0, tree_1)):
            text += f"n1:{rank + 5}:9 [{rank}] NCCL INFO Trees [0] {tree}\n"
            identity = f"comm 0xa{rank} rank {rank} nranks 2 cudaDev {rank}"
            text += f"n1:{rank + 5}:9 [{rank}] NCCL INFO {identity} - Init COMPLETE\n"
        text += "n1:5:9 [0] NCCL INFO 4800 Bytes -> Algo 0 proto 0 time 12.5\n"
        for rank in (0, 1):
            text += f"n1:{rank + 5}:5 [{rank}] NCCL INFO AllReduce: opCount 0 sendbuff 0x7f recvbuff 0x8f "
            text += f"count 1200 datatype 7 op 0 root 0 comm 0xa{rank} [nranks=2] stream 0x5\n"
        return text

    expected = {(0, 1): 4800, (1, 0): 4800}
    for trees in (("-1->0->1/-1/-1", "0->1->-1/-1/-1"), ("1/-1/-1->0->-1", "-1/-1/-1->1->0")):
        assert arcs_of(read_rings(tmp_path, two(*trees))) == expected
    with pytest.raises(FormatError, match="rank 9, expected less than 2"):
        read_rings(tmp_path, two("9/-1/-1->0->-1", "-1/-1/-1->1->0"))


def test_heads_are_looked_for_near_the_mark_only():
    assert [words.thread[0] for words in lines_in(b"x" * 10**6 + b" n1:1:2 [0] NCCL INFO a")] == [b"n1"]
    assert lines_in(b"n1:1:2" + b" " * (HEAD_BYTES + 9) + b" NCCL INFO a") == []
    many = b"n1:1:2 [0] NCCL INFO " * 3000
    assert len(lines_in(many)) == 3000


def texts(folder, name):
    path = folder / name
    source = Source(str(path), io.BufferedReader(io.BytesIO(path.read_bytes())), str(path))
    return [words.text for _, words in log_lines(source)]


@pytest.mark.parametrize(("name", "others", "alike"), [
    ("nccl.n1.7.log", ["nccl.n1.8.log", "nccl.n2.7.log"], True), ("7-n1", ["9-n22"], True),
    ("nccl.7", ["nccl.8"], True), ("nccl.n1", ["nccl.n2"], False), ("nccl.17", ["nccl.18"], False),
    ("nccl.n1.7", ["nccl.n1.8.old", "xnccl.n1.8", "nccl.n1.x"], False), ("7.7", ["7.8", "8.7"], False),
])  # fmt: skip
def test_files_whose_names_differ_in_host_and_process(tmp_path, name, others, alike):
    (tmp_path / name).write_text("n1:7:9 [0] NCCL INFO own\n")
    for other in others:
        (tmp_path / other).write_text("n2:8:9 [1] NCCL INFO other\n")
    (tmp_path / f"{others[0]}.d").mkdir()
    assert texts(tmp_path, name) == [b"own"] + [b"other"] * (len(others) if alike else 0)
