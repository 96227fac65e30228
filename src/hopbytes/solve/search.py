"""The search: a sequence of algorithms solves a formulated problem, with repair and relabelling."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import TypeAlias

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort, Mapper, Refiner, mappers, refiners
from hopbytes.algorithms.refiners.swap import Swap
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.feasible import (
    enforce_bounds,
    excess,
    map_as_average,
    map_zero_load,
    refine_by_load,
    relabel_units,
    zero_load_excess,
)
from hopbytes.solve.method import BestOf, Restart, Sequence
from hopbytes.solve.problem import Problem
from hopbytes.util.options import describe
from hopbytes.util.random_numbers import derived_seeds

#: Runs with other seeds end when they have taken this fraction (1 / 8) of the work before,
RESTARTS_SHARE = 8
#: but there are at least so many.
FEWEST_RESTARTS = 4
#: Patterns with at least so many arcs per task are searched without the lightest arcs, which together carry
#: at most this fraction (1 / 1024) of the volume, if at most half of the arcs remain.
MANY_ARCS, LIGHT_SHARE = 32, 1024
#: What follows the searches without these arcs; it sees all of them.
DESCENT = Swap(dense_pattern_up_to=0, one_way=0)
#: Number of tasks on forbidden PEs, excess load, the objective, and J plus the linear assignment cost.
Key: TypeAlias = tuple[int, int, int | float, int | float]


@frozen(eq=False)
class Solution:
    """A mapping, notices about relaxed bounds, and the key by which mappings are compared."""

    pe: Int32
    notices: list[str]
    key: Key


_key = attrgetter("key")


class Search:
    """Sequences on one problem, for one objective; what a sequence has found is computed once.

    The result of a sequence is the best of all its intermediate mappings, so no step makes the objective
    worse. What competes runs first, because it takes less time and work on its results is worth more than a
    better start; refiners continue from the best.
    """

    def __init__(self, problem: Problem, objective: str, effort: Effort) -> None:
        self._problem, self._objective, self._effort = problem, objective, effort
        # A list, since an algorithm of a caller need not be hashable.
        self._known: list[tuple[Sequence, Solution]] = []

    @cached_property
    def _outline(self) -> Problem:
        """The problem that searches get: mappings are compared, and bounds are enforced, with all arcs."""
        problem = self._problem
        if self._objective != "comm_cost" or not problem.bounds.exact:
            return problem
        graph = without_light_arcs(problem.graph)
        return problem if graph is problem.graph else replace(problem, graph=graph)

    def run(self, steps: Sequence) -> Solution:
        """Return a mapping of the problem, with notices about relaxed bounds."""
        if self._problem.graph.n == 0:
            return Solution(np.empty(0, np.int32), [], (0, 0, 0, 0))
        for known, solution in self._known:
            if known == steps:
                return solution
        solution = self._solved(steps)
        self._known.append((steps, solution))
        return solution

    def _solved(self, steps: Sequence) -> Solution:
        start, rivals = steps.start, steps.rivals(self._problem.graph.n)
        if isinstance(start, Mapper):
            return min(self._mapped_and_refined(steps, (*steps.refiners, *steps.asked), steps), key=_key)
        if not rivals and start.own is not None:
            return min(self._mapped_and_refined(start.own, steps.steps, steps), key=_key)
        results = sorted(self._results(start, rivals, steps), key=_key)
        if steps.refiners:
            starts = results[:1]
            starts += [r for r in results[1 : steps.starts] if not np.array_equal(r.pe, results[0].pe)]
            results += [self._refined(one.pe, steps.refiners, steps) for one in starts]
        best = min(results, key=_key)
        return self._refined(best.pe, steps.asked, steps) if steps.asked else best

    def _results(self, start: BestOf, rivals: tuple[Sequence, ...], steps: Sequence) -> list[Solution]:
        """Return the results of all that competes, in the order in which equally good ones are preferred."""
        results: list[Solution] = []
        for rival in rivals:
            if results and self._effort.used_up:
                break
            try:
                results.append(self.run(rival))
            except UnsupportedError:  # for example a pair of nodes without a route, which some require
                if start.own is None:
                    raise
        if start.own is not None and not (results and self._effort.used_up):
            after = len(start.rivals)
            results[after:after] = self._mapped_and_refined(start.own, start.own.refiners, steps)
        return results if start.restart is None else results + self._restarted(start.restart)

    def _restarted(self, restart: Restart) -> list[Solution]:
        """Return the best result with other seeds; a share of the work done so far limits their number."""
        best: list[Solution] = []
        effort = self._effort
        before = effort.work.get("arcs", 0)
        for number in range(restart.times):
            enough = (effort.work.get("arcs", 0) - before) * RESTARTS_SHARE > before
            if effort.used_up or (enough and number >= FEWEST_RESTARTS):
                break
            seed = int(derived_seeds((effort.seed % 2**64, restart.times, number), 1)[0] >> 1)
            other = Search(self._problem, self._objective, replace(effort, seed=seed)).run(restart.of)
            best = [min([*best, other], key=_key)]
        return best

    def _mapped_and_refined(
        self, own: Sequence, chain: tuple[Refiner, ...], steps: Sequence
    ) -> list[Solution]:
        """Return the refined result of the mapper; before it, and so preferred, the refined present one."""
        results = []
        if self._problem.current is not None:
            # Exchanges stay close to the present mapping; tabu search ends at any of the equally good ones.
            near = tuple(replace(step, tabu_work=0) if isinstance(step, Swap) else step for step in chain)
            results.append(self._refined(self._present(), near, steps))
        if not (results and self._effort.used_up):
            assert isinstance(own.start, Mapper)
            results.append(self._refined(self._mapped(own.start, named=own.named), chain, steps))
        return results

    def _present(self) -> Int32:
        """Return the current mapping; tasks on PEs outside the problem are distributed over all PEs."""
        assert self._problem.current is not None
        pe: Int32 = self._problem.current.copy()
        away = np.flatnonzero(pe < 0)
        pe[away] = np.arange(len(away)) % self._problem.where.k
        return pe

    def _mapped(self, mapper: Mapper, *, named: bool) -> Int32:
        """Return the result of the mapper, relabelled to agree with the current mapping if there is one."""
        problem, effort = self._problem, self._effort
        name = describe(mappers, mapper)
        graph = problem.graph if named else self._outline.graph
        at_once = map_as_average(problem, mapper, effort) if mapper.maps_all_at_once else None
        if at_once is None:
            at_once = mapper.map(graph, problem.where, problem.bounds, effort)
        pe = _checked(problem, name, at_once)
        if problem.current is not None:
            aligned = relabel_units(problem.where, pe, problem.current, problem.bounds.load)
            pe = min((aligned, pe), key=self._key_of)  # min prefers the first in case of a tie
        if zero_load_excess(problem, pe) and not effort.used_up:
            again = _checked(problem, name, map_zero_load(problem, mapper, pe, effort))
            pe = min((enforce_bounds(problem, each, effort)[0] for each in (again, pe)), key=self._key_of)
        if not named and (effort.used_up or effort.work.get("cut_short")):
            # A partition that a limit has ended early may cost more than blocks of consecutive tasks.
            in_order = mappers["identity"]().map(problem.graph, problem.where, problem.bounds, effort)
            pe = min((enforce_bounds(problem, each, effort)[0] for each in (pe, in_order)), key=self._key_of)
        return pe

    def _refined(self, mapped: Int32, chain: tuple[Refiner, ...], steps: Sequence) -> Solution:
        """Repair, refine, and repair again; return the best of the intermediate mappings."""
        problem, effort = self._problem, self._effort
        pe, bounds, notices = enforce_bounds(problem, mapped, effort)
        moved = int(np.count_nonzero(mapped != pe)) if steps.named and problem.current is None else 0
        passed = [Solution(pe, notices, self._key_of(pe))]
        self._note(passed[-1])
        if chain and not steps.asked and self._outline is not problem:
            chain = (*chain, DESCENT)
        for refiner in chain:
            if effort.used_up:
                break
            searched = problem if refiner in (DESCENT, *steps.asked) else self._outline
            pe_after = refine_by_load(searched, refiner, pe, bounds, effort)
            pe_after = _checked(problem, describe(refiners, refiner), pe_after)
            key = self._key_after(passed[-1], pe_after)
            if bounds.linear_cost is not None and key > passed[-1].key:
                continue  # the refiner may ignore the linear assignment cost
            pe = pe_after
            # A refiner that the caller named may raise J, which is only the default objective, if it lowers
            # another one.
            if refiner in steps.asked and self._objective == "comm_cost" != refiner.objective:
                passed.clear()
            passed.append(Solution(pe, notices, key))
            self._note(passed[-1])
        if chain:
            pe, _, notices = enforce_bounds(problem, pe, effort)
            passed.append(Solution(pe, notices, self._key_after(passed[-1], pe)))
        best = min(reversed(passed), key=_key)
        if not moved:
            return best
        what = f"{moved:,} of {len(mapped):,} tasks were moved to keep the bound"
        return replace(best, notices=[what, *best.notices])

    def _note(self, solution: Solution) -> None:
        """Add a mapping that satisfies the bounds to the history of J."""
        if self._objective == "comm_cost" and solution.key[:2] == (0, 0):
            priced = self._problem.bounds.linear_cost is not None
            cost = solution.key[2]
            if priced:
                cost = self._problem.comm_cost(solution.pe, self._effort.threads)
            self._effort.note(int(cost))

    def _key_of(self, pe: Int32) -> Key:
        """Return the key for comparisons: violations first, then the objective, then J plus the linear cost.

        Linear costs are in units of J, so J comes before other objectives if there are linear costs.
        """
        problem, linear_cost = self._problem, self._problem.bounds.linear_cost
        misplaced = 0 if linear_cost is None else len(linear_cost.violated(pe))
        broken = misplaced, excess(problem, pe, self._effort.threads)
        if misplaced:
            return *broken, 0, 0
        cost = problem.cost(pe, self._effort.threads)
        if self._objective == "comm_cost":
            return *broken, cost, cost
        value = objectives[self._objective]().value(problem.graph, problem.where, pe)
        priced = linear_cost is not None and linear_cost.priced
        return (*broken, cost, value) if priced else (*broken, value, cost)

    def _key_after(self, before: Solution, pe: Int32) -> Key:
        """Return the key of a mapping, which is that of the one before if the step changed nothing."""
        return before.key if np.array_equal(before.pe, pe) else self._key_of(pe)


def without_light_arcs(graph: CommGraph) -> CommGraph:
    """Return a nearly dense pattern without its arcs below a power of two, which carry hardly any volume.

    The graph itself is returned if it has few arcs per task, or if most of them would remain. O(arcs).
    """
    volumes = graph.volumes
    if volumes is None or graph.m < MANY_ARCS * graph.n:
        return graph

    def below(bits: int) -> int:
        return int(volumes[volumes < 2**bits].sum())

    bits = bisect_right(range(63), graph.total_volume // LIGHT_SHARE, key=below) - 1
    kept = volumes >= 2**bits
    if 2 * np.count_nonzero(kept) > graph.m:
        return graph
    indptr = np.concatenate([[0], np.cumsum(kept)])[graph.indptr]
    messages = None if graph.messages is None else graph.messages[kept]
    targets = graph.targets[kept]
    return replace(
        graph, indptr=indptr, targets=targets, volumes=volumes[kept], messages=messages, phases=()
    )


def _checked(problem: Problem, who: str, pe: Int32) -> Int32:
    """Check what an algorithm returned before anything relies on it; return a contiguous copy."""
    n, k, name = problem.graph.n, problem.where.k, who.partition(":")[0]
    try:
        array = np.array(pe)
    except ValueError:  # rows of unequal length
        array = np.empty(0, object)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        kind = type(pe).__name__
        size = f" of {len(pe)}" if isinstance(pe, (list, tuple)) else ""
        what = f"{array.dtype}{list(array.shape)}" if isinstance(pe, np.ndarray) else f"{kind}{size}"
        raise HopbytesError(f"{name} returned {what}, expected int32[{n}]")
    if n and not 0 <= int(array.min()) <= int(array.max()) < k:
        wrong = np.flatnonzero((array < 0) | (array >= k))
        raise HopbytesError(f"{name} put task {wrong[0]} on PE {array[wrong[0]]}, expected 0..{k - 1}")
    return array.astype(np.int32, copy=False)
