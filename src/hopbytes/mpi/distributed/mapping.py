"""map_distributed(), evaluate_distributed(): mappings of a graph of which every process holds a part only."""

from __future__ import annotations

import math
import resource
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import InfeasibleError, unknown_name
from hopbytes.kernels.records import Csr
from hopbytes.machines.distances import TreeDistance, kernel_distances
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation, PlaceLike
from hopbytes.model.capacities import LoadBound, common_divisor, exact_imbalance, group_sums, load_bound
from hopbytes.mpi.distributed.coarsening import History, best_of_ranks, coarsen
from hopbytes.mpi.distributed.files import read_distributed, read_slab, write_distributed
from hopbytes.mpi.distributed.islands import Task, has_islands, map_by_islands
from hopbytes.mpi.distributed.one_each import Units, cost_of_one_each, map_one_each, regular_tree
from hopbytes.mpi.distributed.refinement import Target, refined, uncoarsen
from hopbytes.mpi.distributed.rows import (
    DistributedMapping,
    Member,
    Rows,
    Slab,
    checked_rows,
    cost_over_ranks,
)
from hopbytes.mpi.processes import Comm
from hopbytes.solve.presets import presets
from hopbytes.util.integers import MAX_SUM, check_limit
from hopbytes.util.version import __version__

#: Ways to map; "auto" is islands where the machine has equally distant outermost units, levels elsewhere.
STRATEGIES = ("auto", "islands", "levels", "both")
#: Vertices of the graph that every rank maps by the strategy "levels": per PE, and at least.
PER_PE, FEWEST = 200, 20_000


def map_distributed(
    comm: Comm,
    slab: Slab | Callable[[], Slab],
    where: PlaceLike,
    *,
    strategy: str = "auto",
    preset: str = "eco",
    imbalance: float | str = 0.03,
    strict_balance: bool = False,
    seed: int = 0,
    partition: bool = True,
) -> DistributedMapping:
    """Map the vertices of a distributed graph to PEs, one to each if they are no more than PEs; collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    slab : Slab, or function without arguments that returns one
        The rows of this process. An error that the function raises on any process is raised on all.
    where : Allocation, or an object that can be converted to one
        The k PEs, the same on all processes.
    strategy : {"auto", "islands", "levels", "both"}
        "islands" cuts the graph along the outermost level of the machine over all processes, then every
        island goes to processes of its own. "levels" maps a coarse graph on every process and refines the
        best mapping on the way back. "both" takes the better of the two; "auto" is islands where the
        outermost units of the machine are equally far from each other.
    preset, imbalance, seed
        As for :func:`hopbytes.map_tasks`; the preset maps what lies on one process.
    strict_balance : bool
        Raise an error instead of exceeding the bound if weighted tasks cannot meet it.
    partition : bool
        Whether there may be more tasks than PEs.

    Returns
    -------
    DistributedMapping

    Raises
    ------
    HopbytesError
        Raised on all processes: arguments differ, a slab is malformed, or an edge differs in its directions.
    InfeasibleError
        With `strict_balance`, if loads cannot be met. Without `partition`, if tasks are more than PEs.
    ScaleError
        If volumes, distances or loads are too large for 64-bit sums.

    Notes
    -----
    The result depends on the number of processes and the seed. Memory per process is O((n + m) / P + ghosts)
    besides a coarse graph and O(k); with fewer processes than islands a process holds whole islands. With at
    most one task per PE on a tree whose units are alike there is no list of PEs on any process, and the
    strategy is "units": the outermost units get exact numbers of tasks. Tasks
    without load are in no bound. A failure that only one process meets, such as missing memory, is raised
    there alone: the program has to call ``comm.Abort``, as the command line does.

    Source: after Meyerhenke, Sanders, Schulz, "Parallel graph partitioning for complex networks", IPDPS 2015,
    with local searches that agree on free capacity and precedence in place of label propagation alone.

    Examples
    --------
    ::

        from mpi4py import MPI
        from hopbytes.mpi import Slab, map_distributed

        mapping = map_distributed(MPI.COMM_WORLD, Slab(indptr, targets), "node:64@10 core:48@1")
        mapping.pe, mapping.comm_cost
    """
    member = Member(comm)
    with member.phase("read"):
        options = (preset, str(imbalance), strict_balance, partition, seed)
        rows, allocation = _begin(member, slab, where, strategy, options)
    if isinstance(allocation, Tree):
        return _one_each(rows, allocation, preset, seed)
    unit = 1  # the greatest common divisor of all loads, where PEs have several tasks
    if rows.total > allocation.k:
        unit = max(1, math.gcd(*member.all(common_divisor(rows.loads))))
    units = rows if unit == 1 else replace(rows, loads=rows.loads // unit)
    bound = _bound_over_ranks(units, allocation, exact_imbalance(imbalance))
    within = replace(units, loads=_counted(units, allocation, bound))
    heaviest = max(member.all(int(within.loads.max(initial=1))))
    task = Task(allocation, bound.caps, heaviest, preset, seed)
    candidates, histories = {}, {}
    for name in _strategies(strategy, allocation):
        histories[name] = History()
        with member.phase(name):
            way = _by_way_of_islands if name == "islands" else _by_way_of_levels
            pe = way(within, task, histories[name])
        with member.phase("verify"):
            candidates[name] = (judge(within, allocation, pe), pe)

    def overload(judged: Judged) -> int:
        return int(np.maximum(judged.loads - bound.caps, 0).sum())

    best = min(candidates, key=lambda name: (overload(candidates[name][0]), candidates[name][0].comm_cost))
    judged, pe = candidates[best]
    met = overload(judged) == 0
    kept = judge(rows, allocation, pe)
    asked, held = int(bound.caps.max()) * unit, int(judged.loads.max()) * unit
    if strict_balance and not met:
        what = f"a PE holds {held}, expected at most {asked}"
        raise InfeasibleError(f"the loads could not be kept within the bound: {what}")
    info = {
        "problem": "partition", "preset": preset, "seed": seed, "ranks": member.size, "version": __version__,
        "comm_cost": judged.comm_cost, "imbalance": kept.imbalance, "balance": "met" if met else "relaxed",
        "bound_asked": asked, "bound_kept": held, "strategy": best, "empty": int(np.sum(judged.tasks == 0)),
        "strategies": {name: candidate.comm_cost for name, (candidate, _) in candidates.items()},
        "history": {name: asdict(history) for name, history in histories.items()}, **_by_rank(member, rows),
    }
    return DistributedMapping(pe, rows.first, rows.total, allocation, info)


def _begin(
    member: Member, slab: Any, where: Any, strategy: str, options: tuple[Any, ...]
) -> tuple[Rows, Allocation | Tree]:
    """Return rows and PEs after all processes agreed on the arguments; a tree for one task per PE."""

    def checked() -> Allocation | Tree:
        exact_imbalance(options[1])
        presets[options[0]]
        if strategy not in STRATEGIES:
            raise unknown_name("strategy", strategy, STRATEGIES)
        return (regular_tree(where) if strategy == "auto" else None) or Allocation.of(where)

    place = member.agreed(checked)
    machine, k = (place, place.n_cores) if isinstance(place, Tree) else (place.machine, place.k)
    member.same("machine", (machine.spec(), k))
    member.same("choice of strategy", strategy)
    member.same("choice of preset, imbalance, strictness, problem and seed", options)
    rows = checked_rows(member, member.agreed(slab) if callable(slab) else slab)
    if rows.total > k and not options[3]:
        raise InfeasibleError(f"{rows.total} processes, expected at most one for each of the {k} PEs")
    if isinstance(place, Tree) and rows.total > k:
        place = Allocation.of(where)
    levels = zip(place.tiers, place.children, strict=True) if isinstance(place, Tree) else ()
    widest = next((level.distance for level, count in levels if count != 1), 0)
    check_sums_over_ranks(rows, widest if isinstance(place, Tree) else int(place.distance.largest))
    return rows, place


def _one_each(rows: Rows, tree: Tree, preset: str, seed: int) -> DistributedMapping:
    """Map at most one task per PE, and verify that it is so."""
    member, history = rows.member, History()
    with member.phase("units"):
        pe = map_one_each(replace(rows, loads=np.ones(rows.n, np.int64)), Units(tree, preset, seed), history)
    with member.phase("verify"):
        cost, fault = cost_of_one_each(rows, tree, pe)
    assert not fault, fault
    k, loads = tree.n_cores, rows.member.all((int(rows.loads.max(initial=0)), int(rows.loads.sum())))
    total = sum(load for _, load in loads)
    info = {
        "problem": "processes", "preset": preset, "seed": seed, "ranks": member.size, "version": __version__,
        "comm_cost": cost, "imbalance": max(load for load, _ in loads) * k / total - 1 if total else 0.0,
        "balance": "met", "bound_asked": 1, "bound_kept": min(1, rows.total), "strategy": "units",
        "empty": k - rows.total, "strategies": {"units": cost}, "history": {"units": asdict(history)},
        **_by_rank(member, rows),
    }
    return DistributedMapping(pe.astype(np.int32), rows.first, rows.total, tree, info)


def _bound_over_ranks(rows: Rows, where: Allocation, imbalance: Fraction) -> LoadBound:
    """Return the largest load of every PE; what may be heavier than a PE is sent to all processes."""
    k, total = where.k, rows.member.total(int(rows.loads.sum()))
    capacity = np.ones(k, np.int64) if where.capacity is None else where.capacity
    if rows.total <= k or total == 0:
        return load_bound(None, max(rows.total, k), capacity, imbalance)
    piece, rest = total, total
    while rest and piece > max(1, rest // (4 * k)):  # without the heavy tasks others may be heavy
        piece = max(1, rest // (4 * k))
        heavy = np.concatenate(rows.member.all(rows.loads[rows.loads > piece]))
        rest = total - int(heavy.sum())
    pieces, left = divmod(rest, piece)
    light = np.append(np.full(pieces, piece, np.int64), np.int64(left))
    return load_bound(np.concatenate([heavy, light]), rows.total, capacity, imbalance, unit=1)


def _counted(rows: Rows, where: Allocation, bound: LoadBound) -> Int64:
    """Return the loads that the bound is about: a heavy task fills a PE; without any load all count one."""
    if rows.total <= where.k or rows.member.total(int(rows.loads.sum())) == 0:
        return np.ones(rows.n, np.int64)
    return np.minimum(rows.loads, int(bound.caps.max())) if bound.heavy else rows.loads


def _strategies(strategy: str, where: Allocation) -> tuple[str, ...]:
    islands = ("islands",) if has_islands(where) else ()
    if strategy == "both":
        return (*islands, "levels")
    return islands or ("levels",) if strategy in ("auto", "islands") else ("levels",)


def _by_way_of_islands(rows: Rows, task: Task, history: History) -> Int32:
    pe = map_by_islands(rows, task, history)
    if rows.member.size == 1 or task.where.k == 1:
        return pe
    return refined(rows, pe, Target(kernel_distances(task.where), task.caps), task.where, history)


def _by_way_of_levels(rows: Rows, task: Task, history: History) -> Int32:
    least = max(FEWEST, PER_PE * task.where.k)
    mean = rows.member.total(int(rows.loads.sum())) // task.where.k
    levels = coarsen(rows, least, mean, task.seed)
    pe = best_of_ranks(levels[-1].rows if levels else rows, task.solve, task.seed, history)
    target = Target(kernel_distances(task.where), task.caps)
    return uncoarsen(rows, levels, pe, target, task.where, history)


def _by_rank(member: Member, rows: Rows) -> dict[str, list[Any]]:
    """Return what every rank sent, held and needed."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    held = {"vertices": rows.n, "ghosts": len(rows.ghosts), "arcs": len(rows.targets)}
    values = member.all((member.sent, member.seconds, member.computing, peak, held))
    names = ("sent", "seconds", "computing", "peak_bytes", "held")
    return dict(zip(names, map(list, zip(*values, strict=True)), strict=True))


def evaluate_distributed(comm: Comm, slab: Slab, pe: Int32, where: PlaceLike) -> dict[str, Any]:
    """Return metrics of a mapping, the same on all processes; collective.

    `slab` has the rows of this process, `pe`, int32[n], the PEs of their tasks, and `where` is an Allocation
    or what can be converted to one. The metrics are "comm_cost" (J), "volume" and "cut" (of all arcs, and of
    those between PEs), "tasks", "imbalance", "largest_load", "empty" (PEs without a task), "ranks", and on
    trees "volume_by_distance" (by the distance of the two PEs).

    HopbytesError is raised on all processes if a slab is malformed or a task has no PE of the machine,
    ScaleError if volumes or distances are too large for 64-bit sums. O(m / P) per process, and one exchange
    of the PEs of ghosts.
    """
    member = Member(comm)
    allocation = member.agreed(lambda: Allocation.of(where))
    member.same("machine", (allocation.machine.spec(), allocation.k))
    rows = checked_rows(member, slab)
    judged = judge(rows, allocation, pe)
    around = rows.with_ghosts(pe.astype(np.int64)).astype(np.int32)
    weights = rows.arc_weights()
    apart = around[rows.sources()] != around[rows.targets]
    metrics: dict[str, Any] = {
        "comm_cost": judged.comm_cost, "volume": member.total(int(weights.sum())),
        "cut": member.total(int(weights[apart].sum())), "tasks": rows.total, "imbalance": judged.imbalance,
        "largest_load": int(judged.loads.max()), "empty": int(np.sum(judged.tasks == 0)),
        "ranks": member.size,
    }
    if isinstance(allocation.distance, TreeDistance):
        metrics["volume_by_distance"] = _by_distance(rows, allocation.distance, around)
    return metrics


def _by_distance(rows: Rows, distance: TreeDistance, around: Int32) -> dict[str, int]:
    """Return the volume by the distance at which the PEs of an arc differ."""
    levels = len(distance.costs) - 1
    own = kernels.comm_cost_by_level(
        Csr(rows.indptr, rows.targets, rows.weights), around, distance.labels, distance.level_of_bit, levels
    )
    volumes: Counter[str] = Counter()
    for volume, cost in zip(rows.member.summed(own).tolist(), distance.costs.tolist(), strict=True):
        volumes[str(cost)] += volume
    return dict(volumes)


@frozen(eq=False)
class Judged:
    """What is known of a mapping after verification, the same on all processes."""

    comm_cost: int  # J
    loads: Int64  # int64[k]: Load per PE
    tasks: Int64  # int64[k]: Number of tasks per PE

    @property
    def imbalance(self) -> float:
        """Largest load of a PE beyond the mean load, as a share of it."""
        total = int(self.loads.sum())
        return int(self.loads.max()) * len(self.loads) / total - 1 if total else 0.0


def check_sums_over_ranks(rows: Rows, widest: int) -> None:
    """Raise ScaleError on all processes if volume x distance could exceed 63 bits; collective."""
    total = rows.member.total(int(rows.arc_weights().sum()))
    what = f"total volume {total} x largest distance {widest}"
    check_limit(what, max(total, 1) * widest, MAX_SUM, "the volumes or the distances")


def judge(rows: Rows, where: Allocation, pe: Int32) -> Judged:
    """Check that every task has a PE and compute J and loads from scratch; collective."""
    fault = ""
    if len(pe) != rows.n:
        fault = f"rank {rows.member.rank}: {len(pe)} tasks have a PE, expected {rows.n}"
    elif len(pe) and not 0 <= int(pe.min()) <= int(pe.max()) < where.k:
        fault = f"rank {rows.member.rank}: a PE outside 0..{where.k - 1}"
    rows.member.agree(fault)
    check_sums_over_ranks(rows, int(where.distance.largest))
    loads = rows.member.summed(group_sums(pe, rows.loads, where.k))
    tasks = rows.member.summed(np.bincount(pe, minlength=where.k).astype(np.int64))
    return Judged(cost_over_ranks(rows, where, pe), loads, tasks)


def map_file(
    comm: Comm, machine: Callable[[], PlaceLike], graph: str, output: str | None, *, force: bool,
    **options: Any,
) -> dict[str, Any]:
    """Read, map and write on all processes, as ``map --distributed`` does; return the record of the run."""
    where = Member(comm).agreed(machine)
    Member(comm).same("graph and output", (graph, output))
    mapping = map_distributed(comm, lambda: read_slab(comm, graph), where, **options)
    if output is not None:
        write_distributed(comm, mapping, output, force=force)
    return {"tasks": mapping.total, "pes": mapping.k, **mapping.info}


def evaluate_file(comm: Comm, machine: Callable[[], PlaceLike], graph: str, mapping: str) -> dict[str, Any]:
    """Read a graph and a mapping and evaluate it on all processes, as ``eval --distributed`` does."""
    where = Member(comm).agreed(machine)
    Member(comm).same("graph and mapping", (graph, mapping))
    slab = read_slab(comm, graph)
    return evaluate_distributed(comm, slab, read_distributed(comm, mapping, slab.n), where)


def mapped_sentence(record: dict[str, Any]) -> str:
    """Return the lines about a distributed mapping."""
    sent = sum(sum(by_phase.values()) for by_phase in record["sent"])
    peak = max(record["peak_bytes"]) / 2**20
    whole = ("read", "verify", *record["strategies"])
    seconds = sum(value for name, value in record["seconds"][0].items() if name in whole)
    return (
        f"{record['problem']}: J {record['comm_cost']:,}; {record['tasks']:,} tasks on "
        f"{record['pes']:,} PEs, at most {record['bound_kept']:,} of {record['bound_asked']:,} each; "
        f"{record['ranks']} ranks, "
        f"{seconds:.1f} s, {sent:,} bytes sent, at most {peak:.0f} MiB per rank"
    )


def evaluated_sentence(record: dict[str, Any]) -> str:
    """Return the line about an evaluation."""
    share = 100 * record["cut"] / max(record["volume"], 1)
    return (
        f"J {record['comm_cost']:,}; {share:.1f} % of the volume between PEs; imbalance "
        f"{100 * record['imbalance']:.2f} %; {record['empty']} empty PEs; {record['tasks']:,} tasks"
    )
