"""Explain measured times by metrics: a non-negative least-squares fit."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from hopbytes._arrays import Float64, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.metrics.mapping_metrics import MappingMetrics
from hopbytes.errors import FormatError

Floats = Float64

#: Symbols of the paper and the names of the metrics in :meth:`MappingMetrics.to_dict`.
SYMBOLS = {
    "MSV": "max_send_volume", "TV": "total_send_volume", "MSM": "max_send_messages",
    "TM": "total_send_messages", "WH": "hop_bytes", "TH": "hops", "MC": "max_congestion",
    "MMC": "max_messages", "AC": "avg_congestion", "AMC": "avg_messages", "ICV": "inter_node_volume",
    "ICM": "inter_node_messages", "MNRV": "max_node_receive_volume", "MNRM": "max_node_receive_messages",
}


@frozen
class Regression:
    """The result of a fit of times by metrics."""

    #: change of the relative time (time / mean time of its group) when a metric rises by one standard
    #: deviation; >= 0, largest first
    coefficients: dict[str, float]
    residual: float  # root mean square of the residuals, relative to the mean time
    explained: float  # share of the variance of relative times that is explained
    dropped: tuple[str, ...]  # columns that do not vary inside any group
    correlations: dict[tuple[str, str], float]  # pearson's coefficient of every two columns that were used
    #: pairs with such a high correlation that the fit cannot separate their effects
    interchangeable: tuple[tuple[str, str], ...]


def metric_columns(runs: Sequence[MappingMetrics]) -> dict[str, list[float]]:
    """Return the 14 metrics of the paper, by symbol, for runs on machines with links.

    Raises FormatError if a run lacks one of them; :func:`hopbytes.cost.metrics.mapping_metrics.measure_all`
    computes all.
    """
    rows = [run.to_dict() for run in runs]
    for number, row in enumerate(rows):
        missing = [name for name in SYMBOLS.values() if name not in row]
        if missing:
            what = f"run {number} has no {missing[0]}, expected all metrics of a machine with links"
            raise FormatError("regression", None, what)
    return {symbol: [float(row[name]) for row in rows] for symbol, name in SYMBOLS.items()}


def explain_times(
    columns: Mapping[str, Sequence[float]],
    times: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    collinear: float = 0.92,
) -> Regression:
    """Fit times by a linear combination of metrics with coefficients >= 0.

    Parameters
    ----------
    columns : mapping of str to r numbers
        One metric per column, with a value for each of r runs.
    times : r numbers > 0
    groups : r values, optional
        Runs with the same value are compared with each other, such as (matrix, number of parts); by default
        all runs are.
    collinear : float
        Two columns with at least this correlation are reported as interchangeable.

    Returns
    -------
    Regression

    Raises
    ------
    FormatError
        Columns have different lengths, there are fewer than two runs, a number is not finite, a time is not
        positive, or no column varies.

    Notes
    -----
    Inside each group columns are centred and divided by their standard deviation, and times are divided by
    their mean. Because columns are centred, centring the times as well would have no effect. The fit cannot
    separate collinear columns: interpret `coefficients` together with `interchangeable`. The algorithm is
    that of Lawson and Hanson, from SciPy. Source: Deveci et al., "Fast and high quality topology-aware task
    mapping", IPDPS 2015, which does not state how times were scaled.

    Examples
    --------
    >>> found = explain_times({"WH": [1, 2, 3, 4], "MC": [1, 0, 1, 0]}, [10, 11, 12, 13])
    >>> [name for name, value in found.coefficients.items() if value > 1e-9]
    ['WH']
    """
    names, table, measured, group = _checked(columns, times, groups)
    relative = np.empty(len(measured))
    scaled = np.zeros_like(table)
    for each in range(int(group.max()) + 1):
        members = group == each
        relative[members] = measured[members] / measured[members].mean()
        spread = table[members].std(axis=0)
        centred = table[members] - table[members].mean(axis=0)
        # Equal large numbers may have a standard deviation above 0 because of rounding errors.
        varies = spread > 1e-12 * np.abs(table[members]).max(axis=0)
        scaled[members] = np.where(varies, centred / np.where(varies, spread, 1), 0)
    used = np.flatnonzero(np.any(scaled != 0, axis=0))
    if not len(used):
        raise FormatError("regression", None, "no column varies inside a group, expected at least one")
    from scipy.optimize import nnls

    target = relative - 1.0
    fitted, distance = nnls(scaled[:, used], target)
    total = float(target @ target)
    order = sorted(range(len(used)), key=lambda at: (-fitted[at], names[used[at]]))
    correlations = _correlations([names[at] for at in used], scaled[:, used])
    return Regression(
        coefficients={names[used[at]]: float(fitted[at]) for at in order},
        residual=float(distance) / float(np.sqrt(len(target))),
        explained=1 - float(distance) ** 2 / total if total else 0.0,
        dropped=tuple(name for at, name in enumerate(names) if at not in set(used.tolist())),
        correlations=correlations,
        interchangeable=tuple(pair for pair, value in correlations.items() if value >= collinear),
    )


def _checked(
    columns: Mapping[str, Sequence[float]], times: Sequence[float], groups: Sequence[Hashable] | None
) -> tuple[list[str], Floats, Floats, Int64]:
    measured = np.asarray(times, np.float64)
    if measured.ndim != 1 or len(measured) < 2:
        raise FormatError("regression", None, f"{measured.size} times, expected two or more")
    labels = [0] * len(measured) if groups is None else list(groups)
    for name, values in [*columns.items(), ("groups", labels)]:
        if len(values) != len(measured):
            what = f"{len(values)} values of {name}, expected {len(measured)}, one for each time"
            raise FormatError("regression", None, what)
    names = list(columns)
    table = np.array([[float(value) for value in columns[name]] for name in names], np.float64).T
    finite = bool(np.isfinite(table).all() and np.isfinite(measured).all())
    if not names or not finite or not (measured > 0).all():
        what = "no columns, a number that is not finite, or a time <= 0"
        raise FormatError("regression", None, f"{what}, expected columns of finite numbers and times > 0")
    place = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return names, table, measured, np.array([place[label] for label in labels], np.int64)


def _correlations(names: list[str], scaled: Floats) -> dict[tuple[str, str], float]:
    lengths = np.sqrt((scaled**2).sum(axis=0))
    found = {}
    for a, one in enumerate(names):
        for b in range(a + 1, len(names)):
            found[one, names[b]] = float(scaled[:, a] @ scaled[:, b] / (lengths[a] * lengths[b]))
    return found
