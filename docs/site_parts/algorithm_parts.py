"""For every mapper and refiner: a picture of a small case, the objective there, and the docstring."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hopbytes as hb
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.show.back_ends import svg
from hopbytes.show.bars import load_panel
from hopbytes.show.marks import GREY, Panel, Raster, Rectangle, Words, beside, framed, width_of
from hopbytes.show.traffic import link_loads, load_histogram
from site_parts.twins import TWINS
from site_parts.written import put


@dataclass(frozen=True)
class Case:
    """A small grid of tasks on a machine."""

    pattern: str
    machine: str
    shape: tuple[int, int]
    partition: bool = False
    start: str = "random"

    def words(self) -> str:
        """Return the case as it is typed."""
        return f"`{self.pattern}` on `{self.machine}`"


TREE = Case("stencil:16x16:bytes=1000", "node:16@10 package:2@3 core:8@1", (16, 16))
MESH = Case("stencil:48x48:bytes=1000", "node:4@10 core:4@1", (48, 48), partition=True)
NETWORK = Case("stencil:16x16:bytes=1000", "torus:8x8@10 / core:4@1", (16, 16))
SMALL = Case("stencil:8x8:bytes=1000", "node:8@10 core:8@1", (8, 8))
TRAINING = Case("ml:tp=2,pp=4,dp=4,order=pp-dp-cp-ep-tp", "rails:4x8", (4, 8))

CASES = {
    "deep_multisection": MESH, "vcycle": MESH, "evolve": MESH, "two_phase": MESH,
    "tabu": SMALL, "training_order": TRAINING,
}  # fmt: skip
#: What a mapper needs so that it does on a small case what it does on a large one.
OPTIONS = {"deep_multisection": "deep_multisection:per_child=10,fewest=50"}
#: The side of a grid.
SIDE = 250.0
#: Algorithms of networks, and those that need coordinates.
ON_NETWORKS = (
    "ug", "ptram", "multi_jagged", "curve",
    "uwh", "uth", "umc", "ummc", "refine_ptram", "congestion", "routed",
)  # fmt: skip
#: The objective that a refiner lowers where that is not J.
GOALS = {
    "uwh": "hop_bytes", "uth": "hops", "umc": "max_congestion", "ummc": "max_messages",
    "refine_ptram": "max_congestion", "congestion": "max_congestion", "routed": "max_congestion",
}  # fmt: skip
#: Where a refiner starts, if not at random.
STARTS = {"subtrees": "rcm", "pairwise_repartitioning": "round_robin:turn=4"}


def write_algorithms(folder: Path) -> None:
    """Write `mapper_NAME.md` and `refiner_NAME.md` with their pictures."""
    for name, kind in mappers.items():
        write_one(folder, "mapper", name, name, kind)
    for name, kind in refiners.items():
        write_one(folder, "refiner", name, "refine_ptram" if name == "ptram" else name, kind)


def write_one(folder: Path, sort: str, name: str, key: str, kind: Any) -> None:
    """Write the part of one algorithm; `key` tells a mapper and a refiner of one name apart."""
    case = NETWORK if key in ON_NETWORKS else CASES.get(key, TREE)
    start = STARTS.get(key, "random") if sort == "refiner" else "identity"
    goal = GOALS.get(key, "comm_cost")
    graph, where = hb.read(case.pattern), hb.allocate(case.machine)
    common: dict[str, Any] = {"partition": case.partition, "seed": 1, "objective": goal, "threads": 1}
    before = hb.map_tasks(graph, where, start, **common)
    if sort == "mapper":
        after = hb.map_tasks(graph, where, OPTIONS.get(name, name), **common)
    else:
        after = hb.map_tasks(graph, where, [start, name], **common)
    values = [objectives[goal]().value(graph, where, one.pe) for one in (before, after)]
    picture = folder / "pictures" / f"{sort}_{name}.svg"
    titles = ("tasks in order" if start == "identity" else f"before: {start}", name)
    symbol = objectives[goal].symbol
    shown = [f"{symbol} = {words(value)}" for value in values]
    draw(picture, case, graph, dict(zip(titles, (before, after), strict=True)), shown)
    put(folder / f"{sort}_{name}.md", text(sort, name, key, kind, case, shown))


def text(sort: str, name: str, key: str, kind: Any, case: Case, shown: list[str]) -> str:
    """Return the page part: picture, what it shows, twin, options and notes from the docstring."""
    defined = "It has no reference twin; its result is checked by computing J again."
    if key in TWINS:
        function = ".".join(("tests.reference", *TWINS[key]))
        defined = f"`{function}` defines in plain Python what its compiled part returns; tests compare them."
    return f"""\
![{name}: the nodes of a grid of tasks before and after](../_made/pictures/{sort}_{name}.svg)

{case.words()}: {shown[0]} before, {shown[1]} after. {defined}

:::{{dropdown}} Options, source and deviations of `{name}`
```{{eval-rst}}
.. autoclass:: {kind.__module__}.{kind.__qualname__}
   :members:
   :exclude-members: map, refine
```
:::
"""


def words(value: float) -> str:
    """Return a value of an objective with separators of thousands."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def draw(path: Path, case: Case, graph: Any, both: dict[str, Any], shown: list[str]) -> None:
    """Draw the grid of tasks before and after, coloured by node, and link loads where there are links."""
    panels = [
        grid_panel(mapping, case.shape, f"{title}: {told}")
        for (title, mapping), told in zip(both.items(), shown, strict=True)
    ]
    if case.machine.startswith("torus"):
        loads = [link_loads(graph, mapping) for mapping in both.values()]
        panels.append(load_panel(load_histogram(loads), tuple(both), "Links by load", width=420))
    path.write_bytes(svg(framed(beside(panels)), f"Nodes of a grid of tasks: {' and '.join(both)}"))


def grid_panel(mapping: Any, shape: tuple[int, int], title: str) -> Panel:
    """Return a grid of tasks: the hue is a column of nodes, the lightness a node in it."""
    nodes = mapping.where.node_of_pe[mapping.pe]
    count = int(nodes.max()) + 1
    across = max(1, round(count**0.5))
    colours = tuple(
        colour((node // across) / (count / across), 0.32 + 0.45 * (node % across) / across)
        for node in range(count)
    )
    side = SIDE / max(shape)
    size = (side * shape[1], side * shape[0])
    cells = nodes.reshape(shape).astype(np.uint8)
    marks = (
        Words(0, 12, title, size=12, bold=True),
        Raster(0, 22, *size, cells, colours),
        Rectangle(0, 22, *size, "none", GREY),
    )
    return Panel(max(size[0], width_of(title, 12)), 22 + size[1], marks)


def colour(hue: float, lightness: float) -> str:
    """Return a colour as browsers write it."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, lightness, 0.55))
