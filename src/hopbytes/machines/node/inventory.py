"""What is known inside nodes: hardware threads and GPUs, as the operating systems number them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.machines.node.node_tree import NodeTree


@frozen(eq=False)
class NodeInventory:
    """The nodes of a machine one by one, each with the numbers its operating system uses.

    >>> import hopbytes as hb
    >>> inventory = hb.allocate("synthetic:core:2 pu:2(indexes=0,2,1,3)@n[1-2]").machine.inventory
    >>> inventory.n_nodes, inventory.tree(1).os_pus.tolist(), len(inventory.os_cpus())
    (2, [0, 2, 1, 3], 8)
    """

    trees: tuple[NodeTree, ...]  # distinct nodes
    tree_of_node: tuple[int, ...]  # which of `trees` every node of the machine is
    #: kinds of units that are the same units as a level of the machine, and that level; ``node`` for the
    #: whole node. A node with a single package, say, has no level ``package``.
    same_as: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, trees: Sequence[NodeTree]) -> NodeInventory:
        """Return the inventory of nodes given one by one; equal ones are stored once."""
        numbers: dict[bytes, int] = {}
        kept: list[NodeTree] = []
        which = []
        for tree in trees:
            number = numbers.setdefault(tree.identity(), len(kept))
            if number == len(kept):
                kept.append(tree)
            which.append(number)
        return cls(tuple(kept), tuple(which))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeInventory) and self._identities() == other._identities()

    def __hash__(self) -> int:
        return hash(tuple(self._identities()))

    def _identities(self) -> list[bytes]:
        return [self.trees[which].identity() for which in self.tree_of_node]

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.tree_of_node)

    def tree(self, node: int) -> NodeTree:
        """The tree of one node, with all its numbers."""
        return self.trees[self.tree_of_node[node]]

    def places_per_node(self) -> Int64:
        """int64[nodes]: hardware threads of every node that may be used; each is a place of the machine."""
        return np.array([len(self.trees[which].os_pus) for which in self.tree_of_node], np.int64)

    @property
    def pus_known(self) -> bool:
        """Whether the hardware threads of all nodes are known; otherwise some nodes tell only their GPUs."""
        return all(tree.pus_known for tree in self.trees)

    def os_cpus(self) -> Int64:
        """int64[places]: CPU number of every place, as the operating system of its own node counts."""
        return np.concatenate([self.trees[which].os_pus for which in self.tree_of_node])

    def gpu_of_place(self) -> Int32 | None:
        """int32[places]: number of the GPU near every place; None unless GPUs are units of all nodes."""
        if not all("gpu" in tree.kinds for tree in self.trees):
            return None
        near = []
        for tree in self.trees:
            of_pu = {pu: gpu.index for gpu in tree.gpus for pu in gpu.pus}
            if not tree.pus_known:  # one stands for each GPU
                of_pu = {gpu.index: gpu.index for gpu in tree.gpus}
            near.append(np.array([of_pu.get(pu, -1) for pu in tree.os_pus.tolist()], np.int32))
        return np.concatenate([near[which] for which in self.tree_of_node])

    def repeated(self, count: int) -> NodeInventory:
        """Return the inventory of `count` nodes like the only one of this inventory."""
        return replace(self, tree_of_node=self.tree_of_node * count)
