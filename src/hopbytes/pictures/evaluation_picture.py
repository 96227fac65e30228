"""The picture of a mapping beside the launcher's own order: ``hopbytes eval … -o``."""

from __future__ import annotations

from hopbytes.errors import UnsupportedError
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.bar_picture import hop_panel, level_panel, load_panel
from hopbytes.pictures.canvas.marks import INK, Panel, below, beside, framed, paragraph
from hopbytes.pictures.figures.comm_matrix import comm_matrix, common_extremes
from hopbytes.pictures.figures.level_bytes import hop_histogram, launcher_mapping, level_bytes
from hopbytes.pictures.figures.link_loads import LinkLoads, link_loads, load_histogram
from hopbytes.pictures.matrix_picture import MOST_ROWS, cell_words, matrix_panel, scale_panel, volume_unit
from hopbytes.pictures.network_picture import network_panel
from hopbytes.pictures.thing_picture import short

#: Names of the launcher's orders above matrices and in legends.
ORDERS = {
    "fill": "ranks in order, nodes filled", "block": "ranks in order, nodes equally full",
    "cyclic": "ranks dealt out to nodes in turn", "bynode": "ranks dealt out to nodes in turn",
}  # fmt: skip
MAPPED = "this mapping"


def evaluation_picture(
    graph: CommGraph, mapping: Mapping, *, launcher: str = "fill", unit: str | None = None
) -> tuple[Panel, str]:
    """Draw a mapping beside the launcher's own order: matrices, bytes per level, and traffic on links.

    The title is returned, too.
    """
    unit = volume_unit(graph) if unit is None else unit
    base = launcher_mapping(graph, mapping, launcher)
    matrices = [comm_matrix(graph, one, most_rows=MOST_ROWS) for one in (base, mapping)]
    extremes = common_extremes(matrices)
    both = {ORDERS.get(launcher, f"launcher's order {launcher}"): base, MAPPED: mapping}
    drawn = [
        matrix_panel(one, f"{when}: {name}", extremes=extremes, unit=unit)
        for one, when, name in zip(matrices, ("before", "after"), both, strict=True)
    ]
    width = sum(panel.width for panel in drawn) + 24
    parts = [
        beside(drawn),
        scale_panel(extremes, cell_words(matrices[0], unit), unit),
        level_panel(level_bytes(graph, both), "Volume by level of the machine", unit=unit, width=width),
    ]
    if mapping.where.machine.network() is not None:
        loads = [link_loads(graph, one) for one in both.values()]
        parts += [
            hop_panel(hop_histogram(graph, both), "Volume by links on the way", unit=unit, width=width),
            load_panel(
                load_histogram(loads), tuple(both), "Links by load", width=width, capacity=_capacity(loads[0])
            ),
            *_networks(both, loads),
        ]
    title = f"{short(graph.name)}: {graph.n:,} ranks on {short(mapping.where.machine.spec())}"
    return framed(below(parts), title), title


def _capacity(loads: LinkLoads) -> int | None:
    """Return the capacity of all links; None if they differ."""
    first = int(loads.capacities[0])
    return first if bool((loads.capacities == first).all()) else None


def _networks(both: dict[str, Mapping], loads: list[LinkLoads]) -> list[Panel]:
    """Return the networks with coloured links, on one scale; none where they are too large to draw."""
    most = max(float(one.congestion.max(initial=0)) for one in loads)
    panels = []
    for (name, mapping), own, when in zip(both.items(), loads, ("before", "after"), strict=True):
        try:
            network = network_panel(mapping.where, loads=own, mapping=mapping, most=most)
        except UnsupportedError:
            return []
        title = paragraph([f"Links, {when}: {name}"], 12, INK)
        panels.append(below([title, network], 4))
    return panels
