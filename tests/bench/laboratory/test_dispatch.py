"""KaMinPar behind its guard: bounds, whole numbers, determinism, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hopbytes.errors import UnsupportedError
from hopbytes.kernels.records import Csr
from hopbytes.model.comm_graph import CommGraph
from hopbytes_laboratory.partitioners.dispatch import (
    gather,
    kaminpar_available,
    partition_with_backend,
    scale_loads,
    submit,
    unsupported_reason,
)
from hopbytes_laboratory.partitioners.pool import WorkerPool

needs_kaminpar = pytest.mark.skipif(not kaminpar_available(), reason="kaminpar is not installed or hidden")


def random_graph(n: int, arcs: int, seed: int, heaviest: int = 0) -> Csr:
    """Return a random symmetric graph, weights 0..heaviest, or none at all for heaviest 0."""
    rng = np.random.default_rng(seed)
    sources, targets = rng.integers(0, max(n, 1), (2, arcs if n else 0))
    weights = rng.integers(0, heaviest, len(sources), endpoint=True) if heaviest else None
    csr = CommGraph.from_edges(sources, targets, weights, n=n).symmetric()
    return csr if heaviest else Csr(csr.indptr, csr.targets, None)


def torus(side: int) -> Csr:
    """Return a square grid with wrap-around."""
    vertex = np.arange(side * side).reshape(side, side)
    right, down = np.roll(vertex, -1, 1), np.roll(vertex, -1, 0)
    sources, targets = np.r_[vertex.ravel(), vertex.ravel()], np.r_[right.ravel(), down.ravel()]
    csr = CommGraph.from_edges(sources, targets, n=side * side).symmetric()
    return Csr(csr.indptr, csr.targets, None)


def cut(csr: Csr, blocks: np.ndarray) -> int:
    """Return the weight of arcs between different blocks."""
    sources = np.repeat(np.arange(len(csr.indptr) - 1), np.diff(csr.indptr))
    weights = np.ones(len(csr.targets), np.int64) if csr.weights is None else csr.weights
    return int(weights[blocks[sources] != blocks[csr.targets]].sum())


def int64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.fixture(scope="module")
def pool():
    """One pool of workers for this file."""
    with WorkerPool(2, start_work=0) as workers:
        yield workers


@pytest.fixture
def here():
    """No workers at all."""
    with WorkerPool(1, in_process=True) as workers:
        yield workers


@needs_kaminpar
def test_blocks_of_a_torus_are_good_and_keep_their_bounds(pool):
    graph = torus(40)
    repetitions = [(1, "eco"), (2, "strong")]
    answers = partition_with_backend(graph, None, int64(412, 412, 412, 412), repetitions, pool)
    for blocks in answers:
        assert blocks.dtype == np.int32
        assert np.bincount(blocks, minlength=4).max() <= 412
        # Four squares cut 4 * 40 edges, each stored twice; random blocks would cut 4800.
        assert cut(graph, blocks) <= 2 * 1.3 * 160


@needs_kaminpar
def test_answer_does_not_depend_on_workers(monkeypatch):
    graphs = [random_graph(900, 4000, 1), random_graph(500, 2000, 2, 10**12), torus(50)]
    tries = [(seed, preset) for seed in (0, 7, -1, 2**40) for preset in ("fast", "eco", "strong")]

    def run(workers):
        with workers:
            tickets = []
            for graph in graphs:
                n = len(graph.indptr) - 1
                tickets.append(submit(graph, None, np.full(5, n // 5 + n // 50), tries, workers))
            return [
                [None if blocks is None else blocks.tolist() for blocks in answers]
                for answers in gather(tickets)
            ]

    expected = run(WorkerPool(1, in_process=True))
    assert sum(blocks is not None for answers in expected for blocks in answers) >= 30
    assert expected[2][0] != expected[2][3]  # seeds matter
    for threads in (1, 2, 3):
        assert run(WorkerPool(threads, start_work=0)) == expected
    # Begins here, goes on in workers.
    assert run(WorkerPool(2, start_work=15_000)) == expected


@needs_kaminpar
@pytest.mark.parametrize(
    ("n", "loads", "caps", "why"),
    [
        (0, None, [4, 4], "0 vertices"),
        (1, None, [1, 1], "quarter"),
        (3, None, [1, 1, 1, 1, 1], "quarter"),
        (100, None, [20, 20, 20, 20], "do not fit"),
        (100, None, [100, 100, 3], "quarter"),
        (100, [1000] + [1] * 99, [300] * 4, "load 1000"),
        (100, [0] * 100, [0, 0], "quarter"),
        (100, None, [], "0 blocks"),
    ],
)
def test_problems_it_must_not_see_are_refused(pool, n, loads, caps, why):
    loads = None if loads is None else np.array(loads, np.int64)
    caps = np.array(caps, np.int64)
    graph = random_graph(n, 3 * n, 1)
    assert why in unsupported_reason(graph, loads, caps)
    with pytest.raises(UnsupportedError, match=why):
        submit(graph, loads, caps, [(1, "eco")], pool)


def test_hidden_kaminpar(monkeypatch):
    monkeypatch.setenv("HOPBYTES_WITHOUT_KAMINPAR", "1")
    assert not kaminpar_available()
    assert unsupported_reason(torus(10), None, int64(60, 60)) == "kaminpar is not installed"
    with WorkerPool(1) as workers, pytest.raises(UnsupportedError, match="built-in"):
        submit(torus(10), None, int64(60, 60), [(1, "eco")], workers)


@needs_kaminpar
def test_a_broken_bound_is_a_failed_try(here):
    # KaMinPar keeps the bound it is given; a tighter one afterwards stands for one it ignored.
    ticket = submit(torus(20), None, int64(220, 220), [(1, "eco")], here)
    ticket.max_weights[:] = 199
    assert gather([ticket]) == [[None]]
    assert "more than 199" in ticket.failures[0]


@given(
    loads=st.lists(
        st.one_of(st.just(0), st.integers(1, 100), st.integers(0, 2**55)), min_size=1, max_size=60
    ),
    blocks=st.integers(1, 6),
    slack=st.integers(0, 50),
    seed=st.integers(0, 99),
)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_scaled_bounds_imply_the_true_ones(loads, blocks, slack, seed):
    true = np.array(loads, np.int64)
    total = int(true.sum())
    caps = np.full(blocks, total * (100 + slack) // (100 * blocks) + int(true.max()) + 1, np.int64)
    weights, bounds = scale_loads(true, caps, len(true))
    weights = np.ones(len(true), np.int64) if weights is None else weights.astype(np.int64)
    assert int(weights.min()) >= 1
    assert int(weights.sum()) < 2**31
    assert sum(bounds) < 2**31
    assert sum(bounds) >= int(weights.sum())
    assert min(bounds) >= 1
    # Whatever keeps the scaled bounds keeps the true ones.
    choice = np.random.default_rng(seed).integers(0, blocks, len(true))
    for block, bound in enumerate(bounds):
        if int(weights[choice == block].sum()) <= bound:
            assert int(true[choice == block].sum()) <= int(caps[block])
