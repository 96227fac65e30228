"""``links:FILE``: graphs of links, shortest and given routes, and everything a file can do wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import refused
from helpers.machines import link_names, shares
from helpers.strategies import check_groupings
from hopbytes import _core
from hopbytes.cost.metrics.link_metrics import measure_links
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.machines.spec import parse_machine
from reference import routes_reference as twin

TWO_SPINES = """
# two leaves, two spines
host a[0-1] b[0-1]
switch la lb s0 s1
link a0 la 10
link a1 la 10
link b0 lb 10
link b1 lb 10
link la s0 5
link la s1 5 x2
link lb s0 5
link lb s1 5 x2
"""


def load(tmp_path, text, extra=""):
    (tmp_path / "net").write_text(text)
    return parse_machine(f"links:{tmp_path}/net{extra}")


def test_shortest_routes_take_turns_by_target(tmp_path):
    machine = load(tmp_path, TWO_SPINES)
    facts = machine.network().describe()
    assert (facts["endpoints"], facts["switches"], facts["links"]) == (4, 4, 20)
    assert facts["capacities"] == {"5": 12, "10": 8}
    # Hosts 2 and 3 are b0 and b1; la has three ways up: s0, s1 and s1 again.
    assert link_names(machine, 0, 2) == ["a0 -> la", "la -> s1 #1", "s1 -> lb", "lb -> b0"]
    assert link_names(machine, 0, 3) == ["a0 -> la", "la -> s0", "s0 -> lb", "lb -> b1"]
    assert machine.known_hosts.names == ("a0", "a1", "b0", "b1")


def test_it_maps_and_comes_back(tmp_path):
    machine = load(tmp_path, TWO_SPINES, "@10 / core:2@1")
    assert machine.spec() == f"links:{tmp_path}/net@10 / core:2@1"
    assert parse_machine(machine.spec()) == machine
    where = hb.allocate(machine)
    assert where.distance.matrix()[0].tolist() == [0, 1, 20, 20, 40, 40, 40, 40]
    check_groupings(machine.groups(np.arange(8)), 8)
    assert [part.tolist() for part in machine.split(np.arange(8))] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    pairs = hb.CommGraph.from_edges(range(4), range(4, 8), [9] * 4)
    best = hb.map_tasks(pairs, where, "eco")
    assert hb.evaluate(pairs, best).mapping.comm_cost == 4 * 9


def test_without_declarations_all_vertices_are_hosts_that_pass_on(tmp_path):
    machine = load(tmp_path, "link a b\nlink b c\narc a c 7\n")
    assert machine.network().hops(0, [1, 2]).tolist() == [1, 1]
    assert link_names(machine, 2, 0) == ["c -> b", "b -> a"]


def test_hosts_with_several_cables_pass_nothing_on(tmp_path):
    """The way over h would be shorter for a and b; and h itself chooses the nearer side."""
    text = "host a b h\nswitch s t u v\nlink a s\n" + (
        "link b t\nlink h s\nlink h t\nlink s u\nlink u v\nlink v t\n"
    )
    machine = load(tmp_path, text)
    assert machine.network().hops([0, 2, 2, 0], [1, 0, 1, 2]).tolist() == [5, 2, 2, 2]
    assert link_names(machine, 2, 1) == ["h -> t", "t -> b"]


def test_given_routes_are_the_only_ones(tmp_path):
    machine = load(tmp_path, TWO_SPINES + "route a0 la s0 lb b0\nroute b0 lb s0 la a0\n")
    assert link_names(machine, 0, 2) == ["a0 -> la", "la -> s0", "s0 -> lb", "lb -> b0"]
    assert machine.network().hops([0, 0], [2, 3]).tolist() == [4, -1]
    assert machine.network().describe()["unrouted_pairs"] == 10


def test_hosts_without_a_route_between_them_are_cut_first(tmp_path):
    (tmp_path / "net").write_text("link a b\nlink b e\nlink c d\n")
    machine = parse_machine(f"links:{tmp_path}/net")
    assert [part.tolist() for part in machine.split(np.arange(5))] == [[0, 1, 2], [3, 4]]


def test_equal_cost_multipath(tmp_path):
    """Three links lead up from la: each takes a third; s1 gets two and sends them down by two links."""
    machine = load(tmp_path, TWO_SPINES, ":route=spread")
    assert machine.spec().endswith("net:route=spread@1")
    assert shares(machine, 0, 2) == pytest.approx({
        "a0 -> la": 1, "la -> s0": 1 / 3, "la -> s1": 1 / 3, "la -> s1 #1": 1 / 3, "s0 -> lb": 1 / 3,
        "s1 -> lb": 1 / 3, "s1 -> lb #1": 1 / 3, "lb -> b0": 1,
    })
    assert machine.network().hops(0, [1, 2]).tolist() == [2, 4]
    with pytest.raises(FormatError, match="one of both"):
        load(tmp_path, TWO_SPINES + "route a0 la a1\n", ":route=spread")
    with pytest.raises(FormatError, match="'east'"):
        load(tmp_path, TWO_SPINES, ":route=east")


def test_unreachable_pairs_are_named_when_they_matter(tmp_path):
    machine = load(tmp_path, "host a b c\nswitch s t\nlink a s\nlink b s\nlink c t\n")
    assert machine.network().describe()["unrouted_pairs"] == 4
    where = hb.allocate(machine)
    together = hb.CommGraph.from_edges([0], [1], [5])
    found = measure_links(together, where, np.arange(2, dtype=np.int32))
    assert found is not None
    assert found.hop_bytes == 10
    apart = hb.CommGraph.from_edges([0, 1], [1, 2], [5, 5])
    with pytest.raises(UnsupportedError, match="no route from b to c"):
        measure_links(apart, where, np.arange(3, dtype=np.int32))
    with pytest.raises(UnsupportedError, match="no route from a to c"):
        hb.map_tasks(apart, where, "eco")


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_shortest_tables_are_those_of_the_twin(data):
    vertices = data.draw(st.integers(1, 7))
    endpoints = data.draw(st.integers(1, vertices))
    links = data.draw(st.lists(st.tuples(*[st.integers(0, vertices - 1)] * 2), max_size=20))
    tails = np.array([a for a, _ in links], np.int32)
    heads = np.array([b for _, b in links], np.int32)
    passing = data.draw(st.lists(st.booleans(), min_size=vertices, max_size=vertices))
    rows = np.where(passing, np.cumsum(passing) - 1, -1).astype(np.int32)
    tables = []
    for module in (_core, twin):
        table = np.full(max(1, sum(passing)) * endpoints, -9, np.int32)
        module.shortest_table(tails, heads, rows, endpoints, table)
        tables.append(table.tolist())
    assert tables[0] == tables[1]


@pytest.mark.parametrize(("text", "said"), [
    ("", "empty"), ("# nothing\n", "no host"), ("cable a b\n", ":1: 'cable', expected host"),
    ("link a\n", ":1: 1 words"), ("link a b 0\n", ":1: capacity 0"), ("link a b -3\n", "capacity -3"),
    ("link a b 1.5\n", "capacity 1.5"), ("link a b 1 x0\n", "x0"), ("link a a\n", "to itself"),
    ("host a a\n", "'a' twice"), ("host a\nswitch a\n", ":2: 'a' twice"), ("host\n", "without a name"),
    ("host a b\nlink a c\n", "'c', expected a vertex declared"), ("link a b 1 2 3\n", "5 words"),
    ("link a b\nroute a\n", "1 vertices"), ("link a b\nroute a c\n", "expected a link there"),
    ("link a b\nroute a b a\n", "different hosts"), ("link a b\nroute a b\nroute a b\n", ":3: a route"),
    ("link a b\nlink b c\nroute a b a b c\n", "with a loop (a -> b -> a), expected none"),
    ("host a[1-\n", ":1:"), ("\0", "NUL"),
    ("link a b 99999999999999999999\n", "capacity 9999"),
])
def test_faults_name_the_line(tmp_path, text, said):
    with refused(HopbytesError, said):
        load(tmp_path, text)
