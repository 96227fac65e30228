"""The result of evaluate() as data: the metrics of a mapping and of the baseline mappings."""

from __future__ import annotations

from typing import Any

from hopbytes._frozen import field_names, frozen
from hopbytes.cost.metrics.link_metrics import Dilation, HotLink
from hopbytes.cost.metrics.mapping_metrics import MappingMetrics


@frozen
class TasksPerUnit:
    """Distribution of tasks over the units of one level (nodes, packages): minimum and maximum."""

    level: str
    units: int
    used: int
    fewest: int
    most: int


@frozen
class Measurements:
    """All metrics of a mapping and of the baseline mappings.

    Parameters
    ----------
    mapping : MappingMetrics
    in_order : MappingMetrics or None
        The launcher's default mapping, see `launcher` and
        :func:`hopbytes.cost.metrics.baselines.in_order`; None without baselines.
    random : tuple of MappingMetrics
        One random mapping per seed, with the same number of tasks per PE; empty without baselines.
    tasks, pes : int
        Number of tasks and of PEs.
    total_volume : int
        Volume of all arcs, including those of a task to itself.
    diagonal_share : float
        Share of the volume that tasks send to themselves; it does not enter any metric.
    messages_known : bool
        False if the source had no message counts, so that every arc counts as one message.
    scale : int
        Factor by which the volumes of the source were multiplied.
    tasks_per_unit : tuple of TasksPerUnit
        One entry per named level but the innermost, outermost first.
    dilation : tuple of Dilation
        Arcs between nodes by their number of hops, on machines with links.
    hottest : tuple of HotLink
        The ten most congested links and their traffic, on machines with links.
    launcher : str
        The order of the mapping `in_order`: "fill" (``mpirun``), "block" (``srun``), ...
    recorded : MappingMetrics or None
        The mapping of the recorded run, if the recording names the hosts of ranks.
    """

    mapping: MappingMetrics
    in_order: MappingMetrics | None
    random: tuple[MappingMetrics, ...]
    tasks: int
    pes: int
    total_volume: int
    diagonal_share: float
    messages_known: bool
    scale: int
    tasks_per_unit: tuple[TasksPerUnit, ...]
    dilation: tuple[Dilation, ...] = ()
    hottest: tuple[HotLink, ...] = ()
    launcher: str = "fill"
    recorded: MappingMetrics | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values in a stable order; the metrics of the mapping are at the top level."""
        result = self.mapping.to_dict()
        result |= {
            name: getattr(self, name)
            for name in ("tasks", "pes", "total_volume", "diagonal_share", "messages_known", "scale")
        }
        result["tasks_per_unit"] = {
            unit.level: {"units": unit.units, "used": unit.used, "min": unit.fewest, "max": unit.most}
            for unit in self.tasks_per_unit
        }
        if self.mapping.links is not None:
            names = field_names(Dilation)
            result["dilation"] = [{name: getattr(one, name) for name in names} for one in self.dilation]
            result["hottest_links"] = [link.to_dict() for link in self.hottest]
        if self.in_order is not None:
            result["launcher"] = self.launcher
            result["in_order"] = self.in_order.to_dict()
        if self.recorded is not None:
            result["as_recorded"] = self.recorded.to_dict()
        if self.random:
            result["random"] = {"seeds": len(self.random)} | _spread([one.to_dict() for one in self.random])
        return result


def _spread(samples: list[Any]) -> Any:
    """Merge equal structures: numbers become mean, min and max; names and distances are kept."""
    first = samples[0]
    if isinstance(first, dict):
        return {
            key: first[key] if key in ("name", "distance") else _spread([one[key] for one in samples])
            for key in first
        }
    if isinstance(first, list):
        return [_spread(list(column)) for column in zip(*samples, strict=True)]
    return {"mean": sum(samples) / len(samples), "min": min(samples), "max": max(samples)}
