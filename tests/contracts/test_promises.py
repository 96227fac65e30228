"""What presets promise beside each other and simpler chains, and refiners about what they do not lower.

On small machines of every kind: with holes, with fewer tasks than cores and than nodes, with as many, with
more than one task on a core, and partitions.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest

import hopbytes as hb
from helpers.machines import allocated
from helpers.strategies import random_graph, random_machine
from helpers.thorough import most
from hopbytes.algorithms.base import Effort, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.patterns.base import pattern
from hopbytes.solve.feasible import enforce_bounds
from hopbytes.solve.formulate import formulate
from hopbytes.solve.map_tasks import map_tasks
from hopbytes.solve.method import QUICK
from hopbytes.solve.presets import presets
from hopbytes.solve.problem import Request
from hopbytes.util.options import build


@dataclass(frozen=True)
class Case:
    """A machine, the nodes of a job on it, and a pattern: a formula or the tasks of a random one."""

    spec: str
    hosts: str
    tasks: str | int
    how: str = "processes"

    def read(self):
        """Return graph, allocation and what goes with them into map_tasks."""
        where = allocated(self.spec, self.hosts, oversubscribe=self.how == "oversubscribed")
        options = {"partition": self.how == "partition"}
        if isinstance(self.tasks, str):
            return pattern(self.tasks), where, options
        rng = np.random.default_rng(self.tasks)
        volumes = rng.integers(1, 100, 3 * self.tasks)
        ends = rng.integers(0, self.tasks, (2, 3 * self.tasks))
        return hb.CommGraph.from_edges(*ends, volumes, n=self.tasks), where, options


CASES = {
    "torus with holes, n = k": Case(
        "torus:4x4x2@4:nodes=2 / core:2@1", "sfc:nodes=12:holes=0.3", "stencil:6x4"
    ),
    "tapered fat tree, scattered, fewer tasks than cores": Case(
        "fattree:4x3x2:up=1x1x2 / core:4@1", "scattered:nodes=10:seed=1", 31
    ),
    "dragonfly, fewer tasks than nodes": Case("dragonfly:3x2x2@3 / core:2@1", "", "stencil:3x3"),
    "links of unlike speed": Case("torus:4x3:bw=1x4@2 / core:2@1", "", "butterfly:16"),
    "oversubscribed": Case("mesh:3x3@4 / core:2@1", "", 25, "oversubscribed"),
    "several paths, n = k": Case("fattree:4x3:up=1x2:route=spread@3 / core:2@1", "", 24),
    "partition": Case("hyperx:3x2@2 / core:2@1", "", 110, "partition"),
}
OF_NETWORKS = list(QUICK)


def value(objective, graph, mapping):
    return objectives[objective]().value(graph, mapping.where, mapping.pe)


@pytest.mark.parametrize("goal", OF_NETWORKS)
@pytest.mark.parametrize("name", CASES)
def test_presets_are_ordered_and_never_behind_the_quick_chains(name, goal):
    """Every objective meets `strong` on some of the machines, which is where the time goes."""
    turn = (list(CASES).index(name) + OF_NETWORKS.index(goal)) % most(3, 6)
    graph, where, options = CASES[name].read()
    options |= {"objective": goal, "seed": 3, "threads": 1}
    quick = [
        value(goal, graph, map_tasks(graph, where, list(chain), **options))
        for chain in QUICK[goal]
    ]
    found = [
        value(goal, graph, map_tasks(graph, where, preset, **options))
        for preset in ("fast", "eco", "strong")[: 2 if turn else 3]
    ]
    assert found[0] <= min(quick)
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("torus with holes, n = k", "max_congestion"), ("links of unlike speed", "hop_bytes"),
        ("dragonfly, fewer tasks than nodes", "max_messages"), ("oversubscribed", "hops"),
    ],
)
def test_what_goes_on_is_never_behind_strong(name, goal):
    graph, where, options = CASES[name].read()
    options |= {"objective": goal, "seed": 3, "threads": 1}
    strong = map_tasks(graph, where, "strong", **options)
    arcs = strong.info["work"]["arcs"]
    for preset, limit in product(("best", "routed"), most([None, arcs + 500_000], [arcs + 200_000])):
        further = map_tasks(graph, where, preset, **options, limits=hb.Limits(work=limit))
        assert value(goal, graph, further) <= value(goal, graph, strong), preset


@pytest.mark.parametrize("name", CASES)
def test_tasks_in_order_never_cost_less_than_a_preset(name):
    graph, where, options = CASES[name].read()
    in_order = map_tasks(graph, where, "identity", **options)
    for preset in ("fast", "eco"):
        found = map_tasks(graph, where, preset, threads=1, **options)
        assert found.info["comm_cost"] <= in_order.info["comm_cost"]


@pytest.mark.parametrize("goal", list(objectives))
def test_the_objective_asked_for_survives_a_refiner_that_lowers_another(goal):
    """Whatever refiner is named, none makes the objective worse, unless nobody asked for one (J)."""
    graph, where, options = CASES["tapered fat tree, scattered, fewer tasks than cores"].read()
    options |= {"objective": goal, "seed": 1, "threads": 1}
    plain = value(goal, graph, map_tasks(graph, where, "ug", **options))
    for name in refiners:
        refined = map_tasks(graph, where, ["ug", name], **options)
        if goal != "comm_cost" or refiners[name].objective == "comm_cost":
            assert value(goal, graph, refined) <= plain, name


def test_a_refiner_that_is_named_works_on_what_it_lowers_where_no_objective_is_asked_for():
    graph, where, options = CASES["oversubscribed"].read()
    plain = map_tasks(graph, where, "ug", **options)
    relieved = map_tasks(graph, where, ["ug", "umc"], **options)
    assert value("max_congestion", graph, relieved) < value("max_congestion", graph, plain)
    assert relieved.info["comm_cost"] > plain.info["comm_cost"]


@pytest.mark.parametrize("goal", ["comm_cost", "hop_bytes", "hops"])
def test_routed_costs_no_more_than_strong_and_sends_no_farther(goal):
    for name in ("torus with holes, n = k", "links of unlike speed", "several paths, n = k"):
        graph, where, options = CASES[name].read()
        options |= {"objective": goal, "threads": 1}
        strong = map_tasks(graph, where, "strong", **options)
        routed = map_tasks(graph, where, "routed", **options)
        assert value(goal, graph, routed) <= value(goal, graph, strong)
        if goal != "hops":
            assert value("hop_bytes", graph, routed) <= value("hop_bytes", graph, strong)


def placed_on(case, seed):
    """A random placement that keeps the bounds."""
    graph, where, options = case.read()
    problem = formulate(graph, where, Request(**options, use=where.use))
    start = np.random.default_rng(seed).integers(0, problem.where.k, graph.n).astype(np.int32)
    pe, bounds, _ = enforce_bounds(problem, start, Effort())
    return problem, pe, bounds


HOPS = {"max_congestion": "hop_bytes", "hybrid": "hop_bytes", "max_messages": "hops"}


@pytest.mark.parametrize("goal", list(HOPS))
@pytest.mark.parametrize("refiner", ["routed:effort=1,second_start=true", "routed:effort=1,set_moves=true"])
def test_routed_keeps_hops_and_cost_whatever_it_starts_from(refiner, goal):
    """The second start is held to the hops of the placement that was given, not to its own."""
    lowered = 0
    starts = [(CASES["several paths, n = k"], "multisection")]
    starts += [(case, how) for case in STENCILS for how in ("multisection", "fast")]
    for case, how in starts:
        graph, where, options = case.read()
        good = map_tasks(graph, where, how, threads=1, **options)
        problem = formulate(graph, where, Request(**options, use=where.use))
        start = np.searchsorted(problem.pes, good.pe).astype(np.int32)
        after = build(refiners, f"{refiner},goal={goal}").refine(
            problem.graph, problem.where, start, problem.bounds, Effort()
        )
        for kept in (HOPS[goal], "comm_cost", goal):
            of = objectives[kept]()
            before = of.value(problem.graph, problem.where, start)
            assert of.value(problem.graph, problem.where, after) <= before, (case, kept)
            lowered += kept == goal and of.value(problem.graph, problem.where, after) < before
    assert lowered, "nothing was relieved at all"


STENCILS = (
    Case("torus:6x6x6:nodes=2 / core:2", "sfc:nodes=32:holes=0.3", "stencil:8x8"),
    Case("torus:6x6x6:nodes=2 / core:2", "sfc:nodes=32:holes=0.3", "stencil:4x4x4"),
)


@pytest.mark.parametrize("percent", [0, 5, 20])
@pytest.mark.parametrize(
    "refiner", ["congestion:group_work=200,task_work=100", "routed:effort=2,set_moves=true"]
)
def test_hops_rise_by_no_more_than_is_allowed(refiner, percent):
    """Groups and single tasks share what is allowed."""
    for case in (*STENCILS, CASES["torus with holes, n = k"]):
        for goal, hops in HOPS.items():
            problem, pe, bounds = placed_on(case, 4)
            pe = build(refiners, "uwh").refine(problem.graph, problem.where, pe, bounds, Effort())
            of = objectives[hops]()
            most = of.value(problem.graph, problem.where, pe) * (100 + percent) // 100
            found = build(refiners, f"{refiner},goal={goal},hop_percent={percent}")
            after = found.refine(problem.graph, problem.where, pe, bounds, Effort(seed=percent))
            assert of.value(problem.graph, problem.where, after) <= most


@pytest.mark.parametrize("name", [name for name, kind in refiners.items() if kind.objective == "comm_cost"])
def test_refiners_of_cost_never_raise_it_on_networks(name):
    refiner, cost = build(refiners, name), objectives["comm_cost"]()
    for seed, case in enumerate(CASES.values()):
        problem, pe, bounds = placed_on(case, seed)
        after = refiner.refine(problem.graph, problem.where, pe, bounds, Effort(seed=seed))
        assert cost.value(problem.graph, problem.where, after) <= cost.value(problem.graph, problem.where, pe)


def test_presets_on_random_trees_cost_no_more_than_tasks_in_order():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        where = hb.Allocation.whole(random_machine(rng, max_cores=30))
        graph = random_graph(rng, n=where.k if seed % 2 else max(1, where.k // 2))
        in_order = map_tasks(graph, where, "identity", partition=False).info["comm_cost"]
        for preset in presets:
            limits = hb.Limits(work=200_000 if preset == "best" else None)
            found = map_tasks(graph, where, preset, partition=False, threads=1, limits=limits)
            assert found.info["comm_cost"] <= in_order


@pytest.mark.parametrize("sample", most([3, 5], [5]))
def test_a_limit_leaves_best_no_worse_than_strong_where_slots_are_chosen(sample):
    """On these two `best` was behind while it spent the limit on the first way of choosing slots."""
    where = allocated("torus:4x4 / core:4", f"scattered:nodes=10:seed={sample}")
    rng = np.random.default_rng(sample)
    n = int(rng.integers(20, 29))
    graph = hb.CommGraph.from_edges(*rng.integers(0, n, (2, 2 * n)), rng.integers(1, 100, 2 * n), n=n)
    options = {"objective": "max_congestion", "seed": 3, "threads": 1}
    strong = map_tasks(graph, where, "strong", **options)
    limit = 2 * strong.info["work"]["arcs"]
    best = map_tasks(graph, where, "best", **options, limits=hb.Limits(work=limit))
    assert value("max_congestion", graph, best) <= value("max_congestion", graph, strong)


@pytest.mark.parametrize("preset", ["fast", "eco", "best"])
def test_a_limit_that_ends_a_preset_early_leaves_the_mapping_of_turbo(preset):
    graph, where = hb.read("stencil:20x20x20"), hb.allocate("node:4@100 core:8@1")
    options = {"partition": True, "seed": 1, "threads": 1}
    turbo = map_tasks(graph, where, "turbo", **options)
    limits = hb.Limits(work=turbo.info["work"]["arcs"] // 2)
    found = map_tasks(graph, where, preset, **options, limits=limits)
    assert found.info["comm_cost"] <= turbo.info["comm_cost"]
    assert found.info["work"]["arcs"] <= turbo.info["work"]["arcs"]


def test_a_generous_limit_costs_no_second_search_where_tasks_are_fixed():
    graph, where = hb.read("stencil:20x20x20"), hb.allocate("node:4@100 core:8@1")
    options = {"partition": True, "threads": 1, "constraints": hb.Constraints(fixed={0: 3})}
    unlimited, limited = (
        map_tasks(graph, where, "fast", **options, limits=limits) for limits in (None, hb.Limits(work=10**12))
    )
    assert limited.info["work"]["arcs"] == unlimited.info["work"]["arcs"]
