"""Machines of Cray's tables of processors."""

from __future__ import annotations

import pytest

from helpers.machine_files import CRAY, put
from helpers.machines import round_trip
from hopbytes.errors import FormatError
from hopbytes.machines.spec import parse_machine


def test_cray(tmp_path):
    gemini = round_trip(f"xtdb2proc:{put(tmp_path, CRAY)}:dims=4x4x4@2 / core:2")
    assert gemini.known_hosts.names == ("nid00004", "nid00012")
    assert gemini.distance().between(0, 2) == 2 * (1 + 2)
    lines = [
        f"x_coord={x},y_coord={y},z_coord={z},processor_id={number}"
        for number, (x, y, z) in enumerate([(0, 0, 0)] * 3 + [(0, 0, 1), (0, 2, 1), (3, 0, 0)])
    ]
    aries = round_trip(f"xtdb2proc:{put(tmp_path, chr(10).join(lines), 'aries')}")
    assert [level.name for level in aries.levels] == ["group", "chassis", "router", "node"]
    assert [aries.distance().between(0, node) for node in (1, 3, 4, 5)] == [40, 60, 80, 100]
    with pytest.raises(FormatError, match="dims on Aries"):
        parse_machine(f"xtdb2proc:{tmp_path / 'aries'}:dims=4x4x4")
    with pytest.raises(FormatError, match="expected aries or gemini"):
        parse_machine(f"xtdb2proc:{tmp_path / 'aries'}:system=titan")
