"""Scotch as a rival: the files it is given, which of its answers counts, and the tables made of them."""

import shutil

import numpy as np
import pytest

import hopbytes as hb
from bench.rivals import scotch_gmap
from bench.studies import mpi_patterns

SCOTCH = pytest.mark.skipif(not shutil.which("scotch_gmap"), reason="scotch_gmap is not installed")


def test_source_has_both_directions_with_their_sum():
    graph = hb.CommGraph.from_edges([0, 1, 2], [1, 0, 3], [5, 2, 9], n=4)
    head, rows = ["0", "4 4", "0 010"], ["1 7 1", "1 7 0", "1 9 3", "1 9 2"]
    assert scotch_gmap.source_text(graph).splitlines() == head + rows
    assert scotch_gmap.source_text(graph, divisor=8).splitlines()[3:] == ["1 1 1", "1 1 0", "1 1 3", "1 1 2"]


@pytest.mark.parametrize("spec", ["node:4@20 package:2@5 core:3@2", "torus:4x3x2@1", "mesh:3x5@1"])
def test_targets_are_read_back_as_the_same_machine(spec, tmp_path):
    where = hb.allocate(spec)
    for chosen in (None, np.array([1, 4, 9, 10])):
        path = tmp_path / "machine.tgt"
        path.write_text(scotch_gmap.target_text(where, chosen))
        expected = where.distance if chosen is None else where.distance.select(chosen)
        assert hb.allocate(f"scotch:{path}").distance.matrix().tolist() == expected.matrix().tolist()


def test_grids_run_the_other_way_round():
    assert scotch_gmap.target_text(hb.allocate("torus:4x3x2@7")) == "torus3D 2 3 4\n"
    with pytest.raises(ValueError, match="two or three dimensions"):
        scotch_gmap.target_text(hb.allocate("mesh:8"))


@pytest.mark.parametrize("spec", ["node:2@10 core:[2,3]@1", "node:2@10 core:2@0"])
def test_machines_that_are_no_tleaf(spec):
    with pytest.raises(ValueError, match=r"even tree|1 or more"):
        scotch_gmap.target_text(hb.allocate(spec))


def test_better_balanced_before_lower_cost():
    graph, where = hb.CommGraph.from_edges([0, 1], [1, 2], [9, 1]), hb.allocate("node:2@10 core:2@1")
    crowded = scotch_gmap.Answer(np.array([0, 0, 1]), "plain", 2, 0.0, 0.0)
    worse = scotch_gmap.Answer(np.array([0, 2, 3]), "plain", 1, 0.0, 0.0)
    better = scotch_gmap.Answer(np.array([0, 1, 2]), "-b0", 1, 0.0, 0.0)
    assert scotch_gmap.better_balanced(graph, where, [crowded, worse, better]) is better


@SCOTCH
@pytest.mark.parametrize("spec", ["node:2@300 package:2@20 core:4@1", "mesh:4x2x2", "torus:4x4"])
def test_scotch_means_the_same_machine(spec, monkeypatch):
    """It prints the sum of its distances over all edges of its own answer: ours, if both mean one machine."""
    monkeypatch.setitem(scotch_gmap.WAYS, "plain", ("-vm",))
    said = []
    run = scotch_gmap.subprocess.run
    monkeypatch.setattr(scotch_gmap.subprocess, "run", lambda *a, **b: said.append(run(*a, **b)) or said[-1])
    graph, where = hb.read("alltoall:16:bytes=1"), hb.allocate(spec)
    answer = scotch_gmap.place(graph, where, "plain")
    assert answer.most == 1
    line = next(line for line in said[0].stdout.splitlines() if "CommDilat" in line)
    cost = mpi_patterns.cost(graph, where, answer.pe)
    assert int(line.split("(")[1].rstrip(")")) * 2 == cost


@SCOTCH
@pytest.mark.parametrize(("spec", "whole"), [
    ("torus:4x4@10 / core:2@1", "torus:4x4@10"), ("fattree:4x4@10 / core:2@1", "fattree:4x4@10"),
    ("dragonfly:3x2x3@10 / core:2@1", None),
])
def test_scotch_on_the_nodes_of_a_network(spec, whole):
    """Every slot is filled once, and a chain in random order comes out better than in order."""
    where = hb.allocate(spec, hosts="scattered:nodes=8:seed=1")
    order = np.random.default_rng(3).permutation(where.k)
    graph = hb.CommGraph.from_edges(order[:-1], order[1:], np.full(where.k - 1, 9), n=where.k)
    mapping, seconds = scotch_gmap.on_nodes(graph, where, whole and hb.allocate(whole))
    assert sorted(mapping.pe.tolist()) == list(range(where.k))
    facts = hb.evaluate(graph, mapping, random_seeds=0).to_dict()
    assert facts["hop_bytes"] < facts["in_order"]["hop_bytes"]
    assert seconds > 0
