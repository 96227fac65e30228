"""Rows of a changing graph: the compiled core does what the reference does, array by array."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopbytes import _core
from hopbytes.engine.changing import ArcRows
from hopbytes.kernels.records import Csr
from hopbytes.model.comm_graph import CommGraph
from reference import changing_reference

EMPTY = Csr(np.zeros(13, np.int64), np.empty(0, np.int32), None)


def pairs_of(n, triples):
    """Columns of pairs of different tasks below n."""
    kept = [(u % n, v % n, w) for u, v, w in triples if u % n != v % n]
    return [np.array([each[i] for each in kept], (np.int32, np.int32, np.int64)[i]) for i in range(3)]


TRIPLES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(0, 3)), max_size=120)


@given(TRIPLES)
def test_core_and_reference_agree(triples):
    u, v, w = pairs_of(12, triples)
    ours, theirs, results = ArcRows.of(EMPTY), ArcRows.of(EMPTY), []
    for rows, kernel in ((ours, _core), (theirs, changing_reference)):
        rows.target, rows.opposite = np.zeros(400, np.int32), np.zeros(400, np.int32)
        rows.weight = np.zeros(400, np.int64)
        old, done = np.full(len(u), -1, np.int64), 0
        done = kernel.changing_pairs(rows.arrays(), u, v, w, old, 0)
        results.append((done, old.tolist()))
    assert results[0] == results[1]
    for mine, other in zip(ours.arrays(), theirs.arrays(), strict=True):
        assert np.array_equal(mine, other)


@given(TRIPLES, TRIPLES)
def test_rows_are_those_of_the_last_weights(first, second):
    rows = ArcRows.of(EMPTY)
    weights = {}
    for triples in (first, second):
        u, v, w = pairs_of(12, triples)
        old = rows.set_pairs(u, v, w)
        for a, b, now, before in zip(u.tolist(), v.tolist(), w.tolist(), old.tolist(), strict=True):
            key = min(a, b), max(a, b)
            assert weights.get(key, 0) == before
            weights[key] = now
    both = {pair: w for (u, v), w in weights.items() if w for pair in ((u, v), (v, u))}
    found = rows.csr(np.arange(12))
    sources = np.repeat(np.arange(12), np.diff(found.indptr))
    pairs = zip(sources.tolist(), found.targets.tolist(), strict=True)
    assert dict(zip(pairs, found.weights.tolist(), strict=True)) == both


def test_arrays_that_are_full_say_so_and_keep_what_they_hold():
    rows = ArcRows.of(EMPTY)
    u, v, w = (np.array(each, kind) for each, kind in (([0], np.int32), ([1], np.int32), ([5], np.int64)))
    old = np.zeros(1, np.int64)
    for kernel in (_core, changing_reference):
        same = copy.deepcopy(rows)
        assert kernel.changing_pairs(same.arrays(), u, v, w, old, 0) == 0
        assert same.count.sum() == 0


def test_an_arc_of_a_hub_is_found_in_the_shorter_row():
    n = 20_000
    star = CommGraph.from_edges(np.zeros(n - 1, np.int64), np.arange(1, n), np.ones(n - 1, np.int64), n=n)
    rows = ArcRows.of(star.symmetric())
    before = rows.scanned
    rows.set_pairs(np.array([0], np.int32), np.array([n // 2], np.int32), np.array([7]))
    rows.set_pairs(np.array([0], np.int32), np.array([n // 3], np.int32), np.array([0]))
    assert rows.scanned - before == 2


def test_rows_that_do_not_fit_together_are_refused():
    rows = ArcRows.of(EMPTY)
    u = np.zeros(1, np.int32)
    with pytest.raises(ValueError, match="fit together"):
        _core.changing_pairs(rows.arrays(), u, u, np.zeros(2, np.int64), np.zeros(1, np.int64), 0)
    broken = (rows.start[:3], *rows.arrays()[1:])
    with pytest.raises(ValueError, match="fit together"):
        _core.changing_pairs(broken, u, u, np.zeros(1, np.int64), np.zeros(1, np.int64), 0)
