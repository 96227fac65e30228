"""Effort settings of the compiled searches."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

import numpy as np

from hopbytes._arrays import Int64

#: With at most so many tasks, searches over all pairs pay off on any pattern, and there is time for a
#: population of them; with more tasks only where most tasks communicate with each other.
FEW_TASKS = 400


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Localised FM: see ``core/local_search.hpp``.

    Parameters
    ----------
    rounds : int
        Passes over the boundary; the refinement ends after a pass without gain.
    fruitless_moves : int
        Consecutive moves without a new best after which one search stops.
    seeds : int
        Boundary vertices from which one search starts: fewer are slower and better.
    flow_rounds : int
        Passes of minimum cuts between pairs of blocks (``core/flow.hpp``); 0 turns them off.
    flow_width : int
        Load of the region on each side of a boundary, in units of the free room of the blocks.
    overload_percent : int
        Temporary overload of blocks in unconstrained FM, in per cent; 0 turns it off. During one uncoarsening
        it falls to a third, but not below 10, after every attempt without a gain.
    """

    rounds: int = 10
    fruitless_moves: int = 40
    seeds: int = 25
    flow_rounds: int = 0
    flow_width: int = 16
    overload_percent: int = 0


DEFAULT_SEARCH = SearchSettings()
#: Names of its settings, which are options of several algorithms.
SEARCH_OPTIONS = tuple(field.name for field in fields(SearchSettings))


@dataclass(frozen=True, slots=True)
class PartitionSettings:
    """Effort of one multilevel partition: see ``core/multilevel.hpp`` and ``core/partition.hpp``.

    Parameters
    ----------
    repetitions : int
        Independent repetitions with different coarsenings, in parallel, of which the best is kept. 0: one,
        and only for groups without a candidate.
    recombinations : int
        Recombinations of the best repetition with the others; beyond those, V-cycles.
    initial_partitions : int
        Initial partitions per repetition, compared at the contraction limit.
    contraction_limit : int
        Number of vertices of the graph on which initial partitions are compared.
    coarsest : int
        Vertices per block of the smallest graph.
    region_growings : int
        Grown bisections per initial bisection.
    coarse_recombinations : int
        Recombinations of the initial partitions.
    bisection_repetitions : int
        Repetitions of every bisection where sizes are exact (``core/exact.hpp``), of which the best is kept;
        one V-cycle less follows a recursive bisection.
    shared_hierarchies : int
        Coarsening hierarchies of a large graph that recombined repetitions share. Half of them serve one
        repetition each. On each of the others several repetitions (at most one per 4000 vertices of the
        graph) are made and recombined on a graph of about 4000 vertices (at least 240 per block), and only
        the best one is uncoarsened. 0, or no fewer than `repetitions`: every repetition has its own.
    """

    repetitions: int = 1
    recombinations: int = 0
    initial_partitions: int = 4
    contraction_limit: int = 1500
    coarsest: int = 60
    region_growings: int = 4
    coarse_recombinations: int = 1
    bisection_repetitions: int = 1
    shared_hierarchies: int = 0
    search: SearchSettings = DEFAULT_SEARCH

    @property
    def repeats(self) -> int:
        """Approximate number of partitions of the smallest graph."""
        once = max(1, self.initial_partitions) + self.coarse_recombinations
        once *= max(1, self.region_growings) * max(1, self.bisection_repetitions)
        return max(1, self.repetitions) * once + self.recombinations

    def array(self, threads: int) -> Int64:
        """Return the settings as the array that compiled code takes."""
        own = (
            self.repetitions, self.recombinations, threads, self.initial_partitions,
            self.contraction_limit, self.coarsest, self.region_growings,
            self.coarse_recombinations, max(1, self.bisection_repetitions), self.shared_hierarchies,
        )  # fmt: skip
        return np.array([*own, *astuple(self.search)], np.int64)
