"""Conversion of the first two arguments of map_tasks: the pattern, and the machine to which it is mapped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias, Union

from numpy.typing import ArrayLike

from hopbytes.errors import WrongTypeError
from hopbytes.machines.base import Machine
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.graph_sources import NetworkxGraph

if TYPE_CHECKING:
    import scipy.sparse

#: Types that :func:`hopbytes.map_tasks` accepts as a pattern, and as a machine.
PatternLike: TypeAlias = Union[
    CommGraph, ArrayLike, "os.PathLike[str]", "scipy.sparse.sparray", "scipy.sparse.spmatrix",
    NetworkxGraph,
]
PlaceLike: TypeAlias = Union[Allocation, Machine, str, "os.PathLike[str]"]


def pattern_side(graph: PatternLike, threads: int | None = None) -> CommGraph:
    """Return the pattern; a text is a file name or the spec of a generator.

    `threads` may read it, by default one for each CPU.

    >>> pattern_side("stencil:4x4").m, pattern_side([[0, 1], [0, 0]]).m
    (48, 1)
    """
    if isinstance(graph, (str, os.PathLike)):
        from hopbytes.formats.exchange import read_pattern

        return read_pattern(graph, workers=threads)
    found = CommGraph.of(graph)
    found.check_directions(threads or 1)
    return found


def place_side(where: PlaceLike) -> Allocation:
    """Return the allocation; a machine means all its cores, one per PE, and a text is a spec.

    >>> place_side("node:2@10 core:4@1")
    Allocation('node:2@10 core:4@1', 8 PEs)
    """
    if isinstance(where, Allocation):
        return where
    if isinstance(where, Machine):
        return Allocation.whole(where)
    if isinstance(where, (str, os.PathLike)):
        from hopbytes.machines.allocate.allocate import allocate

        return allocate(where)
    raise WrongTypeError(
        f"the machine is a {type(where).__name__}, expected an Allocation (hopbytes.allocate), a "
        "Machine or a spec such as 'node:6 core:12'"
    )
