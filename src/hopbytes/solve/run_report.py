"""The record of a run in ``Mapping.info``, and the warnings for the caller."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._version import __version__
from hopbytes.algorithms.base import Effort, mappers, refiners
from hopbytes.cost.metrics.loads import imbalance_of
from hopbytes.cost.objectives.comm_cost import SearchForm
from hopbytes.errors import HopbytesWarning
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.feasibility import balance_report, migration_report
from hopbytes.solve.method import Method
from hopbytes.solve.slot_choice import Placed
from hopbytes.solve.slot_policies import Task
from hopbytes.util.options import describe


def run_report(
    graph: CommGraph, weight: str, task: Task, form: SearchForm, method: Method, found: Placed,
    effort: Effort, *, limited: bool, early: bool, seconds: dict[str, float],
) -> dict[str, Any]:
    """Return the entries of ``Mapping.info`` (:class:`hopbytes.model.mapping.MappingInfo`)."""
    where, placed, steps = task.where, found.placed, method.steps
    cost = found.problem.comm_cost(found.pe, effort.threads)
    value = cost if method.objective == "comm_cost" else task.goal.value(task.graph, where, placed)
    timed = {} if weight != "time" else _time_report(graph, task, placed, form)
    notices = [*_scale_notice(graph, weight), *found.problem.notices, *found.notices]
    notices += [*_uneven_notice(task, placed), *_fallback_notice(effort)]
    effort.note(cost)
    return {
        "problem": found.problem.name,
        "mapper": describe(mappers, steps.mapper),
        "preset": method.preset,
        "refine": [describe(refiners, each) for each in steps.steps],
        "objective": method.objective,
        "objective_value": value,
        "weight": weight,
        "seed": effort.seed,
        "threads": effort.threads,
        "version": __version__,
        "deterministic": steps.mapper.deterministic and not limited and not early,
        "work": effort.counted(),
        "comm_cost": cost,
        **timed,
        "imbalance": imbalance_of(graph, where, placed, effort.threads),
        **balance_report(found.problem, found.pe),
        **migration_report(task.constraints, placed),
        **found.report(),
        "notices": [*notices, *_work_notice(effort, limited=limited, early=early)],
        "history": [list(each) for each in effort.history],
        "seconds": seconds,
    }


def warn_of(notices: Iterable[str], stacklevel: int) -> None:
    """Issue each notice as a HopbytesWarning; `stacklevel` is that of :func:`warnings.warn`."""
    for notice in notices:
        warnings.warn(notice, HopbytesWarning, stacklevel=stacklevel + 1)


def _time_report(graph: CommGraph, task: Task, pe: Any, form: SearchForm) -> dict[str, float]:
    """Return the total time of all messages, and the relative error of the cost that searches used."""
    from hopbytes.cost.message_time import comm_time, times_of

    times = times_of(graph, task.where)
    seconds = times.seconds(comm_time(graph, task.where, pe, times))
    return {"comm_seconds": seconds, "search_form_error": form.error}


def _scale_notice(graph: CommGraph, weight: str) -> list[str]:
    """Return a notice with the factor that made decimal volumes integers, since J is in that unit."""
    if graph.scale == 1 or weight not in ("bytes", "time"):
        return []
    zeros = len(str(graph.scale)) - 1
    factor = f"10^{zeros}" if graph.scale == 10**zeros else f"{graph.scale:,}"
    return [f"volumes were multiplied by {factor} to make them integers, and so is J"]


def _uneven_notice(task: Task, placed: Int32) -> list[str]:
    """Return a notice if nodes with equal numbers of tasks were asked for, but not found."""
    if not task.request.use.equal_nodes or not len(placed):
        return []
    counts = np.bincount(task.where.node_of_pe[placed])
    used = counts[counts > 0]
    if int(used.min()) == int(used.max()):
        return []
    return [f"used nodes have {used.min()} to {used.max()} tasks: no choice of slots was found that is equal"]


def _fallback_notice(effort: Effort) -> list[str]:
    """Return a notice if the mapper `treematch` has left the work to `top_down`."""
    if not effort.work.get("uneven_tree"):
        return []
    return [
        "treematch needs units of equal size, the same number of tasks (at most 64) on every PE, and no "
        "constraints or loads: `top_down` ran instead"
    ]


def _work_notice(effort: Effort, *, limited: bool, early: bool) -> list[str]:
    """Return notices that explain how a run with a time limit, or a stopped run, can be reproduced."""
    if not limited and not early:
        return []
    limit = "being stopped" if early else "the time limit"
    arcs, cut_short = effort.work.get("arcs", 0), effort.work.get("cut_short", 0)
    notices = ["stopped early: this is the best mapping found until then"] if early else []
    if cut_short:
        what = "1 search" if cut_short == 1 else f"{cut_short} searches"
        return [*notices, f"{arcs} scanned edges; {limit} ended {what} early: not repeatable"]
    return [*notices, f"{arcs} scanned edges; `Limits(work={arcs})` instead of {limit} repeats this run"]
