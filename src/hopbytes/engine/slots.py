"""One task per slot: exchanges, chains of them, greedy constructions, and repartitioning of units."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.engine.control import DEFAULT_CONTROL, MOST, SMALL, RunControl, call_size
from hopbytes.engine.problem import Call, SearchProblem
from hopbytes.kernels.base import compiled, kernel
from hopbytes.kernels.records import ALL_PAIRS, BLOCKS, LISTED_PAIRS, NEAR_PAIRS


class Searched(NamedTuple):
    """A mapping, and the numbers of exchanges evaluated and made."""

    pe: Int32
    evaluations: int
    swaps: int
    settled: bool = False  #: a descent left it, which ended by itself


def _searched(
    search: Any, problem: SearchProblem, pe: Int32, control: RunControl, size: int, *arguments: Any
) -> tuple[Searched, int]:
    """Run a search that changes a copy of `pe`; return its result, and the number of other gains."""
    counted, result = np.zeros(4, np.int64), pe.copy()
    Call.prepare(problem, control).run(search, size, *arguments, result, counted)
    evaluations, swaps, others, _ = counted.tolist()
    return Searched(result, evaluations, swaps), others


def pair_search(
    kind: int, problem: SearchProblem, pe: Int32, capacities: Int64, *, reach: int = 0,
    order: Int32 | None = None, control: RunControl = DEFAULT_CONTROL,
) -> Searched:
    """Exchange two tasks at a time until no pair of one kind has a gain (``assignment/pair_search.hpp``).

    `order` has the tasks in the order of their first visit, or the two tasks of every listed pair.
    """
    turns = np.empty(0, np.int32) if order is None else order
    most = {ALL_PAIRS: len(pe), BLOCKS: reach, NEAR_PAIRS: len(pe), LISTED_PAIRS: 0}[kind]
    size = len(problem.csr.targets) + len(turns) + len(pe) * min(most, len(pe))
    return _searched(kernel.pair_search, problem, pe, control, size, kind, reach, turns, capacities)[0]


def place_greedily(
    problem: SearchProblem, room: Int64, *, linked: bool, control: RunControl = DEFAULT_CONTROL
) -> Int32:
    """Repeatedly assign the task with the largest volume to assigned tasks (``constructions.hpp``)."""
    call = Call.prepare(problem, control)
    names, bit_costs, rows = call.distances
    result = np.empty(problem.csr.n, np.int32)
    labels, _, table = problem.distances
    if labels is None or table is None:  # sums of distances to all assigned tasks must not overflow either
        each = [array for array in (bit_costs, rows) if array is not None]
        most = max(int(array.max(initial=0)) for array in each) * max(len(result), len(room))
        less = max(0, most.bit_length() - MOST.bit_length())
        bit_costs, rows = (None if array is None else array >> less for array in (bit_costs, rows))
    call.run(
        lambda graph, _, __, control: kernel.place_greedily(
            graph, (names, bit_costs, rows), control, linked, room, result
        ),
        len(problem.csr.targets) + len(result) * (1 if table is None else len(room)),
    )
    return result


def chain_search(
    problem: SearchProblem, pe: Int32, capacities: Int64, order: Int32, fruitless_exchanges: int, budget: int,
    *, control: RunControl = DEFAULT_CONTROL,
) -> Searched:
    """Make chains of exchanges, also with losses (``core/assignment/chains.hpp``).

    A chain ends after so many consecutive exchanges without a new best; `budget` is about the number of edges
    to scan.
    """
    size = min(SMALL, len(problem.csr.targets) * (fruitless_exchanges + 1))
    return _searched(
        kernel.chain_search, problem, pe, control, size, fruitless_exchanges, budget, order, capacities
    )[0]


def repartition_pairs(
    problem: SearchProblem, pe: Int32, unit_start: Int64, pairs: Int32, *, new_bisections: int = 1,
    rounds: int = 3, budget: int = 2**40, control: RunControl = DEFAULT_CONTROL,
) -> tuple[Searched, int]:
    """Bisect the tasks of pairs of units again (``core/assignment/pairwise_repartition.hpp``).

    A pair gets so many new bisections in addition to the current one. After the first of the `rounds` only
    pairs with a unit that has changed are visited; `budget` is about the number of edges to scan.
    """
    room = np.full(int(unit_start[-1]), len(problem.csr.indptr), np.int64)
    options = {
        "new_bisections": new_bisections, "rounds": rounds, "budget": budget, "threads": control.threads,
    }  # fmt: skip
    return _searched(
        compiled.repartition_pairs, problem, pe, control, call_size(problem.csr, room) * (1 + new_bisections),
        np.ascontiguousarray(pairs, np.int32).reshape(-1), unit_start, options, control.seed_word, room,
    )


#: With at least so many tasks per PE, a task has so many partners that a descent over a pattern without
#: locality takes minutes. It then ends at so many scanned edges per arc and task; on meshes 20 suffice.
MANY_PER_PE, WORK_OF_MANY = 8, 256


@frozen
class SwapSettings:
    """Effort of a search by exchanges, see :class:`hopbytes.algorithms.refiners.swap.Swap`."""

    all_pairs_up_to: int = 1024
    reach: int = 64  # its option `neighbourhood`
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
    problem: SearchProblem, pe: Int32, capacities: Int64, settings: SwapSettings = DEFAULT_SWAPS, *,
    settled: Int32 | None = None, control: RunControl = DEFAULT_CONTROL,
) -> Searched:
    """Lower the communication cost by exchanges of two tasks.

    `settled` is a mapping that such a search left as `settled`: only what has moved since is searched again.
    """
    options = asdict(settings) | {"threads": control.threads}
    found, settles = _searched(
        compiled.swap_refine, problem, pe, control, call_size(problem.csr, capacities) * settings.repeats,
        capacities, control.seed_word, options, np.empty(0, np.int32) if settled is None else settled,
    )
    return found._replace(settled=bool(settles))
