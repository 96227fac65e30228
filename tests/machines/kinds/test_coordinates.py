"""Machines of tables of coordinates."""

from __future__ import annotations

import pytest

from helpers.errors import mentions
from helpers.machine_files import put
from helpers.machines import round_trip
from hopbytes.errors import FormatError
from hopbytes.machines.spec import parse_machine


def test_coordinates(tmp_path):
    path = put(tmp_path, "b 0 1\na 0 1\nc 3 0\n")
    machine = round_trip(f"coordinates:{path}:wrap=1x0:bw=5x7@2")
    # Two hosts share the router at 0.1: no hop between them; c is one step round the ring and one down.
    assert machine.known_hosts.names == ("a", "b", "c")
    assert [machine.distance().between(0, node) for node in (1, 2)] == [0, 4]
    assert {int(c) for c in machine.network().capacity if c} == {5, 7}
    with pytest.raises(FormatError, match=mentions("dims=3x2")):
        parse_machine(f"coordinates:{path}:dims=3x2")
    with pytest.raises(FormatError, match="1 hosts are not in coordinates"):
        parse_machine(f"coordinates:{path}@a,x")
