"""The common arguments of compiled searches on a graph, and how such a search is run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes._frozen import frozen
from hopbytes.engine.control import RunControl, interruptible, rescale_linear_cost
from hopbytes.engine.distances import prepare
from hopbytes.engine.search_problem import SearchProblem
from hopbytes.kernels.base import optional
from hopbytes.kernels.linear_cost import as_arrays

Result = TypeVar("Result")


@frozen(eq=False)
class Call:
    """Arguments shared by compiled searches (``core/bindings/search_arguments.hpp``), see :meth:`prepare`.

    `graph` consists of indptr, targets, weights and loads; `distances` of labels, bit costs and table;
    `linear_cost` of row starts, blocks, costs and costs on unlisted blocks; `control_arrays` of the control
    flag; the scanned edges and their span. Numbers are scaled so that sums cannot overflow; missing arrays
    are empty.
    """

    graph: tuple[Int64, Int32, Int64, Int64]
    distances: tuple[UInt64, Int64, Int64]
    linear_cost: tuple[Int64, Int32, Int64, Int64]
    control_arrays: tuple[Int32, Int64]
    control: RunControl

    @classmethod
    def prepare(cls, problem: SearchProblem, control: RunControl) -> Call:
        """Scale numbers that could overflow and convert arguments to the form that compiled code takes."""
        indptr, targets, weights = problem.csr
        seen, distances, scale = prepare(weights, len(targets), problem.distances, control.threads)
        costs = as_arrays(rescale_linear_cost(problem.linear_cost, weights, len(targets), scale))
        graph = (indptr, targets, optional(seen), optional(problem.loads))
        return cls(graph, distances, costs, (control.flag(), np.zeros(2, np.int64)), control)

    def run(self, work: Callable[[], Result], size: int) -> Result:
        """Call `work` with these arguments under :func:`interruptible`."""
        flag, spent = self.control_arrays
        return interruptible(work, flag, self.control, size, spent)
