"""New ranks: every task comes to its slot, whatever the launcher's own order is."""

from __future__ import annotations

import os

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.placements import place, write
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
