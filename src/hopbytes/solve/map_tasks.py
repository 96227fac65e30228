"""map_tasks(): it converts the arguments to a problem and a method, solves it and verifies the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Dictionary
from fractions import Fraction
from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.algorithms.base import Mapper, Progress, Refiner
from hopbytes.cost.objectives.base import objectives
from hopbytes.cost.objectives.comm_cost import CommCost, SearchForm, check_scale
from hopbytes.engine import stop_asked, stopping_when
from hopbytes.errors import UnsupportedError, unknown_name
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
from hopbytes.solve.constraints import collect_constraints
from hopbytes.solve.feasibility import verify
from hopbytes.solve.method import effort_of, for_training, method_of
from hopbytes.solve.presets import Chain
from hopbytes.solve.problem import Request
from hopbytes.solve.run_report import run_report, warn_of
from hopbytes.solve.sides import PatternLike, PlaceLike, pattern_side, place_side
from hopbytes.solve.slot_choice import place
from hopbytes.solve.slot_policies import Task
from hopbytes.util.checks import check_truths, name_of, thread_count, whole
from hopbytes.util.clock import Clock

WEIGHTS = ("bytes", "messages", "unit", "time")


def map_tasks(
    graph: PatternLike,
    where: PlaceLike,
    *,
    preset: str | Chain | None = None,
    mapper: str | Mapper | None = None,
    refine: str | Refiner | Sequence[str | Refiner] = (),
    objective: str | None = None,
    weight: str = "bytes",
    imbalance: float | str | Fraction = 0.03,
    seed: int = 0,
    threads: int | None = None,
    time_limit: float | None = None,
    work_limit: int | None = None,
    partition: bool | None = None,
    oversubscribe: bool = False,
    pack: bool = False,
    spread: bool = False,
    equal_nodes: bool = False,
    tasks_per_node: int | None = None,
    per: str | Dictionary[str, int] | None = None,
    strict_balance: bool = False,
    fixed: Dictionary[int, int] | Sequence[int] | Int32 | None = None,
    forbidden: Iterable[tuple[int, int]] | None = None,
    initial: Mapping | Int32 | None = None,
    migration_price: int = 0,
    progress: Progress | None = None,
    stop: Callable[[], bool] | None = None,
) -> Mapping:
    """Map every task to a PE so that tasks that communicate much are close to each other.

    Parameters
    ----------
    graph : CommGraph, or an object that can be converted to one
        The pattern of n tasks, directed or undirected, connected or not: a CommGraph, a square matrix of
        NumPy or SciPy (entry (i, j) is the volume that task i sends to task j), a graph of networkx, a file,
        or a generator such as ``"stencil:16x16"``.
    where : Allocation, or an object that can be converted to one
        The k PEs, see :func:`hopbytes.machine`. A Machine means all its cores, one per PE; a text describes a
        machine, such as ``"node:6 core:12"``.
    preset : str or Chain, optional
        Predefined chain of a mapper and refiners. The default is ``"eco"``. It excludes `mapper`.
    mapper : str or Mapper, optional
        A single algorithm in place of a preset: ``"random"``, ``"name:key=value,key=value"``,
        ``"module:Class"`` or an object such as ``hopbytes.mappers.Multisection(repetitions=4)``.
    refine : str, Refiner or a sequence of them
        Refiners to run after the mapper (or after the refiners of the preset).
    objective : str, optional
        The function to minimize: ``"comm_cost"``, the sum over arcs of weight times distance, or one that
        requires a machine with links: ``"hop_bytes"``, ``"hops"``, ``"max_congestion"``,
        ``"max_messages"``, ``"hybrid"``. ``"auto"`` chooses by kind of machine the one whose mappings took
        least simulated time (``info["notices"]`` says which and why). The default is ``"comm_cost"``; on
        GPUs with rails a preset weighs the load of links beside it (see Notes), as ``"auto"`` does, too.
        Presets select their steps by the
        objective; a `mapper` is used as it is. No step raises the objective, with one exception: if it is
        ``"comm_cost"``, a refiner in `refine` that minimizes another function may raise it.
    weight : {"bytes", "messages", "unit", "time"}
        Weight of an arc. ``"time"`` is latency x messages + bytes / bandwidth of the level at which two PEs
        differ, on machines whose levels have both (:mod:`hopbytes.cost.message_time`).
    imbalance : float, str or Fraction
        For partitions: the load of a PE is at most ``(1 + imbalance)`` times the mean load, as an integer
        (:func:`hopbytes.model.capacities.load_bound`). It is given as ``0.03`` or ``"3%"``; values of 1 and
        more must be given in per cent.
    seed : int
        Seed of all random numbers. The same input, options and seed give the same mapping for any `threads`.
    threads : int, optional
        Number of parallel workers; the default is the number of CPUs that this process may use.
    time_limit : float, optional
        Limit in seconds for the whole call, including verification. The best mapping found by then is
        returned; with 0 the first one. With a limit the result may depend on the speed of the machine.
    work_limit : int, optional
        Limit in scanned edges (``info["work"]["arcs"]``) after which no further search begins. Unlike a time
        limit it gives the same mapping on every machine. Searches that have begun are completed, and there
        is always a first mapping.
    partition : bool, optional
        False means processes, one task per PE. True means any number of tasks per PE within `imbalance`, with
        no PE empty if n >= k. By default the problem is a partition if and only if ``n >= 8 k`` and the tasks
        are not known to be processes (:attr:`hopbytes.CommGraph.of_processes`); a notice then states this.
    oversubscribe : bool
        Allow more processes than PEs; every PE then holds floor(n/k) or ceil(n/k) tasks. Unless `partition`
        is set, this selects the processes problem for any n.
    pack, spread, tasks_per_node, per
        Choice of the PEs for processes with n < k, see
        :func:`hopbytes.machines.allocate.slot_counts.spread`. `pack` uses the first n, like ``mpirun``.
        `spread` gives every node the same number of tasks, like ``srun``, so that each process has more
        memory bandwidth. `tasks_per_node` and `per` are exact counts for every node, or for every unit of a
        level (``"l3=2"`` or ``{"l3": 2, "package": 4}``). By default filled nodes, spread tasks and a free
        choice of slots by the pattern are tried, and the best is used (:mod:`hopbytes.solve.slot_choice`);
        ``info["slots"]`` names it. If the job prescribes the number of tasks per node, it is kept.
    equal_nodes : bool
        Use by default only nodes with the same number of tasks each, which some launchers require.
    strict_balance : bool
        Raise an error instead of relaxing the bound if weighted tasks cannot meet it.
    fixed : mapping from task to PE, or int[n] with -1 for free tasks, optional
        PEs of fixed tasks.
    forbidden : pairs of a task and a PE, optional
        PEs that tasks must not use. A PE that is forbidden to all tasks is excluded.
    initial : Mapping or int[n], optional
        The current mapping. It is refined, and a new mapping is relabelled to agree with it as far as
        possible; the better of the two is returned.
    migration_price : int
        Cost of each task that leaves its PE of `initial`, in units of the communication cost.
    progress : callable, optional
        Called with (stage, done, total).
    stop : callable, optional
        Called without arguments a few times per second. Once it returns True, the best mapping found so far
        is returned soon, as at a time limit.

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
        or make a PE overfull, or (with `strict_balance`) loads cannot be met.
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
    bottleneck. Without `objective`, with ``weight="bytes"`` and without `refine` and `initial`, a preset
    therefore continues there for the load of links. The mapping with the lowest J is returned unless another
    one saves more than 5 % of the load of the busiest link, or an order of ranks that needs no mapping (as
    they come, or an order of Megatron-LM) has a busiest link with 1 % less: then the mapping whose busiest
    link carries least is returned, ``info["objective"]`` is ``"max_congestion"``, and a notice says so. With
    a limit of time or work only ``"max_congestion"`` is minimized.

    Examples
    --------
    >>> import hopbytes as hb
    >>> pairs = hb.CommGraph.from_edges([0, 1, 2, 3], [2, 3, 0, 1], [9, 9, 9, 9])
    >>> mapping = hb.map_tasks(pairs, hb.machine("node:2@10 core:2@1"), mapper="identity")
    >>> mapping.pe.tolist(), mapping.info["comm_cost"]
    ([0, 1, 2, 3], 360)
    >>> hb.map_tasks("stencil:4x4", "node:4@10 core:4@1")
    Mapping(16 tasks → 16 PEs, J=12,582,912, eco, seed 0)
    """
    clock = Clock(time_limit)
    threads = thread_count(threads)
    graph, where = pattern_side(graph, threads), place_side(where)
    request = _request(
        partition=partition, oversubscribe=oversubscribe, pack=pack, spread=spread, equal_nodes=equal_nodes,
        tasks_per_node=tasks_per_node, per=per, imbalance=imbalance, strict_balance=strict_balance,
    )
    effort = effort_of(seed, threads, work_limit, progress, stop, clock)
    limited = clock.limited or work_limit is not None
    name_of("weight", weight)
    if objective is not None:
        name_of("objective", objective)
    weighed = weighs_links(
        graph, where, objective=objective, weight=weight, mapper=mapper, refine=refine, initial=initial,
        partition=partition,
    )
    objective, chosen = (
        first_objective(limited) if weighed else objective_of(objective, where, weight)
    )
    method = for_training(method_of(preset, mapper, refine, objective), graph, where)
    form = _search_form(graph, where, weight, method.objective)
    constraints = collect_constraints(
        graph.n, where, fixed=fixed, forbidden=forbidden, initial=initial, migration_price=migration_price
    )
    request = dataclasses.replace(request, mapper_chooses=method.steps.mapper.chooses_slots)
    task = Task(
        form.graph, form.where, request, constraints, method.objective, objectives[method.objective](),
        in_order_counts=method.preset is not None,
    )
    if clock.limited:
        check_scale(form.graph, form.where)
        clock.reserve(lambda: CommCost().value(form.graph, form.where, np.zeros(form.graph.n, np.int32)))
        effort = dataclasses.replace(effort, deadline=clock.deadline)
    with stopping_when(stop):
        found = place(task, method.steps, method.quick, effort, limited=limited)
        if weighed and limited:
            found, why = with_rule_kept(task, found)
            chosen += why
        elif weighed:
            found, method, task, why = with_links_weighed(task, found, method, effort)
            chosen += why
        early = stop_asked()
    map_seconds = clock.seconds()
    verify(found.problem, found.pe)
    seconds = {"map": map_seconds, "verify": clock.seconds() - map_seconds}
    info = run_report(
        graph, weight, dataclasses.replace(task, where=where), form, method, found, effort,
        limited=clock.limited, early=early, seconds=seconds,
    )
    info["notices"] = [*chosen, *info["notices"]]
    warn_of(info["notices"], stacklevel=2)
    return Mapping(found.placed, where, info)


def _request(**options: Any) -> Request:
    """Return the checked arguments about numbers of tasks per PE."""
    if options["tasks_per_node"] is not None:
        options["tasks_per_node"] = whole("tasks_per_node", options["tasks_per_node"], 1)
    truths = ("partition", "oversubscribe", "pack", "spread", "equal_nodes", "strict_balance")
    check_truths(**{name: options[name] for name in truths})
    if options["pack"] and options["spread"]:
        raise UnsupportedError("pack and spread exclude each other, give one")
    return Request(**options)


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
