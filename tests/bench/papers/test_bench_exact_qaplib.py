"""The benchmarks of exact blocks and of quadratic assignment: what they read, cut out and recount."""

import numpy as np
import pytest

from bench.instances import graphs
from bench.papers import qaplib
from bench.studies import exact


def test_ours_is_exact_and_cuts_are_recounted():
    mesh = graphs.grid(10, 10)
    piece = exact.Piece("grid", "block", mesh)
    parts, seconds = exact.ours([piece, piece], 4, 0, exact.PartitionSettings())
    assert seconds >= 0
    assert len(parts) == 2
    assert all(exact.is_exact(part, 4) for part in parts)
    halves = np.repeat([0, 1], 50)
    assert exact.cut_of(mesh, halves) == 10
    assert not exact.is_exact(np.array([0, 0, 0, 1]), 2)
    assert exact.is_exact(np.array([0, 0, 1]), 2)


@pytest.fixture
def small(tmp_path):
    # Two pairs that talk, distances of a line; the best puts pairs side by side: 2 x (5 + 7).
    path = tmp_path / "mine4.dat"
    path.write_text("4 24\n0 0 5 0\n0 0 0 7\n5 0 0 0\n0 7 0 0\n\n0 1 2 3\n1 0 1 2\n2 1 0 1\n3 2 1 0\n")
    return path


def test_instances_are_read_and_judged(small):
    instance = qaplib.read_instance(small)
    assert (instance.name, instance.best_known, instance.family) == ("mine4", 24, "mine")
    assert np.count_nonzero(instance.flow) == 4
    assert instance.cost(np.array([0, 2, 1, 3])) == 24
    assert instance.cost(np.arange(4)) == 2 * (5 * 2 + 7 * 2)
