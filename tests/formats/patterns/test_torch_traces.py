"""A real recording of eight processes of PyTorch with gloo (samples/torch/flight.py), checked by hand."""

import json
import lzma
import shutil

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import TORCH_SAMPLES
from hopbytes.errors import FormatError, UnsupportedError

RECORDED = TORCH_SAMPLES / "flight_0.json.xz"


def content(rank):
    return lzma.decompress((TORCH_SAMPLES / f"flight_{rank}.json.xz").read_bytes())


def matrix(graph):
    return graph.to_scipy().toarray()


def test_groups_of_gloo_are_those_who_call_in_them():
    """Task = 4 pp + 2 dp + tp; volumes of both steps as the sample's README says."""
    graph = hb.read(RECORDED)
    found = matrix(graph)
    tensor = 2 * 3 * 4096
    # All-reduces of 4096 floats and (the reduce-scatter of gloo) 128, two all-gathers, an all-to-all.
    data = 2 * (4 * 4096 + 4 * 128 + 2 * 4 * 64 + 2 * 16 // 2)
    assert [found[6, 7], found[5, 7], found[7, 5]] == [tensor + 2 * 4 * 32 + 2 * 4 * 32, data, data]
    # A broadcast from 0, a reduction that ends there, both along the ring; a gather and a scatter.
    assert [found[0, 4], found[7, 0], found[4, 0], found[3, 6]] == [64, 2 * 4 * 32 + 64, 64, 0]
    assert any("64 calls was not recorded" in notice for notice in graph.meta["notices"])


def test_another_model_and_none():
    pairs = matrix(hb.read(RECORDED, collectives="pairs"))
    assert pairs[6, 7] == 2 * 3 * 4096  # the rest goes from and to the root
    assert hb.read(RECORDED, collectives="ignore").m == 0


def test_what_the_buffer_lost_is_said(tmp_path):
    for rank in range(8):
        dump = json.loads(content(rank))
        dump["entries"] = dump["entries"][5:]
        (tmp_path / f"nccl_trace_rank_{rank}").write_text(json.dumps(dump))
    graph = hb.read(tmp_path / "nccl_trace_rank_3")
    assert any("40 older calls" in notice for notice in graph.meta["notices"])


def test_a_missing_rank_and_a_pickle(tmp_path):
    for rank in (0, 1, 3):
        shutil.copy(TORCH_SAMPLES / f"flight_{rank}.json.xz", tmp_path)
    with pytest.raises(FormatError, match=mentions("1", "4", "(2)")):
        hb.read(tmp_path / "flight_0.json.xz")
    (tmp_path / "trace_0").write_bytes(b"\x80\x02}q\x00X\x07\x00\x00\x00entriesq\x01]q\x02s.")
    with pytest.raises(FormatError, match="damaged JSON"):
        hb.read(tmp_path / "trace_0", "flight")


def test_an_unknown_call_is_named(tmp_path):
    text = content(0).decode().replace("gloo:all_gather", "gloo:all_knead")
    (tmp_path / "flight_0.json").write_text(text)
    with pytest.raises(UnsupportedError, match=mentions("record", "gloo:all_knead")):
        hb.read(tmp_path / "flight_0.json")


def test_one_step_of_eight_processes():
    """240 floats of gradients around the ring, 32 floats from rank 3 along it, 16 to the next rank."""
    graph = hb.read(TORCH_SAMPLES / "ddp_5.json.xz")
    gradients, broadcast, sent = 2 * 7 * 960 // 8, 128, 64
    found = matrix(graph)
    assert [found[i, (i + 1) % 8] for i in range(8)] == [
        gradients + broadcast * (i != 2) + sent * (i != 7) for i in range(8)
    ]
    assert graph.m == 8
    assert len(graph.meta["hosts"]) == 8


def trace(folder, rank, events, size=4, groups=()):
    info = {"rank": rank, "world_size": size, "pg_config": list(groups)}
    content = {"schemaVersion": 1, "deviceProperties": [], "distributedInfo": info, "traceEvents": events}
    (folder / f"host_{1000 + 7 * rank}.17.pt.trace.json").write_text(json.dumps(content))


def comms(name, sent, received, ranks, **more):
    """An event as PyTorch writes it for NCCL."""
    args = {"Collective name": name, "dtype": "BFloat16", "In msg nelems": sent, "Out msg nelems": received}
    args |= {"Process Group Ranks": str(ranks), "Group size": len(ranks), "In split size": "[]"}
    return {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "args": args | more}


def test_kinds_of_calls_with_their_groups(tmp_path):
    """Two groups of two: a sharded layer (all-gather, reduce-scatter), uneven experts, a pipeline."""
    for rank in range(4):
        group = [rank // 2 * 2, rank // 2 * 2 + 1]
        splits = {"In split size": "[1, 30]" if rank % 2 == 0 else "[20, 3]"}
        events = [
            comms("_allgather_base", 100, 200, group),
            comms("_reduce_scatter_base", 400, 200, group),
            comms("all_to_allv", 31, 23, group, **splits),
            comms("broadcast", 8, 8, [0, 1, 2, 3], Rank=2),
            comms("wait", 0, 0, [0, 1, 2, 3]),
        ]
        if rank < 2:
            events.append(comms("send", 50, 50, [rank, rank + 2], Rank=1, **{"Dst Rank": rank + 2}))
        trace(tmp_path, rank, events)
    graph = hb.read(tmp_path / "host_1007.17.pt.trace.json")
    shared = 2 * (100 + 200)
    assert matrix(graph).tolist() == [
        [0, shared + 60 + 16, 100, 0], [shared + 40, 0, 0, 100],
        [0, 0, 0, shared + 60 + 16], [16, 0, shared + 40, 0],
    ]  # fmt: skip
    assert any("collective calls" in notice for notice in graph.meta["notices"])


def test_long_lists_of_ranks_are_looked_up(tmp_path):
    """The profiler shortens lists of more than 30 ranks; the whole list is among the groups."""
    for rank in range(2):
        short = {"Process Group Ranks": "[0, ..., 1]", "Process Group Name": "0"}
        event = comms("allreduce", 4, 4, [], **short)
        trace(tmp_path, rank, [event], 2, [{"pg_name": "0", "ranks": [0, 1]}])
    assert matrix(hb.read(tmp_path / "host_1000.17.pt.trace.json")).tolist() == [[0, 8], [8, 0]]
    trace(tmp_path, 0, [event], 2)
    with pytest.raises(FormatError, match=mentions("record 0", "Process Group Ranks")):
        hb.read(tmp_path / "host_1000.17.pt.trace.json")


def test_gloo_in_several_groups_is_refused(tmp_path):
    event = {"name": "gloo:all_reduce", "ts": 1, "args": {"Input Dims": [[4]], "Input type": ["float"]}}
    groups = [{"pg_name": "0", "ranks": [0, 1]}, {"pg_name": "1", "ranks": [1, 0]}]
    for rank in range(2):
        trace(tmp_path, rank, [event], 2, groups)
    with pytest.raises(UnsupportedError, match=mentions("2", "flight recorder")):
        hb.read(tmp_path / "host_1000.17.pt.trace.json")
    for rank in range(2):
        trace(tmp_path, rank, [event], 2, groups[:1])
    assert matrix(hb.read(tmp_path / "host_1000.17.pt.trace.json")).tolist() == [[0, 16], [16, 0]]


def test_sends_of_gloo_are_in_the_order_of_time(tmp_path):
    """Each takes its receiver from the operator that began before it, wherever these stand in the file."""
    floats = {"Input type": ["float"]}
    events = [
        {"name": "gloo:send", "ts": 4, "args": {"Input Dims": [[2]], **floats}},
        {"name": "gloo:send", "ts": 2, "args": {"Input Dims": [[1]], **floats}},
        {"name": "c10d::send", "ts": 3, "args": {"Concrete Inputs": ["", "", "2"]}},
        {"name": "c10d::send", "ts": 1, "args": {"Concrete Inputs": ["", "", "1"]}},
    ]
    for rank in range(3):
        trace(tmp_path, rank, [] if rank else events, 3, [{"pg_name": "0", "ranks": [0, 1, 2]}])
    assert matrix(hb.read(tmp_path / "host_1000.17.pt.trace.json")).tolist()[0] == [0, 4, 8]
    events.append({"name": "gloo:scatter", "args": {}})
    trace(tmp_path, 0, events, 3)
    with pytest.raises(FormatError, match=mentions("'gloo:scatter'", "ts")):
        hb.read(tmp_path / "host_1000.17.pt.trace.json")


def test_a_rank_twice(tmp_path):
    shutil.copy(TORCH_SAMPLES / "ddp_1.json.xz", tmp_path / "ddp_1.json.xz")
    shutil.copy(TORCH_SAMPLES / "ddp_1.json.xz", tmp_path / "ddp_2.json.xz")
    with pytest.raises(FormatError, match=mentions("ddp_2", "rank 1", "ddp_1")):
        hb.read(tmp_path / "ddp_1.json.xz")


def test_damaged_groups_and_names_are_refused_before_they_are_expanded(tmp_path):
    """An all-to-all of a group with ranks that do not exist would be messages of all its pairs."""
    members = list(range(3000))
    for rank in range(2):
        trace(tmp_path, rank, [comms("all_to_all", 4, 4, members)], 2)
    with pytest.raises(FormatError, match="rank 2999 in a group, expected 0 to 1"):
        hb.read(tmp_path / "host_1000.17.pt.trace.json")
    for rank in range(2):
        trace(tmp_path, rank, [comms("_coalesced" * 20_000 + "x", 4, 4, [0, 1])], 2)
    with pytest.raises(UnsupportedError, match="which hopbytes does not know"):
        hb.read(tmp_path / "host_1000.17.pt.trace.json")
