"""Bars: bytes per level for several mappings, and histograms of hops and of link loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from hopbytes.pictures.canvas.marks import GREY, INK, PALE, Line, Mark, Panel, Rectangle, Words, width_of
from hopbytes.pictures.canvas.palette import SERIES
from hopbytes.pictures.figures.level_bytes import HopHistogram, LevelBytes
from hopbytes.pictures.figures.link_loads import LoadHistogram
from hopbytes.util.quantities import amount, number

THICK, GAP = 15.0, 12.0


def level_panel(levels: LevelBytes, title: str = "", *, unit: str = "B", width: float = 840.0) -> Panel:
    """Draw the volume per level: a group of bars for every level, a bar for every mapping.

    Levels without traffic under all mappings are left out. Behind the last bar of a group stands its change
    against the first mapping.
    """
    shown = [place for place in range(len(levels.levels)) if levels.volumes[:, place].any()]
    rows = [(levels.labels[place], levels.volumes[:, place].tolist()) for place in shown]
    return bar_panel(rows, levels.mappings, title, said=partial(amount, unit=unit), width=width)


def hop_panel(hops: HopHistogram, title: str = "", *, unit: str = "B", width: float = 840.0) -> Panel:
    """Draw the volume by number of hops: a group of bars for every number, a bar for every mapping."""
    rows = [
        (_hops_in_words(each), hops.volumes[:, place].tolist())
        for place, each in enumerate(hops.hops.tolist())
        if hops.volumes[:, place].any()
    ]
    return bar_panel(rows, hops.mappings, title, said=partial(amount, unit=unit), width=width)


def _hops_in_words(hops: int) -> str:
    return "inside nodes" if hops == 0 else f"{hops} link" + "s" * (hops > 1)


def bar_panel(
    rows: Sequence[tuple[str, Sequence[float]]], names: Sequence[str], title: str = "", *,
    said: Callable[[float], str], width: float = 840.0,
) -> Panel:
    """Draw a group of lying bars for every row, a bar for every name; `said` writes a value for people."""
    top = 22.0 if title else 0.0
    marks: list[Mark] = [Words(0, 12, title, size=12, bold=True)] if title else []
    marks += legend(names, top)
    top += 22.0
    left = max((width_of(label, 11) for label, _ in rows), default=0.0) + 10
    room = width - left - 190  # behind the bars: the amount and the change
    most = max((value for _, values in rows for value in values), default=0) or 1
    foot = top
    for label, values in rows:
        height = THICK * len(values)
        marks.append(Words(left - 10, foot + height / 2 + 4, label, anchor="end"))
        for place, value in enumerate(values):
            line = foot + place * THICK
            long = room * value / most
            tip = f"{names[place]}: {said(value)} {label}"
            marks.append(Rectangle(left, line, long, THICK - 2, SERIES[place % len(SERIES)], tip=tip))
            text = said(value) + (_change(values[0], value) if place else "")
            colour = INK if place else GREY
            marks.append(Words(left + long + 6, line + THICK - 4.5, text, 10, colour=colour))
        foot += height + GAP
    if not rows:
        marks.append(Words(0, top + 12, "nothing is sent", colour=GREY))
        foot = top + 20
    else:
        marks.append(Line(((left, top - 4), (left, foot - GAP + 2)), GREY, 0.8))
    return Panel(width, foot, tuple(marks))


def legend(names: Sequence[str], top: float, colours: Sequence[str] = SERIES) -> list[Mark]:
    """Return a row of names, each behind a square of its colour."""
    marks: list[Mark] = []
    left = 0.0
    for place, name in enumerate(names):
        marks.append(Rectangle(left, top + 1, 12, 12, colours[place % len(colours)]))
        marks.append(Words(left + 18, top + 11, name, 11))
        left += 18 + width_of(name, 11) + 22
    return marks


def _change(base: float, value: float) -> str:
    """Return a change in per cent in words; empty where there is none to speak of.

    >>> _change(200, 100), _change(100, 350), _change(0, 5), _change(5, 5)
    (' (50 % less)', ' (3.5 times)', '', '')
    """
    if not base or abs(value / base - 1) < 0.0005:
        return ""
    if not value:
        return " (all of it less)"
    if value >= 2 * base:
        return f" ({value / base:.3g} times)"
    share = 100 * abs(value / base - 1)
    digits = f"{share:.0f}" if share >= 9.95 else f"{share:.1f}"
    return f" ({digits} % {'less' if value < base else 'more'})"


def load_panel(
    histogram: LoadHistogram, names: Sequence[str], title: str = "", *, width: float = 840.0,
    capacity: int | None = None, said: Callable[[float], str] = number, what: str = "",
) -> Panel:
    """Draw how many links are how congested: bins from left to right, a bar for every mapping.

    With the `capacity` that all links have, the axis is in bytes; otherwise `said` writes its values, and
    `what` says what they are.
    """
    top = 22.0 if title else 0.0
    marks: list[Mark] = [Words(0, 12, title, size=12, bold=True)] if title else []
    counts = histogram.idle.tolist()
    idle = [f"{name} ({count:,} links idle)" for name, count in zip(names, counts, strict=True)]
    marks += legend(idle, top)
    top += 26.0
    height, left, bins, series = 150.0, 56.0, histogram.counts.shape[1], len(names)
    most = max(1, int(histogram.counts.max(initial=0)))
    each = (width - left - 20) / bins
    foot = top + height
    for tick in (0, most):
        line = foot - height * tick / most
        marks.append(Line(((left, line), (width - 20, line)), PALE, 0.8))
        marks.append(Words(left - 6, line + 4, f"{tick:,}", 10, "end", GREY))
    marks.append(Words(14, foot - height / 2, "links", 10, "middle", GREY, turned=True))
    bar = (each - 3) / series
    for row, own in enumerate(histogram.counts.tolist()):
        for place, count in enumerate(own):
            if count:
                tall = height * count / most
                tip = f"{names[row]}: {count:,} links"
                x = left + place * each + 1.5 + row * bar
                marks.append(Rectangle(x, foot - tall, bar, tall, SERIES[row % len(SERIES)], tip=tip))
    marks.append(Line(((left, foot), (width - 20, foot)), GREY, 0.8))
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        value = histogram.edges[-1] * part
        x = left + (width - 20 - left) * part
        text = said(float(value)) if capacity is None else amount(float(value) * capacity)
        marks.append(Words(x, foot + 14, text, 10, anchor, GREY))
    if not what:
        what = "congestion of a link: volume / capacity" if capacity is None else "what a link carries"
    marks.append(Words((left + width) / 2, foot + 29, what, 10, "middle", GREY))
    return Panel(width, foot + 34, tuple(marks))
