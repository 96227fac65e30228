"""What notebooks show of patterns, allocations and mappings, as long as that is cheap."""

from __future__ import annotations

from hopbytes.errors import UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

#: Arcs of a pattern, and cores of a machine, up to which a picture takes a moment and some hundred kB.
MOST_ARCS, MOST_CORES = 2**20, 2**10


def svg_of(thing: CommGraph | Allocation | Mapping) -> str | None:
    """Return a picture as an SVG element; None where it is too large or cannot be drawn.

    >>> import hopbytes as hb
    >>> svg_of(hb.allocate("node:2 core:2"))[:4], svg_of(hb.allocate("core:5000"))
    ('<svg', None)
    """
    from hopbytes.pictures.canvas.svg import fragment
    from hopbytes.pictures.thing_picture import allocation_picture, mapping_picture, pattern_picture

    try:
        if isinstance(thing, CommGraph):
            return fragment(*pattern_picture(thing)) if thing.n and thing.m <= MOST_ARCS else None
        where = thing.where if isinstance(thing, Mapping) else thing
        if where.machine.n_cores > MOST_CORES:
            return None
        drawn = mapping_picture(thing) if isinstance(thing, Mapping) else allocation_picture(thing)
    except UnsupportedError:
        return None
    return fragment(*drawn)
