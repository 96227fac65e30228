"""The fit of times by metrics: coefficients known in advance, groups, collinear columns, faults."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.errors import mentions
from hopbytes.errors import FormatError
from hopbytes_laboratory.regression import explain_times


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


@pytest.mark.parametrize(("columns", "times", "said"), [
    ({"a": [1, 2]}, [1], "1 times"), ({"a": [1]}, [1, 2], "1 2"),
    ({"a": [1, np.nan]}, [1, 2], "finite"), ({"a": [1, 2]}, [0, 1], "times > 0"), ({}, [1, 2], "columns"),
    ({"a": [3, 3]}, [1, 2], "no column varies"),
])
def test_faults(columns, times, said):
    with pytest.raises(FormatError, match=mentions(*said.split())):
        explain_times(columns, times)
