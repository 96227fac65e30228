"""How hard the compiled searches try."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

from hopbytes._arrays import Int64

#: Up to so many tasks searches that look at all pairs are worth their time on any pattern, and there is time
#: for a population of them; with more only where most tasks talk to each other.
FEW_TASKS = 400


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Localised FM: see ``core/local_search.hpp``.

    Parameters
    ----------
    rounds : int
        Passes over the boundary; a pass without gain ends it.
    fruitless_moves : int
        Moves without a new best after which one search stops.
    seeds : int
        Boundary vertices one search starts from: fewer is slower and better.
    flow_rounds : int
        Passes of minimum cuts between pairs of blocks (``core/flow.hpp``); 0 turns them off.
    flow_width : int
        Load freed on each side of a seam, in units of the room the blocks have left.
    overload_percent : int
        How far blocks may be overfull for a while, on the way to a better partition; 0 never. On the way up
        from a coarse graph it falls to a third, down to 10, whenever that led nowhere.
    """

    rounds: int = 10
    fruitless_moves: int = 40
    seeds: int = 25
    flow_rounds: int = 0
    flow_width: int = 16
    overload_percent: int = 0


@dataclass(frozen=True, slots=True)
class PartitionSettings:
    """How hard to try one partition: see ``core/multilevel.hpp`` and ``core/partition.hpp``.

    Parameters
    ----------
    repetitions : int
        Independent runs from different coarsenings, side by side; the best is kept. 0: one, and only for
        groups without a candidate.
    recombinations : int
        Recombinations of the best run with the others; beyond those, V-cycles.
    initial_partitions : int
        Partitions of the middle graph per run.
    contraction_limit : int
        Vertices of the middle graph.
    coarsest : int
        Vertices per block of the smallest graph.
    region_growings : int
        Grown bisections per initial bisection.
    coarse_recombinations : int
        Recombinations of the tries on the middle graph.
    bisection_repetitions : int
        Where sizes are exact (``core/exact.hpp``): tries of every cut in two, the best of which is kept,
        and one V-cycle less whenever halves are put together.
    shared_hierarchies : int
        Ways down from a large graph and back, if runs are recombined. Half of them are one run's own. On the
        others as many runs as the graph has times 4000 vertices, if that many are left, are made and
        recombined on a graph of about 4000 vertices (at least 240 per block) and come back as one. 0, or no
        fewer than `repetitions`: every run has its own.
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
    search: SearchSettings = SearchSettings()

    @property
    def repeats(self) -> int:
        """How often, about, a partition of the smallest graph is made."""
        once = (max(1, self.initial_partitions) + self.coarse_recombinations) * max(
            1, self.region_growings
        ) * max(1, self.bisection_repetitions)
        return max(1, self.repetitions) * once + self.recombinations

    def array(self, threads: int) -> Int64:
        """Flatten for the compiled side."""
        own = (
            self.repetitions, self.recombinations, threads, self.initial_partitions, self.contraction_limit,
            self.coarsest, self.region_growings,
            self.coarse_recombinations, max(1, self.bisection_repetitions), self.shared_hierarchies,
        )  # fmt: skip
        return np.array([*own, *astuple(self.search)], np.int64)
