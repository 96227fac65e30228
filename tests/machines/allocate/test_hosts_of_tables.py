"""Real host names on part of a generated network: the first nodes, or a table that says where each is."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions, refused
from hopbytes.errors import FormatError
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.text.hostlist import read_hosts


def used(where):
    return {where.hosts[node]: node for node in sorted(set(where.node_of_pe.tolist()))}


def table(tmp_path, text):
    path = tmp_path / "places.csv"
    path.write_text(text)
    return str(path)


def test_names_for_the_first_nodes_are_said():
    where = allocate("dragonfly:9x4x2", hosts="nid0000[1-8]")
    assert used(where) == {f"nid0000{i + 1}": i for i in range(8)}
    said = "8 hosts are taken to be the first nodes of 72, in machine order: a file for `hosts` with lines"
    assert any(notice.startswith(said) and "node,group,switch" in notice for notice in where.notices)
    assert allocate("torus:3x3 / synthetic:core:2", hosts="a,b").k == 4
    with pytest.raises(FormatError, match=mentions("3", "9", "2", "n0", "n8")):
        allocate("torus:3x3", hosts="a,b,n1")
    with pytest.raises(FormatError, match=mentions("10", "9")):
        allocate("torus:3x3", hosts="a[1-10]")


@pytest.mark.parametrize(("spec", "text", "expected"), [
    ("dragonfly:9x4x2", "node,group,switch\n# job\nc,8,3\na,0,1\nb,0,1\n", {"a": 2, "b": 3, "c": 70}),
    ("dragonfly:9x4x2 / core:2", "\ufeffhost, switch, group\na,1,0\n\nb,1,0\n", {"a": 2, "b": 3}),
    ("dragonfly+:3x4x2:spines=2", "node,group,switch\na,2,3\nb,1,0\n", {"a": 22, "b": 8}),
    ("fattree:4x3", "node,switch\na,2\nb,0\n", {"b": 0, "a": 8}),
    ("fattree:4x3x2", "node,group,switch\na,1,2\n", {"a": 20}),
    ("torus:3x4:nodes=2", "node,x,y\na,2,1\nb,2,1\n", {"a": 18, "b": 19}),
    ("hyperx:3x4", "node,y,x\na,3,0\n", {"a": 3}),
    ("mesh:2x2x2", "node,x,y,z\na,1,0,1\n", {"a": 5}),
    # Names are numbered in their natural order, switches in their group.
    ("dragonfly:3x2x1", "node,group,switch\na,x10,s1\nb,x9,s10\nc,x9,s9\n", {"c": 0, "b": 1, "a": 2}),
])  # fmt: skip
def test_places_of_a_table(tmp_path, spec, text, expected):
    assert used(allocate(spec, hosts=table(tmp_path, text))) == expected


def test_a_torus_numbered_along_a_curve(tmp_path):
    where = allocate("torus:4x4:order=hilbert", hosts=table(tmp_path, "node,x,y\na,3,1\nb,0,2\n"))
    places = where.machine.network().geometry().places
    found = used(where)
    assert [places[:, found[name]].tolist() for name in "ab"] == [[3, 1], [0, 2]]


@pytest.mark.parametrize(("text", "said"), [
    ("node,group,switch\na,9,0\n", "places.csv:2: group 9, expected 0 to 8"),
    ("node,group,router\na,9,0\n", "places.csv:1: columns node,group,router, expected node,group,switch"),
    ("node,group\na,9\n", "places.csv:1: columns node,group, expected node,group,switch"),
    ("node,group,switch\na,0,0\na,0,1\n", "places.csv:3: host 'a' a second time, first at line 2"),
    ("node,group,switch\na,0,0\nb,0,0\nc,0,0\n", "places.csv:4: host 'c' at (0, 0), which has 2 nodes"),
    ("node,group,switch\na,0\n", "places.csv:2: 2 columns, expected 3"),
    ("node,group,switch\na b,0,0\n", "places.csv:2: host name 'a b'"),
    ("node,group,switch\n", "places.csv: 0 hosts"),
    (f"node,group,switch\na,0,0\nb,{'0' * 200_000},0\n", "places.csv:3: field larger"),
    ("node,group,switch\na,0,s1\nb,0,s2\nc,0,s3\nd,0,s4\ne,0,s5\n", "5 names of switch of 0, expected 4"),
])  # fmt: skip
def test_faults_of_a_table(tmp_path, text, said):
    with refused(FormatError, said):
        allocate("dragonfly:9x4x2", hosts=table(tmp_path, text))


def test_a_table_for_a_machine_without_places(tmp_path):
    path = table(tmp_path, "node,group,switch\na,0,0\n")
    with pytest.raises(FormatError, match="for a machine without such positions"):
        allocate("node:4 core:2", hosts=path)
    assert read_hosts(path) == ("a",)  # where places do not matter, its first column is the list


def test_a_stored_placement_keeps_its_hosts(tmp_path):
    path = table(tmp_path, "node,group,switch\na,8,3\nb,0,1\nc,0,1\nd,4,2\n")
    where = allocate("dragonfly:9x4x2", hosts=path)
    mapping = hb.map_tasks(hb.read("stencil:2x2"), where)
    stored = str(tmp_path / "mapping.json")
    hb.write(mapping, stored, format="json")
    again = hb.read(stored)
    assert [again.where.hosts[node] for node in again.where.node_of_pe] == ["b", "c", "d", "a"]
    assert np.array_equal(again.pe, mapping.pe)
