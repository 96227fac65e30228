"""Dragonflies: facts known by hand."""

from fractions import Fraction

import numpy as np
import pytest

import hopbytes as hb
from helpers.machines import link_names, shares
from hopbytes.cost.objectives.comm_cost import objectives
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.dragonfly import Dragonfly
from hopbytes.machines.spec import parse_machine


def test_the_largest_dragonfly_is_accepted_and_larger_ones_are_not():
    assert Dragonfly.parse("256x256x256").n_nodes == 2**24
    with pytest.raises(FormatError):
        Dragonfly.parse("257x256x256")
    with pytest.raises(FormatError, match="links, expected fewer"):
        Dragonfly.parse("2x65536x1")


def test_a_dragonfly_plus():
    network = parse_machine("dragonfly+:5x3x2:spines=2:global=4:bw=4x2x1").network()
    assert network.describe()["links"] == 2 * 30 + 2 * 5 * 3 * 2 + 5 * 4 * 2  # two copies of each of four
    assert network.hops(0, [0, 1, 2, 6, 29]).tolist() == [0, 2, 4, 5, 5]
    machine = parse_machine("dragonfly+:5x3x2:spines=2:global=4")
    assert link_names(machine, 0, 3) == ["n0 -> l0.0", "l0.0 -> s0.1", "s0.1 -> l0.1", "l0.1 -> n3"]
    # Of the two links from group 0 to group 4, port 3 (spine 0) and port 7 (spine 1), targets take turns.
    assert link_names(machine, 0, 28)[1:3] == ["l0.0 -> s0.0", "s0.0 -> s4.0"]
    assert link_names(machine, 0, 29)[1:3] == ["l0.0 -> s0.1", "s0.1 -> s4.1 #1"]
    found = shares(parse_machine("dragonfly+:5x3x2:spines=2:global=4:route=spread"), 0, 29)
    assert found["s0.0 -> s4.0"] == found["s0.1 -> s4.1 #1"] == 0.5
    assert found["l4.2 -> n29"] == 1
    assert parse_machine("dragonfly+:4x8x16 / core:2").spec() == "dragonfly+:4x8x16@10 / core:2@1"


def routers_and_cables(network, per_router, per_group):
    """Return the router of every node, and per pair of groups the cables as pairs of routers, by number."""
    wiring = network.wiring()
    router = wiring.at[:, None] if wiring.at.ndim == 2 else wiring.at
    tail, head = wiring.tail.tolist(), wiring.head.tolist()
    of_node = {}
    for a, b in zip(tail, head, strict=True):
        if a in set(router.ravel().tolist()):
            of_node[a] = b
    home = [of_node[each] for each in router.ravel().tolist()]
    group = {home[node]: node // (per_router * per_group) for node in range(len(home))}
    cables = {}
    there = network.capacity
    for link, (a, b) in enumerate(zip(tail, head, strict=True)):
        exists = there is None or np.ndim(there) == 0 or there[link] > 0
        if exists and a in group and b in group and group[a] != group[b]:
            cables.setdefault((group[a], group[b]), []).append((a, b))
    return home, group, cables


def valiant_links(network, sizes, source, target):
    """The mean number of links by the definition: a way through every third group, all with equal shares."""
    groups, per_group, per_router = sizes
    home, group, cables = routers_and_cables(network, per_router, per_group)
    if source == target:
        return Fraction(0)
    start, end = home[source], home[target]
    if group[start] == group[end]:
        return Fraction(2 + (start != end))

    def nearest(cost, pair):
        lengths = [cost(a, b) for a, b in cables[pair]]
        ties = [cable for cable, length in zip(cables[pair], lengths, strict=True) if length == min(lengths)]
        return ties[target % len(ties)]

    total, ways = 0, 0
    for via in set(range(groups)) - {group[start], group[end]}:
        out, landing = nearest(lambda a, _: a != start, (group[start], via))
        away, back = nearest(lambda a, b, at=landing: (a != at) + (b != end), (via, group[end]))
        total += 1 + (out != start) + (1 + (away != landing) + (back != end))
        ways += 1
    return 2 + Fraction(total, ways)


def test_a_group_of_a_dragonfly_reaches_every_other_by_one_link():
    for arrangement in ("absolute", "palmtree"):
        network = parse_machine(f"dragonfly:9x4x2:global=2:links={arrangement}").network()
        pairs = set()
        for link in np.flatnonzero(network.capacity):
            name = network.name_link(int(link))
            if "global" in name:
                near, far = name.removesuffix(" (global)").split(" -> ")
                pairs.add((near.split(".")[0], far.split(".")[0]))
                # The cable exists in both directions.
                assert any(
                    network.name_link(int(other)) == f"{far} -> {near} (global)"
                    for other in np.flatnonzero(network.capacity)
                )
        assert len(pairs) == 9 * 8


def test_valiant_routes_leave_no_trace_of_the_minimal_one():
    machine = parse_machine("dragonfly:5x2x1:route=valiant")
    crossed = [name for name in link_names(machine, 0, 9) if "global" in name]
    assert len(crossed) == 2 * 3
    assert not any(name.startswith("r0.") and " -> r4." in name for name in crossed)


@pytest.mark.parametrize("spec", ["4x2x2", "5x3x1:global=2", "4x3x2:links=palmtree:global=2", "6x4x1"])
def test_hop_bytes_of_valiant_routes_are_the_mean_over_all_third_groups(spec):
    where = hb.allocate(f"dragonfly:{spec}:route=valiant")
    sizes = tuple(int(size) for size in spec.partition(":")[0].split("x"))
    rng = np.random.default_rng(3)
    one, other = rng.integers(0, where.k, (2, 60))
    volumes = rng.integers(1, 1000, 60)
    graph = hb.CommGraph.from_edges(one, other, volumes, n=where.k)
    pe = rng.permutation(where.k).astype(np.int32)
    network = where.machine.network()
    wanted = sum(
        volume * valiant_links(network, sizes, int(pe[a]), int(pe[b]))
        for a, b, volume in zip(one.tolist(), other.tolist(), volumes.tolist(), strict=True)
    )
    assert objectives["hop_bytes"]().value(graph, where, pe) == float(wanted)
