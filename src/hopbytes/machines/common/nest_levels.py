"""Levels inside the nodes of a network or the innermost units of a tree: what follows `` / `` in a spec."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.base import Machine, machines
from hopbytes.machines.common.named_tree import NamedTree
from hopbytes.machines.common.nested_machine import NestedMachine, in_order_of
from hopbytes.machines.common.networked import Count, NetworkMachine, starts_with_node
from hopbytes.machines.common.node_machine import NodeMachine
from hopbytes.machines.common.tree import MAX_DISTANCE, Tree, shorten


def nest(outer: Machine, text: str, parse: Callable[[str], Machine]) -> Machine:
    """Put what `text` describes inside the nodes of a network, or inside the innermost units of a tree."""
    if not isinstance(outer, (NetworkMachine, NamedTree, Tree)):
        raise UnsupportedError(
            f"{shorten(outer.spec())} cannot have levels inside, expected a network like torus:4x4 or a tree"
        )
    units = outer.n_cores if isinstance(outer, Tree) else int(outer.node_of_core()[-1]) + 1
    try:
        inside = parse(text)
    except FormatError:
        if "[" not in text or text.partition(":")[0] in machines:
            raise
        # The list has one number per unit of the whole machine, so it is read below as many nodes.
        inside = parse(f"node:{units}@{MAX_DISTANCE} {text}")
    if isinstance(inside, NodeMachine):
        if isinstance(outer, NetworkMachine) and outer.gpus_inside:
            from hopbytes.machines.node.gpu_first import gpus_first

            inside = dataclasses.replace(inside, inventory=gpus_first(inside.inventory, text))
        nodes, tree = in_order_of(outer, inside, units)
        base = nest(outer, text, lambda _: tree)
        base = base.with_defaults_written() if isinstance(base, NetworkMachine) else base
        outside = outer.spec() if isinstance(outer, Tree) else base.spec().partition(" / ")[0]
        return NestedMachine(base, outside, nodes)
    if not isinstance(inside, Tree):
        raise UnsupportedError(f"{shorten(text)} inside a node, expected a tree such as 'package:2 core:8'")
    if isinstance(outer, (NetworkMachine, NamedTree)):
        return outer.nested(inside)
    whole = starts_with_node(inside)
    counts: list[Count] = [
        count if isinstance(count, int) or whole else count * units for count in inside.children[whole:]
    ]
    return Tree((*outer.tiers, *inside.tiers[whole:]), (*outer.children, *counts))
