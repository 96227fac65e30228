"""Draw the figure of README.md: ``python docs/make_readme_picture.py``; a test checks that it is current.

On the left is the recorded communication of the example before and after mapping. On the right is J over
time of the presets beside those of SharedMap, from the rows in `bench/results/foundation.jsonl.xz`.
"""

from __future__ import annotations

import json
import lzma
import math
from collections import defaultdict
from pathlib import Path

import hopbytes as hb
from hopbytes.pictures.canvas.marks import (
    GREY,
    PALE,
    Line,
    Mark,
    Panel,
    Rectangle,
    Words,
    below,
    beside,
    framed,
)
from hopbytes.pictures.canvas.palette import SERIES
from hopbytes.pictures.canvas.svg import svg
from hopbytes.pictures.figures.comm_matrix import comm_matrix, common_extremes
from hopbytes.pictures.figures.level_bytes import launcher_mapping
from hopbytes.pictures.matrix_picture import matrix_panel, scale_panel

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs/readme.svg"
ROWS = ROOT / "bench/results/foundation.jsonl.xz"
#: What both axes are relative to.
BASE = "sharedmap:strong"
PRESETS = ("fast", "eco", "strong")
NAMES = {"hopbytes": "hopbytes", "sharedmap": "SharedMap"}
COLOURS = {"hopbytes": SERIES[1], "sharedmap": SERIES[2]}
#: The area of the curves, and the values at its borders.
WIDTH, HEIGHT, LEFT, FOOT = 330.0, 384.0, 52.0, 46.0
LEAST_TIME, MOST_TIME, LEAST_COST, MOST_COST = 0.04, 1.6, 0.92, 1.1


def picture() -> bytes:
    """Return the figure; every run returns the same bytes."""
    title = "Communication of 96 processes before and after mapping; J over time of presets beside SharedMap"
    return svg(framed(beside([matrices(), curves(ratios())], 30)), title)


def matrices() -> Panel:
    """Return the matrices of the example in machine order."""
    graph = hb.read(ROOT / "examples/halo_96.pattern")
    where = hb.machine("node:8@10 package:2@3 core:6@1", hosts="n[1-8]")
    mapping = hb.map_tasks(graph, where)
    in_order = launcher_mapping(graph, mapping, "fill")
    both = [comm_matrix(graph, one) for one in (in_order, mapping)]
    extremes = common_extremes(both)
    between = [int(hb.evaluate(graph, one).traffic.inter_node_volume) for one in (in_order, mapping)]
    titles = [
        f"{when}: {volume / 1e6:.2f} MB between nodes"
        for when, volume in zip(("ranks in order", "mapped"), between, strict=True)
    ]
    drawn = [matrix_panel(one, title, extremes=extremes) for one, title in zip(both, titles, strict=True)]
    return below([beside(drawn, 4), scale_panel(extremes, "bytes from one rank to another")], 8)


def ratios() -> dict[str, tuple[float, float, int]]:
    """Return CPU time and J over those of the base (geometric means) and the number of inputs."""
    rows: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for row in map(json.loads, lzma.decompress(ROWS.read_bytes()).splitlines()):
        if row["error"] is None:
            own = rows[f"{row['tool']}:{row['preset']}"]
            own[f"{row['instance']} {row['seed']}"] = (row["cpu_seconds"], row["comm_cost"])
    base = rows[BASE]
    found = {}
    for name, own in rows.items():
        time, cost = (mean([own[case][place] / base[case][place] for case in base]) for place in (0, 1))
        found[name] = (time, cost, len(base))
    return found


def mean(values: list[float]) -> float:
    """Return a geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def across(time: float) -> float:
    """Return the place of a time on its logarithmic axis."""
    return LEFT + WIDTH * math.log(time / LEAST_TIME) / math.log(MOST_TIME / LEAST_TIME)


def down(cost: float) -> float:
    """Return the place of a J."""
    return 22 + HEIGHT * (MOST_COST - cost) / (MOST_COST - LEAST_COST)


def curves(found: dict[str, tuple[float, float, int]]) -> Panel:
    """Return J over CPU time: a line for each program, a point for each preset."""
    inputs = next(iter(found.values()))[2]
    marks: list[Mark] = [Words(LEFT, 12, f"J over time, {inputs} graphs on 192 cores", size=12, bold=True)]
    marks += axes()
    for tool, colour in COLOURS.items():
        points = [(across(found[f"{tool}:{one}"][0]), down(found[f"{tool}:{one}"][1])) for one in PRESETS]
        marks.append(Line(tuple(points), colour, 1.8))
        for one, (x, y) in zip(PRESETS, points, strict=True):
            time, cost, _ = found[f"{tool}:{one}"]
            tip = f"{NAMES[tool]} {one}: J {cost:.3f}, CPU time {time:.3f}"
            marks.append(Rectangle(x - 4, y - 4, 8, 8, colour, tip=tip, rounded=4))
            left_of_it = tool == "hopbytes"
            place = (x - 7, y + 13, one, 10, "end") if left_of_it else (x + 7, y - 5, one, 10, "start")
            marks.append(Words(*place, colour=colour))
        x, y = points[0]
        marks.append(Words(x + 10, y - 18, NAMES[tool], 12, colour=colour, bold=True))
    return Panel(LEFT + WIDTH + 10, 22 + HEIGHT + FOOT, tuple(marks))


def axes() -> list[Mark]:
    """Return grid lines, their values, and what they mean."""
    foot, right = 22 + HEIGHT, LEFT + WIDTH
    marks: list[Mark] = []
    for cost in (0.95, 1.0, 1.05, 1.1):
        marks.append(Line(((LEFT, down(cost)), (right, down(cost))), PALE, 0.8))
        marks.append(Words(LEFT - 6, down(cost) + 4, f"{cost:.2f}", 10, "end", GREY))
    for time in (0.05, 0.1, 0.2, 0.5, 1.0):
        marks.append(Line(((across(time), 22), (across(time), foot)), PALE, 0.8))
        marks.append(Words(across(time), foot + 14, f"{time:g}", 10, "middle", GREY))
    of_base = "over that of SharedMap strong"
    marks.append(Words((LEFT + right) / 2, foot + 32, f"CPU time {of_base}", 11, "middle", GREY))
    marks.append(Words(12, (22 + foot) / 2, f"J {of_base}", 11, "middle", GREY, turned=True))
    return marks


if __name__ == "__main__":
    PICTURE.write_bytes(picture())
