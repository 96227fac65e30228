"""Fit latency and bandwidth to measured times of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError


@frozen
class Fit:
    """Latency in seconds, bandwidth in bytes per second, and the largest relative error of the fit."""

    latency: float
    bandwidth: float
    error: float

    def seconds(self, size: float) -> float:
        """Return the predicted time of a message of `size` bytes."""
        return self.latency + size / self.bandwidth


def fit(times: Mapping[int, Sequence[float]]) -> Fit:
    """Fit ``latency + size / bandwidth`` to times of messages.

    >>> line = fit({0: [1e-6, 1e-6, 5e-6], 1000: [2e-6], 10000: [11e-6]})
    >>> round(line.latency * 1e6, 3), round(line.bandwidth / 1e9, 3)
    (1.0, 1.0)
    """
    sizes = sorted(times)
    seconds = np.array([median(times[size]) for size in sizes])
    if len(sizes) < 2 or seconds.min() <= 0:
        what = "fewer than two sizes, or times of 0"
        raise FormatError("measure", None, f"{what}, expected a sweep of sizes with times above 0")
    bytes_sent = np.array(sizes, float)
    weighted = np.column_stack([1 / seconds, bytes_sent / seconds])
    (latency, per_byte), *_ = np.linalg.lstsq(weighted, np.ones(len(sizes)), rcond=None)
    if latency < 0:
        latency = 0.0
        per_byte = float((weighted[:, 1] @ np.ones(len(sizes))) / (weighted[:, 1] @ weighted[:, 1]))
    if per_byte <= 0:
        what = "the times of messages do not increase with their size"
        raise FormatError("measure", None, f"{what}, expected increasing times")
    predicted = latency + per_byte * bytes_sent
    return Fit(float(latency), float(1 / per_byte), float(np.abs(predicted / seconds - 1).max()))
