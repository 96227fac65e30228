"""One task per PE over several processes: exact counts, J, and the same answer as a plain definition."""

from collections import deque
from itertools import pairwise, product

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import mapped_over, part_of
from helpers.thorough import most
from helpers.together import together
from hopbytes.errors import InfeasibleError
from hopbytes.kernels.records import Distances
from hopbytes.machines.spec import parse_machine
from hopbytes.mpi import evaluate_distributed, map_distributed
from hopbytes.mpi.distributed.one_each import cost_of_one_each, regular_tree
from hopbytes.mpi.distributed.refinement import Target, evened
from hopbytes.mpi.distributed.rows import Member, checked_rows


def mapped(graph, on, size, **options):
    pe, info = mapped_over(size, graph, on, **options)
    where = hb.allocate(on)
    assert len(np.unique(pe)) == graph.n
    assert 0 <= pe.min(initial=0) <= pe.max(initial=0) < where.k
    assert info["comm_cost"] == hb.evaluate(graph, hb.Mapping(pe, where)).comm_cost
    assert info["empty"] == where.k - graph.n
    return pe, info


def irregular(n, seed):
    """Points of a square, each with its nearest neighbours, in random order."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    apart = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    near = np.argsort(apart, axis=1)[:, 1:5]
    tails, heads = np.repeat(np.arange(n), 4), near.reshape(-1)
    volume = rng.integers(1, 9, len(tails))
    return hb.CommGraph.from_edges(
        np.append(tails, heads), np.append(heads, tails), np.append(volume, volume), n=n
    )


PATTERNS = {
    "2-D": lambda: hb.read("stencil:48x40:bytes=1"),
    "2-D torus": lambda: hb.read("stencil:48x40:bytes=1,periodic=xy"),
    "3-D": lambda: hb.read("stencil:12x16x10:bytes=3"),
    "3-D with corners": lambda: hb.read("stencil:12x16x10:points=15"),
    "irregular": lambda: irregular(1920, 1),
    "irregular, other": lambda: irregular(1920, 2),
}


@pytest.fixture
def small(monkeypatch):
    """Coarsen also the small graphs of these tests."""
    for name in ("one_each.FEWEST", "islands.FEWEST"):
        monkeypatch.setattr(f"hopbytes.mpi.distributed.{name}", 300)
    monkeypatch.setattr("hopbytes.mpi.distributed.islands.PER_ISLAND", 50)


@pytest.mark.parametrize(
    ("name", "size"),
    most(list(product(PATTERNS, [2, 3, 4, 7, 16])), list(zip(PATTERNS, [3, 7] * 3, strict=True))),
)
def test_exact_counts_and_cost(name, size, small):
    graph, on = PATTERNS[name](), "island:5@100 node:32@10 core:12@1"
    pe, info = mapped(graph, on, size)
    again, _ = mapped(graph, on, size)
    assert pe.tobytes() == again.tobytes()
    alone = hb.map_tasks(graph, on, "eco", threads=1).info["comm_cost"]
    assert info["comm_cost"] <= 1.2 * alone
    assert info["problem"] == "processes"
    assert info["strategy"] == "units"


@pytest.mark.parametrize(
    "on",
    ["core:2000", "node:1 core:2000", "node:200@10 core:10@1", "a:3@100 node:7@100 core:100@1",
     "node:2 core:[999,1001]"],
)  # fmt: skip
def test_other_machines_and_fewer_tasks_than_pes(on, small):
    for rows in most((50, 37), (37,)):
        mapped(hb.read(f"stencil:{rows}x40:bytes=1"), on, 3, preset="fast")


@pytest.mark.parametrize("n", [0, 1, 2, 12])
def test_few_tasks(n):
    graph = hb.CommGraph.from_edges(
        np.append(np.arange(n - 1), np.arange(1, n)), np.append(np.arange(1, n), np.arange(n - 1)), n=n
    ) if n > 1 else hb.CommGraph.from_edges([], [], n=n)  # fmt: skip
    mapped(graph, "node:3 core:4", 3, preset="fast")


def test_few_tasks_on_a_large_machine_share_a_unit_without_a_list_of_pes(monkeypatch):
    """Ten tasks fit into a node of 16 cores; no more than its PEs are ever listed."""
    listed, whole = [], hb.Allocation.whole
    monkeypatch.setattr(
        hb.Allocation, "whole", lambda machine: listed.append(machine.n_cores) or whole(machine)
    )
    graph, on = hb.read("stencil:5x2:bytes=1"), "rack:1000@100 node:1000@10 core:16@1"
    parts = together(2, lambda comm: map_distributed(comm, part_of(graph, comm.Get_rank(), 2), on))
    assert sorted(np.concatenate([part.pe for part in parts]) // 16) == [0] * 10
    assert parts[0].comm_cost == graph.m
    assert max(listed) <= 16


def test_more_tasks_than_pes_are_refused_if_that_was_asked():
    graph = hb.read("stencil:4x4")

    def work(comm):
        with pytest.raises(InfeasibleError, match="16 processes, expected at most one for each of the 8 PEs"):
            map_distributed(comm, part_of(graph, comm.Get_rank(), 2), "node:2 core:4", partition=False)
        return map_distributed(comm, part_of(graph, comm.Get_rank(), 2), "node:2 core:4").info["problem"]

    assert together(2, work) == ["partition", "partition"]


def test_which_machines_are_counted_and_not_listed():
    for spec in ("core:8", "node:2@10 core:4@1", "rack:2 node:3 core:4"):
        for where in (spec, hb.allocate(spec), parse_machine(spec)):
            assert regular_tree(where).n_cores == hb.allocate(spec).k
    others = ("node:2 core:4 pu:2", "node:2 gpu:2", "node:2 core:[1,2]", "node:2:cap=2 core:4", "torus:2x2")
    assert all(regular_tree(spec) is None for spec in others)
    spec = "node:2 core:4"
    parts = (
        hb.allocate(spec, exclude="core=0"), hb.allocate(spec, cores_per_task=2),
        hb.allocate(spec, pack=True), hb.allocate(spec).select(np.arange(3)),
    )  # fmt: skip
    assert all(regular_tree(where) is None for where in parts)


@pytest.mark.parametrize("seed", range(30))
def test_distances_of_some_cores(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 6, rng.integers(1, 6)).tolist()
    tree = parse_machine(" ".join(f"level{i}:{count}@{9 - i}" for i, count in enumerate(counts)))
    cores = np.flatnonzero(rng.random(tree.n_cores) < 0.5)
    some = tree.distance_of(cores)
    assert some.matrix().tolist() == tree.distance().select(cores).matrix().tolist()
    assert some.labels.tolist() == tree.distance().labels[cores].tolist()


def test_what_is_wrong_with_a_mapping_is_found():
    graph, tree = hb.read("stencil:3x4"), parse_machine("node:3 core:4")

    def work(comm):
        member = Member(comm)
        rows = checked_rows(member, part_of(graph, member.rank, 3))
        pe = rows.ids.copy()
        good = cost_of_one_each(rows, tree, pe)
        if member.rank == 2:
            pe[0] = 1
        return good, cost_of_one_each(rows, tree, pe)[1]

    good = hb.evaluate(graph, hb.Mapping(np.arange(12, dtype=np.int32), hb.allocate("node:3 core:4")))
    assert together(3, work) == [((good.comm_cost, ""), "2 tasks are on PE 1, expected one")] * 3


def test_evaluation_of_what_was_written():
    graph, on = hb.read("stencil:20x12:bytes=5"), "node:24@10 core:10@1"
    pe, info = mapped(graph, on, 2, preset="fast")

    def work(comm):
        slab = part_of(graph, comm.Get_rank(), 3)
        first = sum(part_of(graph, rank, 3).n for rank in range(comm.Get_rank()))
        return evaluate_distributed(comm, slab, pe[first : first + slab.n], on)["comm_cost"]

    assert together(3, work) == [info["comm_cost"]] * 3


def shortest(left, spare, k):
    ahead, queue = {b: [b] for b in range(k) if spare[b] < 0}, deque(b for b in range(k) if spare[b] < 0)
    while queue:
        at = queue.popleft()
        for to in range(k):
            if left.get((at, to), 0) > 0 and to not in ahead:
                ahead[to] = [*ahead[at], to]
                queue.append(to)
                if spare[to] > 0:
                    return ahead[to]
    return None


def plainly_evened(neighbours, pe, caps, rounds=12):
    """Exact sizes by definition: flows along shortest ways between PEs, then the tasks of least loss."""
    pe, k = list(pe), len(caps)
    for _ in range(rounds):
        spare = [caps[b] - pe.count(b) for b in range(k)]
        if min(spare) >= 0:
            break
        ways = {}
        for v, around in enumerate(neighbours):
            to = {}
            for u, weight in around.items():
                to[pe[u]] = to.get(pe[u], 0) + weight
            inside = to.pop(pe[v], 0)
            for b, weight in to.items():
                ways.setdefault((pe[v], b), []).append((inside - weight, v))
        left = {way: len(found) for way, found in ways.items()}
        flow = dict.fromkeys(ways, 0)
        while path := shortest(left, spare, k):
            amount = min(-spare[path[0]], spare[path[-1]], *(left[step] for step in pairwise(path)))
            for step in pairwise(path):
                left[step] -= amount
                flow[step] += amount
            spare[path[0]] += amount
            spare[path[-1]] -= amount
        moved = {}
        for way in sorted(ways):
            for _, v in sorted(ways[way])[: flow[way]]:
                moved.setdefault(v, way[1])
        for v, b in moved.items():
            pe[v] = b
    return pe


@pytest.mark.parametrize("seed", range(most(200, 30)))
def test_exact_sizes_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(8, 60)), int(rng.integers(2, 7))
    tails, heads = rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n)
    apart = tails != heads
    volume = rng.integers(1, 9, 3 * n)[apart]
    tails, heads = tails[apart], heads[apart]
    graph = hb.CommGraph.from_edges(
        np.append(tails, heads), np.append(heads, tails), np.append(volume, volume), n=n
    )
    pe = np.sort(rng.integers(0, k, n)).astype(np.int32)
    caps = np.full(k, n // k, np.int64)
    caps[: n % k] += 1
    neighbours = [
        dict(zip(graph.targets[begin:end].tolist(), graph.volumes[begin:end].tolist(), strict=True))
        for begin, end in pairwise(graph.indptr)
    ]
    target = Target(Distances(table=(1 - np.eye(k, dtype=np.int64)).reshape(-1)), caps)

    def work(comm):
        rows = checked_rows(Member(comm), part_of(graph, comm.Get_rank(), comm.Get_size()))
        return evened(rows, pe[rows.first : rows.first + rows.n], target)

    assert together(1, work)[0].tolist() == plainly_evened(neighbours, pe.tolist(), caps.tolist())
    several = np.bincount(np.concatenate(together(3, work)), minlength=k)
    before = np.bincount(pe, minlength=k)
    assert np.maximum(several - caps, 0).sum() <= np.maximum(before - caps, 0).sum()
