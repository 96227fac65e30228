"""What every compiled search on a graph is given, and the way it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes.engine.control import Spend, interruptible, rescale_linear_cost
from hopbytes.engine.distances import prepare
from hopbytes.kernels.base import optional
from hopbytes.kernels.linear_cost import LinearCost, as_arrays

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Arguments shared by compiled searches (``core/bindings/search_arguments.hpp``), see :meth:`prepare`.

    `graph` is indptr, targets, weights and loads; `distances` labels, bit costs and table; `linear_cost` row
    starts, blocks, costs and rests; `steering` the control word and the arcs looked at. Numbers are within
    bounds, what is missing is an empty array.
    """

    graph: tuple[Int64, Int32, Int64, Int64]
    distances: tuple[UInt64, Int64, Int64]
    linear_cost: tuple[Int64, Int32, Int64, Int64]
    steering: tuple[Int32, Int64]

    @classmethod
    def prepare(
        cls,
        indptr: Int64,
        targets: Int32,
        weights: Int64 | None,
        loads: Int64 | None,
        *,
        labels: UInt64 | None = None,
        bit_costs: Int64 | None = None,
        table: Int64 | None = None,
        linear_cost: LinearCost | None = None,
        control: Int32 | None = None,
    ) -> Call:
        """Scale what could overflow and put it in the form compiled code takes.

        Parameters
        ----------
        indptr, targets, weights, loads
            Symmetric graph without diagonal; None means 1 each.
        labels, bit_costs, table
            See :func:`hopbytes.engine.refine_placement`; none of them where distances play no part.
        unary : Unary or None
            Prices of single tasks, in units of weight times distance with every edge counted once.
        control : int32[2] or None
            Words to share with other calls.
        """
        seen, distances, scale = prepare(weights, len(targets), labels, bit_costs, table)
        priced = as_arrays(rescale_linear_cost(linear_cost, weights, len(targets), scale))
        control = np.zeros(2, np.int32) if control is None else control
        graph = (indptr, targets, optional(seen), optional(loads))
        return cls(graph, distances, priced, (control, np.zeros(1, np.int64)))

    def run(
        self,
        work: Callable[[], Result],
        size: int,
        deadline: float | None,
        spend: Spend | None,
        watch: Callable[[int], None] | None = None,
    ) -> Result:
        """Do `work`, a call with these arguments, as :func:`interruptible` does."""
        control, spent = self.steering
        return interruptible(work, control, deadline, size, watch, spent, spend)
