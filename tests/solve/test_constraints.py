"""Fixed and forbidden places, unequal PEs: kept whatever runs, refused when they cannot be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.graphs import grid
from helpers.strategies import graphs, machines
from hopbytes.errors import FormatError, InfeasibleError, ScaleError, UnsupportedError
from hopbytes.kernels.linear_cost import FORBIDDEN
from hopbytes.machines.distances import TableDistance
from hopbytes.machines.kinds.table import Table

PRESETS = ["fast", "eco", "strong"]


def as_table(where):
    return hb.Allocation.whole(Table(where.distance.matrix()))


TREE = hb.allocate("node:4@10 core:4@1")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("where", [TREE, as_table(TREE)], ids=["tree", "table"])
@pytest.mark.parametrize("width", [30, 4], ids=["partition", "processes"])
def test_fixed_and_forbidden_places_are_kept(preset, where, width):
    graph, rng = grid(width), np.random.default_rng(width)
    some = rng.choice(graph.n, graph.n // 4, replace=False)
    places = rng.permutation(16)[: len(some)] if width == 4 else rng.integers(0, 16, len(some))
    fixed = dict(zip(some.tolist(), places.tolist(), strict=True))
    others = np.setdiff1d(np.arange(graph.n), some)
    forbidden = [(int(task), pe) for task in others[:3] for pe in (0, 5)]
    mapping = hb.map_tasks(
        graph, where, preset, seed=1, constraints=hb.Constraints(fixed=fixed, forbidden=forbidden)
    )
    assert all(mapping.pe[task] == pe for task, pe in fixed.items())
    assert all(mapping.pe[task] != pe for task, pe in forbidden)
    counts = mapping.tasks_per_pe()
    assert counts.max() <= (1 if width == 4 else int(1.03 * 900 / 16))
    assert mapping.info["balance"] == "met"


def test_fixing_the_best_placement_changes_nothing_and_a_quarter_of_it_little():
    graph = grid(40)
    free = hb.map_tasks(graph, TREE, "eco")
    whole = hb.map_tasks(graph, TREE, "eco", constraints=hb.Constraints(fixed=free.pe))
    assert np.array_equal(whole.pe, free.pe)
    anchors = np.where(np.random.default_rng(0).random(graph.n) < 0.25, free.pe, -1)
    partly = hb.map_tasks(graph, TREE, "eco", constraints=hb.Constraints(fixed=anchors))
    assert np.all(partly.pe[anchors >= 0] == anchors[anchors >= 0])
    assert partly.info["comm_cost"] <= 1.05 * free.info["comm_cost"]


def test_a_pe_forbidden_to_all_is_left_out():
    graph = grid(20)
    mapping = hb.map_tasks(
        graph, TREE, constraints=hb.Constraints(forbidden=[(t, pe) for t in range(400) for pe in (3, 15)])
    )
    counts = mapping.tasks_per_pe()
    assert counts[3] == counts[15] == 0
    assert counts.max() <= int(1.03 * 400 / 14) + 1


def test_fewer_tasks_than_slots_use_the_slots_they_are_fixed_to():
    graph = grid(3, 2)
    mapping = hb.map_tasks(graph, TREE, constraints=hb.Constraints(fixed={0: 15, 1: 14, 2: 13, 3: 12}))
    assert mapping.pe[:4].tolist() == [15, 14, 13, 12]
    assert mapping.tasks_per_pe().max() == 1


def test_places_that_leave_no_matching_are_refused_with_those_that_compete():
    with pytest.raises(InfeasibleError, match=mentions("3", "0", "1", "2")):
        hb.map_tasks(
            grid(4), TREE,
            constraints=hb.Constraints(forbidden=[(t, pe) for t in range(3) for pe in range(2, 16)])
        )


def test_a_chain_of_tasks_gives_way():
    """Task t may use PEs t and t + 1 only, the last one only PE 0: all must shift by one."""
    k = 6
    where = hb.allocate(f"core:{k}")
    allowed = {t: {t, t + 1} for t in range(k - 1)} | {k - 1: {0}}
    forbidden = [(t, pe) for t in range(k) for pe in range(k) if pe not in allowed[t]]
    for name in ("identity", "random", "multisection"):
        mapping = hb.map_tasks(grid(k, 1), where, name, constraints=hb.Constraints(forbidden=forbidden))
        assert mapping.pe.tolist() == [1, 2, 3, 4, 5, 0]


@settings(max_examples=40)
@given(graphs(max_tasks=30), machines(max_cores=12), st.integers(0, 2**32 - 1), st.booleans())
def test_whatever_runs_keeps_places_or_says_why_not(graph, machine, seed, partition):
    rng = np.random.default_rng(seed)
    where = hb.Allocation.whole(machine)
    if graph.n > where.k:
        partition = True
    held = np.where(rng.random(graph.n) < 0.3, rng.integers(0, where.k, graph.n), -1)
    forbidden = [
        (t, pe) for t in range(graph.n) for pe in range(where.k) if rng.random() < 0.2 and held[t] != pe
    ]
    try:
        mapping = hb.map_tasks(
            graph, where, partition=partition, seed=seed,
            constraints=hb.Constraints(fixed=held, forbidden=forbidden)
        )
    except InfeasibleError:
        return
    assert np.all((held < 0) | (mapping.pe == held))
    assert not set(enumerate(mapping.pe.tolist())) & set(forbidden)


class TestAsymmetricTables:
    def test_prices_and_costs_add_up_in_the_same_units(self):
        rng = np.random.default_rng(3)
        for _ in range(5):
            table = rng.integers(1, 20, (6, 6))
            np.fill_diagonal(table, 0)
            where = hb.Allocation.whole(Table(table))
            assert isinstance(where.distance, TableDistance)
            ends, volumes = rng.integers(0, 6, (2, 15)), rng.integers(1, 9, 15)
            graph = hb.CommGraph.from_edges(
                np.concatenate(ends), np.concatenate(ends[::-1]), np.tile(volumes, 2), n=6
            )
            start = rng.permutation(6).astype(np.int32)
            exhaustive = best_by_enumeration(graph, table, start, 7)
            found = hb.map_tasks(
                graph, where, "strong", constraints=hb.Constraints(initial=start, migration_price=7)
            ).info
            assert found["comm_cost"] + found["migration_cost"] <= 1.05 * exhaustive


def best_by_enumeration(graph, table, start, price):
    from itertools import permutations

    rows = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    volumes = graph.volumes if graph.volumes is not None else np.ones(len(rows), np.int64)
    apart = rows != graph.targets
    return min(
        int((volumes * table[np.array(p)[rows], np.array(p)[graph.targets]])[apart].sum())
        + price * int(np.count_nonzero(np.array(p) != start))
        for p in permutations(range(graph.n))
    )


@pytest.mark.parametrize(
    ("said", "error", "what"),
    [
        ({"fixed": {9: 0}}, FormatError, "9 0..8"), ({"fixed": {-1: 0}}, FormatError, "-1 0..8"),
        ({"fixed": {0: 16}}, FormatError, "16 0 0..15"),
        ({"fixed": [0, 1]}, FormatError, "2 9"), ({"fixed": [-2] * 9}, FormatError, "-2 0..15"),
        ({"fixed": np.zeros(9)}, FormatError, "float64"), ({"fixed": []}, FormatError, "0 9"),
        ({"forbidden": [(0, 16)]}, FormatError, "16 0..15"),
        ({"forbidden": [(0, -1)]}, FormatError, "-1 0..15"),
        ({"initial": np.full(9, 16)}, FormatError, "16 0 0..15"), ({"forbidden": 3}, FormatError, "pairs"),
        ({"forbidden": [(0, 1, 2)]}, FormatError, "pairs"),
        ({"forbidden": [(0, 1)], "fixed": {0: 1}}, InfeasibleError, "0 1"),
        ({"forbidden": [(4, pe) for pe in range(16)]}, InfeasibleError, "forbidden to task 4"),
        ({"fixed": {0: 1, 1: 1}}, InfeasibleError, "1 2"),
        ({"initial": np.zeros(4, np.int32)}, FormatError, "4 9"),
        ({"migration_price": 5}, UnsupportedError, "needs an initial mapping"),
        ({"migration_price": -1, "initial": np.arange(9)}, UnsupportedError, ">= 0"),
        ({"migration_price": 1.5, "initial": np.arange(9)}, UnsupportedError, ">= 0"),
        ({"migration_price": 2**60, "initial": np.arange(9)}, ScaleError, "2^58"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(said, error, what):
    with pytest.raises(error, match=mentions(*what.split())) as caught:
        hb.map_tasks(grid(3), TREE, constraints=hb.Constraints(**said))
    assert "\n" not in str(caught.value)


def test_fixed_tasks_beyond_a_cap_are_refused():
    with pytest.raises(InfeasibleError, match=mentions("2", "80", "25")):
        hb.map_tasks(grid(20), TREE, constraints=hb.Constraints(fixed=dict.fromkeys(range(80), 2)))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_cost_of_every_place_is_that_of_the_definition(n, k, seed):
    """The price counts off the present PE; all PEs but that of a fixed task, and barred ones, are closed."""
    rng = np.random.default_rng(seed)
    fixed = rng.integers(-1, k, n) if rng.random() < 0.6 else np.full(n, -1)
    initial = rng.integers(0, k, n) if rng.random() < 0.6 else None
    barred = rng.random((n, k)) < rng.choice([0, 0.3])
    price = int(rng.integers(0, 9)) if initial is not None else 0
    expected = np.zeros((n, k), np.int64) if initial is None else price * (np.arange(k) != initial[:, None])
    expected[(fixed[:, None] >= 0) & (np.arange(k) != fixed[:, None])] = FORBIDDEN
    expected[barred] = FORBIDDEN
    said = hb.Constraints(
        fixed=fixed if np.any(fixed >= 0) or rng.random() < 0.5 else None, initial=initial,
        forbidden=np.argwhere(barred) if barred.any() else None, migration_price=price,
    ).checked(n, hb.allocate(f"core:{k}"))
    assert said.usable(n, k).tolist() == np.flatnonzero(~barred.all(axis=0)).tolist()
    if (expected >= FORBIDDEN).all(axis=1).any():
        with pytest.raises(InfeasibleError):
            said.linear_cost(n, k)
        return
    found = said.linear_cost(n, k)
    for pe in range(k) if found is not None else ():
        assert found.at(np.full(n, pe, np.int32)).tolist() == expected[:, pe].tolist()
    assert found is not None or not expected.any()


def test_the_sum_of_prices_may_be_as_large_as_its_limit():
    start = np.arange(8)
    assert hb.Constraints(initial=start, migration_price=2**55).checked(8, TREE).price == 2**55
    with pytest.raises(ScaleError, match="by 2 or more"):
        hb.Constraints(initial=start, migration_price=2**55 + 1).checked(8, TREE)


def test_constraints_say_what_they_hold():
    assert hb.Constraints(fixed={1: 4}).checked(3, TREE)
    assert not hb.Constraints().checked(3, TREE)


def test_fixed_corners_pull_their_surroundings():
    """One corner task on each node: the nodes' regions grow around them, so little is lost."""
    graph, width = grid(32), 32
    corners = {0: 12, width - 1: 8, width * (width - 1): 4, width * width - 1: 0}
    free = hb.map_tasks(graph, TREE, "eco").info["comm_cost"]
    held = hb.map_tasks(graph, TREE, "eco", constraints=hb.Constraints(fixed=corners))
    assert held.info["comm_cost"] <= 1.06 * free
    assert [held.pe[task] for task in corners] == list(corners.values())
