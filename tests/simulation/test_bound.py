"""Lower bounds against times worked out by hand."""

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.simulation import bound as bounds
from hopbytes.simulation.links import Speeds
from hopbytes.simulation.simulate import Prediction, _announce

SLOW = "node:4@10:bw=1e9:lat=1e-6 core:2@1:bw=1e10:lat=1e-7"


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
    whole = bound(across, spec)
    assert (whole.parts["link"], whole.flows) == (pytest.approx(1e-3), 4)
    thinner = bound(across, spec.replace("@100", "@100:over=2"))
    assert thinner.parts["link"] == pytest.approx(2e-3)
    assert thinner.links[0][0] == "island 0 up"


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


def test_relative_capacities_are_scaled():
    """A cable of capacity 100 at the node is 12.5 GB/s; global links of 25 are a quarter of that."""
    graph = arcs((0, 1), n=2)
    found = bound(graph, "fattree:2x2:bw=100x25", pe=[0, 3])
    assert found.parts["link"] == pytest.approx(1e6 / (12.5e9 / 4))
    assert any("capacity 100" in notice for notice in found.notices)


def test_a_level_without_numbers_is_as_fast_as_those_inside_and_a_hop_farther():
    """12.5 GB/s, 1 us per message and two hops of 0.1 us, or what the next inner level has."""
    def waits(spec, target, size=0):
        return bound(arcs((0, target), size=size, n=8), spec)

    plain = "rack:2 island:2 node:2"
    for target, seconds in ((1, 1.2e-6), (2, 1.4e-6), (4, 1.6e-6)):
        found = waits(plain, target)
        assert found.seconds == pytest.approx(seconds)
        assert waits(plain, target, 10**9).seconds == pytest.approx(10**9 / 12.5e9 + seconds)
        assert waits("rack:2 island:2 node:2:bw=1e9:lat=5e-6", target, 10**9).seconds == pytest.approx(
            1 + 5e-6 + (seconds - 1.2e-6)
        )
    faster = bound(arcs((0, 1), size=10**9), plain, assume="ndr400")
    assert (faster.seconds, faster.assumed) == (pytest.approx(10**9 / 50e9 + 1.2e-6), "ndr400")
    assert found.assumed == "hdr100"
    (said,) = (notice for notice in found.notices if "hdr100" in notice)
    assert all(text in said for text in ("node, island, rack", "12.5 GB/s, 1.2 us"))
    assert sum("over=N" in notice for notice in found.notices) == 1
    whole = "rack:2:bw=1e9:lat=1e-6:over=2 node:4:bw=1e9:lat=1e-6"
    assert bound(arcs((0, 4)), whole).notices == ()
    inside = bound(arcs((0, 1)), "node:1 package:1 core:2")
    assert inside.seconds == pytest.approx(10**6 / 10e9 + 3e-7)
    said = inside.notices[-1]
    assert all(text in said for text in ("core", "10 GB/s", "0.3 us"))
    assert bound(arcs((0, 1)), "core:2:lat=1e-3").seconds == pytest.approx(10**6 / 10e9 + 1e-3)
    assert Speeds("x", 1.0, 0.0, 0.0).copy_bandwidth == 10e9


@pytest.mark.parametrize(("latency", "seconds"), [("", 1.3e-6), (":lat=2e-6", 6e-6)])
def test_hops_of_a_network_have_the_latency_of_the_machine_or_the_assumed_one(latency, seconds):
    """Three hops; the assumed speeds add 1 us for every message."""
    found = bound(arcs((0, 3), size=0, n=4), f"mesh:4:bw=1000000000{latency}")
    assert found.seconds == pytest.approx(seconds)
    assert found.assumed == ("" if latency else "hdr100")
    assert [
        all(text in notice for text in ("1 us a message", "0.1 us a hop")) for notice in found.notices
    ] == ([] if latency else [True])


def test_rounds_are_the_median_number_of_messages_between_two_tasks():
    """What a task sends to itself does not count; the volumes of a scaled pattern are what they were."""
    graph = hb.CommGraph.from_edges([0, 0, 1, 2], [0, 2, 2, 0], [8, 9000, 9000, 9000], messages=[99, 3, 5, 4])
    found = bound(graph, SLOW)
    assert (found.rounds, found.bytes_between_nodes) == (4, pytest.approx(27000 / 4))
    assert found.seconds == pytest.approx(4 * found.round_seconds)
    assert ["4 rounds" in notice for notice in found.notices] == [True]
    once = hb.CommGraph.from_edges([0], [2], [9000], messages=[1])
    assert (bound(once, SLOW).rounds, bound(once, SLOW).notices) == (1, ())
    assert (bound(once, SLOW, iterations=3).rounds, bound(once, SLOW, iterations=3).notices) == (3, ())
    alone = hb.CommGraph.from_edges([0], [0], [9000], messages=[7])
    assert (bound(alone, SLOW).rounds, bound(alone, SLOW).seconds, bound(alone, SLOW).links) == (1, 0, ())


def test_flows_are_no_shorter_than_the_copies_inside_nodes():
    graph = hb.CommGraph.from_edges([0, 0], [1, 2], [10**8, 10**3], n=8)
    found = hb.simulate(graph, hb.Mapping(range(8), hb.allocate(SLOW)), grade="flows")
    assert found.seconds == pytest.approx(10**8 / 1e10 + 1e-7)
    assert 0 <= found.computing_seconds < 60
    assert found.to_dict()["links"][0] == {
        "name": "node 0 up",
        "bytes": 1000.0,
        "seconds": pytest.approx(1e-6),
    }


@pytest.mark.parametrize(("flows", "messages", "grade", "length"), [
    (4000, 0, "flows", None), (4001, 0, "flows", "4 seconds"), (119_000, 0, "flows", "119 seconds"),
    (180_000, 0, "flows", "3 minutes"), (10**6, 2000, "replay", None), (0, 2100, "replay", "4 seconds"),
    (0, 30_000, "replay", "15 minutes"),
])  # fmt: skip
def test_what_takes_more_than_four_seconds_is_announced(flows, messages, grade, length):
    told = []
    _announce(flows, messages, grade, told.append)
    assert [text.rpartition("about ")[2] for text in told] == ([] if length is None else [length])
    assert all(f" {flows} flows" in text or f" {messages} messages" in text for text in told)


def test_times_beside_each_other_count_the_smaller_gain():
    def times(seconds, posted=None):
        return Prediction("waiting", seconds, seconds, 1, {}, "link", (), 0, 0, 0, 0, posted_seconds=posted)

    assert times(1.0).beside(times(4.0)) == 0.25
    assert times(1.0, 3.0).beside(times(4.0, 4.0)) == 0.75
    assert times(3.0, 1.0).beside(times(4.0, 4.0)) == 0.75
    assert times(1.0, 3.0).beside(times(4.0)) == times(1.0).beside(times(4.0, 4.0)) == 0.25
    assert times(1.0).beside(times(0.0)) == 1.0
    text = bound(arcs((0, 2), (1, 3), n=8), SLOW)._repr_html_()
    assert all(word in text for word in ("link node 0 up with 2 MB a round", "2 ms", "bound"))


@pytest.mark.parametrize("spec", ["node:2 core:2", "torus:4", "node:2:bw=1e9:lat=1e-6 core:2"])
def test_a_machine_without_bandwidths_can_be_refused(spec):
    with pytest.raises(UnsupportedError, match="hdr100"):
        bound(arcs((0, 2), (0, 1), n=4), spec, assume="none")


def judged_plainly(graph, pe, where, node_of, ways, outlet):
    """Return the facts of a bound from the way of every message: (link, share, capacity, latency) each.

    `outlet` gives the router of a PE and what leaves it per second.
    """
    levels = where.machine.levels
    loads, sent, got, copied, flows, longest = {}, {}, {}, {}, {}, 0.0
    between = inside = messages = 0
    for a, b, size in zip(graph.sources().tolist(), graph.targets.tolist(), graph.arc_volumes(), strict=True):
        source, target = int(pe[a]), int(pe[b])
        if source == target:
            continue
        messages += 1
        if node_of[source] == node_of[target]:
            inside += size
            differ = [at for at in range(len(levels))
                      if len(set(where.machine.ancestors(at)[[source, target]])) > 1]  # fmt: skip
            level = levels[differ[0]]
            for key in (("out", source), ("in", target)):
                copied[key] = copied.get(key, 0) + size / level.bandwidth
            longest = max(longest, size / level.bandwidth + level.latency)
            continue
        between += size
        way = ways(source, target)
        for link, share, capacity, _ in way:
            loads.setdefault(link, [0, capacity])[0] += size * share
        for (router, rate), sums in ((outlet(source), sent), (outlet(target), got)):
            if outlet(source)[0] != outlet(target)[0]:
                sums[router] = sums.get(router, 0) + size / rate
        flows.setdefault((node_of[source], node_of[target]), []).append(size)
        latency = sum(share * wait for _, share, _, wait in way)
        slowest = min((capacity / share for _, share, capacity, _ in way), default=np.inf)
        longest = max(longest, latency + size / slowest)
    parts = {
        "link": max((load / capacity for load, capacity in loads.values()), default=0),
        "injection": max([*sent.values(), *got.values()], default=0),
        "copy": max(copied.values(), default=0), "message": longest,
    }  # fmt: skip
    busiest = sorted((load / capacity, load) for load, capacity in loads.values())[::-1][:10]
    return parts, busiest, (between, inside, len(flows), messages)


def check_plainly(graph, pe, where, node_of, ways, outlet):
    parts, busiest, counts = judged_plainly(graph, pe, where, node_of, ways, outlet)
    found = hb.simulate(graph, hb.Mapping(pe, where), grade="bound")
    assert found.parts == pytest.approx(parts)
    assert found.seconds == pytest.approx(max(parts.values()))
    assert parts[found.limit] == pytest.approx(max(parts.values()))
    assert [second for *_, second in found.links] == pytest.approx([second for second, _ in busiest])
    assert sorted(size for _, size, _ in found.links) == pytest.approx(sorted(size for _, size in busiest))
    sums = found.bytes_between_nodes, found.bytes_inside_nodes, found.flows, found.messages
    assert sums == pytest.approx(counts)
    assert (found.notices, found.assumed) == ((), "")
    return found


def random_messages(seed, n=18):
    rng = np.random.default_rng(seed)
    return hb.CommGraph.from_edges(*rng.integers(0, n, (2, 60)), rng.integers(1, 10**7, 60), n=n)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spec", [
    "torus:3x4:bw=1000000000:lat=1e-6 / core:2:bw=2e9:lat=3e-7",
    "mesh:3x2:nodes=2:bw=2000000x5000000:lat=1e-6 / package:2:bw=1e9:lat=9e-7 core:2:bw=4e9:lat=3e-7",
    "fattree:2x3:up=1x2:route=spread:bw=1e9:lat=1e-6 / package:2:bw=1e9:lat=9e-7 core:2:bw=4e9:lat=1e-7",
    "dragonfly:3x2x2:bw=3000000:lat=1e-6 / core:2:bw=2e9:lat=3e-7",
])  # fmt: skip
def test_bounds_on_networks_are_those_of_the_definition(spec, seed, monkeypatch):
    """Tasks share PEs, some send to themselves, flows take one path or several, a few pairs at a time."""
    monkeypatch.setattr(bounds, "BATCH", 7)
    where = hb.allocate(spec)
    network, node_of = where.machine.network(), where.node_of_pe
    ends = where.machine.network_use.endpoint_of_core()[where.first_core]
    wiring = network.wiring()

    def ways(source, target):
        routes = network.routes([ends[source]], [ends[target]])
        spread = routes.numerators is not None
        shares = routes.numerators / routes.denominators if spread else np.ones(len(routes.links))
        return [(link, share, network.capacity[link], 1e-6)
                for link, share in zip(routes.links.tolist(), shares, strict=True)]  # fmt: skip

    def outlet(pe):
        router = int(wiring.at[ends[pe]])
        return router, network.capacity[wiring.tail == router].sum()

    graph = random_messages(seed)
    check_plainly(
        graph, np.random.default_rng(seed).integers(0, where.k, graph.n), where, node_of, ways, outlet
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("outer", "inner"), [((1e8, 1e-5), (3e8, 4e-6)), ((3e8, 1e-5), (1e8, 4e-6))])
def test_bounds_on_levels_are_those_of_the_definition(outer, inner, seed):
    """Racks of islands of unequal size; a level thinner than those inside also limits single nodes."""
    nodes = [0, 0, 0, 1, 1, 2, 2, 2]  # of islands; islands 0 and 1 are in rack 0
    (fast, late), (slow, soon) = outer, inner
    spec = f"rack:2@99:bw={fast}:lat={late}:over=2 island:[2,1]@50:bw={slow}:lat={soon}"
    where = hb.allocate(f"{spec} node:[3,2,3]@10:bw=2e8:lat=1e-6 core:2@1:bw=1e9:lat=1e-7")
    island = np.array(nodes)
    rack = np.array([0, 0, 0, 0, 0, 1, 1, 1])
    rates = (fast, slow, 2e8)

    def ways(source, target):
        a, b = source // 2, target // 2
        total = late if rack[a] != rack[b] else soon if island[a] != island[b] else 1e-6
        way = [(("node up", a), 2e8), (("node down", b), 2e8)]
        for unit, name, level, over in ((island, "island", 1, 1), (rack, "rack", 0, 2)):
            if unit[a] != unit[b]:
                inner = min(rates[level:])
                way += [((f"{name} up", unit[a]), inner * (unit == unit[a]).sum() / over),
                        ((f"{name} down", unit[b]), inner * (unit == unit[b]).sum() / over)]  # fmt: skip
                if rates[level] < min(rates[level + 1 :]):
                    way += [((f"out of {name}", a), rates[level]), ((f"into {name}", b), rates[level])]
        return [(link, 1, capacity, total / len(way)) for link, capacity in way]

    graph = random_messages(seed)
    pe = np.random.default_rng(seed).integers(0, where.k, graph.n)
    check_plainly(graph, pe, where, where.node_of_pe, ways, lambda pe: (pe // 2, 2e8))


def test_bad_arguments():
    graph = arcs((0, 1))
    with pytest.raises(FormatError, match="3 tasks"):
        bound(graph, SLOW, pe=[0, 1, 2])
    with pytest.raises(UnsupportedError, match="ndr400"):
        bound(graph, SLOW, assume="ndr40")
    with pytest.raises(UnsupportedError, match="bound"):
        hb.simulate(graph, hb.Mapping([0, 1], hb.allocate(SLOW)), grade="bounds")
    for name, wrong in (("bytes_scale", 0), ("bytes_scale", float("nan")), ("iterations", 0)):
        with pytest.raises(UnsupportedError, match=name):
            bound(graph, SLOW, **{name: wrong})


def test_a_table_has_no_links(tmp_path):
    (tmp_path / "table.txt").write_text("0 1\n1 0\n")
    with pytest.raises(UnsupportedError, match="distances only"):
        bound(arcs((0, 1)), f"table:{tmp_path}/table.txt")


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


def test_routers_at_the_end_of_a_line_have_one_link_only():
    """What leaves router 0 has one link for itself, a router in the middle two."""
    line = "mesh:4:bw=1000000000:lat=1e-6"
    assert bound(arcs((0, 3), n=4), line).parts["injection"] == pytest.approx(1e-3)
    assert bound(arcs((1, 2), n=4), line).parts["injection"] == pytest.approx(0.5e-3)


def test_a_process_sends_while_it_receives():
    """A chain inside one node: the process in the middle copies both messages at the same time."""
    chain = bound(arcs((0, 1), (1, 2), n=3), "node:1@10:bw=1e9:lat=1e-6 core:3@1:bw=1e10:lat=1e-7")
    assert chain.parts["copy"] == pytest.approx(0.1e-3)
