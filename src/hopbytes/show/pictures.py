"""Whole pictures with titles: a pattern, a machine, a mapping, a mapping beside the launcher's own order."""

from __future__ import annotations

import contextlib
from typing import Any

from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.show import traffic
from hopbytes.show.back_ends import check_picture, fragment, write_panel
from hopbytes.show.bars import hop_panel, level_panel, load_panel
from hopbytes.show.describe import content_of
from hopbytes.show.machine_picture import boxes_panel, ranks_panel
from hopbytes.show.marks import INK, Panel, below, beside, framed, sentence_panel
from hopbytes.show.matrix import MOST_ROWS, matrix_panel, scale_panel
from hopbytes.show.names import short_name
from hopbytes.show.network_layouts import inside_words, network_panel
from hopbytes.util.quantities import amount

#: Names of the launcher's orders above matrices and in legends.
ORDERS = {
    "fill": "ranks in order, nodes filled", "block": "ranks in order, nodes equally full",
    "cyclic": "ranks distributed to nodes in turn", "bynode": "ranks distributed to nodes in turn",
}  # fmt: skip
MAPPED = "this mapping"
#: Arcs of a pattern, and cores of a machine, up to which a picture takes a moment and some hundred kB.
MOST_ARCS, MOST_CORES = 2**20, 2**10

Drawn = tuple[Panel, str]


def pattern_picture(graph: CommGraph) -> Drawn:
    """Draw the communication matrix of a pattern in the order of its ranks; also return the title."""
    matrix, unit = traffic.comm_matrix(graph, most_rows=MOST_ROWS), traffic.volume_unit(graph)
    extremes = traffic.common_extremes([matrix])
    total = f"{amount(graph.total_volume, unit)} in {graph.m:,} pairs among {graph.n:,} ranks"
    square, scale = matrix_panel(matrix, extremes, unit=unit), scale_panel(extremes, matrix, unit)
    panel = below([sentence_panel(total), square, scale], gap=8)
    title = f"Who sends how much to whom: {short_name(graph.name)}"
    return framed(panel, title), title


def allocation_picture(where: Allocation) -> Drawn:
    """Draw a machine; also return the title."""
    title = short_name(where.machine.spec())
    if not _has_cables(where):
        return framed(boxes_panel(where), title), title
    notes = ["" if where.hosts else "nodes are numbered in machine order", inside_words(where)]
    words = sentence_panel("; ".join(filter(None, notes)))
    return framed(below([network_panel(where), words], 8), title), title


def mapping_picture(mapping: Mapping) -> Drawn:
    """Draw the machine of a mapping with the ranks on its cores; also return the title."""
    title = f"{mapping.n:,} ranks on {short_name(mapping.where.machine.spec())}"
    panels = [network_panel(mapping.where, mapping=mapping)] if _has_cables(mapping.where) else []
    return framed(below([*panels, ranks_panel(mapping)]), title), title


def _has_cables(where: Allocation) -> bool:
    """Tell whether it is known which links join; of some networks only the routes are."""
    network = where.machine.network()
    return network is not None and network.wiring is not None


def picture_of(thing: CommGraph | Allocation | Mapping) -> Drawn:
    """Draw a pattern, a machine or a mapping; also return the title."""
    if isinstance(thing, CommGraph):
        return pattern_picture(thing)
    return mapping_picture(thing) if isinstance(thing, Mapping) else allocation_picture(thing)


def svg_of(thing: CommGraph | Allocation | Mapping) -> str | None:
    """Return a picture for a notebook; None where it is too large or cannot be drawn."""
    if isinstance(thing, CommGraph):
        cheap = thing.n > 0 and thing.m <= MOST_ARCS
    else:
        where = thing.where if isinstance(thing, Mapping) else thing
        cheap = where.machine.n_cores <= MOST_CORES
    try:
        return fragment(*picture_of(thing)) if cheap else None
    except UnsupportedError:
        return None


def draw_thing(
    thing: str, output: str, *, force: bool = False, on: str | None = None, input_format: str | None = None,
    machine_options: dict[str, Any] | None = None, **options: Any,
) -> None:
    """Write a picture of what a text names: a machine, a pattern, or a mapping on its machine (or `on`)."""
    check_picture(output, force=force)
    content = content_of(thing, on, input_format, machine_options or {}, options)
    if not isinstance(content, (CommGraph, Allocation, Mapping)):
        raise UnsupportedError(f"{thing} is a mapping without its machine, expected --on to say which")
    panel, title = picture_of(content)
    write_panel(panel, output, title, force=force)


def evaluation_picture(graph: CommGraph, mapping: Mapping, *, launcher: str = "fill") -> Drawn:
    """Draw a mapping beside the launcher's own order: matrices, bytes per level, and traffic on links."""
    unit, usual = traffic.volume_unit(graph), ORDERS.get(launcher, f"launcher's order {launcher}")
    both = {usual: traffic.launcher_mapping(graph, mapping, launcher), MAPPED: mapping}
    titles = [f"{when}: {name}" for when, name in zip(("before", "after"), both, strict=True)]
    matrices = [traffic.comm_matrix(graph, one, most_rows=MOST_ROWS) for one in both.values()]
    extremes = traffic.common_extremes(matrices)
    squares = beside([
        matrix_panel(matrix, extremes, title, unit=unit)
        for matrix, title in zip(matrices, titles, strict=True)
    ])  # fmt: skip
    levels, title = traffic.level_bytes(graph, both), "Volume by level of the machine"
    parts = [
        squares, scale_panel(extremes, matrices[0], unit),
        level_panel(levels, title, unit=unit, width=squares.width),
    ]  # fmt: skip
    if mapping.where.machine.network() is not None:
        loads = [traffic.link_loads(graph, one) for one in both.values()]
        capacities = set(loads[0].capacities.tolist())
        hops, title = traffic.hop_histogram(graph, both), "Volume by links on the way"
        parts += [
            hop_panel(hops, title, unit=unit, width=squares.width),
            load_panel(
                traffic.load_histogram(loads), tuple(both), "Links by load", width=squares.width,
                capacity=capacities.pop() if len(capacities) == 1 else None,
            ),
        ]  # fmt: skip
        most = max(float(one.congestion.max(initial=0)) for one in loads)
        with contextlib.suppress(UnsupportedError):  # the network is too large to be drawn
            parts += [
                below([
                    sentence_panel(f"Links, {title}", 12, INK),
                    network_panel(one.where, loads=own, mapping=one, most=most),
                ], 4)
                for one, own, title in zip(both.values(), loads, titles, strict=True)
            ]  # fmt: skip
    title = f"{short_name(graph.name)}: {graph.n:,} ranks on {short_name(mapping.where.machine.spec())}"
    return framed(below(parts), title), title
