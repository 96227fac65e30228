"""Rankfiles found in the wild."""


import pytest

import hopbytes as hb
from helpers.paths import SHARED

FOLDER = SHARED / "samples" / "rankfiles"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="no folder of developers' samples"),
]


def test_physical_slots_are_cpus():
    """Written for an Open MPI that took p for a CPU of the operating system."""
    mapping = hb.read(FOLDER / "M4_physical.rankfile", "openmpi", where=hb.allocate("package:2 core:8"))
    assert mapping.pe.tolist() == list(range(16))


def test_a_rank_with_a_whole_package():
    hosts = ("18.125.5.155", "18.125.5.156")
    where = hb.allocate("node:2 package:2 core:4", hosts=hosts, cores_per_task=4)
    mapping = hb.read(FOLDER / "isc16_graph500.rankfile", "openmpi", where=where)
    assert mapping.pe.tolist() == [0, 2]
    # On slots of single cores the mapping has slots of its own, as wide as the ranks.
    single = hb.allocate("node:2 package:2 core:4", hosts=hosts)
    mapping = hb.read(FOLDER / "isc16_graph500.rankfile", "openmpi", where=single)
    assert [mapping.where.cores_of(pe).tolist() for pe in mapping.pe] == [[0, 1, 2, 3], [8, 9, 10, 11]]
