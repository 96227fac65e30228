"""Mapping for launchers that give consecutive ranks to a node: blocks of ranks go to groups of PEs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.algorithms.base import Mapper
from hopbytes.algorithms.shared.quotient_graph import graph_among
from hopbytes.cost.objectives.comm_cost import CommCost, objectives
from hopbytes.errors import HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.machines.allocate.slot_counts import asked_by_job
from hopbytes.machines.allocate.slot_counts import spread as chosen_slots
from hopbytes.model.allocation import Allocation, SlotUse
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.solve.formulate import too_few_slots
from hopbytes.solve.map_tasks import map_tasks, objective_of, weighs_links
from hopbytes.solve.method import LINKS, Given, steps_of
from hopbytes.solve.presets import presets
from hopbytes.solve.problem import Constraints
from hopbytes.solve.slots import slot_choices

#: Number of nodes of unequal sizes up to which blocks are mapped to nodes, since all pairs of a block and a
#: node of another size are listed as forbidden.
MOST_UNEQUAL = 2_000
#: Bound on the steps of the dynamic program over sizes; it limits how many states are kept after each node.
MOST_STEPS = 300_000
#: Formats in which only the order of hosts can be chosen.
ORDERED = ("hosts", "torchrun", "kubernetes")
#: Tasks up to which the pattern is mapped a second time, with free ranks.
MOST_TASKS = 2**14


def map_for(
    graph: CommGraph, where: Allocation, form: str, *, block: int | None = None, **options: Any
) -> Mapping:
    """Map so that a launch format can express the result."""
    can = formats[form].capabilities
    if formats[form].holds != "mapping":
        raise UnsupportedError(f"format {form!r} holds a pattern, expected one for a mapping")
    if not can.unequal_nodes:
        where = where.using(equal_nodes=True)
    if can.launcher and options.get("partition") is None:  # launchers start processes
        options["partition"] = False
    if can.scattered_ranks and block is None:
        return map_tasks(graph, where, **options)
    mapping = _on_the_cheaper_slots(graph, where, block, inside=can.per_rank_cores, **options)
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
    notices = [*mapping.info["notices"], limit, *_free_order(graph, mapping, form, **options)]
    return Mapping(mapping.pe, where, {**mapping.info, "said_by": form, "notices": notices})


def _on_the_cheaper_slots(graph: CommGraph, where: Allocation, block: int | None, **options: Any) -> Mapping:
    """Map in blocks with filled nodes and with evenly used nodes, and return the cheaper mapping."""
    choices = {} if where.use.chosen else slot_choices(where, graph.n, equal_nodes=where.use.equal_nodes)
    if not (choices or where.use.chosen or asked_by_job(where, graph.n)) and 0 < graph.n < where.k:
        choices = {"spread": {"spread": True}}  # no equal numbers of tasks per node
    where = where.using(equal_nodes=False)
    if not choices:
        return map_in_blocks(graph, where, block, **options)
    mappings: dict[str, Mapping] = {}
    refused: list[HopbytesError] = []
    for name, choice in choices.items():
        try:
            mappings[name] = map_in_blocks(graph, where.using(**choice), block, **options)
        except InfeasibleError as error:
            refused.append(error)
    if not mappings:
        raise refused[0]
    values = {name: mapping.info["objective_value"] for name, mapping in mappings.items()}
    best = min(values, key=lambda name: values[name])
    mapping = mappings[best]
    return Mapping(mapping.pe, where, {**mapping.info, "slots": best, "alternatives": values})


def map_in_blocks(
    graph: CommGraph, where: Allocation, block: int | None = None, *, inside: bool = True, **options: Any
) -> Mapping:
    """Map blocks of consecutive tasks to groups of neighbouring PEs.

    Task r belongs to block r // block. The quotient graph of the blocks is mapped to the groups, then the
    tasks of every block are mapped to the PEs of its group, which is kept only if it reduces the total cost.
    """
    constraints, limits = options.get("constraints"), options.get("limits")
    if constraints is not None and constraints.of_tasks:
        raise UnsupportedError(
            "fixed and forbidden PEs and an initial mapping refer to single tasks, expected none of them "
            "for blocks of tasks"
        )
    if where.use.oversubscribe or options.pop("partition", None):
        raise UnsupportedError("blocks of ranks are for processes with a slot of their own")
    if graph.n > where.k:
        raise too_few_slots(graph.n, where, "blocks of ranks need a slot for each")
    pes = chosen_slots(where, graph.n, where.use).astype(np.int64)
    counts = [count for count in np.bincount(where.node_of_pe[pes]).tolist() if count]
    if options.get("weight") == "time":
        raise UnsupportedError("weight time refers to single messages, expected bytes for blocks of ranks")
    # The sums over the arcs between blocks keep this weight only.
    weighted = graph.with_weights(options.get("weight", "bytes"))
    asked = ("method", "objective", "weight", "constraints", "partition")
    weighed = weighs_links(graph, where, **{name: options[name] for name in asked if name in options})
    named = "comm_cost" if weighed else objective_of(options.get("objective"), where, "bytes")[0]
    options["objective"] = named
    inner = {**options, "weight": "bytes", "partition": False}
    if limits is not None and limits.time is not None:
        share = 2 * (1 + len(counts) * inside) * (1 + weighed)
        inner["limits"] = replace(limits, time=limits.time / share)
    notices: list[str] = []
    pe = _placed_blocks(weighted, where, pes, counts, block, inside=inside, options=inner)
    if weighed:
        from hopbytes.solve.rails import worth_it

        inner["objective"] = LINKS
        less = _placed_blocks(weighted, where, pes, counts, block, inside=inside, options=inner)
        others = [less, pes.astype(np.int32)]
        number, notices = worth_it(weighted, where, pe, others)
        if number is not None:
            pe, options["objective"] = others[number], LINKS
    given = Given(np.searchsorted(pes, pe).astype(np.int32))
    kept = {key: options[key] for key in ("objective", "weight", "seed", "threads") if key in options}
    mapping = map_tasks(graph, where, given, partition=False, **kept)
    method = {
        "mapper": f"blocks of {block or 'a node'}, {'any' if inside else 'in'} order inside",
        "preset": _preset_named(options.get("method")), "notices": [*notices, *mapping.info["notices"]],
    }  # fmt: skip
    return Mapping(mapping.pe, where, {**mapping.info, **method})


def _preset_named(method: Any) -> Any:
    """Return the preset that the caller named, None without one."""
    if method is None:
        return None
    first = steps_of(method)[0]
    return None if isinstance(first, Mapper) or (isinstance(first, str) and first not in presets) else first


def _placed_blocks(
    graph: CommGraph, where: Allocation, pes: Int64, counts: list[int], block: int | None, *, inside: bool,
    options: dict[str, Any],
) -> Int32:
    """Return the PE of every task: blocks are mapped to groups, then tasks inside their group."""
    if not counts:
        return pes.astype(np.int32)
    if block is None and len(set(counts)) > 1:
        groups = _unequal_groups(graph, where, np.split(pes, np.cumsum(counts)[:-1]), options)
    else:
        size = _block_size(graph.n, counts, block)
        cut = [pes[first : first + size] for first in range(0, graph.n, size)]
        blocks = _mapped_quotient(graph, where, cut, options)
        groups = [cut[group] for group in blocks]
    pe = np.concatenate(groups).astype(np.int32)
    return _mapped_inside(graph, where, pe, groups, options) if inside else pe


def _block_size(n: int, counts: list[int], block: int | None) -> int:
    if block is None:
        return counts[0]
    if block < 1:
        raise UnsupportedError(f"`block={block}`, expected an integer >= 1")
    uneven = [count for count in counts if count % block]
    if n % block or uneven:
        found = f"{uneven[0]} on a node" if uneven else str(n)
        raise InfeasibleError(f"blocks of {block} ranks, expected a divisor of the ranks: {found}")
    return block


def _mapped_quotient(
    graph: CommGraph, where: Allocation, groups: list[Int64], options: dict[str, Any]
) -> list[int]:
    """Return the group of every block, where block i has as many tasks as group i has PEs."""
    owner = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    sums = graph.quotient(owner, len(groups))
    blocks = CommGraph.of_own(sums.indptr, sums.targets, sums.volumes)
    cores = [np.concatenate([where.cores_of(int(pe)) for pe in group]) for group in groups]
    starts = np.cumsum([0, *map(len, cores)]).astype(np.int64)
    merged = Allocation(where.machine, starts, np.concatenate(cores), where.hosts)
    chosen: list[int] = map_tasks(blocks, merged, **options).pe.tolist()
    return chosen


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
        forbidden: Any = np.argwhere(np.array(sizes)[:, None] != np.array(sizes)[None, :])
        constraints = replace(options.get("constraints") or Constraints(), forbidden=forbidden)
        blocks = _mapped_quotient(graph, where, chosen, {**options, "constraints": constraints})
        candidates.append([chosen[group] for group in blocks])
    return min(candidates, key=lambda groups: _cost(graph, where, np.concatenate(groups), options))


def _cost(graph: CommGraph, where: Allocation, pe: Any, options: dict[str, Any]) -> Any:
    objective = objectives[options["objective"].replace("-", "_")]()
    return objective.value(graph, where, pe.astype(np.int32))


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
            best[tasks] = group[map_tasks(graph_among(graph, tasks), where.select(group), **options).pe]
    cheaper = _cost(graph, where, best, options) < _cost(graph, where, start, options)
    return best if cheaper else start


def best_sizes(graph: CommGraph, sizes: list[int]) -> list[int]:
    """Order the sizes of blocks so that most volume stays inside blocks of consecutive tasks."""
    kinds = Counter(sizes)
    known = sorted(kinds, key=sizes.index)  # ties keep the order given
    inside = {size: _volume_inside(graph, size) for size in known}
    most = [kinds[size] for size in known]
    width = max(64, MOST_STEPS // max(len(sizes) * len(known), 1))
    # used blocks of every size → volume inside, and the size of the last block
    layer: dict[tuple[int, ...], int] = {(0,) * len(known): 0}
    steps: list[dict[tuple[int, ...], int]] = []
    for _ in sizes:
        following: dict[tuple[int, ...], int] = {}
        step: dict[tuple[int, ...], int] = {}
        for used, volume in layer.items():
            first = sum(count * size for count, size in zip(used, known, strict=True))
            for kind, size in enumerate(known):
                if used[kind] == most[kind]:
                    continue
                state = (*used[:kind], used[kind] + 1, *used[kind + 1 :])
                reached = volume + int(inside[size][first])
                if reached > following.get(state, -1):
                    following[state], step[state] = reached, kind
        if len(following) > width:
            kept = sorted(following, key=lambda state: (-following[state], state))[:width]
            following = {state: following[state] for state in kept}
        layer = following
        steps.append(step)
    state = tuple(most)
    order: list[int] = []
    for step in reversed(steps):
        kind = step[state]
        order.append(known[kind])
        state = (*state[:kind], state[kind] - 1, *state[kind + 1 :])
    return order[::-1]


def _volume_inside(graph: CommGraph, size: int) -> Int64:
    """int64[n + 1]: volume of arcs between tasks s, …, s + size - 1, for every s.  O(n + m)."""
    source, target = graph.sources().astype(np.int64), graph.targets.astype(np.int64)
    low, high = np.minimum(source, target), np.maximum(source, target)
    near = (high - low < size) & (high > low)
    volumes = np.ones(graph.m, np.int64) if graph.volumes is None else graph.volumes
    change = np.zeros(graph.n + 2, np.int64)
    # An arc lies inside the windows whose first task is greater than high - size and at most low.
    np.add.at(change, np.maximum(high[near] - size + 1, 0), volumes[near])
    np.subtract.at(change, low[near] + 1, volumes[near])
    return np.cumsum(change)[: graph.n + 1]


def _free_order(graph: CommGraph, mapping: Mapping, form: str, **options: Any) -> list[str]:
    """Return sentences about the communication cost with free rank numbers; empty if there is no gain."""
    from hopbytes.patterns.ml import MEGATRON_OPTIONS, rank_orders, training_of

    where, limits, constraints = mapping.where, options.get("limits"), options.get("constraints")
    # A second, quick mapping does not take other options into account.
    usual = options.get("objective") in (None, "comm_cost") and options.get("weight") in (None, "bytes")
    limited = (limits is not None and limits.limited) or (constraints is not None and constraints.of_tasks)
    if form not in ORDERED or graph.n > min(MOST_TASKS, where.k) or limited or not usual:
        return []
    if mapping.info.get("objective", "comm_cost") != "comm_cost":  # chosen for a machine with rails
        return []
    own = CommCost().value(graph, where, mapping.pe)
    kept = {name: options[name] for name in ("seed", "threads") if name in options}
    equal = replace(where, use=SlotUse(equal_nodes=True))
    free = map_tasks(graph, equal, "fast", objective="comm_cost", partition=False, **kept)
    best = CommCost().value(graph, where, free.pe)
    sentences = []
    if best < own:
        sentences.append(
            f"{form} keeps ranks consecutive: J {own:,}; with ranks renumbered in the program J {best:,} "
            f"({1 - best / own:.1%} less): format mesh writes it for PyTorch and JAX, newrank for MPI"
        )
    training, slots = training_of(graph), np.sort(mapping.pe)
    # Ranks in each order on the slots in use; the first of equal orders counts.
    values = {
        name: CommCost().value(graph, where, slots[rank].astype(np.int32))
        for name, rank in ({} if training is None else rank_orders(training)).items()
    }
    order = min(values, key=lambda name: values[name], default="")
    if order and values[order] < own:
        value, option = values[order], MEGATRON_OPTIONS.get(order, f"order={order}")
        sentences.append(
            f"rank order {order} of the training program has J {value:,} ({1 - value / own:.1%} less), hosts "
            f"in machine order: Megatron-LM {option}"
        )
    return sentences
