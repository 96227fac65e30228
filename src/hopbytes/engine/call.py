"""The common arguments of compiled searches on a graph, and how such a search is run."""

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

    `graph` holds indptr, targets, weights and loads; `distances` labels, bit costs and table; `linear_cost`
    row
    starts, blocks, costs and costs on unlisted blocks; `control_arrays` the control flag and the scanned
    edges. Numbers are within bounds; missing arrays are empty.
    """

    graph: tuple[Int64, Int32, Int64, Int64]
    distances: tuple[UInt64, Int64, Int64]
    linear_cost: tuple[Int64, Int32, Int64, Int64]
    control_arrays: tuple[Int32, Int64]

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
        """Scale numbers that could overflow and convert all arguments to the form compiled code takes.

        Parameters
        ----------
        indptr, targets, weights, loads
            Symmetric graph without diagonal; None means 1 each.
        labels, bit_costs, table
            See :func:`hopbytes.engine.refine_placement`; none of them if distances are not used.
        linear_cost : LinearCost or None
            Linear assignment costs, in units of weight times distance with every edge counted once.
        control : int32[2] or None
            Control flag and progress counter to share with other calls.
        """
        seen, distances, scale = prepare(weights, len(targets), labels, bit_costs, table)
        costs = as_arrays(rescale_linear_cost(linear_cost, weights, len(targets), scale))
        control = np.zeros(2, np.int32) if control is None else control
        graph = (indptr, targets, optional(seen), optional(loads))
        return cls(graph, distances, costs, (control, np.zeros(1, np.int64)))

    def run(
        self,
        work: Callable[[], Result],
        size: int,
        deadline: float | None,
        spend: Spend | None,
        watch: Callable[[int], None] | None = None,
    ) -> Result:
        """Call `work` with these arguments under :func:`interruptible`."""
        control, spent = self.control_arrays
        return interruptible(work, control, deadline, size, watch, spent, spend)
