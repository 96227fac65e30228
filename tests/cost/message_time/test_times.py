"""``--weight time``: latency x messages + bytes / bandwidth by the level at which two PEs part."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.strategies import graphs
from hopbytes.cost.message_time import comm_time, knows_times, search_form, times_of
from hopbytes.errors import UnsupportedError

#: Bytes travel between nodes as fast as inside, messages do not: latency and bandwidth disagree.
DISAGREE = "node:2@10:lat=1e-5:bw=1e10 core:2@1:lat=1e-7:bw=9e9"
AGREE = "node:2@10:lat=1e-6:bw=1e9 core:4@1:lat=1e-7:bw=1e10"


def slow_sum(graph, where, pe):
    """The definition, arc by arc."""
    total = 0.0
    levels = where.machine.levels[::-1]
    distance = where.distance
    sources, volumes, messages = graph.sources(), graph.arc_volumes(), graph.arc_messages()
    for arc in range(graph.m):
        a, b = int(pe[sources[arc]]), int(pe[graph.targets[arc]])
        width = (int(distance.labels[a]) ^ int(distance.labels[b])).bit_length()
        if width:
            level = levels[int(distance.level_of_bit[width]) - 1]
            total += level.latency * int(messages[arc]) + int(volumes[arc]) / level.bandwidth
    return total


@pytest.mark.parametrize("spec", [AGREE, "torus:2x2x2:bw=1000:lat=1e-3"], ids=["levels", "network"])
def test_search_form_is_exact_where_latency_and_bandwidth_grow_alike(spec):
    """On a network: one bandwidth, and no levels inside nodes."""
    graph = hb.CommGraph.from_edges([0, 1, 2, 5], [1, 4, 7, 6], [10, 100, 1000, 5], [1, 9, 2, 3], n=8)
    where = hb.allocate(spec)
    times = times_of(graph, where)
    form = search_form(graph, where, times)
    assert form.error < 1e-12
    from hopbytes.cost.objectives.comm_cost import CommCost

    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(20):
        pe = rng.permutation(8).astype(np.int32)
        ratios.append(CommCost().value(form.graph, form.where, pe) / comm_time(graph, where, pe, times))
    assert max(ratios) / min(ratios) == pytest.approx(1, rel=1e-5)


def test_many_small_messages_and_one_large_one():
    """By bytes tasks 0 and 1 belong together, by messages 0 and 2; the time decides for the latter."""
    graph = hb.CommGraph.from_edges([0, 0, 1], [1, 2, 3], [10**6, 1000, 1000], [1, 1000, 1000], n=4)
    where = hb.allocate(DISAGREE)
    by_bytes = hb.map_tasks(graph, where, seed=1)
    in_time = hb.map_tasks(graph, where, weight="time", seed=1)
    nodes = where.node_of_pe
    assert nodes[by_bytes.pe[0]] == nodes[by_bytes.pe[1]]
    assert nodes[in_time.pe[0]] == nodes[in_time.pe[2]]
    assert nodes[in_time.pe[1]] == nodes[in_time.pe[3]]
    assert in_time.info["comm_seconds"] == pytest.approx(slow_sum(graph, where, in_time.pe))
    assert in_time.info["comm_seconds"] < slow_sum(graph, where, by_bytes.pe)
    assert in_time.where is where


def test_evaluation_has_the_time_where_it_can_be_known():
    graph = hb.CommGraph.from_edges([0, 1], [2, 3], [5, 5])
    timed = hb.evaluate(graph, hb.map_tasks(graph, hb.allocate(DISAGREE), "identity"))
    assert timed.mapping.comm_seconds == pytest.approx(2 * (1e-5 + 5 / 1e10))
    assert "seconds of all messages" in str(timed)
    assert timed.to_dict()["comm_seconds"] == timed.mapping.comm_seconds
    plain = hb.evaluate(graph, hb.map_tasks(graph, hb.allocate("node:2 core:2"), "identity"))
    assert plain.mapping.comm_seconds is None
    assert "comm_seconds" not in plain.to_dict()


def test_levels_that_part_nobody_need_no_values():
    where = hb.allocate("island:1@50 node:2@10:lat=1e-6:bw=1e9 core:2@1:lat=1e-7:bw=1e10")
    assert knows_times(where)
    graph = hb.CommGraph.from_edges([0, 1], [2, 3], [5, 5])
    assert hb.map_tasks(graph, where, weight="time").n == 4


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("node:2 core:2", "no latency or bandwidth of core node --measure"),
        ("node:2@10:lat=1e-6 core:2@1:lat=1e-7:bw=1e10", "no latency or bandwidth of node"),
        ("torus:2x2", "no latency of a hop bandwidth of links"),
        ("torus:2x2:lat=1e-6", "no bandwidth of links"),
        ("torus:2x2:bw=1e9", "no latency of a hop"),
        ("torus:2x2:lat=1e-6:bw=1e9 / core:2@1", "no latency or bandwidth of core"),
    ],
)
def test_machines_without_times(spec, words):
    graph = hb.CommGraph.from_edges([0, 1], [2, 3], [5, 5])
    with pytest.raises(UnsupportedError, match=mentions(*words.split())):
        hb.map_tasks(graph, hb.allocate(spec), weight="time")


def test_empty_patterns_take_no_time():
    graph = hb.CommGraph.from_edges([], [], n=3)
    mapping = hb.map_tasks(graph, hb.allocate(AGREE), weight="time")
    assert mapping.info["comm_seconds"] == 0


def test_large_totals_use_a_coarser_unit():
    graph = hb.CommGraph.from_edges([0, 1], [1, 2], [2**60, 2**60], n=3)
    where = hb.allocate(AGREE)
    times = times_of(graph, where)
    assert times.exponent < 18
    pe = np.array([0, 4, 0], np.int32)
    seconds = times.seconds(comm_time(graph, where, pe, times))
    assert seconds == pytest.approx(slow_sum(graph, where, pe), rel=1e-6)


#: Links of unlike bandwidth, two nodes on each router, and levels inside.
NETWORK = (
    "torus:3x4:nodes=2:bw=2000000000x1000000000:lat=1e-6@10 / "
    "package:2@2:lat=2e-7:bw=5e9 core:2@1:lat=1e-7:bw=1e10"
)


def slow_sum_on_routes(graph, where, pe):
    """The definition, message by message: every link of the route in turn, or the level inside the node."""
    total, network = 0.0, where.machine.network()
    endpoint, nodes = where.machine.network_use.endpoint_of_core(), where.node_of_pe
    sources, volumes, messages = graph.sources(), graph.arc_volumes(), graph.arc_messages()
    for arc in range(graph.m):
        a, b = int(pe[sources[arc]]), int(pe[graph.targets[arc]])
        links = []
        if nodes[a] != nodes[b]:
            routes = network.routes(endpoint[[a]], endpoint[[b]])
            links = routes.links.tolist()
        for link in links:
            total += 1e-6 * int(messages[arc]) + int(volumes[arc]) / int(network.capacity[link])
        if not links and a != b:
            latency, bandwidth = (1e-7, 1e10) if a // 2 == b // 2 else (2e-7, 5e9)
            total += latency * int(messages[arc]) + int(volumes[arc]) / bandwidth
    return total


@pytest.mark.parametrize(("spec", "definition"), [(AGREE, slow_sum), (NETWORK, slow_sum_on_routes)])
@settings(deadline=None, max_examples=40)
@given(graph=graphs(max_tasks=12), seed=st.integers(0, 2**32 - 1))
def test_time_is_its_definition(spec, definition, graph, seed):
    where = hb.allocate(spec)
    pe = np.random.default_rng(seed).integers(0, where.k, graph.n).astype(np.int32)
    times = times_of(graph, where)
    seconds = times.seconds(comm_time(graph, where, pe, times))
    assert seconds == pytest.approx(definition(graph, where, pe), rel=1e-9)


def test_flows_over_several_routes_put_their_share_on_each():
    """Two hops whichever way: 2 x (latency + bytes / bandwidth), for both rules."""
    graph = hb.CommGraph.from_edges([0], [1], [1000], [3])
    for rule in ("ordered", "spread"):
        where = hb.allocate(f"torus:4x4:bw=1000000:lat=1e-3:route={rule}")
        mapping = hb.Mapping(np.array([0, 5], np.int32), where, {})
        found = hb.evaluate(graph, mapping).mapping.comm_seconds
        assert found == pytest.approx(2 * (3 * 1e-3 + 1000 / 1e6))


def test_latency_of_hops_is_part_of_the_spec():
    where = hb.allocate("torus:4x4:lat=1.5e-7:bw=1e9@10 / core:2@1")
    assert where.machine.spec() == "torus:4x4:bw=1000000000@10:lat=1.5e-07 / core:2@1"
    assert hb.allocate(where.machine.spec()).machine == where.machine
    again = hb.allocate("torus:4x4:lat=0 / core:2@1").machine.with_distances({"hop": 7})
    assert again.spec() == "torus:4x4@7:lat=0.0 / core:2@1"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("torus:4x4:lat=fast", "expected seconds like 1e-7"),
        ("torus:4x4:lat=1:lat=2", "once"),
        ("torus:4x4:lat=1e999", r"lat=1e999|expected seconds"),
        ("table:missing.txt:lat=1", "."),
    ],
)
def test_bad_latencies_are_one_line(spec, words):
    with pytest.raises(hb.HopbytesError, match=words) as caught:
        hb.allocate(spec)
    assert "\n" not in str(caught.value)
