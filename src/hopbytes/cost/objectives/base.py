"""The base class of objectives: functions of a mapping that are minimized."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.util.registry import Registry

_ON_LINKS = ("hops", "hop_bytes", "hybrid", "max_congestion", "max_messages")
objectives: Registry[type[Objective]] = Registry(
    "objective", "hopbytes.cost.objectives",
    modules=dict.fromkeys(_ON_LINKS, "hopbytes.cost.objectives.on_links"),
)  # fmt: skip


class Objective(ABC):
    """A function of a mapping that is minimized. Subclasses are frozen dataclasses; fields are settings.

    Different kernels optimise the two families: a *distance sum* adds one term per pair of tasks, so the gain
    of exchanging two tasks takes O(degree); *link loads* depend on the routes of all arcs.
    """

    __slots__ = ()
    symbol: ClassVar[str]
    unit: ClassVar[str]
    meaning: ClassVar[str]
    family: ClassVar[Literal["distance sum", "link loads"]]

    @abstractmethod
    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int | float:
        """Return the value of the mapping `pe` (int32[n]) from the definition; integers are exact."""

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return a graph and an allocation on which J equals this objective, if it is a distance sum.

        Other objectives return their arguments, if the machine has routes: minimizing J gives the mapping
        from which their search starts.
        """
        if self.family == "link loads":
            self.value(graph, where, np.zeros(graph.n, np.int32))
        return graph, where
