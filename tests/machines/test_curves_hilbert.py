"""Hilbert's curve visits every cell once and keeps runs of nodes compact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopbytes.machines.geometry import hilbert_order
from hopbytes.machines.spec import parse_machine


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_the_curve_visits_every_cell_once(sizes):
    order = hilbert_order(tuple(sizes))
    assert sorted(order.tolist()) == list(range(int(np.prod(sizes))))


@pytest.mark.parametrize("sizes", [(2,), (8,), (4, 4), (16, 16), (4, 4, 4), (8, 8, 8), (4, 4, 4, 4)])
def test_on_cubes_every_step_goes_to_a_neighbour(sizes):
    places = np.stack(np.unravel_index(hilbert_order(sizes), sizes))
    assert np.all(np.abs(np.diff(places)).sum(axis=0) == 1)


def test_numbering_along_the_curve_keeps_runs_of_nodes_compact():
    by_row = parse_machine("torus:16x16x16")
    curved = parse_machine("torus:16x16x16:order=hilbert")
    assert curved.spec() == "torus:16x16x16:order=hilbert@1"
    run = np.arange(512)
    spread = [machine.network().hops(run[:, None], run[None, :]).mean() for machine in (by_row, curved)]
    assert spread[1] < spread[0]
    assert curved.network().name_endpoint(2) != by_row.network().name_endpoint(2)
