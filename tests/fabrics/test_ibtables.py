"""Forwarding tables of InfiniBand: known answers and faults by line."""

import re
from pathlib import Path

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.fabric_text import FabricText, Plug, device_of, route, two_level_fabric
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.fabric import follow, read_fabric, with_shortest_routes
from hopbytes.fabrics.ibtables import read_tables


def test_addresses_of_one_port_take_different_ways(tmp_path):
    folder = two_level_fabric(lmc=1).write(tmp_path)
    spine = []
    for offset in (0, 1, 7):  # 7: the last address there is
        fabric = read_fabric(folder, lid_offset=offset)
        spine.append(device_of(fabric, int(fabric.link_target[route(fabric, 0, 7)[1]])).name)
    assert spine == ["spine2", "spine1", "spine1"] or spine == ["spine1", "spine2", "spine2"]


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
        follow(fabric)


@pytest.mark.parametrize(("change", "message"), [
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
])  # fmt: skip
def test_faults_of_tables_name_the_line(tmp_path, change, message):
    folder = Path(two_level_fabric().write(tmp_path))
    table = folder / "dump_fts.txt"
    table.write_text(change(table.read_text()))
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_fabric(str(folder))


@pytest.mark.parametrize(("port", "leads"), [
    ("254", -1), ("255", -1), ("???", -1), ("---", -1), ("UNREACHABLE", -1), ("000", -1), ("002", 1),
])  # fmt: skip
def test_ports_of_rows(tmp_path, port, leads):
    folder = Path(two_level_fabric().write(tmp_path))
    table = folder / "dump_fts.txt"
    table.write_text(table.read_text().replace("0x0005 001 ", f"0x0005 {port} "))
    assert read_fabric(str(folder)).forward[0, 0] == leads
    table.write_text(table.read_text().replace(f"0x0005 {port} ", "0x0005 256 "))
    with pytest.raises(FormatError, match=mentions("dump_fts.txt:5", "256", "254")):
        read_fabric(str(folder))


def test_heads_of_tables(tmp_path):
    """Switches without GUID are known by LID; multicast tables are skipped, and do not shift lines."""
    path = tmp_path / "tables"
    several = "Multicast mlids [0xc000-0xc3ff] of switch Lid 9 guid 0x01 (one):\n0xc000 x\n"
    rows = "0x0001 000 : (a)\r\n0x0002 007\n0xABCD 010\t"
    path.write_text(
        f"# noise\n{several}Unicast lids [0x0-0xb] of switch Lid 12 (alone):\n{rows}\n3 valid lids dumped\n\n"
        f"Unicast lids [0x0-0xb] of switch DR path slid 0; 0,1 guid 0x0002:\n{rows}"
    )
    one, two = read_tables(str(path))
    assert [(t.guid, t.lid, t.line) for t in (one, two)] == [(0, 12, 4), (2, 0, 10)]
    assert (one.name, two.name) == ("Lid 12 (alone)", "DR path slid 0; 0,1")
    for table in (one, two):
        assert (table.lids.tolist(), table.ports.tolist(), table.doubtful) == ([1, 2, 0xABCD], [0, 7, 10], ())
    path.write_text(path.read_text().replace("3 valid", "2 valid"))
    with pytest.raises(FormatError, match=mentions("tables:8", "2", "3")):
        read_tables(str(path))
    path.write_text("hello\n")
    with pytest.raises(FormatError, match=mentions("tables", "Unicast")):
        read_tables(str(path))


def written(tmp_path, text=None):
    return Path((text or two_level_fabric()).write(tmp_path))


def with_guids(text, table):
    """Put the port GUID behind every row, as ibroute does."""
    guid = {text.lid(name): text.guid(name) for name in (*text.switches, *text.adapters)}

    def row(found):
        lid = int(found[1], 16)
        return f"0x{found[1]} {found[2]} : (Channel Adapter portguid 0x{guid[lid]:016x}: 'x')"

    return re.sub(r"0x([0-9a-f]{4}) ([0-9]{3}) : \(somewhere\)", row, table)


def test_rows_with_one_lid_are_restored_from_their_port_guids(tmp_path):
    """A real table of ibroute has the same LID in its last 22 rows; the GUIDs beside them are right."""
    text = two_level_fabric()
    table = written(tmp_path, text) / "dump_fts.txt"
    whole = with_guids(text, table.read_text())
    table.write_text(whole)
    expected = read_fabric(str(tmp_path))
    head, tail = whole[: whole.index("spine1")], whole[whole.index("spine1") :]
    table.write_text(re.sub(r"^0x000[6-9a]", "0x0005", head, flags=re.MULTILINE) + tail)
    found = read_fabric(str(tmp_path))
    assert found.forward.tolist() == expected.forward.tolist()
    said = [notice for notice in found.notices if "taken from their port GUIDs" in notice]
    assert len(said) == 2  # the tables of two leaves
    assert "dump_fts.txt:5: LID 0x0005 stands in several rows: the addresses of 6 rows" in said[0].replace(
        str(tmp_path) + "/", ""
    )


@pytest.mark.parametrize(("change", "message"), [
    (lambda t: re.sub(r"portguid 0x\w+2010", "portguid 0x0000000000009999", t, count=1),
     "0x0000000000009999"),
    (lambda t: re.sub(r"portguid 0x\w+2010", f"portguid 0x{0xE41D2D0000002000:016x}", t, count=1),
     "0x0005 0xe41d2d0000002000 2 1"),
])  # fmt: skip
def test_rows_that_cannot_be_restored_are_refused(tmp_path, change, message):
    text = two_level_fabric()
    table = written(tmp_path, text) / "dump_fts.txt"
    broken = with_guids(text, table.read_text()).replace("0x0006 ", "0x0005 ", 1)
    table.write_text(change(broken))
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_fabric(str(tmp_path))


def test_rows_of_a_port_without_an_address_are_refused(tmp_path):
    text = two_level_fabric()
    folder = written(tmp_path, text)
    table, discovery = folder / "dump_fts.txt", folder / "discovery.txt"
    table.write_text(with_guids(text, table.read_text()).replace("0x0006 ", "0x0005 ", 1))
    discovery.write_text(discovery.read_text().replace(f"lid {text.lid('n2 mlx5_0')} ", "lid 0 "))
    with pytest.raises(FormatError, match="is not in the discovery file"):
        read_fabric(str(tmp_path))


def test_a_port_with_several_addresses_cannot_be_told_by_its_guid(tmp_path):
    text = two_level_fabric(lmc=1)
    table = written(tmp_path, text) / "dump_fts.txt"
    rows = re.sub(
        r"\(somewhere\)", f"(Channel Adapter portguid 0x{text.guid('n1 mlx5_0'):016x})", table.read_text()
    )
    table.write_text(rows.replace("0x0006 ", "0x0005 ", 1))
    with pytest.raises(FormatError, match="has 2 addresses, expected each LID once"):
        read_fabric(str(tmp_path))


def test_shortest_routes_read_no_tables(tmp_path):
    folder = written(tmp_path)
    table = folder / "dump_fts.txt"
    table.write_text(table.read_text().replace("0x0005 001", "0x0005 xyz"))
    (folder / "second.txt").write_text(table.read_text())
    assert hb.allocate(f"ib:{folder}:routes=shortest").k == 8
    with pytest.raises(FormatError, match=mentions("tables=", "routes=shortest")):
        hb.allocate(f"ib:{folder}:routes=shortest:tables=dump_fts.txt")


def test_adapters_joined_by_a_cable_of_their_own_are_no_way_of_a_switch(tmp_path):
    text = FabricText(
        ["leaf"], ["a mlx5_1", "b mlx5_1", "a mlx5_0", "b mlx5_0"],
        [(Plug("a mlx5_1", 1), Plug("b mlx5_1", 1), "4xHDR"), (Plug("leaf", 1), Plug("a mlx5_0", 1), "4xHDR"),
         (Plug("leaf", 2), Plug("b mlx5_0", 1), "4xHDR")],
    )  # fmt: skip
    fabric = with_shortest_routes(read_fabric(text.write(tmp_path)))
    assert fabric.forward[0, :2].tolist() == [-1, -1]
    assert fabric.link_target[fabric.forward[0, 2:]].tolist() == [3, 4]


def test_two_subnets_in_one_folder(tmp_path):
    """Names of subnets have colons; the discovery file and its tables are named."""
    two_level_fabric(hosts=3).write(tmp_path / "one")
    two_level_fabric(hosts=5).write(tmp_path / "two")
    for name, subnet in (("one", "fe80:0000"), ("two", "fe80:0001")):
        (tmp_path / f"subnet-{subnet}.txt").write_text((tmp_path / name / "discovery.txt").read_text())
        (tmp_path / name / "discovery.txt").unlink()
        (tmp_path / name).rename(tmp_path / f"routes-{subnet}")
    message = (
        r"2 discovery files \('subnet-fe80:0000.txt', 'subnet-fe80:0001.txt'\), expected one: name the one "
        r"to use and its tables, as in ib:.*/subnet-fe80:0000.txt:tables=dump_fts.txt"
    )
    with pytest.raises(FormatError, match=message):
        hb.allocate(f"ib:{tmp_path}")
    for subnet, hosts in (("fe80:0000", 6), ("fe80:0001", 10)):
        spec = f"ib:{tmp_path}/subnet-{subnet}.txt:tables=routes-{subnet}/*"
        where = hb.allocate(spec)
        assert where.k == hosts
        assert hb.allocate(where.machine.spec()).machine == where.machine


def test_switches_of_a_circle_can_be_told_apart(tmp_path):
    text = two_level_fabric()
    text.tables["spine1"][text.lid("n8 mlx5_0")] = 1
    folder = written(tmp_path, text)
    discovery = folder / "discovery.txt"
    discovery.write_text(re.sub(r'"(?:leaf|spine)[12]"', '"MF0;switch:MQM8700/U1"', discovery.read_text()))
    with pytest.raises(FormatError) as caught:
        follow(read_fabric(str(folder)))
    for guid, line in ((text.guid("leaf1"), 1), (text.guid("spine1"), 27)):
        place = f"GUID 0x{guid:016x}, {folder}/dump_fts.txt:{line}"
        assert f"'MF0;switch:MQM8700/U1' ({place})" in str(caught.value)


@pytest.mark.parametrize("ports", [False, True])
def test_cables_listed_from_one_end_are_said(tmp_path, ports):
    folder = Path(two_level_fabric().write(tmp_path, ports=ports))
    discovery = folder / "discovery.txt"
    lines = discovery.read_text().splitlines()
    mine = (r'\[30\]\t"S-', r"SW +1 30 ")[ports]
    kept = [line for line in lines if not re.match(mine, line)]
    assert len(kept) < len(lines)
    assert not any("one end" in notice for notice in hb.allocate(f"ib:{folder}").notices)
    discovery.write_text("\n".join(kept) + "\n")
    said = [notice for notice in hb.allocate(f"ib:{folder}").notices if "listed from one end only" in notice]
    assert len(said) == 1
    count = len(lines) - len(kept)
    assert re.match(rf"{count} cables? (is|are) listed from one end only \(.*:\d+\)", said[0])


def test_unrouted_pairs_matter_to_those_hosts_only(tmp_path):
    text = two_level_fabric()
    del text.tables["leaf1"][text.lid("n8 mlx5_0")]
    folder = written(tmp_path, text)

    def said(**options):
        return [notice for notice in hb.allocate(f"ib:{folder}", **options).notices if "no route" in notice]

    assert said() == ["4 pairs of adapters have no route, as 'n1 mlx5_0' to 'n8 mlx5_0'"]
    assert said(hosts="n[1-7]") == []
    assert said(hosts="n[1,8]") == ["1 pairs of adapters have no route, as 'n1 mlx5_0' to 'n8 mlx5_0'"]
    assert said(hosts="n[5-8]") == []
