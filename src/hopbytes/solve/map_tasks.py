"""map_tasks(): check, decide the problem, run mapper and refiners, repair, verify, record."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Dictionary

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._util.checks import check_functions, check_truths, name_of, whole
from hopbytes._util.clock import Clock
from hopbytes._util.options import describe
from hopbytes._version import __version__
from hopbytes.algorithms.base import Effort, Mapper, Progress, Refiner, mappers, refiners
from hopbytes.cost.message_time.form import SearchForm
from hopbytes.cost.metrics.loads import imbalance_of
from hopbytes.cost.metrics.scale import check_scale
from hopbytes.cost.objectives.base import objectives
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.engine import stop_asked, stopping_when
from hopbytes.errors import UnsupportedError, unknown_name
from hopbytes.machines.base import Machine
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.solve.constraints import collect_constraints
from hopbytes.solve.feasibility import balance_report, migration_report, verify
from hopbytes.solve.presets import DEFAULT, QUICKEST, Chain, chain, for_objective, presets
from hopbytes.solve.problem import Request
from hopbytes.solve.slot_choice import place
from hopbytes.solve.slot_policies import Task

WEIGHTS = ("bytes", "messages", "unit", "time")


def map_tasks(
    graph: CommGraph,
    where: Allocation | Machine,
    *,
    preset: str | None = None,
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
    graph : CommGraph
        n tasks, directed or not, in any number of pieces.
    where : Allocation or Machine
        k PEs, see :func:`hopbytes.machine`; a machine stands for all its cores, one per PE.
    preset : str, optional
        Ready-made chain of a mapper and refiners (default ``"eco"``). Not together with `mapper`.
    mapper : str or Mapper, optional
        One algorithm instead: ``"random"``, ``"name:key=value,key=value"`` or an instance.
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
        Seconds for everything this function does, verification included; the best placement found by
        then is returned; 0 asks for the first one. With a limit the answer may depend on the speed of
        the machine.
    work_limit : int, optional
        Work after which nothing further begins, in arcs looked at (``info["work"]["arcs"]``): the measure
        that, unlike seconds, gives the same placement on every machine. What has begun is completed,
        a first placement always.
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
        Where tasks are now. It is refined, a new placement is made to agree with it as far as possible,
        and the cheaper of the two is kept.
    migration_price : int
        What each task costs that is not where `initial` has it, in units of the communication cost.
    progress : callable, optional
        Called with (stage, done, total).
    stop : callable, optional
        Asked a few times a second, without arguments; once it says yes the best placement found so far is
        returned soon, as at a time limit.

    Returns
    -------
    Mapping
        ``pe`` int32[n] and ``info``: problem, mapper with all its options, preset, refine, objective,
        weight, seed, threads, version, deterministic, seconds {map, verify}, work (counters), comm_cost,
        imbalance, balance ("met" or "relaxed"), bound_asked, bound_kept, notices; with `initial`
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
    ScaleError
        Volumes, distances or loads too large for 64-bit sums.

    Examples
    --------
    >>> import hopbytes as hb
    >>> pairs = hb.CommGraph.from_edges([0, 1, 2, 3], [2, 3, 0, 1], [9, 9, 9, 9])
    >>> mapping = hb.map_tasks(pairs, hb.machine("node:2@10 core:2@1"), mapper="identity")
    >>> mapping.pe.tolist(), mapping.info["comm_cost"]
    ([0, 1, 2, 3], 360)
    """
    clock = Clock(time_limit)
    where = _checked_sides(graph, where)
    if tasks_per_node is not None:
        tasks_per_node = whole("tasks_per_node", tasks_per_node, 1)
    check_truths(
        partition=partition, oversubscribe=oversubscribe, pack=pack, spread=spread, equal_nodes=equal_nodes,
        strict_balance=strict_balance,
    )
    if pack and spread:
        raise UnsupportedError("pack and spread exclude each other, give one")
    request = Request(
        partition, oversubscribe, pack, tasks_per_node, per, imbalance, strict_balance, spread=spread,
        equal_nodes=equal_nodes,
    )
    if work_limit is not None:
        work_limit = whole("work_limit", work_limit, 0)
    check_functions(progress=progress, stop=stop)
    threads = cpus_allowed() if threads is None else whole("threads", threads, 1)
    effort = Effort(whole("seed", seed, 0), threads, None, progress, work_limit=work_limit)
    objective = name_of("objective", objective).replace("-", "_")
    goal = objectives[objective]()
    _known("weight", name_of("weight", weight), WEIGHTS)
    if weight == "time" and objective != "comm_cost":
        raise UnsupportedError(f"weight time with objective {objective}, expected bytes, messages or unit")
    steps, preset = _chain(preset, mapper, refine, objective)
    form = _in_time(graph, where) if weight == "time" else SearchForm(graph.with_weights(weight), where, 0.0)
    constraints = collect_constraints(
        graph.n, where, fixed=fixed, forbidden=forbidden, initial=initial, migration_price=migration_price
    )
    request = dataclasses.replace(request, mapper_chooses=steps.mapper.chooses_slots)
    task = Task(
        form.graph, form.where, request, constraints, objective, goal, in_order_counts=preset is not None
    )
    if clock.limited:
        check_scale(form.graph, form.where)
        clock.reserve(lambda: CommCost().value(form.graph, form.where, np.zeros(graph.n, np.int32)))
        effort = dataclasses.replace(effort, deadline=clock.deadline)
    quick = None if preset in (None, QUICKEST) else for_objective(presets[QUICKEST](), objective)
    with stopping_when(stop):
        found = place(task, steps, quick, effort, limited=clock.limited or work_limit is not None)
        early = stop_asked()
    problem, pe = found.problem, found.pe
    map_seconds = clock.seconds()
    verify(problem, pe)
    cost = problem.comm_cost(pe)
    verify_seconds = clock.seconds() - map_seconds
    placed = found.placed
    info = {
        "problem": problem.name,
        "mapper": describe(mappers, steps.mapper),
        "preset": preset,
        "refine": [describe(refiners, each) for each in steps.steps],
        "objective": objective,
        "objective_value": cost if objective == "comm_cost" else goal.value(form.graph, where, placed),
        "weight": weight,
        "seed": effort.seed,
        "threads": effort.threads,
        "version": __version__,
        "deterministic": steps.mapper.deterministic and time_limit is None and not early,
        "work": dict(sorted(effort.work.items())),
        "comm_cost": cost,
        **({} if weight != "time" else _time_report(graph, where, placed, form)),
        "imbalance": imbalance_of(graph, where, placed),
        **balance_report(problem, pe),
        **migration_report(constraints, placed),
        **found.report(),
        "notices": [*problem.notices, *found.notices, *_work_notice(effort, time_limit, early=early)],
        "seconds": {"map": map_seconds, "verify": verify_seconds},
    }
    return Mapping(placed, where, info)


def _in_time(graph: CommGraph, where: Allocation) -> SearchForm:
    from hopbytes.cost.message_time.times import search_form, times_of

    return search_form(graph, where, times_of(graph, where))


def _time_report(graph: CommGraph, where: Allocation, pe: Int32, form: SearchForm) -> dict[str, float]:
    """Say how long all messages take together, and how far the cost that was searched with is off."""
    from hopbytes.cost.message_time.times import comm_time, times_of

    times = times_of(graph, where)
    seconds = times.seconds(comm_time(graph, where, pe, times))
    return {"comm_seconds": seconds, "search_form_error": form.error}


def _work_notice(effort: Effort, time_limit: float | None, *, early: bool) -> list[str]:
    """Say how a run under a time limit, or one that was stopped, can be repeated."""
    if time_limit is None and not early:
        return []
    limit = "being stopped" if early else "the time limit"
    arcs, cut_short = effort.work.get("arcs", 0), effort.work.get("cut_short", 0)
    constraints = ["stopped early: the best placement until then"] if early else []
    if cut_short:
        return [
            *constraints, f"{arcs} arcs looked at; {limit} ended {cut_short} searches early: not repeatable"
        ]
    return [*constraints, f"{arcs} arcs looked at; --work-limit {arcs} instead of {limit} repeats this run"]


def _checked_sides(graph: object, where: object) -> Allocation:
    if not isinstance(graph, CommGraph):
        raise UnsupportedError(
            f"the pattern is a {type(graph).__name__}, expected a CommGraph (hopbytes.read, from_scipy)"
        )
    if isinstance(where, Machine):
        return Allocation.whole(where)
    if not isinstance(where, Allocation):
        raise UnsupportedError(
            f"the place to map to is a {type(where).__name__}, expected an Allocation (hopbytes.machine)"
        )
    return where


def _chain(
    preset: str | None, mapper: str | Mapper | None, refine: str | Refiner | Sequence[str | Refiner],
    objective: str,
) -> tuple[Chain, str | None]:
    if isinstance(refine, (str, Refiner)) or not isinstance(refine, Iterable):
        refine = (refine,)
    more = [name_of("refiner", each, Refiner) for each in refine]
    if mapper is not None:
        name_of("mapper", mapper, Mapper)
        if preset is not None:
            raise UnsupportedError(f"preset {preset!r} and mapper {mapper!r} exclude each other, give one")
        return dataclasses.replace(chain(mapper), goal=objective, asked=chain(mapper, *more).refiners), None
    preset = DEFAULT if preset is None else name_of("preset", preset)
    base = for_objective(presets[preset](), objective)
    return dataclasses.replace(base, asked=chain(base.mapper, *more).refiners), preset


def _known(what: str, name: str, names: Sequence[str]) -> None:
    if name not in names and name.replace("-", "_") not in names:
        raise unknown_name(what, name, names)


def cpus_allowed() -> int:
    """Number of CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
