"""The cheapest order of ranks that a launcher can be told in words, without a file."""

from __future__ import annotations

from hopbytes._frozen import frozen
from hopbytes.cost.objectives.comm_cost import CommCost, in_scale
from hopbytes.formats.mappings.without_files import IN_WORDS, orders_in_words
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.util.quantities import percent

#: Share of J within which an order is as good as a mapping, in per cent.
NEAR = 3
#: Arcs of a pattern above which no orders are compared beside a mapping.
MOST_ARCS = 200_000


@frozen
class BestOrder:
    """An order, the command that asks for it, and its J."""

    launcher: str
    order: str
    command: str
    comm_cost: int


def best_in_words(graph: CommGraph, where: Allocation, form: str) -> BestOrder | None:
    """Return the order of lowest J among those that a launcher can be told; None where words leave it open.
    """
    # Of equal ones the first in the table, which is the simplest; O(m) each.
    best = None
    for order, command in orders_in_words(form, where, graph.n) if in_scale(graph, where) else ():
        value = CommCost().value(graph, where, launcher_placement(where, graph.n, order).pe)
        if best is None or value < best.comm_cost:
            best = BestOrder(IN_WORDS[form].name, order, command, value)
    return best


def near_in_words(graph: CommGraph, mapping: Mapping, *forms: str) -> list[str]:
    """Return a sentence for every launcher whose best order in words is within 3 % of a mapping."""
    if graph.m > MOST_ARCS or mapping.info.get("objective", "comm_cost") != "comm_cost":
        return []
    weighted, where, sentences = graph.with_weights(mapping.info.get("weight", "bytes")), mapping.where, []
    own: int | None = None
    for form in forms:
        best = best_in_words(weighted, where, form) if form in IN_WORDS else None
        if best is None:
            continue
        own = CommCost().value(weighted, where, mapping.pe) if own is None else own
        if 100 * best.comm_cost <= (100 + NEAR) * own:
            more = "the same J" if best.comm_cost == own else "a lower J"
            if best.comm_cost > own:
                more = f"J {percent(best.comm_cost / own - 1)} higher"
            sentences.append(f"{best.launcher} without a file, {more}: `{best.command}`")
    return sentences
