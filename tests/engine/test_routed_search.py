"""Searches over groups on places: compiled ones make the choices of their slow twins, one by one."""

import dataclasses

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.algorithms.two_level.groups import nodes_of
from hopbytes.algorithms.two_level.neighbourhood import levels_between, neighbourhood_of, place_distances
from hopbytes.algorithms.two_level.routing import routed
from hopbytes.engine.control import RunControl
from hopbytes.engine.routed_search import (
    CongestionSettings,
    Groups,
    HybridTerms,
    congestion_search,
    congestion_swap,
    hop_greedy,
    hop_swap,
    hottest_link_refine,
    hybrid_greedy,
    route_classes,
)
from hopbytes.kernels.routes import link_amounts
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.model.comm_graph import CommGraph
from reference import groups as twin
from reference import routed_groups as routed_twin

SPECS = ["torus:3x4@5:nodes=2", "mesh:4x3", "torus:2x3x2:bw=3x2x6", "fattree:3x3:up=1x2", "dragonfly:3x2x2"]


@dataclasses.dataclass
class Case:
    """Groups with traffic, places with routes; and the same for the twins."""

    groups: Groups
    graph: CommGraph
    where: hb.Allocation
    sizes: np.ndarray
    capacities: np.ndarray

    @property
    def nodes(self):
        return nodes_of(self.where)

    @property
    def world(self):
        network = self.where.machine.network()
        endpoints = self.where.node_of_pe[self.nodes.first]
        prices, _ = network.prices()
        table = {
            (a, b): network.routes([endpoints[a]], [endpoints[b]]).links.tolist()
            for a in range(self.nodes.count) for b in range(self.nodes.count)
        }
        columns = self.graph.sources(), self.graph.targets, self.graph.arc_volumes()
        arcs = list(zip(*(column.tolist() for column in columns), strict=True))
        return routed_twin.World(
            arcs, lambda a, b: table[a, b], [1] * network.n_links if prices is None else prices.tolist(),
            self.sizes.tolist(), self.capacities.tolist(), levels_between(self.nodes).tolist(),
        )

    @property
    def weights(self):
        csr = self.graph.symmetric_positive()
        rows = [{} for _ in range(self.graph.n)]
        values = np.ones(len(csr.targets), np.int64) if csr.weights is None else csr.weights
        for a in range(self.graph.n):
            for e in range(csr.indptr[a], csr.indptr[a + 1]):
                rows[a][int(csr.targets[e])] = int(values[e])
        return rows

    def problem(self):
        return routed(self.nodes, self.graph, self.graph.volumes, self.sizes, self.capacities, "a test")

    def start(self, rng):
        """A random placement of every group on a place that holds it."""
        found = np.full(self.graph.n, -1, np.int32)
        for group in np.argsort(-self.sizes, kind="stable"):  # the others fit where the largest do
            free = np.setdiff1d(np.flatnonzero(self.capacities >= self.sizes[group]), found)
            found[group] = rng.choice(free)
        return found


def case(seed, spec, unequal=False):
    rng = np.random.default_rng(seed)
    where = allocate(spec)
    places = where.k
    count = int(rng.integers(2, places + 1))
    arcs = int(rng.integers(1, 4 * count))
    graph = CommGraph.from_edges(
        rng.integers(0, count, arcs), rng.integers(0, count, arcs), rng.integers(0, 9, arcs), n=count
    )
    capacities = rng.choice([2, 3, 5], places) if unequal else np.full(places, 2)
    held = np.sort(capacities)[::-1][:count]
    sizes = rng.permutation(np.maximum(1, held - rng.integers(0, 2, count))) if unequal else np.full(count, 2)
    groups = Groups(graph.symmetric_positive(), sizes.astype(np.int64), capacities.astype(np.int64))
    return Case(groups, graph, where, sizes.astype(np.int64), capacities.astype(np.int64)), rng


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("spec", SPECS)
def test_greedy_growth_and_exchanges_on_hops(spec, unequal):
    for seed in range(5):
        one, rng = case(seed, spec, unequal)
        near, hops = levels_between(one.nodes).tolist(), levels_between(one.nodes).tolist()
        around, distances = neighbourhood_of(one.nodes), place_distances(one.nodes)
        for seeds in (0, 1, 3):
            place, cost = hop_greedy(one.groups, around, distances, seeds)
            assert place.tolist() == twin.hop_greedy(
                one.weights, one.sizes.tolist(), one.capacities.tolist(), near, hops, seeds
            )
            assert cost == twin.cost_of(one.weights, place.tolist(), hops)
            assert np.all(one.capacities[place] >= one.sizes)
            assert len(set(place.tolist())) == len(place)
        start = one.start(rng)
        for delta in (1, 4, 100):
            place, _ = hop_swap(one.groups, around, distances, start, delta)
            assert place.tolist() == twin.hop_swap(
                one.weights, one.sizes.tolist(), one.capacities.tolist(), near, hops, start.tolist(), delta
            )
            assert np.all(one.capacities[place] >= one.sizes)


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("spec", SPECS)
def test_relief_of_the_hottest_links(spec, paper):
    for seed in range(6):
        one, rng = case(100 + seed, spec, unequal=seed % 2 == 1)
        start, problem, world = one.start(rng), one.problem(), one.world
        place, made, evaluations = congestion_swap(
            problem.traffic, problem.routing, neighbourhood_of(one.nodes), start, delta=6, paper_rule=paper,
            limit=10**6,
        )
        assert place.tolist() == routed_twin.congestion_swap(world, start.tolist(), 6, paper=paper)
        assert made <= evaluations
        assert routed_twin.rank(world, place, paper) <= routed_twin.rank(world, start, paper)


@pytest.mark.parametrize("spec", ["torus:3x2@5:nodes=2 / core:2@1", "fattree:3x3:up=1x2@5 / core:3@1"])
def test_places_that_share_an_endpoint(spec):
    # What goes to the places of one endpoint is rerouted as one flow; the twin reroutes flow by flow.
    for seed in range(6):
        rng, where = np.random.default_rng(500 + seed), allocate(spec)
        nodes, network = nodes_of(where), where.machine.network()
        arcs = rng.integers(0, where.k, (2, 6 * where.k))
        graph = CommGraph.from_edges(*arcs, rng.integers(0, 9, 6 * where.k), n=where.k)
        ones, endpoints = np.ones(where.k, np.int64), where.node_of_pe
        table = {
            (a, b): network.routes([endpoints[a]], [endpoints[b]]).links.tolist()
            for a in range(where.k) for b in range(where.k)
        }
        columns = graph.sources().tolist(), graph.targets.tolist(), graph.arc_volumes().tolist()
        hops = levels_between(nodes)[nodes.of_pe][:, nodes.of_pe].tolist()
        world = routed_twin.World(
            list(zip(*columns, strict=True)), lambda a, b, table=table: table[a, b], [1] * network.n_links,
            ones.tolist(), ones.tolist(), hops,
        )
        problem = routed(nodes, graph, graph.volumes, ones, ones, "a test", of_pes=True)
        start = rng.permutation(where.k).astype(np.int32)
        place, made, _ = congestion_swap(
            problem.traffic, problem.routing, neighbourhood_of(nodes, of_pes=True), start, delta=8,
            paper_rule=False, limit=10**6,
        )
        assert made > 0
        assert place.tolist() == routed_twin.congestion_swap(world, start.tolist(), 8, paper=False)


@pytest.mark.parametrize("spec", SPECS)
def test_ptram_chooses_as_its_twin(spec):
    for seed in range(8):
        one, rng = case(200 + seed, spec, unequal=seed % 2 == 1)
        problem, world, around = one.problem(), one.world, neighbourhood_of(one.nodes)
        # Powers of two, so that compiled code and the twin round alike.
        weights = (1.0, 4.0, 0.5, 0.25)
        everyone = np.arange(len(one.capacities), dtype=np.int32)
        terms = HybridTerms(*weights, 1.0, 1.0)
        for by_share in (False, True):
            place, _ = hybrid_greedy(
                problem.traffic, problem.routing, around, terms, everyone, by_share=by_share
            )
            assert place.tolist() == routed_twin.hybrid_greedy(world, weights, by_share=by_share)
        start = one.start(rng)
        for rule, nearby in ((1, False), (0, False), (1, True), (2, False), (2, True)):
            place, rounds, _ = hottest_link_refine(
                problem.traffic, problem.routing, around, start, nearest=5, rounds=4, rule=rule,
                nearby=nearby,
            )
            assert place.tolist() == routed_twin.hottest_link_refine(
                world, start.tolist(), 5, 4, paper=rule > 0, nearby=nearby, listing=rule == 2
            )
            assert rounds <= 4


@pytest.mark.parametrize("spec", [*SPECS, "fattree:6x3:up=1x2", "torus:5x3:nodes=3"])
def test_one_place_for_all_with_the_same_routes_changes_nothing_but_the_work(spec):
    saved = 0
    for seed in range(6):
        one, _ = case(300 + seed, spec, unequal=seed % 3 == 2)
        problem, around = one.problem(), neighbourhood_of(one.nodes)
        classes = route_classes(problem.routing, one.capacities)
        terms = HybridTerms(1.0, 1.0, 1.0, 1.0, problem.unit, problem.scale)
        everyone = np.arange(len(classes), dtype=np.int32)
        place, work = hybrid_greedy(problem.traffic, problem.routing, around, terms, classes)
        plain, plain_work = hybrid_greedy(problem.traffic, problem.routing, around, terms, everyone)
        assert place.tolist() == plain.tolist()
        saved += plain_work - work
    # Nodes on one router of a torus are the clearest case.
    assert saved > 0 or "nodes=" not in spec


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("spec", SPECS)
def test_the_search_never_makes_it_worse_and_keeps_what_it_was_told(spec, hybrid):
    weights = (1.0, 4.0, 0.5, 0.25)
    better = 0
    for seed in range(6):
        one, rng = case(400 + seed, spec, unequal=seed % 2 == 1)
        start, problem, world = one.start(rng), one.problem(), one.world
        found = [
            congestion_search(
                problem.traffic, problem.routing, neighbourhood_of(one.nodes), start,
                CongestionSettings(2000, nearest=8, band_percent=80, threshold=30_000, hop_percent=0),
                hybrid=HybridTerms(*weights, 1.0, 1.0) if hybrid else None, control=RunControl(5),
            )[0]
            for _ in range(2)
        ]
        place = found[0]
        assert found[0].tobytes() == found[1].tobytes()
        assert len(set(place.tolist())) == len(place)
        assert np.all(one.capacities[place] >= one.sizes)
        before, after = (sum(routed_twin.loads(world, where)) for where in (start, place))
        assert after <= before
        if hybrid:
            values = [routed_twin.hybrid_value(world, where, weights) for where in (place, start)]
            assert values[0] <= values[1] * (1 + 1e-12)
        else:
            values = [routed_twin.rank(world, where, paper=False)[0] for where in (place, start)]
            assert values[0] <= values[1]
        better += values[0] < values[1]
    assert better >= 1


@pytest.mark.parametrize("spec", [*SPECS, "torus:4x4:route=spread", "torus:3x2@5:nodes=2 / core:3@1"])
def test_sets_that_change_places_together_are_counted_exactly(spec):
    # The search keeps what its running loads call better; loads from scratch have to agree.
    changed = 0
    for seed in range(6):
        where, rng = allocate(spec), np.random.default_rng(600 + seed)
        nodes = nodes_of(where)
        of_pes = nodes.count < where.k
        places = where.k
        capacities = rng.choice([1, 2], places) if seed % 2 else np.ones(places, np.int64)
        sizes = capacities[: places - seed % 3].copy()
        ends = rng.integers(0, len(sizes), (2, 5 * places))
        graph = CommGraph.from_edges(*ends, rng.integers(1, 9, 5 * places), n=len(sizes))
        problem = routed(
            nodes, graph, graph.volumes, sizes, capacities.astype(np.int64), "a test", of_pes=of_pes
        )
        start = np.arange(len(sizes), dtype=np.int32)
        place, made, _ = congestion_search(
            problem.traffic, problem.routing, neighbourhood_of(nodes, of_pes=of_pes), start,
            CongestionSettings(
                20_000, nearest=8, band_percent=50, threshold=0, hop_percent=None, set_percent=800
            ),
            control=RunControl(seed),
        )
        assert len(set(place.tolist())) == len(place)
        assert np.all(capacities[place] >= sizes)
        if made and not np.array_equal(place, start):
            changed += 1
            assert _key(problem, where, graph, place) < _key(problem, where, graph, start)
    assert changed >= 3


def _key(problem, where, graph, place):
    """Highest congestion, links that have it, sum of all loads; by the kernel that judges placements."""
    network, endpoints = where.machine.network(), problem.routing.endpoints[place]
    loads, _ = link_amounts(
        network.form, network.n_links, graph.arcs(graph.volumes), endpoints,
        problem.routing.shift,
    )
    prices = network.prices()[0]
    values = loads if prices is None else loads * prices
    return int(values.max()), int(np.count_nonzero(values == values.max())), int(loads.sum())
