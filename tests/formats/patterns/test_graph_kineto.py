"""A real trace of data parallel training (tests/samples/torch/ddp.py), and the fields that NCCL adds."""

from __future__ import annotations

import json
import shutil

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import TORCH_SAMPLES
from hopbytes.errors import FormatError, UnsupportedError


def matrix(graph):
    return graph.to_scipy().toarray()


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
