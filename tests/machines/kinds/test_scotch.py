"""Machines of Scotch's target files."""

from __future__ import annotations

import pytest

from helpers.errors import mentions
from helpers.machine_files import put
from helpers.machines import round_trip
from hopbytes.errors import FormatError, UnsupportedError


def test_scotch(tmp_path):
    def machine(text, options=""):
        return round_trip(f"scotch:{put(tmp_path, text)}{options}")

    assert machine("tleaf 2 4 180 6 1", ":names=node,core").spec() == "node:4@181 core:6@1"
    assert machine("cmplt 5").spec() == "level1:5@1"
    assert machine("torus3D 4 3 2").spec() == "torus:2x3x4@1"
    assert machine("hcub 3").distance().between(0, 7) == 3
    table = machine("deco 0\n3 5\n1 1 4\n0 1 5\n2 1 3\n7\n8 9\n")
    assert table.distance().matrix().tolist() == [[0, 7, 9], [7, 0, 8], [9, 8, 0]]
    # Terminals 5, 0 and 4 of a line of 6, in that order.
    assert machine("sub 3 5 0 4 mesh2D 6 1").distance().matrix().tolist() == [[0, 5, 1], [5, 0, 4], [1, 4, 0]]
    with pytest.raises(UnsupportedError, match="different weights"):
        machine("cmpltw 2 3 5")
    with pytest.raises(FormatError, match=mentions("3", "2")):
        machine("tleaf 2 4 180 6 1", ":names=a,b,c")
