"""Lower bounds against times worked out by hand."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.errors import FormatError, UnsupportedError

GIGA, SLOW = 10**9, "node:4@10:bw=1e9:lat=1e-6 core:2@1:bw=1e10:lat=1e-7"


def arcs(*pairs, size=10**6, n=None):
    """Return a graph with one message of `size` bytes per pair."""
    sources, targets = zip(*pairs, strict=True)
    return hb.CommGraph.from_edges(sources, targets, [size] * len(pairs), n=n)


def bound(graph, spec, pe=None, **options):
    """Return the bound of a mapping, in order by default."""
    where = hb.allocate(spec)
    mapping = hb.Mapping(range(graph.n) if pe is None else pe, where)
    return hb.simulate(graph, mapping, grade="bound", **options)


def test_two_flows_on_one_link():
    """Both processes of node 0 send 1 MB to node 1 at 1 GB/s: 2 ms; one process alone takes 1 ms + 1 us."""
    both = bound(arcs((0, 2), (1, 3), n=8), SLOW)
    assert both.seconds == pytest.approx(2e-3)
    assert both.limit == "link"
    assert both.links[0] == ("node 0 up", 2e6, pytest.approx(2e-3))
    alone = bound(arcs((0, 2), n=8), SLOW)
    assert alone.seconds == pytest.approx(1.001e-3)
    assert alone.limit == "message"


def test_a_saturated_ring():
    """Every node sends three hops to the right, so that every link carries three messages."""
    ring = arcs(*((i, (i + 3) % 8) for i in range(8)))
    found = bound(ring, "torus:8:bw=1000000000:lat=1e-6")
    assert found.parts["link"] == pytest.approx(3e-3)
    assert found.parts["injection"] == pytest.approx(0.5e-3)  # two links leave a router
    assert found.parts["message"] == pytest.approx(1e-3 + 3e-6)
    assert len(found.links) == 8


def test_full_bisection():
    """Islands of two nodes: without oversubscription nodes are the limit, with 2:1 their islands."""
    spec = "island:2@100:bw=1e9:lat=2e-6 node:2@10:bw=1e9:lat=1e-6"
    across = arcs((0, 2), (1, 3), (2, 0), (3, 1))
    assert bound(across, spec).parts["link"] == pytest.approx(1e-3)
    thinner = bound(across, spec.replace("@100", "@100:over=2"))
    assert thinner.parts["link"] == pytest.approx(2e-3)
    assert thinner.links[0][0] == "island 0 up"


def test_a_level_thinner_than_those_inside():
    """Two processes of different islands exchange at what the outer level says, and the node stays wider."""
    spec = "island:2@100:bw=1e8:lat=2e-6 node:2@10:bw=1e9:lat=1e-6"
    assert bound(arcs((0, 2), n=4), spec).parts["link"] == pytest.approx(10e-3)
    assert bound(arcs((0, 1), n=4), spec).parts["link"] == pytest.approx(1e-3)


def test_latencies_of_levels_are_those_between_processes():
    spec = "island:2@100:bw=1e9:lat=7e-6 node:2@10:bw=1e9:lat=2e-6 core:2@1:bw=1e9:lat=5e-7"
    for target, seconds in ((4, 7e-6), (2, 2e-6), (1, 5e-7)):
        assert bound(arcs((0, target), size=0, n=8), spec).seconds == pytest.approx(seconds)


def test_a_process_copies_one_message_after_the_other():
    """Process 0 sends 1 MB to three others of its node at 10 GB/s: 0.3 ms, however many cores there are."""
    found = bound(arcs((0, 1), (0, 2), (0, 3), n=4), "node:1@10:bw=1e9:lat=1e-6 core:4@1:bw=1e10:lat=0")
    assert found.seconds == pytest.approx(3e-4)
    assert (found.limit, found.flows, found.messages) == ("copy", 0, 3)


def test_tasks_of_one_pe_take_no_time():
    assert bound(arcs((0, 1), (1, 1)), SLOW, pe=[0, 0]).seconds == 0


def test_rounds_and_scale():
    """Ten messages of 100 kB between two nodes, one after the other."""
    graph = hb.CommGraph.from_edges([0], [2], [10**6], messages=[10], n=4)
    found = bound(graph, SLOW)
    assert found.rounds == 10
    assert found.seconds == pytest.approx(10 * (1e-4 + 1e-6))
    assert bound(graph, SLOW, iterations=1).seconds == pytest.approx(1e-3 + 1e-6)
    assert bound(graph, SLOW, iterations=1, bytes_scale=3).seconds == pytest.approx(3e-3 + 1e-6)


def test_the_busiest_link_of_networks():
    """The busiest link by brute force, over the routes of single messages."""
    rng = np.random.default_rng(3)
    for spec in ("torus:3x4:bw=1000000000:lat=0", "fattree:4x4:bw=1000000000:lat=0", "dragonfly:3x2x2"):
        where = hb.allocate(spec)
        graph = arcs(*{tuple(rng.choice(12, 2, replace=False)) for _ in range(60)})
        pe = rng.permutation(where.k)[: graph.n]
        found = hb.simulate(graph, hb.Mapping(pe, where), grade="bound", assume="hdr100")
        network = where.machine.network()
        loads = {}
        for source, target in zip(graph.sources(), graph.targets, strict=True):
            routes = network.routes([pe[source]], [pe[target]])
            for link in routes.links.tolist():
                loads[link] = loads.get(link, 0) + 10**6
        assert found.links[0][1] == max(loads.values())


def test_relative_capacities_are_scaled():
    """A cable of capacity 100 at the node is 12.5 GB/s; global links of 25 are a quarter of that."""
    graph = arcs((0, 1), n=2)
    found = bound(graph, "fattree:2x2:bw=100x25", pe=[0, 3])
    assert found.parts["link"] == pytest.approx(1e6 / (12.5e9 / 4))
    assert any("capacity 100" in notice for notice in found.notices)


def test_what_is_assumed_is_said():
    found = bound(arcs((0, 2), n=4), "node:2 core:2")
    assert found.seconds == pytest.approx(1e6 / 12.5e9 + 1.2e-6)
    assert any("hdr100" in notice for notice in found.notices)
    faster = bound(arcs((0, 2), n=4), "node:2 core:2", assume="ndr400")
    assert faster.seconds < found.seconds


@pytest.mark.parametrize("spec", ["node:2 core:2", "torus:4", "node:2:bw=1e9:lat=1e-6 core:2"])
def test_a_machine_without_bandwidths_can_be_refused(spec):
    with pytest.raises(UnsupportedError, match="hdr100"):
        bound(arcs((0, 2), (0, 1), n=4), spec, assume="none")


def test_bad_arguments():
    graph = arcs((0, 1))
    with pytest.raises(FormatError, match="3 tasks"):
        bound(graph, SLOW, pe=[0, 1, 2])
    with pytest.raises(UnsupportedError, match="ndr400"):
        bound(graph, SLOW, assume="ndr40")
    with pytest.raises(UnsupportedError, match="bound"):
        hb.simulate(graph, hb.Mapping([0, 1], hb.allocate(SLOW)), grade="bounds")
    for name, wrong in (("bytes_scale", 0), ("bytes_scale", float("nan")), ("iterations", 0)):
        with pytest.raises(FormatError, match=name):
            bound(graph, SLOW, **{name: wrong})


def test_a_table_has_no_links(tmp_path):
    (tmp_path / "table.txt").write_text("0 1\n1 0\n")
    with pytest.raises(UnsupportedError, match="distances only"):
        bound(arcs((0, 1)), f"table:{tmp_path}/table.txt")


def test_nodes_of_one_router_need_no_link():
    """Routers of a torus have two nodes each: a message between them takes its latency, no link."""
    graph = hb.CommGraph.from_edges([0, 0], [1, 2], [10**6, 10**6])
    mapping = hb.Mapping([0, 1, 2], hb.allocate("torus:4:nodes=2:lat=1e-6:bw=1000000000"))
    found = hb.simulate(graph, mapping, grade="bound")
    assert found.flows == 2
    assert found.parts["link"] == pytest.approx(1e-3)
    alone = hb.CommGraph.from_edges([0], [1], [10**6], n=3)
    assert hb.simulate(alone, mapping, grade="bound").seconds == pytest.approx(0, abs=2e-6)


def test_routers_at_the_end_of_a_line_have_one_link_only():
    """What leaves router 0 has one link for itself, a router in the middle two."""
    line = "mesh:4:bw=1000000000:lat=1e-6"
    assert bound(arcs((0, 3), n=4), line).parts["injection"] == pytest.approx(1e-3)
    assert bound(arcs((1, 2), n=4), line).parts["injection"] == pytest.approx(0.5e-3)


def test_a_process_sends_while_it_receives():
    """A chain inside one node: the process in the middle copies both messages at the same time."""
    chain = bound(arcs((0, 1), (1, 2), n=3), "node:1@10:bw=1e9:lat=1e-6 core:3@1:bw=1e10:lat=1e-7")
    assert chain.parts["copy"] == pytest.approx(0.1e-3)
