"""J over time and performance profiles: numbers, and the picture of a history."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.show.bars import CostHistory, cost_history, history_panel
from hopbytes.show.marks import SERIES, Line, Rectangle, Words
from hopbytes.show.plot import performance_profile


def test_history_descends_to_the_cost_of_the_mapping():
    graph = hb.read("stencil:8x8:bytes=1000")
    mapping = hb.map_tasks(graph, hb.allocate("node:4@10 core:16@1"), "strong")
    found = cost_history(mapping)
    seconds, arcs, costs = zip(*found.steps, strict=True)
    assert np.all(np.diff(costs) < 0)
    assert np.all(np.diff(seconds) >= 0)
    assert np.all(np.diff(arcs) >= 0)
    assert costs[-1] == mapping.comm_cost
    assert found.end >= seconds[-1]


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


def history(seconds, costs, end):
    steps = enumerate(zip(seconds, costs, strict=True))
    return CostHistory([(second, 7 * number, cost) for number, (second, cost) in steps], end)


def test_steps_fall_and_every_improvement_has_its_numbers():
    both = {"a": history([0.001, 0.5], [900, 400], 1.0), "b": history([0.25], [600], 2.0)}
    panel = history_panel(both, {"a": SERIES[1], "b": SERIES[2]})
    tips = [mark.tip for mark in panel.marks if isinstance(mark, Rectangle) and mark.tip]
    assert tips == [
        "a: J 900 after 1 ms, 0 scanned edges", "a: J 400 after 500 ms, 7 scanned edges",
        "b: J 600 after 250 ms, 0 scanned edges",
    ]  # fmt: skip
    steps = [mark.points for mark in panel.marks if isinstance(mark, Line) and mark.width > 1]
    assert [len(points) for points in steps] == [5, 3]
    for points in steps:
        across, down = zip(*points, strict=True)
        assert list(across) == sorted(across)
        assert list(down) == sorted(down)  # downwards on the page is less
    words = [mark.text for mark in panel.marks if isinstance(mark, Words)]
    assert {"900", "400", "best J"} <= set(words)
    axis = [mark for mark in panel.marks if isinstance(mark, Words) and mark.text in ("0 s", "1 s", "2 s")]
    assert [mark.text for mark in axis] == ["0 s", "1 s", "2 s"]
    assert axis[1].left - axis[0].left == axis[2].left - axis[1].left > 0
    assert steps[1][-1][0] == 840 - 20  # the longer search ends at the right


def test_a_search_that_never_improved_and_took_no_time():
    panel = history_panel({"a": history([0.0], [5], 0.0)}, {"a": SERIES[1]})
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    assert all(0 <= x <= panel.width for line in lines for x, _ in line.points)
