"""Predicted times of several mappings of one pattern, for people and as a record."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.errors import InfeasibleError
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.model.allocation import Allocation, SlotUse
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.simulation.simulate import Prediction, simulate
from hopbytes.util.quantities import duration, short_amount

#: What each part of a prediction says in a sentence.
LIMITS = {
    "link": "the busiest link",
    "injection": "the busiest node",
    "copy": "copies inside a node",
    "message": "the longest single message",
}
GRADES = {
    "bound": "lower bounds, no simulation",
    "flows": "flows that share links between nodes",
    "replay": "all messages, replayed by SimGrid",
}


def predict(
    graph: CommGraph,
    where: Allocation,
    mappings: Dictionary[str, Mapping],
    order: str,
    use: SlotUse,
    options: dict[str, Any],
    written: dict[str, Any],
) -> dict[str, Prediction]:
    """Return predictions by name: the launcher's own order first, then `mappings`."""
    predictions = {}
    try:
        usual = launcher_placement(where, graph.n, order, use)
        predictions[f"in order ({order})"] = simulate(graph, usual, **options, **written)
    except InfeasibleError:
        if not mappings:
            raise
    for name, mapping in mappings.items():
        predictions[name] = simulate(graph, mapping, **options, **({} if predictions else written))
    return predictions


def predictions_record(
    predictions: Dictionary[str, Prediction], mappings: Dictionary[str, Mapping], where: Allocation
) -> dict[str, Any]:
    """Return what ``simulate --json`` prints; notices that several predictions have are given once."""
    every = [notice for each in predictions.values() for notice in each.notices]
    rows = []
    for name, each in predictions.items():
        row = each.to_dict()
        row.pop("notices")
        rows.append({"mapping": name, **row})
    every += [
        f"{name} was made for another pattern of as many tasks; is the trace of the same run?"
        for name, one in mappings.items() if one.info.get("other_pattern")
    ]
    return {
        "machine": where.machine.spec(),
        "grade": next(iter(predictions.values())).grade,
        "predictions": rows,
        "notices": [*where.notices, *dict.fromkeys(every)],
    }


def predicted_text(predictions: Dictionary[str, Prediction]) -> str:
    """Return a table of predictions, and what limits each of them."""
    base = next(iter(predictions.values()))
    width = max(len("mapping"), *(len(name) for name in predictions))
    lines = [
        f"Predicted time of all messages ({GRADES[base.grade]}):",
        f"{'mapping':<{width}}  {'seconds':>11}  {'change':>8}  limited by",
    ]
    for name, each in predictions.items():
        change = "" if each is base else f"{each.seconds / base.seconds - 1:+.1%}" if base.seconds else ""
        lines.append(f"{name:<{width}}  {duration(each.seconds):>11}  {change:>8}  {_limit(each)}")
    rounds = f"{base.rounds} rounds" if base.rounds > 1 else "1 round"
    lines.append(f"{rounds} of {base.messages:,} messages; computation is not part of it.")
    return "\n".join(lines)


def _limit(one: Prediction) -> str:
    what = LIMITS[one.limit]
    if one.limit == "link" and one.links:
        name, size, _ = one.links[0]
        what += f", {name} with {short_amount(size, 'B')}"
    return what
