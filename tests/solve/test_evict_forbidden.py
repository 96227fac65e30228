"""Moves of tasks off PEs that are forbidden to them: what moves where, and how much is looked at for it."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import hopbytes as hb
from hopbytes.errors import InfeasibleError
from hopbytes.kernels.linear_cost import LinearCost
from hopbytes.solve.feasible import evict_forbidden
from hopbytes.solve.problem import Constraints


def linear_cost_of(where, n, **constraints):
    return Constraints(**constraints).checked(n, where).linear_cost(n, where.k)


def one_each(where):
    return np.arange(where.k, dtype=np.int32), np.ones(where.k, np.int64)


def fixed_every_second(where, rng):
    places = rng.permutation(where.k).tolist()
    return {"fixed": {task: places[task] for task in range(0, where.k, 2)}}


def kept_off_half(where, rng):
    tasks = range(0, where.k, 2)
    return {"forbidden": [(task, pe) for task in tasks for pe in range(where.k // 2)]}


@pytest.mark.parametrize("constraints", [fixed_every_second, kept_off_half])
def test_the_work_grows_with_the_tasks_that_move_and_not_with_their_square(constraints, monkeypatch):
    """Looks at the PEs of a task: at most five for each task that moves, with 96 tasks as with 960."""
    looked = [0]
    allowed = LinearCost.allowed

    def counted(self, task, k):
        looked[0] += 1
        return allowed(self, task, k)

    monkeypatch.setattr(LinearCost, "allowed", counted)
    for nodes in (4, 40):
        where = hb.allocate(f"node:{nodes}@10 core:24@1")
        cost = linear_cost_of(where, where.k, **constraints(where, np.random.default_rng(1)))
        start, caps = one_each(where)
        looked[0] = 0
        found = evict_forbidden(where, start, None, caps, cost, exact=True)
        assert sorted(found.tolist()) == list(range(where.k))
        assert not len(cost.violated(found))
        assert looked[0] <= 5 * len(cost.violated(start))


@pytest.mark.parametrize("seed", range(60))
def test_a_mapping_is_found_if_and_only_if_there_is_a_matching(seed):
    rng = np.random.default_rng(seed)
    where = hb.allocate("node:3@10 core:4@1")
    barred = rng.random((12, 12)) < rng.choice([0.3, 0.6, 0.8])
    barred[np.arange(12), rng.integers(0, 12, 12)] = False
    cost = linear_cost_of(where, 12, forbidden=np.argwhere(barred))
    matched = maximum_bipartite_matching(csr_array((~barred).astype(np.int8)), perm_type="column")
    if int(matched.min()) < 0:
        with pytest.raises(InfeasibleError, match="allow more PEs"):
            evict_forbidden(where, *_arguments(where), cost, exact=True)
        return
    found = evict_forbidden(where, *_arguments(where), cost, exact=True)
    assert sorted(found.tolist()) == list(range(12))
    assert not barred[np.arange(12), found].any()


def _arguments(where):
    start, caps = one_each(where)
    return start, None, caps


def test_the_heaviest_task_chooses_first():
    """Both tasks must leave PE 0, and the PE next to it has room for either of them, but not for both."""
    where = hb.allocate("node:2@10 core:2@1")
    cost = linear_cost_of(where, 2, forbidden=[(0, 0), (1, 0)])
    start, loads = np.array([0, 0], np.int32), np.array([1, 5])
    found = evict_forbidden(where, start, loads, np.array([9, 5, 9, 9]), cost, exact=False)
    assert found.tolist() == [2, 1]


@pytest.mark.parametrize("spec", ["node:40@10 core:10@1", "torus:20x20@2 / core:1"])
def test_the_nearest_pe_with_room_is_taken_however_many_there_are(spec):
    """More PEs have room than 256, and the nearest of them has the highest number."""
    where = hb.allocate(spec)
    k, cost = where.k, linear_cost_of(where, 1, forbidden=[(0, where.k - 1)])
    distance = [where.distance.between(k - 1, pe) for pe in range(k - 1)]
    found = evict_forbidden(where, np.array([k - 1], np.int32), None, np.ones(k, np.int64), cost, exact=False)
    assert distance[found[0]] == min(distance)


def test_a_task_that_a_chain_has_moved_stays_where_it_is():
    where = hb.allocate("core:3")
    cost = linear_cost_of(where, 3, fixed={0: 1, 1: 2, 2: 0})
    start, caps = one_each(where)
    assert evict_forbidden(where, start, None, caps, cost, exact=True).tolist() == [1, 2, 0]


def test_many_fixed_tasks_take_no_longer_than_a_mapping_of_free_ones():
    """Half of 2,400 processes are fixed, and no search may begin: all of them are where they belong."""
    graph, where = hb.read("stencil:60x40"), hb.allocate("node:100@10 core:24@1")
    constraints = Constraints(**fixed_every_second(where, np.random.default_rng(1)))
    mapping = hb.map_tasks(graph, where, "fast", constraints=constraints, limits=hb.Limits(work=0))
    assert all(mapping.pe[task] == pe for task, pe in constraints.fixed.items())
