"""map_tasks(): arguments become a problem and a method; the method solves it, and the answer is verified."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._util.checks import check_truths, name_of, whole
from hopbytes._util.clock import Clock
from hopbytes.algorithms.base import Mapper, Progress, Refiner
from hopbytes.cost.message_time.form import SearchForm
from hopbytes.cost.metrics.scale import check_scale
from hopbytes.cost.objectives.base import objectives
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine import stop_asked, stopping_when
from hopbytes.errors import UnsupportedError, unknown_name
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.solve.constraints import collect_constraints
from hopbytes.solve.feasibility import verify
from hopbytes.solve.method import effort_of, method_of
from hopbytes.solve.presets import Chain
from hopbytes.solve.problem import Request
from hopbytes.solve.run_report import run_report, warn_of
from hopbytes.solve.sides import PatternLike, PlaceLike, pattern_side, place_side
from hopbytes.solve.slot_choice import place
from hopbytes.solve.slot_policies import Task

WEIGHTS = ("bytes", "messages", "unit", "time")


def map_tasks(
    graph: PatternLike,
    where: PlaceLike,
    *,
    preset: str | Chain | None = None,
    mapper: str | Mapper | None = None,
    refine: str | Refiner | Sequence[str | Refiner] = (),
    objective: str = "comm_cost",
    weight: str = "bytes",
    imbalance: float | str = 0.03,
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
    """Place every task on a PE so that tasks that talk much are close.

    Parameters
    ----------
    graph : CommGraph, or what makes one
        n tasks, directed or not, in any number of pieces: a square matrix of NumPy or SciPy (entry (i, j) is
        what task i sends to task j), a graph of networkx, a file, or a generator such as ``"stencil:16x16"``.
    where : Allocation, or what makes one
        k PEs, see :func:`hopbytes.machine`; a Machine stands for all its cores, one per PE, a text for the
        machine it describes: ``"node:6 core:12"``.
    preset : str or Chain, optional
        Ready-made chain of a mapper and refiners (default ``"eco"``). Not together with `mapper`.
    mapper : str or Mapper, optional
        One algorithm instead: ``"random"``, ``"name:key=value,key=value"``, ``"module:Class"`` or a value
        such as ``hopbytes.mappers.Multisection(runs=4)``.
    refine : str, Refiner or a sequence of them
        Improvers to run after the mapper (and after the preset's own).
    objective : str
        What to make small: ``"comm_cost"``, the sum over arcs of weight times distance, or one that needs
        a machine with links: ``"hop_bytes"``, ``"hops"``, ``"max_congestion"``, ``"max_messages"``,
        ``"hybrid"``. Presets choose their steps by it; a `mapper` is taken as it is. No step makes it
        worse, but for a refiner in `refine` that lowers something else while this is ``"comm_cost"``.
    weight : {"bytes", "messages", "unit", "time"}
        What an arc weighs. ``"time"``: latency x messages + bytes / bandwidth of the level at which two PEs
        part, on machines whose levels have both (:mod:`hopbytes.cost.message_time`).
    imbalance : float or str
        Partition problem: each PE holds at most ``(1 + imbalance)`` times the mean load, as an integer
        (:func:`hopbytes.model.capacities.load_bound`). ``0.03`` or ``"3%"``; 1 and more only in per cent.
    seed : int
        Same input, options and seed: same mapping, for any `threads`.
    threads : int, optional
        Workers side by side; by default as many as CPUs this process may use.
    time_limit : float, optional
        Seconds for everything this function does, verification included; the best mapping found by
        then is returned; 0 asks for the first one. With a limit the answer may depend on the speed of
        the machine.
    work_limit : int, optional
        Work after which no further search begins, in scanned edges (``info["work"]["arcs"]``): the measure
        that, unlike seconds, gives the same mapping on every machine. What has begun is completed,
        a first mapping always.
    partition : bool, optional
        False: processes, one task per PE. True: any number of tasks per PE within `imbalance`, no PE
        empty when n >= k. By default a partition if and only if ``n >= 8 k`` and the tasks are not known to
        be processes (:attr:`hopbytes.CommGraph.of_processes`); a notice then says so.
    oversubscribe : bool
        Processes with n > k: allow it; every PE then holds floor(n/k) or ceil(n/k) tasks. Unless
        `partition` says otherwise it means processes, however large n.
    pack, spread, tasks_per_node, per
        Processes with n < k: which PEs are used, see :func:`hopbytes.machines.selection.slot_counts.spread`.
        `pack` takes the
        first n, as ``mpirun`` does; `spread` gives every node equally many, as ``srun`` does, which
        leaves each process more memory bandwidth; the others are hard counts for every node, or for
        every unit of a level (``"l3=2"`` or ``{"l3": 2, "package": 4}``).
        By default all three are tried, nodes filled, spread, and any slots that the pattern prefers, and the
        cheapest is taken (:mod:`hopbytes.solve.slot_choice`); ``info["slots"]`` says which. Where the job
        says how
        many tasks each node gets, that is kept.
    equal_nodes : bool
        By default use only nodes with the same number of tasks each, which some launchers ask for.
    strict_balance : bool
        Raise instead of relaxing the bound when weighted tasks cannot meet it.
    fixed : mapping from task to PE, or int[n] with -1 for free tasks, optional
        Where these tasks must be.
    forbidden : pairs of a task and a PE, optional
        Where they must not be. A PE forbidden to all tasks is left out.
    initial : Mapping or int[n], optional
        Where tasks are now. It is refined, a new mapping is made to agree with it as far as possible,
        and the cheaper of the two is kept.
    migration_price : int
        What each task costs that is not where `initial` has it, in units of the communication cost.
    progress : callable, optional
        Called with (stage, done, total).
    stop : callable, optional
        Asked a few times a second, without arguments; once it says yes the best mapping found so far is
        returned soon, as at a time limit.

    Returns
    -------
    Mapping
        ``pe`` int32[n] and ``info``: problem, mapper with all its options, preset, refine, objective,
        weight, seed, threads, version, deterministic, seconds {map, verify}, work (counters), comm_cost,
        imbalance, balance ("met" or "relaxed"), bound_asked, bound_kept, notices, history (of the best
        mapping so far: seconds, scanned edges, J; one entry for other objectives); with `initial`
        migrations and migration_cost; where slots were chosen, slots ("filled", "spread" or "free") and
        alternatives (the best value of the objective under each).

    Raises
    ------
    InfeasibleError
        More tasks than PEs, counts that cannot be met, fixed and forbidden places that leave a task none
        or make a PE overfull, or (with `strict_balance`) loads that cannot be met.
    FormatError
        Constraints on tasks or PEs that do not exist.
    UnsupportedError
        An unknown name or a value out of range.
    WrongTypeError
        An argument of a wrong kind.
    ScaleError
        Volumes, distances or loads too large for 64-bit sums.

    Warns
    -----
    HopbytesWarning
        Each of ``info["notices"]``: a bound that was relaxed, tasks that had to be moved, a unit of J.

    Examples
    --------
    >>> import hopbytes as hb
    >>> pairs = hb.CommGraph.from_edges([0, 1, 2, 3], [2, 3, 0, 1], [9, 9, 9, 9])
    >>> mapping = hb.map_tasks(pairs, hb.machine("node:2@10 core:2@1"), mapper="identity")
    >>> mapping.pe.tolist(), mapping.info["comm_cost"]
    ([0, 1, 2, 3], 360)
    >>> hb.map_tasks("stencil:4x4", "node:4@10 core:4@1")
    Mapping(16 tasks → 16 PEs, J=12 582 912, eco, seed 0)
    """
    clock = Clock(time_limit)
    graph, where = pattern_side(graph), place_side(where)
    request = _request(
        partition=partition, oversubscribe=oversubscribe, pack=pack, spread=spread, equal_nodes=equal_nodes,
        tasks_per_node=tasks_per_node, per=per, imbalance=imbalance, strict_balance=strict_balance,
    )
    effort = effort_of(seed, threads, work_limit, progress, stop, clock)
    method = method_of(preset, mapper, refine, objective)
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
        limited = clock.limited or work_limit is not None
        found = place(task, method.steps, method.quick, effort, limited=limited)
        early = stop_asked()
    map_seconds = clock.seconds()
    verify(found.problem, found.pe)
    seconds = {"map": map_seconds, "verify": clock.seconds() - map_seconds}
    info = run_report(
        graph, weight, dataclasses.replace(task, where=where), form, method, found, effort,
        limited=clock.limited, early=early, seconds=seconds,
    )
    warn_of(info["notices"], stacklevel=2)
    return Mapping(found.placed, where, info)


def _request(**asked: Any) -> Request:
    """Return what the caller asked of the counts, checked."""
    if asked["tasks_per_node"] is not None:
        asked["tasks_per_node"] = whole("tasks_per_node", asked["tasks_per_node"], 1)
    truths = ("partition", "oversubscribe", "pack", "spread", "equal_nodes", "strict_balance")
    check_truths(**{name: asked[name] for name in truths})
    if asked["pack"] and asked["spread"]:
        raise UnsupportedError("pack and spread exclude each other, give one")
    return Request(**asked)


def _search_form(graph: CommGraph, where: Allocation, weight: str, objective: str) -> SearchForm:
    """Return what searches work on instead of the graph and its place: the chosen weight on every arc."""
    if name_of("weight", weight) not in WEIGHTS:
        raise unknown_name("weight", weight, WEIGHTS)
    if weight != "time":
        return SearchForm(graph.with_weights(weight), where, 0.0)
    if objective != "comm_cost":
        raise UnsupportedError(f"weight time with objective {objective}, expected bytes, messages or unit")
    from hopbytes.cost.message_time.times import search_form, times_of

    return search_form(graph, where, times_of(graph, where))
