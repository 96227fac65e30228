"""Machines of tables of coordinates."""

import pytest

from helpers.errors import mentions
from helpers.machine_files import put
from helpers.machines import round_trip
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.coordinates import read_coordinates
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


def test_tables_of_coordinates(tmp_path):
    found = read_coordinates(put(tmp_path, "node,x,y\nn1,0,1\nn2,3,0\nn1,0,1\n"))
    assert found == {"n1": (0, 1), "n2": (3, 0)}
    boxfish = (
        "---\nkey: K\n---\n- [nodeid, int32]\n- [x, int32]\n- [y, int32]\n- [muls, int64]\n...\n7 1 2 99\n"
    )
    assert read_coordinates(put(tmp_path, boxfish)) == {"7": (1, 2)}
    boxfish = boxfish.replace("- [muls, int64]\n", "").replace("- [nodeid", "- [job, int32]\n- [nodeid")
    assert read_coordinates(put(tmp_path, boxfish.replace("7 1 2 99", "5 7 1 2"))) == {"7": (1, 2)}
    with pytest.raises(FormatError, match=mentions("file:4", "nodeid")):
        read_coordinates(put(tmp_path, "---\nkey: K\n- [x, int32]\n...\n"))
    with pytest.raises(FormatError, match=mentions("file:4", "no coordinates")):
        read_coordinates(put(tmp_path, "---\n- [nodeid, int32]\n- [muls, int32]\n...\n"))
    for text, message in (
        ("n1 0 1\nn1 0 2\n", "file:2: .*expected|file:2: node n1 at"),
        ("n1 0 1\nn2 0\n", "file:2: 2 words, expected a node and 2"),
        ("n1 0 -1\n", "file:1: '-1', expected a coordinate"),
        ("# nothing\n", "no row"),
    ):
        with pytest.raises(FormatError, match=message):
            read_coordinates(put(tmp_path, text))
