"""Trees, chains and natural cuts: equal to their definitions, and what they promise."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helpers.core_functions import cluster_tree_parts, fragments_between_natural_cuts
from helpers.engine_cases import csrs
from hopbytes.engine.control import RunControl
from hopbytes.engine.problem import SearchProblem
from hopbytes.kernels.records import Csr
from reference import fragments_reference as reference


def csr_of(n, edges):
    both = sorted({pair for a, b in edges for pair in ((a, b), (b, a))})
    indptr = np.searchsorted([a for a, _ in both], np.arange(n + 1)).astype(np.int64)
    return Csr(indptr, np.array([b for _, b in both], np.int32), None)


def grid_edges(side, first=0):
    cells = first + np.arange(side * side).reshape(side, side)
    across = zip(cells[:, 1:].ravel().tolist(), cells[:, :-1].ravel().tolist(), strict=True)
    along = zip(cells[1:].ravel().tolist(), cells[:-1].ravel().tolist(), strict=True)
    return [*across, *along]


@st.composite
def sparse_csrs(draw):
    """A random tree, some of whose vertices have edges to earlier ones beside."""
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = [(v, int(rng.integers(max(0, v - 4), v))) for v in range(1, n)]
    more = [(v, int(rng.integers(0, v))) for v in range(1, n) if rng.random() < 0.2]
    return csr_of(n, edges + more)


@given(
    csr=st.one_of(csrs(), sparse_csrs()), seed=st.integers(0, 2**32), most=st.integers(1, 12),
    heaviest=st.integers(0, 3), many=st.integers(1, 3),
)
def test_tree_parts_are_those_of_the_definition(csr, seed, most, heaviest, many):
    rng = np.random.default_rng(seed)
    loads, communities = rng.integers(0, heaviest + 1, csr.n), rng.integers(0, many, csr.n)
    asked = reference.cluster_tree_parts(csr, loads, most, communities.tolist())
    found, count = cluster_tree_parts(
        SearchProblem(csr, loads), most, communities=communities.astype(np.int32)
    )
    assert (found.tolist(), count) == asked
    assert all(len(set(communities[found == c])) == 1 for c in range(count))
    sizes = zip(np.bincount(found, loads), np.bincount(found), strict=True)
    assert all(load <= most or size == 1 for load, size in sizes)


@given(
    csr=st.one_of(csrs(), sparse_csrs()), seed=st.integers(0, 2**64 - 1), region=st.integers(1, 20),
    cores=st.integers(1, 5), heaviest=st.integers(1, 3),
)
def test_fragments_are_those_of_the_definition(csr, seed, region, cores, heaviest):
    loads = np.random.default_rng(seed).integers(0, heaviest + 1, csr.n)
    asked = reference.fragments_between_natural_cuts(csr, loads, region, cores, seed)
    found, count = fragments_between_natural_cuts(
        SearchProblem(csr, loads), region, cores_per_region=cores, most_work=10**6, control=RunControl(seed)
    )
    assert (found.tolist(), count) == asked
    sizes = zip(np.bincount(found, loads), np.bincount(found), strict=True)
    assert all(load <= region or size == 1 for load, size in sizes)


def test_no_fragment_reaches_across_a_bridge():
    """Two grids of 100 vertices and one edge between them, for regions of any centre."""
    csr = csr_of(200, [*grid_edges(10), *grid_edges(10, 100), (99, 100)])
    for seed in range(5):
        found, _ = fragments_between_natural_cuts(SearchProblem(csr), 150, control=RunControl(seed))
        assert not set(found[:100]) & set(found[100:])


def test_without_work_every_vertex_is_a_fragment():
    csr = csr_of(400, grid_edges(20))
    found, count = fragments_between_natural_cuts(SearchProblem(csr), 100, most_work=1)
    assert count == 400
    assert found.tolist() == list(range(400))
