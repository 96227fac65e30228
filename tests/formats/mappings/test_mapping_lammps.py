"""Files of -reorder custom: read as LAMMPS does, the processes are the tasks of the mapping."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import formats


@pytest.mark.parametrize("launched", ["block", "cyclic"])
def test_new_ranks_are_the_tasks_of_the_mapping(launched):
    mapping = hb.Mapping(np.array([3, 0, 2, 1], np.int32), hb.allocate("node:2@10 core:2@1"))
    text = formats["lammps"].write_mapping(mapping, {"launched": launched}).files[""]
    # LAMMPS skips comments in front, then reads one pair per process.
    pairs = [line.split() for line in text.splitlines() if not line.startswith("#")]
    started = [0, 1, 2, 3] if launched == "block" else [0, 2, 1, 3]
    assert [int(old) for old, _ in pairs] == [0, 1, 2, 3]
    assert [mapping.pe[int(new)] for _, new in pairs] == started


def test_the_order_of_launch_has_to_be_a_name():
    mapping = hb.map_tasks("alltoall:4", "node:2 core:2")
    with pytest.raises(UnsupportedError, match="launched"):
        formats["lammps"].write_mapping(mapping, {"launched": 3})
