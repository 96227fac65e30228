"""The solution of a formulated problem by a chain: mapper, refiners, repair, and relabelling."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort, Refiner, mappers, refiners
from hopbytes.cost.objectives.base import objectives
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.solve.feasibility import Held, enforce_bounds
from hopbytes.solve.presets import Chain
from hopbytes.solve.problem import Problem
from hopbytes.solve.relabel import relabel_units
from hopbytes.solve.zero_load import place_zero_load, refine_in_turns, zero_load_excess
from hopbytes.util.options import describe
from hopbytes.util.random_numbers import derived_seeds

#: Runs of a fast chain with other seeds end when they have taken this fraction (1 / 8) of the work before,
DRAWS_SHARE = 8
#: but there are at least so many.
FEWEST_DRAWS = 4
#: Number of tasks on forbidden PEs, excess load, the objective, and J plus the linear assignment cost.
Worth: TypeAlias = tuple[int, int, int | float, int | float]


@frozen(eq=False)
class Placed:
    """A mapping, notices about relaxed bounds, and the key for comparisons (see :func:`_worth`)."""

    pe: Int32
    notices: list[str]
    worth: Worth


#: Results of chains on one problem; a list, since an algorithm of a caller need not be hashable.
Known: TypeAlias = list[tuple[Chain, Placed]]


def solve(
    problem: Problem, steps: Chain, effort: Effort, known: Known | None = None
) -> Placed:
    """Return a mapping of the problem, with notices about relaxed bounds.

    With a current mapping (``problem.current``) every chain computes two mappings: the current one is
    refined, and the units of a new one are relabelled to agree with it as far as possible. The better one by
    communication and migration cost is returned.

    The result is the best by ``steps.goal`` of all intermediate mappings of the chain, so no step makes the
    objective worse. The chains that compete run first, because they take less time and work on their results
    is worth more than a better start; the chain continues from the best.
    """
    if problem.graph.n == 0:
        return Placed(np.empty(0, np.int32), [], (0, 0, 0, 0))
    known = [] if known is None else known
    for chain, found in known:
        if chain == steps:
            return found
    found = _solved(problem, steps, effort, known)
    known.append((steps, found))
    return found


def _solved(problem: Problem, steps: Chain, effort: Effort, known: Known) -> Placed:
    """Let mapper, refiners and the other chains compete, continue from the best, and return the best."""
    rivals = steps.rivals(problem.graph.n)
    if not rivals and steps.own:
        return min(_own(problem, steps, steps.steps, effort), key=_by_worth)
    found: list[Placed] = []
    for rival in rivals:
        if found and effort.used_up:
            break
        try:
            found.append(solve(problem, rival, effort, known))
        except UnsupportedError:  # for example a pair of nodes without a route, which some chains require
            if not steps.own:
                raise
    if steps.own and not (found and effort.used_up):
        after = len(steps.competitors)
        found[after:after] = _own(problem, steps, steps.refiners, effort)
    found += _restarted(problem, steps, effort)
    found.sort(key=_by_worth)
    if steps.finish:
        starts = found[:1]
        starts += [one for one in found[1 : steps.starts] if not np.array_equal(one.pe, found[0].pe)]
        found += [_improved(problem, one.pe, steps, steps.finish, effort) for one in starts]
    best = min(found, key=_by_worth)
    return _improved(problem, best.pe, steps, steps.requested, effort) if steps.requested else best


def _own(problem: Problem, steps: Chain, chain: tuple[Refiner, ...], effort: Effort) -> list[Placed]:
    """Return the result of mapper and refiners; before it the refined current mapping if there is one.

    In case of a tie the first is taken, which is the current mapping.
    """
    found = []
    if problem.current is not None:
        found.append(_improved(problem, _present(problem), steps, chain, effort))
    if not (found and effort.used_up):
        found.append(_improved(problem, _mapped(problem, steps, effort), steps, chain, effort))
    return found


def _restarted(problem: Problem, steps: Chain, effort: Effort) -> list[Placed]:
    """Return the best result of the fast competing chain with other seeds.

    The number of runs is limited by a share of the work done so far, so the result does not depend on time.
    """
    if steps.drawn is None:
        return []
    found: list[Placed] = []
    before = effort.work.get("arcs", 0)
    for draw in range(steps.draws):
        enough = (effort.work.get("arcs", 0) - before) * DRAWS_SHARE > before
        if effort.used_up or (enough and draw >= FEWEST_DRAWS):
            break
        seed = int(derived_seeds((effort.seed % 2**64, steps.draws, draw), 1)[0] >> 1)
        found.append(solve(problem, steps.drawn, replace(effort, seed=seed)))
        found = [min(found, key=_by_worth)]
    return found


def _mapped(problem: Problem, steps: Chain, effort: Effort) -> Int32:
    """Return the result of the mapper, relabelled to agree with the current mapping if there is one."""
    placed = steps.mapper.map(problem.graph, problem.where, problem.bounds, effort)
    pe = _placed(problem, describe(mappers, steps.mapper), placed)

    def worth(each: Int32) -> Worth:
        return _worth(problem, steps.goal, each, effort)

    if problem.current is not None:
        aligned = relabel_units(problem.where, pe, problem.current, problem.bounds.load)
        pe = min((aligned, pe), key=worth)  # min prefers the first in case of a tie
    if zero_load_excess(problem, pe) and not effort.used_up:
        found = place_zero_load(problem, steps.mapper, pe, effort)
        found = _placed(problem, describe(mappers, steps.mapper), found)
        tried = [enforce_bounds(problem, each, effort)[0] for each in (found, pe)]
        pe = min(tried, key=worth)
    if not steps.named and (effort.used_up or effort.work.get("cut_short")):
        # A partition that a limit has ended early may cost more than blocks of consecutive tasks.
        in_order = mappers["identity"]().map(problem.graph, problem.where, problem.bounds, effort)
        pe = min((enforce_bounds(problem, each, effort)[0] for each in (pe, in_order)), key=worth)
    return pe


def _improved(
    problem: Problem, pe: Int32, steps: Chain, chain: tuple[Refiner, ...], effort: Effort
) -> Placed:
    """Repair, refine, and repair again; return the best of the intermediate mappings."""
    mapped = pe
    pe, bounds, notices = enforce_bounds(problem, mapped, effort)
    moved = _moved_notice(mapped, pe) if steps.named and problem.current is None else []
    passed = [Placed(pe, notices, _worth(problem, steps.goal, pe, effort))]
    _note(problem, steps, passed[-1], effort)
    for refiner in chain:
        if effort.used_up:
            break
        found = refine_in_turns(problem, refiner, pe, bounds, effort)
        found = _placed(problem, describe(refiners, refiner), found)
        worth = _worth_after(problem, steps.goal, passed[-1], found, effort)
        if bounds.linear_cost is not None and worth > passed[-1].worth:
            continue  # the refiner may ignore the linear assignment cost
        pe = found
        if _taken_at_its_word(refiner, steps):
            passed.clear()
        passed.append(Placed(pe, notices, worth))
        _note(problem, steps, passed[-1], effort)
    if chain:
        pe, _, notices = enforce_bounds(problem, pe, effort)
        passed.append(Placed(pe, notices, _worth_after(problem, steps.goal, passed[-1], pe, effort)))
    best = min(reversed(passed), key=_by_worth)
    return replace(best, notices=[*moved, *best.notices])


def _moved_notice(mapped: Int32, pe: Int32) -> list[str]:
    """Return a notice with the number of tasks that were moved off the PEs that the mapper chose."""
    moved = int(np.count_nonzero(mapped != pe))
    return [f"{moved:,} of {len(pe):,} tasks were moved to keep the bound"] if moved else []


def _note(problem: Problem, steps: Chain, found: Placed, effort: Effort) -> None:
    """Add a mapping that satisfies the bounds to the history of J."""
    if steps.goal == "comm_cost" and found.worth[:2] == (0, 0):
        priced = problem.bounds.linear_cost is not None
        effort.note(problem.comm_cost(found.pe, effort.threads) if priced else int(found.worth[2]))


def _taken_at_its_word(refiner: Refiner, steps: Chain) -> bool:
    """Return whether a refiner may raise J, because the caller named it and it lowers another objective.

    This holds only for J, which is the default and need not be the caller's wish; another objective was
    requested explicitly.
    """
    return refiner in steps.requested and steps.goal == "comm_cost" != refiner.objective


def _worth(problem: Problem, goal: str, pe: Int32, effort: Effort) -> Worth:
    """Return the key for comparisons: violations first, then the objective, then J plus the linear cost.

    Linear costs are in units of J, so J comes before other objectives if there are linear costs.
    """
    linear_cost = problem.bounds.linear_cost
    misplaced = 0 if linear_cost is None else len(linear_cost.violated(pe))
    broken = misplaced, _uneven(problem, pe, effort)
    if misplaced:
        return *broken, 0, 0
    cost = problem.cost(pe, effort.threads)
    if goal == "comm_cost":
        return *broken, cost, cost
    value = objectives[goal]().value(problem.graph, problem.where, pe)
    priced = linear_cost is not None and linear_cost.priced
    return (*broken, cost, value) if priced else (*broken, value, cost)


def _worth_after(problem: Problem, goal: str, before: Placed, pe: Int32, effort: Effort) -> Worth:
    """Return the key of a mapping, which is that of the one before if the step changed nothing."""
    return before.worth if np.array_equal(before.pe, pe) else _worth(problem, goal, pe, effort)


def _uneven(problem: Problem, pe: Int32, effort: Effort) -> int:
    """Return the sum of violations: excess load, zero-load tasks beyond their bound, and empty PEs.

    An empty PE, which is never allowed, weighs more than any load that exceeds its bound.
    """
    held = Held.of(problem, pe, effort.threads)
    over = held.overload(problem)
    if problem.zero_load_bounds is not None and problem.graph.loads is not None:
        zero_load = np.bincount(pe[problem.graph.loads == 0], minlength=problem.where.k)
        over += max(0, int((zero_load - problem.zero_load_bounds).max()))
    if problem.none_empty:
        empty = int(np.count_nonzero(held.tasks == 0))
        over += empty * (problem.graph.n + problem.graph.total_load)
    return over


def _by_worth(one: Placed) -> Worth:
    return one.worth


def _present(problem: Problem) -> Int32:
    """Return the current mapping; tasks on PEs outside the problem are distributed over all PEs in turn."""
    assert problem.current is not None
    pe: Int32 = problem.current.copy()
    away = np.flatnonzero(pe < 0)
    pe[away] = np.arange(len(away)) % problem.where.k
    return pe


def _placed(problem: Problem, who: str, pe: Int32) -> Int32:
    """Check what an algorithm returned before anything relies on it; return a contiguous copy."""
    n, k, name = problem.graph.n, problem.where.k, who.partition(":")[0]
    try:
        array = np.array(pe)
    except ValueError:  # rows of unequal length
        array = np.empty(0, object)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        kind = type(pe).__name__
        size = f" of {len(pe)}" if isinstance(pe, (list, tuple)) else ""
        found = f"{array.dtype}{list(array.shape)}" if isinstance(pe, np.ndarray) else f"{kind}{size}"
        raise HopbytesError(f"{name} returned {found}, expected int32[{n}]")
    if n and not 0 <= int(array.min()) <= int(array.max()) < k:
        wrong = np.flatnonzero((array < 0) | (array >= k))
        raise HopbytesError(f"{name} put task {wrong[0]} on PE {array[wrong[0]]}, expected 0..{k - 1}")
    return array.astype(np.int32, copy=False)
