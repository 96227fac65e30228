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
from hopbytes.errors import UnsupportedError
from hopbytes.machines.common.gpu_domains import has_rails
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.solve.auto_objective import AUTO
from hopbytes.solve.method import Method
from hopbytes.solve.presets import LINK_ROOM, QUICK, Chain, chain
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
    graph: CommGraph, where: Allocation, *, objective: Any = None, weight: str = "bytes", mapper: Any = None,
    refine: Any = (), initial: Any = None, partition: bool | None = None, **_others: Any,
) -> bool:
    """Return whether the load of links is weighed beside J: on GPUs with rails, a task for each at most.

    Parameters
    ----------
    graph : CommGraph
    where : Allocation
    objective, weight, mapper, refine, initial, partition
        Options of :func:`hopbytes.map_tasks`; whoever names an objective or an algorithm gets that.

    Examples
    --------
    >>> import hopbytes as hb
    >>> pattern = hb.read("stencil:4x2")
    >>> weighs_links(pattern, hb.machine("rails:4x2")), weighs_links(pattern, hb.machine("node:4 gpu:2"))
    (True, False)
    """
    usual = objective in (None, AUTO) and weight == "bytes" and mapper is None and not refine
    return usual and initial is None and not partition and 0 < graph.n <= where.k and has_rails(where)


def busiest_link(graph: CommGraph, where: Allocation, pe: Int32) -> float:
    """Return the largest volume over capacity of a link; infinite if a pair of PEs has no route."""
    try:
        return float(objectives[LINKS]().value(graph, where, pe))
    except UnsupportedError:
        return float("inf")


def usual_orders(graph: CommGraph) -> list[Int32]:
    """Return ranks in order, and for a training job the rank orders of Megatron-LM, on the first PEs."""
    from hopbytes.patterns.ml import training_of
    from hopbytes.patterns.rank_orders import rank_orders

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

    Parameters
    ----------
    task : Task
    found : Placed
        The mapping with the lowest J that was found.
    method : Method
        How it was found; the `link_effort` of the preset limits the search.
    effort : Effort

    Returns
    -------
    tuple of Placed, Method, Task, list of str
        The mapping, how it was found, what was minimized, and notices.

    Notes
    -----
    The refiner ``routed`` continues from the given mapping, and then from the best of it, ranks in order, the
    rank orders of training frameworks and ``ug`` with ``umc``. The busiest link decides the predicted time of
    a step, since links of NVLink are links of these machines. A mapping with a higher J is given if it
    saves more than 5 % of the load of the busiest link, or if `found` has more than 1 % more than an order
    of ranks that needs no mapping.
    """
    from hopbytes.algorithms.refiners.routed import Routed

    graph, where = task.graph, task.where
    links = Routed(
        goal=LINKS, effort=max(1, method.steps.link_effort // LESS_EFFORT), hop_percent=LINK_ROOM
    )
    starts = [found, *_filled(task, found)]
    try:
        others = [_with_less_congestion(start, links, effort) for start in starts]
    except UnsupportedError:  # for example a pair of nodes without a route
        return found, method, task, []
    number, why = worth_it(graph, where, found.placed, [one.placed for one in others])
    if number is None:
        return found, method, task, []
    other = others[number]
    steps = dataclasses.replace(method.steps, finish=(*method.steps.finish, links))
    method = dataclasses.replace(method, objective=LINKS, steps=steps)
    return other, method, dataclasses.replace(task, objective=LINKS, goal=objectives[LINKS]()), why


def worth_it(
    graph: CommGraph, where: Allocation, found: Int32, others: Sequence[Int32]
) -> tuple[int | None, list[str]]:
    """Return which of `others` is worth its higher J, see :func:`with_links_weighed`, and the notice.

    Parameters
    ----------
    graph : CommGraph
        n tasks; volumes are bytes.
    where : Allocation
    found : int32[n]
        The PE of every task at the lowest J found.
    others : sequence of int32[n]

    Examples
    --------
    >>> import hopbytes as hb
    >>> where = hb.machine("rails:4x1:pod=2:spines=1")
    >>> pairs = hb.CommGraph.from_edges([0, 2], [1, 3], [8, 8])
    >>> crossed, straight = np.array([0, 2, 1, 3], np.int32), np.array([0, 1, 2, 3], np.int32)
    >>> worth_it(pairs, where, crossed, [straight])[0], worth_it(pairs, where, straight, [crossed])[0]
    (0, None)
    """
    first = busiest_link(graph, where, found)
    loads = [busiest_link(graph, where, pe) for pe in others]
    number = int(np.argmin(loads))
    second, least = loads[number], min(busiest_link(graph, where, pe) for pe in usual_orders(graph))
    enough = second >= (1 - LEAST_GAIN) * first and first <= (1 + NOISE) * least
    if first <= second or enough:
        return None, []
    return number, [
        f"objective {LINKS} was chosen: the busiest link carries {second / first:.2f} of what it carries at "
        "the lowest J found (objective comm_cost minimises J alone)"
    ]


def _with_less_congestion(found: Placed, links: Refiner, effort: Effort) -> Placed:
    """Return a mapping to the same PEs whose busiest link carries least."""
    identity, cut, *_ = QUICK[LINKS]
    words = (identity, (f"training_order:goal={LINKS}",), cut)
    lowering = Chain(
        Given(found.pe), (links,), goal=LINKS, finish=(links,),
        competitors=tuple(dataclasses.replace(chain(*each), goal=LINKS) for each in words),
    )
    pe, notices = solve(found.problem, lowering, effort)
    return dataclasses.replace(found, pe=pe, notices=notices)


def _filled(task: Task, found: Placed) -> list[Placed]:
    """Return ranks in order on the first slots, if the search chose others by itself."""
    if found.slots not in ("free", "spread") or task.request.chooses_slots or task.constraints:
        return []
    problem = task.formulated(dataclasses.replace(task.request, pack=True))
    pe = np.arange(task.graph.n, dtype=np.int32)
    return [dataclasses.replace(found, problem=problem, pe=pe, notices=[], slots="filled")]
