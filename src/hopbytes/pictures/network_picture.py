"""Networks as networks: slices of a torus, layers of a fat tree, a circle of groups; links have colours."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import UnsupportedError
from hopbytes.machines.base import NODE_NAMES
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.canvas.marks import GREY, PALE, Mark, Panel, Raster, Rectangle, Words, below
from hopbytes.pictures.canvas.palette import scale_colours
from hopbytes.pictures.circle_layout import circle
from hopbytes.pictures.figures.link_loads import LinkLoads
from hopbytes.pictures.figures.network_figure import NetworkFigure, network_figure
from hopbytes.pictures.grid_layout import slices
from hopbytes.pictures.layer_layout import layers
from hopbytes.pictures.machine_picture import home_nodes, tint
from hopbytes.pictures.network_look import Look
from hopbytes.util.quantities import amount, number

#: Vertices of the largest network that is drawn.
MOST_VERTICES = 2**14


def network_panel(
    where: Allocation, *, loads: LinkLoads | None = None, mapping: Mapping | None = None,
    most: float | None = None,
) -> Panel:
    """Draw the network of a machine."""
    figure = network_figure(where, loads)
    if len(figure.names) > MOST_VERTICES:
        found = f"{len(figure.names)} hosts and switches"
        raise UnsupportedError(f"a picture of a network of {found}, expected at most {MOST_VERTICES}")
    highest = float(figure.congestion.max(initial=0)) if figure.congestion is not None else 0.0
    ranks, fills = _ranks(mapping)
    look = Look(figure, highest if most is None else most, ranks, fills)
    if figure.geometry is not None and figure.geometry.sizes:
        drawn = slices(look)
    elif _is_layered(figure):
        drawn = layers(look)
    else:
        drawn = circle(look)
    parts = [drawn] if loads is None else [drawn, load_scale(look, loads)]
    return below(parts, 10)


def _is_layered(figure: NetworkFigure) -> bool:
    """Tell whether every cable joins two neighbouring layers, the lowest being hosts."""
    first, second = figure.layers[figure.ends[:, 0]], figure.layers[figure.ends[:, 1]]
    return bool(np.all(np.abs(first - second) == 1)) and int(figure.layers.max()) >= 1


def _ranks(mapping: Mapping | None) -> tuple[dict[int, list[int]], dict[int, str]]:
    if mapping is None:
        return {}, {}
    home, node = home_nodes(mapping), mapping.where.node_of_pe[mapping.pe]
    order: Int64 = np.argsort(node, kind="stable")
    used, start = np.unique(node[order], return_index=True)
    parts = np.split(order, start[1:])
    ranks = {each: part.tolist() for each, part in zip(used.tolist(), parts, strict=True)}
    homes = int(home.max(initial=0)) + 1
    fills = {each: tint(int(np.bincount(home[own]).argmax()), homes) for each, own in ranks.items()}
    return ranks, fills


def load_scale(look: Look, loads: LinkLoads, width: float = 240.0) -> Panel:
    """Draw the linear scale of link colours, and name the busiest link."""
    busiest = loads.most_loaded(1).tolist()
    if not busiest:
        return Panel(width, 14, (Words(0, 11, "no link carries anything", 10, colour=GREY),))
    cells = np.arange(1, 256, dtype=np.uint8).reshape(1, -1)
    equal = bool(np.all(loads.capacities == loads.capacities[0]))
    top = look.most * float(loads.capacities[0]) if equal else look.most
    said = amount(top) if equal else f"{number(top)} (volume / capacity)"
    if loads.unit == "bytes/s":
        said = f"{1000 * look.most:.3g} ms at its bandwidth"
    name = f"busiest here: {loads.names[busiest[0]]}, {amount(float(loads.volumes[busiest[0]]))}"
    marks: tuple[Mark, ...] = (
        Words(0, 10, "load of a link; pale grey: idle", 10, colour=GREY),
        Raster(0, 16, width, 12, cells, scale_colours()),
        Rectangle(0, 16, width, 12, "none", PALE),
        Words(0, 40, "0", 10, colour=GREY),
        Words(width, 40, said, 10, "end", GREY),
        Words(width + 24, 26, name, 10, colour=GREY),
    )
    return Panel(width + 30 + 6.1 * len(name), 44, marks)


def inside_words(where: Allocation) -> str:
    """Return what is inside a node of a network: ``"16 cores in each node"``; empty for nothing."""
    machine = where.machine
    counts = np.bincount(machine.node_of_core())
    if len(machine.levels) < 2 or int(counts.max()) == 1:
        return ""
    unit = "GPU" if machine.leaves_are_gpus() else "core"
    few, most = int(counts.min()), int(counts.max())
    many = f"{few}" if few == most else f"{few} to {most}"
    return f"{many} {unit}s in each {NODE_NAMES[0]}"
