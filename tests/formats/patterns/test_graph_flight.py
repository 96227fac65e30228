"""A real recording of eight processes of PyTorch with gloo (samples/torch/flight.py), checked by hand."""

from __future__ import annotations

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
