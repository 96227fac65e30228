"""Baseline mappings for comparison: in order, at random, and as recorded."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.machines.allocate.slot_counts import even_counts
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import common_divisor, shares_in_order
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.base import recorded_hosts
from hopbytes.text.hostlist import short_name
from hopbytes.util.random_numbers import RandomNumbers

#: Values of ``info["slots"]`` if the user or the job prescribed the numbers of tasks per node.
COUNTS_ASKED = ("asked", "job")


def in_order(graph: CommGraph, mapping: Mapping, order: str = "fill") -> Int32:
    """Return int32[n], the launcher's default mapping: tasks in the order of their numbers.

    If every task has a PE of its own, tasks take the PEs that the launcher would choose (`order`, see
    :func:`hopbytes.machines.allocate.launcher_order.launcher_placement`), unless the mapping was computed
    for prescribed numbers of tasks per node, because the launcher would then get the same numbers. Processes
    that share PEs keep the numbers of tasks per PE that they have in `mapping`.

    No launcher maps the tasks of a partition. The baseline is then blocks of consecutive tasks: of equal
    numbers of tasks, or of about equal load in proportion to the capacities of the PEs.
    """
    where = mapping.where
    if mapping.n <= where.k and int(mapping.tasks_per_pe().max(initial=0)) <= 1:
        if mapping.info.get("slots") not in COUNTS_ASKED or mapping.n == 0:
            return launcher_placement(where, mapping.n, order).pe
        used = np.flatnonzero(mapping.tasks_per_pe())
        return used[launcher_placement(where.select(used), mapping.n, order).pe].astype(np.int32)
    if not is_partition(mapping):
        return np.repeat(np.arange(where.k, dtype=np.int32), mapping.tasks_per_pe())
    return _blocks(graph, where)


def at_random(mapping: Mapping, seed: int) -> Int32:
    """Return int32[n], a random permutation of the PEs of `mapping`, with the same counts per PE; O(n)."""
    return RandomNumbers(seed).shuffled(mapping.pe)


def as_recorded(graph: CommGraph, where: Allocation) -> Int32 | None:
    """Return int32[n], tasks on the nodes of the recorded run, in order inside each node; None if unknown.

    A recording may name the host of every rank (:func:`hopbytes.patterns.base.recorded_hosts`). If the
    allocation has nodes with these names, with or without a domain, every host is the node of its name.
    Otherwise hosts are assigned to nodes in the order in which ranks name them. The result is also None if a
    node has fewer PEs than ranks were recorded on its host. O(n + k).
    """
    hosts = recorded_hosts(graph)
    if not hosts:
        return None
    nodes, first = np.unique(where.node_of_pe, return_index=True)
    ends = np.append(first[1:], where.k)
    names = list(dict.fromkeys(hosts))
    number = {name: place for place, name in enumerate(names)}
    known = [where.hosts[node] for node in nodes] if where.hosts else []
    for key in (str, short_name):  # whole names, else those without a domain
        own = list(map(key, known))
        if set(map(key, names)) <= set(own):
            number = {name: own.index(key(name)) for name in names}
            break
    if max(number.values()) >= len(nodes):
        return None
    unit = np.array([number[host] for host in hosts])
    held = np.bincount(unit, minlength=len(nodes))
    if np.any(held > ends - first):
        return None
    order = np.argsort(unit, kind="stable")
    pe = np.empty(graph.n, np.int32)
    pe[order] = np.concatenate([np.arange(first[u], first[u] + held[u]) for u in range(len(nodes))])
    return pe


def is_partition(mapping: Mapping) -> bool:
    """Tell whether the mapping is a partition, with many tasks per PE, not one process per slot."""
    problem = mapping.info.get("problem")
    return problem == "partition" if problem else mapping.n > mapping.where.k


def _blocks(graph: CommGraph, where: Allocation) -> Int32:
    """Return int32[n], blocks of consecutive tasks with about equal load, or equal numbers of equal tasks."""
    loads = graph.task_loads()
    # A common factor of all loads must not move the ends of blocks.
    divisor = common_divisor(loads) if graph.loads is not None else 1
    loads = loads // divisor if divisor else np.ones(graph.n, np.int64)
    if where.capacity is None and int(loads.min(initial=1)) == int(loads.max(initial=1)) == 1:
        return np.repeat(np.arange(where.k, dtype=np.int32), even_counts(where, graph.n))
    sizes = [1] * where.k if where.capacity is None else where.capacity.tolist()
    return np.repeat(np.arange(where.k, dtype=np.int32), shares_in_order(loads, graph.n, sizes))
