"""Logs of NCCL and RCCL that cut rings, mix lines, or are files of single processes."""

from __future__ import annotations

import random
import re

import pytest

import hopbytes as hb
from hopbytes.errors import FormatError

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


def read(folder, text, name="nccl.log", **options):
    path = folder / name
    path.write_text(text)
    return hb.read(path, "nccl", **options)


def along(rings):
    """Return the arcs of an all-reduce of 1200 bytes in equal parts around rings."""
    volume = 2 * (SIZE - 1) * (1200 // len(rings)) // SIZE
    arcs = {}
    for ring in rings:
        for source, target in zip(ring, [*ring[1:], ring[0]], strict=True):
            arcs[source, target] = arcs.get((source, target), 0) + volume
    return arcs


def arcs_of(graph):
    matrix = graph.to_scipy().tocoo()
    return dict(
        zip(zip(matrix.row.tolist(), matrix.col.tolist(), strict=True), matrix.data.tolist(), strict=True)
    )


@pytest.mark.parametrize("style", ["old", "new"])
@pytest.mark.parametrize("said_by_ranks", ["links", "neighbours"])
@pytest.mark.parametrize("rccl", [False, True])
def test_cut_rings_are_made_from_what_ranks_say(tmp_path, style, said_by_ranks, rccl):
    graph = read(tmp_path, log(style, said_by_ranks, rccl))
    assert graph.n == SIZE
    assert arcs_of(graph) == along(RINGS)
    assert any("2 rings as a whole" in notice for notice in graph.meta["notices"])


@pytest.mark.parametrize("style", ["old", "new"])
def test_without_neighbours_the_model_ring_counts(tmp_path, style):
    graph = read(tmp_path, log(style))
    assert arcs_of(graph) == along([list(range(SIZE))])
    assert any("model ring" in notice for notice in graph.meta["notices"])
    uncalled = re.sub(".*AllReduce.*\n", "", log(style))
    assert set(arcs_of(read(tmp_path, uncalled)).values()) == {2}


def test_neighbours_of_some_ranks_make_no_ring(tmp_path):
    text = re.sub(r"gpu-1:503:904 \[3\] NCCL INFO Ring.*\n", "", log("new", "neighbours"))
    text = re.sub(r"gpu-[012]:50[24]:90[35] \[[24]\] NCCL INFO Ring.*\n", "", text)
    assert arcs_of(read(tmp_path, text)) == along([list(range(SIZE))])


def test_connections_for_trees_first(tmp_path):
    """Connections are made for the first call: those of trees may be before those of rings."""
    text = log("new", "links")
    for rank in range(SIZE):
        own = head(rank)
        mine = [line for line in text.splitlines(True) if line.startswith(own) and "via" in line]
        rest = [line for line in mine if "NET/IB/1" in line]
        first = f"{own}Connected all rings\n"
        trees = f"{own}Connected all trees\n"
        text = text.replace(trees, "")
        for line in rest:
            text = text.replace(line, "")
        ring = [line for line in mine if line not in rest]
        text = text.replace(ring[0], "".join(rest) + trees + ring[0]).replace(first, first)
    assert arcs_of(read(tmp_path, text)) == along(RINGS)


def test_labels_of_launchers(tmp_path):
    expected = arcs_of(read(tmp_path, log("new", "links")))
    for prefix in (
        "[1,3]<stdout>:", "12: ", "[default0]:", "[2026-04-28 14:14:49] ", "12:00:01 node ",
        "(EngineCore_DP0 pid=742) (RayWorkerWrapper pid=233, ip=10.20.1.125) ", "\x1b[36m(pid=2)\x1b[0m ",
    ):  # fmt: skip
        assert arcs_of(read(tmp_path, log("new", "links", prefix=prefix))) == expected, prefix


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
    assert arcs_of(read(tmp_path, "\n".join(mixed))) == along(RINGS)


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
    whole = tmp_path / "gpu-1.log"
    whole.write_text((tmp_path / "nccl.gpu-1.503.log").read_text())
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
    graph = arcs_of(read(tmp_path, text))
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
        assert arcs_of(read(tmp_path, two(*trees))) == expected
    with pytest.raises(FormatError, match="rank 9, expected less than 2"):
        read(tmp_path, two("9/-1/-1->0->-1", "-1/-1/-1->1->0"))


def test_damaged_logs_are_explained(tmp_path):
    generator = random.Random(3)
    text = log("old", "links")
    for _ in range(60):
        at = generator.randrange(len(text))
        piece = generator.choice(["", "9", "-", "\n", " -> ", "[", "0x", "comm "])
        try:
            read(tmp_path, text[:at] + piece + text[at + generator.randrange(40) :])
        except hb.HopbytesError as error:
            assert "\n" not in str(error)  # noqa: PT017
