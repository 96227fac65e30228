"""Constructions for one task per slot, and the two-phase pipeline of paper 000."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes._util.options import build
from hopbytes.algorithms.base import Bounds, Effort, mappers
from hopbytes.algorithms.mappers.two_phase import TwoPhase
from hopbytes.algorithms.shared.bisection_tree import halved
from hopbytes.algorithms.shared.quotient_graph import quotient_graph
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import Level
from hopbytes.machines.common.table import Table
from hopbytes.machines.common.tree import Tree
from hopbytes.solve.map_tasks import map_tasks


def cube(side):
    """Grid of side^3 tasks, every edge in both directions."""
    number = np.arange(side**3).reshape(side, side, side)
    near, far = [], []
    for axis in range(3):
        low = np.take(number, range(side - 1), axis).ravel()
        high = np.take(number, range(1, side), axis).ravel()
        near += [low, high]
        far += [high, low]
    return hb.CommGraph.from_edges(np.concatenate(near), np.concatenate(far), n=side**3)


def nodes(count, cores):
    return hb.Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (count, cores)))


def cliques(count, size, rng):
    """Groups of tasks that all talk to each other, numbered at random; and the group of each task."""
    number = rng.permutation(count * size)
    group = np.empty(count * size, int)
    pairs = []
    for first in range(0, count * size, size):
        members = number[first : first + size]
        group[members] = first // size
        pairs += [(a, b) for a in members for b in members if a != b]
    near, far = np.array(pairs).T
    return hb.CommGraph.from_edges(near, far, n=count * size), group


def test_mueller_merbach_by_hand():
    # Volumes: task 2 talks most (9 + 5), then task 0 (9 with task 2), then 1 and 3 (5 with 2; 1 with 0).
    graph = hb.CommGraph.from_edges([2, 2, 0], [0, 1, 3], [9, 5, 1], n=4)
    where = nodes(2, 2)
    for name in ("mueller_merbach", "greedy_all_c"):
        mapping = map_tasks(graph, where, mapper=name)
        assert mapping.pe.tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("seed", range(6))
def test_mueller_merbach_is_what_the_definition_gives(seed):
    """Dense matrices, every sum anew: distances and volumes so diverse that no choice is a tie."""
    rng = np.random.default_rng(seed)
    n = 18
    distance = np.triu(rng.choice(10**6, (n, n), replace=False) + 1, 1)
    distance += distance.T
    volume = np.triu((rng.choice(10**6, (n, n), replace=False) + 1) * rng.integers(0, 2, (n, n)), 1)
    volume += volume.T
    pe = {int(volume.sum(0).argmax()): int(distance.sum(0).argmin())}
    while len(pe) < n:
        talk = {task: sum(volume[task, done] for done in pe) for task in range(n) if task not in pe}
        task = max(talk, key=lambda each: talk[each])
        far = {p: sum(distance[p, q] for q in pe.values()) for p in range(n) if p not in pe.values()}
        pe[task] = min(far, key=lambda each: far[each])
    near, beyond = np.nonzero(volume)
    graph = hb.CommGraph.from_edges(near, beyond, volume[near, beyond], n=n)
    where = hb.Allocation.whole(Table(distance))
    assert map_tasks(graph, where, mapper="mueller_merbach").pe.tolist() == [pe[task] for task in range(n)]


def test_greedy_all_c_joins_what_mueller_merbach_tears_apart():
    """Two pairs and a task between: only the linked choice looks whom the next task talks to."""
    # Task 0 with 1 (9); 0 with 2 (8) and 2 with 3 (7): the node of 0 and 1 is full when 2 comes, which
    # opens the second node; 4 talks to 5 (1) and nobody else. Three nodes of two.
    graph = hb.CommGraph.from_edges([0, 0, 2, 4], [1, 2, 3, 5], [9, 8, 7, 1], n=6)
    linked = map_tasks(graph, nodes(3, 2), mapper="greedy_all_c")
    assert linked.info["comm_cost"] == 9 * 1 + 8 * 10 + 7 * 1 + 1 * 1


@pytest.mark.parametrize(
    "name", ["top_down", "bottom_up", "dual_recursive_bipartitioning", "two_phase", "multisection"]
)
@pytest.mark.parametrize(("count", "size"), [(4, 4), (6, 5), (3, 8)])
def test_partitioning_constructions_find_cliques_that_fill_nodes(name, count, size):
    for seed in range(3):
        graph, group = cliques(count, size, np.random.default_rng(seed))
        mapping = map_tasks(graph, nodes(count, size), mapper=name, seed=seed)
        assert all(len(set(mapping.pe[group == each] // size)) == 1 for each in range(count))


def test_bottom_up_fills_units_exactly_on_three_levels():
    where = hb.Allocation.whole(
        Tree((Level("rack", 100), Level("node", 10), Level("core", 1)), (3, 4, 5))
    )
    rng = np.random.default_rng(1)
    small = hb.CommGraph.from_edges(rng.integers(0, 60, 200), rng.integers(0, 60, 200), n=60)
    one_each = np.ones(60, np.int64)
    pe = build(mappers, "bottom_up").map(small, where, Bounds(one_each, one_each, exact=True), Effort(seed=3))
    assert sorted(pe.tolist()) == list(range(60))


def test_halves_follow_the_machine_before_they_follow_numbers():
    # Three nodes of 2, 4 and 1 cores: first 1 node against 2, then node against node, then cores.
    where = hb.Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (3, (2, 4, 1))))
    tree = halved(where.groups())
    cuts = [group.tolist() for group in tree.groups()]
    assert cuts == [
        [0, 0, 1, 1, 1, 1, 1],
        [0, 1, 2, 2, 2, 2, 3],
        [0, 1, 2, 2, 3, 3, 4],
        [0, 1, 2, 3, 4, 5, 6],
    ]


@pytest.mark.parametrize("k", [1, 2, 3, 7, 64, 100])
def test_plain_halves_are_floor_and_ceil(k):
    tree = halved([np.arange(k, dtype=np.int32)])
    assert tree.k == k
    first = tree.groups()[0]
    if k > 1:
        assert np.bincount(first).tolist() == [k // 2, -(-k // 2)]


def test_rcm_brings_neighbours_of_a_shuffled_chain_together():
    rng = np.random.default_rng(5)
    number = rng.permutation(64)
    chain = hb.CommGraph.from_edges(number[:-1], number[1:], n=64)
    mapping = map_tasks(chain, nodes(8, 8), mapper="rcm")
    assert mapping.info["comm_cost"] == 56 * 1 + 7 * 10  # the seven seams are all that crosses nodes


def test_quotient_keeps_what_crosses_blocks():
    graph = hb.CommGraph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], [5, 7, 11, 13], n=4)
    model = quotient_graph(graph, np.array([0, 0, 1, 1], np.int32), 2)
    assert (model.indptr.tolist(), model.targets.tolist()) == ([0, 1, 2], [1, 0])
    assert model.volumes.tolist() == [7, 11]


def test_identity_on_multisection_model_is_multisection():
    graph, where = cube(8), nodes(4, 4)
    plain = map_tasks(graph, where, mapper="multisection", seed=3, partition=True)
    model = map_tasks(
        graph, where, mapper="two_phase:model=rms,mapping=identity,refine=none", seed=3, partition=True
    )
    assert model.pe.tolist() == plain.pe.tolist()


def test_bisection_model_does_not_know_the_machine_but_mapping_and_search_do():
    graph = cube(8)
    rows = [
        "two_phase:model=rb,mapping=random,refine=none",
        "two_phase:model=rb,mapping=random,refine=n_cd:d=2",
        "two_phase:model=rb,mapping=top_down,refine=none",
    ]
    runs = [map_tasks(graph, nodes(8, 4), mapper=row, seed=2, partition=True) for row in rows]
    cost = [run.info["comm_cost"] for run in runs]
    assert cost[0] > cost[1]
    assert cost[0] > cost[2]
    other = map_tasks(graph, nodes(2, 16), mapper=rows[0], seed=2, partition=True)
    assert other.pe.tolist() == runs[0].pe.tolist()


@pytest.mark.parametrize(
    "options",
    [{"model": "kway"}, {"mapping": "no_such"}, {"mapping": "two_phase"}, {"refine": "no_such"}],
)
def test_two_phase_refuses_what_it_cannot_do(options):
    with pytest.raises(UnsupportedError):
        TwoPhase(**options)


@pytest.mark.parametrize("choice", ["n_p:block=1", "n_cd:d=0"])
def test_neighbourhoods_without_pairs_are_refused(choice):
    with pytest.raises(UnsupportedError):
        map_tasks(cube(2), nodes(2, 4), mapper="identity", refine=choice)


def test_neighbourhoods_count_their_work_and_larger_ones_end_lower_on_average():
    graph, where = cube(4), nodes(8, 8)
    ends = {}
    for name in ("n_cd:d=1", "n_cd:d=2", "n_cd:d=10", "n_square", "n_p"):
        runs = [map_tasks(graph, where, mapper="random", refine=name, seed=seed) for seed in range(5)]
        ends[name] = np.mean([run.info["comm_cost"] for run in runs])
        assert all(0 < run.info["work"]["swaps"] < run.info["work"]["swaps_evaluated"] for run in runs)
    assert ends["n_cd:d=1"] > ends["n_cd:d=2"] > min(ends["n_cd:d=10"], ends["n_square"])
