"""J over time: how the best mapping of a run improved."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Float64, Int64
from hopbytes._frozen import frozen
from hopbytes.errors import UnsupportedError
from hopbytes.model.mapping import Mapping


@frozen(eq=False)
class CostHistory:
    """The best J as a step function of time."""

    #: float64[steps]: Wall time since the run began, ascending, at which a mapping was better than all before
    seconds: Float64
    #: int64[steps]: Edges that searches had scanned by then; the same on every computer, see ``work_limit``
    arcs: Int64
    costs: Int64  # int64[steps]: J from that time on, descending
    end: float  # wall time of the whole search; the last J holds until then


def cost_history(mapping: Mapping) -> CostHistory:
    """Return J over time from ``mapping.info["history"]``.

    >>> import hopbytes as hb
    >>> graph = hb.CommGraph.from_edges([0, 1, 2, 3], [2, 3, 0, 1], [5, 5, 5, 5])
    >>> mapping = hb.map_tasks(graph, hb.allocate("node:2@10 core:2@1"))
    >>> history = cost_history(mapping)
    >>> int(history.costs[-1]) == mapping.comm_cost, bool(history.end >= history.seconds[-1])
    (True, True)
    """
    steps = mapping.info.get("history")
    if not steps:
        raise UnsupportedError(
            "the mapping has no history of J: hopbytes.map_tasks and 'hopbytes map -o FILE.json' keep it"
        )
    seconds = np.array([step[0] for step in steps], np.float64)
    arcs = np.array([step[1] for step in steps], np.int64)
    costs = np.array([step[2] for step in steps], np.int64)
    known = mapping.info.get("seconds")
    end = max(float(seconds[-1]), float(known["map"]) if known else 0.0)
    return CostHistory(seconds, arcs, costs, end)
