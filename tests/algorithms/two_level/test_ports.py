"""Groups on nodes with several adapters: searches see the links that every task really uses."""

import functools

import numpy as np
import pytest

from helpers.fabric_text import two_level_fabric
from hopbytes.algorithms.base import Bounds, Effort
from hopbytes.algorithms.two_level.groups import groups_of_mapping, move_groups, nodes_of
from hopbytes.algorithms.two_level.neighbourhood import levels_between, neighbourhood_of
from hopbytes.algorithms.two_level.routing import MOST_VALUE, routed, routed_groups
from hopbytes.cost.objectives.link_sums import endpoints_of
from hopbytes.engine.control import RunControl
from hopbytes.engine.routed_search import (
    CongestionSettings,
    HybridTerms,
    congestion_search,
    congestion_swap,
    hottest_link_refine,
    hybrid_greedy,
)
from hopbytes.kernels.routes import link_amounts
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.model.comm_graph import CommGraph
from reference import routed_groups as routed_twin


def loads(graph, where, pe):
    """Volume on every link, by the kernel that judges placements."""
    network, ends = where.machine.network(), endpoints_of(where)[pe]
    form, count = network.form, network.n_links
    return link_amounts(form, count, graph.arcs(graph.volumes), ends, 0)[0].tolist()


def rails(seed):
    """Tasks beside two or three adapters of their node, every group with several tasks; and its twin."""
    rng = np.random.default_rng(700 + seed)
    text = two_level_fabric(leaves=3, spines=2, hosts=3, rails=2 + seed % 2)
    text.cables = [(one, other, ("4xFDR", "4xEDR")[i % 2]) for i, (one, other, _) in enumerate(text.cables)]
    return rng, text


@pytest.mark.parametrize("seed", range(6))
def test_every_task_of_a_group_uses_the_adapter_beside_it(seed, tmp_path):
    rng, text = rails(seed)
    where = allocate(f"ib:{text.write(tmp_path)} / core:4", rails="spread")
    nodes, n = nodes_of(where), where.k
    graph = CommGraph.from_edges(*rng.integers(0, n, (2, 3 * n)), rng.integers(1, 9, 3 * n), n=n)
    pe = rng.permutation(n).astype(np.int32)
    grouped = groups_of_mapping(graph, where, pe, Bounds(np.ones(n, np.int64)))
    problem = routed_groups(graph, grouped, pe, "a test")
    routing, network = problem.routing, where.machine.network()
    assert routing.ports == len(set(where.machine.network_use.endpoint_of_core()[:4].tolist())) > 1
    ends = routing.endpoints.tolist()

    @functools.cache
    def way(a, b):
        return network.routes([ends[a]], [ends[b]]).links.tolist()

    csr = problem.traffic.csr
    sources = np.repeat(np.arange(nodes.count), np.diff(csr.indptr))
    world = routed_twin.World(
        list(zip(sources.tolist(), csr.targets.tolist(), csr.weights.tolist(), strict=True)), way,
        network.prices()[0].tolist(), grouped.sizes.tolist(), grouped.capacities.tolist(),
        levels_between(nodes).tolist(), routing.ports,
        list(zip(routing.out_ports.tolist(), routing.in_ports.tolist(), strict=True)),
    )
    start = grouped.start.tolist()
    assert routed_twin.loads(world, start) == loads(graph, where, pe)
    place, made, _ = congestion_swap(
        problem.traffic, routing, neighbourhood_of(nodes), grouped.start, delta=5, paper_rule=False,
        limit=10**6
    )
    assert made > 0
    assert place.tolist() == routed_twin.congestion_swap(world, start, 5)
    place, _, _ = hottest_link_refine(
        problem.traffic, routing, neighbourhood_of(nodes), grouped.start, nearest=4, rounds=3,
        rule=0
    )
    assert place.tolist() == routed_twin.hottest_link_refine(world, start, 4, 3, paper=False)
    weights = (1.0, 4.0, 0.5, 0.25)
    greedy, _ = hybrid_greedy(
        problem.traffic, routing, neighbourhood_of(nodes), HybridTerms(*weights, 1.0, 1.0),
        np.arange(nodes.count, dtype=np.int32),
    )
    assert greedy.tolist() == routed_twin.hybrid_greedy(world, weights)
    found, made, _ = congestion_search(
        problem.traffic, routing, neighbourhood_of(nodes), grouped.start,
        CongestionSettings(
            4000, nearest=8, band_percent=60, threshold=3000, hop_percent=0, set_percent=60
        ),
        control=RunControl(seed),
    )
    before, after = (routed_twin.rank(world, each, paper=False) for each in (start, found.tolist()))
    assert made > 0
    assert after[0] <= before[0]
    assert after[3] <= before[3]
    moved = move_groups(graph, grouped, pe, found, Bounds(np.ones(n, np.int64)), Effort())
    assert routed_twin.loads(world, found.tolist()) == loads(graph, where, moved)


@pytest.mark.parametrize("volume", [1, 1000, 10**5, 10**9, 2**58])
def test_loads_times_prices_stay_below_the_largest_number(volume):
    """Shares of split routes are fractions; bits for them must not make large volumes overflow."""
    where = allocate("dragonfly:5x2x1:route=valiant:bw=1x999983x1000003")
    graph = CommGraph.from_edges([0, 1], [9, 8], [volume, volume], n=10)
    ones = np.ones(10, np.int64)
    found = routed(nodes_of(where), graph, graph.volumes, ones, ones, "a test", priced=True)
    prices, shift = found.routing.prices, found.routing.shift
    total = int(found.traffic.csr.weights.sum()) << shift
    assert total * int(prices.max()) < 2 * MOST_VALUE
    assert total == pytest.approx(2 * volume * found.scale, rel=1e-6)
