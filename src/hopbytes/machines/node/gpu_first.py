"""Nodes whose outermost units are their GPUs, each with its share of the cores near to it."""

from __future__ import annotations

import dataclasses

from hopbytes.errors import FormatError
from hopbytes.machines.node.inventory import NodeInventory
from hopbytes.machines.node.node_tree import NodeTree, Part, node_tree


def gpus_first(inventory: NodeInventory, where: str) -> NodeInventory:
    """Return the inventory with a level ``gpu`` right inside the nodes; see :func:`by_gpu` for errors."""
    return NodeInventory(tuple(by_gpu(tree, where) for tree in inventory.trees), inventory.tree_of_node)


def by_gpu(tree: NodeTree, where: str) -> NodeTree:
    """Return a node whose cores are grouped by GPU.

    A core is near to a GPU if one of its hardware threads is. A core that is near to GPUs of different sets
    of threads belongs to those with the smaller set. O(PUs x GPUs).
    """
    if not tree.gpus:
        raise FormatError("machine", None, f"{where[:60]} tells no GPU, expected nodes with GPUs")
    if not tree.pus_known:
        units = tuple(Part("gpu", gpu.index, (Part("pu", gpu.index),)) for gpu in tree.gpus)
        return node_tree(
            Part("machine", 0, units), gpus=tree.gpus, host=tree.host, numa=tree.numa, where=where,
            notices=tree.notices, pus_known=False,
        )
    cores: dict[int, list[int]] = {}
    for core, pu in zip(tree.cores.tolist(), tree.os_pus.tolist(), strict=True):
        cores.setdefault(core, []).append(pu)
    free = dict(cores)
    parts: dict[int, tuple[Part, ...]] = {}
    sets = {frozenset(gpu.pus) for gpu in tree.gpus}
    # Without threads a GPU is near to all that are left.
    for near in sorted(sets, key=lambda pus: (not pus, len(pus), min(pus, default=0))):
        alike = [gpu for gpu in tree.gpus if frozenset(gpu.pus) == near]
        own = [core for core, pus in free.items() if not near or not near.isdisjoint(pus)]
        for core in own:
            del free[core]
        for number, gpu in enumerate(alike):
            first, end = (len(own) * i // len(alike) for i in (number, number + 1))
            if first == end:
                what = f"{where[:60]}: GPU {gpu.index} has no core of its own, expected one for each GPU"
                raise FormatError("machine", None, what)
            parts[gpu.index] = tuple(
                Part("core", core, tuple(Part("pu", pu) for pu in cores[core])) for core in own[first:end]
            )
    node = Part("machine", 0, tuple(Part("gpu", index, parts[index]) for index in sorted(parts)))
    gpus = tuple(dataclasses.replace(gpu, pus=_pus(parts[gpu.index])) for gpu in tree.gpus)
    return node_tree(
        node, gpus=gpus, host=tree.host, numa=tree.numa, where=where, notices=tree.notices
    )


def _pus(cores: tuple[Part, ...]) -> tuple[int, ...]:
    return tuple(sorted(pu.os_index for core in cores for pu in core.inside))
