"""Tables and sentences about the metrics of one or two mappings, for terminals."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable
from collections.abc import Mapping as Dictionary
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.cost.metrics.evaluation import HEADINGS, Evaluation, Row, evaluate, notes, rows
from hopbytes.cost.metrics.mapping_metrics import MappingMetrics
from hopbytes.errors import UnsupportedError, printable
from hopbytes.machines.base import NODE_NAMES
from hopbytes.model.comm_graph import CommGraph, PatternLike
from hopbytes.model.mapping import Mapping
from hopbytes.text.columns import table_lines
from hopbytes.util.quantities import amount, number, short_amount

#: Rows of the short table; ``--all`` adds all others.
FIRST = (
    "communication cost J", "  against in order", "seconds of all messages", "mean distance by volume",
    "imbalance", "tasks on a PE", "communication volume (totalv)", "neighbours of a PE, mean, most",
    "volume between nodes (ICV)", "messages between nodes (ICM)", "pairs between nodes (ICM)",
    "most received by a node (MNRV)", "  hop-bytes (WH)", "  highest congestion (MC)", "  share of J",
    "  volume",
)
#: Number of most congested links in the short table.
LINKS = 3
#: Levels whose number of tasks is in the one-line summary, if the machine has them.
SUMMARY_LEVELS = (*NODE_NAMES, "package", "socket")
#: Longest name of a mapping in the heading of a column.
LONGEST_NAME = 20


def evaluation_table(
    evaluation: Evaluation, columns: int = 80, *, complete: bool = True, unit: str | None = None,
    slot: str = "PE",
) -> str:
    """Return the metrics as text: those of the mapping beside the in order and random mappings."""
    lines = [row._replace(label=_in_words(row.label, slot))
             for row in chosen_rows(evaluation, complete=complete, unit=unit)]  # fmt: skip
    shown = [column for column in zip(HEADINGS, *lines, strict=True) if any(column[1:])]
    text = table_lines(list(zip(*shown, strict=True)))
    for heading in (HEADINGS[5], HEADINGS[4], HEADINGS[3]):
        if max(map(len, text)) > columns:
            shown = [column for column in shown if column[0] != heading]
            text = table_lines(list(zip(*shown, strict=True)))
    sentences = [_in_words(sentence, slot) for sentence in notes(evaluation)]
    if unit is not None:
        sentences.insert(0, f"J is {'bytes' if unit == 'B' else 'volume'} x distance")
    if not complete:
        links = [sentence for sentence in sentences if sentence.startswith("busiest link")]
        sentences = [sentence for sentence in sentences if sentence not in links[LINKS:]]
    for sentence in sentences:
        text += textwrap.wrap(sentence, columns, subsequent_indent="  ")
    return printable("\n".join(text), "\n")


def chosen_rows(evaluation: Evaluation, *, complete: bool, unit: str | None) -> list[Row]:
    """Return the rows of :func:`evaluation_table`; a row with empty cells is the heading of those below."""
    volume = None if unit is None else partial(short_amount, unit=unit)
    lines = rows(evaluation, volume)
    if complete:
        return lines
    lines = [
        line._replace(label=re.sub(r" \([A-Za-z]+\)$", "", line.label))
        for line in lines if line.label in FIRST or not any(line[1:])
    ]  # fmt: skip
    pairs = zip(lines, [*lines[1:], Row("")], strict=True)  # headings that no line follows are left out
    return [line for line, after in pairs if any(line[1:]) or any(after[1:])]


def _in_words(text: str, slot: str) -> str:
    if slot == "PE":
        return text
    return re.sub(r"\barc(s?)\b", r"pair\1", re.sub(r"\bPE(s?)\b", rf"{slot}\1", text))


def summary(evaluation: Evaluation, mapping: Mapping) -> str:
    """Return one line about a new mapping: J, the gain, the tasks per unit, the balance."""
    parts = [
        _objective(evaluation, mapping.info), _cost(evaluation, mapping.info), _tasks(evaluation),
        _balance(evaluation, mapping.info),
    ]
    return "; ".join(part for part in parts if part)


def _objective(evaluation: Evaluation, info: Dictionary[str, Any]) -> str:
    """Return the value of the objective if it is not J."""
    name = str(info.get("objective", "comm_cost"))
    own = getattr(evaluation.mapping.links, name, None)
    if own is None:
        return ""
    texts = [f"{name.replace('_', ' ')} {number(own)}"]
    for base, order in _bases(evaluation, lambda one: getattr(one.links, name)):
        texts.append(f"{_beside(own, base, order)} ({number(base)})" if base else f"{order} {number(base)}")
    return ", ".join(texts)


def _cost(evaluation: Evaluation, info: Dictionary[str, Any]) -> str:
    cost, weight = evaluation.mapping.comm_cost, str(info.get("weight", "bytes"))
    plain = evaluation.scale == 1 and info.get("problem") != "partition"
    unit = {"bytes": "bytes" if plain else "volume", "unit": "messages"}.get(weight, weight)
    bases = _bases(evaluation, lambda one: one.comm_cost)
    changes = [_beside(cost, base, order) for base, order in bases if base]
    return ", ".join([f"J {cost:,} ({unit} x distance)", *changes])


def _bases(evaluation: Evaluation, pick: Callable[[MappingMetrics], float]) -> list[tuple[float, str]]:
    """Return a metric of the mapping in order and the mean of random mappings, with their names."""
    bases = [] if evaluation.in_order is None else [(pick(evaluation.in_order), "in order")]
    chance = [pick(one) for one in evaluation.random]
    return bases + ([(sum(chance) / len(chance), "random")] if chance else [])


def _beside(cost: float, base: float, name: str) -> str:
    if cost == base:
        return f"the same as {name}"
    change = f"{abs(cost / base - 1):.1%}".replace("%", " %")
    return f"{change} {'below' if cost < base else 'above'} {name}"


def _tasks(evaluation: Evaluation) -> str:
    parts = []
    for unit in evaluation.tasks_per_unit:
        if unit.level in SUMMARY_LEVELS:
            held = f"{unit.fewest:,}" if unit.fewest == unit.most else f"{unit.fewest:,} to {unit.most:,}"
            unused = f" on {unit.used:,} of {unit.units:,}" if unit.used < unit.units else ""
            parts.append(f"{held} {_task(unit.most)} per {unit.level}{unused}")
    return ", ".join(parts)


def _task(most: int) -> str:
    return "task" if most == 1 else "tasks"


def _balance(evaluation: Evaluation, info: Dictionary[str, Any]) -> str:
    # With one task per slot and no loads the slots determine the balance, which needs no words.
    own, processes = evaluation.mapping, info.get("problem") == "processes"
    few, many = own.min_tasks_per_pe, own.max_tasks_per_pe
    if processes and many <= 1 and own.max_load <= 1:
        return ""
    if processes and many == own.max_load:
        return f"{many} {_task(many)} per slot" if few == many else f"{few} to {many} tasks per slot"
    kept = f" (bound {info['balance']})" if info.get("balance") else ""
    return f"imbalance {own.imbalance:.1%}".replace("%", " %") + kept


# Two mappings side by side

Metric: TypeAlias = tuple[str, Callable[[Any], float], Callable[[float], str]]


@frozen
class MappingComparison:
    """The metrics of two mappings, and the number of tasks whose PEs differ.

    Parameters
    ----------
    first, second : MappingMetrics
    tasks : int
    other_pe, other_node : int
        Tasks that are on another PE, and on another node.
    volume_is_bytes : bool
        False if the volumes of the source were scaled.
    slot : str
        What a PE is called in the text.
    """

    first: MappingMetrics
    second: MappingMetrics
    tasks: int
    other_pe: int
    other_node: int
    volume_is_bytes: bool
    slot: str = "PE"

    def __str__(self) -> str:
        return self.text("first", "second")

    def to_dict(self) -> dict[str, Any]:
        """Return exact numbers for JSON."""
        return {
            "tasks": self.tasks,
            "tasks_on_another_pe": self.other_pe,
            "tasks_on_another_node": self.other_node,
            "mapping": self.first.to_dict(),
            "other": self.second.to_dict(),
        }

    def text(self, first: str, second: str) -> str:
        """Return the table; `first` and `second` are the names of the mappings."""
        names = [name if len(name) <= LONGEST_NAME else os.path.basename(name)[-LONGEST_NAME:]
                 for name in (first, second)]  # fmt: skip
        table: list[tuple[str, ...]] = [("", *names, "change")]
        for label, pick, words in self._metrics():
            one, other = pick(self.first), pick(self.second)
            change = f"{other / one - 1:+.1%}".replace("%", " %") if one and other != one else ""
            table.append((label, words(one), words(other), change))
        moved = f"{self.other_pe:,} of {self.tasks:,} tasks are on another {self.slot}"
        return "\n".join([*table_lines(table), f"{moved}, {self.other_node:,} on another node"])

    def _metrics(self) -> list[Metric]:
        """Return the name of each metric, what picks it, and what writes it."""
        volume: Callable[[float], str] = amount if self.volume_is_bytes else number
        metrics: list[Metric] = [
            ("communication cost J", attrgetter("comm_cost"), number),
            ("volume between nodes", attrgetter("traffic.inter_node_volume"), volume),
            ("messages between nodes", attrgetter("traffic.inter_node_messages"), number),
            ("most received by a node", attrgetter("traffic.max_node_receive_volume"), volume),
        ]
        if self.first.links is not None:
            metrics += [
                ("hop-bytes", attrgetter("links.hop_bytes"), number),
                ("highest congestion", attrgetter("links.max_congestion"), number),
            ]
        metrics += [
            ("mean distance by volume", attrgetter("weighted_mean_distance"), number),
            (f"most tasks on a {self.slot}", attrgetter("max_tasks_per_pe"), number),
        ]
        for index, level in enumerate(self.first.levels):
            label = f"volume at {level.name} (distance {level.distance})"
            metrics.append((label, partial(_volume_at, index), volume))
        return metrics


def _volume_at(level: int, metrics: MappingMetrics) -> int:
    return metrics.levels[level].volume


def compare(graph: PatternLike, first: Mapping, second: Mapping) -> MappingComparison:
    """Measure two mappings of a pattern on the same machine.

    Parameters
    ----------
    graph : CommGraph, or what :func:`hopbytes.map_tasks` takes for one
    first, second : Mapping

    Returns
    -------
    MappingComparison
        ``print`` shows it as a table; ``to_dict()`` has the numbers.

    Raises
    ------
    UnsupportedError
        The mappings are on different machines.

    Notes
    -----
    O(n + m) each.

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.allocate("node:2@10 core:2@1")
    >>> one, other = hb.Mapping([0, 1, 2, 3], where), hb.Mapping([0, 2, 1, 3], where)
    >>> hb.compare("stencil:4x1", one, other).other_node
    2
    """
    graph, first, second = CommGraph.checked(graph), Mapping.of(first), Mapping.of(second)
    machines = [mapping.where.machine.spec() for mapping in (first, second)]
    if machines[0] != machines[1] or first.where.k != second.where.k:
        raise UnsupportedError(
            f"the mappings are on different machines ({machines[0]} and {machines[1]}), expected one machine"
        )
    own, other = (evaluate(graph, mapping, baselines=False).mapping for mapping in (first, second))
    nodes = [mapping.where.node_of_pe[mapping.pe] for mapping in (first, second)]
    other_pe, other_node = (int(np.count_nonzero(a != b)) for a, b in ((first.pe, second.pe), nodes))
    return MappingComparison(own, other, graph.n, other_pe, other_node, graph.scale == 1)
