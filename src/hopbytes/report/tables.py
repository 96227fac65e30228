"""Tables and sentences about a mapping, for terminals."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping as Dictionary
from functools import partial
from typing import Any

from hopbytes.cost.metrics.evaluation import HEADINGS, Evaluation, Row, notes, rows
from hopbytes.errors import printable
from hopbytes.machines.base import NODE_NAMES
from hopbytes.model.mapping import Mapping
from hopbytes.report.layout import table_lines
from hopbytes.util.quantities import short_amount

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
TOLD_LEVELS = (*NODE_NAMES, "package", "socket")


def evaluation_table(
    evaluation: Evaluation, columns: int = 80, *, complete: bool = True, unit: str | None = None,
    slot: str = "PE",
) -> str:
    """Return the metrics as text: those of the mapping beside the in order and random mappings."""
    lines = chosen_rows(evaluation, complete=complete, unit=unit)
    if slot != "PE":
        lines = [line._replace(label=_in_words(line.label, slot)) for line in lines]
    table = list(zip(HEADINGS, *lines, strict=True))
    shown = [column for column in table if any(column[1:])]
    for heading in (HEADINGS[5], HEADINGS[4], HEADINGS[3]):
        if _width(shown) > columns:
            shown = [column for column in shown if column[0] != heading]
    text = table_lines(list(zip(*shown, strict=True)))
    sentences = [_in_words(each, slot) for each in notes(evaluation)] if slot != "PE" else notes(evaluation)
    if unit is not None:
        sentences.insert(0, f"J is {'bytes' if unit == 'B' else 'volume'} x distance")
    if not complete:
        links = [each for each in sentences if each.startswith("hottest link")]
        sentences = [each for each in sentences if each not in links[LINKS:]]
    return printable("\n".join(text + _wrapped(sentences, columns)), "\n")


def chosen_rows(evaluation: Evaluation, *, complete: bool, unit: str | None) -> list[Row]:
    """Return the rows of :func:`evaluation_table`; a row with empty cells is the heading of those below."""
    volume = None if unit is None else partial(short_amount, unit=unit)
    lines = rows(evaluation, True, volume)
    if complete:
        return lines
    chosen = [_plain_label(line) for line in lines if line.label in FIRST or _heads(line)]
    return _without_empty_levels(chosen)


def _in_words(text: str, slot: str) -> str:
    return re.sub(r"\barc(s?)\b", r"pair\1", re.sub(r"\bPE(s?)\b", rf"{slot}\1", text))


def _heads(line: Row) -> bool:
    """Return whether a line only names a level."""
    return not any(line[1:])


def _plain_label(line: Row) -> Row:
    return line._replace(label=re.sub(r" \([A-Za-z]+\)$", "", line.label))


def _without_empty_levels(lines: list[Row]) -> list[Row]:
    """Return the lines without names of levels that no line follows."""
    pairs = zip(lines, [*lines[1:], Row("")], strict=True)
    return [line for line, after in pairs if not (_heads(line) and _heads(after))]


def _width(columns: list[tuple[str, ...]]) -> int:
    return sum(max(map(len, column)) + 2 for column in columns) - 2


def _wrapped(sentences: list[str], columns: int) -> list[str]:
    return [line for each in sentences for line in textwrap.wrap(each, columns, subsequent_indent="  ")]


def summary(evaluation: Evaluation, mapping: Mapping) -> str:
    """Return one line about a new mapping: J, the gain, the tasks per unit, the balance.

    Another objective than J comes first, with its values for in order and random mappings.

    >>> import numpy as np
    >>> from hopbytes.model.allocation import Allocation
    >>> from hopbytes.model.comm_graph import CommGraph
    >>> from hopbytes.machines.spec import parse_machine
    >>> from hopbytes.cost.metrics.evaluation import evaluate
    >>> graph = CommGraph.from_edges([0, 1], [2, 3], [5, 5])
    >>> mapping = Mapping(np.array([0, 2, 1, 3], np.int32), Allocation.whole(parse_machine("node:2 core:2")))
    >>> summary(evaluate(graph, mapping, random_seeds=0), mapping)
    'J 10 (bytes x distance), 90.0 % below in order; 2 tasks per node; imbalance 0.0 %'
    """
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
    changes = []
    if evaluation.in_order is not None:
        changes.append(_from(own, getattr(evaluation.in_order.links, name), "in order"))
    chance = [getattr(one.links, name) for one in evaluation.random]
    if chance:
        changes.append(_from(own, sum(chance) / len(chance), "random"))
    return ", ".join([f"{name.replace('_', ' ')} {_short(own)}", *changes])


def _from(value: float, base: float, name: str) -> str:
    return f"{_beside(value, base, name)} ({_short(base)})" if base else f"{name} {_short(base)}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.4g}"


def _cost(evaluation: Evaluation, info: Dictionary[str, Any]) -> str:
    cost = evaluation.mapping.comm_cost
    changes = []
    if evaluation.in_order is not None and evaluation.in_order.comm_cost:
        changes.append(_beside(cost, evaluation.in_order.comm_cost, "in order"))
    chance = [one.comm_cost for one in evaluation.random]
    if sum(chance):
        changes.append(_beside(cost, sum(chance) / len(chance), "random"))
    weight = str(info.get("weight", "bytes"))
    plain = evaluation.scale == 1 and info.get("problem") != "partition"
    unit = {"bytes": "bytes" if plain else "volume", "unit": "messages"}.get(weight, weight)
    return ", ".join([f"J {cost:,} ({unit} x distance)", *changes])


def _beside(cost: float, base: float, name: str) -> str:
    if cost == base:
        return f"the same as {name}"
    change = f"{abs(cost / base - 1):.1%}".replace("%", " %")
    return f"{change} {'below' if cost < base else 'above'} {name}"


def _tasks(evaluation: Evaluation) -> str:
    parts = []
    for unit in evaluation.tasks_per_unit:
        if unit.level in TOLD_LEVELS:
            held = f"{unit.fewest:,}" if unit.fewest == unit.most else f"{unit.fewest:,} to {unit.most:,}"
            unused = f" on {unit.used:,} of {unit.units:,}" if unit.used < unit.units else ""
            parts.append(f"{held} {_task(unit.most)} per {unit.level}{unused}")
    return ", ".join(parts)


def _task(most: int) -> str:
    return "task" if most == 1 else "tasks"


def _balance(evaluation: Evaluation, info: Any) -> str:
    # With one task per slot and no loads the slots determine the balance, which needs no words.
    one_each = evaluation.mapping.max_tasks_per_pe <= 1 and evaluation.mapping.max_load <= 1
    if info.get("problem") == "processes" and one_each:
        return ""
    few, many = evaluation.mapping.min_tasks_per_pe, evaluation.mapping.max_tasks_per_pe
    if info.get("problem") == "processes" and many == evaluation.mapping.max_load:
        return f"{many} {_task(many)} per slot" if few == many else f"{few} to {many} tasks per slot"
    kept = f" (bound {info['balance']})" if info.get("balance") else ""
    return f"imbalance {evaluation.mapping.imbalance:.1%}".replace("%", " %") + kept
