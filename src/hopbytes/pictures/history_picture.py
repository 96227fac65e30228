"""J over time: a step line for every search."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary

from hopbytes.pictures.bar_picture import legend
from hopbytes.pictures.canvas.marks import GREY, PALE, Line, Mark, Panel, Rectangle, Words
from hopbytes.pictures.figures.cost_history import CostHistory
from hopbytes.util.quantities import duration, short_amount

LEFT, RIGHT, TOP, HEIGHT, FOOT = 70.0, 20.0, 26.0, 180.0, 34.0
#: Side of the square that marks an improvement and has the numbers as tool tip.
DOT = 6.0


def history_panel(
    histories: Dictionary[str, CostHistory], colours: Dictionary[str, str], *, width: float = 840.0
) -> Panel:
    """Draw the best J that each search knew, over its seconds."""
    end = max(one.end for one in histories.values()) or 1.0
    costs = [cost for one in histories.values() for cost in one.costs.tolist()]
    low, high = min(costs), max(costs)
    foot, across = TOP + HEIGHT, width - LEFT - RIGHT

    def place(seconds: float, cost: int) -> tuple[float, float]:
        tall = (cost - low) / (high - low) if high > low else 0.0
        return LEFT + across * seconds / end, foot - 8 - (HEIGHT - 16) * tall

    marks: list[Mark] = legend(list(histories), 0.0, [colours[name] for name in histories])
    for cost in dict.fromkeys((low, high)):
        height = place(0, cost)[1]
        marks.append(Line(((LEFT, height), (width - RIGHT, height)), PALE, 0.8))
        marks.append(Words(LEFT - 6, height + 4, short_amount(cost), 10, "end", GREY))
    for name, one in histories.items():
        steps = list(zip(one.seconds.tolist(), one.arcs.tolist(), one.costs.tolist(), strict=True))
        points = [place(steps[0][0], steps[0][2])]
        for seconds, _, cost in [*steps[1:], (one.end, 0, steps[-1][2])]:
            points += [(place(seconds, cost)[0], points[-1][1]), place(seconds, cost)]
        marks.append(Line(tuple(points), colours[name], 1.6))
        for seconds, arcs, cost in steps:
            x, y = place(seconds, cost)
            tip = f"{name}: J {cost:,} after {duration(seconds)}, {arcs:,} scanned edges"
            marks.append(Rectangle(x - DOT / 2, y - DOT / 2, DOT, DOT, colours[name], tip=tip))
    marks.append(Line(((LEFT, foot), (width - RIGHT, foot)), GREY, 0.8))
    for part, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        marks.append(Words(LEFT + across * part, foot + 14, duration(end * part), 10, anchor, GREY))
    marks.append(Words(LEFT + across / 2, foot + 29, "since the search began", 10, "middle", GREY))
    marks.append(Words(14, TOP + HEIGHT / 2, "best J", 10, "middle", GREY, turned=True))
    return Panel(width, foot + FOOT, tuple(marks))
