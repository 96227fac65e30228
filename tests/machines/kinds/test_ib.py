"""Machines on real fabrics: hosts, rails, distances by the routes, cuts, specs."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.fabric_text import route, two_level_fabric
from helpers.hwloc_text import ADAPTER, NVIDIA
from helpers.hwloc_text import node as hwloc_node
from helpers.paths import SHARED_SAMPLES
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.kinds.machine import machine_text
from hopbytes.machines.spec import parse_machine


def sent_through(where):
    """Endpoint of the first core of every slot."""
    return where.machine.network_use.endpoint_of_core()[where.first_core].tolist()


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_routes_of_the_network_are_those_of_the_tables(tmp_path_factory, data):
    leaves, rails = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 2))
    text = two_level_fabric(
        leaves,
        data.draw(st.integers(1, 3)),
        data.draw(st.integers(1, 4)),
        data.draw(st.integers(1, 3)),
        min(rails, leaves),
    )
    if data.draw(st.booleans()):  # some adapter cannot be reached from the first leaf
        lost = data.draw(st.sampled_from(text.adapters))
        text.tables["leaf1"][text.lid(lost)] = 39
    machine = parse_machine(f"ib:{text.write(tmp_path_factory.mktemp('fabric'))}")
    network, fabric = machine.network(), machine.fabric
    adapters = [number for host in machine.hosts for number in host.adapters]
    owner = [node for node, host in enumerate(machine.hosts) for _ in host.adapters]
    assert sorted(adapters) == list(range(len(text.adapters)))
    for a, one in enumerate(adapters):
        for b, other in enumerate(adapters):
            try:  # what a host sends to itself crosses no link
                expected = [] if owner[a] == owner[b] else route(fabric, one, other)
            except FormatError:
                assert int(network.hops(a, b)) == -1
                continue
            assert int(network.hops(a, b)) == len(expected)
            assert network.routes([a], [b]).links.tolist() == expected  # no adapter left out: same numbers


def test_distances_are_hops_of_the_routes(tmp_path):
    folder = two_level_fabric(hosts=2).write(tmp_path)
    where = hb.allocate(f"ib:{folder}@5 / package:2@3 core:2@1")
    assert where.k == 16
    # Inside a package 1, inside a node 3, one leaf 2 links, two leaves 4 links.
    assert [where.distance.between(0, pe) for pe in (0, 1, 2, 4, 8, 15)] == [0, 1, 3, 10, 20, 20]


@pytest.mark.parametrize(("rails", "expected"), [
    ("first", [0, 0, 0, 0, 2, 2, 2, 2]), ("same", [0, 0, 1, 1, 2, 2, 3, 3]),
    ("spread", [0, 0, 1, 1, 2, 2, 3, 3]),
])  # fmt: skip
def test_rails(tmp_path, rails, expected):
    folder = two_level_fabric(rails=2).write(tmp_path)
    machine = parse_machine(f"ib:{folder}:rails={rails} / core:4")
    assert machine.network_use.endpoint_of_core()[:8].tolist() == expected


def without_an_adapter(text, name):
    text.cables = [cable for cable in text.cables if cable[1].device != name]
    text.adapters[text.adapters.index(name)] = "n9 other"  # keeps the addresses; no cable names it
    return text


def test_rails_of_unequal_hosts(tmp_path):
    folder = without_an_adapter(two_level_fabric(hosts=2, rails=2), "n2 mlx5_1").write(tmp_path)
    hosts = dict(zip(("n1", "n2"), ((0, 1), (2,)), strict=True))
    for rails, expected in (("same", [0, 0, 0, 0, 2, 2, 2, 2]), ("spread", [0, 0, 1, 1, 2, 2, 2, 2])):
        machine = parse_machine(f"ib:{folder}:rails={rails}:hosts=n[1-2] / core:4")
        assert machine.known_hosts.names == tuple(hosts)
        assert machine.network_use.endpoint_of_core().tolist() == expected
    one = parse_machine(f"ib:{folder}:adapters=mlx5_1")
    assert one.known_hosts.names == ("n1", "n3", "n4")
    assert one.network().n_endpoints == 3


def test_hosts_and_options_survive_the_spec(tmp_path):
    folder = two_level_fabric().write(tmp_path)
    machine = parse_machine(f"ib:{folder}:rails=spread@n[3,1]@7 / core:2")
    assert machine.known_hosts.names == ("n1", "n3")
    assert machine.spec() == f"ib:{folder}:rails=spread:hosts=n[3,1]@7 / core:2@1"
    assert parse_machine(machine.spec()) == machine


def test_a_node_name_map_names_hosts(tmp_path):
    text = two_level_fabric()
    text.adapters = [
        "MT4129 ConnectX7   Mellanox Technologies" if name == "n1 mlx5_0" else name for name in text.adapters
    ]
    for one, other, _ in text.cables:
        for plug in (one, other):
            if plug.device == "n1 mlx5_0":
                plug.device = text.adapters[0]
    folder = text.write(tmp_path / "fabric")
    machine = parse_machine(f"ib:{folder}")
    guid = text.guid(text.adapters[0])
    assert machine.known_hosts.names[-1] == f"guid-{guid:016x}"
    assert "1 adapters name no host" in machine.notices()[0]
    (tmp_path / "names").write_text(f'0x{guid:x} "n1 mlx5_0"\n')
    named = parse_machine(f"ib:{folder}:names={tmp_path / 'names'}")
    assert named.known_hosts.names[0] == "n1"
    assert named.notices() == ()


def test_unrouted_pairs_are_refused(tmp_path):
    text = two_level_fabric()
    del text.tables["leaf1"][text.lid("n8 mlx5_0")]
    machine = parse_machine(f"ib:{text.write(tmp_path)}")
    with pytest.raises(UnsupportedError, match=mentions("n1", "mlx5_0", "n8")):
        machine.network().check_routed(np.arange(8))
    machine.network().check_routed(np.arange(7))


def test_routes_of_fabrics_without_tables(tmp_path):
    text = two_level_fabric(spines=3, parallel=2)
    tables = parse_machine(f"ib:{text.write(tmp_path / 'with')}")
    text.tables = {}
    folder = text.write(tmp_path / "without")
    with pytest.raises(UnsupportedError, match="routes=shortest"):
        parse_machine(f"ib:{folder}")
    shortest = parse_machine(f"ib:{folder}:routes=shortest")
    everyone = np.arange(8)
    hops = shortest.network().hops(everyone[:, None], everyone[None, :])
    assert np.array_equal(hops, tables.network().hops(everyone[:, None], everyone[None, :]))
    # Four destinations on the other leaf leave by four of the six cables.
    first_up = {int(shortest.network().routes([0], [target]).links[1]) for target in range(4, 8)}
    assert len(first_up) == 4


@pytest.mark.slow
def test_adaptive_routing_divides_flows_over_all_shortest_ways(tmp_path):
    """Two spines with two cables to each leaf: a quarter of a flow on each; tables are not asked."""
    text = two_level_fabric(spines=2, parallel=2, rails=2)
    text.tables = {}
    machine = parse_machine(f"ib:{text.write(tmp_path)}:routes=spread:rails=spread / core:2")
    network = machine.network()
    far = int(np.flatnonzero(network.hops(0, np.arange(network.n_endpoints)) == 4)[0])
    routes = network.routes([0], [far])
    shares = [Fraction(int(a), int(b)) for a, b in zip(routes.numerators, routes.denominators, strict=True)]
    assert sorted(shares) == [Fraction(1, 4)] * 8 + [Fraction(1)] * 2
    assert network.hops([0], [1]).tolist() == [0]  # two adapters of one host
    assert len(network.routes([0], [1]).links) == 0
    assert parse_machine(machine.spec()) == machine
    graph = hb.read("alltoall:16:groups=2")
    where = hb.allocate(machine)
    mapping = hb.map_tasks(graph, where, "eco", objective="max_congestion", seed=1)
    found = hb.evaluate(graph, mapping)
    assert found.mapping.links.max_congestion <= found.in_order.links.max_congestion


@pytest.mark.parametrize(("text", "message"), [
    ("ib:", "ib:PATH"), ("ib:{}:rails=odd", "`rails` 'odd'"), ("ib:{}:speed=3", "'speed=3' tables="),
    ("ib:{}:rails=same:rails=same", "expected each once"),
    ("ib:{}@1@2", "two distances"), ("ib:{}:lid=999", "lid='999'"),
    ("ib:{}:routes=fast", "routes='fast' routes=shortest routes=spread"),
    ("ib:{}@n[7-12]", "4 6 8 n9 n10 n11"), ("ib:{}:tables=x", "tables=x"), ("ib:/nowhere", "cannot be read"),
    ("ib:{} / node:2 core:2", "inside the nodes"),
])  # fmt: skip
def test_faults(tmp_path, text, message):
    with pytest.raises((FormatError, UnsupportedError), match=mentions(*message.split())):
        parse_machine(text.format(two_level_fabric().write(tmp_path)))


def test_hosts_of_a_job(tmp_path):
    folder = two_level_fabric(rails=2).write(tmp_path)
    where = hb.allocate(f"ib:{folder} / core:2", hosts="n[2-3].cluster.site,n7", rails="spread")
    assert where.k == 6
    assert [where.hosts[node] for node in sorted(set(where.node_of_pe.tolist()))] == ["n2", "n3", "n7"]
    assert sent_through(where) == [2, 3, 4, 5, 12, 13]
    with pytest.raises(FormatError, match=mentions("3", "4", "8", "x1", "x2", "x3", "n1")):
        hb.allocate(f"ib:{folder}", hosts="x[1-3],n1")
    with pytest.raises(FormatError, match="8 hosts are not"):  # as many as nodes, and yet no new names
        hb.allocate(f"ib:{folder}", hosts="x[1-8]")
    with pytest.raises(UnsupportedError, match="`rails` needs a fabric"):
        hb.allocate("torus:2x2", rails="same")
    with pytest.raises(UnsupportedError, match=mentions("rails=gpu")):
        hb.allocate(f"ib:{folder} / core:2", rails="gpu")


def test_adapters_of_gpus(tmp_path):
    machine = parse_machine(f"ib:{two_level_fabric(rails=2).write(tmp_path)}:rails=gpu / core:4")
    nodes, gpus = np.array([0, 0, 0, 0, 1, 1], np.int32), np.array([3, 0, 1, 2, 1, 0], np.int32)
    # Four GPUs on two adapters: two each; two GPUs: one each. Nobody knows which are near, and that is said.
    endpoints, said = machine.network_use.slot_endpoints(nodes, gpus, None)
    assert endpoints.tolist() == [1, 0, 0, 1, 3, 2]
    assert said[0].startswith("rails=gpu: on 2 hosts it is unknown which adapter is nearest")


def test_gpus_take_the_adapter_beside_them(tmp_path):
    spec = f"ib:{two_level_fabric(rails=2).write(tmp_path / 'fabric')}"
    packages = [
        [*((NVIDIA, [f"cuda{gpu}"]) for gpu in gpus), (ADAPTER, [adapter])]
        for gpus, adapter in (((0, 2), "mlx5_1"), ((1, 3), "mlx5_0"))
    ]
    (tmp_path / "node.xml").write_text(hwloc_node(*packages, pus=2))
    node = f"hwloc:{tmp_path}/node.xml"
    where = hb.allocate(f"{spec} / {node}", rails="gpu", per="gpu", hosts="n[1-2]")
    adapters = [(int(gpu), int(end) % 2) for gpu, end in zip(where.gpus, where.endpoints, strict=True)]
    assert sorted(adapters) == [(0, 1), (0, 1), (1, 0), (1, 0), (2, 1), (2, 1), (3, 0), (3, 0)]
    assert where.notices == ()
    near = [gpu.adapter.name for gpu in where.machine.inventory.tree(0).gpus]
    assert near == ["mlx5_1", "mlx5_0", "mlx5_1", "mlx5_0"]
    # Stored with the machine, and there again when it is read.
    stored = tmp_path / "node.machine.json"
    stored.write_text(machine_text(hb.allocate(node).machine, "a test"))
    again = hb.allocate(f"{spec} / machine:{stored}", rails="gpu", per="gpu", hosts="n[1-2]")
    assert again.endpoints.tolist() == where.endpoints.tolist()


def test_placements_on_fabrics_are_stored(tmp_path):
    """The other form of the same fabric is the same machine, other routes are not."""
    text = two_level_fabric()
    one, other = text.write(tmp_path / "a"), text.write(tmp_path / "b", ports=True)
    lid = text.lid("n8 mlx5_0")
    text.tables["leaf1"][lid] = 30 + 31 - text.tables["leaf1"][lid]  # by the other spine
    rerouted = text.write(tmp_path / "c")
    graph = hb.CommGraph.from_dense(np.ones((16, 16), np.int64))
    mapping = hb.map_tasks(graph, hb.allocate(f"ib:{one} / core:2"), "fast")
    path = tmp_path / "placement.json"
    hb.write(mapping, path, format="json")
    for folder in (one, other):
        again = hb.read(path, holds="mapping", where=hb.allocate(f"ib:{folder} / core:2"))
        assert np.array_equal(again.pe, mapping.pe)
    with pytest.raises(UnsupportedError, match="was made for"):
        hb.read(path, holds="mapping", where=hb.allocate(f"ib:{rerouted} / core:2"))


def with_a_login_node(tmp_path) -> str:
    """Seven hosts with two adapters each, and n8 with one, as login nodes have it."""
    return without_an_adapter(two_level_fabric(rails=2), "n8 mlx5_1").write(tmp_path)


def test_rails_are_those_of_the_hosts_of_the_job(tmp_path):
    """A host of the fabric that the job does not use takes no adapter away from it."""
    spec, jobs = f"ib:{with_a_login_node(tmp_path)}", "n1,n2,n5,n6"
    graph = hb.read("alltoall:16:groups=2")
    placed = np.arange(16, dtype=np.int32)
    outside = hb.allocate(f"{spec} / core:4", rails="same", hosts=jobs)
    inside = hb.allocate(f"{spec}:rails=same:hosts={jobs} / core:4")
    seen = [hb.evaluate(graph, hb.Mapping(placed, where)).mapping.links for where in (outside, inside)]
    assert sent_through(outside) == [
        number for node in (0, 1, 4, 5) for number in (2 * node, 2 * node, 2 * node + 1, 2 * node + 1)
    ]
    assert seen[0] == seen[1]
    assert outside.notices == inside.notices == ()
    distances = [where.distance.matrix().tolist() for where in (outside, inside)]
    assert distances[0] == distances[1]


def test_adapters_that_not_every_host_has_are_named(tmp_path):
    spec = f"ib:{with_a_login_node(tmp_path)} / core:4"
    where = hb.allocate(spec, rails="same", hosts="n1,n8")
    assert sent_through(where) == [0, 0, 0, 0, 14, 14, 14, 14]
    expected = "rails=same uses the first adapter of each host, since n8 has no more"
    assert [notice.partition(";")[0] for notice in where.notices] == [expected]
    assert hb.allocate(spec, rails="spread", hosts="n1,n8").notices == ()


def test_a_stored_mapping_remembers_the_rails_of_its_job(tmp_path):
    where = hb.allocate(f"ib:{with_a_login_node(tmp_path)} / core:2", rails="same", hosts="n[1-4]")
    mapping = hb.Mapping(np.arange(8, dtype=np.int32), where)
    hb.write(mapping, tmp_path / "m.json", format="json")
    again = hb.read(tmp_path / "m.json")
    assert sent_through(again.where) == list(range(8))
    assert hb.read(tmp_path / "m.json", where=where).pe.tolist() == list(range(8))


@pytest.mark.shared
def test_gpus_choose_adapters_of_their_hosts():
    """Four GPUs of a node, two near each package, on the four adapters of a host."""
    spec = f"ib:{SHARED_SAMPLES}/infiniband/ndr_dgx_40sw:tables=dump_fts_minhop.txt.gz:rails=gpu"
    whole = [host.name for host in parse_machine(spec).hosts if len(host.adapters) == 4]
    spec += f" / hwloc:{SHARED_SAMPLES}/hwloc/v2_lassen_converted.xml"
    where = hb.allocate(spec, per="gpu", hosts=[whole[3], whole[50]])
    assert where.k == 8
    names = [where.machine.network().name_endpoint(int(endpoint)) for endpoint in where.endpoints]
    for pe, name in enumerate(names):
        host, label = name.split(" ")
        assert host == where.hosts[where.node_of_pe[pe]]
        assert label in (f"HCA-{(1, 2, 5, 6)[where.gpus[pe]]}", f"mlx5_{(0, 1, 4, 5)[where.gpus[pe]]}")
    with pytest.raises(UnsupportedError, match=mentions("rails=gpu")):
        hb.allocate(spec)
    with pytest.raises(FormatError, match="hosts are not among the machine's"):
        hb.allocate(spec, per="gpu", hosts="x1")
