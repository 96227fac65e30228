"""One posed problem, solved: mapper, refiners, repair, and the mapping there is now if there is one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._util.options import describe
from hopbytes.algorithms.base import Effort, Refiner, mappers, refiners
from hopbytes.cost.objectives.base import objectives
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.solve.feasibility import enforce_bounds, overload
from hopbytes.solve.presets import Chain
from hopbytes.solve.problem import Problem
from hopbytes.solve.relabel import relabel_units
from hopbytes.solve.zero_load import place_zero_load, refine_in_turns, zero_load_excess

#: Draws of a quick chain end when they have taken one part in so many of the work before them,
DRAWS_SHARE = 8
#: but not before so many.
FEWEST_DRAWS = 4
#: Misplaced tasks, load beyond a cap, the objective, J with the prices of single tasks.
Worth: TypeAlias = tuple[int, int, int | float, int | float]


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A mapping, what had to be relaxed for it, and what it is compared by (see :func:`_worth`)."""

    pe: Int32
    notices: list[str]
    worth: Worth


def solve(problem: Problem, steps: Chain, effort: Effort) -> tuple[Int32, list[str]]:
    """Return a mapping on the PEs in play, and what had to be relaxed for it.

    With a present mapping (``problem.home``) two are made: that one refined, and a new one whose units
    are renamed to agree with it as far as possible; the cheaper, by communication and migration, is kept.

    Notes
    -----
    Of all mappings that the steps of a chain pass through the best by ``steps.goal`` is returned, so no
    step makes the objective worse than it was before.
    """
    if problem.graph.n == 0:
        return np.empty(0, np.int32), []
    if problem.home is None:
        found = _anew(problem, steps, effort)
    else:
        found = _improved(problem, _present(problem), steps, steps.steps, effort)
        if not effort.used_up:
            found = min(found, _anew(problem, steps, effort), key=_by_worth)  # of equals the one there is
    return found.pe, found.notices


def _anew(problem: Problem, steps: Chain, effort: Effort) -> Placed:
    """Let mapper and refiners compete with the rivals, go on from the best, and return the best of all.

    Rivals come first: they are quick, and work on what they found is worth more than a better start.
    """
    if not steps.rivals:
        return _improved(problem, _mapped(problem, steps, effort), steps, steps.steps, effort)
    found: list[Placed] = []
    for rival in steps.rivals:
        if found and effort.used_up:
            break
        try:
            found.append(_anew(problem, rival, effort))
        except UnsupportedError:  # such as some pair of nodes without a route, which not all chains need
            if not steps.own:
                raise
    if steps.own and not (found and effort.used_up):
        found.append(_improved(problem, _mapped(problem, steps, effort), steps, steps.refiners, effort))
    found += _restarted(problem, steps, effort)
    found.sort(key=_by_worth)
    if steps.finish:
        starts = found[:1]
        starts += [one for one in found[1 : steps.starts] if not np.array_equal(one.pe, found[0].pe)]
        found += [_improved(problem, one.pe, steps, steps.finish, effort) for one in starts]
    best = min(found, key=_by_worth)
    return _improved(problem, best.pe, steps, steps.asked, effort) if steps.asked else best


def _restarted(problem: Problem, steps: Chain, effort: Effort) -> list[Placed]:
    """Return the best that the quick rival finds with other seeds.

    It runs as often as a share of the work done so far allows, so the answer depends on no clock.
    """
    if steps.drawn is None:
        return []
    found: list[Placed] = []
    before = effort.work.get("arcs", 0)
    for draw in range(steps.draws):
        enough = (effort.work.get("arcs", 0) - before) * DRAWS_SHARE > before
        if effort.used_up or (enough and draw >= FEWEST_DRAWS):
            break
        state = np.random.SeedSequence((effort.seed % 2**64, steps.draws, draw))
        seed = int(state.generate_state(1, np.uint64)[0] >> 1)
        found.append(_anew(problem, steps.drawn, replace(effort, seed=seed)))
        found = [min(found, key=_by_worth)]
    return found


def _mapped(problem: Problem, steps: Chain, effort: Effort) -> Int32:
    """Return what the mapper finds, its units renamed to agree with the present mapping if there is one."""
    placed = steps.mapper.map(problem.graph, problem.where, problem.bounds, effort)
    pe = _placed(problem, describe(mappers, steps.mapper), placed)

    def worth(each: Int32) -> Worth:
        return _worth(problem, steps.goal, each)

    if problem.home is not None:
        aligned = relabel_units(problem.where, pe, problem.home, problem.bounds.load)
        pe = min((aligned, pe), key=worth)  # aligned if equal
    if zero_load_excess(problem, pe) and not effort.used_up:
        found = place_zero_load(problem, steps.mapper, pe, effort)
        found = _placed(problem, describe(mappers, steps.mapper), found)
        tried = [enforce_bounds(problem, each, effort)[0] for each in (found, pe)]
        pe = min(tried, key=worth)
    return pe


def _improved(
    problem: Problem, pe: Int32, steps: Chain, chain: tuple[Refiner, ...], effort: Effort
) -> Placed:
    """Repair, refiners, and repair again should one have broken the bound; the best they passed through."""
    mapped = pe
    pe, bounds, notices = enforce_bounds(problem, mapped, effort)
    moved = _moved_notice(mapped, pe) if steps.named and problem.home is None else []
    passed = [Placed(pe, notices, _worth(problem, steps.goal, pe))]
    _note(problem, steps, passed[-1], effort)
    for refiner in chain:
        if effort.used_up:
            break
        found = refine_in_turns(problem, refiner, pe, bounds, effort)
        found = _placed(problem, describe(refiners, refiner), found)
        worth = _worth(problem, steps.goal, found)
        if bounds.linear_cost is not None and worth > passed[-1].worth:
            continue  # it looks at communication alone
        pe = found
        if _taken_at_its_word(refiner, steps):
            passed.clear()
        passed.append(Placed(pe, notices, worth))
        _note(problem, steps, passed[-1], effort)
    if chain:
        pe, _, notices = enforce_bounds(problem, pe, effort)
        passed.append(Placed(pe, notices, _worth(problem, steps.goal, pe)))
    best = min(reversed(passed), key=_by_worth)
    return replace(best, notices=[*moved, *best.notices])


def _moved_notice(mapped: Int32, pe: Int32) -> list[str]:
    """Say how many tasks are not where the mapper put them."""
    moved = int(np.count_nonzero(mapped != pe))
    return [f"{moved:,} of {len(pe):,} tasks were moved to keep the bound"] if moved else []


def _note(problem: Problem, steps: Chain, found: Placed, effort: Effort) -> None:
    """Add a mapping that keeps the bounds to the history of J."""
    if steps.goal == "comm_cost" and found.worth[:2] == (0, 0):
        effort.note(
            problem.comm_cost(found.pe) if problem.bounds.linear_cost is not None else int(found.worth[2])
        )


def _taken_at_its_word(refiner: Refiner, steps: Chain) -> bool:
    """Tell whether a refiner that the caller named may raise J, since it lowers something else.

    An objective asked for is stronger; J is also what nobody asked for.
    """
    return refiner in steps.asked and steps.goal == "comm_cost" != refiner.objective


def _worth(problem: Problem, goal: str, pe: Int32) -> Worth:
    """Order placements: those that break less first, then by the objective, then by J and single tasks.

    Prices of single tasks are in units of J, so where there are any J comes before other objectives.
    """
    linear_cost = problem.bounds.linear_cost
    misplaced = 0 if linear_cost is None else len(linear_cost.violated(pe))
    broken = misplaced, _uneven(problem, pe)
    if misplaced:
        return *broken, 0, 0
    cost = problem.cost(pe)
    if goal == "comm_cost":
        return *broken, cost, cost
    value = objectives[goal]().value(problem.graph, problem.where, pe)
    priced = linear_cost is not None and linear_cost.priced
    return (*broken, cost, value) if priced else (*broken, value, cost)


def _uneven(problem: Problem, pe: Int32) -> int:
    """Return by how much bounds are broken: load above a cap, tasks without load above theirs, empty PEs."""
    over = overload(problem, pe)
    if problem.zero_load_bounds is not None and problem.graph.loads is not None:
        zero_load = np.bincount(pe[problem.graph.loads == 0], minlength=problem.where.k)
        over += max(0, int((zero_load - problem.zero_load_bounds).max()))
    if problem.none_empty:
        over += int(np.count_nonzero(np.bincount(pe, minlength=problem.where.k) == 0))
    return over


def _by_worth(one: Placed) -> Worth:
    return one.worth


def _present(problem: Problem) -> Int32:
    """Where tasks are now; those on a PE that is not in play take turns on all."""
    assert problem.home is not None
    pe: Int32 = problem.home.copy()
    away = np.flatnonzero(pe < 0)
    pe[away] = np.arange(len(away)) % problem.where.k
    return pe


def _placed(problem: Problem, who: str, pe: Int32) -> Int32:
    """Check what an algorithm returned before anything relies on it; return a contiguous copy."""
    n, k, name = problem.graph.n, problem.where.k, who.partition(":")[0]
    try:
        array = np.asarray(pe)
    except ValueError:  # rows of unequal length
        array = np.empty(0, object)
    if array.shape != (n,) or array.dtype.kind not in "iu":
        kind = type(pe).__name__
        size = f" of {len(pe)}" if isinstance(pe, (list, tuple)) else ""
        found = f"{array.dtype}{list(array.shape)}" if isinstance(pe, np.ndarray) else f"{kind}{size}"
        raise HopbytesError(f"{name} returned {found}, expected int32[{n}]")
    wrong = np.flatnonzero((array < 0) | (array >= k))
    if len(wrong):
        raise HopbytesError(f"{name} put task {wrong[0]} on PE {array[wrong[0]]}, expected 0..{k - 1}")
    return np.array(array, np.int32)
