"""Rankfiles and hostfiles of Open MPI: they say what the mapping says."""

import numpy as np
from hypothesis import given, settings

import hopbytes as hb
from helpers.placements import cores_in_node, mappings, place, read_rankfile, write
from hopbytes.model.mapping import Mapping


@given(mappings())
@settings(deadline=None, max_examples=100)
def test_rankfile_says_what_the_mapping_says(mapping):
    written = write("openmpi", mapping)
    ranks, slots = read_rankfile(written)
    assert len(ranks) == mapping.n
    names = list(slots) if not mapping.where.hosts else mapping.where.hosts
    for task, (host, cores) in enumerate(ranks):
        node, expected = cores_in_node(mapping, task)
        assert cores == expected
        assert host == (names[node] if len(names) > 1 or mapping.where.hosts else "localhost")
    tasks = np.bincount(mapping.where.node_of_pe[mapping.pe])
    assert all(slots[host] >= count for host, count in zip(names, tasks.tolist(), strict=False) if count)
    assert f"-n {mapping.n} " in written.launch


def test_ranks_of_several_cores_get_as_many_threads():
    written = write("openmpi", place("core:4", [1, 0], cores_per_slot=2))
    assert written.launch.endswith(" -x OMP_NUM_THREADS=2 -x OMP_PLACES=cores ./app")
    uneven = hb.machine("l3:2 core:[1,2]", per="l3")
    written = write("openmpi", Mapping(np.array([1, 0], np.int32), uneven))
    assert written.launch.endswith("rankfile:file={stem} sh {stem}.place.sh ./app")
    assert "0) cores=1-2 threads=2 ;;" in written.files[".place.sh"]


def test_two_ranks_on_a_core_need_leave_to_overload():
    twice = place("node:2@10 core:2@1", [0, 0, 1, 2], problem="processes", hosts=("a", "b"))
    written = write("openmpi", twice)
    assert "--bind-to :overload-allowed" in written.launch
    assert read_rankfile(written)[1] == {"a": 3, "b": 2}
    assert "--overcommit" in write("slurm", twice).launch
    assert "overload" not in write("openmpi", place("core:2", [0, 1])).launch


def test_hardware_threads_are_said_to_be_such():
    written = write("openmpi", place("core:2@2 pu:2@1", [0, 3, 1, 2]))
    assert "rankfile:file={stem}:hwtcpus" in written.launch
    assert "more ranks than cores" in written.notices[1]
    assert len(write("openmpi", place("core:2@2 pu:2@1", [0, 3])).notices) == 1
