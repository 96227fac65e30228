"""Training jobs as grids: replicas of the model are placed alike, and tensor groups as one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import Effort
from hopbytes.algorithms.shared.quotient_graph import quotient_graph
from hopbytes.cost.objectives.base import objectives
from hopbytes.machines.gpu_domains import gpu_domains
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.ml import training_of
from hopbytes.solve.formulate import formulate
from hopbytes.solve.presets import Chain
from hopbytes.solve.problem import Request
from hopbytes.solve.run_chain import solve


def grid_mappings(
    graph: CommGraph, where: Allocation, pes: Int64, steps: Chain, effort: Effort
) -> Iterator[Int32]:
    """Yield mappings of a training job in which each tensor group has consecutive GPUs of one domain.

    In the first mapping one task of every tensor group is placed freely, and the others follow it. In the
    second one all replicas of the model have the same shape, so that every data parallel ring stays on a rail
    if a replica fills whole hosts: first the stages of one replica are placed, then the replicas.
    """
    training = training_of(graph)
    if training is None or len(pes) != graph.n:
        return
    names, sizes = training.grid()
    tasks = np.arange(graph.n).reshape(sizes)
    # Axes: data, then pipeline and context, then tensor parallel tasks.
    inner = [axis for axis, name in enumerate(names) if name not in ("dp", "tp")]
    tasks = tasks.transpose([names.index("dp"), *inner, names.index("tp")])
    replicas, size = training.dp, training.tp
    straight = _by_domain(where, pes, size).reshape(-1, size)
    turned = np.array([block[_in_turns(where.node_of_pe[block])] for block in straight])
    outer, last = (sizes[axis] for axis in inner)
    for blocks in [straight] if np.array_equal(straight, turned) else [straight, turned]:
        if len(blocks) > 1:
            first = tasks[..., 0].reshape(-1)
            order = _placed(graph, where, first, blocks[:, 0], steps, effort)
            yield _mapping(graph.n, tasks.reshape(-1, size), blocks[order])
        units, stages = (part.reshape(replicas, -1, size) for part in (blocks, tasks))
        yield _alike(graph, where, units, stages, (outer, last), steps, effort)


def _alike(
    graph: CommGraph, where: Allocation, units: Int64, stages: Int64, sizes: tuple[int, int], steps: Chain,
    effort: Effort,
) -> Int32:
    """Return the mapping with the lowest load of some in which all replicas have the same shape."""
    count, goal = units.shape[1], objectives[steps.goal]()
    shapes = list(_shapes(where, units[0, :, 0], sizes))
    if count > 1:
        shapes.append(_placed(graph, where, stages[0, :, 0], units[0, :, 0], steps, effort))
    tried = [_mapping(graph.n, stages, units[:, shape]) for shape in shapes]
    loads = [goal.value(graph, where, pe) for pe in tried]
    shape, best = shapes[int(np.argmin(loads))], tried[int(np.argmin(loads))]
    found = [best, _hosts_exchanged(graph, where, best, steps, effort)]
    if len(units) > 2:
        order = _placed(graph, where, stages[:, 0, 0], units[:, shape[0], 0], steps, effort)
        found.append(_mapping(graph.n, stages, units[order][:, shape]))
    return min(found, key=lambda pe: goal.value(graph, where, pe))


def _hosts_exchanged(graph: CommGraph, where: Allocation, pe: Int32, steps: Chain, effort: Effort) -> Int32:
    """Return the mapping with the tasks of whole hosts exchanged, which keeps every task on its rail.

    What two hosts send to each other is placed as if it went from their first GPU to their first GPU; hosts
    with different numbers of GPUs in use are left as they are.
    """
    used = np.sort(pe).astype(np.int64)
    _, host = np.unique(where.node_of_pe[used], return_inverse=True)
    counts = np.bincount(host)
    if len(counts) < 3 or counts.min() < counts.max():
        return pe
    places = used.reshape(len(counts), -1)
    owner = np.empty(where.k, np.int32)
    owner[used] = host
    between = quotient_graph(graph, owner[pe], len(counts))
    problem = formulate(between, where.select(places[:, 0]), Request(partition=False))
    order = solve(problem, steps, effort).pe
    moved: Int32 = places[order[owner[pe]], np.searchsorted(used, pe) % places.shape[1]].astype(np.int32)
    return moved


def _shapes(where: Allocation, blocks: Int64, sizes: tuple[int, int]) -> Iterator[Int64]:
    """Yield the block of each stage of a replica: numbered by rows and by columns, straight and in turns.

    In turns means that the blocks of every second host are numbered backwards, so that neighbours in
    different hosts are on one rail.
    """
    numbers, turns = np.arange(len(blocks)), _in_turns(where.node_of_pe[blocks])
    by_column = numbers.reshape(sizes[::-1]).T.reshape(-1)
    kinds = [numbers] if 1 in sizes else [numbers, by_column]
    for place in kinds:
        yield place
        yield turns[place]


def _in_turns(node: Int32) -> Int64:
    """Return the numbers of places in order, those on every second of consecutive nodes backwards."""
    turns = np.arange(len(node))
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    ends = np.append(starts[1:], len(node))
    for first, last in zip(starts[1::2], ends[1::2], strict=True):
        turns[first:last] = turns[first:last][::-1]
    return turns


def _by_domain(where: Allocation, pes: Int64, size: int) -> Int64:
    """Return the PEs in machine order, but the rest of each domain after as many whole blocks of `size`."""
    domain = gpu_domains(where).domain[pes]
    order = np.argsort(domain, kind="stable")
    counts = np.bincount(domain)
    place = np.empty(len(pes), np.int64)
    place[order] = np.arange(len(pes)) - np.repeat(np.cumsum(counts) - counts, counts)
    left = place >= counts[domain] // size * size
    found: Int64 = np.concatenate([pes[~left], pes[left]])
    return found


def _placed(
    graph: CommGraph, where: Allocation, tasks: Int64, pes: Int64, steps: Chain, effort: Effort
) -> Int64:
    """Return which of the `pes` each of the `tasks` has if these alone are placed."""
    ascending = np.sort(pes)
    problem = formulate(_among(graph, tasks), where.select(ascending), Request(partition=False))
    pe = solve(problem, steps, effort).pe
    place: Int64 = np.argsort(pes, kind="stable")[pe]
    return place


def _among(graph: CommGraph, tasks: Int64) -> CommGraph:
    """Return the messages among some tasks, which are numbered by their place in `tasks`."""
    place = np.full(graph.n, -1, np.int64)
    place[tasks] = np.arange(len(tasks))
    source, target = place[graph.sources()], place[graph.targets]
    kept = (source >= 0) & (target >= 0)
    return CommGraph.from_edges(source[kept], target[kept], graph.arc_volumes()[kept], n=len(tasks))


def _mapping(n: int, tasks: Int64, pes: Int64) -> Int32:
    """Return the mapping that puts tasks on the PEs at the same places of another array."""
    pe = np.empty(n, np.int32)
    pe[tasks.reshape(-1)] = pes.reshape(-1)
    return pe
