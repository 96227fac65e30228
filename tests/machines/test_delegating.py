"""Nodes with their own numbers on networks and below switches."""

import pytest

import hopbytes as hb
from helpers.errors import mentions, refused
from helpers.paths import GPU_SAMPLES, hwloc_sample
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.machines.delegating import by_gpu
from hopbytes.machines.node.node_tree import Gpu, Part, node_tree
from hopbytes.machines.spec import parse_machine

SMT, HYBRID = hwloc_sample("v2_smt_gpus.xml"), hwloc_sample("v3_hybrid.xml")
SPECS = [
    f"torus:2x2@100 / hwloc:{SMT}",
    f"torus:2x2@100 / hwloc:{SMT}@a,b,c,hwloc:{HYBRID}@d:l3=4",
    f"switch:2@60 node:2@40 / hwloc:{HYBRID}",
    "fattree:2x2:nodes=2@100 / synthetic:pack:2 core:2",
]


@pytest.mark.parametrize("spec", SPECS)
def test_specs_come_back(spec):
    machine = parse_machine(spec)
    assert machine.spec() == spec
    assert parse_machine(machine.spec()) == machine


@pytest.mark.parametrize("spec", SPECS)
def test_every_place_has_a_number_of_its_operating_system(spec):
    machine = parse_machine(spec)
    numbers = machine.inventory.os_cpus()
    assert len(numbers) == machine.n_cores
    nodes = machine.node_of_core()
    for node in range(int(nodes[-1]) + 1):
        assert numbers[nodes == node].tolist() == machine.inventory.tree(node).os_pus.tolist()


def test_network_outside_and_tree_inside():
    where = hb.allocate(f"torus:4@100 / hwloc:{SMT}")
    cores = where.k // 4
    apart = where.distance
    assert [apart.between(0, other) for other in (1, 2, 4, cores, 2 * cores)] == [2, 3, 10, 100, 200]
    assert where.os_pus(cores + 6) == (6, 14)


def test_options_reach_both_parts():
    spec = f"torus:2x2@100 / hwloc:{SMT}"
    where = hb.allocate(spec, distance="numa=30,hop=200")
    assert where.machine.spec() == f"torus:2x2@200 / hwloc:{SMT}:package=30"
    assert hb.allocate(spec, per="numa").k == 8
    assert hb.allocate(spec, per="gpu").gpus.tolist() == [0, 1, 2] * 4
    assert hb.allocate(spec, exclude="node=1").k == 21


@pytest.mark.parametrize(("spec", "words"), [
    (f"torus:2x2 / hwloc:{SMT}@a,b", "2 nodes inside, expected 4"),
    (f"torus:2x2@5 / hwloc:{SMT}", "below 10 of package"),
    ("torus:2x2 / hwloc:/nowhere.xml", "No such file"),
    ("torus:2x2 / hwloc:/nowhere.xml@n[1-2]", "No such file"),
])  # fmt: skip
def test_parts_that_do_not_fit(spec, words):
    with refused(HopbytesError, words):
        hb.allocate(spec)


def test_unlike_nodes_stand_in_the_order_of_the_names_outside(tmp_path):
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=s1 Nodes=b,a\nSwitchName=s2 Nodes=c\nSwitchName=top Switches=s[1-2]\n")
    where = hb.allocate(f"slurm:{path} / hwloc:{SMT}@c,hwloc:{HYBRID}@a,b")
    names = where.hosts
    assert sorted(names) == ["a", "b", "c"]
    sizes = [len(where.machine.inventory.tree(node).os_pus) for node in range(3)]
    assert sizes == [14 if name == "c" else 8 for name in names]
    chosen = hb.allocate(f"slurm:{path} / hwloc:{SMT}", hosts="a,c")
    assert {names[node] for node in chosen.node_of_pe.tolist()} == {"a", "c"}
    with pytest.raises(FormatError, match="is not among the 2 inside"):
        hb.allocate(f"slurm:{path} / hwloc:{SMT}@a,c")


HWLOC = hwloc_sample("v2_smt_gpus.xml")


def test_hwloc_hosts_with_rails():
    """Two GPUs share the first package, the third has the second: 2, 2 and 3 cores of two threads."""
    where = hb.allocate(f"rails:2x3 / hwloc:{HWLOC}")
    assert where.k == 6
    assert where.gpus.tolist() == [0, 1, 2] * 2
    near = [sorted(where.os_pus(pe)) for pe in range(3)]
    assert near == [[0, 1, 8, 9], [2, 3, 10, 11], [4, 5, 6, 12, 13, 14]]
    distance = where.distance.matrix()
    assert distance[0, 1] == distance[0, 2] < distance[0, 3] < distance[0, 4]
    again = hb.allocate(where.machine.spec())
    assert again.machine == where.machine


def test_hosts_without_gpus_and_too_few_cores():
    with pytest.raises(FormatError, match=mentions("hwloc", "no GPU")):
        hb.allocate(f"rails:2x2 / hwloc:{hwloc_sample('v3_hybrid.xml')}")
    with pytest.raises(FormatError, match=mentions("gpu:3", "gpu:4")):
        hb.allocate(f"rails:2x4 / hwloc:{HWLOC}")
    core = Part("machine", 0, (Part("core", 0, (Part("pu", 0),)),))
    with pytest.raises(FormatError, match=mentions("GPU 0", "no core")):
        by_gpu(node_tree(core, gpus=(Gpu(0, "a", (0,)), Gpu(1, "b", (0,)))), "a file")


def test_units_of_nvlink_do_not_matter_where_a_host_is_a_domain():
    where = hb.allocate(f"rails:2x4 / nvidia:{GPU_SAMPLES}/nccl_topo.xml")
    assert where.gpus.tolist() == [0, 1, 2, 3] * 2
    mapping = hb.map_tasks(hb.read("ml:tp=4,pp=1,dp=2,layers=4,order=dp-tp-cp-ep-pp"), where)
    assert {int(where.node_of_pe[mapping.pe[task]]) for task in (0, 2, 4, 6)} in ({0}, {1})
