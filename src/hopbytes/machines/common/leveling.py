"""One tree of levels for all nodes of a machine, whether they are equal or not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.machines.common.tree import Tree
from hopbytes.machines.node.hardware_kinds import aligned, base_kind, default_distance, worth
from hopbytes.machines.node.node_tree import NodeTree
from hopbytes.machines.topology import Level


@frozen
class Leveled:
    """A tree whose leaves are the PUs of all nodes in order, and the kinds that were merged into its levels.
    """

    tree: Tree
    #: kinds that are the same units as a level, and that level; ``node`` for the whole node
    same_as: dict[str, str]


def level(nodes: Sequence[NodeTree], tree_of_node: Sequence[int]) -> Leveled:
    """Put nodes under one tree of named levels.

    Two PUs are as far apart as the outermost kind among the parts of the smallest unit that holds both: an
    uneven tree stays uneven, and the cores of a package without dies are no further apart because another
    package has dies. O(PUs x kinds) for each distinct node.
    """
    columns, names = aligned(node.kinds for node in nodes)
    paths = [_filled(node, names[node.kinds], columns) for node in nodes]
    ends = np.cumsum([0, *(len(paths[which]) for which in tree_of_node)])
    levels = [np.repeat(np.arange(len(tree_of_node), dtype=np.int64), np.diff(ends))]
    for column in range(len(columns)):
        levels.append(_joined([paths[which][:, column] for which in tree_of_node]))
    return _merged(["node", *columns], levels, all(node.pus_known for node in nodes))


def _filled(node: NodeTree, names: Sequence[str], kinds: Sequence[str]) -> Int64:
    """int64[p, kinds]: unit of every PU at every level, also where the node has no such unit.

    `names` are those that the kinds of the node have among `kinds`.

    Where no part of a unit has a kind, the unit as a whole counts as one unit of that kind; where some parts
    have it, each of the other parts counts as one.
    """
    count = len(node.os_pus)
    units = np.full((count, len(kinds)), -1, np.int64)
    for column, kind in enumerate(names):
        units[:, kinds.index(kind)] = node.units[:, column]
    filled = np.empty_like(units)
    group = np.zeros(count, np.int64)
    for column in range(len(kinds)):
        present = units[:, column] >= 0
        mixed = np.bincount(group, present, minlength=count) > 0  # per group: some PU has this kind
        keys = []
        for row in range(count):
            if not mixed[group[row]]:
                keys.append((int(group[row]), -1, -1))
            else:
                first = column + int(np.argmax(units[row, column:] >= 0))
                keys.append((int(group[row]), first, int(units[row, first])))
        numbers: dict[tuple[int, int, int], int] = {}
        group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
        if np.any(np.diff(group) < 0):
            raise FormatError("node", None, f"units of kind {kinds[column]} overlap, expected a tree")
        filled[:, column] = group
    return filled


def _joined(columns: list[Int64]) -> Int64:
    """Number the units of consecutive nodes through."""
    sizes = np.array([int(column[-1]) + 1 for column in columns], np.int64)
    starts = np.cumsum(sizes) - sizes
    return np.concatenate([column + start for column, start in zip(columns, starts, strict=True)])


def _merged(names: list[str], levels: list[Int64], pus_known: bool) -> Leveled:
    """Join neighbouring levels of equal units, choose names and distances, count children.

    GPUs stay a level of their own: a slot is a GPU also where a node has one, or where each has one core.
    """
    groups: list[tuple[list[str], Int64]] = []
    for name, units in zip(names, levels, strict=True):
        apart = name == "gpu" or (pus_known and groups and groups[-1][0][-1] == "gpu")
        # Units refine each other, so equal counts mean equal units.
        if groups and not apart and int(groups[-1][1][-1]) == int(units[-1]):
            groups[-1][0].append(name)
        else:
            groups.append(([name], units))
    same_as: dict[str, str] = {}
    if len(groups) > 1 and int(groups[0][1][-1]) == 0:  # a single node needs no level of its own
        same_as = dict.fromkeys(groups.pop(0)[0], "node")
        del same_as["node"]
    chosen = _names([kinds for kinds, _ in groups])
    for (kinds, _), name in zip(groups, chosen, strict=True):
        same_as.update(dict.fromkeys(kinds, name))
    same_as = {kind: name for kind, name in same_as.items() if kind not in chosen}
    distances, inner = [], 0
    for kinds, _ in reversed(groups):
        inner = default_distance(kinds, inner)
        distances.append(inner)
    tiers = [Level(name, d) for name, d in zip(chosen, reversed(distances), strict=True)]
    children: list[int | tuple[int, ...]] = []
    outer = np.zeros(len(levels[0]), np.int64)
    for _, units in groups:
        heads = np.flatnonzero(np.diff(units, prepend=-1))
        counts = np.bincount(outer[heads])
        children.append(int(counts[0]) if np.all(counts == counts[0]) else tuple(counts.tolist()))
        outer = units
    return Leveled(Tree(tuple(tiers), tuple(children)), same_as)


def _names(kinds_of_levels: list[list[str]]) -> list[str]:
    """Choose a name for each level: the best of its kinds, without its number where that name is free."""
    names = [min(kinds, key=worth) for kinds in kinds_of_levels]
    for place, name in enumerate(names):
        if base_kind(name) not in names:
            names[place] = base_kind(name)
    return names
