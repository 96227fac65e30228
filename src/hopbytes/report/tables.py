"""Tables and sentences about a mapping, for terminals."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from typing import TYPE_CHECKING, Any

from hopbytes.cost.metrics.evaluation import Evaluation
from hopbytes.cost.metrics.plain_text import HEADINGS, notes, rows
from hopbytes.errors import printable
from hopbytes.machines.topology import NODE_NAMES
from hopbytes.model.mapping import Mapping

if TYPE_CHECKING:
    from rich.console import Group

#: Levels whose number of tasks the one-line summary tells, when the machine has them.
TOLD_LEVELS = (*NODE_NAMES, "package", "socket")


def evaluation_table(
    evaluation: Evaluation, width: int | None = None, *, complete: bool = True
) -> Group:
    """Return the metrics as a rich table: the mapping beside in-order and random placement.

    Columns nobody asked for (no baselines) are left out, and the range of the random placements where
    `width` (columns of the terminal) is too narrow for it. Print it with ``rich.console.Console``;
    ``str(evaluation)`` is the same without rich.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    lines = rows(evaluation, complete)
    columns = list(zip(HEADINGS, *lines, strict=True))
    shown = [column for column in range(1, len(HEADINGS)) if any(columns[column][1:])]
    needed = sum(max(map(len, columns[column])) + 2 for column in (0, *shown)) - 2
    if width is not None and needed > width:
        shown = [column for column in shown if HEADINGS[column] != HEADINGS[-1]]
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    for column in shown:
        style = "cyan" if column == 1 else "default"
        table.add_column(HEADINGS[column], justify="right", overflow="fold", style=style)
    for number, line in enumerate(lines):
        style = "bold" if number == 0 or not line.mapping else ""
        cells = (Text(printable(cell)) for cell in (line.label, *(line[column] for column in shown)))
        table.add_row(*cells, style=style)
    return Group(table, *(Text(printable(sentence), style="dim") for sentence in notes(evaluation)))


def summary(evaluation: Evaluation, mapping: Mapping) -> str:
    """Return one line about a fresh mapping: J, what was gained, where tasks went, balance.

    Another objective than J comes first, with its value in order and at random.

    Examples
    --------
    >>> import numpy as np
    >>> from hopbytes.model.allocation import Allocation
    >>> from hopbytes.model.comm_graph import CommGraph
    >>> from hopbytes.machines.spec import parse_machine
    >>> from hopbytes.cost.metrics.evaluation import evaluate
    >>> graph = CommGraph.from_edges([0, 1], [2, 3], [5, 5])
    >>> mapping = Mapping(np.array([0, 2, 1, 3], np.int32), Allocation.whole(parse_machine("node:2 core:2")))
    >>> summary(evaluate(graph, mapping, random_seeds=0), mapping)
    'J 10, 90.0 % below in-order; 2 tasks per node; imbalance 0.0 %'
    """
    parts = [
        _objective(evaluation, mapping.info), _cost(evaluation), _tasks(evaluation),
        _balance(evaluation, mapping.info),
    ]
    return "; ".join(part for part in parts if part)


def _objective(evaluation: Evaluation, info: Dictionary[str, Any]) -> str:
    """Return what was made small, when that is not J."""
    name = str(info.get("objective", "comm_cost"))
    own = getattr(evaluation.mapping.links, name, None)
    if own is None:
        return ""
    changes = []
    if evaluation.in_order is not None:
        changes.append(_from(own, getattr(evaluation.in_order.links, name), "in-order"))
    chance = [getattr(one.links, name) for one in evaluation.random]
    if chance:
        changes.append(_from(own, sum(chance) / len(chance), "random"))
    return ", ".join([f"{name.replace('_', ' ')} {_short(own)}", *changes])


def _from(value: float, base: float, name: str) -> str:
    return f"{_beside(value, base, name)} ({_short(base)})" if base else f"{name} {_short(base)}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.4g}"


def _cost(evaluation: Evaluation) -> str:
    cost = evaluation.mapping.comm_cost
    changes = []
    if evaluation.in_order is not None and evaluation.in_order.comm_cost:
        changes.append(_beside(cost, evaluation.in_order.comm_cost, "in-order"))
    chance = [one.comm_cost for one in evaluation.random]
    if sum(chance):
        changes.append(_beside(cost, sum(chance) / len(chance), "random"))
    return ", ".join([f"J {cost:,}", *changes])


def _beside(cost: float, base: float, name: str) -> str:
    if cost == base:
        return f"the same as {name}"
    change = f"{abs(cost / base - 1):.1%}".replace("%", " %")
    return f"{change} {'below' if cost < base else 'above'} {name}"


def _tasks(evaluation: Evaluation) -> str:
    told = []
    for unit in evaluation.tasks_per_unit:
        if unit.level in TOLD_LEVELS:
            held = f"{unit.fewest:,}" if unit.fewest == unit.most else f"{unit.fewest:,} to {unit.most:,}"
            unused = f" on {unit.used:,} of {unit.units:,}" if unit.used < unit.units else ""
            told.append(f"{held} {_task(unit.most)} per {unit.level}{unused}")
    return ", ".join(told)


def _task(most: int) -> str:
    return "task" if most == 1 else "tasks"


def _balance(evaluation: Evaluation, info: Any) -> str:
    # With one task per slot and no loads the slots settle the balance: nothing to tell.
    one_each = evaluation.mapping.max_tasks_per_pe <= 1 and evaluation.mapping.max_load <= 1
    if info.get("problem") == "processes" and one_each:
        return ""
    few, many = evaluation.mapping.min_tasks_per_pe, evaluation.mapping.max_tasks_per_pe
    if info.get("problem") == "processes" and many == evaluation.mapping.max_load:
        return f"{many} {_task(many)} per slot" if few == many else f"{few} to {many} tasks per slot"
    kept = f" (bound {info['balance']})" if info.get("balance") else ""
    return f"imbalance {evaluation.mapping.imbalance:.1%}".replace("%", " %") + kept
