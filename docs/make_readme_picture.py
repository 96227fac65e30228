"""Draw the pictures of README.md: ``python docs/make_readme_picture.py``; a test checks that they are new.

One has the recorded communication of the example before and after mapping, the other J over time of the
presets beside those of SharedMap, from the rows in `bench/results/foundation.jsonl.xz`. Pages show them
about as wide as they are drawn, so that type of 16 stays readable; on dark pages they are dark.
"""

from __future__ import annotations

import json
import lzma
import math
from collections import defaultdict
from pathlib import Path

import hopbytes as hb
from hopbytes.show.back_ends import svg
from hopbytes.show.marks import (
    GREY,
    INK,
    PALE,
    SERIES,
    Line,
    Mark,
    Panel,
    Raster,
    Rectangle,
    Words,
    framed,
    scale_colours,
)
from hopbytes.show.traffic import comm_matrix, common_extremes, launcher_mapping

ROOT = Path(__file__).parents[1]
ROWS = ROOT / "bench/results/foundation.jsonl.xz"
#: What both axes are relative to.
BASE = "sharedmap:strong"
PRESETS = ("fast", "eco", "strong")
NAMES = {"hopbytes": "hopbytes", "sharedmap": "SharedMap"}
COLOURS = {"hopbytes": SERIES[1], "sharedmap": SERIES[2]}
TYPE, TITLE = 16.0, 18.0
#: The side of a matrix, and the space for the names of nodes.
SIDE, SPACE, GAP = 288.0, 30.0, 24.0
#: The area of the curves, and the values at its borders.
WIDTH, HEIGHT, LEFT, TOP, FOOT = 520.0, 320.0, 80.0, 34.0, 62.0
LEAST_TIME, MOST_TIME, LEAST_COST, MOST_COST = 0.04, 1.6, 0.92, 1.1
#: The same colours on a dark page. The first rectangle of a picture is its ground.
DARK = {INK: "#e6edf3", GREY: "#9198a1", PALE: "#3d444d", SERIES[1]: "#4493f8", SERIES[2]: "#f0883e"}


def pictures() -> dict[Path, bytes]:
    """Return both pictures by path; every run returns the same bytes."""
    both = {
        "matrices": (matrices(), "Bytes between all pairs of 96 processes, in order and mapped"),
        "curves": (curves(ratios()), "J over CPU time of the presets of hopbytes and of SharedMap"),
    }
    return {
        ROOT / f"docs/readme_{name}.svg": dark_too(svg(framed(*drawn[:1]), drawn[1]))
        for name, drawn in both.items()
    }


def dark_too(picture: bytes) -> bytes:
    """Return a picture that has other colours on a dark page."""
    rules = "".join(
        f'[fill="{one}"]{{fill:{other}}}[stroke="{one}"]{{stroke:{other}}}' for one, other in DARK.items()
    )
    style = f"<style>@media (prefers-color-scheme: dark){{svg>rect{{fill:#0d1117}}{rules}}}</style>\n"
    return picture.replace(b"</title>\n", b"</title>\n" + style.encode(), 1)


def matrices() -> Panel:
    """Return the matrices of the example in machine order, side by side."""
    graph = hb.read(ROOT / "examples/halo_96.pattern")
    where = hb.allocate("node:8@10 package:2@3 core:6@1", hosts="n[1-8]")
    mapping = hb.map_tasks(graph, where)
    in_order = launcher_mapping(graph, mapping, "fill")
    drawn = [(one, comm_matrix(graph, one)) for one in (in_order, mapping)]
    extremes = common_extremes(matrix for _, matrix in drawn)
    marks: list[Mark] = []
    for place, ((one, matrix), when) in enumerate(zip(drawn, ("Ranks in order", "Mapped"), strict=True)):
        left, top = SPACE + place * (SIDE + GAP), 52.0
        volume = int(hb.evaluate(graph, one).traffic.inter_node_volume)
        marks.append(Words(left, 16, when, TITLE, bold=True))
        marks.append(Words(left, 40, f"{volume / 1e6:.2f} MB between nodes", TYPE))
        marks.append(Rectangle(left, top, SIDE, SIDE, "#ffffff", GREY))
        for node, name in enumerate(matrix.nodes):
            start, end = (top + SIDE * float(matrix.borders[each]) / matrix.rows for each in (node, node + 1))
            across = left + start - top
            marks.append(Line(((left, start), (left + SIDE, start)), "#c0705f", 0.8))
            marks.append(Line(((across, top), (across, top + SIDE)), "#c0705f", 0.8))
            if place == 0:
                marks.append(Words(left - 5, (start + end) / 2 + 6, name, TYPE, "end", GREY))
        shades = matrix.shades(*extremes)
        marks.append(Raster(left, top, SIDE, SIDE, shades, scale_colours(), see_through=True))
    return Panel(SPACE + 2 * SIDE + GAP, 52 + SIDE + 4, tuple(marks))


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
    return TOP + HEIGHT * (MOST_COST - cost) / (MOST_COST - LEAST_COST)


def curves(found: dict[str, tuple[float, float, int]]) -> Panel:
    """Return J over CPU time: a line for each program, a point for each preset."""
    inputs = next(iter(found.values()))[2]
    marks: list[Mark] = [Words(0, 16, f"J over time, {inputs} runs on 192 cores", TITLE, bold=True), *axes()]
    for tool, colour in COLOURS.items():
        points = [(across(found[f"{tool}:{one}"][0]), down(found[f"{tool}:{one}"][1])) for one in PRESETS]
        marks.append(Line(tuple(points), colour, 2.2))
        for one, (x, y) in zip(PRESETS, points, strict=True):
            time, cost, _ = found[f"{tool}:{one}"]
            tip = f"{NAMES[tool]} {one}: J {cost:.3f}, CPU time {time:.3f}"
            marks.append(Rectangle(x - 5, y - 5, 10, 10, colour, tip=tip, rounded=5))
            left_of_it = tool == "hopbytes"
            place = (x - 9, y + 20, one, TYPE, "end") if left_of_it else (x + 9, y - 8, one, TYPE, "start")
            marks.append(Words(*place, colour=colour))
        x, y = points[0]
        marks.append(Words(x + 12, y - 28, NAMES[tool], TITLE, colour=colour, bold=True))
    return Panel(LEFT + WIDTH + 10, TOP + HEIGHT + FOOT, tuple(marks))


def axes() -> list[Mark]:
    """Return grid lines, their values, and what they mean."""
    foot, right = TOP + HEIGHT, LEFT + WIDTH
    marks: list[Mark] = []
    for cost in (0.95, 1.0, 1.05, 1.1):
        marks.append(Line(((LEFT, down(cost)), (right, down(cost))), PALE, 0.8))
        marks.append(Words(LEFT - 8, down(cost) + 6, f"{cost:.2f}", TYPE, "end", GREY))
    for time in (0.05, 0.1, 0.2, 0.5, 1.0):
        marks.append(Line(((across(time), TOP), (across(time), foot)), PALE, 0.8))
        marks.append(Words(across(time), foot + 22, f"{time:g}", TYPE, "middle", GREY))
    of_base = "over that of SharedMap strong"
    marks.append(Words((LEFT + right) / 2, foot + 50, f"CPU time {of_base}", TYPE, "middle", GREY))
    marks.append(Words(16, (TOP + foot) / 2, f"J {of_base}", TYPE, "middle", GREY, turned=True))
    return marks


if __name__ == "__main__":
    for path, picture in pictures().items():
        path.write_bytes(picture)
