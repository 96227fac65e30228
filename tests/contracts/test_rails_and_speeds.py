"""What refiners promise holds where nodes have several adapters and links run at different speeds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import hopbytes as hb
from helpers.fabric_text import FabricText, two_level_fabric
from helpers.strategies import random_graph
from helpers.thorough import most
from hopbytes.algorithms.base import Effort, mappers, refiners
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.solve.formulate import formulate
from hopbytes.solve.problem import Request
from hopbytes.util.options import build

#: Work enough to see something, little enough for a test.
OPTIONS = {
    "congestion": "congestion:group_work=60,task_work=10", "routed": "routed:effort=1", "tabu": "tabu:work=1",
}
SPEEDS = ("4xSDR", "4xFDR", "4xEDR", "4xNDR")


def random_fabric(rng) -> FabricText:
    """A small fabric whose hosts have one to three adapters, some fewer than others, at mixed speeds."""
    leaves, rails = int(rng.integers(2, 4)), int(rng.integers(1, 4))
    text = two_level_fabric(leaves, int(rng.integers(1, 4)), int(rng.integers(2, 4)), 1, min(rails, leaves))
    speeds = rng.choice(SPEEDS, int(rng.integers(1, 4)))
    text.cables = [(one, other, str(rng.choice(speeds))) for one, other, _ in text.cables]
    if rails > 1 and rng.integers(2):  # a host loses an adapter; its addresses remain
        lost = str(rng.choice([name for name in text.adapters if not name.endswith("mlx5_0")]))
        text.cables = [cable for cable in text.cables if cable[1].device != lost]
        text.adapters[text.adapters.index(lost)] = "elsewhere HCA-9"
    return text


def random_case(seed, folder):
    """Fabric, rails, holes, tasks as many as cores or fewer, perhaps fewer than nodes; a random start."""
    rng = np.random.default_rng(seed)
    text = random_fabric(rng)
    rails = ("spread", "same", "first")[seed % 3]
    names = sorted({name.split()[0] for name in text.adapters if not name.startswith("elsewhere")})
    hosts = ",".join(rng.permutation(names)[: max(2, len(names) - int(rng.integers(0, 3)))])
    spec = f"ib:{text.write(folder / str(seed))} / core:{rng.integers(1, 5)}"
    where = hb.allocate(spec, rails=rails, hosts=hosts, exclude="node=0" if rng.integers(4) == 0 else ())
    if seed % 4 == 3:  # any adapter of its host for every core, as slots of GPUs have them
        first = np.cumsum([0, *(len(host.adapters) for host in where.machine.hosts)])
        node = where.node_of_pe
        ends = first[node] + rng.integers(0, 2**20, where.k) % (first[node + 1] - first[node])
        where = dataclasses.replace(where, endpoints=ends.astype(np.int32))
    fewer = int(rng.integers(2, max(3, len(names) - 1))) if rng.integers(4) == 0 else where.k
    graph = random_graph(rng, n=min(where.k, fewer))
    problem = formulate(graph, where, Request())
    pe = rng.permutation(problem.where.k)[: graph.n].astype(np.int32)
    return problem, pe, problem.bounds


def promises(kind):
    """Objectives that never get worse."""
    return dict.fromkeys((kind.objective, *kind.keeps))


@pytest.mark.parametrize("name", list(refiners))
def test_no_refiner_raises_what_it_promises_to_keep(name, tmp_path):
    refiner, kind, better = build(refiners, OPTIONS.get(name, name)), refiners[name], 0
    for seed in range(most(24, 12)):
        problem, pe, bounds = random_case(seed, tmp_path)
        after = refiner.refine(problem.graph, problem.where, pe, bounds, Effort(seed=seed))
        assert len(np.unique(after)) == problem.graph.n
        for goal in promises(kind):
            judge = objectives[goal]()
            worth = [judge.value(problem.graph, problem.where, each) for each in (after, pe)]
            assert worth[0] <= worth[1], (seed, goal)
            better += worth[0] < worth[1]
    if kind.objective != "comm_cost":
        assert better >= 3, "a search that never finds anything keeps every promise"


@pytest.mark.parametrize("seed", range(6))
def test_the_guarded_mapper_is_no_worse_than_its_own_start(seed, tmp_path):
    problem, _, _ = random_case(3 * seed, tmp_path)
    goal = objectives["max_congestion"]()
    values = []
    for text in ("ptram:guarded=true", "ptram"):
        pe = build(mappers, text).map(problem.graph, problem.where, problem.bounds, Effort(seed=1))
        values.append(goal.value(problem.graph, problem.where, pe))
    assert values[0] <= values[1]
