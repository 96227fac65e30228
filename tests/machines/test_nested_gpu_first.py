"""Hosts of a rail-optimised cluster from files that describe sockets first."""

from __future__ import annotations

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import GPU_SAMPLES, hwloc_sample
from hopbytes.errors import FormatError
from hopbytes.machines.delegating import by_gpu
from hopbytes.machines.node.node_tree import Gpu, Part, node_tree

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


def test_units_of_nvlink_do_not_matter_where_a_host_is_a_domain():
    where = hb.allocate(f"rails:2x4 / nvidia:{GPU_SAMPLES}/nccl_topo.xml")
    assert where.gpus.tolist() == [0, 1, 2, 3] * 2
    mapping = hb.map_tasks(hb.read("ml:tp=4,pp=1,dp=2,layers=4,order=dp-tp-cp-ep-pp"), where)
    assert {int(where.node_of_pe[mapping.pe[task]]) for task in (0, 2, 4, 6)} in ({0}, {1})


def test_hosts_without_gpus_and_too_few_cores():
    with pytest.raises(FormatError, match=mentions("hwloc", "no GPU")):
        hb.allocate(f"rails:2x2 / hwloc:{hwloc_sample('v3_hybrid.xml')}")
    with pytest.raises(FormatError, match=mentions("gpu:3", "gpu:4")):
        hb.allocate(f"rails:2x4 / hwloc:{HWLOC}")
    core = Part("machine", 0, (Part("core", 0, (Part("pu", 0),)),))
    with pytest.raises(FormatError, match=mentions("GPU 0", "no core")):
        by_gpu(node_tree(core, gpus=(Gpu(0, "a", (0,)), Gpu(1, "b", (0,)))), "a file")
