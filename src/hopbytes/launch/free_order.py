"""What a mapping without the limits of a launcher would gain, and how a program can have it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.model.allocation import SlotUse
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.solve.map_tasks import map_tasks

#: Formats in which only the order of hosts can be chosen.
ORDERED = ("hosts", "torchrun", "kubernetes")
#: Tasks up to which the pattern is mapped a second time.
MOST_TASKS = 2**14
#: Options that a second, quick mapping does not take into account.
USUAL = {"objective": "comm_cost", "weight": "bytes"}


def free_order(graph: CommGraph, mapping: Mapping, form: str, **options: Any) -> list[str]:
    """Return sentences about the communication cost with free rank numbers; empty if there is no gain.

    For training jobs (``ml:``) the rank orders of Megatron-LM are compared, too: O(24 arcs).
    """
    from hopbytes.patterns.ml import MEGATRON_OPTIONS

    where, slots = mapping.where, np.sort(mapping.pe)
    if form not in ORDERED or graph.n > min(MOST_TASKS, where.k):
        return []
    if any(options.get(name) not in (None, usual) for name, usual in USUAL.items()):
        return []
    limits, constraints = options.get("limits"), options.get("constraints")
    if (limits is not None and limits.limited) or (constraints is not None and constraints.of_tasks):
        return []
    if mapping.info.get("objective", "comm_cost") != "comm_cost":  # chosen for a machine with rails
        return []
    own = CommCost().value(graph, where, mapping.pe)
    kept = {name: options[name] for name in ("seed", "threads") if name in options}
    equal = replace(where, use=SlotUse(equal_nodes=True))
    free = map_tasks(graph, equal, "fast", objective="comm_cost", partition=False, **kept)
    best = CommCost().value(graph, where, free.pe)
    found = []
    if best < own:
        found.append(
            f"{form} keeps ranks consecutive: J {own:,}; with ranks renumbered in the program J {best:,} "
            f"({1 - best / own:.1%} less): format mesh writes it for PyTorch and JAX, newrank for MPI"
        )
    order, value = _best_order(graph, mapping, slots)
    if value < own and order:
        found.append(
            f"rank order {order} of the training program has J {value:,} ({1 - value / own:.1%} less), hosts "
            f"in machine order: Megatron-LM {MEGATRON_OPTIONS.get(order, f'order={order}')}"
        )
    return found


def _best_order(graph: CommGraph, mapping: Mapping, slots: Int32) -> tuple[str, int]:
    """Return the rank order with the lowest J, ranks in order on the slots in use; "" for other patterns."""
    from hopbytes.patterns.ml import rank_orders, training_of

    training = training_of(graph)
    if training is None:
        return "", 0
    values = {
        name: CommCost().value(graph, mapping.where, slots[rank].astype(np.int32))
        for name, rank in rank_orders(training).items()
    }
    order = min(values, key=lambda name: values[name])  # the first of equal ones
    return order, values[order]
