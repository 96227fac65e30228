"""Mapping for launchers that place consecutive ranks on a node."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.cost.objectives.base import objectives
from hopbytes.errors import HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.launching.block_sizes import best_sizes
from hopbytes.launching.free_order import free_order
from hopbytes.machines.selection.slot_counts import spread as chosen_slots
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.solve.auto_objective import objective_of
from hopbytes.solve.congestion_on_rails import LINKS, Given, weighs_links, worth_it
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.solve.problem import too_few_slots
from hopbytes.solve.slot_policies import slot_choices

#: Number of nodes of unequal sizes up to which blocks are mapped to nodes, since all pairs of a block and a
#: node of another size are listed as forbidden.
MOST_UNEQUAL = 2_000


def map_for(
    graph: CommGraph,
    where: Allocation,
    form: str,
    *,
    block: int | None = None,
    tasks_per_node: int | None = None,
    per: Any = None,
    pack: bool = False,
    spread: bool = False,
    **options: Any,
) -> Mapping:
    """Map so that a launch format can express the result.

    Parameters
    ----------
    graph, where
        As for :func:`hopbytes.map_tasks`.
    form : str
        Name of a format for mappings. If it gives only consecutive ranks to a node, blocks of ranks are
        mapped to nodes, and then, if it can express cores, the ranks of each node are mapped to its slots.
    block : int, optional
        Number of ranks in a block; by default all ranks of a node.
    tasks_per_node, per, pack, spread
        Determine which PEs are used; by default nodes are filled or evenly used, whichever costs less.
    **options
        Options of :func:`hopbytes.map_tasks`.

    Raises
    ------
    UnsupportedError
        The format does not exist, or is one for patterns.
    InfeasibleError
        Blocks do not fit the nodes, or are too small for a format that needs consecutive ranks.

    Examples
    --------
    >>> import hopbytes as hb
    >>> far = hb.CommGraph.from_edges([0, 1, 2, 3], [2, 3, 0, 1], [9, 9, 9, 9])
    >>> map_for(far, hb.machine("node:2@10 core:2@1"), "hosts").pe.tolist()
    [0, 1, 2, 3]
    """
    can = formats[form].capabilities
    if formats[form].holds != "mapping":
        raise UnsupportedError(f"format {form!r} holds a pattern, expected one for a placement")
    slot_options = {"tasks_per_node": tasks_per_node, "per": per, "pack": pack, "spread": spread}
    equal_nodes = options.pop("equal_nodes", False) or not can.unequal_nodes
    if can.launcher and options.get("partition") is None:  # launchers start processes
        options["partition"] = False
    if can.scattered_ranks and block is None:
        return map_tasks(graph, where, equal_nodes=equal_nodes, **slot_options, **options)
    mapping = _on_the_cheaper_slots(
        graph, where, block, slot_options, inside=can.per_rank_cores, equal_nodes=equal_nodes, **options
    )
    if can.scattered_ranks:
        return mapping
    node = where.node_of_pe[mapping.pe]
    runs = 1 + int(np.count_nonzero(np.diff(node)))
    if graph.n and runs > len(np.unique(node)):
        raise InfeasibleError(
            f"blocks of {block} ranks scatter the ranks of a host, expected blocks of all its ranks for "
            f"{form} (omit `block`)"
        )
    limit = (
        f"{form} gives only consecutive ranks to a host; newrank and hopbytes.mpi.reorder allow any mapping"
    )
    notices = [*mapping.info["notices"], limit, *free_order(graph, mapping, form, **options)]
    return Mapping(mapping.pe, where, {**mapping.info, "said_by": form, "notices": notices})


def _on_the_cheaper_slots(
    graph: CommGraph, where: Allocation, block: int | None, slot_options: dict[str, Any], *,
    equal_nodes: bool, **options: Any,
) -> Mapping:
    """Map in blocks with filled nodes and with evenly used nodes, and return the cheaper mapping."""
    choices = slot_choices(where, graph.n, equal_nodes=equal_nodes) if not any(slot_options.values()) else {}
    if not choices:
        return map_in_blocks(graph, where, block, **slot_options, **options)
    found: dict[str, Mapping] = {}
    refused: list[HopbytesError] = []
    for name, choice in choices.items():
        try:
            found[name] = map_in_blocks(graph, where, block, **choice, **options)
        except InfeasibleError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    values = {name: mapping.info["objective_value"] for name, mapping in found.items()}
    best = min(found, key=lambda name: values[name])
    mapping = found[best]
    return Mapping(mapping.pe, where, {**mapping.info, "slots": best, "alternatives": values})


def map_in_blocks(
    graph: CommGraph,
    where: Allocation,
    block: int | None = None,
    *,
    inside: bool = True,
    tasks_per_node: int | None = None,
    per: Any = None,
    pack: bool = False,
    spread: bool = False,
    **options: Any,
) -> Mapping:
    """Map blocks of consecutive tasks to groups of neighbouring PEs.

    Task r belongs to block r // block. The quotient graph of the blocks is mapped to the groups, then the
    tasks of every block are mapped to the PEs of its group, which is kept only if it reduces the total cost.

    Parameters
    ----------
    graph : CommGraph
        A graph of n tasks, one per PE in use.
    where : Allocation
        k >= n PEs.
    block : int, optional
        Number of tasks in a block, a divisor of n and of the number of tasks of every node. By default a
        block holds all tasks of a node, also if nodes hold different numbers.
    inside : bool
        Map inside blocks as well; otherwise their tasks stay in order.
    tasks_per_node, per, pack, spread
        Determine which PEs are used, see :func:`hopbytes.machines.selection.slot_counts.spread`.
    **options
        Options of :func:`hopbytes.map_tasks`.

    Raises
    ------
    InfeasibleError
        There are more tasks than PEs, or the block size does not divide n or the number of tasks of a node.
    """
    if any(options.get(name) is not None for name in ("fixed", "forbidden", "initial")):
        raise UnsupportedError(
            "fixed and forbidden places and an initial mapping refer to single tasks, expected none of them "
            "for blocks of tasks"
        )
    if options.pop("oversubscribe", False) or options.pop("partition", None):
        raise UnsupportedError("blocks of ranks are for processes with a slot of their own")
    if graph.n > where.k:
        raise too_few_slots(graph.n, where, "blocks of ranks need a slot for each")
    spreading = {"tasks_per_node": tasks_per_node, "per": per, "pack": pack}
    pes = chosen_slots(where, graph.n, evenly=spread, **spreading).astype(np.int64)
    counts = _tasks_of_nodes(where, pes)
    if options.get("weight") == "time":
        raise UnsupportedError("weight time refers to single messages, expected bytes for blocks of ranks")
    seen = graph.with_weights(
        options.get("weight", "bytes")
    )  # the sums over the arcs between blocks keep this weight only
    weighed = weighs_links(graph, where, **options)
    named = "comm_cost" if weighed else objective_of(options.get("objective"), where, "bytes")[0]
    options["objective"] = named
    inner = {**options, "weight": "bytes", "partition": False}
    if inner.get("time_limit") is not None:
        inner["time_limit"] /= 2 * (1 + len(counts) * inside) * (1 + weighed)
    notices: list[str] = []
    pe = _in_blocks(seen, where, pes, counts, block, inside=inside, options=inner)
    if weighed:
        inner["objective"] = LINKS
        less = _in_blocks(seen, where, pes, counts, block, inside=inside, options=inner)
        others = [less, pes.astype(np.int32)]
        number, notices = worth_it(seen, where, pe, others)
        if number is not None:
            pe, options["objective"] = others[number], LINKS
    given = Given(np.searchsorted(pes, pe).astype(np.int32))
    mapping = map_tasks(graph, where, mapper=given, spread=spread, **_recorded(options), **spreading)
    method: dict[str, Any] = {}
    method["mapper"] = f"blocks of {block or 'a node'}, {'any' if inside else 'in'} order inside"
    method["preset"] = options.get("preset")
    method["notices"] = [*notices, *mapping.info["notices"]]
    return Mapping(mapping.pe, where, {**mapping.info, **method})


def _in_blocks(
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


def _recorded(options: dict[str, Any]) -> dict[str, Any]:
    kept = ("objective", "weight", "seed", "threads")
    return {"partition": False, **{key: options[key] for key in kept if key in options}}


def _tasks_of_nodes(where: Allocation, pes: Int64) -> list[int]:
    counts = np.bincount(where.node_of_pe[pes])
    return [int(count) for count in counts if count]


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
        forbidden = np.argwhere(np.array(sizes)[:, None] != size_of_node[None, :])
        blocks = _quotient(graph, owner, len(sizes))
        found = map_tasks(blocks, _merged(where, chosen), **options, forbidden=forbidden)
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
