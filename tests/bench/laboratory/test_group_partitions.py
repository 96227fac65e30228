"""KaMinPar inside multisection: it competes, never sees what it must not, leaves no trace of scheduling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hopbytes as hb
from helpers.graphs import grid
from hopbytes import _core
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.machines.base import Level
from hopbytes.machines.tree import Tree
from hopbytes.model.comm_graph import CommGraph
from hopbytes_laboratory.partitioners.dispatch import kaminpar_available
from hopbytes_laboratory.partitioners.pool import WorkerPool
from reference import graph_reference as reference_graph

needs_kaminpar = pytest.mark.skipif(not kaminpar_available(), reason="kaminpar is not installed or hidden")

WHERE = hb.Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (3, 4)))
# Root (2500 vertices) and the three groups below it (about 830 each) are large enough.
BOTH = (
    "multisection:kaminpar_partitions=2,kaminpar_inner_partitions=1,kaminpar_preset=eco,kaminpar_from=500"
)
ALONE = f"{BOTH},repetitions=0"


# ------------------------------------------------------------------ mapper


@needs_kaminpar
@pytest.mark.parametrize("mapper", [BOTH, ALONE], ids=["both", "alone"])
def test_the_mapping_does_not_depend_on_threads_or_workers(mapper, monkeypatch):
    graph = grid(50)

    def run(threads):
        return hb.map_tasks(graph, WHERE, mapper, seed=5, threads=threads, partition=True)

    monkeypatch.setenv("HOPBYTES_WORKERS", "0")
    expected = run(1)
    assert expected.info["work"]["kaminpar_used"] + expected.info["work"]["kaminpar_failed"] == 2 + 3
    assert expected.info["work"]["kaminpar_used"] >= 3
    monkeypatch.delenv("HOPBYTES_WORKERS")
    pool = WorkerPool
    monkeypatch.setattr(
        "hopbytes_laboratory.partitioners.pool.WorkerPool", lambda threads: pool(threads, start_work=0)
    )
    for threads in (1, 2, 3):
        again = run(threads)
        assert again.pe.tobytes() == expected.pe.tobytes()
        assert again.info["work"] == expected.info["work"]


@pytest.mark.parametrize("mapper", [BOTH, ALONE], ids=["both", "alone"])
def test_hidden_kaminpar_leaves_the_built_in_partitioner(mapper, monkeypatch):
    monkeypatch.setenv("HOPBYTES_WITHOUT_KAMINPAR", "1")
    mapping = hb.map_tasks(grid(50), WHERE, mapper, seed=5, threads=1, partition=True)
    alone = hb.map_tasks(grid(50), WHERE, Multisection(), seed=5, threads=1, partition=True)
    assert mapping.pe.tobytes() == alone.pe.tobytes()
    assert mapping.info["work"] == {**alone.info["work"], "kaminpar_used": 0, "kaminpar_failed": 0}


# ----------------------------------------------------------------- kernels


@given(
    n=st.integers(1, 12),
    arcs=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(1, 2**40)), max_size=40),
    chosen=st.sets(st.integers(0, 11)),
    weighted=st.booleans(),
)
def test_induced_graphs_are_those_of_the_twin(n, arcs, chosen, weighted):
    kept = [(i, j, w) for i, j, w in arcs if i < n and j < n and i != j]
    graph = CommGraph.from_edges([a[0] for a in kept], [a[1] for a in kept], [a[2] for a in kept], n=n)
    csr = graph.symmetric()
    weights = csr.weights if weighted else np.empty(0, np.int64)
    members = np.array(sorted(v for v in chosen if v < n), np.int32)
    place = np.full(n, -1, np.int32)
    place[members] = np.arange(len(members))
    room = int(np.diff(csr.indptr)[members].sum())

    def run(module):
        out = [
            np.zeros(len(members) + 1, np.int64), np.zeros(room, np.int32),
            np.zeros(room if weighted else 0, np.int64),
        ]
        arrays = csr._replace(weights=weights)
        count = module.induced_csr(arrays, members, place, *out)
        return count, [array.tolist() for array in out]

    assert run(_core) == run(reference_graph)
