"""Forwarding tables of InfiniBand: known answers and faults by line."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from helpers.errors import mentions
from helpers.fabric_text import two_level_fabric
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.fabric import read_fabric, route


def test_addresses_of_one_port_take_different_ways(tmp_path):
    folder = two_level_fabric(lmc=1).write(tmp_path)
    spine = []
    for offset in (0, 1, 7):  # 7: the last address there is
        fabric = read_fabric(folder, lid_offset=offset)
        spine.append(fabric.device(int(fabric.link_target[route(fabric, 0, 7)[1]])).name)
    assert spine == ["spine2", "spine1", "spine1"] or spine == ["spine1", "spine2", "spine2"]


def test_tables_may_be_compressed(tmp_path):
    folder = Path(two_level_fabric().write(tmp_path))
    table = folder / "dump_fts.txt"
    plain = read_fabric(str(folder)).forward
    assert plain is not None
    (folder / "dump_fts.txt.gz").write_bytes(gzip.compress(table.read_bytes()))
    table.unlink()
    assert np.array_equal(read_fabric(str(folder)).forward, plain)


def test_two_sets_of_tables_need_a_word(tmp_path):
    folder = Path(two_level_fabric().write(tmp_path))
    (folder / "other.txt").write_text((folder / "dump_fts.txt").read_text())
    with pytest.raises(FormatError, match=mentions("tables=dump_fts.txt")):
        read_fabric(str(folder))
    assert read_fabric(str(folder), "other.txt").forward is not None
    with pytest.raises(FormatError, match=mentions("tables=none")):
        read_fabric(str(folder), "none")
    with pytest.raises(FormatError, match=mentions("'leaf1'")):
        read_fabric(str(folder), "*[!y].txt")  # all but discovery.txt


def test_without_tables_no_routes(tmp_path):
    text = two_level_fabric()
    text.tables = {}
    fabric = read_fabric(text.write(tmp_path))
    assert fabric.forward is None
    with pytest.raises(UnsupportedError, match="no forwarding tables"):
        route(fabric, 0, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("0x0005 001", "0x0005 xyz"), "dump_fts.txt:5"),
        (lambda t: t.replace("0x0005 001", "0x0005 999"), "dump_fts.txt:5 999"),
        (lambda t: t.replace("0x0006 ", "0x0005 "), "dump_fts.txt:5 0x0005"),
        (lambda t: t.replace("0x0006 002 : (somewhere)\n", "", 1), "dump_fts.txt:12 9 8"),
        (lambda t: t[t.index("spine1") :], "switches have no forwarding table"),
        (lambda t: t + t[: t.index("dumped") + 8], "'leaf1'"),
        (
            lambda t: t.replace("guid 0x0002c90000001000", "guid 0x0002c90000007777"),
            "dump_fts.txt:1 0x0002c90000007777 leaf1",
        ),
        (lambda t: re.sub(r" guid 0x\w+ \(.*\)", "", t), "a switch without LID and GUID"),
    ],
)
def test_faults_of_tables_name_the_line(tmp_path, change, message):
    folder = Path(two_level_fabric().write(tmp_path))
    table = folder / "dump_fts.txt"
    table.write_text(change(table.read_text()))
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_fabric(str(folder))


def test_what_a_table_says_of_its_switch_is_quoted_shortly(tmp_path):
    folder = Path(two_level_fabric().write(tmp_path))
    table = folder / "dump_fts.txt"
    table.write_text(table.read_text().replace("guid 0x0002c90000001000 (", f"guid 0x7777 ({'x' * 5000}"))
    with pytest.raises(FormatError, match=mentions("0x0000000000007777")) as error:
        read_fabric(str(folder))
    assert len(str(error.value)) < 400
