"""Rail-optimised clusters of GPUs: distances, routes, levels and launch files known by hand."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.machines import link_names
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.machines.spec import parse_machine


def test_routes_by_leaf_spine_and_nvlink():
    machine = parse_machine("rails:6x4:pod=4:spines=2:bw=450x50x100")
    network = machine.network()
    assert network.describe()["links"] == 4 * 24 + 2 * 8 * 2
    assert network.describe()["capacities"] == {"50": 48, "100": 32, "450": 48}
    assert link_names(machine, 0, 3) == ["n0.gpu0 -> nvswitch0", "nvswitch0 -> n0.gpu3"]
    assert link_names(machine, 0, 12) == ["n0.gpu0 -> leaf0.0", "leaf0.0 -> n3.gpu0"]
    # Another rail of the same pod, and the same rail of another pod: through spine (target mod 2).
    assert link_names(machine, 0, 13) == [
        "n0.gpu0 -> leaf0.0", "leaf0.0 -> spine1", "spine1 -> leaf0.1", "leaf0.1 -> n3.gpu1",
    ]  # fmt: skip
    assert link_names(machine, 0, 16)[1:3] == ["leaf0.0 -> spine0", "spine0 -> leaf1.0"]


def test_pxn_changes_the_rail_inside_the_domain():
    machine = parse_machine("rails:4x2:domain=2:spines=0:route=pxn")
    # Host 3 is the second of its domain, so the message leaves by the second host of domain 0.
    assert link_names(machine, 0, 7) == [
        "n0.gpu0 -> nvswitch0", "nvswitch0 -> n1.gpu1", "n1.gpu1 -> leaf0.1", "leaf0.1 -> n3.gpu1",
    ]  # fmt: skip
    assert machine.distance().matrix()[0].tolist() == [0, 1, 1, 1, 20, 21, 20, 21]


@pytest.mark.parametrize("spec", [
    "rails:6x2", "rails:5x2:pod=2", "rails:7x2:domain=2:pod=4", "rails:3x2:route=pxn:spines=0",
    "rails:6x2:pod=2:route=pxn", "rails:4x2:domain=4", "rails:1x4", "rails:3x1", "rails:5x3:domain=2",
])  # fmt: skip
def test_every_route_arrives_and_distances_follow_the_definition(spec):
    machine = parse_machine(spec)
    network, distance = machine.network(), machine.distance()
    k, hosts = machine.n_cores, machine.node_of_core()
    host, rail = np.arange(k) // machine.rails, np.arange(k) % machine.rails
    assert np.array_equal(host, hosts)
    matrix = distance.matrix()
    for a in range(k):
        hops = network.hops(a, np.arange(k))
        for b in range(k):
            same = host[a] // machine.domain == host[b] // machine.domain
            pod = host[a] // machine.pod == host[b] // machine.pod
            if a == b:
                want = 0
            elif same:
                want = 1
            elif rail[a] == rail[b] or machine.rule == "spines":
                want = 20 if pod and rail[a] == rail[b] else 40
            else:
                want = 21 if pod else 41
            assert matrix[a, b] == want == distance.between(a, b), (a, b)
            assert hops[b] == {0: 0, 1: 2, 20: 2, 40: 4, 21: 4, 41: 6}[want], (a, b)
    assert distance.largest == matrix.max()
    some = np.array([0, k - 1])
    assert distance.select(some).matrix()[0, 1] == matrix[0, k - 1]
    assert parse_machine(machine.spec()) == machine


def test_levels_are_pods_domains_hosts_and_gpus():
    machine = parse_machine("rails:128x4:domain=18:pod=72:spines=36")
    assert [(level.name, level.distance) for level in machine.levels] == [
        ("pod", 40), ("domain", 20), ("node", 1), ("gpu", 1),
    ]  # fmt: skip
    assert np.bincount(machine.ancestors(1)).tolist() == [72] * 7 + [8]
    assert machine.spec() == "rails:128x4:domain=18:pod=72:spines=36@10 / gpu:4@1"


def test_weight_time_is_refused_with_the_reason():
    """Hops inside a host and between hosts take different times, but a network has one latency of a hop."""
    where = hb.allocate("rails:4x2:bw=450e9x50e9x50e9:lat=1e-6 / gpu:2:lat=1e-6:bw=4e11")
    graph = hb.read("ml:tp=2,pp=1,dp=4,layers=2")
    with pytest.raises(UnsupportedError, match=mentions("rails", "NVLink", "simulate")):
        hb.map_tasks(graph, where, weight="time")
    assert hb.map_tasks(graph, where).n == 8
    assert "seconds" not in str(hb.evaluate(graph, hb.map_tasks(graph, where)))


def test_hosts_are_hosts_and_slots_are_gpus():
    where = hb.allocate("rails:3x2 / gpu:2 core:3", hosts="a[1-3]", exclude="node=a2")
    assert where.k == 4
    assert where.gpus.tolist() == [0, 1, 0, 1]
    assert [len(where.cores_of(pe)) for pe in range(4)] == [3] * 4
    mapping = hb.map_tasks("alltoall:4", where)
    for name in ("torchrun", "slurm", "openmpi", "hydra"):
        text = formats[name].write_mapping(mapping, {}).files[""]
        assert "a1" in text, name
        assert "a3" in text, name
        assert "a2" not in text, name
