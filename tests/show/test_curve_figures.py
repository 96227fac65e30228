"""J over time and performance profiles."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.show.bars import cost_history
from hopbytes.show.plot import performance_profile


def test_history_descends_to_the_cost_of_the_mapping():
    graph = hb.read("stencil:8x8:bytes=1000")
    mapping = hb.map_tasks(graph, hb.allocate("node:4@10 core:16@1"), "strong")
    found = cost_history(mapping)
    assert np.all(np.diff(found.costs) < 0)
    assert np.all(np.diff(found.seconds) >= 0)
    assert np.all(np.diff(found.arcs) >= 0)
    assert found.costs[-1] == mapping.comm_cost
    assert found.end >= found.seconds[-1]


def test_history_of_a_mapping_made_by_hand():
    with pytest.raises(hb.UnsupportedError, match="no history of J"):
        cost_history(hb.Mapping([0, 1], hb.allocate("core:2")))


def test_profiles_of_three_contenders():
    values = {
        "a": {"x": 10, "y": 30, "z": 5},
        "b": {"x": 20, "y": 10, "z": None},
        "c": {"x": 10, "y": 40},
    }
    found = performance_profile(values)
    assert found.contenders == ("a", "b", "c")
    assert found.factors.tolist() == [1, 2, 3, 4]
    assert (found.shares * 3).round(9).tolist() == [[2, 2, 3, 3], [1, 2, 2, 2], [1, 1, 1, 2]]
    assert found.inputs == 3


def test_profile_of_a_value_of_zero():
    found = performance_profile({"a": {"x": 0, "y": 1}, "b": {"x": 3, "y": 1}})
    assert found.factors.tolist() == [1]
    assert found.shares.tolist() == [[1.0], [0.5]]


def test_an_input_without_values_does_not_count():
    assert performance_profile({"a": {"x": 1, "y": None}}).inputs == 1


@pytest.mark.parametrize("values", [{}, {"a": {}}, {"a": {"x": None}}])
def test_profile_of_nothing(values):
    with pytest.raises(hb.UnsupportedError, match="at least one contender with a value"):
        performance_profile(values)
