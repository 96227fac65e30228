"""Machines as nested boxes: cores by number, or by the ranks that a mapping puts on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.machines.base import NODE_NAMES
from hopbytes.machines.node.hardware_kinds import base_kind
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.box_layout import GAP, HEADER, LETTER, Placed, layout
from hopbytes.pictures.boxes import MOST_PLACES, Box, Boxed, boxes_of, every_node, folded
from hopbytes.pictures.canvas.marks import (
    GREY,
    INK,
    Mark,
    Panel,
    Rectangle,
    Words,
    below,
    beside,
    cut,
    paragraph,
)
from hopbytes.pictures.canvas.palette import RAINBOW, TINTS, between
from hopbytes.text.cpu_lists import format_list

#: Kinds of nodes that are drawn, and places of a mapping that are drawn one by one.
MAX_NODES_DRAWN, MOST_RANKS = 4, 4096
#: Units per inch of the layout.
PER_INCH = 96
#: Fill colour of each kind; outer kinds are paler.
FILLS = {
    "package": "#f4f1ea", "die": "#efe6d5", "numa": "#e6efe2", "group": "#eeeeee", "l3": "#dde8f2",
    "l2": "#d0ddeb", "core": "#c2cfe0", "pu": "#b3c0d4", "": "#f2d9a8",
}  # fmt: skip
OTHER_FILL, BORDER, EMPTY = "#fafafa", "#6e7781", "#ffffff"
#: Letters of the ranks of a node that is a small box.
LONGEST_LIST = 24
#: Width of a row of nodes.
ROW_WIDTH = 1500.0

Text = Callable[[Box], tuple[str, str]]


def boxes_panel(where: Allocation) -> Panel:
    """Draw the distinct nodes of a machine, or the whole machine; alike units are folded in large ones."""
    drawn = boxes_of(where)
    panels = []
    for boxed in drawn[:MAX_NODES_DRAWN]:
        small = dataclasses.replace(boxed, box=folded(boxed.box))
        panels.append(_boxes(small, _heading(small), None))
    folds = any(boxed.box.places > MOST_PLACES for boxed in drawn)
    return below([beside(panels, 14), paragraph([_legend(drawn, folds=folds)])], 8)


def ranks_panel(mapping: Mapping) -> Panel:
    """Draw the machine of a mapping with the numbers of the ranks on its cores.

    A colour stands for the node on which a rank would run if the launcher filled the nodes in order, so that
    colours show what the mapping moved together. Machines with more than `MOST_RANKS` places are drawn as one
    box per node.
    """
    words = _rank_words(mapping)
    where = mapping.where
    told = "numbers: ranks; colour: the node that a rank has when nodes are filled in order; white: unused"
    if where.machine.n_cores > MOST_RANKS:
        return below([_node_boxes(mapping), paragraph([told])], 8)
    panels = [_boxes(boxed, _heading(boxed), words) for boxed in every_node(where)]
    return below([in_rows(panels), paragraph([told])], 8)


def in_rows(panels: Sequence[Panel], width: float = ROW_WIDTH, gap: float = 12.0) -> Panel:
    """Return panels in rows that are not much wider than a width."""
    rows: list[list[Panel]] = [[]]
    left = 0.0
    for panel in panels:
        if rows[-1] and left + panel.width > width:
            rows.append([])
            left = 0.0
        rows[-1].append(panel)
        left += panel.width + gap
    return below([beside(row, gap) for row in rows], gap)


def home_nodes(mapping: Mapping) -> Int64:
    """Return int64[n]: the node of every rank when the launcher fills the nodes in order, counted from 0."""
    where, n = mapping.where, mapping.n
    if n <= where.k and int(mapping.tasks_per_pe().max(initial=0)) <= 1:
        pe = launcher_placement(where, n, "fill").pe
    else:
        pe = np.sort(mapping.pe)
    return np.unique(where.node_of_pe[pe], return_inverse=True)[1].reshape(-1).astype(np.int64)


def ranks_in_words(ranks: Sequence[int], letters: int = 9) -> str:
    """Return ranks as a list with ranges, or only their number if that is too long.

    >>> ranks_in_words([4, 5, 6, 9]), ranks_in_words(range(0, 60, 2))
    ('4-6,9', '30 ranks')
    """
    text = format_list(sorted(ranks))
    return text if len(text) <= letters else f"{len(ranks)} ranks"


def tint(node: int, nodes: int) -> str:
    """Return the colour of a node of the original order; among many, neighbours have similar colours."""
    if nodes <= len(TINTS):
        return TINTS[node]
    place = node / (nodes - 1) * (len(RAINBOW) - 1)
    first = min(int(place), len(RAINBOW) - 2)
    return between(RAINBOW[first], RAINBOW[first + 1], place - first)


def _rank_words(mapping: Mapping) -> Text:
    """Return what says the ranks on the places of a leaf, and their colour."""
    where, home = mapping.where, home_nodes(mapping)
    nodes = int(home.max(initial=0)) + 1
    pe_of_place = np.full(where.machine.n_cores, -1, np.int64)
    pe_of_place[where.cores] = np.repeat(np.arange(where.k), np.diff(where.core_start))
    order = np.argsort(mapping.pe, kind="stable")
    start = np.searchsorted(mapping.pe[order], np.arange(where.k + 1))

    def words(box: Box) -> tuple[str, str]:
        pes = {int(pe_of_place[place]) for place in box.numbers} - {-1}
        ranks = [int(rank) for pe in sorted(pes) for rank in order[start[pe] : start[pe + 1]]]
        if not ranks:
            return "", EMPTY
        return ranks_in_words(ranks), tint(int(home[ranks[0]]), nodes)

    return words


def _boxes(boxed: Boxed, heading: str, words: Text | None) -> Panel:
    """Return a node as boxes; the first, outermost one has a heading."""
    box, fills = boxed.box, dict[int, str]()
    if words is not None:
        box, fills = _with_words(box, words)
    outer, *inner = layout(box, boxed.gpus)
    placed = [dataclasses.replace(outer, label=heading) if not outer.leaf or words is None else outer, *inner]
    marks: list[Mark] = []
    for number, one in enumerate(placed):
        marks += _marks(one, fills.get(number))
    width = max(outer.width, LETTER * len(heading) + GAP) * PER_INCH
    return Panel(width + 1, outer.height * PER_INCH + 1, tuple(marks))


def _with_words(box: Box, words: Text) -> tuple[Box, dict[int, str]]:
    """Return a box whose leaves have the words as labels, and colours by the number of the placed box."""
    fills: dict[int, str] = {}
    counter = [0]

    def relabelled(one: Box) -> Box:
        number = counter[0]
        counter[0] += 1
        if one.inside and not _is_one_place(one, words):
            return dataclasses.replace(one, inside=tuple(relabelled(inner) for inner in one.inside))
        text, fills[number] = words(one)
        if one.label and any(kind in NODE_NAMES for kind in one.kinds):
            text = f"{one.label}: {text}"
        return dataclasses.replace(one, inside=(), label=text or " ")

    return relabelled(box), fills


def _is_one_place(box: Box, words: Text) -> bool:
    """Tell whether all hardware threads of a core have the same ranks: they are drawn as one."""
    threads = all("pu" in inner.kinds and not inner.inside for inner in box.inside)
    return threads and len({words(inner) for inner in box.inside}) == 1


def _marks(one: Placed, fill: str | None) -> list[Mark]:
    colour = fill or FILLS.get(base_kind(one.kind), OTHER_FILL)
    left, top = one.left * PER_INCH + 0.5, one.top * PER_INCH + 0.5
    width, height = one.width * PER_INCH, one.height * PER_INCH
    marks: list[Mark] = [Rectangle(left, top, width, height, colour, BORDER, rounded=2.0)]
    if one.leaf:
        marks.append(Words(left + width / 2, top + height / 2 + 4, one.label, anchor="middle"))
    elif one.label:
        marks.append(Words(left + GAP * PER_INCH, top + HEADER * PER_INCH / 2 + 4, one.label, colour=INK))
    return marks


def _node_boxes(mapping: Mapping) -> Panel:
    """Return a small box per node in use with its name and its ranks."""
    where, home = mapping.where, home_nodes(mapping)
    node = where.node_of_pe[mapping.pe]
    order = np.argsort(node, kind="stable")
    used, start = np.unique(node[order], return_index=True)
    panels = []
    for each, ranks in zip(used.tolist(), np.split(order, start[1:]), strict=True):
        name = where.hosts[each] if where.hosts else f"node {each}"
        homes, counts = np.unique(home[ranks], return_counts=True)
        colour = tint(int(homes[counts.argmax()]), int(home.max()) + 1)
        said = format_list(sorted(ranks.tolist()))
        said = said if len(said) <= LONGEST_LIST else said[: LONGEST_LIST - 1].rpartition(",")[0] + ",…"
        tip = f"{name}: ranks {format_list(sorted(ranks.tolist()))}"
        marks: tuple[Mark, ...] = (
            Rectangle(0.5, 0.5, 158, 34, colour, BORDER, tip, 2.0),
            Words(6, 14, cut(name, 150, 11), bold=True), Words(6, 28, said, 10, colour=GREY),
        )  # fmt: skip
        panels.append(Panel(159, 35, marks))
    return in_rows(panels, gap=6.0)


def _heading(boxed: Boxed) -> str:
    count = f"{boxed.count} x " if boxed.count > 1 else ""
    hosts = f" {', '.join(boxed.hosts[:3])}{', …' if len(boxed.hosts) > 3 else ''}" if boxed.hosts else ""
    kinds = f" ({', '.join(boxed.box.kinds)})" if boxed.box.kinds else ""
    return f"{count}{'node' if boxed.known else 'machine'}{hosts}{kinds}"


def _legend(drawn: Sequence[Boxed], *, folds: bool) -> str:
    more = len(drawn) - MAX_NODES_DRAWN
    known = any(boxed.known for boxed in drawn)
    nodes = not known and all(not boxed.box.inside or boxed.box.of_nodes for boxed in drawn)
    what = "nodes" if nodes else "cores"
    numbers = "hardware threads as the operating system numbers them" if known else f"{what} in machine order"
    if known and all(boxed.box.tells_only_gpus for boxed in drawn):
        numbers = "GPUs of their node"
    fold = "; of alike units, the first is drawn" if folds else ""
    return f"numbers: {numbers}{fold}" + (f"; {more} more kinds of nodes" if more > 0 else "")
