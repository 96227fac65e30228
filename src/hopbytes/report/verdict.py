"""The verdict on a mapping in sentences: the traffic between nodes, and whether the gain is worthwhile."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._util.quantities import amount, number
from hopbytes.cost.metrics.evaluation import Evaluation
from hopbytes.cost.metrics.mapping_metrics import MappingMetrics
from hopbytes.model.mapping import Mapping

#: Shares of the objective below which a gain is negligible, and small; from the last one on it is large.
NOTHING, SMALL, LARGE = 0.005, 0.10, 0.30

#: The command that measures the effect of a mapping.
MEASURE = "('hopbytes bench-pattern' measures it)"

#: Descriptions of the launcher's own order, by its name in
#: :func:`hopbytes.machines.selection.launcher_order.launcher_placement`.
ORDERS = {
    "fill": "nodes filled in order, as mpirun does",
    "block": "equally many in order on every node, as srun does",
    "cyclic": "nodes in turn, as srun --distribution=cyclic does",
    "bynode": "nodes in turn, as mpirun --map-by node does",
}
#: Descriptions of the choice of slots, by its name in ``Mapping.info["slots"]``.
SLOTS = {
    "filled": "nodes are filled, as mpirun does",
    "spread": "every node holds equally many",
    "free": "the slots with the lowest cost are used",
    "job": "each node holds as many as the job says",
}
OTHERWISE = {"filled": "with nodes filled, as mpirun does", "spread": "with every node holding equally many"}
OPTIONS = {"filled": "--pack", "spread": "--spread"}


def verdict(evaluation: Evaluation, mapping: Mapping) -> list[str]:
    """Return the most important facts about a mapping, in whole sentences.

    Parameters
    ----------
    evaluation : Evaluation
        With baselines.
    mapping : Mapping

    Returns
    -------
    list of str
        The traffic between nodes (or between the outermost units of a single node) beside that of the
        launcher's own order; then whether the gain is worthwhile. Empty if there is nothing to compare.

    Examples
    --------
    >>> import numpy as np
    >>> import hopbytes as hb
    >>> graph = hb.CommGraph.from_edges([0, 1], [2, 3], [5000, 5000])
    >>> mapping = hb.map_tasks(graph, hb.machine("node:2@10 core:2@1"))
    >>> first, second = verdict(hb.evaluate(graph, mapping), mapping)
    >>> print(first.replace("; ", ";\\n"))
    Between nodes: 0 B, none of all bytes;
    in order (nodes filled in order, as mpirun does) 10 kB, 100 %: all of it less.
    >>> print(second)
    The gain is large if the program waits for messages ('hopbytes bench-pattern' measures it).
    """
    if evaluation.in_order is None:
        return []
    sentences = [*_between_units(evaluation, mapping), _worth(evaluation, mapping.info)]
    return [sentence for sentence in sentences if sentence]


def volume_unit(evaluation: Evaluation, mapping: Mapping) -> str:
    """Return "B" if volumes are bytes, otherwise ""."""
    unit = _unit_of_volume(evaluation, mapping.info)[0]
    return unit if unit == "B" else ""


def slots_sentence(mapping: Mapping) -> str:
    """Return which slots are used and what the alternatives would cost; "" if there was no choice."""
    info = mapping.info
    slots, values = info.get("slots"), dict(info.get("alternatives", {}))
    if slots not in SLOTS or not values:
        return ""
    objective = str(info.get("objective", "comm_cost"))
    name = "J" if objective == "comm_cost" else objective.replace("_", " ")
    others = [
        f"{OTHERWISE[other]}: {name} {number(values[other])} ({OPTIONS[other]})"
        for other in OPTIONS
        if other != slots and other in values
    ]
    what = "tasks" if info.get("problem") == "partition" else "processes"
    sentence = f"{mapping.n:,} {what} on {mapping.where.k:,} slots: {SLOTS[str(slots)]}"
    return "; ".join([sentence, *others])


def _between_units(evaluation: Evaluation, mapping: Mapping) -> list[str]:
    """Return the traffic between nodes: of this mapping, in order, and in the recorded run."""
    base, info, total = evaluation.in_order, mapping.info, evaluation.total_volume
    assert base is not None
    nodes = mapping.where.node_of_pe
    several = bool(len(nodes)) and bool(np.any(nodes != nodes[0]))
    if not total or not (several or len(base.levels) > 1):
        return []
    unit = "node" if several else base.levels[0].name
    own, theirs = _leaving(evaluation.mapping, several), _leaving(base, several)
    name, what = _unit_of_volume(evaluation, info)
    order = ORDERS.get(evaluation.launcher, f"the launcher's order {evaluation.launcher}")
    if info.get("problem") == "partition" and int(mapping.tasks_per_pe().max()) > 1:
        order = "blocks of consecutive tasks"
    sentences = [
        f"Between {unit}s: {amount(own, name)}, {_share(own, total)} of all {what}; in order ({order}) "
        f"{amount(theirs, name)}, {_share(theirs, total)}{_change(own, theirs)}."
    ]
    if evaluation.recorded is not None:
        then = _leaving(evaluation.recorded, several)
        sentences.append(f"As it was recorded: {amount(then, name)} between {unit}s{_change(own, then)}.")
    return sentences


def _leaving(one: MappingMetrics, several_nodes: bool) -> int:
    """Return the volume between nodes, or on a single node between its outermost units."""
    if several_nodes:
        return 0 if one.traffic is None else int(one.traffic.inter_node_volume)
    return one.levels[0].volume


def _unit_of_volume(evaluation: Evaluation, info: Dictionary[str, Any]) -> tuple[str, str]:
    """Return the unit and the name of volumes: bytes only if the source counted bytes."""
    if info.get("weight", "bytes") in ("messages", "unit"):
        return "messages", "messages"
    if evaluation.scale != 1 or info.get("problem") == "partition":
        return "", "volume"
    return "B", "bytes"


def _share(part: int, whole: int) -> str:
    share = part / whole
    if part == 0 or part == whole:
        return "none" if part == 0 else "100 %"
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"


def _change(own: float, base: float) -> str:
    if not base or abs(own / base - 1) < 0.0005:  # changes that would be printed as 0.0 %
        return ""
    if not own:
        return ": all of it less"
    return f": {abs(own / base - 1):.1%} {'less' if own < base else 'more'}".replace("%", " %")


def _worth(evaluation: Evaluation, info: Dictionary[str, Any]) -> str:
    base = evaluation.in_order
    assert base is not None
    if info.get("problem") == "partition":
        return ""
    own, theirs = _objective(evaluation.mapping, info), _objective(base, info)
    if own == theirs and "said_by" in info:
        return f"There is nothing to gain as long as ranks stay in the order that {info['said_by']} keeps."
    if own == theirs:
        what = "tasks in order are as good as anything found. Start the program as always."
        return f"There is nothing to gain: {what}"
    if own > theirs:
        what = "start the program as always, or request other slots."
        return f"This mapping costs more than tasks in order: {what}"
    gain = 1 - own / theirs
    if gain < NOTHING:
        return "There is next to nothing to gain: start the program as always."
    if gain < SMALL:
        return f"The gain is small: expect little unless the program waits for messages {MEASURE}."
    size = "large" if gain >= LARGE else "fair"
    return f"The gain is {size} if the program waits for messages {MEASURE}."


def _objective(one: MappingMetrics, info: Dictionary[str, Any]) -> float:
    """Return the value of the objective the mapping was made for."""
    value: float = getattr(one.links, str(info.get("objective", "comm_cost")), one.comm_cost)
    return one.comm_cost if value is None else value
