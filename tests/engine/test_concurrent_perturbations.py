"""Perturbations by several threads: exactly what one thread finds, whether they touch seldom or often."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.graphs import grid
from hopbytes.engine.control import RunControl
from hopbytes.engine.problem import SearchProblem
from hopbytes.engine.slots import SwapSettings, swap_refine
from hopbytes.machines.distances import kernel_distances
from hopbytes.model.comm_graph import CommGraph

SIDE = 96
N = SIDE * SIDE


def weighted(graph, seed):
    csr = graph.symmetric()
    sources = np.repeat(np.arange(graph.n), np.diff(csr.indptr))
    one, other = sources[sources < csr.targets], csr.targets[sources < csr.targets]
    weights = np.random.default_rng(seed).integers(1, 100, len(one))
    return CommGraph.from_edges(one, other, weights, n=graph.n)


def scattered(seed):
    one, other = np.random.default_rng(seed).integers(0, N, (2, 3 * N))
    return CommGraph.from_edges(one[one != other], other[one != other], n=N)


def searched(graph, spec, threads, loads=None, perturbations=40):
    where = hb.allocate(spec)
    arcs = [0]

    def spend(count, whole):
        arcs[0] += count

    pe = np.sort(np.arange(N, dtype=np.int32) % where.k)
    room = np.full(where.k, N // where.k) if loads is None else np.full(where.k, 2 * N // where.k)
    found = swap_refine(
        SearchProblem(graph.symmetric(), loads, kernel_distances(where)), pe, room,
        SwapSettings(0, 16, perturbation_work=perturbations),
        control=RunControl(seed=5, threads=threads, spend=spend),
    )
    return found, arcs[0]


@pytest.mark.parametrize(
    ("graph", "spec", "loads"),
    [
        (grid(SIDE, SIDE), "node:36@100 package:16@10 core:16@1", None),
        (weighted(grid(SIDE, SIDE), 1), "node:36@100 package:16@10 core:16@1", None),
        (grid(SIDE, SIDE), "torus:48x192", None),
        # Several tasks per PE, whose loads differ: an exchange may not fit.
        (grid(SIDE, SIDE), "node:64@100 core:18@1", np.random.default_rng(2).integers(1, 4, N)),
        # Everything is next to everything.
        (scattered(3), "node:9@100 package:16@10 core:64@1", None),
    ],
)  # fmt: skip
def test_threads_find_what_one_finds(graph, spec, loads):
    alone, work = searched(graph, spec, 1, loads)
    before = searched(graph, spec, 1, loads, perturbations=0)[0]
    assert alone.swaps > before.swaps
    for threads in (2, 3, 8):
        together, same_work = searched(graph, spec, threads, loads)
        assert np.array_equal(alone.pe, together.pe)
        assert (alone.evaluations, alone.swaps, work) == (together.evaluations, together.swaps, same_work)
