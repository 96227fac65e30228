"""The fit of times by metrics: coefficients known in advance, groups, collinear columns, faults."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.cost.metrics.mapping_metrics import measure, measure_all
from hopbytes.errors import FormatError
from hopbytes_laboratory.regression import SYMBOLS, explain_times, metric_columns


def standardised(values):
    return (values - values.mean()) / values.std()


def test_coefficients_come_back():
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 200))
    times = 7 * (1 + 0.2 * standardised(a) + 0.05 * standardised(b))
    found = explain_times({"a": 1e9 * a, "b": b + 50, "c": c}, times)
    assert found.coefficients["a"] == pytest.approx(0.2, abs=0.002)
    assert found.coefficients["b"] == pytest.approx(0.05, abs=0.002)
    assert found.coefficients["c"] == pytest.approx(0, abs=0.002)
    assert next(iter(found.coefficients)) == "a"
    assert found.explained > 0.999
    assert found.residual < 0.01


def test_metrics_that_would_speed_things_up_get_nothing():
    rising = np.arange(10.0)
    found = explain_times({"up": rising, "down": -rising}, 5 - rising / 10)
    assert found.coefficients["up"] == 0
    assert found.coefficients["down"] > 0


def test_groups_are_compared_inside_only():
    """Between groups times rise with x, inside they fall: only the inside counts."""
    x = np.array([0, 1, 2, 100, 101, 102.0])
    times = [3, 2, 1, 300, 200, 100]
    assert explain_times({"x": x}, times).coefficients["x"] > 0
    inside = explain_times({"x": x}, times, groups=["a"] * 3 + ["b"] * 3)
    assert inside.coefficients["x"] == 0
    falling = explain_times({"x": -x}, times, groups=["a"] * 3 + ["b"] * 3)
    assert falling.coefficients["x"] == pytest.approx(np.sqrt(2 / 3) / 2)
    assert falling.explained == pytest.approx(1)


def test_constant_columns_are_dropped_and_collinear_ones_named():
    rng = np.random.default_rng(2)
    a = rng.normal(size=50)
    found = explain_times(
        {"a": a, "twin": 3 * a + 1, "flat": np.full(50, 1e18), "other": rng.normal(size=50)}, 2 + 0.1 * a
    )
    assert found.dropped == ("flat",)
    assert found.interchangeable == (("a", "twin"),)
    assert found.correlations["a", "twin"] == pytest.approx(1)
    expected = a.std() * 0.1 / np.mean(2 + 0.1 * a)
    assert found.coefficients["a"] + found.coefficients["twin"] == pytest.approx(expected)


def test_the_columns_of_the_paper():
    where = hb.allocate("torus:3x3 / core:2")
    graph = hb.CommGraph.from_edges(range(17), range(1, 18), range(1, 18))
    rng = np.random.default_rng(0)
    runs = [measure_all(graph, where, rng.permutation(18).astype(np.int32)) for _ in range(20)]
    columns = metric_columns(runs)
    assert list(columns) == list(SYMBOLS)
    assert len(columns) == 14
    found = explain_times(columns, [1 + run.links.hop_bytes for run in runs])
    assert found.coefficients["WH"] > 0
    assert set(found.dropped) >= {"TV", "TM"}  # one task per core: the same for every placement
    with pytest.raises(FormatError, match="run 0 has no"):
        metric_columns([measure(graph, where, np.arange(18, dtype=np.int32))])


@pytest.mark.parametrize(("columns", "times", "said"), [
    ({"a": [1, 2]}, [1], "1 times"), ({"a": [1]}, [1, 2], "1 2"),
    ({"a": [1, np.nan]}, [1, 2], "finite"), ({"a": [1, 2]}, [0, 1], "times > 0"), ({}, [1, 2], "columns"),
    ({"a": [3, 3]}, [1, 2], "no column varies"),
])
def test_faults(columns, times, said):
    with pytest.raises(FormatError, match=mentions(*said.split())):
        explain_times(columns, times)
