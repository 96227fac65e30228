"""The marks of a picture (rectangles, lines, words, rasters), panels of them, their arrangement, colours."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from hopbytes._arrays import UInt8
from hopbytes._frozen import frozen

#: Width of a letter as a share of the size of its font, a little above the mean of DejaVu Sans.
LETTER = 0.61
#: Space around a framed picture.
MARGIN = 16.0
INK, GREY, PALE = "#24292f", "#57606a", "#d0d7de"
# All colours are on white, for people with colour blindness too, and printed in grey.
#: Anchors of the scale for amounts: their lightness falls evenly, so that order is seen without hue.
SCALE = ("#e3f1c9", "#a5d8b1", "#5cb4b2", "#2f86ad", "#2a5694", "#1d2a62")
#: Series of a chart: the launcher's own order, the mapping, further ones.
SERIES = ("#a9b4c0", "#1f6fb2", "#d9822b", "#2b8a6b", "#8e5ea2", "#5d4a3a", "#c2185b", "#3d9be0")
#: Pale fills for groups that lie beside each other, such as the nodes that ranks come from.
TINTS = (
    "#cfe3f5", "#fbe3c4", "#d3ecd9", "#f6d5dc", "#e4dbf2", "#f4efc0", "#d3eeee", "#ead9cd",
    "#dfe6ec", "#ffd9b8", "#c9e6b8", "#f2cfe6",
)  # fmt: skip
#: Pale anchors for an order of many groups.
RAINBOW = ("#f9d5c0", "#f6ebb5", "#cfe9c2", "#b5e0de", "#bcd5f4", "#d6caf0", "#f0c9e2")


@frozen
class Rectangle:
    """A rectangle; units of all marks are those of browsers, 96 per inch, from the top left corner."""

    left: float
    top: float
    width: float
    height: float
    fill: str = "none"
    stroke: str = "none"
    tip: str = ""
    rounded: float = 0.0


@frozen
class Line:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    colour: str = GREY
    width: float = 1.0
    tip: str = ""


@frozen
class Words:
    """A line of text on its base line; `anchor` is start, middle or end. `turned` text runs upwards."""

    left: float
    base: float
    text: str
    size: float = 11.0
    anchor: str = "start"
    colour: str = INK
    bold: bool = False
    turned: bool = False


@frozen(eq=False)
class Raster:
    """An image of equal cells with sharp borders; a cell is the number of its colour."""

    left: float
    top: float
    width: float
    height: float
    cells: UInt8
    colours: tuple[str, ...]
    see_through: bool = False  # colour 0 hides nothing


Mark: TypeAlias = Rectangle | Line | Words | Raster


@frozen
class Panel:
    """Marks inside a rectangle of this size whose top left corner is the origin."""

    width: float
    height: float
    marks: tuple[Mark, ...]


def moved(mark: Mark, right: float, down: float) -> Mark:
    """Return a mark at another position."""
    if isinstance(mark, Line):
        return dataclasses.replace(mark, points=tuple((x + right, y + down) for x, y in mark.points))
    if isinstance(mark, Words):
        return dataclasses.replace(mark, left=mark.left + right, base=mark.base + down)
    return dataclasses.replace(mark, left=mark.left + right, top=mark.top + down)


def beside(panels: Sequence[Panel], gap: float = 24.0) -> Panel:
    """Return panels side by side, aligned at the top."""
    marks: list[Mark] = []
    left = 0.0
    for panel in panels:
        marks += [moved(mark, left, 0) for mark in panel.marks]
        left += panel.width + gap
    return Panel(max(0.0, left - gap), max((panel.height for panel in panels), default=0), tuple(marks))


def below(panels: Sequence[Panel], gap: float = 20.0) -> Panel:
    """Return panels one below the other, aligned at the left."""
    marks: list[Mark] = []
    top = 0.0
    for panel in panels:
        marks += [moved(mark, 0, top) for mark in panel.marks]
        top += panel.height + gap
    return Panel(max((panel.width for panel in panels), default=0), max(0.0, top - gap), tuple(marks))


def in_rows(panels: Sequence[Panel], width: float = 1500.0, gap: float = 12.0) -> Panel:
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


def framed(panel: Panel, title: str = "") -> Panel:
    """Return a panel with a margin and, above it, a title."""
    head = 24.0 if title else 0.0
    marks = [moved(mark, MARGIN, MARGIN + head) for mark in panel.marks]
    words = [Words(MARGIN, MARGIN + 13, title, size=14, bold=True)] if title else []
    width = max(panel.width, width_of(title, 14 * 1.08)) + 2 * MARGIN
    return Panel(width, panel.height + head + 2 * MARGIN, (*words, *marks))


def sentence_panel(text: str, size: float = 11.0, colour: str = GREY) -> Panel:
    """Return a line of text as a panel."""
    return Panel(width_of(text, size), size * 1.4, (Words(0, 0.8 * size * 1.4, text, size, colour=colour),))


def legend(names: Sequence[str], top: float, colours: Sequence[str] = SERIES) -> list[Mark]:
    """Return a row of names, each behind a square of its colour."""
    marks: list[Mark] = []
    left = 0.0
    for row, name in enumerate(names):
        marks.append(Rectangle(left, top + 1, 12, 12, colours[row % len(colours)]))
        marks.append(Words(left + 18, top + 11, name))
        left += 18 + width_of(name, 11) + 22
    return marks


def colour_bar(width: float, *, only_darkest: bool = False) -> list[Mark]:
    """Return the scale of colours for amounts, from the lightest to the darkest, in a frame."""
    cells = np.full(255, 255, np.uint8) if only_darkest else np.arange(1, 256, dtype=np.uint8)
    frame = Rectangle(0, 16, width, 12, "none", PALE)
    return [Raster(0, 16, width, 12, cells[np.newaxis], scale_colours()), frame]


def width_of(text: str, size: float) -> float:
    """Return the width that a text takes at most, about."""
    return len(text) * LETTER * size


def cut(text: str, width: float, size: float) -> str:
    """Return a text that fits into a width, shortened in the middle where it has to be."""
    letters = int(width / (LETTER * size))
    if len(text) <= letters:
        return text
    if letters < 2:
        return ""
    tail = (letters - 1) // 2
    return f"{text[: letters - 1 - tail]}…{text[len(text) - tail :]}"


@lru_cache(maxsize=1)
def scale_colours() -> tuple[str, ...]:
    """Return the 256 colours of shades: white for nothing, then the lightest to the darkest."""
    return ("#ffffff", *(scaled(shade / 254) for shade in range(255)))


def scaled(part: float, anchors: Sequence[str] = SCALE) -> str:
    """Return the colour at a part, 0 to 1, of a scale."""
    position = min(1.0, max(0.0, part)) * (len(anchors) - 1)
    first = min(int(position), len(anchors) - 2)
    share = position - first
    pairs = zip(rgb(anchors[first]), rgb(anchors[first + 1]), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of ``#rrggbb``, 0 to 255 each."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
