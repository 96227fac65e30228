"""Machines as nested boxes: cores by number, or by the ranks that a mapping puts on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.machines.node.hardware_kinds import base_kind
from hopbytes.machines.node.node_tree import Gpu
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.show.boxes import MOST_LEAVES, Box, Boxed, boxes_of, every_node, folded
from hopbytes.show.marks import (
    GREY,
    RAINBOW,
    TINTS,
    Mark,
    Panel,
    Rectangle,
    Words,
    below,
    beside,
    cut,
    in_rows,
    scaled,
    sentence_panel,
)
from hopbytes.show.names import node_name
from hopbytes.text.cpu_lists import format_list

#: Kinds of nodes that are drawn, and leaves under a mapping that are drawn one by one.
MAX_NODES_DRAWN, MOST_RANKS = 4, 4096
#: Fill colour of each kind; outer kinds are paler, and the empty one is that of GPUs.
FILLS = {
    "package": "#f4f1ea", "die": "#efe6d5", "numa": "#e6efe2", "group": "#eeeeee", "l3": "#dde8f2",
    "l2": "#d0ddeb", "core": "#c2cfe0", "pu": "#b3c0d4", "": "#f2d9a8",
}  # fmt: skip
OTHER_FILL, BORDER, EMPTY = "#fafafa", "#6e7781", "#ffffff"
#: Letters of the ranks of a core, and of a node that is a small box.
SHORT_LIST, LONGEST_LIST = 9, 24
RANKS_LEGEND = (
    "numbers: ranks; colour: the node that a rank has when nodes are filled in order; white: unused"
)

#: Returns the ranks on the leaves of a box as words, and their colour.
Text = Callable[[Box], tuple[str, str]]


def boxes_panel(where: Allocation) -> Panel:
    """Draw the distinct nodes of a machine, or the whole machine; alike units are folded in large ones."""
    boxes = boxes_of(where)
    panels = [_node(dataclasses.replace(boxed, box=folded(boxed.box))) for boxed in boxes[:MAX_NODES_DRAWN]]
    return below([beside(panels, 14), sentence_panel(_legend(boxes))], 8)


def _legend(boxes: Sequence[Boxed]) -> str:
    known = any(boxed.known for boxed in boxes)
    nodes = not known and all(not boxed.box.inside or boxed.box.of_nodes for boxed in boxes)
    numbers = f"{'nodes' if nodes else 'cores'} in machine order"
    if known:
        numbers = "hardware threads as the operating system numbers them"
        if all(boxed.box.only_gpus for boxed in boxes):
            numbers = "GPUs of their node"
    folds = any(boxed.box.leaves > MOST_LEAVES for boxed in boxes)
    fold = "; of alike units, the first is drawn" if folds else ""
    more = len(boxes) - MAX_NODES_DRAWN
    return f"numbers: {numbers}{fold}" + (f"; {more} more kinds of nodes" if more > 0 else "")


def ranks_panel(mapping: Mapping) -> Panel:
    """Draw the machine of a mapping with ranks on its cores; above `MOST_RANKS` leaves, a box per node."""
    if mapping.where.machine.n_cores > MOST_RANKS:
        panel = _small_nodes(mapping)
    else:
        text = _rank_text(mapping)
        panel = in_rows([_node(_with_ranks(boxed, text), ranks=True) for boxed in every_node(mapping.where)])
    return below([panel, sentence_panel(RANKS_LEGEND)], 8)


def home_nodes(mapping: Mapping) -> Int64:
    """Return int64[n]: the node of every rank when the launcher fills the nodes in order, counted from 0."""
    where, n = mapping.where, mapping.n
    if n <= where.k and int(mapping.tasks_per_pe().max(initial=0)) <= 1:
        pe = launcher_placement(where, n, "fill").pe
    else:
        pe = np.sort(mapping.pe)
    return np.unique(where.node_of_pe[pe], return_inverse=True)[1].reshape(-1).astype(np.int64)


def ranks_of_nodes(mapping: Mapping) -> list[tuple[int, Int64]]:
    """Return every node in use with its ranks, both ascending."""
    node = np.asarray(mapping.where.node_of_pe)[mapping.pe]
    order = np.argsort(node, kind="stable")
    used, start = np.unique(node[order], return_index=True)
    return list(zip(used.tolist(), np.split(order, start[1:]), strict=False))


def node_colours(mapping: Mapping) -> dict[int, str]:
    """Return the colour of every node in use: that of the node from which most of its ranks come."""
    home = home_nodes(mapping)
    nodes = int(home.max(initial=0)) + 1
    return {node: _tint(int(np.bincount(home[own]).argmax()), nodes) for node, own in ranks_of_nodes(mapping)}


def _tint(node: int, nodes: int) -> str:
    """Return the colour of a node of the original order; among many, neighbours have similar colours."""
    return TINTS[node] if nodes <= len(TINTS) else scaled(node / (nodes - 1), RAINBOW)


def _rank_text(mapping: Mapping) -> Text:
    where, home = mapping.where, home_nodes(mapping)
    nodes = int(home.max(initial=0)) + 1
    pe_of_leaf = np.full(where.machine.n_cores, -1, np.int64)
    pe_of_leaf[where.cores] = np.repeat(np.arange(where.k), np.diff(where.core_start))
    order = np.argsort(mapping.pe, kind="stable")
    start = np.searchsorted(mapping.pe[order], np.arange(where.k + 1))

    def text(box: Box) -> tuple[str, str]:
        pes = {int(pe_of_leaf[leaf]) for leaf in box.numbers} - {-1}
        ranks = [int(rank) for pe in sorted(pes) for rank in order[start[pe] : start[pe + 1]]]
        if not ranks:
            return "", EMPTY
        words = format_list(ranks)
        words = words if len(words) <= SHORT_LIST else f"{len(ranks)} ranks"
        return words, _tint(int(home[ranks[0]]), nodes)

    return text


def _with_ranks(boxed: Boxed, text: Text) -> Boxed:
    """Return a node whose leaves have ranks as labels, and their colours."""

    def relabelled(box: Box) -> Box:
        # Hardware threads of a core that have the same ranks are drawn as one.
        threads = all("pu" in inner.kinds and not inner.inside for inner in box.inside)
        if box.inside and not (threads and len(set(map(text, box.inside))) == 1):
            return dataclasses.replace(box, inside=tuple(map(relabelled, box.inside)))
        words, fill = text(box)
        if box.label and box.is_node:
            words = f"{box.label}: {words}"
        return dataclasses.replace(box, inside=(), label=words or " ", fill=fill)

    return dataclasses.replace(boxed, box=relabelled(boxed.box))


def _small_nodes(mapping: Mapping) -> Panel:
    """Return a small box per node in use with its name and its ranks."""
    colours, panels = node_colours(mapping), []
    for node, ranks in ranks_of_nodes(mapping):
        name, every = node_name(mapping.where, node), format_list(ranks.tolist())
        shown = every if len(every) <= LONGEST_LIST else every[: LONGEST_LIST - 1].rpartition(",")[0] + ",…"
        marks: tuple[Mark, ...] = (
            Rectangle(0.5, 0.5, 158, 34, colours[node], BORDER, f"{name}: ranks {every}", 2.0),
            Words(6, 14, cut(name, 150, 11), bold=True), Words(6, 28, shown, 10, colour=GREY),
        )  # fmt: skip
        panels.append(Panel(159, 35, marks))
    return in_rows(panels, gap=6.0)


# Layout of boxes in inches: rows of equal length, GPUs inside their units

PER_INCH = 96
GAP, HEADER, LEAF_WIDTH, LEAF_HEIGHT = 0.09, 0.26, 0.46, 0.28
#: Width of a letter of a box's name.
LETTER = 0.078
#: Width over height that a box with boxes inside should have, and how bad empty positions are beside that.
WIDE, EMPTY_WEIGHT = 1.8, 4.0
MOST_COLUMNS = 32


@frozen
class Placed:
    """A rectangle to draw, measured from the top left corner; an empty `kind` is a GPU's.

    `label` is in the middle of leaves and GPUs, and above the contents of other boxes.
    """

    left: float
    top: float
    width: float
    height: float
    label: str
    kind: str
    leaf: bool
    fill: str = ""

    def marks(self) -> list[Mark]:
        left, top = self.left * PER_INCH + 0.5, self.top * PER_INCH + 0.5
        width, height = self.width * PER_INCH, self.height * PER_INCH
        fill = self.fill or FILLS.get(base_kind(self.kind), OTHER_FILL)
        marks: list[Mark] = [Rectangle(left, top, width, height, fill, BORDER, rounded=2.0)]
        if self.leaf:
            marks.append(Words(left + width / 2, top + height / 2 + 4, self.label, anchor="middle"))
        elif self.label:
            marks.append(Words(left + GAP * PER_INCH, top + HEADER * PER_INCH / 2 + 4, self.label))
        return marks


@frozen
class _Plan:
    """A box with its size and the relative positions of the boxes and GPUs inside."""

    box: Box
    width: float
    height: float
    inside: tuple[tuple[float, float, _Plan], ...] = ()
    gpus: tuple[tuple[float, float, float, str], ...] = ()  # left, top, width, name
    empty: float = 0.0  # how bad its shape and its empty positions are


def _node(boxed: Boxed, *, ranks: bool = False) -> Panel:
    """Return a node as boxes, of which the outermost has a heading, but not a leaf that shows ranks."""
    outer, *inner = layout(boxed.box, boxed.gpus)
    if not (ranks and outer.leaf):
        outer = dataclasses.replace(outer, label=boxed.heading)
    marks = [mark for placed in (outer, *inner) for mark in placed.marks()]
    width = max(outer.width, LETTER * len(boxed.heading) + GAP) * PER_INCH
    return Panel(width + 1, outer.height * PER_INCH + 1, tuple(marks))


def layout(box: Box, gpus: Sequence[Gpu]) -> list[Placed]:
    """Return the rectangles of a box, outer ones before those inside."""
    placed: list[Placed] = []

    def put(plan: _Plan, left: float, top: float) -> None:
        leaf, box = not plan.inside, plan.box
        label = _leaf_label(box) if leaf else box.title
        placed.append(Placed(left, top, plan.width, plan.height, label, box.kind, leaf, box.fill))
        for x, y, inner in plan.inside:
            put(inner, left + x, top + y)
        for x, y, width, name in plan.gpus:
            placed.append(Placed(left + x, top + y, width, LEAF_HEIGHT, name, "", leaf=True))

    put(_plan(box, list(gpus)), 0.0, 0.0)
    return placed


def _leaf_label(box: Box) -> str:
    """Return the numbers in a leaf, or the name of the node that it is."""
    return box.title if box.count > 1 else box.label or "/".join(map(str, box.numbers))


def _plan(box: Box, gpus: list[Gpu]) -> _Plan:
    if not box.inside and not gpus:
        return _Plan(box, max(LEAF_WIDTH, 2 * GAP + LETTER * len(_leaf_label(box))), LEAF_HEIGHT)
    own, plans = gpus, []
    for inner in box.inside:
        hanging = [gpu for gpu in own if gpu.pus and inner.inside and set(gpu.pus) <= set(inner.numbers)]
        own = [gpu for gpu in own if gpu not in hanging]
        plans.append(_plan(inner, hanging))
    if not box.inside:  # a core by itself with a GPU
        plans = [_plan(Box(("pu",), box.numbers), [])]
    grids = [_grid(box, plans, columns) for columns in range(1, min(len(plans), MOST_COLUMNS) + 1)]
    grid = min(grids, key=lambda one: one.empty)
    width = max(grid.width, LETTER * len(box.title) + GAP)
    chips, height = _gpu_rows(own, width, HEADER + grid.height)
    return dataclasses.replace(grid, width=width + 2 * GAP, height=height + GAP, gpus=chips)


def _grid(box: Box, plans: list[_Plan], columns: int) -> _Plan:
    """Return the contents of a box in a number of columns, without header and margins."""
    widths = [max(plan.width for plan in plans[column::columns]) for column in range(columns)]
    rows = [plans[first : first + columns] for first in range(0, len(plans), columns)]
    heights = [max(plan.height for plan in row) for row in rows]
    width, height = sum(widths) + GAP * (columns - 1), sum(heights) + GAP * (len(rows) - 1)
    inside, top = [], HEADER
    for row, row_height in zip(rows, heights, strict=True):
        left = GAP
        for plan, column_width in zip(row, widths, strict=False):
            inside.append((left, top, dataclasses.replace(plan, width=column_width, height=row_height)))
            left += column_width + GAP
        top += row_height + GAP
    filled = sum(plan.width * plan.height for plan in plans)
    shape = (width + 2 * GAP) / (height + HEADER + GAP) / WIDE
    empty = max(shape, 1 / shape) + EMPTY_WEIGHT * (1 - filled / (width * height))
    return _Plan(box, width, height, tuple(inside), empty=empty)


def _gpu_rows(
    gpus: list[Gpu], width: float, top: float
) -> tuple[tuple[tuple[float, float, float, str], ...], float]:
    """Return rows of GPUs below the contents of a box, and the height with them."""
    if not gpus:
        return (), top
    labels = [f"GPU {gpu.index} {gpu.name}".rstrip() for gpu in gpus]
    wide = max(LETTER * len(label) + GAP for label in labels)
    columns = max(1, min(len(gpus), int((width + GAP) / (wide + GAP))))
    columns = -(-len(gpus) // -(-len(gpus) // columns))  # rows of equal length
    wide = min(wide * 1.5, (width - GAP * (columns - 1)) / columns)
    chips = []
    for index, label in enumerate(labels):
        row, column = divmod(index, columns)
        chips.append((GAP + column * (wide + GAP), top + GAP + row * (LEAF_HEIGHT + GAP), wide, label))
    return tuple(chips), chips[-1][1] + LEAF_HEIGHT
