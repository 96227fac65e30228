"""One task per slot: exchanges, chains of them, greedy constructions, and repartitioning of units."""

from __future__ import annotations

from dataclasses import asdict
from typing import NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.control import DEFAULT_CONTROL, MOST, SMALL, RunControl, call_size
from hopbytes.engine.problem import Call, SearchProblem
from hopbytes.kernels.base import compiled, kernel
from hopbytes.kernels.records import ALL_PAIRS, BLOCKS, NEAR_PAIRS

__all__ = ["ALL_PAIRS", "BLOCKS", "NEAR_PAIRS", "Searched", "pair_search", "place_greedily"]


class Searched(NamedTuple):
    """A mapping, and the numbers of exchanges evaluated and made."""

    pe: Int32
    evaluations: int
    swaps: int


def pair_search(
    kind: int,
    problem: SearchProblem,
    pe: Int32,
    capacities: Int64,
    *,
    reach: int = 0,
    order: Int32 | None = None,
    control: RunControl = DEFAULT_CONTROL,
) -> Searched:
    """Exchange two tasks at a time until no pair of one kind has a gain (``assignment/pair_search.hpp``)."""
    call = Call.prepare(problem, control)
    counted, result = np.zeros(2, np.int64), pe.copy()
    turns = np.empty(0, np.int32) if order is None else order
    most = {ALL_PAIRS: len(pe), BLOCKS: reach, NEAR_PAIRS: len(pe)}[kind]
    call.run(
        lambda: kernel.pair_search(
            call.graph, call.distances, call.linear_cost, call.control_arrays, kind, reach, turns, capacities,
            result, counted,
        ),
        len(problem.csr.targets) + len(pe) * min(most, len(pe)),
    )
    return Searched(result, int(counted[0]), int(counted[1]))


def place_greedily(
    problem: SearchProblem, room: Int64, *, linked: bool, control: RunControl = DEFAULT_CONTROL
) -> Int32:
    """Repeatedly assign the task with the largest volume to assigned tasks (``constructions.hpp``)."""
    call = Call.prepare(problem, control)
    names, costs, rows = call.distances
    result = np.empty(problem.csr.n, np.int32)
    labels, _, table = problem.distances
    if labels is None or table is None:  # sums of distances to all assigned tasks must not overflow either
        most = max(int(costs.max(initial=0)), int(rows.max(initial=0))) * max(len(result), len(room))
        less = max(0, most.bit_length() - MOST.bit_length())
        costs, rows = costs >> less, rows >> less
    call.run(
        lambda: kernel.place_greedily(
            call.graph, (names, costs, rows), call.control_arrays, linked, room, result
        ),
        len(problem.csr.targets) + len(result) * (1 if table is None else len(room)),
    )
    return result


@frozen
class ChainSettings:
    """Effort of a search by chains of exchanges."""

    fruitless_exchanges: int  # number of consecutive exchanges without a new best after which a chain ends
    budget: int  # approximate number of edges to scan


def chain_search(
    problem: SearchProblem,
    pe: Int32,
    capacities: Int64,
    order: Int32,
    settings: ChainSettings,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> Searched:
    """Make chains of exchanges, also with losses (``core/assignment/chains.hpp``).

    The parameters are those of :func:`hopbytes.engine.slots.pair_search` and the following.
    """
    call = Call.prepare(problem, control)
    counted, result = np.zeros(2, np.int64), pe.copy()
    call.run(
        lambda: kernel.chain_search(
            call.graph, call.distances, call.linear_cost, call.control_arrays, settings.fruitless_exchanges,
            settings.budget, order, capacities, result, counted,
        ),
        min(SMALL, len(problem.csr.targets) * (settings.fruitless_exchanges + 1)),
    )
    return Searched(result, int(counted[0]), int(counted[1]))


@frozen
class RepartitionSettings:
    """The effort of pairwise repartitioning."""

    new_bisections: int = 1  # number of new bisections of a pair of units, in addition to the current one
    #: number of passes over the pairs; later passes visit only pairs with a unit that has changed
    rounds: int = 3
    budget: int = 2**40  # approximate number of edges to scan
    threads: int = 1  # number of threads; the result does not depend on it


def repartition_pairs(
    problem: SearchProblem,
    pe: Int32,
    unit_start: Int64,
    pairs: Int32,
    settings: RepartitionSettings,
    *,
    control: RunControl = DEFAULT_CONTROL,
) -> tuple[Searched, int]:
    """Bisect the tasks of pairs of units again (``core/assignment/pairwise_repartition.hpp``)."""
    call = Call.prepare(problem, control)
    counted, result = np.zeros(4, np.int64), pe.copy()
    room = np.full(int(unit_start[-1]), len(problem.csr.indptr), np.int64)
    flat = np.ascontiguousarray(pairs, np.int32).reshape(-1)
    options = asdict(settings)
    call.run(
        lambda: compiled.repartition_pairs(
            call.graph, call.distances, call.linear_cost, call.control_arrays, flat, unit_start, options,
            control.seed_word, room, result, counted,
        ),
        call_size(problem.csr, room) * (1 + settings.new_bisections),
    )
    return Searched(result, int(counted[0]), int(counted[1])), int(counted[2])


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
