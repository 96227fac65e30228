"""Effort settings of the compiled searches."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from hopbytes._frozen import frozen

#: With at most so many tasks, searches over all pairs are worth their time on any pattern, and there is time
#: for a population of them. With more tasks they are worth it only for dense patterns.
FEW_TASKS = 400


@frozen
class SearchSettings:
    """Settings of localized FM, see ``core/partition/refinement/local_fm.hpp``."""

    rounds: int = 10  # passes over the boundary; the refinement ends after a pass without gain
    fruitless_moves: int = 40  # consecutive moves without a new best after which one search stops
    #: number of boundary vertices from which one search starts; fewer give better results in more time
    seeds: int = 25
    #: passes of minimum cuts between pairs of blocks (``core/partition/refinement``); 0 turns them off
    flow_rounds: int = 0
    #: load of the region on each side of a boundary, in units of the free room of the blocks
    flow_width: int = 16
    #: temporary overload of blocks in unconstrained FM, in per cent; 0 turns it off. During one uncoarsening
    #: it falls to a third, but not below 10, after every attempt without a gain.
    overload_percent: int = 0

    @classmethod
    def of(cls, algorithm: Any) -> SearchSettings:
        """Return the settings of an algorithm that has options of these names."""
        return cls(**{name: getattr(algorithm, name) for name in SEARCH_OPTIONS})


DEFAULT_SEARCH = SearchSettings()
#: Names of its settings, which are options of several algorithms.
SEARCH_OPTIONS = tuple(field.name for field in fields(SearchSettings))


@frozen
class PartitionSettings:
    """Effort of one multilevel partition: see ``core/partition``."""

    #: number of independent repetitions with different coarsenings, in parallel; the best result is kept.
    #: With 0 there is one repetition, and only for groups without a candidate.
    repetitions: int = 1
    #: number of recombinations of the best repetition with the others; further ones are V-cycles
    recombinations: int = 0
    #: number of initial partitions per repetition, which are compared at the contraction limit
    initial_partitions: int = 4
    contraction_limit: int = 1500  # number of vertices of the graph on which initial partitions are compared
    #: number of vertices per block of the smallest graph; fewer if the graph has few vertices per block, so
    #: that it is coarsened to a sixth, but at least 4 per block
    coarsest: int = 60
    region_growings: int = 4  # number of bisections by region growing per initial bisection
    coarse_recombinations: int = 1  # number of recombinations of the initial partitions
    #: number of repetitions of every bisection if sizes are exact; the best result is kept
    #: (``core/partition/exact_partitioner.hpp``). A recursive bisection is followed by one V-cycle less.
    bisection_repetitions: int = 1
    #: number of coarsening hierarchies of a large graph that recombined repetitions share. On each of them
    #: several repetitions (at most one per 4000 vertices of the graph) are made and recombined on a graph of
    #: about 4000 vertices (at least four times those of the smallest graph), and only the best one is
    #: uncoarsened. On lattices half of the hierarchies serve one repetition each, from the graph itself. With
    #: 0, or with at least `repetitions`, every repetition has its own hierarchy; on graphs of more than 2^24
    #: arcs and ten arcs per vertex, all share one.
    shared_hierarchies: int = 0
    #: rounds of relaxation of the shapes of 16 or more blocks (``core/partition/relaxation/relax.hpp``),
    #: after which a third of the repetitions suffices; 0 turns it off.
    relaxation_rounds: int = 0
    #: sweeps of simulated annealing over the boundaries of 16 or more blocks
    #: (``core/partition/refinement/annealing.hpp``); 0 turns it off.
    annealing_sweeps: int = 0
    search: SearchSettings = DEFAULT_SEARCH  # settings of the local search on every level

    @property
    def repeats(self) -> int:
        """Approximate number of partitions of the smallest graph."""
        once = max(1, self.initial_partitions) + self.coarse_recombinations
        once *= max(1, self.region_growings) * max(1, self.bisection_repetitions)
        return max(1, self.repetitions) * once + self.recombinations

    def by_name(self, threads: int) -> dict[str, int]:
        """Return the settings as compiled code takes them."""
        named = asdict(self)
        named |= named.pop("search")
        return named | {"threads": threads, "bisection_repetitions": max(1, self.bisection_repetitions)}
