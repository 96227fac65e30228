"""Clusters of GPUs with rails: the load of links is weighed beside J."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort, Mapper, Refiner
from hopbytes.cost.objectives.base import objectives
from hopbytes.cost.objectives.comm_cost import CommCost
from hopbytes.errors import UnsupportedError
from hopbytes.machines.gpu_domains import has_rails
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.auto_objective import AUTO
from hopbytes.solve.constraints import Constraints
from hopbytes.solve.method import Method, MethodLike, is_preset
from hopbytes.solve.presets import DEFAULT, LINK_ROOM, QUICK, Chain, chain
from hopbytes.solve.run_chain import solve
from hopbytes.solve.slot_choice import Placed
from hopbytes.solve.slot_policies import Task

#: The objective that is weighed beside J.
LINKS = "max_congestion"
#: The share of the load of the busiest link that must be saved to give a mapping with a higher J.
LEAST_GAIN = 0.05
#: What the busiest link may carry more than in an order of ranks that needs no mapping.
NOISE = 0.01
#: The effort for links of a preset is divided by this, since this search only follows another one.
LESS_EFFORT = 4


@frozen(eq=False)
class Given(Mapper):
    """A mapper that returns a mapping that is there already."""

    pe: Int32

    def map(self, graph: CommGraph, where: Allocation, bounds: Bounds, effort: Effort) -> Int32:
        """Return the mapping."""
        return self.pe


def weighs_links(
    graph: CommGraph, where: Allocation, *, objective: Any = None, weight: str = "bytes",
    method: MethodLike = DEFAULT, constraints: Constraints | None = None, partition: bool | None = None,
    **_others: Any,
) -> bool:
    """Return whether the load of links is weighed beside J: on GPUs with rails, a task for each at most.

    >>> import hopbytes as hb
    >>> pattern = hb.read("stencil:4x2")
    >>> weighs_links(pattern, hb.allocate("rails:4x2")), weighs_links(pattern, hb.allocate("node:4 gpu:2"))
    (True, False)
    """
    usual = objective in (None, AUTO) and weight == "bytes" and is_preset(method)
    usual = usual and (constraints is None or constraints.initial is None)
    return usual and not partition and 0 < graph.n <= where.k and has_rails(where)


def busiest_link(graph: CommGraph, where: Allocation, pe: Int32) -> float:
    """Return the largest volume over capacity of a link; infinite if a pair of PEs has no route."""
    try:
        return float(objectives[LINKS]().value(graph, where, pe))
    except UnsupportedError:
        return float("inf")


def usual_orders(graph: CommGraph) -> list[Int32]:
    """Return ranks in order, and for a training job the rank orders of Megatron-LM, on the first PEs."""
    from hopbytes.patterns.ml import rank_orders, training_of

    training = training_of(graph)
    orders = [] if training is None else list(rank_orders(training).values())
    known = [rank.astype(np.int32) for rank in orders if len(rank) == graph.n]
    return [np.arange(graph.n, dtype=np.int32), *known]


def first_objective(limited: bool) -> tuple[str, list[str]]:
    """Return the objective of the first search, and notices: with a limit there is no second one."""
    if not limited:
        return "comm_cost", []
    return LINKS, [f"objective {LINKS} was chosen: the GPUs have rails, and time or work is limited"]


def with_links_weighed(
    task: Task, found: Placed, method: Method, effort: Effort
) -> tuple[Placed, Method, Task, list[str]]:
    """Return a mapping whose busiest link carries less, if it is worth a higher J, else `found`.

    The refiner ``routed`` continues from the given mapping, and then from the best of it, ranks in order, the
    rank orders of training frameworks and ``ug`` with ``umc``. For a training job mappings in which tensor
    groups or replicas were placed as one compete (:func:`hopbytes.solve.replica_grid.grid_mappings`). The
    busiest link decides the predicted time of a step, since links of NVLink are links of these machines.
    The prediction counts all messages as simultaneous, so it is not the only judge: mappings of a training
    job that break :class:`hopbytes.solve.rail_rule.RailRule` are refused, and so are those whose J rises by a
    larger factor than the load of the busiest link falls, unless ranks in order or a rank order has as
    high a J. Of the others, and within 1 % of the lowest load, the lowest J counts. A mapping with a higher J
    is given if it saves more than 5 % of the load, if `found` has more than 1 % more than an order of ranks
    that needs no mapping, or if `found` breaks the rule.
    """
    from hopbytes.algorithms.refiners.routed import Routed

    graph, where = task.graph, task.where
    links = Routed(
        goal=LINKS, effort=max(1, method.steps.link_effort // LESS_EFFORT), hop_percent=LINK_ROOM
    )
    starts = [found, *_filled(task, found)]
    try:
        others = [_with_less_congestion(start, links, effort) for start in starts]
        others += _in_grids(task, starts[-1], links, effort)
    except UnsupportedError:  # for example a pair of nodes without a route
        return found, method, task, []
    number, why = worth_it(graph, where, found.placed, [one.placed for one in others])
    if number is None:
        return found, method, task, []
    other = others[number]
    steps = dataclasses.replace(method.steps, finish=(*method.steps.finish, links))
    method = dataclasses.replace(method, objective=LINKS, steps=steps)
    return other, method, dataclasses.replace(task, objective=LINKS, goal=objectives[LINKS]()), why


def with_rule_kept(task: Task, found: Placed) -> tuple[Placed, list[str]]:
    """Return `found`, the result of a limited search, or an order of ranks if only those keep the rule.

    The order is taken whose busiest link carries least. Constraints on single tasks are kept instead.
    """
    from hopbytes.solve.rail_rule import RailRule

    rule = None if task.constraints else RailRule.of(task.graph, task.where)
    filled = _filled(task, found)
    if rule is None or (not filled and found.slots != "all"):
        return found, []
    start = (filled or [found])[0]
    orders = [dataclasses.replace(start, pe=pe, notices=[]) for pe in usual_orders(task.graph)]
    kept = rule.kept([found.placed, *(one.placed for one in orders)])
    if kept[0]:
        return found, []
    allowed = [one for one, good in zip(orders, kept[1:], strict=True) if good]
    best = min(allowed, key=lambda one: busiest_link(task.graph, task.where, one.placed))
    return best, ["the order of ranks is given that keeps tensor parallel groups inside their domain"]


def worth_it(
    graph: CommGraph, where: Allocation, found: Int32, others: Sequence[Int32]
) -> tuple[int | None, list[str]]:
    """Return which of `others` is worth its higher J, see :func:`with_links_weighed`, and the notice.

    >>> import hopbytes as hb
    >>> where = hb.allocate("rails:4x1:pod=2:spines=1")
    >>> pairs = hb.CommGraph.from_edges([0, 2], [1, 3], [8, 8])
    >>> crossed, straight = np.array([0, 2, 1, 3], np.int32), np.array([0, 1, 2, 3], np.int32)
    >>> worth_it(pairs, where, crossed, [straight])[0], worth_it(pairs, where, straight, [crossed])[0]
    (0, None)
    """
    from hopbytes.solve.rail_rule import RailRule

    judged = [Judged.of(graph, where, pe) for pe in (found, *others, *usual_orders(graph))]
    rule = RailRule.of(graph, where)
    kept = [True] * len(judged) if rule is None else rule.kept([one.pe for one in judged])
    first, candidates, orders = judged[0], judged[1 : len(others) + 1], judged[len(others) + 1 :]
    usual = [one for one, good in zip(orders, kept[len(others) + 1 :], strict=True) if good]
    allowed = [
        one for one, good in zip(candidates, kept[1:], strict=False)
        if good and (not kept[0] or one.worth(first) or any(one.cost <= each.cost for each in usual))
    ]
    if not allowed:
        return None, []
    least = min(one.load for one in allowed)
    best = min((one for one in allowed if one.load <= (1 + NOISE) * least), key=lambda one: one.cost)
    if not kept[0]:
        return candidates.index(best), [
            f"objective {LINKS} was chosen: at the lowest J found groups of tensor or data parallelism leave "
            "their domain or rail (objective comm_cost minimises J alone)"
        ]
    usually = min((one.load for one in usual), default=first.load)
    enough = best.load >= (1 - LEAST_GAIN) * first.load and first.load <= (1 + NOISE) * usually
    if first.load <= best.load or enough:
        return None, []
    return candidates.index(best), [
        f"objective {LINKS} was chosen: the busiest link carries {best.load / first.load:.2f} of what it "
        "carries at the lowest J found (objective comm_cost minimises J alone)"
    ]


@frozen(eq=False)
class Judged:
    """A mapping, its J and the load of its busiest link."""

    pe: Int32
    cost: int
    load: float

    @classmethod
    def of(cls, graph: CommGraph, where: Allocation, pe: Int32) -> Judged:
        """Return a mapping with both numbers."""
        return cls(pe, int(CommCost().value(graph, where, pe)), busiest_link(graph, where, pe))

    def worth(self, other: Judged) -> bool:
        """Return whether the load falls by a larger factor than J rises, compared with another mapping."""
        return self.load * self.cost <= other.load * other.cost


def _in_grids(task: Task, start: Placed, links: Refiner, effort: Effort) -> list[Placed]:
    """Return mappings of a training job whose tensor groups or replicas were placed as one."""
    if task.constraints:
        return []
    from hopbytes.solve.replica_grid import grid_mappings

    identity, cut, *_ = (dataclasses.replace(chain(*each), goal=LINKS) for each in QUICK[LINKS])
    steps = dataclasses.replace(identity, refiners=(links,), finish=(links,), competitors=(cut,))
    pes = start.problem.pes
    return [
        dataclasses.replace(start, pe=np.searchsorted(pes, pe).astype(np.int32), notices=[])
        for pe in grid_mappings(task.graph, task.where, pes, steps, effort)
    ]


def _with_less_congestion(found: Placed, links: Refiner, effort: Effort) -> Placed:
    """Return a mapping to the same PEs whose busiest link carries least."""
    identity, cut, *_ = QUICK[LINKS]
    words = (identity, (f"training_order:goal={LINKS}",), cut)
    lowering = Chain(
        Given(found.pe), (links,), goal=LINKS, finish=(links,),
        competitors=tuple(dataclasses.replace(chain(*each), goal=LINKS) for each in words),
    )
    lowered = solve(found.problem, lowering, effort)
    pe, notices = lowered.pe, lowered.notices
    return dataclasses.replace(found, pe=pe, notices=notices)


def _filled(task: Task, found: Placed) -> list[Placed]:
    """Return ranks in order on the first slots, if the search chose others by itself."""
    if found.slots not in ("free", "spread") or task.request.chooses_slots or task.constraints:
        return []
    problem = task.formulated(task.request.using(pack=True))
    pe = np.arange(task.graph.n, dtype=np.int32)
    return [dataclasses.replace(found, problem=problem, pe=pe, notices=[], slots="filled")]
