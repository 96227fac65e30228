"""Layout of the boxes of a picture: sizes in inches, rows of equal length, GPUs inside their units."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hopbytes._frozen import frozen
from hopbytes.machines.node.node_tree import Gpu
from hopbytes.pictures.boxes import Box

GAP, HEADER, LEAF_WIDTH, LEAF_HEIGHT = 0.09, 0.26, 0.46, 0.28
#: Width of a letter of a box's name.
LETTER = 0.078
#: Width over height that a box with boxes inside should have.
WIDE = 1.8
#: Weight of empty places in a grid relative to a shape that is too long.
EMPTY = 4.0
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


@frozen
class _Plan:
    """A box with its size and the relative positions of the boxes inside."""

    box: Box
    width: float
    height: float
    inside: tuple[tuple[float, float, _Plan], ...] = ()
    gpus: tuple[tuple[float, float, float, str], ...] = ()  # left, top, width, name


def layout(box: Box, gpus: Sequence[Gpu], left: float = 0.0, top: float = 0.0) -> list[Placed]:
    """Return the rectangles of a box, outer ones before those inside.

    Every box gets the number of columns that leaves few places empty and brings width / height near `WIDE`.
    O(boxes x columns tried).
    """
    placed: list[Placed] = []
    _put(_plan(box, list(gpus)), left, top, placed)
    return placed


def _plan(box: Box, gpus: list[Gpu]) -> _Plan:
    if not box.inside and not gpus:
        label = max(LEAF_WIDTH, 2 * GAP + LETTER * len(leaf_label(box)))
        return _Plan(box, label, LEAF_HEIGHT)
    own, plans = list(gpus), []
    for inner in box.inside:
        numbers = set(inner.numbers)
        hanging = [gpu for gpu in own if gpu.pus and numbers.issuperset(gpu.pus) and inner.inside]
        own = [gpu for gpu in own if gpu not in hanging]
        plans.append(_plan(inner, hanging))
    if not box.inside:  # a core by itself with a GPU
        plans = [_plan(Box(("pu",), box.numbers), [])]
    tried = range(1, min(len(plans), MOST_COLUMNS) + 1)
    grids = [_grid(plans, columns) for columns in tried]
    grid = min(grids, key=lambda one: one.worse)
    width = max(grid.width, LETTER * len(box.title) + GAP)
    chips, height = _gpu_rows(own, width, HEADER + grid.height)
    return _Plan(box, width + 2 * GAP, height + GAP, grid.places, chips)


@frozen
class _Grid:
    width: float
    height: float
    worse: float
    places: tuple[tuple[float, float, _Plan], ...]


def _grid(plans: list[_Plan], columns: int) -> _Grid:
    widths = [max(plan.width for plan in plans[column::columns]) for column in range(columns)]
    rows = [plans[first : first + columns] for first in range(0, len(plans), columns)]
    heights = [max(plan.height for plan in row) for row in rows]
    width, height = sum(widths) + GAP * (columns - 1), sum(heights) + GAP * (len(rows) - 1)
    places, top = [], HEADER
    for row, row_height in zip(rows, heights, strict=True):
        left = GAP
        for plan, column_width in zip(row, widths, strict=False):
            stretched = dataclasses.replace(plan, width=column_width, height=row_height)
            places.append((left, top, stretched))
            left += column_width + GAP
        top += row_height + GAP
    filled = sum(plan.width * plan.height for plan in plans)
    shape = (width + 2 * GAP) / (height + HEADER + GAP) / WIDE
    worse = max(shape, 1 / shape) + EMPTY * (1 - filled / (width * height))
    return _Grid(width, height, worse, tuple(places))


def _gpu_rows(
    gpus: list[Gpu], width: float, top: float
) -> tuple[tuple[tuple[float, float, float, str], ...], float]:
    """Return rows of GPUs below the contents of a box, and the height with them."""
    if not gpus:
        return (), top
    labels = [f"GPU {gpu.index} {gpu.name}".rstrip() for gpu in gpus]
    each = max(LETTER * len(label) + GAP for label in labels)
    columns = max(1, min(len(gpus), int((width + GAP) / (each + GAP))))
    columns = -(-len(gpus) // -(-len(gpus) // columns))  # rows of equal length
    each = min(each * 1.5, (width - GAP * (columns - 1)) / columns)
    chips = []
    for number, label in enumerate(labels):
        row, column = divmod(number, columns)
        chips.append((GAP + column * (each + GAP), top + GAP + row * (LEAF_HEIGHT + GAP), each, label))
    return tuple(chips), chips[-1][1] + LEAF_HEIGHT


def _put(plan: _Plan, left: float, top: float, placed: list[Placed]) -> None:
    kind = next(iter(sorted_kinds(plan.box)), "node")
    leaf = not plan.inside
    label = leaf_label(plan.box) if leaf else plan.box.title
    placed.append(Placed(left, top, plan.width, plan.height, label, kind, leaf))
    for x, y, inner in plan.inside:
        _put(inner, left + x, top + y, placed)
    for x, y, width, name in plan.gpus:
        placed.append(Placed(left + x, top + y, width, LEAF_HEIGHT, name, "", True))


def sorted_kinds(box: Box) -> list[str]:
    """Return the kinds of a box; the first one is its name."""
    best = box.name.split(" (")[0]
    return [best, *(kind for kind in box.kinds if kind != best)]


def leaf_label(box: Box) -> str:
    """Return the numbers of the places in a leaf, or the name of the node that it is."""
    if box.count > 1:
        return box.title
    return box.label or "/".join(map(str, box.numbers))
