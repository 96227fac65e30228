"""hwloc's synthetic notation. Expected numbers are those of hwloc 2.9 (``lstopo -i TEXT --only pu``)."""

import shutil
import subprocess

import pytest

import hopbytes as hb
from helpers.errors import mentions, refused
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.kinds.synthetic import read_synthetic


@pytest.mark.parametrize(("text", "numbers"), [
    ("pack:2 core:4 pu:2", list(range(16))),
    ("pack:2 core:4 pu:2(indexes=8*2:1*8)", [0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]),
    (
        "pack:2 numa:2 core:2 pu:2(indexes=numa:core)",
        [0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, 3, 11, 7, 15],
    ),
    ("pack:2 core:2 pu:2(indexes=core:pack)", [0, 4, 1, 5, 2, 6, 3, 7]),
    ("pack:2 core:2 pu:2(indexes=core)", [0, 4, 1, 5, 2, 6, 3, 7]),
    ("pack:2 core:3 pu:2(indexes=6*2:2*3:1*2)", [0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11]),
    ("core:2 pu:2(indexes=0,2,1,3)", [0, 2, 1, 3]),
    ("core:4 pu:2(indexes=4*2:1*4)", [0, 2, 1, 3, 4, 6, 5, 7]),  # siblings by their lowest PU
    ("core:2 pu:2(indexes=3,2,1,0)", [0, 1, 2, 3]),
])  # fmt: skip
def test_numbers_of_the_operating_system(text, numbers):
    assert read_synthetic(text).os_pus.tolist() == numbers


@pytest.mark.parametrize(("text", "levels"), [
    ("pack:2 numa:2 core:8 pu:2", "package:2@10 numa:2@5 core:8@1 pu:2@1"),
    ("package:1 group:4 [numa] [numa] core:16 pu:4", "numa:4@5 core:16@1 pu:4@1"),
    ("[numa] pack:2 [numa(memory=1GB)] core:2 pu:1", "package:2@10 core:2@1"),
    ("Pack:2 L3:2(size=16MB) l2u:2 core:2", "package:2@10 l3:2@3 l2:2@2 core:2@1"),
    ("2 3 4 5 6", "package:2@10 numa:3@5 l2:4@2 core:5@1 pu:6@1"),
    ("die:2 core:3 pu:1", "die:2@5 core:3@1"),
    ("group:2 group:2 core:2 pu:1", "group:2@5 group-2:2@5 core:2@1"),
    ("pu:1", "node:1@40"),
])  # fmt: skip
def test_levels(text, levels):
    assert hb.allocate(f"synthetic:{text}").machine.topology.spec() == levels


@pytest.mark.parametrize(("text", "words"), [
    ("", "an empty description"), ("core:0 pu:1", "expected a count from 1"),
    ("core:x", "expected TYPE:COUNT"),
    ("core:2 pu:2 core:2", "expected pu as the last level"),
    ("pack:2 3 4", "some levels with a type and some without"),
    ("core:65536 pu:2", "131072 PUs, expected at most 65536"),
    ("core:4(indexes= pu:1", "expected TYPE:COUNT"), ("core:2 pu:2(indexes=0,1)", "2 indexes for 4 PUs"),
    ("core:2 pu:2(indexes=0,1,1,2)", "4 indexes for 4 PUs, expected one for each, distinct"),
    ("core:2 pu:2(indexes=2*1)", "number 1 PUs, expected 4"),
    ("core:2 pu:2(indexes=1*2:1*2)", "meet a PU twice"),
    ("core:2 pu:2(indexes=die)", "expected numbers, loops"),
    ("core:2 [core] pu:1", "expected [numa]"),
])  # fmt: skip
def test_descriptions_with_a_fault(text, words):
    with refused(FormatError, words):
        read_synthetic(text)


@pytest.mark.parametrize("text", ["machine:2 core:2", "c:2", "1 1 1 1 1 1 1 1", "cluster:2 pu:1"])
def test_types_nobody_knows(text):
    with pytest.raises(UnsupportedError, match="synthetic"):
        read_synthetic(text) if text != "c:2" else read_synthetic("x:2")


@pytest.mark.skipif(shutil.which("lstopo-no-graphics") is None, reason="hwloc's lstopo is not installed")
@pytest.mark.parametrize(
    "text", ["pack:2 numa:3 l3:2 core:2 pu:2(indexes=numa:core)", "2 3 4 2", "1 2 2 2 2 2"]
)
def test_agrees_with_hwloc(text, tmp_path):
    """hwloc writes the description as XML; both must be the same node."""
    path = tmp_path / "node.xml"
    command = ["lstopo-no-graphics", "-i", text, "--of", "xml", str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    theirs, ours = hb.allocate(f"hwloc:{path}").machine, hb.allocate(f"synthetic:{text}").machine
    assert theirs.topology.spec() == ours.topology.spec()
    assert theirs.inventory.tree(0).os_pus.tolist() == ours.inventory.tree(0).os_pus.tolist()


def test_unlike_nodes():
    """Also inside a network, with indexes that have commas of their own."""
    text = "synthetic:pack:2 core:2@n[1-2],synthetic:core:2 pu:2(indexes=0,2,1,3)@n[3-5]:core=2"
    where = hb.allocate(text)
    machine = where.machine
    assert machine.hosts == ("n1", "n2", "n3", "n4", "n5")
    assert (len(machine.inventory.trees), machine.inventory.tree_of_node) == (2, (0, 0, 1, 1, 1))
    assert [len(machine.inventory.tree(node).os_pus) for node in range(5)] == [4, 4, 4, 4, 4]
    assert machine.inventory.tree(3).os_pus.tolist() == [0, 2, 1, 3]
    assert hb.allocate(machine.spec()).machine.hosts == machine.hosts
    with pytest.raises(FormatError, match=mentions("synthetic:core:2", "@n")):
        hb.allocate("synthetic:core:2,synthetic:core:4@n1")
    with pytest.raises(FormatError, match="n1"):
        hb.allocate("synthetic:core:2@n1,synthetic:core:4@n1")


@pytest.mark.parametrize(("text", "pus", "numa"), [
    ("(memory=1GB) pack:2 core:2 pu:1", [0, 1, 2, 3], 1), ("pack:0x2 core:02 pu:1", [0, 1, 2, 3], 1),
    ("Group0:2 pack:1 core:2 pu:1", [0, 1, 2, 3], 1),
    ("pack:2 core:2 pu:2(indexes=2*4:4*1)", [0, 4, 1, 5, 2, 6, 3, 7], 1),
    ("pack:2 [numa(memory=1GB)] [numa(memory=2GB)] core:2 pu:1", [0, 1, 2, 3], 4),
    ("[numa] [numa] pack:2 core:2 pu:1", [0, 1, 2, 3], 2),
    ("[numa] pack:2 [numa] core:2 pu:1", [0, 1, 2, 3], 3),
])  # fmt: skip
def test_attributes_and_numbers_as_lstopo_reads_them(text, pus, numa):
    """Compared with lstopo 2.9."""
    tree = read_synthetic(text)
    assert (tree.os_pus.tolist(), tree.numa) == (pus, numa)


@pytest.mark.parametrize("text", ["pack:08 core:2", "pack:0x0 core:2", "core:2 (m=1)", "pu:4(indexes=3*2)"])
def test_attributes_and_numbers_that_are_none(text):
    with pytest.raises(FormatError):
        read_synthetic(text)
