"""Remapper: after every batch all is as if computed from scratch; bounds of loads and moves; bad batches."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.graphs import grid
from helpers.paths import ROOT
from helpers.thorough import most
from hopbytes.algorithms.base import Bounds
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.model.capacities import load_bound
from hopbytes.solve.remapper import HIGHER, RepairProblem, Savings, by_v_cycles, repaired, savings_at_first

MACHINES = ("node:2@10 core:3@1", "torus:3x2", "island:2@100 node:2@10 core:2@1", "torus:2x2 / core:2@1")


class Model:
    """The pattern that a sequence of batches makes, kept in dictionaries."""

    def __init__(self, graph, seed):
        self.rng = np.random.default_rng(seed)
        self.loads = dict(enumerate(graph.task_loads().tolist()))
        source = graph.sources()
        self.weights = {}
        arcs = (source.tolist(), graph.targets.tolist(), graph.arc_volumes().tolist())
        for u, v, w in zip(*arcs, strict=True):
            if u != v and w:
                key = (min(u, v), max(u, v))
                self.weights[key] = w if graph.undirected else self.weights.get(key, 0) + w
        self.numbers, self.free, self.lost = graph.n, [], []

    def batch(self, k, *, pes):
        """Return arguments of apply(), and follow them."""
        rng, changes = self.rng, {}
        leaving = [task for task in self.loads if rng.random() < 0.1]
        for task in leaving:
            del self.loads[task]
            self.weights = {pair: w for pair, w in self.weights.items() if task not in pair}
        came = [self.free.pop() for _ in range(min(len(self.free), int(rng.integers(3))))]
        came += range(self.numbers, self.numbers + int(rng.integers(3)))
        self.free += leaving
        self.numbers = max([self.numbers, *(task + 1 for task in came)])
        loads = {task: int(rng.integers(0, 4)) for task in self.loads if rng.random() < 0.1}
        arrived = {task: int(rng.integers(1, 4)) for task in came}
        self.loads |= loads | arrived
        present = sorted(self.loads)
        edges = []
        for _ in range(int(rng.integers(12))):
            u, v, w = (int(each) for each in (*rng.choice(present, 2), rng.integers(0, 9)))
            if u != v:
                edges.append((u, v, w))
                self.weights[min(u, v), max(u, v)] = w
        self.weights = {pair: w for pair, w in self.weights.items() if w}
        if pes and rng.random() < 0.3:
            if self.lost and rng.random() < 0.5:
                changes["restored"] = [self.lost.pop()]
            elif len(self.lost) < k - 2:
                changes["lost"] = [int(rng.choice([pe for pe in range(k) if pe not in self.lost]))]
                self.lost += changes["lost"]
        return changes | {"vanished": leaving, "arrived": arrived, "loads": loads, "edges": edges}

    def check(self, remapper, where, *, undirected):
        """Compare with what this model says, computed from scratch."""
        graph, mapping, tasks = remapper.snapshot()
        assert tasks.tolist() == sorted(self.loads)
        number = {task: place for place, task in enumerate(tasks.tolist())}
        assert graph.task_loads().tolist() == [self.loads[task] for task in tasks.tolist()]
        pairs = {(number[u], number[v]): w for (u, v), w in self.weights.items()}
        source = graph.sources()
        arcs = zip(source.tolist(), graph.targets.tolist(), strict=True)
        found = dict(zip(arcs, graph.arc_volumes().tolist(), strict=True))
        both = pairs | {(v, u): w for (u, v), w in pairs.items()} if undirected else pairs
        assert found == both
        assert CommCost().value(graph, where, mapping.pe) == remapper.comm_cost
        loads = np.bincount(mapping.pe, weights=graph.task_loads(), minlength=where.k).astype(np.int64)
        assert np.array_equal(loads, remapper.pe_loads)
        assert not set(self.lost) & set(mapping.pe.tolist())
        absent = [task for task in range(len(remapper.pe)) if task not in self.loads]
        assert np.all(remapper.pe[absent] == -1)


def start(draw, machine, *, undirected=True):
    n = draw(st.integers(6, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    u, v = rng.integers(0, n, (2, 3 * n))
    graph = hb.CommGraph.from_edges(u, v, rng.integers(0, 9, 3 * n), n=n, loads=rng.integers(1, 4, n))
    if undirected:
        csr = graph.symmetric()
        graph = hb.CommGraph(csr.indptr, csr.targets, csr.weights, loads=graph.loads, undirected=True)
    where = hb.allocate(machine)
    return graph, where, hb.Mapping(rng.integers(0, where.k, n), where), rng


@settings(max_examples=most(40, 15), deadline=None)
@given(st.data())
def test_random_batches_against_a_rebuild_from_scratch(data):
    undirected = data.draw(st.booleans())
    graph, where, mapping, rng = start(data.draw, data.draw(st.sampled_from(MACHINES)), undirected=undirected)
    options = {
        "migration_price": int(rng.integers(0, 30)), "imbalance": "20%",
        "saved_per_change": int(rng.choice([0, 50_000])), "seed": 3, "one_per_pe": False,
    }
    remapper, model = hb.Remapper(graph, where, mapping, **options), Model(graph, int(rng.integers(99)))
    for _ in range(6):
        before = dict(enumerate(remapper.pe.tolist()))
        changes = model.batch(where.k, pes=True)
        done = remapper.apply(**changes)
        remapper.verify()
        model.check(remapper, where, undirected=undirected)
        moved = zip(done.tasks.tolist(), done.sources.tolist(), done.targets.tolist(), strict=True)
        came = set(changes["arrived"])
        differing = {
            task: pe for task, pe in enumerate(remapper.pe.tolist())
            if pe >= 0 and (task in came or before.get(task, -1) != pe)
        }
        assert {task: target for task, _, target in moved} == differing
        for task, source in zip(done.tasks.tolist(), done.sources.tolist(), strict=True):
            assert source == (-1 if task in came else before[task])
        assert done.migrations == len(differing) - len(came)
        assert done.migration_cost == done.migrations * options["migration_price"]
        over = np.flatnonzero(remapper.pe_loads > remapper.bounds)
        if done.balance == "met":
            held = np.bincount(remapper.pe[remapper.pe >= 0], minlength=where.k)
            assert np.all(held[over] <= 1)  # a task that is too heavy has a PE of its own
        else:
            assert len(over)


@pytest.fixture
def placed():
    csr = grid(24).symmetric()
    graph = hb.CommGraph(csr.indptr, csr.targets, np.full(len(csr.targets), 3), undirected=True)
    where = hb.allocate("node:4@10 core:4@1")
    return graph, where, hb.map_tasks(graph, where, "fast", partition=True)


def random_batches(graph, count, seed=5):
    """Batches that change the volumes around random tasks."""
    rng = np.random.default_rng(seed)
    source = graph.sources()
    for _ in range(count):
        centre = int(rng.integers(graph.n))
        near = np.flatnonzero(np.abs(source - centre) < 30)
        yield {"edges": (source[near], graph.targets[near], rng.integers(0, 30, len(near)))}


def test_unit_loads_keep_the_bound_of_map_tasks(placed):
    graph, where, mapping = placed
    remapper = hb.Remapper(graph, where, mapping, migration_price=5)
    for changes in random_batches(graph, 10):
        assert remapper.apply(**changes).balance == "met"
        caps = load_bound(None, graph.n, np.ones(where.k, np.int64), remapper._imbalance).caps
        assert np.array_equal(remapper.bounds, caps)
        assert np.all(remapper.pe_loads <= caps)


@pytest.mark.parametrize("times", [7, 2**40])
def test_equal_loads_have_the_bounds_and_answers_of_loads_of_one(times):
    ring = np.arange(25)
    changes = {"edges": [(0, 12, 50), (3, 20, 60), (9, 2, 70)], "vanished": [5]}
    found = []
    for load in (1, times):
        graph = hb.CommGraph.from_edges(ring, (ring + 1) % 25, n=25, loads=np.full(25, load))
        remapper = hb.Remapper(graph, "node:2@10 core:4@1", np.minimum(ring // 4, 5), seed=3)
        balance = remapper.apply(**changes).balance
        arrived = remapper.apply(arrived={5: load}).balance
        found.append(((remapper.bounds // load).tolist(), remapper.pe.tolist(), balance, arrived))
    assert found[0] == found[1]
    remapper.apply(loads={3: 1})
    total = 24 * times + 1
    assert remapper.bounds[0] == max(103 * total // 800, -(-total // 8))


@pytest.mark.parametrize("most", [0, 3])
def test_no_more_moves_than_allowed(placed, most):
    graph, where, mapping = placed
    free = hb.Remapper(graph, where, mapping)
    bound = hb.Remapper(graph, where, mapping, most_moves=most)
    more = 0
    for changes in random_batches(graph, 12):
        done = bound.apply(**changes)
        assert done.forced == 0
        assert done.migrations <= most
        more += free.apply(**changes).migrations > most
    assert more > 0


def test_only_forced_moves_exceed_the_bound(placed):
    graph, where, mapping = placed
    remapper = hb.Remapper(graph, where, mapping, most_moves=2)
    held = np.flatnonzero(mapping.pe == 5)
    done = remapper.apply(lost=[5])
    assert set(held.tolist()) <= set(done.tasks.tolist())
    assert done.forced >= len(held) > 2
    assert done.migrations <= done.forced
    assert done.balance == "met"
    assert 5 not in remapper.in_use
    assert remapper.bounds[5] == remapper.pe_loads[5] == 0
    remapper.verify()


def test_every_answer_is_the_same_again_for_any_threads(placed):
    graph, where, mapping = placed
    answers = []
    for threads in (1, 1, 2):
        remapper = hb.Remapper(graph, where, mapping, saved_per_change=10**5, threads=threads, seed=4)
        reports = [remapper.apply(**changes) for changes in random_batches(graph, 6)]
        assert sum(each.repair_work > 0 for each in reports) > 0
        answers.append((remapper.pe.tolist(), [each.work for each in reports]))
    assert answers[0] == answers[1] == answers[2]


def test_work_of_a_batch_does_not_grow_with_the_graph():
    work = []
    for side in (40, 160):
        graph, number = grid(side), np.arange(side * side)
        where = hb.allocate("node:2@10 core:2@1")
        pe = (2 * (number // side >= side // 2) + (number % side >= side // 2)).ravel()
        remapper = hb.Remapper(graph, where, pe, saved_per_change=0)
        middle = side // 2 * side + side // 2
        near = [(middle + step, middle + step + 1, 9) for step in range(-10, 10)]
        work.append(remapper.apply(edges=near).work)
    assert max(work) < 1.5 * min(work)


def test_one_task_per_pe_stays_so():
    where = hb.allocate("node:4@10 core:4@1")
    graph = hb.CommGraph.from_edges(range(14), [*range(1, 14), 0], [5] * 14)
    remapper = hb.Remapper(graph, where, np.arange(14))
    assert remapper.one_per_pe
    rng = np.random.default_rng(2)
    before, scratch = remapper.comm_cost, []
    for step in range(8):
        u, v = rng.choice(14, 2, replace=False)
        remapper.apply(edges=[(u, v, 40)], lost=[3] if step == 3 else [])
        remapper.verify()
        assert np.bincount(remapper.pe, minlength=16).max() == 1
        current, _, _ = remapper.snapshot()
        usable = where.select(remapper.in_use)
        scratch.append(hb.map_tasks(current, usable, "fast", partition=False).comm_cost)
    assert 3 not in remapper.pe
    assert remapper.comm_cost <= 1.3 * scratch[-1]
    assert before > 0
    with pytest.raises(hb.InfeasibleError):
        remapper.apply(arrived=[14, 15])


def test_unequal_capacities_are_kept():
    where = hb.allocate("node:4@10:cap=[2,1,1,1] core:2@1")
    rng = np.random.default_rng(3)
    graph = hb.CommGraph.from_edges(*rng.integers(0, 200, (2, 600)), rng.integers(1, 9, 600), n=200)
    remapper = hb.Remapper(graph, where, hb.map_tasks(graph, where, "fast", partition=True))
    for step in range(5):
        first, gone = 200 + 20 * step, 9 * step
        done = remapper.apply(arrived=range(first, first + 20), vanished=range(gone, gone + 9))
        assert done.balance == "met"
        caps = load_bound(None, remapper.n, where.capacity, remapper._imbalance).caps
        assert np.array_equal(remapper.bounds, caps)
        assert np.all(remapper.pe_loads <= caps)
        remapper.verify()


#: Batches of the six tasks of a ring on PEs 0 to 2 of four, and the facts that their errors name.
BAD = [
    ({"edges": [(1, 2, 3), (4, 4, 1)]}, "task 4"), ({"edges": [(0, 6, 1)]}, "task 6"),
    ({"edges": [(6, 0, 1)]}, "task 6"), ({"edges": [(0, -1, 1)]}, "task -1"),
    ({"edges": [(0, 1, 2), (0, 1, -1)]}, "volume -1"), ({"edges": [(0, 1, 0.5)]}, "float64"),
    ({"edges": [(0, 1)]}, "triples"), ({"edges": [0, 1, 2]}, "triples"),
    ({"edges": [(0, 1, 2), (3, 4)]}, "unequal"),
    ({"edges": (np.array([0]), np.array([1, 2]), np.array([3]))}, "unequal"),
    ({"edges": (np.zeros((1, 1), int), np.ones((1, 1), int), np.ones((1, 1), int))}, "edges"),
    ({"edges": (np.array([0]), np.array([1]), np.array([2**63], np.uint64))}, "9223372036854775808"),
    ({"vanished": [6]}, "task 6"), ({"vanished": [3, 0, 3]}, "3 occurs twice"), ({"vanished": [2, -1]}, "-1"),
    ({"vanished": [0], "edges": [(0, 1, 5)]}, "task 0"), ({"vanished": [2], "loads": {2: 5}}, "task 2"),
    ({"vanished": [[1]]}, "vanished"),
    ({"arrived": [6, 5]}, "task 5"), ({"arrived": [6, 6]}, "6 occurs twice"), ({"arrived": [7]}, "task 7 7"),
    ({"arrived": {6: -1}}, "-1"), ({"arrived": [0], "vanished": [0]}, "task 0"),
    ({"loads": {6: 1}}, "task 6"), ({"loads": {0: -1}}, "-1"), ({"loads": ([0, 1], [1])}, "1 2"),
    ({"loads": 5}, "loads"), ({"loads": [0, 1]}, "loads"),
    ({"lost": [0, 4]}, "PE 4 0..3"), ({"lost": [-1]}, "-1"),
    ({"lost": [3]}, "PE 3"), ({"restored": [3, 0]}, "PE 0"), ({"restored": [4]}, "PE 4 0..3"),
    ({"arrived": np.array([2**63], np.uint64)}, "9223372036854775808"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "facts"), BAD, ids=str)
def test_bad_batches_change_nothing(changes, facts):
    graph = hb.CommGraph.from_edges([0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0], [5] * 6)
    remapper = hb.Remapper(graph, "node:2@10 core:2@1", [0, 0, 1, 1, 2, 2], absent=[3], imbalance="50%")
    before = remapper.pe.tolist(), remapper.comm_cost, remapper.pe_loads.tolist()
    with pytest.raises(hb.FormatError, match=mentions(*facts.split())):
        remapper.apply(**changes)
    assert (remapper.pe.tolist(), remapper.comm_cost, remapper.pe_loads.tolist()) == before
    remapper.verify()


def test_tuples_are_taken_for_what_they_hold():
    """Three triples in a tuple are triples; two numbers are tasks, two sequences tasks with loads."""
    ring = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 0], [5] * 3)
    triples = ((0, 1, 7), (1, 2, 8), (2, 0, 9))
    for edges in (triples, tuple(np.array(triples).T)):
        remapper = hb.Remapper(ring, "core:2@1", [0, 0, 1], imbalance="100%", one_per_pe=False)
        remapper.apply(edges=edges)
        assert remapper.snapshot()[0].total_volume == 24
        remapper.apply(arrived=(3, 4))
        assert remapper.pe_loads.sum() == 5
        remapper.apply(arrived=([5, 6], [4, 0]))
        assert remapper.pe_loads.sum() == 9
        remapper.verify()


def test_sums_may_be_as_large_as_their_limits():
    empty = hb.CommGraph.from_edges([], [], n=3)
    both = hb.CommGraph.from_edges([], [], n=3, undirected=True)
    for graph, limit in ((empty, 2**55), (both, 2**54)):
        remapper = hb.Remapper(graph, "core:4@8", [0, 1, 2])
        with pytest.raises(hb.ScaleError, match="by 2 or more"):
            remapper.apply(edges=[(0, 1, 1), (1, 2, limit)])
        remapper.apply(edges=[(0, 1, limit)])
        with pytest.raises(hb.ScaleError):
            remapper.apply(edges=[(1, 2, 1)])
        remapper.apply(edges=[(0, 1, 0)])
        remapper.apply(edges=[(1, 2, limit)])
        remapper.verify()
    heavy = hb.CommGraph.from_edges([], [], n=2, loads=[2**59, 2**59])
    remapper = hb.Remapper(heavy, "core:2", [0, 1], one_per_pe=False)
    with pytest.raises(hb.ScaleError, match="1152921504606846977"):
        remapper.apply(arrived=[2])
    priced = hb.Remapper(hb.CommGraph.from_edges([], [], n=1), "core:2", [0], migration_price=2**57)
    priced.apply(arrived=[1])
    priced = hb.Remapper(hb.CommGraph.from_edges([], [], n=2), "core:3", [0, 1], migration_price=2**57)
    with pytest.raises(hb.ScaleError, match="3 tasks"):
        priced.apply(arrived=[2])


def test_room_is_that_after_the_whole_batch():
    pair = hb.CommGraph.from_edges([0], [1], [5], n=2)
    remapper = hb.Remapper(pair, "core:4", [0, 1], absent=[2, 3])
    with pytest.raises(hb.InfeasibleError, match=mentions("3", "2")):
        remapper.apply(arrived=[2])
    remapper.apply(arrived=[2], restored=[3])
    remapper.apply(arrived=[3], vanished=[0])
    assert sorted(remapper.pe[1:].tolist()) == [0, 1, 3]
    remapper = hb.Remapper(pair, "core:3", [0, 1], absent=[2], one_per_pe=False)
    with pytest.raises(hb.InfeasibleError, match="last PE"):
        remapper.apply(lost=[0, 1])
    assert remapper.apply(lost=[0, 1], restored=[2]).targets.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("mapping", "options", "error"),
    [
        ([0], {}, hb.FormatError), ([0, 4], {}, hb.FormatError),
        ([0, 0], {"one_per_pe": True}, hb.FormatError), ([0, 1], {"absent": [0, 1]}, hb.InfeasibleError),
        ([0, 1], {"absent": [1]}, hb.FormatError), ([0, 1], {"absent": [2]}, hb.FormatError),
        ([0, 1], {"absent": [-1]}, hb.UnsupportedError),
        ([0, 1], {"migration_price": -1}, hb.HopbytesError), ([0, 1], {"most_moves": -1}, hb.HopbytesError),
    ],
)  # fmt: skip
def test_bad_beginnings(mapping, options, error):
    graph = hb.CommGraph.from_edges([0, 1], [1, 0], [5, 5])
    with pytest.raises(error) as caught:
        hb.Remapper(graph, "core:2@1", mapping, **options)
    assert "task 1 is on PE 1" in str(caught.value) or options.get("absent") != [1]


@pytest.mark.parametrize("table", ["0,1\n2,0\n", "0,1\n1,3\n"])
def test_distances_that_differ_by_direction_or_are_not_0_on_a_pe_are_refused(tmp_path, table):
    path = tmp_path / "distances.csv"
    path.write_text(table)
    graph = hb.CommGraph.from_edges([0, 1], [1, 0], [5, 5])
    with pytest.raises(hb.UnsupportedError):
        hb.Remapper(graph, f"table:{path}", [0, 1])


def test_an_empty_pattern_can_grow():
    empty = hb.CommGraph.from_edges([], [], [], n=0)
    remapper = hb.Remapper(empty, "node:2@10 core:2@1", [], one_per_pe=False, imbalance="50%")
    remapper.apply()
    remapper.apply(arrived=range(12), edges=[(task, (task + 1) % 12, 5) for task in range(12)])
    remapper.verify()
    assert np.all(remapper.pe_loads <= remapper.bounds)
    assert remapper.apply(vanished=range(12)).comm_cost == 0
    assert remapper.n == 0


def test_the_page_about_changing_patterns_runs():
    (block,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/changing.md").read_text(), re.M | re.S)
    names = {}
    exec(block, names)
    assert names["graph"].n == 1024
    assert 3 not in names["mapping"].pe


@pytest.mark.parametrize("spoil", [
    lambda state: state.counter.__setitem__(0, state.counter[0] + 1),
    lambda state: state.load.__setitem__(3, 7),
    lambda state: state.pe_load.__setitem__(3, state.pe_load[3] + 1),
    lambda state: state.held.__setitem__(3, state.held[3] + 1),
    lambda state: state.usable.__setitem__(3, 0),
])  # fmt: skip
def test_a_wrong_number_is_found(placed, spoil):
    remapper = hb.Remapper(*placed, saved_per_change=0)
    remapper.verify()
    spoil(remapper._state)
    with pytest.raises(hb.HopbytesError, match="internal error"):
        remapper.verify()


def test_a_repair_pays_the_price_for_tasks_that_were_somewhere():
    """Two pairs are torn apart; at a price of 50 only tasks that just arrived are brought together."""
    graph = hb.CommGraph.from_edges([0, 2], [1, 3], [9, 9], n=4)
    where, pe = hb.allocate("core:2"), np.array([0, 1, 0, 1], np.int32)
    for price, home, apart in ((50, [0, 1, -1, -1], 1), (50, [0, 1, 0, 1], 2), (0, [0, 1, 0, 1], 0)):
        problem = RepairProblem(
            graph, where, pe, np.array(home, np.int32), Bounds(np.full(2, 4)), price, None, 0, False, 0, 1
        )  # fmt: skip
        found = by_v_cycles(problem, price)
        assert int(found[0] != found[1]) + int(found[2] != found[3]) == apart
        assert problem.cost(found, 3) == 3 * 9 * apart + price * problem.migrations(found)


def test_batches_save_for_each_of_their_changes():
    savings = Savings(per_change=30, rate=2.0)
    savings.add(5)
    savings.add(3)
    assert (savings.saved, savings.batches) == (240, 2)
    assert savings.suffices(120)
    assert not savings.suffices(121)
    for work, left in ((100, 100), (150, 90), (300, 0)):
        savings.saved = 240
        savings.pay(work, 50)
        assert (savings.saved, savings.rate, savings.batches) == (left, work / 50, 0)
    kinds = savings_at_first(101, 7, one_per_pe=False).values()
    assert [(kind.per_change, kind.saved) for kind in kinds] == [(81, 700), (20, 84)]
    assert not Savings(0, 2.0, saved=99).suffices(1)


def test_a_restored_pe_is_used_again(placed):
    graph, where, mapping = placed
    remapper = hb.Remapper(graph, where, mapping)
    remapper.apply(lost=[5, 6])
    remapper.apply(restored=[5])  # the bound falls, so tasks have to go there
    assert remapper.pe_loads[5] > 0
    assert remapper.pe_loads[6] == 0
    assert np.all(remapper.pe_loads <= remapper.bounds)


def test_a_high_price_keeps_tasks_where_they_are(placed):
    graph, where, mapping = placed
    remapper = hb.Remapper(graph, where, mapping, migration_price=10**9)
    assert sum(remapper.apply(**changes).migrations for changes in random_batches(graph, 5)) == 0


def test_a_repair_that_moves_too_many_tasks_is_repeated_at_a_higher_price():
    """Volumes sum to 60 over 3 tasks, so a typical price is 5; four batches share that of a migration."""
    graph = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 0], [20] * 3)
    here, there = np.array([0, 1, 2], np.int32), np.array([1, 0, 2], np.int32)
    cases = ((1, 9, [3, 15, 45], 135), (1, 1, [3, 15], 7), (2, 9, [3], 1), (None, 9, [3], 1))
    for allowed, keeps, prices, after in cases:
        seen = []

        def search(problem, price, keeps=keeps, seen=seen):
            seen.append(price)
            return here if len(seen) > keeps else there

        problem = RepairProblem(
            graph, hb.allocate("core:3"), here, here, Bounds(np.ones(3, np.int64)), 10, allowed, 0, True, 0, 1
        )  # fmt: skip
        savings = Savings(1, 1.0, batches=4)
        best, _ = repaired(problem, savings, search)
        assert (seen, savings.price) == (prices, after)
        assert best.tolist() == here.tolist()  # two migrations cost 20, and J is the same
    assert HIGHER == 3
    assert [Savings(1, 1.0, batches=count).use for count in (0, 1, 9, 11)] == [1, 1, 9, 10]
