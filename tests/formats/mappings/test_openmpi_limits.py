"""What Open MPI does with rankfiles on hosts with missing threads or unlike sets is said by the writer."""

import re

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.machines.kinds.synthetic import read_synthetic
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.node_machine import NodeMachine


def written(tmp_path, allowed, hosts, version=None, per=None):
    """Write ranks on all slots of nodes of four cores with two threads each, of which a job has some."""
    trees = [read_synthetic("core:4 pu:2").restricted(pus) for pus in allowed]
    machine = NodeMachine("test", NodeInventory(tuple(trees), tuple(range(len(trees)))), hosts)
    where = hb.allocate(machine, per=per)
    mapping = hb.Mapping(np.arange(where.k, dtype=np.int32), where)
    options = {} if version is None else {"version": version}
    return " ".join(hb.write(mapping, tmp_path / "ranks", "openmpi", force=True, **options).notices)


ALL = range(8)
THREADS = "Open MPI 5 counts hardware threads instead of cores"
TREES = "Open MPI 4 binds on all hosts by the topology"


@pytest.mark.parametrize(("allowed", "said"), [
    ([ALL, ALL], ""), ([range(2, 8), range(2, 8)], ""),
    ([{0, 2, 3, 4, 5}] * 2, THREADS),  # the first core lacks its second thread
    ([{0, 1, 2, 4, 5}] * 2, ""),  # another one does, which is counted right
    ([{0, 2, 4, 6}] * 2, ""),  # no core has more than one
    ([ALL, range(2, 8)], TREES),
])  # fmt: skip
def test_what_is_said(tmp_path, allowed, said):
    notices = written(tmp_path, allowed, ("a", "b"))
    assert (THREADS in notices, TREES in notices) == (said == THREADS, said == TREES)


def test_hosts_and_versions(tmp_path):
    notices = written(tmp_path, [ALL, {0, 2, 3}, {1, 2, 3}], ("a", "b", "c"))
    assert re.search(r"more of others \(b, c\): request whole cores, or start with srun", notices)
    assert "(b, c from a): use Open MPI 5 or srun; 'hopbytes verify' shows where" in notices
    notices = written(tmp_path, [ALL, {0, 2, 3}], ("a", "b"), version="4")
    assert (THREADS in notices, TREES in notices) == (False, True)
    notices = written(tmp_path, [{0, 2, 3}], ("a",), per="pu")  # threads are counted anyway
    assert THREADS not in notices
