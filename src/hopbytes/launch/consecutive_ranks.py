"""Mapping for launchers that place consecutive ranks on a node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.algorithms.base import Mapper
from hopbytes.errors import HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.launch.free_order import free_order
from hopbytes.launch.rank_blocks import placed_blocks
from hopbytes.machines.allocate.slot_counts import spread as chosen_slots
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.solve.formulate import too_few_slots
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.solve.method import Given, steps_of
from hopbytes.solve.objective import LINKS, objective_of, weighs_links
from hopbytes.solve.presets import presets
from hopbytes.solve.slots import slot_choices


def map_for(
    graph: CommGraph,
    where: Allocation,
    form: str,
    *,
    block: int | None = None,
    **options: Any,
) -> Mapping:
    """Map so that a launch format can express the result.

    >>> import hopbytes as hb
    >>> far = hb.CommGraph.from_edges([0, 1, 2, 3], [2, 3, 0, 1], [9, 9, 9, 9])
    >>> map_for(far, hb.allocate("node:2@10 core:2@1"), "hosts").pe.tolist()
    [0, 1, 2, 3]
    """
    can = formats[form].capabilities
    if formats[form].holds != "mapping":
        raise UnsupportedError(f"format {form!r} holds a pattern, expected one for a placement")
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
    notices = [*mapping.info["notices"], limit, *free_order(graph, mapping, form, **options)]
    return Mapping(mapping.pe, where, {**mapping.info, "said_by": form, "notices": notices})


def _on_the_cheaper_slots(
    graph: CommGraph, where: Allocation, block: int | None, **options: Any
) -> Mapping:
    """Map in blocks with filled nodes and with evenly used nodes, and return the cheaper mapping."""
    choices = {} if where.use.chosen else slot_choices(where, graph.n, equal_nodes=where.use.equal_nodes)
    where = where.using(equal_nodes=False)
    if not choices:
        return map_in_blocks(graph, where, block, **options)
    found: dict[str, Mapping] = {}
    refused: list[HopbytesError] = []
    for name, choice in choices.items():
        try:
            found[name] = map_in_blocks(graph, where.using(**choice), block, **options)
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
    **options: Any,
) -> Mapping:
    """Map blocks of consecutive tasks to groups of neighbouring PEs.

    Task r belongs to block r // block. The quotient graph of the blocks is mapped to the groups, then the
    tasks of every block are mapped to the PEs of its group, which is kept only if it reduces the total cost.
    """
    constraints, limits = options.get("constraints"), options.get("limits")
    if constraints is not None and constraints.of_tasks:
        raise UnsupportedError(
            "fixed and forbidden places and an initial mapping refer to single tasks, expected none of them "
            "for blocks of tasks"
        )
    if where.use.oversubscribe or options.pop("partition", None):
        raise UnsupportedError("blocks of ranks are for processes with a slot of their own")
    if graph.n > where.k:
        raise too_few_slots(graph.n, where, "blocks of ranks need a slot for each")
    pes = chosen_slots(where, graph.n, where.use).astype(np.int64)
    counts = _tasks_of_nodes(where, pes)
    if options.get("weight") == "time":
        raise UnsupportedError("weight time refers to single messages, expected bytes for blocks of ranks")
    seen = graph.with_weights(
        options.get("weight", "bytes")
    )  # the sums over the arcs between blocks keep this weight only
    asked = ("method", "objective", "weight", "constraints", "partition")
    weighed = weighs_links(graph, where, **{name: options[name] for name in asked if name in options})
    named = "comm_cost" if weighed else objective_of(options.get("objective"), where, "bytes")[0]
    options["objective"] = named
    inner = {**options, "weight": "bytes", "partition": False}
    if limits is not None and limits.time is not None:
        share = 2 * (1 + len(counts) * inside) * (1 + weighed)
        inner["limits"] = replace(limits, time=limits.time / share)
    notices: list[str] = []
    pe = placed_blocks(seen, where, pes, counts, block, inside=inside, options=inner)
    if weighed:
        from hopbytes.solve.rails import worth_it

        inner["objective"] = LINKS
        less = placed_blocks(seen, where, pes, counts, block, inside=inside, options=inner)
        others = [less, pes.astype(np.int32)]
        number, notices = worth_it(seen, where, pe, others)
        if number is not None:
            pe, options["objective"] = others[number], LINKS
    given = Given(np.searchsorted(pes, pe).astype(np.int32))
    mapping = map_tasks(graph, where, given, **_recorded(options))
    method: dict[str, Any] = {}
    method["mapper"] = f"blocks of {block or 'a node'}, {'any' if inside else 'in'} order inside"
    method["preset"] = _preset_named(options.get("method"))
    method["notices"] = [*notices, *mapping.info["notices"]]
    return Mapping(mapping.pe, where, {**mapping.info, **method})


def _preset_named(method: Any) -> Any:
    """Return the preset that the caller named, None without one."""
    if method is None:
        return None
    first = steps_of(method)[0]
    return None if isinstance(first, Mapper) or (isinstance(first, str) and first not in presets) else first


def _recorded(options: dict[str, Any]) -> dict[str, Any]:
    kept = ("objective", "weight", "seed", "threads")
    return {"partition": False, **{key: options[key] for key in kept if key in options}}


def _tasks_of_nodes(where: Allocation, pes: Int64) -> list[int]:
    counts = np.bincount(where.node_of_pe[pes])
    return [int(count) for count in counts if count]
