"""Where launchers put ranks by themselves, by really launching, and the bytes that then leave nodes.

These are the facts behind the baselines: nobody need believe a manual page.
"""

import numpy as np
import pytest
from several_hosts import name_space
from slurm_nodes import needs_slurm

import hopbytes as hb
from bench.studies import launcher_orders

NAMES = ["n1", "n2", "n3"]
FILLED = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
EVEN = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
IN_TURN = [rank % 3 for rank in range(10)]


def nodes(hosts):
    return [NAMES.index(host) for host in hosts]


@pytest.mark.launcher
@pytest.mark.skipif(name_space() is None, reason="no host names of its own for a process (unshare)")
def test_mpi_launchers_fill_nodes(tmp_path):
    """Ten ranks on three hosts of four slots. Without counts Hydra deals ranks round."""
    found = {name: nodes(hosts) for name, hosts in launcher_orders.by_mpi(tmp_path, NAMES, 4, 10)}
    if not found:
        pytest.skip("no MPI is installed")
    for name, order in found.items():
        assert order == (IN_TURN if "alone" in name else FILLED), name


@pytest.mark.launcher
@pytest.mark.xdist_group("slurm")
@needs_slurm
def test_srun_fills_nodes_that_are_shared_and_spreads_over_whole_ones(tmp_path):
    shared, whole = launcher_orders.by_slurm(tmp_path, 3, 2, 4, 10)
    assert nodes(shared[1]) == FILLED
    assert nodes(whole[1]) == EVEN


def values(tree):
    """All numbers in a nested record."""
    if isinstance(tree, dict):
        return [number for part in tree.values() for number in values(part)]
    if isinstance(tree, (list, tuple)):
        return [number for part in tree for number in values(part)]
    return [tree]


def test_bytes_between_nodes_are_those_that_eval_reports():
    where = hb.allocate("node:3@10 core:4@1")
    graph = hb.read("stencil:5x2:bytes=100")
    for order in (FILLED, EVEN, IN_TURN):
        place = np.array([order[:rank].count(node) for rank, node in enumerate(order)])
        mapping = hb.Mapping((4 * np.array(order) + place).astype(np.int32), where, {"problem": "processes"})
        measured = hb.evaluate(graph, mapping).to_dict()
        assert launcher_orders.bytes_between(graph, order) in values(measured)
