"""What all launch files have in common: lists of numbers, checks before the work, names of hosts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import hwloc_sample
from helpers.placements import mappings, place, write
from hopbytes.errors import HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.formats.exchange import check_target
from hopbytes.formats.mappings.launch_files import renumbered
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.model.mapping import Mapping


@pytest.mark.parametrize("name", ["openmpi", "slurm", "newrank"])
def test_more_tasks_than_slots_name_both_numbers(name):
    with pytest.raises(InfeasibleError, match=mentions("5", "4", "2", "3")):
        write(name, place("core:4", [0, 1, 2, 3, 3]))
    write(name, place("core:4", [0, 1, 2, 3, 3]), oversubscribe=True)
    with pytest.raises(InfeasibleError, match="no task to launch"):
        write(name, place("core:4", []))


#: Those of new ranks name no hosts.
NAMING_HOSTS = {name for name in formats if formats[name].capabilities.launcher} - {"newrank", "lammps"}


@pytest.mark.parametrize("name", sorted(NAMING_HOSTS))
@pytest.mark.parametrize(("hosts", "message"), [
    (("a",), "1 2"), (("a", "b", "c"), "3 2"), (("a", "a"), "'a' twice"),
    (("a b", "c"), "'a b'"), (("a", "b;rm -rf"), "-rf"), (("a", "-b"), "'-b'"), (("a", "b\n"), "'b\\n'"),
    (("a", ""), "host name ''"),
])  # fmt: skip
def test_host_names_are_checked(name, hosts, message):
    mapping = place("node:2@10 core:2@1 pu:2@1" if name == "jsrun" else "node:2@10 core:2@1", [0, 2])
    with pytest.raises(HopbytesError, match=mentions(*message.split())):
        write(name, mapping, hosts=hosts)


def test_the_command_names_no_file_where_there_is_none():
    mapping = place("node:2@10 core:2@1", [0, 2, 1, 3], hosts=("a", "b"))
    assert "SLURM_HOSTFILE=FILE " in hb.write(mapping, "-", "slurm").launch


def test_what_cannot_be_written_is_known_before_the_work(tmp_path):
    with pytest.raises(UnsupportedError, match=mentions("'openmpi'")):
        check_target("-", "openmpi", holds="mapping")
    with pytest.raises(UnsupportedError, match="a folder, expected a file name"):
        check_target(tmp_path, "json", holds="mapping")
    check_target("-", "slurm", holds="mapping")


# Renumbering of slots that are alike: it changes no distance and makes nodes equal.


@given(mappings())
@settings(deadline=None, max_examples=100)
def test_renumbering_changes_no_distance(mapping):
    if mapping.n < 2:
        return
    distance, after = mapping.where.distance.matrix(), renumbered(mapping)
    assert np.array_equal(distance[np.ix_(mapping.pe, mapping.pe)], distance[np.ix_(after, after)])


def test_renumbering_makes_alike_nodes_equal():
    """Both nodes hold the pairs (first, third) and (second, fourth) of their ranks, on different slots."""
    mapping = place("node:2@10 package:2@3 core:2@1", [2, 0, 3, 1, 5, 7, 4, 6], hosts=("a", "b"))
    written = write("slurm", mapping)
    assert "--cpu-bind=map_cpu:0,2,1,3 " in written.launch
    assert list(written.files) == [""]


# Launch formats on nodes that know their own numbers: CPUs of the operating system, GPUs, shared nodes.


SMT = "hwloc:" + hwloc_sample("v2_smt_gpus.xml")


def test_cpu_numbers_come_from_the_nodes_own_tree():
    """A node of 8 cores whose hardware threads are c and c + 8: core 3 is CPUs 3 and 11."""
    mapping = Mapping(np.array([3, 0, 1], np.int32), allocate(SMT), {"problem": "processes"})
    whole = Mapping(mapping.pe, allocate("synthetic:core:8 pu:2(indexes=core)"), mapping.info)
    assert "mask_cpu:0x808,0x101,0x202 " in write("slurm", whole).launch
    assert "user:3+11,0+8,1+9 " in write("hydra", mapping).launch
    assert write("openmpi", mapping).files[""].splitlines()[1] == "rank 0=localhost slot=3"
    assert not any("assumed to be the core numbers" in text for text in write("hydra", mapping).notices)


def test_srun_gets_no_list_where_nodes_may_be_shared():
    """PUs 7 and 15 of the sample are not ours: what srun counts from is anybody's guess."""
    mapping = Mapping(np.array([3, 0, 1], np.int32), allocate(SMT), {"problem": "processes"})
    written = write("slurm", mapping)
    assert "--cpu-bind=none sh {stem}.place.sh" in written.launch
    assert "0) cores=3,11 threads=1 ;;" in written.files[".place.sh"]
    assert any("the job has only some CPUs of its nodes" in notice for notice in written.notices)
    # Leaving cores out oneself is something else; so is a job that says what it may use.
    own = Mapping(np.array([1, 0], np.int32), allocate("synthetic:core:4@a,b", exclude="core=0"))
    assert "map_cpu:2,1 " in write("slurm", own).launch
    assert ".place.sh" in write("slurm", own, allowed="1-3").launch


def test_gpus_reach_ranks_by_the_script():
    """Not by options of srun or flux: they do nothing in a job that asked for no GPUs."""
    mapping = Mapping(np.array([1, 0], np.int32), allocate(SMT, per="gpu"), {"problem": "processes"})
    assert "gpu: {1}" in write("jsrun", mapping).files[""]
    written = write("openmpi", mapping)  # the others do the same, see tests/contracts/test_gpu_slots.py
    assert "0) cores=2-3,10-11 threads=2 gpus=1 ;;" in written.files[".place.sh"]
    # What is written is the placement itself, not one with slots renumbered.
    assert (written.mapping or mapping).pe.tolist() == [1, 0]
    assert "--cpu-bind=none --gpu-bind=none sh" in write("slurm", mapping).launch
    assert "-o gpu-affinity=off -o cpu-affinity=off sh" in write("flux", mapping).launch
