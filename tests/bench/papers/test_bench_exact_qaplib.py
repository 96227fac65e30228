"""The benchmarks of exact blocks and of quadratic assignment: what they read, cut out and recount."""

import numpy as np
import pytest

from bench.papers import qaplib


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
