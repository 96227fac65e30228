"""Several phases of a program on one mapping: the least weighted sum of their costs, or the least maximum."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.cost.metrics.baselines import in_order
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.errors import HopbytesWarning, UnsupportedError, WrongTypeError, unknown_name
from hopbytes.model.allocation import Allocation, PlaceLike
from hopbytes.model.comm_graph import CommGraph, PatternLike
from hopbytes.model.mapping import Mapping
from hopbytes.model.phases import Phases
from hopbytes.solve.map_tasks import map_tasks, warn_of
from hopbytes.solve.method import MethodLike
from hopbytes.solve.presets import DEFAULT
from hopbytes.util.integers import MAX_SUM, check_limit

GOALS = ("sum", "max")
#: Sums that the search for the least maximum subtracts from each other twice must be below this.
MOST_COST = 2**60
#: Searches with other weights, of which the largest is RESOLUTION; tasks up to which pairs are exchanged.
ROUNDS, RESOLUTION, MOST_EXCHANGED = 6, 100, 1000


def map_phases(
    graphs: Sequence[PatternLike], where: PlaceLike, method: MethodLike = DEFAULT, *,
    weights: Sequence[Any] | None = None, goal: str = "sum", **options: Any,
) -> Mapping:
    """Map the tasks of several phases of a program at once.

    Parameters
    ----------
    graphs : sequence of patterns
        The pattern of each phase, with the same tasks in all; each may be what :func:`hopbytes.map_tasks`
        takes. A single pattern stands for the phases that its recording kept
        (:attr:`hopbytes.CommGraph.phases`).
    where, method
        See :func:`hopbytes.map_tasks`.
    weights : sequence of numbers, optional
        How often, or how long, each phase runs; 1 each by default. Decimals are exact: 0.1 is a tenth.
    goal : {"sum", "max"}
        What is minimized: the sum over phases of weight times J, which is J of their exact weighted sum; or
        the largest weight times J of a phase.
    **options
        Other keywords of :func:`hopbytes.map_tasks`. ``objective`` and ``weight`` only with the goal "sum".

    Returns
    -------
    Mapping
        ``info`` as of :func:`hopbytes.map_tasks` for the weighted sum, and ``info["phases"]``: for each phase
        its name, weight, J of the launcher's own order (`in_order`) and J of the mapping (`comm_cost`).

    Raises
    ------
    UnsupportedError
        Phases have different numbers of tasks; there is not one weight per phase, or one is no number >= 0.
    ScaleError
        Weighted volumes are too large for 64-bit sums; the text names the factor.
    HopbytesError
        As :func:`hopbytes.map_tasks`.

    Notes
    -----
    For the goal "max" the weighted sum is minimized several times with larger weights for the phases that
    cost most, then the exchange of two tasks of equal load that lowers the maximum most, or the sum at the
    same maximum, is repeated until there is none; above 1000 tasks that is left out. The result is a local
    optimum.

    Examples
    --------
    >>> import hopbytes as hb
    >>> mapping = hb.map_phases(["stencil:4x4", "transpose:4x4"], "node:4 core:4", weights=[3, 1])
    >>> [phase["weight"] for phase in mapping.info["phases"]]
    [3.0, 1.0]
    """
    if goal not in GOALS:
        raise unknown_name("goal", goal, GOALS)
    if isinstance(graphs, (str, CommGraph)) or not isinstance(graphs, Sequence):
        raise WrongTypeError(f"phases {type(graphs).__name__}, expected a list of patterns")
    if not len(graphs):
        raise UnsupportedError("phases [], expected at least one pattern")
    phases, where = Phases.of([CommGraph.checked(graph) for graph in graphs], weights), Allocation.of(where)
    graph = phases.combined()
    if goal == "sum":
        mapping = map_tasks(graph, where, method, **options)
    else:
        mapping = _least_maximum(phases, graph, where, method, options)
    return with_report(mapping, phases)


def with_report(mapping: Mapping, phases: Phases) -> Mapping:
    """Return a mapping with name, weight and J of every phase, in order and mapped, in its ``info``."""
    order, where, cost = in_order(phases.graphs[0], mapping), mapping.where, CommCost().value
    report = [
        {
            "name": graph.name, "weight": weight / phases.factor, "in_order": cost(graph, where, order),
            "comm_cost": cost(graph, where, mapping.pe),
        }
        for graph, weight in zip(phases.graphs, phases.weights, strict=True)
    ]
    return Mapping(mapping.pe, where, {**mapping.info, "phases": report})


def _least_maximum(
    phases: Phases, graph: CommGraph, where: Allocation, method: MethodLike, options: dict[str, Any]
) -> Mapping:
    if options.get("objective") not in (None, "comm_cost") or options.get("weight", "bytes") != "bytes":
        raise UnsupportedError("the goal max with another objective or weight, expected comm_cost of bytes")
    most = graph.total_volume * int(where.distance.largest)
    check_limit(f"weighted volumes x distances of {most}", most, MOST_COST, "the phase weights")
    limits = options.get("limits")
    if limits is not None:
        seconds = None if limits.time is None else limits.time / ROUNDS
        work = None if limits.work is None else limits.work // ROUNDS
        options = {**options, "limits": replace(limits, time=seconds, work=work)}
    constrained = options.get("constraints") is not None and options["constraints"].of_tasks
    exchanges = not constrained and graph.n <= MOST_EXCHANGED
    best: tuple[tuple[int, int], Mapping] | None = None
    weights, pull = phases.weights, np.array(phases.weights, float)
    for _ in range(ROUNDS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HopbytesWarning)
            mapping = map_tasks(phases.combined(weights), where, method, **options)
        pe = _exchanged(phases, graph, mapping) if exchanges else mapping.pe
        costs = _costs(phases, graph, mapping.where, pe)
        if best is None or (max(costs), sum(costs)) < best[0]:
            best = (max(costs), sum(costs)), Mapping(pe, mapping.where, mapping.info)
        pull *= np.array(costs) / max(1, max(costs)) + 0.01
        weights = tuple(round(RESOLUTION * float(each / pull.max())) for each in pull)
        if sum(weights) * graph.total_volume * int(where.distance.largest) > MAX_SUM:
            break
    assert best is not None
    found = best[1]
    cost = CommCost().value(graph, where, found.pe)
    info = {**found.info, "comm_cost": cost, "objective_value": cost, "largest_phase": best[0][0]}
    warn_of(found.info["notices"], stacklevel=3)
    return Mapping(found.pe, found.where, info)


def _costs(phases: Phases, graph: CommGraph, where: Allocation, pe: Int32) -> list[int]:
    """Return weight times J of every phase, in the unit of the combined graph."""
    return [
        weight * (graph.scale // phase.scale) * CommCost().value(phase, where, pe)
        for weight, phase in zip(phases.weights, phases.graphs, strict=True)
    ]


def _exchanged(phases: Phases, graph: CommGraph, mapping: Mapping) -> Int32:
    """Exchange two tasks as long as the largest cost of a phase falls, or their sum where it stays."""
    from scipy.sparse import csr_array

    pe: Int32 = mapping.pe.copy()
    n, distance = graph.n, mapping.where.distance
    apart = distance.apart(pe[:, None], pe[None, :])
    if n < 2 or not np.array_equal(apart, apart.T) or np.any(np.diagonal(apart)):
        return pe
    matrices = []
    for weight, phase in zip(phases.weights, phases.graphs, strict=True):
        csr = phase.symmetric()  # costs J, or 2 J where both directions were added
        once = csr.indptr is phase.indptr
        values = np.ones(len(csr.targets), np.int64) if csr.weights is None else csr.weights
        values = values * np.int64(weight * (graph.scale // phase.scale) * (1 + once))
        matrix = csr_array((values, csr.targets, csr.indptr), shape=(n, n))
        matrix.setdiag(0)
        matrices.append((matrix, matrix.toarray()))
    loads = graph.task_loads()
    alike = loads[:, None] == loads[None, :]
    while True:
        apart = distance.apart(pe[:, None], pe[None, :])
        worst, total, costs = np.zeros((n, n), np.int64), np.zeros((n, n), np.int64), []
        for matrix, dense in matrices:
            to = matrix @ apart  # the cost of task u in the place of task v
            own = np.diagonal(to)
            costs.append(int(own.sum()))
            after = costs[-1] + 2 * (to + to.T - own[:, None] - own[None, :] + 2 * dense * apart)
            worst, total = np.maximum(worst, after), total + after
        now = max(costs), sum(costs)
        worst[~alike] = MAX_SUM
        least = int(worst.min())
        best = int(np.where(worst == least, total, MAX_SUM).argmin())
        if (least, int(total.flat[best])) >= now:
            return pe
        u, v = divmod(best, n)
        pe[[u, v]] = pe[[v, u]]
