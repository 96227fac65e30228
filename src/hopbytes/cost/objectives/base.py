"""What an objective is: a number to make small, with a name, a symbol, a unit and a meaning."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._util.registry import Registry
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph

objectives: Registry[type[Objective]] = Registry("objective", "hopbytes.cost.objectives")


class Objective(ABC):
    """A number to make small. Subclasses are frozen dataclasses; fields are its settings.

    Two families exist, because they are improved by different kernels: a *distance sum* adds one term
    per pair of tasks, so exchanging two tasks costs O(degree); *link loads* follow routes.
    """

    __slots__ = ()
    symbol: ClassVar[str]
    unit: ClassVar[str]
    meaning: ClassVar[str]
    family: ClassVar[Literal["distance sum", "link loads"]]

    @abstractmethod
    def value(self, graph: CommGraph, where: Allocation, pe: Int32) -> int | float:
        """Return the value of the placement `pe` (int32[n]), from scratch; exact where it is an int."""

    def lowered(self, graph: CommGraph, where: Allocation) -> tuple[CommGraph, Allocation]:
        """Return graph and allocation on which J is this objective, for those that are distance sums.

        Others return what they were given, if the machine has the routes they follow: J is where their
        search starts.

        Raises
        ------
        UnsupportedError
            The machine has no network although the objective needs one.
        """
        if self.family == "link loads":
            self.value(graph, where, np.zeros(graph.n, np.int32))
        return graph, where
