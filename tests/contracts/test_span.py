"""Work and span of searches: what has to be done in turn even with any number of threads."""

import numpy as np
import pytest

import hopbytes as hb

TREE = "island:3@100 node:4@10 core:4@1"


def grid(side):
    number = np.arange(side * side).reshape(side, side)
    first = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    second = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    return hb.CommGraph.from_edges(first, second)


def mapped(graph, where, mapper, refine=(), **options):
    return hb.map_tasks(graph, where, [mapper, *refine], partition=True, **options)


def test_one_small_search_is_done_in_turn():
    work = mapped(grid(20), "core:2", "multisection:initial_partitions=1,flow_rounds=1").info["work"]
    assert 0 < work["span"] == work["arcs"]


def test_repetitions_and_groups_are_side_by_side():
    """Of four repetitions without a recombination, and of 16 groups, the longest counts."""
    several = "multisection:repetitions=4,recombinations=0,relaxation_rounds=0,initial_partitions=1"
    work = mapped(grid(40), "core:2", several).info["work"]
    assert work["arcs"] / 4 <= work["span"] < work["arcs"] / 2
    nested = mapped(grid(60), "node:16@10 core:2@1", "multisection:initial_partitions=1").info["work"]
    alone = mapped(grid(60), "node:16@10", "multisection:initial_partitions=1").info["work"]
    groups = nested["arcs"] - alone["arcs"], nested["span"] - alone["span"]
    assert groups[0] / 16 <= groups[1] < groups[0] / 2


def test_initial_partitions_are_side_by_side():
    few, many = (
        mapped(grid(30), "core:2", f"multisection:initial_partitions={count}", imbalance=0.3).info["work"]
        for count in (1, 12)
    )
    assert many["arcs"] > 6 * few["arcs"]
    assert many["span"] < 3 * few["span"]


@pytest.mark.parametrize("where", [TREE, "torus:4x3 / core:4", "core:48"])
def test_mapping_work_and_span_are_the_same_for_any_number_of_threads(where):
    """From 2^13 vertices on, minimum cuts of all pairs of blocks are computed at the same time."""
    graph = grid(190)
    chain = "vcycle:cycles=0,flow_rounds=2"
    one, *others = (
        mapped(graph, where, "multisection", [chain], threads=threads, seed=4) for threads in (1, 2, 3, 5)
    )
    assert one.info["work"]["span"] < one.info["work"]["arcs"] / 2
    for other in others:
        assert np.array_equal(other.pe, one.pe)
        assert other.info["work"] == one.info["work"]
