"""The adapter of a host that the slot of each GPU sends through."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.fabrics.hosts import Host
from hopbytes.machines.node.inventory import NodeInventory
from hopbytes.machines.node.node_tree import NodeTree


def adapters_of_gpus(
    hosts: Sequence[Host], nodes: Int32, gpus: Int32, inventory: NodeInventory | None
) -> tuple[Int32, tuple[str, ...]]:
    """Return the endpoint of every slot, and what had to be assumed.

    Adapters are the same if they have the same name (``mlx5_0``); or else, where the fabric shows as many as
    the node has, by their order. Where that finds nothing for some GPU of a host, its GPUs take the adapters
    in their order, equal shares each.
    """
    first = np.cumsum([0, *(len(host.adapters) for host in hosts)])
    endpoints = np.empty(len(nodes), np.int32)
    unknown = 0
    for node in np.unique(nodes).tolist():
        here = np.flatnonzero(nodes == node)
        near = _near(hosts[node], None if inventory is None else inventory.tree(node))
        own = [near.get(gpu) for gpu in gpus[here].tolist()]
        if None in own:
            unknown += 1
            count = int(gpus[here].max()) + 1
            own = [gpu * len(hosts[node].adapters) // count for gpu in gpus[here].tolist()]
        endpoints[here] = first[node] + np.array(own, np.int64)
    several = unknown and max(len(hosts[node].adapters) for node in np.unique(nodes).tolist()) > 1
    if not several:
        return endpoints, ()
    s = "" if unknown == 1 else "s"
    return endpoints, (
        f"rails=gpu: on {unknown} host{s} nobody says which adapter is nearest to which GPU, so GPUs take "
        "the adapters in their order (hwloc files of real nodes know)",
    )


def _near(host: Host, tree: NodeTree | None) -> dict[int, int]:
    """Return the adapter of the host, by its place in the list, that is nearest to each GPU."""
    near = {gpu.index: gpu.adapter for gpu in (() if tree is None else tree.gpus) if gpu.adapter is not None}
    if all(adapter.name in host.adapter_names for adapter in near.values()):
        return {gpu: host.adapter_names.index(adapter.name) for gpu, adapter in near.items()}
    return {gpu: adapter.number for gpu, adapter in near.items() if adapter.together == len(host.adapters)}
