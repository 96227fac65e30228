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
from hopbytes.text.columns import table_lines
from hopbytes.util.quantities import duration, short_amount

#: What each part of a prediction is in a sentence.
LIMITS = {
    "link": "the busiest link",
    "injection": "the busiest node",
    "copy": "copies inside a node",
    "message": "the longest single message",
}
TWO_TIMES = "Two times: data sent at once, and when their receive is posted; the change is the smaller gain."
GRADES = {
    "bound": "lower bounds, no simulation",
    "flows": "flows that share links between nodes",
    "waiting": "steps of a trace, in which tasks wait for each other",
    "replay": "all messages, replayed by SimGrid",
}


def predict(
    graph: CommGraph, where: Allocation, mappings: Dictionary[str, Mapping], order: str,
    use: SlotUse, options: dict[str, Any], written: dict[str, Any],
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
    rows: list[dict[str, Any]] = [{"mapping": name, **one.to_dict()} for name, one in predictions.items()]
    notices = [notice for row in rows for notice in row.pop("notices")]
    notices += [
        f"{name} was made for another pattern of as many tasks; is the trace of the same run?"
        for name, mapping in mappings.items() if mapping.info.get("other_pattern")
    ]  # fmt: skip
    return {
        "machine": where.machine.spec(),
        "grade": next(iter(predictions.values())).grade,
        "predictions": rows,
        "notices": [*where.notices, *dict.fromkeys(notices)],
    }


def predicted_text(predictions: Dictionary[str, Prediction]) -> str:
    """Return a table of predictions, and what limits each of them."""
    base = next(iter(predictions.values()))
    rows = [("mapping", f"{'seconds':>11}", f"{'change':>8}", "limited by")]
    for name, one in predictions.items():
        change = "" if one is base or not base.seconds else f"{one.beside(base) - 1:+.1%}"
        rows.append((name, both_times(one), change, _limit(one)))
    rounds = f"{base.rounds} rounds" if base.rounds > 1 else "1 round"
    return "\n".join([
        f"Predicted time of all messages ({GRADES[base.grade]}):",
        *table_lines(rows, "<>><"),
        f"{rounds} of {base.messages:,} messages; computation is not part of it.",
        *([TWO_TIMES] if base.posted_seconds is not None else []),
    ])  # fmt: skip


def both_times(one: Prediction) -> str:
    """Return the time of a prediction, or its two times."""
    posted = "" if one.posted_seconds is None else f" / {duration(one.posted_seconds)}"
    return duration(one.seconds) + posted


def _limit(one: Prediction) -> str:
    what = LIMITS[one.limit]
    if one.limit == "link" and one.links:
        name, size, _ = one.links[0]
        what += f", {name} with {short_amount(size, 'B')}"
    return what
