"""map_tasks(): it converts the arguments to a problem and a method, solves it and verifies the result."""

from __future__ import annotations

import dataclasses
import math
import time
import warnings
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Effort, Progress, mappers, refiners
from hopbytes.cost.objectives.comm_cost import CommCost, SearchForm, check_scale, objectives
from hopbytes.engine.control import stop_asked, stopping_when
from hopbytes.errors import HopbytesWarning, UnsupportedError, WrongTypeError, unknown_name
from hopbytes.machines.gpu_domains import has_rails
from hopbytes.model.allocation import Allocation, PlaceLike
from hopbytes.model.capacities import group_sums, relative_excess
from hopbytes.model.comm_graph import CommGraph, PatternLike
from hopbytes.model.mapping import Mapping
from hopbytes.solve.feasible import verify
from hopbytes.solve.method import AUTO, LINKS, Method, MethodLike, is_preset, method_of
from hopbytes.solve.presets import DEFAULT
from hopbytes.solve.problem import Constraints, Request
from hopbytes.solve.slots import Result, Task, solve
from hopbytes.util.checks import check_functions, check_truths, name_of, thread_count, whole
from hopbytes.util.limits import Limits
from hopbytes.util.options import describe
from hopbytes.util.version import __version__

Record = TypeVar("Record", Limits, Constraints)

WEIGHTS = ("bytes", "messages", "unit", "time")
#: The objective that needs only distances, and the share of the time that a later one must save to be chosen.
USUAL, LEAST_GAIN = "comm_cost", 0.02
#: In the order of the work that they need.
OBJECTIVES = ("comm_cost", "hop_bytes", "hops", "max_congestion", "max_messages", "hybrid")
#: Simulated time of preset eco by objective over that in order, geometric means over eight patterns, by the
#: machine of the study (last table of bench/STUDIES.md: `python -m bench.studies.which_metric --objectives`).
TIMES = {
    "torus": (0.638, 0.680, 0.792, 0.536, 0.691, 0.540),
    "tree 4:1": (0.658, 0.658, 0.956, 0.657, 0.964, 0.670),
    "fat tree 1:1": (0.829, 0.839, 0.966, 0.823, 0.975, 0.830),
    "dragonfly": (0.742, 0.741, 0.989, 0.661, 0.818, 0.657),
    "real fabric": (0.828, 0.829, 1.037, 0.812, 0.960, 0.815),
}
#: Kind of machine, as specs begin → the machines of the study that are like it.
ALIKE = {
    "torus": ("torus",), "mesh": ("torus",),
    "fattree": ("tree 4:1", "fat tree 1:1"), "dragonfly": ("dragonfly",),
    "ib": ("real fabric",),
}  # fmt: skip
#: The same over 24 recorded programs of 16 to 1152 ranks on fat trees with 4:1 (`python -m
#: bench.studies.recorded_gains`); it decides there, since the 64 tasks above hardly load the links upwards.
RECORDED = {"fattree": {"comm_cost": 0.894, "max_congestion": 0.817}}


def map_tasks(
    graph: PatternLike,
    where: PlaceLike,
    method: MethodLike = DEFAULT,
    *,
    objective: str | None = None,
    weight: str = "bytes",
    imbalance: float | str | Fraction = 0.03,
    partition: bool | None = None,
    constraints: Constraints | None = None,
    limits: Limits | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Mapping:
    """Map every task to a PE so that tasks that communicate much are close to each other.

    Parameters
    ----------
    graph : CommGraph, or an object that can be converted to one
        The pattern of n tasks, directed or undirected, connected or not: a CommGraph, a square matrix of
        NumPy or SciPy (entry (i, j) is the volume that task i sends to task j), a graph of networkx, a file,
        or a generator such as ``"stencil:16x16"``.
    where : Allocation, or an object that can be converted to one
        The k PEs, and how tasks use them: see :func:`hopbytes.allocate`. A Machine means all its cores, one
        per PE; a text describes a machine, such as ``"node:6 core:12"``.
    method : str, Chain, Mapper, or a sequence of them and of refiners
        A preset, which is a chain of a mapper and refiners (``"turbo"``, ``"fast"``, ``"eco"``, ``"strong"``,
        ``"best"``, ``"routed"``, or a :class:`hopbytes.Chain`), or a single mapper: ``"random"``,
        ``"name:key=value,key=value"``, ``"module:Class"`` or an object such as
        ``hopbytes.mappers.Multisection(repetitions=4)``. A sequence begins with one of these and continues
        with refiners, which run after it: ``["fast", "swap"]``.
    objective : str, optional
        The function to minimize: ``"comm_cost"``, the sum over arcs of weight times distance, or one that
        requires a machine with links: ``"hop_bytes"``, ``"hops"``, ``"max_congestion"``,
        ``"max_messages"``, ``"hybrid"``. ``"auto"`` chooses by kind of machine the one whose mappings took
        least simulated time (``info["notices"]`` says which and why). The default is ``"comm_cost"``; on
        GPUs with rails a preset weighs the load of links beside it (see Notes), as ``"auto"`` does, too.
        Presets select their steps by the objective; a mapper is used as it is. No step raises the objective,
        with one exception: if it is ``"comm_cost"``, a refiner in `method` that minimizes another function
        may raise it.
    weight : {"bytes", "messages", "unit", "time"}
        Weight of an arc. ``"time"`` is latency x messages + bytes / bandwidth of the level at which two PEs
        differ, on machines whose levels have both (:mod:`hopbytes.cost.message_time`).
    imbalance : float, str or Fraction
        For partitions: the load of a PE is at most ``(1 + imbalance)`` times the mean load, as an integer
        (:func:`hopbytes.model.capacities.load_bound`). It is given as ``0.03`` or ``"3%"``; values of 1 and
        more must be given in per cent.
    partition : bool, optional
        False means processes, one task per PE. True means any number of tasks per PE within `imbalance`, with
        no PE empty if n >= k. By default the problem is a partition if and only if ``n >= 8 k`` and the tasks
        are not known to be processes (:attr:`hopbytes.CommGraph.of_processes`); a notice then states this.
    constraints : Constraints, optional
        Fixed and forbidden PEs of tasks, their current mapping, and whether the bound on loads is strict.
    limits : Limits, optional
        Limits of time or work, and a function that stops the call.
    threads : int, optional
        Number of parallel workers; the default is the number of CPUs that this process may use.
    seed : int
        Seed of all random numbers. The same input, options and seed give the same mapping for any `threads`.
    progress : callable, optional
        Called with (stage, done, total).

    Returns
    -------
    Mapping
        ``pe`` int32[n] and ``info``: problem, mapper with all its options, preset, refine, objective,
        weight, seed, threads, version, deterministic, seconds {map, verify}, work (counters), comm_cost,
        imbalance, balance ("met" or "relaxed"), bound_asked, bound_kept, notices, history (of the best
        mapping: seconds, scanned edges, J; one entry for other objectives); with `initial` also migrations
        and migration_cost; if slots were chosen, also slots ("filled", "spread" or "free") and alternatives
        (the best value of the objective under each policy).

    Raises
    ------
    InfeasibleError
        If there are more tasks than PEs, counts cannot be met, fixed and forbidden PEs leave no PE for a task
        or make a PE overfull, or (with strict constraints) loads cannot be met.
    FormatError
        If constraints name tasks or PEs that do not exist.
    UnsupportedError
        If a name is unknown or a value is out of range.
    WrongTypeError
        If an argument has a wrong type.
    ScaleError
        If volumes, distances or loads are too large for 64-bit sums.

    Warns
    -----
    HopbytesWarning
        For each of ``info["notices"]``: a bound that was relaxed, tasks that had to be moved, the unit of J.

    Notes
    -----
    On GPUs with rails, one process each at most, a lower J may mean a longer step, since few links are the
    bottleneck. Without `objective`, with ``weight="bytes"``, and without further refiners and a current
    mapping, a preset therefore continues there for the load of links. The mapping with the lowest J is
    returned unless another one saves more than 5 % of the load of the busiest link, or an order of ranks that
    needs no mapping (as they come, or an order of Megatron-LM) has a busiest link with 1 % less: then the
    mapping whose busiest link carries least is returned, ``info["objective"]`` is ``"max_congestion"``, and a
    notice says so. With a limit of time or work only ``"max_congestion"`` is minimized.

    Examples
    --------
    >>> import hopbytes as hb
    >>> pairs = hb.CommGraph.from_edges([0, 1, 2, 3], [2, 3, 0, 1], [9, 9, 9, 9])
    >>> mapping = hb.map_tasks(pairs, "node:2@10 core:2@1", "identity")
    >>> mapping.pe.tolist(), mapping.info["comm_cost"]
    ([0, 1, 2, 3], 360)
    >>> hb.map_tasks("stencil:4x4", "node:4@10 core:4@1")
    Mapping(16 tasks → 16 PEs, J=12,582,912, eco, seed 0)
    """
    limits, constraints = _record(limits, Limits), _record(constraints, Constraints)
    began = time.monotonic()
    check_truths(partition=partition, strict=constraints.strict)
    threads = thread_count(threads)
    graph, where = CommGraph.checked(graph, threads), Allocation.of(where)
    check_functions(progress=progress)
    effort = Effort(whole("seed", seed, 0), threads, None, progress, work_limit=limits.work, began=began)
    name_of("weight", weight)
    if objective is not None:
        name_of("objective", objective)
    aim, notices, further = aim_of(
        graph, where, method, objective, weight, constraints, partition, limited=limits.limited
    )
    # Constraints of tasks are for the mapper of `fast`, which would run twice if `turbo` competed.
    competes = limits.limited and not constraints.of_tasks
    found = method_of(method, aim, graph, where, limited=competes)
    form = _search_form(graph, where, weight, found.objective)
    request = Request(
        partition, imbalance, constraints.strict, constraints.bound, where.use,
        mapper_chooses=found.mapper.chooses_slots,
    )
    task = Task(
        form.graph, form.where, request, constraints.checked(graph.n, where), found.objective,
        objectives[found.objective](), in_order_counts=found.preset is not None,
    )
    if limits.time is not None:
        check_scale(form.graph, form.where)
        before = time.monotonic()
        CommCost().value(form.graph, form.where, np.zeros(form.graph.n, np.int32))
        # The final evaluation, the translation of the result and its verification take about three of these.
        reserved = 3 * (time.monotonic() - before)
        effort = dataclasses.replace(effort, deadline=began + float(limits.time) - reserved)
    with stopping_when(limits.stop):
        result = solve(task, found, effort, limited=limits.limited)
        if further is not None:
            task, result, found, why = further(task, result, found, effort)
            notices += why
        early = stop_asked()
    mapped = time.monotonic()
    verify(result.problem, result.pe)
    seconds = {"map": mapped - began, "verify": time.monotonic() - mapped}
    info = run_report(
        graph, weight, dataclasses.replace(task, where=where), form, found, result, effort,
        limited=limits.time is not None, early=early, seconds=seconds,
    )
    info["notices"] = [*notices, *info["notices"]]
    warn_of(info["notices"], stacklevel=2)
    return Mapping(result.mapping, where, info)


def _record(given: Record | None, kind: type[Record]) -> Record:
    if given is not None and not isinstance(given, kind):
        name = kind.__name__
        raise WrongTypeError(f"{name.lower()} {given!r}, expected a {name}")
    return kind() if given is None else given


def _search_form(graph: CommGraph, where: Allocation, weight: str, objective: str) -> SearchForm:
    """Return the graph with the chosen weight on every arc, and the PEs, in the form that searches use."""
    if name_of("weight", weight) not in WEIGHTS:
        raise unknown_name("weight", weight, WEIGHTS)
    if weight != "time":
        return SearchForm(graph.with_weights(weight), where, 0.0)
    if objective != "comm_cost":
        raise UnsupportedError(f"weight time with objective {objective}, expected bytes, messages or unit")
    from hopbytes.cost.message_time import search_form, times_of

    return search_form(graph, where, times_of(graph, where))


def run_report(
    graph: CommGraph, weight: str, task: Task, form: SearchForm, method: Method, result: Result,
    effort: Effort, *, limited: bool, early: bool, seconds: dict[str, float],
) -> dict[str, Any]:
    """Return the entries of ``Mapping.info`` (:class:`hopbytes.model.mapping.MappingInfo`)."""
    where, pe, problem = task.where, result.mapping, result.problem
    cost = problem.comm_cost(result.pe, effort.threads)
    value = cost if method.objective == "comm_cost" else task.goal.value(task.graph, where, pe)
    timed = {} if weight != "time" else _time_report(graph, task, pe, form)
    loads = group_sums(result.pe, problem.graph.loads, problem.where.k)
    notices = [*_scale_notice(graph, weight), *problem.notices, *result.notices]
    notices += [*_uneven_notice(task, pe), *dict.fromkeys(effort.notices)]
    effort.note(cost)
    moved = {}
    if task.constraints.initial is not None:
        migrations = int(np.count_nonzero(pe != task.constraints.initial))
        moved = {"migrations": migrations, "migration_cost": migrations * task.constraints.price}
    return {
        "problem": problem.name,
        "mapper": describe(mappers, method.mapper),
        "preset": method.preset,
        "refine": [describe(refiners, refiner) for refiner in method.refine],
        "objective": method.objective,
        "objective_value": value,
        "weight": weight,
        "seed": effort.seed,
        "threads": effort.threads,
        "version": __version__,
        "deterministic": method.mapper.deterministic and not limited and not early,
        "work": effort.counted(),
        "comm_cost": cost,
        **timed,
        "imbalance": relative_excess(
            group_sums(pe, graph.loads, where.k, effort.threads), graph.total_load, where.capacity
        ),
        # A task heavier than a full PE counts as a full PE.
        "balance": "met" if bool(np.all(loads <= problem.bounds.load)) else "relaxed",
        "bound_asked": int(problem.bounds.load.max()) * problem.load_unit,
        "bound_kept": int(loads.max()) * problem.load_unit,
        **moved,
        **result.report(),
        "notices": [*notices, *_work_notice(effort, limited=limited, early=early)],
        "history": [list(entry) for entry in effort.history],
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


def _uneven_notice(task: Task, pe: Int32) -> list[str]:
    """Return a notice if nodes with equal numbers of tasks were asked for, but not found."""
    if not task.request.use.equal_nodes or not len(pe):
        return []
    counts = np.bincount(task.where.node_of_pe[pe])
    used = counts[counts > 0]
    if int(used.min()) == int(used.max()):
        return []
    return [f"used nodes have {used.min()} to {used.max()} tasks: no choice of slots was found that is equal"]


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


# The objective; if the caller leaves it open, the one whose mappings took least simulated time

#: Continues from the result of a search: takes task, result, method and effort, returns the first three and
#: notices.
Further: TypeAlias = Callable[[Any, Any, Any, Effort], tuple[Any, Any, Any, list[str]]]


def aim_of(
    graph: CommGraph, where: Allocation, method: MethodLike, objective: str | None, weight: str,
    constraints: Constraints, partition: bool | None, *, limited: bool,
) -> tuple[str, list[str], Further | None]:
    """Return the objective that a search minimizes first, why if the caller left it open, what continues."""
    if not weighs_links(graph, where, method, objective, weight, constraints, partition):
        return *objective_of(objective, where, weight), None
    from hopbytes.solve.rails import with_links_weighed, with_rule_kept

    if not limited:
        return USUAL, [], with_links_weighed
    why = f"objective {LINKS} was chosen: the GPUs have rails, and time or work is limited"
    return LINKS, [why], with_rule_kept  # there is no time for a second search


def weighs_links(
    graph: CommGraph, where: Allocation, method: MethodLike = DEFAULT, objective: str | None = None,
    weight: str = "bytes", constraints: Constraints | None = None, partition: bool | None = None,
) -> bool:
    """Return whether the load of links is weighed beside J: on GPUs with rails, a task for each at most."""
    usual = objective in (None, AUTO) and weight == "bytes" and is_preset(method)
    usual = usual and (constraints is None or constraints.initial is None)
    return usual and not partition and 0 < graph.n <= where.k and has_rails(where)


def objective_of(objective: str | None, where: Allocation, weight: str) -> tuple[str, list[str]]:
    """Return the objective that is minimized, and why it was chosen if the caller left that open."""
    if objective != AUTO:
        return USUAL if objective is None else objective, []
    if weight == "time":
        return USUAL, [_because(USUAL, "weight time goes with no other")]
    name, reason = auto_objective(where)
    return name, [reason]


def auto_objective(where: Allocation) -> tuple[str, str]:
    """Return the objective for a machine, J where the study has none like it, and why as a sentence."""
    kind = where.machine.spec().partition(":")[0]
    if where.machine.network() is None:
        return USUAL, _because(USUAL, "the machine has no links")
    if kind not in ALIKE:
        return USUAL, _because(USUAL, f"no times were simulated on machines of kind {kind}")
    times = {
        name: math.prod(TIMES[machine][column] for machine in ALIKE[kind]) ** (1 / len(ALIKE[kind]))
        for column, name in enumerate(OBJECTIVES)
    }
    times = RECORDED.get(kind, times)
    least = min(times.values())
    best = next(name for name in times if least > (1 - LEAST_GAIN) * times[name] or times[name] == least)
    others = f", for {USUAL} {times[USUAL]:.2f}" if best != USUAL else ""
    taken = f"its mappings took {times[best]:.2f} of the time in order{others}"
    return best, _because(best, f"in simulations of kind {kind} {taken}")


def _because(name: str, reason: str) -> str:
    return f"objective {name} was chosen: {reason}"
