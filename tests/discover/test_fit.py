"""Latency and bandwidth fitted to measured times."""

import numpy as np
import pytest

from hopbytes.discover.measure import SIZES, fit
from hopbytes.errors import FormatError


@pytest.mark.parametrize(("latency", "bandwidth"), [(2e-6, 1e9), (1e-7, 5e10), (0.0, 1e9)])
def test_fit_finds_a_line(latency, bandwidth):
    found = fit({size: [latency + size / bandwidth] * 5 for size in SIZES})
    assert found.latency == pytest.approx(latency, abs=1e-12)
    assert found.bandwidth == pytest.approx(bandwidth)
    assert found.error < 1e-6


def test_fit_takes_medians_and_counts_relative_errors():
    rng = np.random.default_rng(1)
    times = {size: ((1e-6 + size / 1e9) * (1 + 0.02 * rng.standard_normal(9))).tolist() for size in SIZES}
    for batches in times.values():
        batches[0] *= 50  # somebody else used the core
    found = fit(times)
    assert found.latency == pytest.approx(1e-6, rel=0.05)
    assert found.bandwidth == pytest.approx(1e9, rel=0.05)


def test_fit_never_has_a_latency_below_zero():
    assert fit({10: [1e-9], 1000: [1.1e-6], 100000: [1.3e-4]}).latency == 0


@pytest.mark.parametrize("times", [{}, {1: [1e-6]}, {1: [0.0], 2: [1e-6]}, {1: [1e-3], 10**6: [1e-6]}])
def test_times_that_make_no_line(times):
    with pytest.raises(FormatError, match="measure"):
        fit(times)
