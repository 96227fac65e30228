"""New ranks: every task comes to its slot, whatever the launcher's own order is."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.errors import mentions
from helpers.placements import mappings, place, write
from hopbytes.errors import FormatError


@given(mappings(), st.sampled_from(["block", "cyclic"]))
@settings(deadline=None, max_examples=100)
def test_newrank_brings_every_task_to_its_slot(mapping, launched):
    """Start ranks as the launcher would, renumber them, and find every task where the mapping wants it."""
    lines = write("newrank", mapping, launched=launched).files[""].splitlines()
    new = [int(line) for line in lines[: mapping.n]]
    assert sorted(new) == list(range(mapping.n))
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
    for old, pe in enumerate(started):
        assert mapping.pe[new[old]] == pe


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
