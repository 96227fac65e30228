"""Blocks of consecutive ranks mapped to groups of PEs, and the ranks of each block to PEs of its group."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.cost.objectives.base import objectives
from hopbytes.errors import InfeasibleError, UnsupportedError
from hopbytes.launch.block_sizes import best_sizes
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.solve.problem import Constraints

#: Number of nodes of unequal sizes up to which blocks are mapped to nodes, since all pairs of a block and a
#: node of another size are listed as forbidden.
MOST_UNEQUAL = 2_000


def placed_blocks(
    graph: CommGraph, where: Allocation, pes: Int64, counts: list[int], block: int | None, *, inside: bool,
    options: dict[str, Any],
) -> Int32:
    """Return the PE of every task: blocks are mapped to groups, then tasks inside their group."""
    if block is None and len(set(counts)) > 1:
        groups = _unequal_groups(graph, where, [pes[a:b] for a, b in _ranges(counts)], options)
        pe = np.concatenate(groups).astype(np.int32)
    else:
        size = _block_size(graph.n, counts, block)
        cut = [pes[first : first + size] for first in range(0, graph.n, size)]
        groups = _mapped_groups(graph, where, cut, options)
        pe = np.concatenate(groups).astype(np.int32) if groups else pes.astype(np.int32)
    return _mapped_inside(graph, where, pe, groups, options) if inside else pe


def _ranges(counts: list[int]) -> list[tuple[int, int]]:
    ends = np.cumsum(counts).tolist()
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _block_size(n: int, counts: list[int], block: int | None) -> int:
    if block is None:
        return max(counts[0], 1) if counts else 1
    if block < 1:
        raise UnsupportedError(f"`block={block}`, expected an integer >= 1")
    uneven = [count for count in counts if count % block]
    if n % block or uneven:
        found = f"{uneven[0]} on a node" if uneven else str(n)
        raise InfeasibleError(f"blocks of {block} ranks, expected a divisor of the ranks: {found}")
    return block


def _mapped_groups(
    graph: CommGraph, where: Allocation, groups: list[Int64], options: dict[str, Any]
) -> list[Int64]:
    """Return the PEs of every block, in the order of the blocks."""
    size = len(groups[0]) if groups else 1
    owner = np.arange(graph.n) // size
    blocks = map_tasks(_quotient(graph, owner, len(groups)), _merged(where, groups), **options)
    return [groups[int(group)] for group in blocks.pe]


def _unequal_groups(
    graph: CommGraph, where: Allocation, nodes: list[Int64], options: dict[str, Any]
) -> list[Int64]:
    """Return the PEs of every block if nodes hold different numbers of tasks.

    First the order of the sizes is chosen so that much volume stays inside blocks; then blocks are mapped to
    nodes of their size. The order of the machine is kept if this does not reduce the cost.
    """
    sizes = best_sizes(graph, [len(group) for group in nodes])
    waiting: dict[int, list[int]] = {}
    for number, group in enumerate(nodes):
        waiting.setdefault(len(group), []).append(number)
    taken = {size: iter(numbers) for size, numbers in waiting.items()}
    chosen = [nodes[next(taken[size])] for size in sizes]
    candidates = [nodes, chosen]
    if len(nodes) <= MOST_UNEQUAL:
        owner = np.repeat(np.arange(len(sizes)), sizes)
        size_of_node = np.array([len(group) for group in chosen])
        forbidden: Any = np.argwhere(np.array(sizes)[:, None] != size_of_node[None, :])
        blocks = _quotient(graph, owner, len(sizes))
        constraints = replace(options.get("constraints") or Constraints(), forbidden=forbidden)
        found = map_tasks(blocks, _merged(where, chosen), **{**options, "constraints": constraints})
        candidates.append([chosen[int(group)] for group in found.pe])
    objective = objectives[options["objective"].replace("-", "_")]()
    costs = [objective.value(graph, where, np.concatenate(groups).astype(np.int32)) for groups in candidates]
    return candidates[int(np.argmin(costs))]


def _merged(where: Allocation, groups: list[Int64]) -> Allocation:
    """Return an allocation with one PE per group that has all its cores; the first one defines distances."""
    cores = [np.concatenate([where.cores_of(int(pe)) for pe in group]) for group in groups]
    starts = np.cumsum([0, *map(len, cores)]).astype(np.int64)
    return Allocation(where.machine, starts, np.concatenate(cores), where.hosts)


def _quotient(graph: CommGraph, owner: Int64, count: int) -> CommGraph:
    """Return the quotient graph: arcs between blocks are summed, arcs inside a block are left out."""
    source = owner[np.repeat(np.arange(graph.n), np.diff(graph.indptr))]
    target = owner[graph.targets]
    between = source != target
    volumes = np.ones(graph.m, np.int64) if graph.volumes is None else graph.volumes
    return CommGraph.from_edges(source[between], target[between], volumes[between], n=count)


def _mapped_inside(
    graph: CommGraph, where: Allocation, start: Int32, groups: list[Int64], options: dict[str, Any]
) -> Int32:
    """Map the tasks of each block to its PEs; the result is kept only if the total cost decreases.

    On a tree, traffic that leaves a node costs the same from each of its PEs, so the total decreases whenever
    the cost inside a block does.
    """
    best = start.copy()
    first = 0
    for group in groups:
        tasks = np.arange(first, first + len(group))
        first += len(group)
        if len(group) > 2:  # with two tasks there is only one distance
            found = map_tasks(_induced(graph, tasks), where.select(group), **options)
            best[tasks] = group[found.pe]
    objective = objectives[options["objective"].replace("-", "_")]()
    return best if objective.value(graph, where, best) < objective.value(graph, where, start) else start


def _induced(graph: CommGraph, tasks: Int64) -> CommGraph:
    first, last = int(graph.indptr[tasks[0]]), int(graph.indptr[tasks[-1] + 1])
    source = np.repeat(np.arange(len(tasks)), np.diff(graph.indptr[tasks[0] : tasks[-1] + 2]))
    target = graph.targets[first:last] - tasks[0]
    keep = (target >= 0) & (target < len(tasks))
    volumes = None if graph.volumes is None else graph.volumes[first:last][keep]
    return CommGraph.from_edges(source[keep], target[keep], volumes, n=len(tasks))
