"""What evaluate() found, as data: the metrics of a mapping and of what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hopbytes.cost.metrics.link_metrics import Dilation, HotLink
from hopbytes.cost.metrics.placement import PlacementMetrics


@dataclass(frozen=True, slots=True)
class TasksPerUnit:
    """How tasks spread over the units of one level (nodes, packages): fewest and most per used unit."""

    level: str
    units: int
    used: int
    fewest: int
    most: int


@dataclass(frozen=True, slots=True)
class Measurements:
    """All metrics of a mapping, and of what it is compared with.

    Parameters
    ----------
    mapping : PlacementMetrics
    in_order : PlacementMetrics or None
        Tasks in order of their numbers where a launcher puts them by itself, see `launcher`
        (:func:`hopbytes.cost.metrics.baselines.in_order`); None without baselines.
    random : tuple of PlacementMetrics
        One per seed, the same number of tasks per PE; empty without baselines.
    tasks, pes : int
        Size of the two sides.
    total_volume : int
        Of all arcs, those of a task to itself included.
    diagonal_share : float
        Share of the volume that tasks send to themselves; no metric counts it.
    messages_known : bool
        False when the source had no message counts and every arc counts as one message.
    scale : int
        Volumes here are the source's numbers times this.
    tasks_per_unit : tuple of TasksPerUnit
        Per named level, outermost first, without the innermost.
    dilation : tuple of Dilation
        How far arcs between nodes go, on machines with links.
    hottest : tuple of HotLink
        The ten most congested links and what crosses them, on machines with links.
    launcher : str
        The order that `in_order` stands for: "fill" (``mpirun``), "block" (``srun``), ...
    recorded : PlacementMetrics or None
        The placement under which the pattern was recorded, where the recording names the hosts of ranks.
    """

    mapping: PlacementMetrics
    in_order: PlacementMetrics | None
    random: tuple[PlacementMetrics, ...]
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
    recorded: PlacementMetrics | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values in a stable order; the mapping's own metrics stand at the top level."""
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
            names = Dilation.__slots__
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
    """Merge equal structures: numbers become mean, min and max; names and distances stay."""
    first = samples[0]
    if isinstance(first, dict):
        return {
            key: first[key] if key in ("name", "distance") else _spread([one[key] for one in samples])
            for key in first
        }
    if isinstance(first, list):
        return [_spread(list(column)) for column in zip(*samples, strict=True)]
    return {"mean": sum(samples) / len(samples), "min": min(samples), "max": max(samples)}
