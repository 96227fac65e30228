"""TreeMatch as a mapper: the paper's example, hidden hierarchies, which slots, uneven trees."""

import math
from itertools import product

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.graphs import TREEMATCH_FIGURE_1
from hopbytes.algorithms.mappers.treematch import in_whole_tree, shapes
from hopbytes.errors import InfeasibleError
from hopbytes.kernels import group_objects

TREE = "socket:2@3 cache:3@2 core:2@1"


def uneven(mapping):
    return "uneven_tree" in mapping.info["work"]


def test_example_of_the_paper():
    """8 tasks on 12 leaves: two virtual objects keep a third of each half free. J = 18568."""
    mapping = hb.map_tasks(hb.CommGraph.from_dense(TREEMATCH_FIGURE_1), hb.allocate(TREE), "treematch")
    assert mapping.pe.tolist() == [0, 1, 2, 3, 6, 7, 8, 9]
    assert mapping.info["comm_cost"] == 18568
    assert mapping.info["refine"] == []
    assert mapping.info["preset"] is None
    assert not uneven(mapping)


def test_slots_are_those_asked_for():
    graph, where = hb.CommGraph.from_dense(TREEMATCH_FIGURE_1), hb.allocate(TREE)
    packed = hb.map_tasks(graph, hb.allocate(where, pack=True), "treematch")
    assert sorted(packed.pe.tolist()) == list(range(8))
    spread = hb.map_tasks(graph, hb.allocate(where, tasks_per="socket=4"), "treematch")
    assert (np.bincount(spread.pe // 6) == 4).all()
    refined = hb.map_tasks(graph, where, ["treematch", "vcycle", "swap"])
    assert refined.info["comm_cost"] <= 18568
    assert len(set(refined.pe.tolist())) == 8


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dims", ["2x2x4", "4x3x2", "3x2x2x2"])
def test_hidden_hierarchies_are_found(dims, seed):
    """Volumes fall 100 fold per level, so the least J is that of the tree they were made from."""
    spec = f"hierarchical:{dims}:factor=100:spread=50:seed={seed}:bytes=100000000"
    counts = dims.split("x")
    where = hb.allocate(" ".join(f"l{i}:{c}@{10 ** (len(counts) - i)}" for i, c in enumerate(counts)))
    found = hb.map_tasks(hb.read(spec), where, "treematch:credit=0")
    plain = hb.read(spec + ":shuffle=no")
    in_order = hb.evaluate(plain, hb.map_tasks(plain, where, "identity"), baselines=False)
    assert found.info["comm_cost"] == in_order.mapping.comm_cost
    assert not uneven(found)


def test_smaller_trees_are_those_that_can_lose_nothing():
    """Against the definition: trees inside 4 x 3 x 5 with room for 13, no count one too large."""
    sizes = [4, 3, 5]
    fitting = {shape for shape in product(*(range(1, size + 1) for size in sizes)) if math.prod(shape) >= 13}
    least = [
        shape for shape in fitting
        if not any((*shape[:i], shape[i] - 1, *shape[i + 1:]) in fitting for i in range(3))
    ]  # fmt: skip
    first, *rest = shapes(sizes, 13, 1000)
    assert first == sizes
    assert sorted(map(tuple, rest)) == sorted(least)
    assert [math.prod(shape) for shape in rest] == sorted(map(math.prod, least))
    assert shapes(sizes, 13, 3) == [first, *rest[:2]]
    assert shapes(sizes, 60, 9) == [sizes]


@pytest.mark.parametrize("shape", [[4, 3, 5], [2, 3, 4], [1, 1, 5], [4, 1, 1]])
def test_leaves_of_a_smaller_tree_part_where_they_do_in_the_whole_one(shape):
    leaf = np.arange(math.prod(shape))
    whole = np.unravel_index(in_whole_tree(leaf, shape, [4, 3, 5]), (4, 3, 5))
    assert np.array_equal(whole, np.unravel_index(leaf, shape))


def test_more_subtrees_where_groups_do_not_fill_the_large_ones():
    """Four groups of six on packages of ten: the whole tree fills packages, six cores of each are best."""
    where = hb.allocate("node:2@100 package:2@10 core:10@1")
    graph = hb.read("hierarchical:4x6:seed=3:factor=100")
    filled = hb.map_tasks(graph, where, "treematch")
    chosen = hb.map_tasks(graph, where, "treematch:shapes=16")
    assert np.bincount(filled.pe // 10, minlength=4).max() == 10
    assert np.bincount(chosen.pe // 10, minlength=4).tolist() == [6, 6, 6, 6]
    assert chosen.info["comm_cost"] < filled.info["comm_cost"]


def test_several_tasks_per_pe_are_one_more_level():
    graph = hb.read("hierarchical:2x2x4:seed=1")
    where = hb.allocate("node:2@10 core:2@1")
    mapping = hb.map_tasks(graph, hb.allocate(where, oversubscribe=True), "treematch")
    assert np.bincount(mapping.pe).tolist() == [4, 4, 4, 4]
    assert not uneven(mapping)
    best = hb.map_tasks(graph, hb.allocate(where, oversubscribe=True), "strong")
    assert mapping.info["comm_cost"] == best.info["comm_cost"]
    with pytest.raises(InfeasibleError, match=mentions("16", "4")):
        hb.map_tasks(graph, where, "treematch", partition=False)


def test_groups_too_many_to_list_may_be_a_partition():
    """C(64, 16) cannot be listed; a grid of 8 x 8 falls into four of 4 x 4, 16 edges apart."""
    graph = hb.read("stencil:8x8:bytes=1")
    mapping = hb.map_tasks(graph, hb.allocate("node:4@10 core:16@1"), "treematch")
    assert mapping.info["work"]["grouping_partition"] == 1
    grown, _ = group_objects(graph.symmetric_positive(), 16)
    sources = graph.sources()
    apart = [int((each[sources] != each[graph.targets]).sum()) for each in (mapping.pe // 16, grown)]
    assert apart[0] == 32 < apart[1]


@pytest.mark.parametrize(
    ("spec", "n", "fixed", "fell_back"),
    [
        ("node:2@10 core:[3,4]@1", 7, None, True), ("node:6@10 core:4@1", 30, None, True),
        ("node:6@10 core:4@1", 48, None, False), ("node:6@10 core:4@1", 20, None, False),
        ("node:6@10 core:4@1", 24, {0: 3}, True),
    ],
)
def test_a_notice_says_where_the_tasks_are_not_grouped(spec, n, fixed, fell_back):
    where = hb.allocate(spec, oversubscribe=n > 24)
    mapping = hb.map_tasks(
        f"stencil:{n}x1", where, "treematch", constraints=hb.Constraints(fixed=fixed)
    )
    assert any("`top_down` ran instead" in notice for notice in mapping.info["notices"]) == fell_back
    assert uneven(mapping) == fell_back


@pytest.mark.parametrize("n", [9, 13, 19])
def test_virtual_tasks_fill_pes_with_different_numbers_of_tasks(n):
    where = hb.allocate("node:2@10 core:4@1", oversubscribe=True)
    graph = hb.read(f"stencil:{n}:bytes=10")
    with pytest.warns(hb.HopbytesWarning, match=mentions("treematch", "top_down")):
        plain = hb.map_tasks(graph, where, "treematch")
    grouped = hb.map_tasks(graph, where, "treematch:virtual=true")
    assert uneven(plain)
    assert not uneven(grouped)
    assert np.array_equal(np.bincount(grouped.pe, minlength=8), np.bincount(plain.pe, minlength=8))
    # The definition: tasks and virtual ones on a tree that has one more level, for the tasks of a PE.
    most = -(-n // 8)
    padded = hb.CommGraph.from_edges(graph.sources(), graph.targets, graph.arc_volumes(), n=8 * most)
    tree = hb.allocate(f"node:2@10 core:4@1 slot:{most}@1")
    expected = hb.map_tasks(padded, tree, "treematch").pe[:n] // most
    moved = int((expected != grouped.pe).sum())
    assert moved <= grouped.info["work"]["filled_up"]
    assert moved >= (np.bincount(expected, minlength=8) - np.bincount(plain.pe, minlength=8)).clip(0).sum()


@pytest.mark.parametrize("seed", range(6))
def test_loads_are_respected_and_groups_of_pes_are_the_definition(seed):
    """Every PE holds its bound; the PEs are arranged as treematch arranges tasks that are their groups."""
    rng = np.random.default_rng(seed)
    base = hb.read("stencil:12x10:bytes=4")
    graph = hb.CommGraph(
        base.indptr, base.targets, base.volumes, loads=rng.integers(1, 6, base.n), undirected=True
    )
    where = hb.allocate("node:2@10 package:2@4 core:2@1")
    mapping = hb.map_tasks(graph, where, "treematch", partition=True, imbalance=0.1, seed=seed)
    assert not uneven(mapping)
    assert mapping.info["work"]["grouping_loads"] == 1
    loads = np.bincount(mapping.pe, weights=graph.loads, minlength=8)
    assert loads.max() <= mapping.info["bound_asked"]
    dense = np.zeros((8, 8), np.int64)
    np.add.at(dense, (mapping.pe[graph.sources()], mapping.pe[graph.targets]), graph.volumes)
    np.fill_diagonal(dense, 0)
    tails, heads = np.nonzero(dense)
    groups = hb.CommGraph.from_edges(tails, heads, dense[tails, heads], n=8)
    again = hb.map_tasks(groups, where, "treematch:credit=0")
    assert mapping.info["comm_cost"] <= again.info["comm_cost"] * 1.001
    same = hb.map_tasks(graph, where, "treematch", partition=True, imbalance=0.1, seed=seed, threads=3)
    assert same.pe.tolist() == mapping.pe.tolist()


def test_example_of_the_paper_for_other_numbers_of_tasks():
    order = np.random.default_rng(0).permutation(8)
    graph = hb.CommGraph.from_dense(np.array(TREEMATCH_FIGURE_1)[np.ix_(order, order)])
    assert hb.map_tasks(graph, hb.allocate(TREE), "treematch").info["comm_cost"] == 18568
