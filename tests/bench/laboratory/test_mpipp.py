"""MPIPP as a mapper: where it ends, and what it keeps of its start."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from hopbytes import kernels
from hopbytes_laboratory.mpipp import best_swap
from reference import best_swap_reference


def test_mpipp_ends_where_no_exchange_helps():
    graph, where = hb.read("hierarchical:2x2x4:seed=2"), hb.allocate("node:4@10 core:4@1")
    mapping = hb.map_tasks(graph, where, "mpipp", seed=3)
    cost = mapping.info["comm_cost"]
    for a in range(16):
        for b in range(a):
            pe = mapping.pe.copy()
            pe[[a, b]] = pe[[b, a]]
            assert hb.evaluate(graph, hb.Mapping(pe, where, {}), baselines=False).mapping.comm_cost >= cost


def test_mpipp_of_the_paper_keeps_to_the_cores_of_its_start():
    """Exchanges between tasks only: no exchange of two of them helps, while moves to free cores would."""
    graph, where = hb.read("hierarchical:2x4:seed=2"), hb.allocate("node:8@10 core:4@1")
    kept = hb.map_tasks(graph, where, "mpipp:free=no", seed=3)
    assert len(set(kept.pe.tolist())) == 8
    assert len(set((kept.pe // 4).tolist())) > 2
    for a, b in combinations(range(8), 2):
        pe = kept.pe.copy()
        pe[[a, b]] = pe[[b, a]]
        other = hb.evaluate(graph, hb.Mapping(pe, where, {}), baselines=False).mapping.comm_cost
        assert other >= kept.info["comm_cost"]
    assert hb.map_tasks(graph, where, "mpipp", seed=3).info["comm_cost"] < kept.info["comm_cost"]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 6), st.integers(0, 4))
def test_exchanges_agree_with_the_definition(seed, n, k, most):
    rng = np.random.default_rng(seed)
    largest = rng.choice([1, 3, 10**6, 2**40])
    half = np.triu(rng.integers(1, largest + 1, (n, n)) * (rng.random((n, n)) < rng.random()), 1)
    rows, columns = np.nonzero(half + half.T)
    csr = kernels.csr_from_arcs(
        n, rows.astype(np.int32), columns.astype(np.int32), (half + half.T)[rows, columns], None
    )[:3]
    table = rng.integers(0, 20, (k, k))
    table = np.triu(table, 1) + np.triu(table, 1).T
    pe = rng.integers(0, k, n).astype(np.int32)
    found, made = best_swap(csr, table, pe, most)
    expected = pe.copy()
    flag = np.zeros(1, np.int32)
    assert made == best_swap_reference.best_swap(csr, table.ravel(), k, expected, most, (flag, None))
    assert found.tolist() == expected.tolist()
