"""The marks of a picture (rectangles, lines, words, rasters), panels of them, and how panels are arranged."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from hopbytes._arrays import UInt8
from hopbytes._frozen import frozen

#: Width of a letter as a share of the size of its font, a little above the mean of DejaVu Sans.
LETTER = 0.61
INK, GREY, PALE = "#24292f", "#57606a", "#d0d7de"


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
    """An image of equal cells with sharp borders; a cell is the number of its colour.

    `see_through` tells that colour 0 hides nothing.
    """

    left: float
    top: float
    width: float
    height: float
    cells: UInt8
    colours: tuple[str, ...]
    see_through: bool = False


Mark: TypeAlias = Rectangle | Line | Words | Raster


@frozen
class Panel:
    """Marks inside a rectangle of this size whose top left corner is the origin."""

    width: float
    height: float
    marks: tuple[Mark, ...]


def moved(mark: Mark, right: float, down: float) -> Mark:
    """Return a mark at another place."""
    if isinstance(mark, Line):
        return dataclasses.replace(mark, points=tuple((x + right, y + down) for x, y in mark.points))
    if isinstance(mark, Words):
        return dataclasses.replace(mark, left=mark.left + right, base=mark.base + down)
    return dataclasses.replace(mark, left=mark.left + right, top=mark.top + down)


def beside(panels: Sequence[Panel], gap: float = 24.0) -> Panel:
    """Return panels side by side, aligned at the top.

    >>> beside([Panel(10, 20, ()), Panel(30, 5, ())], gap=4)
    Panel(width=44.0, height=20, marks=())
    """
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


def framed(panel: Panel, title: str = "", margin: float = 16.0) -> Panel:
    """Return a panel with a margin and, above it, a title."""
    head = 24.0 if title else 0.0
    marks = [moved(mark, margin, margin + head) for mark in panel.marks]
    words = [Words(margin, margin + 13, title, size=14, bold=True)] if title else []
    width = max(panel.width, width_of(title, 14 * 1.08)) + 2 * margin
    return Panel(width, panel.height + head + 2 * margin, (*words, *marks))


def paragraph(lines: Iterable[str], size: float = 11.0, colour: str = GREY) -> Panel:
    """Return lines of text as a panel."""
    texts = list(lines)
    steps = [(place + 0.8) * size * 1.4 for place in range(len(texts))]
    marks = [Words(0, step, text, size, colour=colour) for step, text in zip(steps, texts, strict=True)]
    width = max((width_of(text, size) for text in texts), default=0.0)
    return Panel(width, len(texts) * size * 1.4, tuple(marks))


def width_of(text: str, size: float) -> float:
    """Return the width that a text takes at most, about.

    >>> round(width_of("rank", 10), 1)
    24.4
    """
    return len(text) * LETTER * size


def cut(text: str, width: float, size: float) -> str:
    """Return a text that fits into a width, shortened in the middle where it has to be.

    >>> cut("compute-node-0017", 60, 10), cut("n1", 60, 10), cut("n1", 3, 10)
    ('comp…0017', 'n1', '')
    """
    letters = int(width / (LETTER * size))
    if len(text) <= letters:
        return text
    if letters < 2:
        return ""
    tail = (letters - 1) // 2
    return f"{text[: letters - 1 - tail]}…{text[len(text) - tail :]}"
