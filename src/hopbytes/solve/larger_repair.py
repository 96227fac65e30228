"""Larger repairs of a placement under change, paid from saved work: V-cycles, and a mapping from scratch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds
from hopbytes.algorithms.shared.search_distances import search_problem
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine import RefinementSettings, refine_placement
from hopbytes.engine.control import RunControl
from hopbytes.kernels.linear_cost import LinearCost, from_entries
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.constraints import Constraints
from hopbytes.solve.map_tasks import map_tasks

#: Estimated scanned edges of a first repair per arc and task: V-cycles, and a mapping from scratch.
V_CYCLES, FROM_SCRATCH = 12, 100
#: A repair that exceeds the bound on migrations is repeated with a price this many times higher.
HIGHER, TRIES = 3, 3
#: Largest number of batches over which the migrations of a repair are spread.
LONGEST_USE = 10


@dataclass(slots=True)
class Savings:
    """Scanned edges that batches have saved for repairs of one kind."""

    per_change: int  # what one change saves
    rate: float  # scanned edges of the latest repair per arc and task
    saved: int = 0  # what is there
    price: int = 0  # price of a migration with which the next repair begins, if migrations are bounded
    batches: int = 0  # batches since the latest repair

    def add(self, changes: int) -> None:
        """Save for the changes of a batch."""
        self.saved += self.per_change * changes
        self.batches += 1

    @property
    def use(self) -> int:
        """Number of batches for which J of a repair counts: those since the repair before, at most 10."""
        return max(1, min(self.batches, LONGEST_USE))

    def suffices(self, size: int) -> bool:
        """Whether a repair of a pattern with that many arcs and tasks is paid for."""
        return self.per_change > 0 and 0 < self.rate * size <= self.saved

    def pay(self, work: int, size: int) -> None:
        """Take the work of a repair away; what remains is at most the price of another one."""
        self.rate = work / size
        self.saved = min(max(self.saved - work, 0), work)
        self.batches = 0


@frozen(eq=False)
class RepairProblem:
    """The present tasks in ascending order, on the PEs in use."""

    graph: CommGraph
    where: Allocation
    pe: Int32  # int32[n]: Current PEs, which keep the bounds
    home: Int32  # int32[n]: PEs before the batch, -1 for tasks that arrived or had to leave a lost PE
    bounds: Bounds
    price: int
    most_moves: int | None
    imbalance: Fraction
    one_per_pe: bool
    seed: int
    threads: int
    work: list[int] = field(default_factory=list)

    def migrations(self, pe: Int32) -> int:
        """Return the number of tasks that are not where they were."""
        return int(np.count_nonzero((self.home >= 0) & (pe != self.home)))

    def cost(self, pe: Int32, batches: int) -> int:
        """Return J of some batches plus migration, computed from scratch."""
        return batches * CommCost().value(self.graph, self.where, pe) + self.price * self.migrations(pe)


def repaired(
    problem: RepairProblem, savings: Savings, search: Callable[[RepairProblem, int], Int32]
) -> tuple[Int32, int]:
    """Return a placement that costs no more and keeps the bound on migrations, and the scanned edges.

    A repair is of use until the next one, so its migrations are weighed against J of as many batches as have
    passed since the one before.
    Searches cannot bound the number of migrations, so a price takes its place: it is raised until the bound
    is kept, and the next repair begins with it.
    """
    bounded = problem.most_moves is not None
    price = max(-(-problem.price // savings.use), savings.price if bounded else 0)
    before = problem.migrations(problem.pe)
    best = problem.pe
    for _ in range(TRIES):
        pe = search(problem, price)
        if problem.most_moves is None or problem.migrations(pe) <= max(problem.most_moves, before):
            best = min((best, pe), key=lambda each: problem.cost(each, savings.use))
            price //= 2
            break
        price = HIGHER * max(price, _typical_price(problem))
    savings.price = price
    return best, sum(problem.work)


def by_v_cycles(problem: RepairProblem, price: int) -> Int32:
    """Search by V-cycles from the current placement."""
    bounds = Bounds(problem.bounds.load, linear_cost=_linear_cost(problem, price))
    control = RunControl(
        seed=problem.seed, threads=problem.threads, spend=lambda arcs, _: problem.work.append(arcs)
    )
    pe, _ = refine_placement(
        search_problem(problem.graph, problem.where, bounds), problem.pe, bounds.load,
        RefinementSettings(cycles=2), control=control,
    )
    return pe


def from_scratch(problem: RepairProblem, price: int) -> Int32:
    """Map from scratch with the same price: by the preset eco, or by fast for one task per PE.

    For few tasks eco spends thousands of scanned edges on each arc, for which batches would save for long.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = map_tasks(
            problem.graph, problem.where, "fast" if problem.one_per_pe else "eco",
            partition=not problem.one_per_pe,
            imbalance=f"{float(100 * problem.imbalance)}%", seed=problem.seed, threads=problem.threads,
            constraints=Constraints(
                initial=np.where(problem.home >= 0, problem.home, problem.pe), migration_price=price
            ),
        )
    problem.work.append(int(found.info["work"]["arcs"]))
    if found.info["balance"] != "met":
        return problem.pe
    return found.pe


def savings_at_first(
    saved_per_change: int, size: int, *, one_per_pe: bool
) -> dict[Callable[[RepairProblem, int], Int32], Savings]:
    """Return the savings for every kind of repair; construction pays for the first repair of each kind.

    `size` is the number of tasks and arcs. V-cycles get a fifth; one task per PE is mapped from scratch only.
    """
    kinds: dict[Callable[[RepairProblem, int], Int32], Savings]
    kinds = {from_scratch: Savings(saved_per_change - saved_per_change // 5, FROM_SCRATCH)}
    if not one_per_pe:
        kinds[by_v_cycles] = Savings(saved_per_change // 5, V_CYCLES)
    for savings in kinds.values():
        savings.saved = int(savings.rate * size)
    return kinds


def _typical_price(problem: RepairProblem) -> int:
    return max(1, problem.graph.total_volume // max(1, 4 * problem.graph.n))


def _linear_cost(problem: RepairProblem, price: int) -> LinearCost | None:
    """Return the price of every migration."""
    if not price:
        return None
    listed = np.flatnonzero(problem.home >= 0)
    rest = np.where(problem.home >= 0, price, 0).astype(np.int64)
    return from_entries(listed, problem.home[listed].astype(np.int64), np.zeros(len(listed), np.int64), rest)
