"""Routes of every form, and the loads they put on links: compiled kernels against their plain twins."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopbytes import _core
from hopbytes.kernels.routes import FORMS, RouteForm, fraction_bits
from reference import routes_reference as twin


def grid_form(pick):
    sizes = [pick(1, 5) for _ in range(pick(1, 3))]
    per_router = pick(1, 2)
    numbers = [per_router, len(sizes), *sizes, *(pick(0, 1) for _ in sizes), pick(0, 1)]
    routers = int(np.prod(sizes))
    table = np.random.default_rng(pick(0, 99)).permutation(routers) if pick(0, 1) else np.empty(0)
    form = RouteForm("grid", np.array(numbers), table.astype(np.int32), split=numbers[-1] > 0)
    return form, routers * per_router, routers * 2 * len(sizes)


def fat_tree_form(pick):
    levels = pick(1, 3)
    below, above, cables = ([pick(1, 3) for _ in range(levels)] for _ in range(3))
    rule = pick(0, 2)
    nodes = int(np.prod(below))
    links, lower = 0, nodes
    for i in range(levels):
        links += 2 * lower * above[i] * cables[i]
        lower = lower // below[i] * above[i]
    numbers = np.array([levels, nodes, rule, *below, *above, *cables])
    return RouteForm("fat_tree", numbers, split=rule == 2), nodes, links


def hyperx_form(pick):
    sizes = [pick(1, 4) for _ in range(pick(1, 3))]
    per_router = pick(1, 2)
    nodes = int(np.prod(sizes)) * per_router
    links = 2 * nodes + int(np.prod(sizes)) * sum(size - 1 for size in sizes)
    return RouteForm("hyperx", np.array([per_router, len(sizes), *sizes])), nodes, links


def dragonfly_form(pick):
    groups, routers, nodes = pick(1, 6), pick(1, 3), pick(1, 2)
    ports = max(1, -(-(groups - 1) // routers)) + pick(0, 2)
    rule = pick(0, 2)
    numbers = np.array([groups, routers, nodes, ports, pick(0, 1), rule])
    total = groups * routers
    links = 2 * total * nodes + total * (routers - 1) + total * ports
    return RouteForm("dragonfly", numbers, split=rule > 0), total * nodes, links


def forwarding_form(pick):
    """A random table: it may hold loops and dead ends."""
    endpoints, switches = pick(1, 4), pick(1, 4)
    vertices, links = endpoints + switches, pick(1, 12)
    head = np.array([pick(0, vertices - 1) for _ in range(links)], np.int32)
    first = [-2 - pick(0, links - 1) if pick(0, 5) else -1 for _ in range(endpoints)]
    first += list(range(switches))
    table = np.array([pick(-1, links - 1) for _ in range(switches * endpoints)], np.int32)
    hosts = [pick(0, 2) for _ in range(endpoints)] if pick(0, 1) else []  # several adapters per host
    numbers = np.array([endpoints, vertices, links, *hosts])
    return RouteForm("forwarding", numbers, table, np.array(first, np.int32), head), endpoints, links


def listed_form(pick):
    endpoints, links = pick(1, 5), pick(1, 9)
    targets = [[t for t in range(endpoints) if pick(0, 2)] for _ in range(endpoints)]
    lengths = [pick(0, 4) for row in targets for _ in row]
    pair_start = np.cumsum([0, *map(len, targets)])
    numbers = np.concatenate([[endpoints], pair_start, np.cumsum([0, *lengths])])
    table = np.array([pick(0, links - 1) for _ in range(sum(lengths))], np.int32)
    first = np.array([t for row in targets for t in row], np.int32)
    return RouteForm("listed", numbers.astype(np.int64), table, first), endpoints, links


def spread_form(pick):
    """Any graph, with the distances that belong to it."""
    vertices = pick(1, 6)
    endpoints, links = pick(1, vertices), pick(0, 14)
    tail = np.sort(np.array([pick(0, vertices - 1) for _ in range(links)], np.int32))
    head = np.array([pick(0, vertices - 1) for _ in range(links)], np.int32)
    rows = np.array([pick(-1, 0) for _ in range(vertices)], np.int32)
    tables = []
    for module in (_core, twin):
        tables.append(np.full(vertices * endpoints, -9, np.int32))
        module.distance_table(tail, head, rows, endpoints, tables[-1])
    assert tables[0].tolist() == tables[1].tolist()
    first = np.searchsorted(tail, np.arange(vertices + 1)).astype(np.int32)
    hosts = [pick(0, 2) for _ in range(endpoints)] if pick(0, 1) else []
    numbers = np.array([endpoints, vertices, *range(links), *hosts])
    return RouteForm("spread", numbers, tables[0], first, head, split=True), endpoints, max(1, links)


MAKERS = {
    "grid": grid_form, "fat_tree": fat_tree_form, "hyperx": hyperx_form, "dragonfly": dragonfly_form,
    "forwarding": forwarding_form, "listed": listed_form, "spread": spread_form,
}


@st.composite
def route_forms(draw, kind):
    return MAKERS[kind](lambda low, high: draw(st.integers(low, high)))


def all_pairs(endpoints):
    a, b = np.meshgrid(np.arange(endpoints, dtype=np.int32), np.arange(endpoints, dtype=np.int32))
    return a.reshape(-1).copy(), b.reshape(-1).copy()


def entries(module, form, sources, targets):
    """Hops of every pair, and per pair its sorted (link, numerator, denominator)."""
    hops = np.empty(len(sources), np.int64)
    module.route_hops(form.arguments, sources, targets, hops)
    start = np.empty(len(sources) + 1, np.int64)
    module.route_visits(form.arguments, sources, targets, start)
    columns = [np.full(int(start[-1]), -9, np.int64) for _ in range(3)]
    module.route_links(form.arguments, sources, targets, start, *columns)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    return hops.tolist(), [sorted(rows[a:b]) for a, b in pairwise(start)]


@pytest.mark.parametrize("kind", FORMS)
def test_compiled_routes_are_those_of_the_twin(kind):
    @settings(max_examples=25, deadline=None)
    @given(route_forms(kind))
    def check(made):
        form, endpoints, links = made
        sources, targets = all_pairs(endpoints)
        hops, routes = entries(_core, form, sources, targets)
        assert (hops, routes) == entries(twin, form, sources, targets)
        for way, route, here, there in zip(hops, routes, sources, targets, strict=True):
            assert all(0 <= link < links for link, _, _ in route)
            assert (way == -1) <= (not route)
            if here == there:
                assert way == 0
                assert not route

    check()


@pytest.mark.parametrize("kind", FORMS)
def test_link_amounts_and_crossing_arcs_are_those_of_the_twin(kind):
    @settings(max_examples=25, deadline=None)
    @given(route_forms(kind), st.integers(0, 2**32 - 1))
    def check(made, seed):
        form, endpoints, links = made
        rng = np.random.default_rng(seed)
        tasks = 6
        degrees = rng.integers(0, 4, tasks)
        indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
        arcs = np.sort(rng.integers(0, tasks, int(indptr[-1]))).astype(np.int32)
        weights = rng.integers(0, 2**30, len(arcs))
        place = rng.integers(0, endpoints, tasks).astype(np.int32)
        shift = fraction_bits(form, int(weights.sum()))
        prices = rng.integers(1, 4, links) if rng.integers(2) else np.empty(0, np.int64)
        results = []
        for module in (_core, twin):
            amounts = np.zeros(links, np.int64)
            lost = module.link_amounts(form.arguments, (indptr, arcs, weights), place, shift, amounts)
            marked = np.zeros(len(arcs), np.uint8)
            module.arcs_over_link(form.arguments, (indptr, arcs, None), place, links // 2, marked)
            counts = [np.zeros(max(64, endpoints), np.int64) for _ in range(4)]
            left = module.hop_histogram(form.arguments, (indptr, arcs, weights), place, counts[0], counts[1])
            sums = module.unit_traffic((indptr, arcs, weights), place, 2, counts[2], counts[3])
            found = [count.tolist() for count in counts]
            whole = int(lost), int(left), tuple(sums), tuple(module.summarize_links(amounts, prices))
            results.append((whole, amounts.tolist(), marked.tolist(), found))
        assert results[0] == results[1]

    check()


def test_squares_need_more_than_64_bits():
    amounts = np.full(3, 2**62, np.int64)
    assert _core.summarize_links(amounts, np.empty(0, np.int64)) == twin.summarize_links(amounts, np.empty(0))


def test_shares_are_rounded_once_per_flow():
    assert twin.share_of(1, 1, 3, 0) == 0
    assert twin.share_of(1, 1, 2, 0) == 1
    assert twin.share_of(5, 1, 3, 4) == round(5 / 3 * 16)
