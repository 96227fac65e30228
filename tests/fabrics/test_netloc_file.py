"""netloc's files of nodes and links: known answers and faults by line."""

from __future__ import annotations

import pytest

from helpers.errors import mentions
from helpers.machine_files import NETLOC, put
from hopbytes.errors import FormatError
from hopbytes.fabrics.arrival import follow, route
from hopbytes.fabrics.netloc_file import read_netloc


def test_netloc(tmp_path):
    fabric = read_netloc(put(tmp_path, NETLOC))
    assert [fabric.device(int(fabric.link_target[link])).name for link in route(fabric, 0, 1)] == [
        "switch",
        "b mlx4_0",
    ]
    assert set(fabric.link_capacity.tolist()) == {4_000_000_000}  # 4 lanes of QDR
    assert len(follow(fabric).unrouted(fabric)) == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1\nfe80", "2\nfe80", "file:1 '2'"),
        (",0,3\n", ",0,2\n", "file:12"),
        (",0,3\n", ",3,0\n", "file:12 3"),
        (",0,3\n", ",0,77\n", "file:12 77"),
        ("0000:0000:0000:0001,0000:0000:0000:0002,0,3", "0000:0000:0000:0001", "file:12 ''"),
        ("\n3\n", "\n4\n", "file:8"),
        ("4x,QDR,8.0,'a mlx4_0' - 'switch' ,2,", "4x", "file:8 4"),
        (
            "0000:0000:0000:0002,2,0",
            "0000:0000:0000:0001,2,0",
            "file:6 0000:0000:0000:0001",
        ),
    ],
)
def test_netloc_faults(tmp_path, old, new, message):
    assert old in NETLOC
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_netloc(put(tmp_path, NETLOC.replace(old, new, 1)))
