"""map_tasks(): it converts the arguments to a problem and a method, solves it and verifies the result."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import TypeVar

import numpy as np

from hopbytes.algorithms.base import Effort, Progress
from hopbytes.cost.objectives.base import objectives
from hopbytes.cost.objectives.comm_cost import CommCost, SearchForm, check_scale
from hopbytes.engine import stop_asked, stopping_when
from hopbytes.errors import UnsupportedError, WrongTypeError, unknown_name
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.solve.auto_objective import objective_of
from hopbytes.solve.congestion_on_rails import (
    first_objective,
    weighs_links,
    with_links_weighed,
    with_rule_kept,
)
from hopbytes.solve.constraints import Constraints
from hopbytes.solve.feasibility import verify
from hopbytes.solve.method import MethodLike, for_training, method_of
from hopbytes.solve.presets import DEFAULT
from hopbytes.solve.problem import Request
from hopbytes.solve.run_report import run_report, warn_of
from hopbytes.solve.sides import PatternLike, PlaceLike, pattern_side, place_side
from hopbytes.solve.slot_choice import place
from hopbytes.solve.slot_policies import Task
from hopbytes.util.checks import check_functions, check_truths, name_of, thread_count, whole
from hopbytes.util.limits import Clock, Limits

Record = TypeVar("Record", Limits, Constraints)

WEIGHTS = ("bytes", "messages", "unit", "time")


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
    clock = Clock(limits.time)
    check_truths(partition=partition, strict=constraints.strict)
    threads = thread_count(threads)
    graph, where = pattern_side(graph, threads), place_side(where)
    check_functions(progress=progress)
    effort = Effort(
        whole("seed", seed, 0), threads, None, progress, work_limit=limits.work, began=clock.began
    )
    name_of("weight", weight)
    if objective is not None:
        name_of("objective", objective)
    weighed = weighs_links(
        graph, where, objective=objective, weight=weight, method=method, constraints=constraints,
        partition=partition,
    )
    objective, chosen = (
        first_objective(limits.limited) if weighed else objective_of(objective, where, weight)
    )
    steps = for_training(method_of(method, objective), graph, where)
    form = _search_form(graph, where, weight, steps.objective)
    request = Request(
        partition, imbalance, constraints.strict, where.use,
        mapper_chooses=steps.steps.mapper.chooses_slots,
    )
    task = Task(
        form.graph, form.where, request, constraints.checked(graph.n, where), steps.objective,
        objectives[steps.objective](), in_order_counts=steps.preset is not None,
    )
    if limits.time is not None:
        check_scale(form.graph, form.where)
        clock.reserve(lambda: CommCost().value(form.graph, form.where, np.zeros(form.graph.n, np.int32)))
        effort = dataclasses.replace(effort, deadline=clock.deadline)
    with stopping_when(limits.stop):
        found = place(task, steps.steps, steps.quick, effort, limited=limits.limited)
        if weighed and limits.limited:
            found, why = with_rule_kept(task, found)
            chosen += why
        elif weighed:
            found, steps, task, why = with_links_weighed(task, found, steps, effort)
            chosen += why
        early = stop_asked()
    map_seconds = clock.seconds()
    verify(found.problem, found.pe)
    seconds = {"map": map_seconds, "verify": clock.seconds() - map_seconds}
    info = run_report(
        graph, weight, dataclasses.replace(task, where=where), form, steps, found, effort,
        limited=limits.time is not None, early=early, seconds=seconds,
    )
    info["notices"] = [*chosen, *info["notices"]]
    warn_of(info["notices"], stacklevel=2)
    return Mapping(found.placed, where, info)


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
