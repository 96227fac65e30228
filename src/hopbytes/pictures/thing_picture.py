"""The picture of each kind of thing with its title: a pattern, a machine, a mapping."""

from __future__ import annotations

import re

from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.pictures.canvas.marks import Panel, below, framed, paragraph
from hopbytes.pictures.figures.comm_matrix import comm_matrix
from hopbytes.pictures.machine_picture import boxes_panel, ranks_panel
from hopbytes.pictures.matrix_picture import MOST_ROWS, cell_words, matrix_panel, scale_panel, volume_unit
from hopbytes.pictures.network_picture import inside_words, network_panel
from hopbytes.util.quantities import amount

#: Letters of a name in a title, and options of patterns that say nothing.
LONGEST_NAME, UNUSED = 56, re.compile(r",\w+=(none|0)(?=,|$)")


def pattern_picture(graph: CommGraph) -> tuple[Panel, str]:
    """Draw the communication matrix of a pattern in the order of its ranks; also return the title. O(n + m).

    >>> import hopbytes as hb
    >>> panel, title = pattern_picture(hb.read("stencil:4x4"))
    >>> panel.width > 400, title
    (True, 'Who sends how much to whom: stencil:dims=4x4,bytes=65536')
    """
    matrix, unit = comm_matrix(graph, most_rows=MOST_ROWS), volume_unit(graph)
    total = f"{amount(graph.total_volume, unit)} in {graph.m:,} pairs among {graph.n:,} ranks"
    scale = scale_panel(matrix.extremes(), cell_words(matrix, unit), unit)
    panel = below([paragraph([total]), matrix_panel(matrix, unit=unit), scale], gap=8)
    title = f"Who sends how much to whom: {short(graph.name)}"
    return framed(panel, title), title


def allocation_picture(where: Allocation) -> tuple[Panel, str]:
    """Draw a machine; also return the title."""
    title = short(where.machine.spec())
    if not _has_cables(where):
        return framed(boxes_panel(where), title), title
    told = ["" if where.hosts else "nodes are numbered in machine order", inside_words(where)]
    words = paragraph(["; ".join(filter(None, told))])
    return framed(below([network_panel(where), words], 8), title), title


def mapping_picture(mapping: Mapping) -> tuple[Panel, str]:
    """Draw the machine of a mapping with the ranks on its cores; also return the title."""
    title = f"{mapping.n:,} ranks on {short(mapping.where.machine.spec())}"
    panels = [ranks_panel(mapping)]
    if _has_cables(mapping.where):
        panels.insert(0, network_panel(mapping.where, mapping=mapping))
    return framed(below(panels), title), title


def _has_cables(where: Allocation) -> bool:
    """Tell whether it is known which links join; of some networks only the routes are."""
    network = where.machine.network()
    return network is not None and network.wiring is not None


def short(name: str) -> str:
    """Return a name of a file, or a spec, cut for a title; options that are not used are left out.

    >>> short("stencil:dims=8x8,points=0,periodic=none,bytes=1000")
    'stencil:dims=8x8,bytes=1000'
    """
    name = UNUSED.sub("", name)
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"
