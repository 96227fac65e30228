"""The compiled search kernels (partitioning, refinement) with typed signatures; calls are interruptible.

The searches are heuristics whose results have no definition to compare with. Most of them therefore have no
reference implementation in ``tests/reference``; tests check properties of their results instead.
"""

from hopbytes.engine.control import (
    MOST,
    SMALL,
    RunControl,
    Spend,
    WorkMeter,
    interruptible,
    metered_by,
    rescale_linear_cost,
    rescale_to_63_bits,
    stop_asked,
    stopping_when,
)
from hopbytes.engine.partition import RefinementSettings, even_placement, partition_many, refine_placement
from hopbytes.engine.problem import PartitionSettings, SearchProblem, SearchSettings, VertexGroups
from hopbytes.engine.slots import SwapSettings, swap_refine

__all__ = [
    "MOST",
    "SMALL",
    "PartitionSettings",
    "RefinementSettings",
    "RunControl",
    "SearchProblem",
    "SearchSettings",
    "Spend",
    "SwapSettings",
    "VertexGroups",
    "WorkMeter",
    "even_placement",
    "interruptible",
    "metered_by",
    "partition_many",
    "refine_placement",
    "rescale_linear_cost",
    "rescale_to_63_bits",
    "stop_asked",
    "stopping_when",
    "swap_refine",
]
