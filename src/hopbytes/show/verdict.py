"""The verdict on a mapping: is it worth a change? Traffic and time beside the launcher's order.

What takes time to import is imported by the functions that need it, since ``map --quiet`` needs none of it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.util.quantities import amount, duration, number, percent

if TYPE_CHECKING:
    from hopbytes.cost.metrics.evaluation import Evaluation
    from hopbytes.cost.metrics.mapping_metrics import MappingMetrics
    from hopbytes.simulation.simulate import Prediction

CHANGE, KEEP, OPEN = "change", "keep", "not decided"
#: Share of the predicted time below which a gain is not worth a change, and which is printed as none.
WORTH, NOTHING = 0.05, 0.0005
#: Arcs of a pattern, and flows between nodes, above which no time is predicted beside a mapping.
MOST_ARCS, MOST_FLOWS = 200_000, 10_000
#: Grades that know what a program waits for, and what is said of the others.
REPLAYED = ("waiting", "replay")
UNCHECKED = "Not checked against waiting: there is no trace beside the pattern ('hopbytes record' keeps one)."
#: Number of random mappings for comparison; a graph with more arcs than the limit gets one, to save time.
RANDOM_SEEDS, ARCS_FOR_ALL_SEEDS = 10, 2_000_000

#: Descriptions of the launcher's own order, by its name in
#: :func:`hopbytes.machines.allocate.launcher_order.launcher_placement`.
ORDERS = {
    "fill": "nodes filled in order, as mpirun does",
    "block": "equally many in order on every node, as srun does",
    "cyclic": "nodes in turn, as srun --distribution=cyclic does, and MPICH for hosts without :N",
    "bynode": "nodes in turn, as mpirun --map-by node does",
}
#: Descriptions of the choice of slots, by its name in ``Mapping.info["slots"]``.
SLOTS = {
    "filled": "nodes are filled, as mpirun does",
    "spread": "every node holds equally many",
    "free": "the slots with the lowest cost are used",
    "job": "each node holds as many as the job says",
}
#: Other choices of slots, with the option that makes them.
OTHERWISE = {
    "filled": ("with nodes filled, as mpirun does", "--pack"),
    "spread": ("with every node holding equally many", "--spread"),
}


@frozen(eq=False)
class Verdict:
    """What all verbs print about a mapping beside the launcher's own order."""

    decision: str | None  # ``"change"``, ``"keep"`` or ``"not decided"``; None for a partition
    sentence: str  # the decision in words; "" for a partition
    remark: str  # what a gain of time means; "" without one
    #: the bytes between nodes (or outermost units) of this mapping, in order, and as recorded, in words
    traffic: tuple[str, ...]
    evaluation: Evaluation  # of this mapping and of the launcher's order
    unit: str  # of volumes: ``"B"``, ``"messages"``, or "" if they are no bytes
    predicted: Prediction | None  # of this mapping and of the launcher's order, if a time was predicted
    usual: Prediction | None

    @property
    def keep(self) -> bool | None:
        """Whether to keep the launcher's own order; None where that is not decided."""
        return {CHANGE: False, KEEP: True}.get(str(self.decision))

    @property
    def sentences(self) -> list[str]:
        """The traffic, then the decision and what it means."""
        return [text for text in (*self.traffic, self.sentence, self.remark) if text]

    @property
    def marks(self) -> dict[str, str]:
        """The line that is set off on a terminal, with its style."""
        return {self.sentence: self.decision} if self.decision else {}

    def to_dict(self) -> dict[str, Any]:
        own, usual = self.predicted, self.usual
        mapping, base = self.evaluation.mapping, self.evaluation.in_order
        assert base is not None
        between, between_in_order = (  # None on a machine of one node
            None if one.traffic is None else int(one.traffic.inter_node_volume) for one in (mapping, base)
        )
        return {
            "decision": self.decision, "keep": self.keep, "sentences": self.sentences,
            "comm_cost": mapping.comm_cost, "comm_cost_in_order": base.comm_cost,
            "between_nodes": between, "between_nodes_in_order": between_in_order,
            "unit": self.unit, "grade": None if own is None else own.grade,
            "seconds": None if own is None else own.seconds,
            "seconds_in_order": None if usual is None else usual.seconds,
            "assumed": None if own is None else own.assumed or None,
            "checked_against_waiting": None if own is None else own.grade in REPLAYED,
        }  # fmt: skip


def verdict(
    graph: CommGraph, mapping: Mapping, evaluation: Evaluation, *, name: str = "this mapping",
    usual: Mapping | None = None, predictions: tuple[Prediction, Prediction] | None = None,
) -> Verdict:
    """Return the verdict on a mapping, by the predicted time of its messages (:func:`hopbytes.simulate`)."""
    from hopbytes.cost.metrics.baselines import in_order, is_partition
    from hopbytes.patterns.ml import is_training

    training = is_training(graph)
    if usual is None and not is_partition(mapping):
        usual = Mapping(in_order(graph, mapping, evaluation.launcher), mapping.where)
    decision, sentence = None, ""
    if usual is not None:
        times = predictions or _predicted(graph, usual, mapping)
        decision, sentence = _decided(times, usual, mapping, name, training)
        if decision == OPEN:
            assert evaluation.in_order is not None
            sentence += _by_cost(evaluation.mapping.comm_cost, evaluation.in_order.comm_cost)
        predictions = None if isinstance(times, str) else times
    measure = "" if training else " ('hopbytes bench-pattern' measures it)"
    remark = f"The program gains this share of the time that it waits for them{measure}."
    if predictions is not None:
        remark += _how_sure(predictions[1])
    unit, what = volume_unit(graph, mapping), "volume"
    if mapping.info.get("weight", "bytes") in ("messages", "unit"):
        unit = what = "messages"
    elif unit:
        what = "bytes"
    return Verdict(
        decision, sentence, remark if decision == CHANGE else "",
        tuple(_between_units(evaluation, mapping, unit, what, training)), evaluation, unit,
        predictions[1] if predictions else None, predictions[0] if predictions else None,
    )  # fmt: skip


def judged(graph: CommGraph, mapping: Mapping, *, launcher: str = "fill", chance: bool = False) -> Verdict:
    """Return the verdict on a mapping under the weights for which it was made."""
    from hopbytes.cost.metrics.evaluation import evaluate

    seeds = (RANDOM_SEEDS if graph.m <= ARCS_FOR_ALL_SEEDS else 1) if chance else 0
    weighted, threads = graph.with_weights(mapping.info.get("weight", "bytes")), mapping.info.get("threads")
    evaluation = evaluate(weighted, mapping, random_seeds=seeds, launcher=launcher, threads=threads)
    return verdict(graph, mapping, evaluation)


def verdict_of(graph: CommGraph, mapping: Mapping, evaluation: Evaluation) -> Verdict:
    """Return the verdict on a mapping whose bytes were evaluated; `map` gave the same when it made it."""
    if mapping.info.get("weight", "bytes") in ("bytes", "time"):
        return verdict(graph, mapping, evaluation)
    return judged(graph, mapping, launcher=evaluation.launcher)


def map_summary(graph: CommGraph, mapping: Mapping, verdict: Verdict) -> list[str]:
    """Return the sentences about a mapping: the verdict, the slots in use, the numbers, and the phases."""
    from hopbytes.cost.metrics.parallelism import parallelism
    from hopbytes.show.evaluation_text import summary

    line = f"{mapping.info['problem']}: {summary(verdict.evaluation, mapping)}"
    if "migrations" in mapping.info:
        moved, price = mapping.info["migrations"], mapping.info["migration_cost"]
        line += f" · {moved} of {mapping.n} tasks migrate" + (f" for {price:,}" if price else "")
    phases = [
        f"{phase['name'][:40]}, weight {phase['weight']:g}: J {phase['comm_cost']:,}, "
        f"in order {phase['in_order']:,}"
        for phase in mapping.info.get("phases", ())
    ]
    kinds = map(str, parallelism(graph, mapping))
    return [text for text in (*verdict.sentences, *kinds, slots_sentence(mapping), line, *phases) if text]


def volume_unit(graph: CommGraph, mapping: Mapping) -> str:
    """Return "B" if volumes of the pattern are bytes, otherwise ""."""
    from hopbytes.cost.metrics.baselines import is_partition

    return "" if graph.scale != 1 or graph.volumes is None or is_partition(mapping) else "B"


def slots_sentence(mapping: Mapping) -> str:
    """Return which slots are used and what the alternatives would cost; "" if there was no choice."""
    info = mapping.info
    slots, values = info.get("slots"), dict(info.get("alternatives", {}))
    if slots not in SLOTS or not values:
        return ""
    objective = str(info.get("objective", "comm_cost"))
    name = "J" if objective == "comm_cost" else objective.replace("_", " ")
    what = "tasks" if info.get("problem") == "partition" else "processes"
    sentences = [f"{mapping.n:,} {what} on {mapping.where.k:,} slots: {SLOTS[str(slots)]}"]
    sentences += [
        f"{words}: {name} {number(values[other])} ({option})"
        for other, (words, option) in OTHERWISE.items()
        if other != slots and other in values
    ]
    return "; ".join(sentences)


def _how_sure(prediction: Prediction) -> str:
    """Return how often such predictions were right, and whether it is known what the program waits for."""
    from hopbytes.simulation.measured import MEASURED

    known = MEASURED.get(prediction.grade)
    text = "" if known is None else f" {known.sentence()}"
    return text if prediction.grade in REPLAYED else f"{text} {UNCHECKED}"


def _predicted(graph: CommGraph, usual: Mapping, mapping: Mapping) -> tuple[Prediction, Prediction] | str:
    """Return predictions of both mappings, or in words why there are none."""
    from hopbytes.formats.base import WAITING
    from hopbytes.simulation.simulate import simulate

    if WAITING in graph.meta:
        with contextlib.suppress(HopbytesError):  # a trace that cannot be replayed is as none
            return simulate(graph, usual, grade="waiting"), simulate(graph, mapping, grade="waiting")
    if graph.volumes is None:
        return "the pattern has no bytes"
    if graph.m > MOST_ARCS:
        return f"{graph.m:,} messages are too many to simulate here ('hopbytes simulate' does)"
    try:
        if graph.m > MOST_FLOWS:
            bounds = simulate(graph, usual, grade="bound"), simulate(graph, mapping, grade="bound")
            if max(one.flows for one in bounds) > MOST_FLOWS:
                return bounds
        return simulate(graph, usual), simulate(graph, mapping)
    except HopbytesError as error:
        return str(error).removeprefix("simulate: ")


def _decided(
    times: tuple[Prediction, Prediction] | str, usual: Mapping, mapping: Mapping, name: str, training: bool
) -> tuple[str, str]:
    order = "ranks in order" if training else "the launcher's own order"
    if np.array_equal(usual.pe, mapping.pe):
        if "said_by" in mapping.info:
            form = mapping.info["said_by"]
            return KEEP, f"There is nothing to gain as long as ranks stay in the order that {form} keeps."
        return KEEP, f"There is nothing to gain: {name} is {order}. Start the program as always."
    if isinstance(times, str):
        return OPEN, f"Not decided: no time is predicted, since {times}"
    before, after = (one.seconds for one in times)
    own, other = times[1].posted_seconds, times[0].posted_seconds
    if own is not None and other and own * before > after * other:
        before, after = other, own  # the protocol with the smaller gain decides
    instead = f", {duration(after)} instead of {duration(before)}"
    if times[1].grade == "bound":
        if abs(after - before) <= NOTHING * before:
            return OPEN, f"Not decided: the lower bounds of the time are equal ({duration(after)})"
        return OPEN, f"Not decided: there are lower bounds of the time only{instead}"
    saved = 1 - after / before if before else 0.0
    assumed = f" at assumed speeds ({times[1].assumed})" if times[1].assumed else ""
    assumed += ", in a replay of who waits for whom" if times[1].grade in REPLAYED else ""
    if abs(saved) < NOTHING:
        same = f"the messages are predicted to take {duration(after)} with {name} and with {order}"
        return KEEP, f"There is nothing to gain: {same}. Start the program as always."
    if saved < 0:
        what = f"with {name} the messages are predicted to take longer"
        return KEEP, f"Not worth a change: {what}{instead}{assumed}."
    if saved < WORTH:
        what = f"{name} is predicted to save only {percent(saved)} of the messages' time"
        return KEEP, f"Not worth a change: {what}{instead}{assumed}."
    less = f"{duration(after)} instead of {duration(before)} ({percent(saved)} less)"
    return CHANGE, f"Use {name}: the messages are predicted to take {less}{assumed}."


def _by_cost(own: int, base: int) -> str:
    """Return how J changes, as the end of a sentence that decides nothing."""
    if own == base or not base:
        return "; J is the same as in order."
    return f"; J is {percent(abs(own / base - 1))} {'lower' if own < base else 'higher'} than in order."


def _between_units(
    evaluation: Evaluation, mapping: Mapping, unit: str, what: str, training: bool
) -> list[str]:
    """Return the traffic between nodes: of this mapping, in order, and in the recorded run."""
    from hopbytes.cost.metrics.baselines import is_partition

    base, total = evaluation.in_order, evaluation.total_volume
    assert base is not None
    nodes = mapping.where.node_of_pe
    several = bool(len(nodes)) and bool(np.any(nodes != nodes[0]))
    if not total or not (several or len(base.levels) > 1):
        return []
    where = "node" if several else base.levels[0].name
    own, theirs = _leaving(evaluation.mapping, several), _leaving(base, several)
    order = ORDERS.get(evaluation.launcher, f"the launcher's order {evaluation.launcher}")
    if training and evaluation.launcher == "fill":
        order = "ranks node by node, as torchrun numbers them"
    if is_partition(mapping) and int(mapping.tasks_per_pe().max()) > 1:
        order = "blocks of consecutive tasks"
    sentences = [
        f"Between {where}s: {amount(own, unit)}, {_share(own, total)} of all {what}; in order ({order}) "
        f"{amount(theirs, unit)}, {_share(theirs, total)}{_change(own, theirs)}."
    ]
    if evaluation.recorded is not None:
        then = _leaving(evaluation.recorded, several)
        sentences.append(f"As it was recorded: {amount(then, unit)} between {where}s{_change(own, then)}.")
    return sentences


def _leaving(one: MappingMetrics, several_nodes: bool) -> int:
    """Return the volume between nodes, or on a single node between its outermost units."""
    if several_nodes:
        return 0 if one.traffic is None else int(one.traffic.inter_node_volume)
    return one.levels[0].volume


def _share(part: int, whole: int) -> str:
    if part in (0, whole):
        return "none" if part == 0 else "100 %"
    return f"{100 * (part / whole):.0f} %" if part / whole >= 0.1 else f"{100 * (part / whole):.2g} %"


def _change(own: float, base: float) -> str:
    if not base or abs(own / base - 1) < 0.0005:  # changes that would be printed as 0.0 %
        return ""
    if not own:
        return ": 100 % less"
    return f": {abs(own / base - 1):.1%} {'less' if own < base else 'more'}".replace("%", " %")
