"""Machines read from files of any kind: one-line errors, and the developers' samples."""

import pytest

from helpers.machines import round_trip
from helpers.paths import ROOT, SHARED_SAMPLES
from hopbytes.errors import HopbytesError
from hopbytes.machines.spec import parse_machine


@pytest.mark.parametrize("kind", ["slurm", "topograph", "scotch", "coordinates", "simgrid"])
@pytest.mark.parametrize("rest", ["", "/nowhere", "README.md:odd=", ":a=b"])
def test_faults(kind, rest, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(HopbytesError) as error:
        parse_machine(f"{kind}:{rest}")
    assert "\n" not in str(error.value)


@pytest.mark.shared
@pytest.mark.parametrize(("spec", "cores"), [
    ("slurm:{}/slurm/block_topology.conf / core:2", 64), ("slurm:{}/slurm/superpod_topology.conf", 79),
    ("slurm:{}/slurm/tree_2level_topology.conf", 400),
    ("slurm:{}/slurm/tree_3level_big_topology.conf", 10_000),
    ("slurm:{}/slurm/topology.yaml:topology=topo5", 32),
    ("topograph:{}/topograph/medium.yaml", 8), ("topograph:{}/topograph/nvl72.yaml", 72),
    ("scotch:{}/scotch/hy3.tgt", 8), ("scotch:{}/netloc/subarch.scotch", 64),
    ("coordinates:{}/torus/bgpc_nodes.yaml.gz", 512), ("simgrid:{}/simgrid/cluster_backbone.xml", 100),
    ("simgrid:{}/simgrid/cluster_fat_tree.xml", 16), ("simgrid:{}/simgrid/cluster_torus.xml", 12),
    ("simgrid:{}/simgrid/griffon.xml", 92),
])  # fmt: skip
def test_samples(spec, cores):
    assert round_trip(spec.format(SHARED_SAMPLES)).n_cores == cores
