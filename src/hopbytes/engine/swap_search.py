"""Refinement of a mapping by exchanges of two tasks."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.call import Call
from hopbytes.engine.control import DEFAULT_CONTROL, RunControl, call_size
from hopbytes.engine.search_problem import SearchProblem
from hopbytes.engine.slots import Searched
from hopbytes.kernels.base import compiled

#: With at least so many tasks per PE, a task has so many partners that a descent over a pattern without
#: locality takes minutes. It then ends at so many scanned edges per arc and task; on meshes 20 suffice.
MANY_PER_PE, WORK_OF_MANY = 8, 256


@frozen
class SwapSettings:
    """Effort of a search by exchanges, see :class:`hopbytes.algorithms.refiners.swap.Swap`."""

    all_pairs_up_to: int = 1024  # largest number of tasks for which every pair is tried
    #: size of the neighbourhood of a task in which partners are searched if there are more tasks
    reach: int = 64
    #: number of independent annealing runs, and number of proposed exchanges per task in each run
    chains: int = 0
    steps: int = 0
    perturbation_work: int = 0  # number of edges to scan during perturbations, per arc and task of the graph
    #: number of scanned edges per arc and task of the graph at which the search ends, but not before 2^26.
    #: With 0 it ends at 4096, but not before 2^32.
    most_work_per_arc: int = 0
    #: percentage of the losses that annealing accepts at the start. With 0 every chain has its own between 50
    #: and 85, which leave little of the given mapping; a low one improves a good mapping in fewer steps.
    hot_percent: int = 0

    @property
    def repeats(self) -> int:
        """Approximate number of passes over the graph."""
        return 1 + self.chains * self.steps + self.perturbation_work


DEFAULT_SWAPS = SwapSettings()


def swap_refine(
    problem: SearchProblem,
    pe: Int32,
    capacities: Int64,
    settings: SwapSettings = DEFAULT_SWAPS,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> Searched:
    """Lower the communication cost by exchanges of two tasks."""
    call = Call.prepare(problem, control)
    counted, result = np.zeros(2, np.int64), pe.copy()
    options = asdict(settings) | {"threads": control.threads}
    call.run(
        lambda: compiled.swap_refine(
            call.graph, call.distances, call.linear_cost, call.control_arrays, capacities, control.seed_word,
            options, result, counted,
        ),
        call_size(problem.csr, capacities) * settings.repeats,
    )
    return Searched(result, int(counted[0]), int(counted[1]))
