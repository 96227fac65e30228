"""Parallel steps of a multilevel mapping: equal to their definitions, and for any number of threads."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hopbytes as hb
from helpers.core_functions import LevelGraph, cluster_synchronously, contract_to, move_synchronously
from helpers.engine_cases import csrs
from hopbytes.engine.control import RunControl
from hopbytes.engine.parallel import contract_in_parallel
from hopbytes.engine.problem import SearchProblem
from hopbytes.kernels.records import Csr, Distances
from reference import parallel_reference as reference

THREADS = (1, 3)


def level_of(csr, loads=None, table=None):
    """A graph as the steps take it, with a table of distances where they need one."""
    return LevelGraph(SearchProblem(csr, loads, Distances(table=table)))


def many(n, seed):
    """A sparse graph of some thousand vertices whose neighbours mostly have close numbers."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n - 40, 3 * n)
    second = np.where(rng.random(3 * n) < 0.8, first + rng.integers(1, 40, 3 * n), rng.integers(0, n, 3 * n))
    keep = first != second
    pairs = np.unique(np.sort(np.stack([first, second], 1)[keep], 1), axis=0)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    indptr = np.searchsorted(both[:, 0], np.arange(n + 1)).astype(np.int64)
    weights = (both.sum(1) % 7 + 1).astype(np.int64)
    return Csr(indptr, both[:, 1].astype(np.int32), weights)


@given(
    csr=csrs(), seed=st.integers(0, 2**64 - 1), most=st.integers(1, 12), fewest=st.integers(1, 20),
    local_range=st.sampled_from([1, 2, 5, 100]), heaviest=st.integers(0, 4), many=st.integers(1, 3),
)
def test_clusters_are_those_of_the_definition(csr, seed, most, fewest, local_range, heaviest, many):
    rng = np.random.default_rng(seed)
    loads, communities = rng.integers(0, heaviest + 1, csr.n), rng.integers(0, many, csr.n)
    asked = reference.cluster_synchronously(
        csr, loads, most, fewest, local_range, seed, communities.tolist()
    )
    for threads in THREADS:
        control = RunControl(seed, threads)
        found, count = cluster_synchronously(
            level_of(csr, loads), most, fewest, communities=communities.astype(np.int32),
            local_range=local_range, control=control,
        )
        assert (found.tolist(), count) == asked
        assert all(len(set(communities[found == c])) == 1 for c in range(count))
    assert all(
        size <= most or number == 1
        for size, number in zip(np.bincount(found, loads), np.bincount(found), strict=True)
    )


@given(csr=csrs(), seed=st.integers(0, 2**32 - 1))
def test_contraction_is_that_of_the_definition(csr, seed):
    rng = np.random.default_rng(seed)
    loads = rng.integers(0, 9, csr.n)
    _, cluster = np.unique(rng.integers(0, 5, csr.n), return_inverse=True)
    cluster, count = cluster.astype(np.int32), int(cluster.max()) + 1
    rows, total = reference.contract(csr, loads, cluster, count)
    narrow = csr.weights is None or int(csr.weights.sum()) < 2**31
    for threads, kind in itertools.product(THREADS, (np.int32, np.int64) if narrow else (np.int64,)):
        control = RunControl(0, threads)
        (indptr, targets, weights), held = contract_to(level_of(csr, loads), cluster, count, kind, control)
        assert held.tolist() == total
        for c, row in enumerate(rows):
            arcs = slice(int(indptr[c]), int(indptr[c + 1]))
            assert list(zip(targets[arcs].tolist(), weights[arcs].tolist(), strict=True)) == [*row.items()]


@pytest.mark.parametrize("count", [3, 400, 700, 9_000])
def test_contraction_of_several_ranges_is_that_of_the_definition(count):
    """To few coarse vertices, of which every range of vertices has some, and to many."""
    csr = many(20_000, count)
    rng = np.random.default_rng(count)
    near = np.arange(csr.n) * count // csr.n
    cluster = np.where(rng.random(csr.n) < 0.7, near, rng.integers(0, count, csr.n)).astype(np.int32)
    rows, _ = reference.contract(csr, np.ones(csr.n, np.int64), cluster, count)
    for threads in THREADS:
        found = contract_in_parallel(csr, cluster, count, RunControl(0, threads))
        assert np.diff(found.indptr).tolist() == [len(row) for row in rows]
        assert found.targets.tolist() == [target for row in rows for target in row]
        assert found.weights.tolist() == [weight for row in rows for weight in row.values()]


@given(csr=csrs(heaviest=9), seed=st.integers(0, 2**32 - 1), k=st.integers(1, 5), rounds=st.integers(0, 8))
def test_moves_are_those_of_the_definition(csr, seed, k, rounds):
    rng = np.random.default_rng(seed)
    loads, pe = rng.integers(0, 4, csr.n), rng.integers(0, k, csr.n).astype(np.int32)
    caps = np.bincount(pe, loads, minlength=k).astype(np.int64) + rng.integers(0, 5, k)
    table = np.triu(rng.integers(1, 20, (k, k)), 1)
    table += table.T
    asked = reference.move_synchronously(csr, loads, table.tolist(), caps.tolist(), pe.tolist(), rounds)
    for threads in THREADS:
        found, near = pe.copy(), np.ones(csr.n, np.uint8)
        problem = level_of(csr, loads, table.reshape(-1))
        move_synchronously(problem, found, near, caps, rounds, control=RunControl(0, threads))
        assert found.tolist() == asked
        assert (np.bincount(found, loads, minlength=k) <= caps).all()
        sources = np.repeat(np.arange(csr.n), np.diff(csr.indptr))
        assert near[sources[found[sources] != found[csr.targets]]].all()  # the boundary is still listed


def test_a_stopped_call_returns_at_once():
    csr, cancel = many(5_000, 1), np.ones(2, np.int32)
    control = RunControl(1, 2, cancel=cancel)
    cluster, count = cluster_synchronously(level_of(csr), 12, 1_000, control=control)
    assert (cluster.tolist(), count) == (list(range(5_000)), 5_000)
    pe, near = np.arange(5_000, dtype=np.int32) % 4, np.ones(5_000, np.uint8)
    table = (1 - np.eye(4, dtype=np.int64)).reshape(-1)
    problem = level_of(csr, table=table)
    assert move_synchronously(problem, pe, near, np.full(4, 2_000), 10, control=control) == 0


@pytest.mark.parametrize(("preset", "exact"), [("fast", False), ("eco", False), ("fast", True)])
def test_presets_share_one_large_cut_among_threads_without_another_answer(preset, exact):
    """More threads than cuts: they share coarsening, contraction, pairs of blocks and halves."""
    side = 192
    graph = hb.read(f"stencil:{side}x{side}")
    assert graph.n >= 2**15  # from here on coarsening has synchronous rounds
    where = hb.allocate(f"node:9@10 core:{side * side // 9}@1" if exact else "node:5@10 core:3@1")
    answers = {
        hb.map_tasks(graph, where, preset, seed=3, threads=threads, partition=not exact).pe.tobytes()
        for threads in (1, 3)
    }
    assert len(answers) == 1


def test_edges_without_weights_count_as_edges_of_weight_one():
    """They take no memory, so that compiled code has a type of its own for them."""
    csr, two = many(60_000, 4), np.array([0, 3, 3, 0])
    answers = []
    for weights in (None, np.ones(len(csr.targets), np.int64)):
        graph = csr._replace(weights=weights)
        problem = level_of(graph, table=two)
        cluster, count = cluster_synchronously(problem, 12, 20_000)
        coarse = contract_in_parallel(graph, cluster, count, RunControl())
        pe, near = (np.arange(csr.n) % 4 // 2).astype(np.int32), np.ones(csr.n, np.uint8)
        move_synchronously(problem, pe, near, np.full(2, 31_000), 10)
        answers.append([array.tolist() for array in (cluster, *coarse, pe)])
    assert answers[0] == answers[1]


def test_contraction_in_several_batches():
    n = 300_000
    indptr = np.concatenate([[0, 1], np.arange(3, 2 * n - 2, 2), [2 * n - 2]])
    targets = np.concatenate([[1], np.stack([np.arange(n - 2), np.arange(2, n)], 1).ravel(), [n - 2]])
    path = Csr(indptr, targets.astype(np.int32), None)
    for threads in THREADS:
        found = contract_in_parallel(path, np.arange(n, dtype=np.int32), n, RunControl(0, threads))
        assert np.array_equal(found.indptr, indptr)
        assert np.array_equal(found.targets, targets)
        assert (found.weights == 1).all()


@pytest.mark.parametrize("seed", range(3))
def test_large_graphs_have_the_same_answers_on_all_numbers_of_threads(seed):
    """Graphs of several ranges, unlike those that the definitions are quick enough for."""
    csr = many(60_000, seed)
    answers = []
    for threads in (1, 2, 5):
        control = RunControl(seed, threads)
        cluster, count = cluster_synchronously(level_of(csr), 12, 20_000, control=control)
        level, held = contract_to(level_of(csr), cluster, count, np.int32, control)
        coarse = (np.arange(count) * 8 // count).astype(np.int32)
        pe, near = coarse[cluster], np.ones(len(cluster), np.uint8)
        room = np.full(8, 8_000, np.int64)
        table = np.abs(np.subtract.outer(np.arange(8), np.arange(8))).reshape(-1)
        moves = move_synchronously(
            level_of(csr, table=table), pe, near, room, 12, control=control
        )
        assert held.sum() == 60_000
        assert np.bincount(pe).max() <= 8_000
        assert moves > 1_000
        answers.append([part.tobytes() for part in (*level, cluster, pe, near)])
    assert answers[0] == answers[1] == answers[2]
