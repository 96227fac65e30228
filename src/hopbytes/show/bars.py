"""Charts of one or several mappings: lying bars, histograms of link loads, and J over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Mapping as Dictionary
from functools import partial

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.model.mapping import Mapping
from hopbytes.show.marks import GREY, INK, PALE, SERIES, Line, Mark, Panel, Rectangle, Words, legend, width_of
from hopbytes.show.traffic import HopHistogram, LevelBytes, LoadHistogram
from hopbytes.util.quantities import amount, duration, number, short_amount

Point = tuple[float, float]

#: Width of a chart unless another one is wanted; thickness of a bar, and the gap between groups.
WIDTH, THICK, GAP = 840.0, 15.0, 12.0
#: Space left of and right of J over time, above it, its height, and the space below it.
LEFT, RIGHT, TOP, HEIGHT, FOOT = 70.0, 20.0, 26.0, 180.0, 34.0
#: Side of the square that marks an improvement and has the numbers as tool tip.
DOT = 6.0


def level_panel(levels: LevelBytes, title: str = "", *, unit: str = "B", width: float = WIDTH) -> Panel:
    """Draw the volume per level: a group of bars for every level with traffic, a bar for every mapping."""
    rows = _rows(levels.labels, levels.volumes)
    return bar_panel(rows, levels.mappings, title, words=partial(amount, unit=unit), width=width)


def hop_panel(hops: HopHistogram, title: str = "", *, unit: str = "B", width: float = WIDTH) -> Panel:
    """Draw the volume by number of hops: a group of bars for every number, a bar for every mapping."""
    counts = hops.hops.tolist()
    labels = [f"{count} link" + "s" * (count > 1) if count else "inside nodes" for count in counts]
    rows = _rows(labels, hops.volumes)
    return bar_panel(rows, hops.mappings, title, words=partial(amount, unit=unit), width=width)


def _rows(labels: Sequence[str], volumes: Int64) -> list[tuple[str, list[int]]]:
    """Return the columns of int64[mappings, labels] with their labels, without those that are empty."""
    return [(label, own) for label, own in zip(labels, volumes.T.tolist(), strict=True) if any(own)]


def bar_panel(
    rows: Sequence[tuple[str, Sequence[float]]], names: Sequence[str], title: str = "", *,
    words: Callable[[float], str], width: float = WIDTH,
) -> Panel:
    """Draw a group of lying bars for every row, a bar for every name: its value in words, and its change."""
    marks, top = _head(title, names)
    top += 22.0
    left = max((width_of(label, 11) for label, _ in rows), default=0.0) + 10
    longest = width - left - 190  # behind the bars: the amount and the change
    most = max((value for _, values in rows for value in values), default=0) or 1
    foot = top
    for label, values in rows:
        height = THICK * len(values)
        marks.append(Words(left - 10, foot + height / 2 + 4, label, anchor="end"))
        for row, value in enumerate(values):
            line, long = foot + row * THICK, longest * value / most
            tip = f"{names[row]}: {words(value)} {label}"
            marks.append(Rectangle(left, line, long, THICK - 2, SERIES[row % len(SERIES)], tip=tip))
            text = words(value) + (_change(values[0], value) if row else "")
            marks.append(Words(left + long + 6, line + THICK - 4.5, text, 10, colour=INK if row else GREY))
        foot += height + GAP
    if not rows:
        marks.append(Words(0, top + 12, "nothing is sent", colour=GREY))
        foot = top + 20
    else:
        marks.append(Line(((left, top - 4), (left, foot - GAP + 2)), GREY, 0.8))
    return Panel(width, foot, tuple(marks))


def _head(title: str, names: Sequence[str]) -> tuple[list[Mark], float]:
    """Return the title and the legend below it, and where the legend is."""
    top = 22.0 if title else 0.0
    marks: list[Mark] = [Words(0, 12, title, size=12, bold=True)] if title else []
    return marks + legend(names, top), top


def _change(base: float, value: float) -> str:
    """Return a change in per cent in words; empty where there is none to speak of.

    >>> _change(200, 100), _change(100, 350), _change(0, 5), _change(5, 5)
    (' (50 % less)', ' (3.5 times)', '', '')
    """
    if not base or abs(value / base - 1) < 0.0005:
        return ""
    if not value:
        return " (100 % less)"
    if value >= 2 * base:
        return f" ({value / base:.3g} times)"
    share = 100 * abs(value / base - 1)
    digits = f"{share:.0f}" if share >= 9.95 else f"{share:.1f}"
    return f" ({digits} % {'less' if value < base else 'more'})"


def load_panel(
    histogram: LoadHistogram, names: Sequence[str], title: str = "", *, width: float = WIDTH,
    capacity: int | None = None, words: Callable[[float], str] = number, what: str = "",
) -> Panel:
    """Draw how many links are how congested: bins from left to right, a bar for every mapping.

    With the `capacity` that all links have, the axis is in bytes; otherwise `words` writes its values, and
    `what` says what they are.
    """
    idle = zip(names, histogram.idle.tolist(), strict=True)
    marks, top = _head(title, [f"{name} ({count:,} links idle)" for name, count in idle])
    top += 26.0
    height, left, right, bins = 150.0, 56.0, width - 20, histogram.counts.shape[1]
    most, foot = max(1, int(histogram.counts.max(initial=0))), top + height
    for tick in (0, most):
        line = foot - height * tick / most
        marks.append(Line(((left, line), (right, line)), PALE, 0.8))
        marks.append(Words(left - 6, line + 4, f"{tick:,}", 10, "end", GREY))
    marks.append(Words(14, foot - height / 2, "links", 10, "middle", GREY, turned=True))
    step = (width - left - 20) / bins
    bar = (step - 3) / len(names)
    for row, column in np.argwhere(histogram.counts).tolist():
        count = int(histogram.counts[row, column])
        tall, x = height * count / most, left + column * step + 1.5 + row * bar
        tip = f"{names[row]}: {count:,} links"
        marks.append(Rectangle(x, foot - tall, bar, tall, SERIES[row % len(SERIES)], tip=tip))
    if capacity is not None:
        words, what = lambda value: amount(value * capacity), what or "what a link carries"
    end = float(histogram.edges[-1])
    marks += _axis(left, right, foot, [words(end * part) for part in (0.0, 0.5, 1.0)])
    what = what or "congestion of a link: volume / capacity"
    marks.append(Words((left + width) / 2, foot + 29, what, 10, "middle", GREY))
    return Panel(width, foot + 34, tuple(marks))


def _axis(left: float, right: float, foot: float, texts: Sequence[str]) -> list[Mark]:
    """Return the line below a chart, with texts at its beginning, middle and end."""
    marks: list[Mark] = [Line(((left, foot), (right, foot)), GREY, 0.8)]
    for part, text, anchor in zip((0.0, 0.5, 1.0), texts, ("start", "middle", "end"), strict=True):
        marks.append(Words(left + (right - left) * part, foot + 14, text, 10, anchor, GREY))
    return marks


@frozen(eq=False)
class CostHistory:
    """The best J as a step function of time."""

    #: of every mapping that was better than all before: the wall time since the run began, the edges that
    #: searches had scanned by then (the same on every computer, see ``work_limit``), and J
    steps: list[tuple[float, int, int]]
    end: float  # wall time of the whole search; the last J holds until then


def cost_history(mapping: Mapping) -> CostHistory:
    """Return J over time from ``mapping.info["history"]``."""
    steps = mapping.info.get("history")
    if not steps:
        raise UnsupportedError(
            "the mapping has no history of J: hopbytes.map_tasks and 'hopbytes map -o FILE.json' keep it"
        )
    found = [(float(seconds), int(arcs), int(cost)) for seconds, arcs, cost in (step[:3] for step in steps)]
    known = mapping.info.get("seconds")
    return CostHistory(found, max(found[-1][0], float(known["map"]) if known else 0.0))


def history_panel(histories: Dictionary[str, CostHistory], colours: Dictionary[str, str]) -> Panel:
    """Draw the best J that each search knew, over its seconds, with a mark at every improvement."""
    end = max(one.end for one in histories.values()) or 1.0
    costs = [cost for one in histories.values() for _, _, cost in one.steps]
    low, high = min(costs), max(costs)
    foot, across = TOP + HEIGHT, WIDTH - LEFT - RIGHT

    def point(seconds: float, cost: int) -> Point:
        tall = (cost - low) / (high - low) if high > low else 0.0
        return LEFT + across * seconds / end, foot - 8 - (HEIGHT - 16) * tall

    marks: list[Mark] = legend(list(histories), 0.0, [colours[name] for name in histories])
    for cost in dict.fromkeys((low, high)):
        height = point(0, cost)[1]
        marks.append(Line(((LEFT, height), (WIDTH - RIGHT, height)), PALE, 0.8))
        marks.append(Words(LEFT - 6, height + 4, short_amount(cost), 10, "end", GREY))
    for name, history in histories.items():
        steps = history.steps
        points = [point(steps[0][0], steps[0][2])]
        for seconds, _, cost in [*steps[1:], (history.end, 0, steps[-1][2])]:
            points += [(point(seconds, cost)[0], points[-1][1]), point(seconds, cost)]
        marks.append(Line(tuple(points), colours[name], 1.6))
        for seconds, arcs, cost in steps:
            x, y = point(seconds, cost)
            tip = f"{name}: J {cost:,} after {duration(seconds)}, {arcs:,} scanned edges"
            marks.append(Rectangle(x - DOT / 2, y - DOT / 2, DOT, DOT, colours[name], tip=tip))
    marks += _axis(LEFT, WIDTH - RIGHT, foot, [duration(end * part) for part in (0.0, 0.5, 1.0)])
    marks.append(Words(LEFT + across / 2, foot + 29, "since the search began", 10, "middle", GREY))
    marks.append(Words(14, TOP + HEIGHT / 2, "best J", 10, "middle", GREY, turned=True))
    return Panel(WIDTH, foot + FOOT, tuple(marks))
