"""One posed problem, solved: mapper, refiners, repair, and the placement there is now if there is one."""

from __future__ import annotations

import numpy as np

from hopbytes.errors import HopbytesError
from hopbytes.idle import piled_up, place_idle, refine_in_turns
from hopbytes.keeping import overload, repaired
from hopbytes.mappers.base import Effort, Int32, Refiner, mappers, refiners
from hopbytes.options import describe
from hopbytes.presets import Chain
from hopbytes.problem import Problem
from hopbytes.remap import align


def solve(problem: Problem, steps: Chain, effort: Effort) -> tuple[Int32, list[str]]:
    """Return a placement on the PEs in play, and what had to be relaxed for it.

    With a present placement (``problem.home``) two are made: that one refined, and a new one whose units
    are renamed to agree with it as far as possible; the cheaper, by communication and migration, is kept.
    """
    if problem.graph.n == 0:
        return np.empty(0, np.int32), []
    if problem.home is None:
        return _anew(problem, steps, effort)
    kept, kept_notices = _improved(problem, _present(problem), steps.refiners, effort)
    if effort.used_up:
        return kept, kept_notices
    pe, notices = _anew(problem, steps, effort)
    if _worth(problem, pe) < _worth(problem, kept):
        return pe, notices
    return kept, kept_notices


def _anew(problem: Problem, steps: Chain, effort: Effort) -> tuple[Int32, list[str]]:
    """Mapper, repair, refiners, and repair again should a refiner have broken the bound."""
    placed = steps.mapper.map(problem.graph, problem.where, problem.bounds, effort)
    pe = _placed(problem, describe(mappers, steps.mapper), placed)
    if problem.home is not None:
        aligned = align(problem.where, pe, problem.home, problem.bounds.load)
        pe = min((aligned, pe), key=lambda each: _worth(problem, each))  # aligned if equal
    if piled_up(problem, pe) and not effort.used_up:
        found = place_idle(problem, steps.mapper, pe, effort)
        found = _placed(problem, describe(mappers, steps.mapper), found)
        tried = [repaired(problem, each, effort)[0] for each in (found, pe)]
        pe = min(tried, key=lambda each: _worth(problem, each))
    return _improved(problem, pe, steps.refiners, effort)


def _improved(
    problem: Problem, pe: Int32, chain: tuple[Refiner, ...], effort: Effort
) -> tuple[Int32, list[str]]:
    pe, bounds, notices = repaired(problem, pe, effort)
    for refiner in chain:
        if effort.used_up:
            break
        found = refine_in_turns(problem, refiner, pe, bounds, effort)
        found = _placed(problem, describe(refiners, refiner), found)
        if bounds.unary is not None and problem.cost(found) > problem.cost(pe):
            continue  # it looks at communication alone
        pe = found
    if chain:
        pe, _, notices = repaired(problem, pe, effort)
    return pe, notices


def _worth(problem: Problem, pe: Int32) -> tuple[int, int, int]:
    """Order placements: those that break less first, then the cheaper ones."""
    unary = problem.bounds.unary
    misplaced = 0 if unary is None else len(unary.violated(pe))
    return misplaced, overload(problem, pe), problem.cost(pe)


def _present(problem: Problem) -> Int32:
    """Where tasks are now; those on a PE that is not in play take turns on all."""
    assert problem.home is not None
    pe: Int32 = problem.home.copy()
    away = np.flatnonzero(pe < 0)
    pe[away] = np.arange(len(away)) % problem.where.k
    return pe


def _placed(problem: Problem, who: str, pe: Int32) -> Int32:
    """Check what an algorithm returned before anything relies on it; return a contiguous copy."""
    array = np.asarray(pe)
    wrong = array.shape != (problem.graph.n,) or array.dtype != np.int32
    if wrong or int(array.min()) < 0 or int(array.max()) >= problem.where.k:
        raise HopbytesError(f"{who} did not place every task on one of the {problem.where.k} PEs")
    return np.array(array, np.int32)
