"""Problems of compiled searches, their settings, and the arguments that all searches share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt64
from hopbytes._frozen import frozen
from hopbytes.engine.control import (
    RunControl,
    excess_bits,
    interruptible,
    rescale_linear_cost,
    rescale_to_63_bits,
)
from hopbytes.kernels.linear_cost import CostArrays, LinearCost, as_arrays
from hopbytes.kernels.records import NO_DISTANCES, Csr, Distances

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
        return cls(**{name: getattr(algorithm, name) for name in SEARCH_OPTIONS})


DEFAULT_SEARCH = SearchSettings()
#: Names of its settings, which are options of several algorithms.
SEARCH_OPTIONS = tuple(field.name for field in fields(SearchSettings))


@frozen
class PartitionSettings:
    """Effort of a multilevel partition (``core/partition``), see the options of ``multisection``."""

    #: in parallel; with 0 there is one repetition, and only for groups without a candidate
    repetitions: int = 1
    recombinations: int = 0  # of the best repetition with the others; further ones are V-cycles
    initial_partitions: int = 4  # per repetition; they are compared at the contraction limit
    contraction_limit: int = 1500
    #: number of vertices per block of the smallest graph; fewer if the graph has few vertices per block, so
    #: that it is coarsened to a sixth, but at least 4 per block
    coarsest: int = 60
    region_growings: int = 4
    coarse_recombinations: int = 1
    bisection_repetitions: int = 1  # a recursive bisection is followed by one V-cycle less
    #: number of coarsening hierarchies of a large graph that recombined repetitions share. On each of them
    #: several repetitions (at most one per 4000 vertices of the graph) are made and recombined on a graph of
    #: about 4000 vertices (at least four times those of the smallest graph), and only the best one is
    #: uncoarsened. On lattices half of the hierarchies serve one repetition each, from the graph itself. With
    #: 0, or with at least `repetitions`, every repetition has its own hierarchy; on graphs of more than 2^24
    #: arcs and ten arcs per vertex, all share one.
    shared_hierarchies: int = 0
    relaxation_rounds: int = 0  # a third of the repetitions suffices after them
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


@frozen(eq=False)
class SearchProblem:
    """A graph whose vertices are mapped to PEs or blocks, and the costs of such a mapping."""

    csr: Csr  # symmetric graph without diagonal and without zero weights
    loads: Int64 | None = None  # int64[n] or None: Load of every vertex; None means 1 each
    #: distances between PEs; partitions use none, because they minimise the weight between blocks
    distances: Distances = NO_DISTANCES
    #: linear assignment costs in units of weight x distance (units of weight if there are no distances),
    #: where each edge counts once
    linear_cost: LinearCost | None = None


@frozen(eq=False)
class VertexGroups:
    """Groups of vertices, each of which is partitioned into its own blocks."""

    group: Int32  # int32[n]: Group of each vertex, 0..g-1. Edges between groups are ignored.
    #: int64[g+1]: The maximum block weights of group i are
    #: ``max_block_weights[block_start[i]:block_start[i+1]]``
    block_start: Int64
    #: int64[...]: Maximum block weights; respected whenever moves and swaps of single vertices can achieve it
    max_block_weights: Int64
    seeds: UInt64  # uint64[g]: Seed of the partition of each group

    @classmethod
    def whole(cls, n: int, max_block_weights: Int64, seed: int) -> VertexGroups:
        start = np.array([0, len(max_block_weights)], np.int64)
        return cls(np.zeros(n, np.int32), start, max_block_weights, np.array([seed % 2**64], np.uint64))


#: Position of the largest distance in a packed network (``NetworkDistance`` in core/graph/distance.hpp).
LARGEST = 4


#: Labels, bit costs and table, as compiled code takes them.
DistanceArrays = tuple[UInt64 | None, Int64 | None, Int64 | None]


class Prepared(NamedTuple):
    """The arguments of a compiled search.

    `weights` are int64[m] or None, scaled by :func:`hopbytes.engine.control.rescale_to_63_bits`. `arrays` are
    labels, bit costs and table. `scale` are the distances that determine the scaling.
    """

    weights: Int64 | None
    arrays: DistanceArrays
    scale: Int64 | None


def prepare(weights: Int64 | None, arcs: int, distances: Distances, threads: int = 1) -> Prepared:
    """Convert distances to the form that compiled code takes."""
    labels, bit_costs, table = distances
    if labels is not None and table is not None:
        scale = table[LARGEST : LARGEST + 1]
        _, shift = excess_bits(weights, arcs, scale, threads)
        if weights is not None and shift:
            weights = np.maximum(weights >> shift, 1)
        return Prepared(weights, (labels, None, table), scale)
    given = bit_costs if table is None else table
    seen, near = rescale_to_63_bits(weights, arcs, given, threads)
    if table is not None:
        return Prepared(seen, (None, None, near), given)
    return Prepared(seen, (labels, near, None), given)


Result = TypeVar("Result")


@frozen(eq=False)
class Call:
    """Arguments shared by compiled searches (``core/bindings/search_arguments.hpp``), see :meth:`prepare`.

    `graph` consists of indptr, targets, weights and loads; `distances` of labels, bit costs and table;
    `linear_cost` of row starts, blocks, costs and costs on unlisted blocks; `control_arrays` of the control
    flag; the scanned edges and their span. Numbers are scaled so that sums cannot overflow; missing arrays
    are None.
    """

    graph: tuple[Int64, Int32, Int64 | None, Int64 | None]
    distances: DistanceArrays
    linear_cost: CostArrays
    control_arrays: tuple[Int32, Int64]
    control: RunControl

    @classmethod
    def prepare(cls, problem: SearchProblem, control: RunControl) -> Call:
        """Scale numbers that could overflow and convert arguments to the form that compiled code takes."""
        indptr, targets, weights = problem.csr
        seen, distances, scale = prepare(weights, len(targets), problem.distances, control.threads)
        costs = as_arrays(rescale_linear_cost(problem.linear_cost, weights, len(targets), scale))
        graph = (indptr, targets, seen, problem.loads)
        return cls(graph, distances, costs, (control.flag(), np.zeros(2, np.int64)), control)

    def run(self, search: Callable[..., Result], size: int, *arguments: Any) -> Result:
        """Call a compiled search with the common arguments and these under :func:`interruptible`."""
        common = self.graph, self.distances, self.linear_cost, self.control_arrays
        flag, spent = self.control_arrays
        return interruptible(lambda: search(*common, *arguments), flag, self.control, size, spent)
