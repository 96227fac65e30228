"""New ranks: every task comes to its slot, whatever the launcher's own order is."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.errors import mentions
from helpers.placements import mappings, place, write
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import formats


def test_newrank_takes_the_real_start_from_a_file(tmp_path):
    started = tmp_path / "started.txt"
    started.write_text("3\n2\n1\n0\n")
    mapping = place("core:4", [1, 3, 0, 2])
    assert write("newrank", mapping, launched=str(started)).files[""].splitlines()[:4] == ["1", "3", "0", "2"]
    started.write_text("3\n3\n1\n0\n")
    with pytest.raises(FormatError, match=mentions("0", "2", "1")):
        write("newrank", mapping, launched=str(started))
    with pytest.raises(FormatError, match="No such file"):
        write("newrank", mapping, launched=str(tmp_path / "none"))
    if os.path.exists("/dev/zero"):  # without end
        with pytest.raises(FormatError, match="a device"):
            write("newrank", mapping, launched="/dev/zero")


def test_the_order_of_launch_has_to_be_a_name():
    mapping = hb.map_tasks("alltoall:4", "node:2 core:2")
    with pytest.raises(UnsupportedError, match="launched"):
        formats["lammps"].write_mapping(mapping, {"launched": 3})


@given(mappings(), st.sampled_from(["block", "cyclic"]), st.sampled_from(["newrank", "lammps"]))
@settings(deadline=None, max_examples=100)
def test_new_ranks_bring_every_task_to_its_slot(mapping, launched, form):
    """Start ranks as the launcher would, renumber them, and find every task where the mapping wants it."""
    lines = write(form, mapping, launched=launched).files[""].splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    new = [int(row[-1]) for row in rows]
    assert sorted(new) == list(range(mapping.n))
    if form == "lammps":  # pairs for -reorder custom
        assert [int(row[0]) for row in rows] == list(range(mapping.n))
    node = mapping.where.node_of_pe
    free = sorted(mapping.pe.tolist())
    started = []
    if launched == "block":
        started = free
    while free and launched == "cyclic":  # every node takes one rank a round, while it has slots
        for unit in sorted({int(node[pe]) for pe in free}):
            pe = next(pe for pe in free if node[pe] == unit)
            started.append(pe)
            free.remove(pe)
    assert [mapping.pe[task] for task in new] == started
