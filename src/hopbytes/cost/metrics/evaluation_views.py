"""The metrics of an evaluation one by one, as a table of pandas, and relative to a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopbytes.cost.metrics.link_metrics import LinkMetrics
from hopbytes.cost.metrics.mapping_metrics import LevelMetrics, MappingMetrics
from hopbytes.cost.metrics.measurements import Measurements
from hopbytes.cost.metrics.traffic import TrafficMetrics
from hopbytes.errors import UnsupportedError, package, unknown_name

if TYPE_CHECKING:
    import pandas

BASELINES = ("in_order", "random", "recorded")


class EvaluationViews(Measurements):
    """Methods of :class:`Evaluation`; the properties are the metrics of the mapping itself."""

    __slots__ = ()

    @property
    def comm_cost(self) -> int:
        """J, the sum over stored arcs of volume x distance."""
        return self.mapping.comm_cost

    @property
    def edge_cut(self) -> int:
        """Volume between different PEs."""
        return self.mapping.edge_cut

    @property
    def imbalance(self) -> float:
        """Largest load of a PE over its fair share, minus one."""
        return self.mapping.imbalance

    @property
    def max_load(self) -> int:
        """Largest sum of task loads on a PE."""
        return self.mapping.max_load

    @property
    def used_pes(self) -> int:
        """PEs with a task."""
        return self.mapping.used_pes

    @property
    def min_tasks_per_pe(self) -> int:
        """Fewest tasks of a PE, empty ones included."""
        return self.mapping.min_tasks_per_pe

    @property
    def max_tasks_per_pe(self) -> int:
        """Most tasks of a PE."""
        return self.mapping.max_tasks_per_pe

    @property
    def mean_distance(self) -> float:
        """Mean distance over arcs, each counting once."""
        return self.mapping.mean_distance

    @property
    def weighted_mean_distance(self) -> float:
        """Mean distance over arcs by volume: J / volume."""
        return self.mapping.weighted_mean_distance

    @property
    def comm_seconds(self) -> float | None:
        """Sum of the times of all messages; None if levels have no latency and bandwidth."""
        return self.mapping.comm_seconds

    @property
    def levels(self) -> tuple[LevelMetrics, ...]:
        """Traffic at each named level of the machine, outermost first."""
        return self.mapping.levels

    @property
    def traffic(self) -> TrafficMetrics | None:
        """Traffic of PEs and nodes."""
        return self.mapping.traffic

    @property
    def links(self) -> LinkMetrics | None:
        """Traffic on links, on machines that have links."""
        return self.mapping.links

    def to_frame(self) -> pandas.DataFrame:
        """Return a table of pandas: a row for every mapping, a column for every metric.

        Returns
        -------
        pandas.DataFrame
            Rows `mapping`, `in_order`, `recorded` (where known) and `random 0`, `random 1` ...; the columns
            are the keys of :meth:`to_dict`, and ``volume_node`` for the volume of level node.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        library = package("pandas", "to_frame()")
        rows = {"mapping": self.mapping, "in_order": self.in_order, "recorded": self.recorded}
        rows |= {f"random {seed}": one for seed, one in enumerate(self.random)}
        known = {name: _row(metrics) for name, metrics in rows.items() if metrics is not None}
        frame: pandas.DataFrame = library.DataFrame.from_dict(known, orient="index")
        return frame

    def relative_to(self, baseline: str = "in_order") -> dict[str, float]:
        """Return by how much every metric differs from that of a baseline: -0.05 is 5 % less.

        Parameters
        ----------
        baseline : {"in_order", "random", "recorded"}
            For "random" the mean over seeds.

        Returns
        -------
        dict of str to float
            ``mapping / baseline - 1`` by the names of :meth:`to_dict`; metrics that are 0 in the baseline are
            left out, except those that are 0 in both, which differ by 0.

        Raises
        ------
        UnsupportedError
            An unknown baseline, or one that was not measured.

        Examples
        --------
        >>> import hopbytes as hb
        >>> pairs = hb.CommGraph.from_edges([0, 1], [2, 3], [5, 5])
        >>> where = hb.allocate("node:2@10 core:2@1")
        >>> round(hb.evaluate(pairs, hb.Mapping([0, 2, 1, 3], where)).relative_to("in_order")["comm_cost"], 2)
        -0.9
        """
        if baseline not in BASELINES:
            raise unknown_name("baseline", baseline, BASELINES)
        found = self.random if baseline == "random" else getattr(self, baseline)
        samples = list(found) if isinstance(found, tuple) else [found]
        if not samples or samples[0] is None:
            raise UnsupportedError(f"baseline {baseline!r} was not measured, or the pattern does not tell it")
        rows = [_row(one) for one in samples]
        ours, result = _row(self.mapping), {}
        for name, value in ours.items():
            base = sum(row[name] for row in rows) / len(rows) if all(name in row for row in rows) else 0
            if base or value == base:
                result[name] = value / base - 1 if base else 0.0
        return result

    def _repr_html_(self) -> str:
        from hopbytes.model.html_table import html_table

        names = ("comm_cost", "mean_distance", "imbalance", "used_pes")
        columns = {"mapping": self.mapping, "in order": self.in_order}
        known = {name: _row(metrics) for name, metrics in columns.items() if metrics is not None}
        if self.random:
            rows = [_row(one) for one in self.random]
            known["random, mean"] = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
        shown = [*names, *(f"volume_{level.name}" for level in self.mapping.levels)]
        cells = [[name, *(column.get(name, "") for column in known.values())] for name in shown]
        return html_table(f"{self.tasks:,} tasks on {self.pes:,} PEs", cells, ["", *known])


def _row(metrics: MappingMetrics) -> dict[str, Any]:
    """Return all metrics that are single numbers, with the volumes of levels."""
    plain = metrics.to_dict()
    levels = plain.pop("levels")
    numbers = {name: value for name, value in plain.items() if isinstance(value, (int, float))}
    return numbers | {f"volume_{level['name']}": level["volume"] for level in levels}
