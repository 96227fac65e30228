"""Hostfile and binding list for srun: they cost the same as the mapping."""

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.placements import cores_in_node, expand, mappings, place, write
from helpers.strategies import graphs
from hopbytes.cost.metrics.mapping_metrics import measure


def test_slots_of_several_cores_become_masks_and_threads():
    mapping = place("node:1 package:2@3 core:4@1", [3, 0, 1, 2], cores_per_slot=2, hosts=("a",))
    launch = write("slurm", mapping).launch
    settings = "SLURM_HOSTFILE={stem} OMP_NUM_THREADS=2 OMP_PLACES=cores"
    assert launch.startswith(f"{settings} srun -n 4 --distribution=arbitrary ")
    assert "--cpus-per-task" not in launch  # see the writer: partly used nodes could not be bound
    assert "--cpu-bind=mask_cpu:0xc0,0x3,0xc,0x30 " in launch


def test_clusters_that_manage_their_gpus_need_no_script():
    """Ranks 0 to 3 on node b, 4 to 7 on node a, in the same order of GPUs: one list serves both."""
    mapping = place("node:2 gpu:4", [6, 7, 4, 5, 2, 3, 0, 1], hosts=("a", "b"))
    (notice,) = [notice for notice in write("slurm", mapping).notices if "gres.conf" in notice]
    assert "SLURM_HOSTFILE={stem} srun -n 8 --distribution=arbitrary --gpus-per-node=4 " in notice
    assert "--gpu-bind=map_gpu:2,3,0,1 ./app" in notice
    other = place("node:2 gpu:4", [6, 7, 4, 5, 0, 1, 2, 3], hosts=("a", "b"))
    assert not any("gres.conf" in notice for notice in write("slurm", other).notices)
    two_each = place("node:2 package:2 gpu:2", [1, 0, 3, 2], hosts=("a", "b"), cores_per_slot=2)
    assert any("--gpu-bind=mask_gpu:0xc,0x3 " in notice for notice in write("slurm", two_each).notices)


def slurm_binding(written, mapping):
    """Return host and cores of every rank, from the command and files alone."""
    hosts = [line for line in written.files[""].splitlines() if not line.startswith("#")]
    if ".place.sh" in written.files:
        case = re.compile(r"^(\d+)\) cores=([\d,-]+) threads=(\d+)", re.MULTILINE)
        found = case.findall(written.files[".place.sh"])
        cores = [expand(text) for _, text, _ in found]
        assert [int(rank) for rank, *_ in found] == list(range(mapping.n))
        assert [int(threads) for *_, threads in found] == [len(own) for own in cores]
        return list(zip(hosts, cores, strict=True))
    kind, items = re.search(r"--cpu-bind=(map_cpu|mask_cpu):(\S+)", written.launch).groups()
    if kind == "map_cpu":
        lists = [[int(item)] for item in items.split(",")]
    else:
        lists = [[bit for bit in range(64) if int(item, 16) >> bit & 1] for item in items.split(",")]
    local = [hosts[:rank].count(host) for rank, host in enumerate(hosts)]
    return [(host, lists[place]) for host, place in zip(hosts, local, strict=True)]


@given(mappings(), st.data())
@settings(deadline=None, max_examples=100)
def test_slurm_binding_costs_the_same_as_the_mapping(mapping, data):
    """Slots may have been renumbered: rank → slot is read back, and every metric must be unchanged."""
    written = write("slurm", mapping)
    where, hosts = mapping.where, mapping.where.hosts
    nodes = [cores_in_node(mapping, task)[0] for task in range(mapping.n)]
    node_of_core = where.machine.node_of_core().tolist()
    pe_of_cores = {tuple(where.cores_of(pe).tolist()): pe for pe in range(where.k)}
    pe = []
    for task, (host, cores) in enumerate(slurm_binding(written, mapping)):
        if hosts:
            assert host == hosts[nodes[task]]
        first = node_of_core.index(nodes[task])
        pe.append(pe_of_cores[tuple(first + core for core in cores)])
    graph = data.draw(graphs(n=mapping.n))
    assert len(set(pe)) == mapping.n
    assert measure(graph, where, np.array(pe, np.int32)) == measure(graph, where, mapping.pe)
