"""Nodes of which a job has a single core with several hardware threads: that is one core, not several."""


import pytest

import hopbytes as hb
from hopbytes.machines.node.node_tree import NodeInventory, node_tree, parts_from_sets
from hopbytes.machines.node.sysfs import node_from_files
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.show.describe import machine_facts

HWLOC = """<topology version="2.0">
<object type="Machine" os_index="0" cpuset="0xff" allowed_cpuset="{allowed}">
<object type="Package" os_index="0" cpuset="0xff">{cores}</object></object></topology>"""
CORE = '<object type="Core" os_index="{0}" cpuset="0x1">{1}</object>'
THREAD = '<object type="PU" os_index="{0}"/>'


@pytest.mark.parametrize("spec", [
    "synthetic:pack:1 core:1 pu:2@n[1-4]", "torus:2x2 / synthetic:pack:1 core:1 pu:2",
    "fattree:2x2 / synthetic:core:1 pu:2", "synthetic:l3:1 core:1 pu:4@n[1-4]",
])  # fmt: skip
def test_one_core_with_threads_per_node(spec):
    where = hb.allocate(spec)
    facts = machine_facts(where)
    assert (where.k, facts["cores"], facts["cores_per_pe"]) == (4, 4, [1, 1])
    assert hb.allocate(spec, per="core").k == 4
    assert hb.allocate(spec, per="pu").k == where.machine.n_cores
    assert hb.allocate(spec, exclude="node=1").k == 3
    with pytest.raises(hb.errors.InfeasibleError, match="all 4 cores are excluded"):
        hb.allocate(spec, exclude="core=0")


def test_one_allowed_core_of_an_hwloc_file(tmp_path):
    cores = [CORE.format(core, THREAD.format(core) + THREAD.format(core + 4)) for core in range(4)]
    path = tmp_path / "node.xml"
    path.write_text(HWLOC.format(allowed="0x22", cores="".join(cores)))
    single = hb.allocate(f"hwloc:{path}")
    assert (single.k, single.os_pus(0)) == (1, (1, 5))
    several = hb.allocate(f"hwloc:{path}@n[1-3]")
    assert (several.k, several.cores_of(2).tolist()) == (3, [4, 5])


def test_one_allowed_core_as_the_kernel_tells_it():
    files = {"devices/system/cpu/online": "0-3"}
    for cpu in range(4):
        here = f"devices/system/cpu/cpu{cpu}/topology"
        files[f"{here}/core_id"] = str(cpu % 2)
        files[f"{here}/thread_siblings_list"] = f"{cpu % 2},{cpu % 2 + 2}"
        files[f"{here}/core_siblings_list"] = "0-3"
    tree = node_from_files(files, {0, 2})
    assert hb.allocate(NodeMachine("test", NodeInventory((tree,), (0, 0)), ("n1", "n2"))).k == 2


def test_a_unit_that_overlaps_a_larger_or_earlier_one_is_left_out():
    sets = {("package", 0): frozenset(range(4)), ("l3", 0): frozenset({0, 1}), ("l3", 1): frozenset({1, 2})}
    tree = node_tree(parts_from_sets(sets, range(4)))
    assert (tree.count("package"), tree.count("l3"), tree.os_pus.tolist()) == (1, 1, [0, 1, 2, 3])
