"""Coordinates of hosts, from tables."""

from __future__ import annotations

import pytest

from helpers.machine_files import put
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.coordinates import read_coordinates


def test_tables_of_coordinates(tmp_path):
    found = read_coordinates(put(tmp_path, "node,x,y\nn1,0,1\nn2,3,0\nn1,0,1\n"))
    assert (found.hosts, found.places, found.dims) == (("n1", "n2"), ((0, 1), (3, 0)), (4, 2))
    boxfish = (
        "---\nkey: K\n---\n- [nodeid, int32]\n- [x, int32]\n- [y, int32]\n- [muls, int64]\n...\n7 1 2 99\n"
    )
    assert read_coordinates(put(tmp_path, boxfish)).places == ((1, 2),)
    for text, message in (
        ("n1 0 1\nn1 0 2\n", "file:2: .*expected|file:2: node n1 at"),
        ("n1 0 1\nn2 0\n", "file:2: 2 words, expected a node and 2"),
        ("n1 0 -1\n", "file:1: '-1', expected a coordinate"),
        ("# nothing\n", "no row"),
    ):
        with pytest.raises(FormatError, match=message):
            read_coordinates(put(tmp_path, text))
