"""Machines of Slurm's topology files: distances and texts that come back."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.machine_files import SLURM, YAML, put
from helpers.machines import round_trip


def test_slurm_distances(tmp_path):
    path = put(tmp_path, SLURM)
    machine = round_trip(f"slurm:{path}:leaf=90 / package:2 core:2")
    assert machine.known_hosts.names == ("n1", "n2", "n3", "n4", "n5")
    between = machine.distance().between
    assert [between(0, core) for core in (0, 1, 2, 4, 8, 12)] == [0, 1, 10, 40, 40, 90]
    assert machine.spec() == f"slurm:{path}:leaf=90 / package:2@10 core:2@1"
    assert hb.allocate(machine.spec(), distance="node=50,core=2").distance.between(0, 4) == 50
    some = round_trip(f"slurm:{path}@n[3-4] / core:[2,1]")
    assert (some.known_hosts.names, some.n_cores) == (("n3", "n4"), 3)


def test_slurm_yaml(tmp_path):
    path = put(tmp_path, YAML, "topology.yaml")
    assert round_trip(f"slurm:{path}").n_cores == 5
    blocks = round_trip(f"slurm:{path}:topology=blocks")
    assert [blocks.distance().between(0, node) for node in (1, 2, 4)] == [40, 60, 80]
    pod = round_trip(f"slurm:{path}:topology=pod@6 / core:2")
    # x runs fastest: t1 t2 are neighbours in x, t1 t3 in z.
    assert pod.known_hosts.names == ("t1", "t2", "t3", "t4")
    assert [pod.distance().between(0, core) for core in (1, 2, 4, 6)] == [1, 6, 6, 12]
    assert pod.network().routes([0], [1]).links.size == 1


@pytest.mark.parametrize("name", ["TOPOLOGY.YAML", "topology", "topo.txt"])
def test_slurm_yaml_under_other_names(tmp_path, name):
    path = put(tmp_path, "# of slurm\n---\n" + YAML, name)
    blocks = round_trip(f"slurm:{path}:topology=blocks")
    assert [level.name for level in blocks.levels][-2:] == ["block", "node"]


def test_slurm_rings(tmp_path):
    path = put(tmp_path, "- topology: a\n  ring: {rings: [{ring: r, nodes: 'n[1-5]'}]}\n", "t.yaml")
    ring = round_trip(f"slurm:{path}@n[1,3-5]")
    assert [ring.distance().between(0, node) for node in range(4)] == [0, 2, 2, 1]
    assert [part.tolist() for part in ring.split(np.arange(4))] == [[1, 2], [0, 3]]  # n2 is the gap
