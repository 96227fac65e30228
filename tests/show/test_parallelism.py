"""The report by kind of parallelism: shares known by hand, on rails, on typed GPUs and on real fabrics."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from helpers.fabric_text import two_level_fabric
from hopbytes.show.evaluation_text import parallelism

SPEC = "ml:tp=2,pp=1,dp=2,hidden=8,layers=1,seq=4,micro=1"


def shares(machine, pe, spec=SPEC):
    graph = hb.read(spec)
    mapping = hb.Mapping(np.array(pe, np.int32), hb.allocate(machine))
    return {each.kind: (each.volume, each.inside, each.on_rail) for each in parallelism(graph, mapping)}


def test_shares_follow_the_mapping():
    assert shares("rails:2x2", [0, 1, 2, 3]) == {"tensor": (1024, 1024, 0), "data": (3072, 0, 3072)}
    assert shares("rails:2x2", [0, 1, 3, 2]) == {"tensor": (1024, 1024, 0), "data": (3072, 0, 0)}
    assert shares("rails:2x2", [0, 2, 1, 3]) == {"tensor": (1024, 0, 1024), "data": (3072, 3072, 0)}
    assert shares("rails:2x2:domain=2", [0, 2, 1, 3])["tensor"] == (1024, 1024, 0)
    assert shares("node:2 gpu:2", [0, 1, 3, 2])["data"] == (3072, 0, 0)
    assert shares("node:2 core:2", [0, 1, 3, 2])["data"] == (3072, 0, None)


def test_only_training_jobs_have_kinds_of_parallelism():
    graph = hb.read("stencil:2x2")
    assert parallelism(graph, hb.map_tasks(graph, "node:2 core:2")) == []


@pytest.mark.parametrize("order", ["tp-cp-ep-dp-pp", "dp-tp-cp-ep-pp", "pp-dp-cp-ep-tp"])
def test_groups_find_their_domain_and_their_rail(order):
    graph = hb.read(f"ml:tp=8,pp=4,dp=4,ep=4,order={order}")
    mapping = hb.map_tasks(graph, "rails:16x8", "fast")
    found = {each.kind: each for each in parallelism(graph, mapping)}
    assert found["tensor"].inside == found["tensor"].volume
    for kind in ("data", "pipeline", "expert"):
        assert found[kind].on_rail + found[kind].inside == found[kind].volume, kind


def test_a_text_for_people():
    graph = hb.read(SPEC)
    mapping = hb.Mapping(np.arange(4, dtype=np.int32), hb.allocate("node:2 gpu:2"))
    tensor, data = map(str, parallelism(graph, mapping))
    assert tensor.startswith("tensor parallelism: 1.02 kB per step, 100 % inside a node, 0 % on one rail")
    assert "100 % on one rail" in data


@pytest.mark.parametrize(("rails", "on_rail"), [(2, 3072), (1, None)])
def test_adapters_of_real_fabrics_are_rails(tmp_path, rails, on_rail):
    folder = two_level_fabric(rails=rails).write(tmp_path)
    where = hb.allocate(f"ib:{folder}:rails=gpu / gpu:2", hosts="nodes:0-1")
    for pe, expected in (([0, 1, 2, 3], on_rail), ([0, 1, 3, 2], 0 if on_rail else None)):
        mapping = hb.Mapping(np.array(pe, np.int32), where)
        tensor, data = parallelism(hb.read(SPEC), mapping)
        assert (tensor.inside, data.inside, data.on_rail) == (1024, 0, expected)
