"""Hardware as nested boxes, which texts and pictures show."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import NODE_NAMES
from hopbytes.machines.node.hardware_kinds import worth
from hopbytes.machines.node.node_tree import Gpu, NodeTree
from hopbytes.model.allocation import Allocation
from hopbytes.text.cpu_lists import format_list

MAX_BOXED = 2**16
#: Leaves of a machine that are drawn one by one; above it, alike units are folded.
MOST_LEAVES = 512


@frozen
class Box:
    """A unit: its kinds (several if they coincide), the numbers of its leaves, and the units inside.

    `label` is the host name or number of a node among others. A box stands for `count` alike ones; then
    `numbers` and `inside` are those of the first.
    """

    kinds: tuple[str, ...]
    numbers: tuple[int, ...]
    inside: tuple[Box, ...] = ()
    label: str = ""
    count: int = 1
    fill: str = ""  # its colour; empty for that of its kind

    @property
    def kind(self) -> str:
        """The best known of its kinds."""
        return min(self.kinds, key=worth, default="node")

    @property
    def name(self) -> str:
        """The best known of its kinds, with the others in brackets."""
        others = [kind for kind in self.kinds if kind != self.kind and kind not in ("pu", "l1")]
        return f"{self.kind} ({', '.join(others)})" if others else self.kind

    @property
    def title(self) -> str:
        """The name with the label, and how many alike boxes it stands for."""
        best, bracket, others = self.name.partition(" (")
        name = f"{best} {self.label}{bracket}{others}" if self.label else self.name
        return f"{self.count} x {name}" if self.count > 1 else name

    @property
    def leaves(self) -> int:
        """Number of leaves that are drawn."""
        return sum(box.leaves for box in self.inside) or 1

    @property
    def is_node(self) -> bool:
        return any(kind in NODE_NAMES for kind in self.kinds)

    @property
    def of_nodes(self) -> bool:
        """Whether the leaves are nodes, as in a network whose nodes have no parts."""
        return all(inner.of_nodes for inner in self.inside) if self.inside else bool(self.label)

    @property
    def only_gpus(self) -> bool:
        """Whether the numbers count GPUs, since nothing is known about cores and hardware threads."""
        leaf = self
        while leaf.inside:
            leaf = leaf.inside[0]
        return "gpu" in leaf.kinds and "core" not in leaf.kinds

    def shape(self) -> tuple[object, ...]:
        """A key that is equal for units that differ only in numbers."""
        return self.kinds, tuple(box.shape() for box in self.inside)


@frozen
class Boxed:
    """One kind of node, or a whole machine, and how many; `known` numbers are the operating system's."""

    box: Box
    gpus: tuple[Gpu, ...] = ()
    hosts: tuple[str, ...] = ()
    count: int = 1
    known: bool = True

    @property
    def heading(self) -> str:
        """How many there are, their hosts and their kinds."""
        count = f"{self.count} x " if self.count > 1 else ""
        hosts = f" {', '.join(self.hosts[:3])}{', …' if len(self.hosts) > 3 else ''}" if self.hosts else ""
        kinds = f" ({', '.join(self.box.kinds)})" if self.box.kinds else ""
        return f"{count}{'node' if self.known else 'machine'}{hosts}{kinds}"


def boxes_of(where: Allocation) -> list[Boxed]:
    """Return the boxes of every distinct node, or of the whole machine if the trees of nodes are unknown."""
    machine, names = where.machine, where.hosts
    nodes = int(machine.node_of_core()[-1]) + 1
    if machine.inventory is not None:
        trees: dict[bytes, tuple[NodeTree, list[int]]] = {}
        for node in range(nodes):
            tree = machine.inventory.tree(node)
            trees.setdefault(tree.identity(), (tree, []))[1].append(node)
        return [
            Boxed(
                _box(tree.units.astype(np.int64), tree.kinds, tree.os_pus), tree.gpus,
                tuple(names[node] for node in members) if names else (), len(members),
            )
            for tree, members in trees.values()
        ]  # fmt: skip
    if not machine.levels or machine.n_cores > MAX_BOXED:
        raise UnsupportedError(
            f"a picture of '{machine.spec()[:60]}' with {machine.n_cores} cores, expected named levels "
            f"and at most {MAX_BOXED} cores"
        )
    kinds = [level.name for level in machine.levels]
    units = np.column_stack([machine.ancestors(level).astype(np.int64) for level in range(len(kinds))])
    labels = None
    if nodes > 1:
        shown = names if len(names) == nodes else [str(node) for node in range(nodes)]
        labels = [shown[node] for node in machine.node_of_core().tolist()]
    return [Boxed(_box(units, kinds, np.arange(machine.n_cores, dtype=np.int64), labels), known=False)]


def every_node(where: Allocation) -> list[Boxed]:
    """Return the boxes of every node, or of the whole machine, whose numbers are leaves of the machine."""
    if where.machine.inventory is None:
        return boxes_of(where)
    boxes, first = [], 0
    for node in range(int(where.machine.node_of_core()[-1]) + 1):
        tree: NodeTree = where.machine.inventory.tree(node)
        leaves = np.arange(first, first + len(tree.os_pus), dtype=np.int64)
        first += len(leaves)
        name = where.hosts[node] if where.hosts else f"{node}"
        boxes.append(Boxed(_box(tree.units.astype(np.int64), tree.kinds, leaves), tree.gpus, (name,)))
    return boxes


def _box(
    units: Int64, kinds: Sequence[str], numbers: Int64, labels: Sequence[str] | None = None,
    rows: Int64 | None = None, column: int = 0,
) -> Box:
    """Return the box of some rows (leaves; all by default), whose kinds begin at `column`."""
    rows = np.arange(len(numbers)) if rows is None else rows
    own: list[str] = []
    inside: tuple[Box, ...] = ()
    for level in range(column, len(kinds)):
        values = units[rows, level]
        if (values == values[0]).all():
            own += [kinds[level]] if values[0] >= 0 else []
            continue
        # A row without this kind begins with the next one it has.
        first = level + np.argmax(units[rows, level:] >= 0, axis=1)
        keys = first * (int(units.max()) + 1) + units[rows, first]
        groups = np.split(rows, np.flatnonzero(np.diff(keys, prepend=-1))[1:])
        inside = tuple(_box(units, kinds, numbers, labels, group, level) for group in groups)
        break
    box = Box(tuple(own), tuple(numbers[rows].tolist()), inside)
    return dataclasses.replace(box, label=labels[int(rows[0])]) if labels is not None and box.is_node else box


def folded(box: Box, most: int = MOST_LEAVES) -> Box:
    """Return a box in which adjacent alike units are one, from the outside on, until few leaves are left."""
    if box.leaves <= most or not box.inside:
        return box
    runs = [_one_for(run) for run in _runs(box.inside)]
    if sum(one.leaves for one in runs) > most:
        runs = [folded(one, max(1, most // len(runs))) for one in runs]
    return dataclasses.replace(box, inside=tuple(runs))


def _one_for(run: list[Box]) -> Box:
    first, last = run[0], run[-1]
    if len(run) == 1:
        return first
    label = f"{first.label} … {last.label}" if first.label else ""
    if not first.inside and not label:
        label = f"{first.numbers[0]} … {last.numbers[-1]}"
    return dataclasses.replace(first, count=len(run), label=label)


def _runs(boxes: Sequence[Box]) -> list[list[Box]]:
    """Return groups of adjacent units of equal shape."""
    runs: list[list[Box]] = []
    for box in boxes:
        if runs and runs[-1][0].shape() == box.shape():
            runs[-1].append(box)
        else:
            runs.append([box])
    return runs


def drawing(boxed: Boxed) -> list[str]:
    """Return a node as indented lines; adjacent units of equal shape share a line with their number."""
    what = "GPU" if boxed.box.only_gpus else "PU"
    heading = dataclasses.replace(boxed, known=True).heading
    lines = [f"{heading}  {what} {_short(boxed.box.numbers)}", *_lines(boxed.box.inside, 1, what)]
    for gpu in boxed.gpus:
        near = f"  near PU {_short(gpu.pus)}" if gpu.pus else ""
        lines.append(f"  gpu {gpu.index} {gpu.name}{near}")
    return lines


def _lines(boxes: Sequence[Box], depth: int, what: str) -> Iterator[str]:
    for alike in _runs(boxes):
        count = f"{len(alike)} x " if len(alike) > 1 else ""
        numbers = [number for box in alike for number in box.numbers]
        yield f"{'  ' * depth}{count}{alike[0].name}  {what} {_short(numbers)}"
        yield from _lines(alike[0].inside, depth + 1, what)


def _short(numbers: Sequence[int]) -> str:
    text = format_list(numbers)
    return text if len(text) <= 48 else f"{text[:44].rpartition(',')[0]},…"
