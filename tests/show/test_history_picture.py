"""J over time as a picture: every improvement is a mark with its numbers, and lines only fall."""

import numpy as np

from hopbytes.show.bars import CostHistory, history_panel
from hopbytes.show.marks import SERIES, Line, Rectangle, Words


def history(seconds, costs, end):
    return CostHistory(np.array(seconds), np.arange(len(costs)) * 7, np.array(costs), end)


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
    assert {"900", "400", "2 s", "best J"} <= set(words)
    assert steps[1][-1][0] == 840 - 20  # the longer search ends at the right


def test_a_search_that_never_improved_and_took_no_time():
    panel = history_panel({"a": history([0.0], [5], 0.0)}, {"a": SERIES[1]})
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    assert all(0 <= x <= panel.width for line in lines for x, _ in line.points)
