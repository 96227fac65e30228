"""GPUs with rails: the load of links is weighed beside J, and groups of a training job stay together.

Training jobs are mapped as grids, too: replicas of the model are mapped alike, and tensor groups as one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from collections.abc import Sequence as Several

import numpy as np

from hopbytes._arrays import Bool, Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Effort, Refiner
from hopbytes.algorithms.shared.quotient_graph import graph_among, quotient_graph
from hopbytes.cost.objectives.comm_cost import CommCost, objectives
from hopbytes.errors import UnsupportedError
from hopbytes.machines.gpu_domains import GpuDomains, gpu_domains
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.base import Arcs, joined
from hopbytes.patterns.ml import MachineLearning, training_of
from hopbytes.solve.formulate import formulate
from hopbytes.solve.method import LINK_ROOM, LINKS, QUICK, BestOf, Given, Method, Sequence, plain
from hopbytes.solve.problem import Request
from hopbytes.solve.search import Search
from hopbytes.solve.slots import Result, Task


@frozen(eq=False)
class RailRule:
    """Misplaced bytes of a training job: tensor groups belong in a domain, data rings on a rail."""

    tensor: Arcs  # arcs between different tasks of tensor and of data parallel groups
    data: Arcs
    domains: GpuDomains
    #: A replica of the model fills whole NVLink domains of a rail-optimised network, so that each of its
    #: tasks can have the same rail in all replicas. The adapters of other fabrics are no rails in this sense,
    #: since equal ones need not share leaf switches.
    whole: bool

    @classmethod
    def of(cls, graph: CommGraph, where: Allocation) -> RailRule | None:
        """Return the rule for a training job (``ml:``), None for other patterns; O(arcs)."""
        training = training_of(graph)
        if training is None:
            return None
        traffic, domains = training.traffic(), gpu_domains(where)
        return cls(
            joined(traffic["tensor"]), joined(traffic["data"]), domains,
            _fills_domains(training, graph.n, domains),
        )

    def misplaced(self, pe: Int32) -> tuple[int, int]:
        """Return bytes of tensor groups between domains, and of data rings between domains and rails."""
        domain, rail = self.domains.domain[pe], self.domains.rail

        def apart(arcs: Arcs) -> Bool:
            found: Bool = domain[arcs.sources] != domain[arcs.targets]
            return found

        tensor = int(self.tensor.volumes[apart(self.tensor)].sum())
        if rail is None:
            return tensor, 0
        crossing = apart(self.data) & (rail[pe[self.data.sources]] != rail[pe[self.data.targets]])
        return tensor, int(self.data.volumes[crossing].sum())

    def kept(self, mappings: Several[Int32]) -> list[bool]:
        """Return which of some mappings keep the rule as well as the best of them.

        Only mappings with the fewest bytes of tensor groups between domains keep it: with none if the size of
        the groups divides that of the domains. If a replica fills whole domains and one of these mappings
        has every data parallel ring inside domains or on one rail, the others do not keep it.
        """
        found = [self.misplaced(pe) for pe in mappings]
        least = min(tensor for tensor, _ in found)
        on_rails = self.whole and (least, 0) in found
        return [tensor == least and (not on_rails or data == 0) for tensor, data in found]


def _fills_domains(training: MachineLearning, n: int, domains: GpuDomains) -> bool:
    """Return whether the tasks of a replica fill whole domains if domains are filled one by one."""
    if domains.name == "node":
        return False
    sizes = np.bincount(domains.domain)
    replica = n // training.dp
    return bool(replica) and all(replica % size == 0 for size in np.unique(sizes[sizes > 0]).tolist())


#: The share of the load of the busiest link that must be saved to give a mapping with a higher J.
LEAST_GAIN = 0.05
#: What the busiest link may carry more than in an order of ranks that needs no mapping.
NOISE = 0.01
#: The effort for links of a preset is divided by this, since this search only follows another one.
LESS_EFFORT = 4


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


def with_links_weighed(
    task: Task, result: Result, method: Method, effort: Effort
) -> tuple[Task, Result, Method, list[str]]:
    """Return a mapping whose busiest link carries less, if it is worth a higher J, else the given one.

    The busiest link decides the predicted time of a step. The prediction counts all messages as simultaneous,
    so it is not the only judge: mappings of a training job that break :class:`RailRule` are refused, and so
    are those whose J rises by a larger factor than the load of the busiest link falls, unless ranks in order
    or a rank order has as high a J. A mapping with a higher J is given if it saves more than 5 % of the load,
    if the given one has more than 1 % more than an order of ranks that needs no mapping, or if it breaks the
    rule.
    """
    from hopbytes.algorithms.refiners.congestion import Routed

    links = Routed(goal=LINKS, effort=max(1, method.link_effort // LESS_EFFORT), hop_percent=LINK_ROOM)
    starts = [result, *_filled(task, result)]
    try:
        others = [_with_less_congestion(start, links, effort) for start in starts]
        others += _in_grids(task, starts[-1], links, effort)
    except UnsupportedError:  # for example a pair of nodes without a route
        return task, result, method, []
    number, why = worth_it(task.graph, task.where, result.mapping, [other.mapping for other in others])
    if number is None:
        return task, result, method, []
    method = dataclasses.replace(method, objective=LINKS, refine=(*method.refine, links))
    task = dataclasses.replace(task, objective=LINKS, goal=objectives[LINKS]())
    return task, others[number], method, why


def with_rule_kept(
    task: Task, result: Result, method: Method, effort: Effort
) -> tuple[Task, Result, Method, list[str]]:
    """Return the result of a limited search, or an order of ranks if only those keep the rule.

    The order is taken whose busiest link carries least. Constraints on single tasks are kept instead.
    """
    rule = None if task.constraints else RailRule.of(task.graph, task.where)
    filled = _filled(task, result)
    if rule is None or (not filled and result.slots != "all"):
        return task, result, method, []
    start = (filled or [result])[0]
    orders = [dataclasses.replace(start, pe=pe, notices=[]) for pe in usual_orders(task.graph)]
    kept = rule.kept([result.mapping, *(order.mapping for order in orders)])
    if kept[0]:
        return task, result, method, []
    allowed = [order for order, good in zip(orders, kept[1:], strict=True) if good]
    best = min(allowed, key=lambda order: busiest_link(task.graph, task.where, order.mapping))
    why = "the mapping is the order of ranks that keeps tensor parallel groups inside their domain"
    return task, best, method, [why]


def worth_it(
    graph: CommGraph, where: Allocation, found: Int32, others: Several[Int32]
) -> tuple[int | None, list[str]]:
    """Return which of `others` is worth its higher J, see :func:`with_links_weighed`, and the notice."""

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
        return cls(pe, int(CommCost().value(graph, where, pe)), busiest_link(graph, where, pe))

    def worth(self, other: Judged) -> bool:
        """Return whether the load falls by a larger factor than J rises, compared with another mapping."""
        return self.load * self.cost <= other.load * other.cost


def _in_grids(task: Task, start: Result, links: Refiner, effort: Effort) -> list[Result]:
    """Return mappings of a training job whose tensor groups or replicas were mapped as one."""
    if task.constraints:
        return []
    identity, cut, *_ = (plain(*words) for words in QUICK[LINKS])
    steps = Sequence(BestOf((cut,), dataclasses.replace(identity, refiners=(links,))), (links,))
    pes = start.problem.pes
    return [
        dataclasses.replace(start, pe=np.searchsorted(pes, pe).astype(np.int32), notices=[])
        for pe in grid_mappings(task.graph, task.where, pes, steps, effort)
    ]


def _with_less_congestion(result: Result, links: Refiner, effort: Effort) -> Result:
    """Return a mapping to the same PEs whose busiest link carries least."""
    identity, cut, *_ = QUICK[LINKS]
    orders = tuple(plain(*words) for words in (identity, (f"training_order:goal={LINKS}",), cut))
    lowering = Sequence(BestOf(orders, Sequence(Given(result.pe), (links,))), (links,))
    lowered = Search(result.problem, LINKS, effort).run(lowering)
    return dataclasses.replace(result, pe=lowered.pe, notices=lowered.notices)


def _filled(task: Task, result: Result) -> list[Result]:
    """Return ranks in order on the first slots, if the search chose others by itself."""
    if result.slots not in ("free", "spread") or task.request.chooses_slots or task.constraints:
        return []
    problem = task.formulated(task.request.using(pack=True))
    pe = np.arange(task.graph.n, dtype=np.int32)
    return [dataclasses.replace(result, problem=problem, pe=pe, notices=[], slots="filled")]


def grid_mappings(
    graph: CommGraph, where: Allocation, pes: Int64, steps: Sequence, effort: Effort
) -> Iterator[Int32]:
    """Yield mappings of a training job in which each tensor group has consecutive GPUs of one domain.

    In the first mapping one task of every tensor group is mapped freely, and the others follow it. In the
    second one all replicas of the model have the same shape, so that every data parallel ring stays on a rail
    if a replica fills whole hosts: first the stages of one replica are mapped, then the replicas.
    """
    training = training_of(graph)
    if training is None or len(pes) != graph.n:
        return
    names, sizes = training.grid()
    tasks = np.arange(graph.n).reshape(sizes)
    # Axes: data, then pipeline and context, then tensor parallel tasks.
    inner = [axis for axis, name in enumerate(names) if name not in ("dp", "tp")]
    tasks = tasks.transpose([names.index("dp"), *inner, names.index("tp")])
    replicas, size = training.dp, training.tp
    straight = _by_domain(where, pes, size).reshape(-1, size)
    turned = np.array([block[_in_turns(where.node_of_pe[block])] for block in straight])
    outer, last = (sizes[axis] for axis in inner)
    for blocks in [straight] if np.array_equal(straight, turned) else [straight, turned]:
        if len(blocks) > 1:
            first = tasks[..., 0].reshape(-1)
            order = _chosen_pes(graph, where, first, blocks[:, 0], steps, effort)
            yield _mapping(graph.n, tasks.reshape(-1, size), blocks[order])
        units, stages = (part.reshape(replicas, -1, size) for part in (blocks, tasks))
        yield _alike(graph, where, units, stages, (outer, last), steps, effort)


def _alike(
    graph: CommGraph, where: Allocation, units: Int64, stages: Int64, sizes: tuple[int, int], steps: Sequence,
    effort: Effort,
) -> Int32:
    """Return the mapping with the lowest load of some in which all replicas have the same shape."""
    count, goal = units.shape[1], objectives[LINKS]()
    shapes = list(_shapes(where, units[0, :, 0], sizes))
    if count > 1:
        shapes.append(_chosen_pes(graph, where, stages[0, :, 0], units[0, :, 0], steps, effort))
    tried = [_mapping(graph.n, stages, units[:, shape]) for shape in shapes]
    loads = [goal.value(graph, where, pe) for pe in tried]
    shape, best = shapes[int(np.argmin(loads))], tried[int(np.argmin(loads))]
    found = [best, _hosts_exchanged(graph, where, best, steps, effort)]
    if len(units) > 2:
        order = _chosen_pes(graph, where, stages[:, 0, 0], units[:, shape[0], 0], steps, effort)
        found.append(_mapping(graph.n, stages, units[order][:, shape]))
    return min(found, key=lambda pe: goal.value(graph, where, pe))


def _hosts_exchanged(
    graph: CommGraph, where: Allocation, pe: Int32, steps: Sequence, effort: Effort
) -> Int32:
    """Return the mapping with the tasks of whole hosts exchanged, which keeps every task on its rail."""
    used = np.sort(pe).astype(np.int64)
    _, host = np.unique(where.node_of_pe[used], return_inverse=True)
    counts = np.bincount(host)
    if len(counts) < 3 or counts.min() < counts.max():
        return pe
    places = used.reshape(len(counts), -1)
    owner = np.empty(where.k, np.int32)
    owner[used] = host
    between = quotient_graph(graph, owner[pe], len(counts))
    problem = formulate(between, where.select(places[:, 0]), Request(partition=False))
    order = Search(problem, LINKS, effort).run(steps).pe
    moved: Int32 = places[order[owner[pe]], np.searchsorted(used, pe) % places.shape[1]].astype(np.int32)
    return moved


def _shapes(where: Allocation, blocks: Int64, sizes: tuple[int, int]) -> Iterator[Int64]:
    """Yield the block of each stage of a replica: numbered by rows and by columns, straight and in turns."""
    numbers, turns = np.arange(len(blocks)), _in_turns(where.node_of_pe[blocks])
    by_column = numbers.reshape(sizes[::-1]).T.reshape(-1)
    kinds = [numbers] if 1 in sizes else [numbers, by_column]
    for numbering in kinds:
        yield numbering
        yield turns[numbering]


def _in_turns(node: Int32) -> Int64:
    """Return the numbers of places in order, those on every second of consecutive nodes backwards."""
    turns = np.arange(len(node))
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    ends = np.append(starts[1:], len(node))
    for first, last in zip(starts[1::2], ends[1::2], strict=True):
        turns[first:last] = turns[first:last][::-1]
    return turns


def _by_domain(where: Allocation, pes: Int64, size: int) -> Int64:
    """Return the PEs in machine order, but the rest of each domain after as many whole blocks of `size`."""
    domain = gpu_domains(where).domain[pes]
    order = np.argsort(domain, kind="stable")
    counts = np.bincount(domain)
    rank = np.empty(len(pes), np.int64)  # within the domain
    rank[order] = np.arange(len(pes)) - np.repeat(np.cumsum(counts) - counts, counts)
    left = rank >= counts[domain] // size * size
    found: Int64 = np.concatenate([pes[~left], pes[left]])
    return found


def _chosen_pes(
    graph: CommGraph, where: Allocation, tasks: Int64, pes: Int64, steps: Sequence, effort: Effort
) -> Int64:
    """Return which of the `pes` each of the `tasks` has if these alone are mapped."""
    ascending = np.sort(pes)
    problem = formulate(graph_among(graph, tasks), where.select(ascending), Request(partition=False))
    pe = Search(problem, LINKS, effort).run(steps).pe
    chosen: Int64 = np.argsort(pes, kind="stable")[pe]
    return chosen


def _mapping(n: int, tasks: Int64, pes: Int64) -> Int32:
    """Return the mapping that puts tasks on the PEs at the same places of another array."""
    pe = np.empty(n, np.int32)
    pe[tasks.reshape(-1)] = pes.reshape(-1)
    return pe
