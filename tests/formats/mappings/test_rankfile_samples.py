"""Rankfiles found in the wild."""


import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import SHARED

FOLDER = SHARED / "samples" / "rankfiles"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="no folder of developers' samples"),
]


def test_physical_slots_are_cpus():
    """Written for an Open MPI that took p for a CPU of the operating system."""
    mapping = hb.read(FOLDER / "M4_physical.rankfile", "openmpi", where=hb.machine("package:2 core:8"))
    assert mapping.pe.tolist() == list(range(16))


def test_a_rank_with_a_whole_package():
    hosts = ("18.125.5.155", "18.125.5.156")
    where = hb.machine("node:2 package:2 core:4", hosts=hosts, cores_per_task=4)
    mapping = hb.read(FOLDER / "isc16_graph500.rankfile", "openmpi", where=where)
    assert mapping.pe.tolist() == [0, 2]
    single = hb.machine("node:2 package:2 core:4", hosts=hosts)
    with pytest.raises(hb.FormatError, match=mentions(":1", "0-3", "0", "4")):
        hb.read(FOLDER / "isc16_graph500.rankfile", "openmpi", where=single)
