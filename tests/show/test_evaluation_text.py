"""The table and the one-line summary of a mapping, and the traffic by kind of parallelism."""

import re

import numpy as np
import pytest

import hopbytes as hb
from helpers.fabric_text import two_level_fabric
from helpers.placements import place
from hopbytes.cost.metrics.evaluation import evaluate
from hopbytes.cost.metrics.parallelism import KindOfTraffic, parallelism
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.model.comm_graph import CommGraph
from hopbytes.show.evaluation_text import evaluation_table, summary
from hopbytes.util.quantities import number


def ring(n, volume):
    return CommGraph.from_edges(range(n), [*range(1, n), 0], [volume] * n)


def shown(evaluation, width=120):
    return evaluation_table(evaluation, width)


@pytest.mark.parametrize("width", [80, 200])
def test_a_narrow_terminal_keeps_every_number_it_shows(width):
    """The range of the random placements goes first; nothing is cut off with dots."""
    mapping = place("node:2@10 package:2@3 core:4@1", np.random.default_rng(1).permutation(16))
    text = shown(evaluate(ring(16, 10**9), mapping), width)
    assert ("random, range" in text) == (width == 200)
    assert max(map(len, text.splitlines())) <= width
    cost = next(line for line in text.splitlines() if line.startswith("communication cost J"))
    assert all(cell.replace(",", "").isdigit() for cell in cost[22:].replace("…", " ").split())


@pytest.mark.parametrize("width", [80, 100])
def test_a_first_look_fits_and_names_sizes_with_units(width):
    mapping = place("node:2@10 package:2@3 core:4@1", np.random.default_rng(1).permutation(16))
    evaluation = evaluate(ring(16, 10**9), mapping)
    text = evaluation_table(evaluation, width, complete=False, unit="B")
    assert max(map(len, text.splitlines())) <= width
    row = next(line for line in text.splitlines() if line.startswith("volume between nodes"))
    assert row.split()[3:5] == [f"{evaluation.mapping.traffic.inter_node_volume // 10**9}", "GB"]
    assert f"{evaluation.mapping.comm_cost:,}" in text
    whole = evaluation_table(evaluation, width, unit="B")
    assert len(text.splitlines()) < len(whole.splitlines()) / 1.5
    assert "(ICV)" in whole
    assert "(ICV)" not in text


def test_without_baselines_there_is_one_column_of_numbers():
    text = shown(evaluate(ring(4, 5), place("core:4", [0, 1, 2, 3]), baselines=False))
    assert "in order" not in text
    assert "random" not in text


def test_summary_of_processes_tells_cost_gain_and_where_they_went():
    mapping = place("node:4@10 package:2@3 core:2@1", [0, 4, 1, 5], problem="processes")
    evaluation = evaluate(CommGraph.from_edges([0, 1], [2, 3], [500, 500]), mapping, random_seeds=0)
    assert summary(evaluation, mapping) == (
        "J 1,000 (bytes x distance), 66.7 % below in order; 2 tasks per node on 2 of 4, "
        "2 tasks per package on 2 of 8"
    )


@pytest.mark.parametrize("objective", [name for name in objectives if name != "comm_cost"])
def test_summary_tells_the_objective_before_and_after(objective):
    """A ring in an order that no torus likes: the value of the mapping, then in order and at random."""
    order = np.random.default_rng(0).permutation(16)
    ring = hb.CommGraph.from_edges(order, np.roll(order, 1), np.full(16, 7), n=16)
    mapping = hb.map_tasks(ring, hb.allocate("torus:4x4"), "fast", objective=objective)
    facts = hb.evaluate(ring, mapping, random_seeds=2)
    told = summary(facts, mapping)
    own, base = (getattr(one.links, objective) for one in (facts.mapping, facts.in_order))
    assert own < base
    percent = f"{100 - 100 * own / base:.1f} % below in order ({number(base)})"
    assert told.startswith(f"{objective.replace('_', ' ')} {number(own)}, {percent}, ")
    assert " random (" in told.partition("; J ")[0]


def test_summary_of_a_partition_tells_the_balance():
    mapping = place(
        "island:2@100 node:2@10 core:1@1", [0, 0, 1, 2, 3, 3, 3], problem="partition", balance="relaxed"
    )
    text = summary(evaluate(ring(7, 1), mapping), mapping)
    assert text.endswith("1 to 3 tasks per node; imbalance 71.4 % (bound relaxed)")
    assert re.search(r"\d % (below|above) random", text)


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


def test_a_text_for_people():
    graph = hb.read(SPEC)
    mapping = hb.Mapping(np.arange(4, dtype=np.int32), hb.allocate("node:2 gpu:2"))
    tensor, data = map(str, parallelism(graph, mapping))
    assert tensor.startswith("tensor parallelism: 1.02 kB per step, 100 % inside a node, 0 % on one rail")
    assert "100 % on one rail" in data


@pytest.mark.parametrize(
    ("part", "told"), [(0, "0 %"), (1, "< 0.1 %"), (1004, "25.1 %"), (3999, "> 99.9 %"), (4000, "100 %")]
)
def test_shares_that_are_not_whole_are_not_told_as_such(part, told):
    kind = KindOfTraffic("tensor", 4000, part, None, "NVLink domain")
    assert f", {told} inside an NVLink domain" in str(kind)


@pytest.mark.parametrize(("rails", "on_rail"), [(2, 3072), (1, None)])
def test_adapters_of_real_fabrics_are_rails(tmp_path, rails, on_rail):
    folder = two_level_fabric(rails=rails).write(tmp_path)
    where = hb.allocate(f"ib:{folder}:rails=gpu / gpu:2", hosts="nodes:0-1")
    for pe, expected in (([0, 1, 2, 3], on_rail), ([0, 1, 3, 2], 0 if on_rail else None)):
        mapping = hb.Mapping(np.array(pe, np.int32), where)
        tensor, data = parallelism(hb.read(SPEC), mapping)
        assert (tensor.inside, data.inside, data.on_rail) == (1024, 0, expected)


@pytest.mark.parametrize("order", ["tp-cp-ep-dp-pp", "dp-tp-cp-ep-pp", "pp-dp-cp-ep-tp"])
def test_groups_find_their_domain_and_their_rail(order):
    graph = hb.read(f"ml:tp=8,pp=4,dp=4,ep=4,order={order}")
    mapping = hb.map_tasks(graph, "rails:16x8", "fast")
    found = {each.kind: each for each in parallelism(graph, mapping)}
    assert found["tensor"].inside == found["tensor"].volume
    for kind in ("data", "pipeline", "expert"):
        assert found[kind].on_rail + found[kind].inside == found[kind].volume, kind
