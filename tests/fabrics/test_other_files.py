"""Slurm, topograph, netloc, Scotch, SimGrid and Cray files: known answers and faults by line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.paths import SHARED_SAMPLES
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.fabrics.arrival import follow, route
from hopbytes.fabrics.coordinate_files import read_coordinates, read_xtdb2proc
from hopbytes.fabrics.netloc_file import read_netloc
from hopbytes.fabrics.scotch_target import read_scotch_target
from hopbytes.fabrics.simgrid_file import read_simgrid
from hopbytes.fabrics.slurm_topology import read_slurm_topology
from hopbytes.fabrics.slurm_yaml import GridOfHosts, read_slurm_yaml
from hopbytes.fabrics.topograph_file import read_topograph

shared = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED_SAMPLES.is_dir(), reason="no folder of developers' samples"),
]

SLURM = """\
# two racks below one root
SwitchName=root Switches=rack[1-2]
SwitchName=rack1 Nodes=n[1-2],\\
n3
switchname=rack2 nodes=n[4-5] LinkSpeed=1
"""
SCONTROL = """\
SwitchName=root Level=1 LinkSpeed=1 Nodes=n[1-5] Switches=rack[1-2]
SwitchName=rack1 Level=0 LinkSpeed=1 Nodes=n[1-3]
SwitchName=rack2 Level=0 LinkSpeed=1 Nodes=n[4-5]
"""
YAML = """\
- topology: wide
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: rack[1-2]
      - switch: rack1
        nodes: n[1-3]
      - switch: rack2
        nodes: n[4-5]
- topology: blocks
  block:
    block_sizes: [2, 4]
    blocks:
      - {block: a, nodes: "m[1-2]"}
      - {block: b, nodes: "m[3-4]"}
      - {block: c, nodes: "m[5-6]"}
- topology: pod
  torus3d:
    toruses:
      - name: one
        dims: {x: 2, y: 1, z: 2}
        nodes: t[1-4]
"""
NETLOC = """\
1
fe80:0000:0000:0001
../hwloc
3
0000:0000:0000:0001,1,0,0,'a mlx4_0',a
0000:0000:0000:0002,2,0,0,'b mlx4_0',b
0000:0000:0000:0009,9,1,0,'switch' ,
0000:0000:0000:0001,0000:0000:0000:0009,8.0,,1,0,1,5,4x,QDR,8.0,'a mlx4_0' - 'switch' ,2,
0000:0000:0000:0002,0000:0000:0000:0009,8.0,,1,1,1,6,4x,QDR,8.0,'b mlx4_0' - 'switch' ,3,
0000:0000:0000:0009,0000:0000:0000:0001,8.0,,1,2,5,1,4x,QDR,8.0,'switch' - 'a mlx4_0' ,0,,\
0000:0000:0000:0002,8.0,,1,3,6,1,4x,QDR,8.0,'switch' - 'b mlx4_0' ,1,
all
0000:0000:0000:0001,0000:0000:0000:0002,0,3
0000:0000:0000:0002,0000:0000:0000:0001,1,2
"""
SIMGRID = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="w" routing="Full">
<cluster id="a" prefix="a" radical="0-2,7" suffix=".x" speed="1Gf" bw="1Gbps" lat="1us" bb_bw="2.25GBps"/>
<cluster id="b" prefix="b" radical="0-1" speed="1Gf" bw="125MBps" lat="1us" sharing_policy="SHARED"/>
<link id="wan" bandwidth="1KiBps" latency="1ms"/>
<zoneRoute src="a" dst="b" gw_src="ra" gw_dst="rb"><link_ctn id="wan"/></zoneRoute>
</zone></platform>
"""
CRAY = """\
# comment
cpu=0,x_coord=1,y_coord=0,z_coord=3,processor_status='up',processor_type='compute',processor_id=12
cpu=1,x_coord=1,y_coord=0,z_coord=3,processor_status='down',processor_type='compute',processor_id=13
cpu=2,x_coord=0,y_coord=2,z_coord=3,processor_status='up',processor_type='compute',processor_id=4
"""


def put(tmp_path, text, name="file"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("text", [SLURM, SCONTROL])
def test_slurm_trees(tmp_path, text):
    tree = read_slurm_topology(put(tmp_path, text)).leveled()
    assert tree.levels == ("leaf", "node")
    assert tree.counts == ((2,), (3, 2))
    assert tree.hosts == ("n1", "n2", "n3", "n4", "n5")
    assert tree.switches == (("rack1", "rack2"),)


def test_blocks_as_scontrol_shows_them(tmp_path):
    text = "BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n"
    text += "BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2\n"
    text += "BlockName=b3 BlockIndex=2 Nodes=n[5-6] BlockSize=2\n"
    text += "AggregatedBlock=b[1-2] BlockIndex=3 Nodes=n[1-4] BlockSize=4\n"
    tree = read_slurm_topology(put(tmp_path, text)).leveled()
    assert (tree.levels, tree.counts) == (("block4", "block", "node"), ((2,), (2, 1), (2, 2, 2)))


def test_slurm_yaml_says_the_same(tmp_path):
    path = put(tmp_path, YAML)
    assert read_slurm_yaml(path).leveled().counts == ((2,), (3, 2))
    blocks = read_slurm_yaml(path, "blocks").leveled()
    # Groups of two blocks; the last one is a block short.
    assert (blocks.levels, blocks.counts) == (("block4", "block", "node"), ((2,), (2, 1), (2, 2, 2)))
    assert read_slurm_yaml(path, "pod") == GridOfHosts((2, 1, 2), ("t1", "t2", "t3", "t4"))
    with pytest.raises(
        FormatError, match="no topology 'x', expected topology=NAME with one of wide, blocks, pod"
    ):
        read_slurm_yaml(path, "x")


def test_uneven_heights_and_forests(tmp_path):
    text = "SwitchName=top Switches=mid,low\nSwitchName=mid Switches=in\nSwitchName=in Nodes=a,b\n"
    text += "SwitchName=low Nodes=c\nSwitchName=alone Nodes=d,a\nSwitchName=void Nodes=a\n"
    tree = read_slurm_topology(put(tmp_path, text)).leveled()
    # top stands two levels above the leaves; low and alone are padded to that depth. The level in which
    # nothing branches (mid - in, low - low) is left out.
    assert tree.levels == ("switch3", "switch2", "node")
    assert tree.counts == ((2,), (2, 1), (2, 1, 1))
    assert tree.hosts == ("a", "b", "c", "d")
    assert [notice.split(":")[0] for notice in tree.notices] == [
        "2 nodes are named more than once",
        "1 of 6 switches have no node below them",
        "2 switches have nothing above them",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n",
            r"file:2: switch 'a' a second time, first at line 1",
        ),
        ("SwitchName=a Switches=b\n", r"file:1: switch 'b' below 'a' is never described"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", r"file:1: switch 'a' is below itself"),
        (
            "SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=n\n",
            "file:2: switch 'c' below",
        ),
        ("SwitchName=a Nodes=n[1-\n", r"file:1: an open bracket"),
        ("SwitchName=a\n", "file:1: switch 'a' with neither"),
        ("hello\n", r"file:1: 'hello', expected KEY=VALUE"),
        ("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", "both switches and blocks"),
        ("BlockName=b Nodes=n2\nBlockSizes=4,6\n", "file:2: block size 6 after 4"),
        ("BlockName=b Nodes=n2\nBlockSizes=x\n", "file:2: BlockSizes=x"),
        ("# nothing\n", "neither SwitchName= nor BlockName="),
        ("SwitchName=a Nodes=n1 \\", "ends in a continued line"),
        ("SwitchName=a Nodes=\n", "file:1: host name ''"),
    ],
)
def test_slurm_faults(tmp_path, text, message):
    with pytest.raises(FormatError, match=message):
        read_slurm_topology(put(tmp_path, text)).leveled()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- topology: a\n  tree: {switches: [{switch: s}]}\n", "file:2: a switch needs its name"),
        ("- topology: a\n", "file:1: a topology with none of"),
        ("a: [1\n", "file:2: no YAML"),
        ("&x [*x]\n", "file:1: an alias"),
        ("- topology: a\n  tree: 5\n", "file:2: tree is '5', expected pairs"),
        ("[" * 60 + "]" * 60, "more than 50 levels"),
        (
            "- topology: a\n  torus3d: {toruses: [{dims: {x: 2, y: 2, z: 2}, nodes: 'n[1-7]'}]}\n",
            "7 nodes, expected 2",
        ),
        ("a: 1\na: 2\n", "file:2: a key twice"),
    ],
)
def test_yaml_faults(tmp_path, text, message):
    with pytest.raises(FormatError, match=message):
        read_slurm_yaml(put(tmp_path, text))


def test_flat_and_rings(tmp_path):
    with pytest.raises(UnsupportedError, match="flat topology"):
        read_slurm_yaml(put(tmp_path, "- topology: a\n  flat: true\n"))
    text = "- topology: a\n  ring: {rings: [{ring: r, nodes: 'n[1-5]'}]}\n"
    assert read_slurm_yaml(put(tmp_path, text)) == GridOfHosts((5,), ("n1", "n2", "n3", "n4", "n5"))


def test_topograph(tmp_path):
    text = "switches:\n  top: {switches: [l1, l2]}\nblocks:\n"
    text += "- {switch: l1, nodes: ['n[1-2]'], annotations: {a/domain: nvl1}}\n- {switch: l1, nodes: [n3]}\n"
    text += "- {switch: l2, nodes: [n4]}\n"
    tree = read_topograph(put(tmp_path, text)).leveled()
    assert (tree.levels, tree.counts) == (("leaf", "block", "node"), ((2,), (2, 1), (2, 1, 1)))
    with pytest.raises(FormatError, match="file:4: a block below switch 'l9'"):
        read_topograph(put(tmp_path, text.replace("switch: l1, nodes: ['n", "switch: l9, nodes: ['n")))


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
        ("1\nfe80", "2\nfe80", "file:1: version '2'"),
        (",0,3\n", ",0,2\n", "file:12: the path ends at"),
        (",0,3\n", ",3,0\n", "file:12: link 3 of the path does not leave"),
        (",0,3\n", ",0,77\n", "file:12: link 77"),
        ("\n3\n", "\n4\n", "file:8: "),
        ("4x,QDR,8.0,'a mlx4_0' - 'switch' ,2,", "4x", "file:8: 4 fields of a link"),
        (
            "0000:0000:0000:0002,2,0",
            "0000:0000:0000:0001,2,0",
            "file:6: node 0000:0000:0000:0001 a second time",
        ),
    ],
)
def test_netloc_faults(tmp_path, old, new, message):
    assert old in NETLOC
    with pytest.raises(FormatError, match=message):
        read_netloc(put(tmp_path, NETLOC.replace(old, new, 1)))


def test_scotch_targets(tmp_path):
    def read(text):
        return read_scotch_target(put(tmp_path, text))

    tree = read("tleaf\n2 4 180 6 1\n")
    assert (tree.shape, tree.sizes, tree.costs, tree.n_terminals) == ("tree", (4, 6), (180, 1), 24)
    assert read("torus3D 4 4 2").sizes == (4, 4, 2)
    assert read("meshXD 2 4 3").sizes == (4, 3)
    assert read("hcub 3").n_terminals == 8
    assert read("cmpltw 2 3 5").weights == (3, 5)
    part = read("sub 2 5 3 cmplt 6")
    assert (part.terminals, part.n_terminals) == ((5, 3), 6)
    # Terminals listed as 1, 0, 2: rows of distances are in that order, places in that of the labels.
    table = read("deco 0\n3 5\n1 1 4\n0 1 5\n2 1 3\n7\n8 9\n")
    assert table.table.tolist() == [[0, 7, 9], [7, 0, 8], [9, 8, 0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tleaf 2 4 180 6", "the file ends, expected a link cost"),
        ("cmplt x", "file:1: 'x', expected the number of terminals"),
        ("cmplt 3 4", "1 numbers too many"),
        ("sub 2 1 1 cmplt 4", "a terminal twice"),
        ("sub 1 9 cmplt 4", "terminal 9, expected at most 3"),
        ("torus5Q 1", "expected a suffix"),
        ("deco 0 2 3 0 1 1 0 1 2 4", "terminal 0 a second time"),
        ("torus3D 9999 9999 9999", "terminals, expected at most"),
    ],
)
def test_scotch_faults(tmp_path, text, message):
    with pytest.raises(FormatError, match=message):
        read_scotch_target(put(tmp_path, text))
    with pytest.raises(UnsupportedError, match="known: tleaf"):
        read_scotch_target(put(tmp_path, "vhcub 2 3"))


def test_simgrid(tmp_path):
    platform = read_simgrid(put(tmp_path, SIMGRID))
    assert platform.host_names == ("a0.x", "a1.x", "a2.x", "a7.x", "b0", "b1")
    one, other = platform.clusters.values()
    assert (one.bandwidth, one.backbone, one.shared) == (125_000_000, 2_250_000_000, False)
    assert (other.bandwidth, other.backbone, other.shared) == (125_000_000, None, True)
    assert (platform.links["wan"], platform.links["a0.x up"]) == (1024, 125_000_000)
    hops = platform.zones["w"].hops
    assert {pair: hop.links for pair, hop in hops.items()} == {("a", "b"): ("wan",), ("b", "a"): ("wan",)}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</zone>", "", "file:8: not well-formed"),
        ('bw="1Gbps"', 'bw="fast"', "file:4: bandwidth 'fast'"),
        ('bw="1Gbps"', 'bw="0"', "file:4: bandwidth '0'"),
        ('radical="0-2,7"', 'radical="2-0"', "file:4: radical '2-0'"),
        ('radical="0-2,7"', "", "file:4: <cluster> without radical="),
        ('prefix="b"', 'prefix="b b"', "file:5: host name"),
        ('id="b"', 'id="a"', "file:5: zone 'a' a second time"),
        (
            'prefix="b" radical="0-1"',
            'prefix="a" radical="0-1" suffix=".x"',
            "file:5: 'a0.x' a second time, first at line 4",
        ),
        ("platform SYSTEM", 'platform [<!ENTITY e "x">] SYSTEM', "file:2: (a document type|not well)"),
        ("<zone ", "<zo ", "file:8: not well-formed"),
    ],
)
def test_simgrid_faults(tmp_path, old, new, message):
    assert old in SIMGRID
    with pytest.raises(FormatError, match=message):
        read_simgrid(put(tmp_path, SIMGRID.replace(old, new, 1)))
    with pytest.raises(UnsupportedError, match="<peer> is not read"):
        read_simgrid(put(tmp_path, '<platform version="4.1"><peer id="a"/></platform>'))


def test_cray_coordinates(tmp_path):
    found = read_xtdb2proc(put(tmp_path, CRAY))
    assert found.hosts == ("nid00012", "nid00004")
    assert found.places == ((1, 0, 3), (0, 2, 3))
    assert found.dims == (2, 3, 4)
    assert found.notices == ("1 nodes left out: down, or no compute nodes",)
    with pytest.raises(FormatError, match="file:2: a record without x_coord="):
        read_xtdb2proc(put(tmp_path, "#\ncpu=0,y_coord=1\n"))
    with pytest.raises(FormatError, match="file:4: node nid00012 a second time"):
        read_xtdb2proc(put(tmp_path, CRAY.replace("id=4\n", "id=12\n")))


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


READERS = [
    (read_slurm_topology, SLURM),
    (read_slurm_yaml, YAML),
    (read_netloc, NETLOC),
    (read_simgrid, SIMGRID),
    (read_xtdb2proc, CRAY),
    (read_scotch_target, "deco 0\n3 5\n1 1 4\n0 1 5\n2 1 3\n7\n8 9\n"),
    (read_coordinates, "node,x,y\nn1,0,1\nn2,3,0\n"),
    (read_topograph, "blocks:\n- nodes: [a, b]\n"),
]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(READERS), st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=3)), max_size=5))
def test_damaged_files_never_crash(tmp_path_factory, reader, changes):
    read, text = reader
    content = bytearray(text.encode())
    for at, what in changes:
        content[at % len(content) : at % len(content) + at % 7] = what
        content = content or bytearray(b"x")
    path = tmp_path_factory.mktemp("damaged") / "file"
    path.write_bytes(bytes(content))
    try:
        found = read(str(path))
        if hasattr(found, "leveled"):
            found.leveled()
    except HopbytesError:
        pass  # any other exception fails the test


@pytest.mark.parametrize("name", ["block", "superpod", "tree_2level", "tree_3level_big"])
@pytest.mark.shared
def test_slurm_samples(name):
    tree = read_slurm_topology(str(SHARED_SAMPLES / f"slurm/{name}_topology.conf")).leveled()
    assert (
        len(tree.hosts) == {"block": 32, "superpod": 79, "tree_2level": 400, "tree_3level_big": 10_000}[name]
    )


@pytest.mark.shared
def test_other_samples():
    assert read_slurm_yaml(str(SHARED_SAMPLES / "slurm/topology.yaml")).leveled().counts == ((2,), (2, 2))
    assert len(read_topograph(str(SHARED_SAMPLES / "topograph/nvl72.yaml")).leveled().hosts) == 72
    fabric = read_netloc(str(SHARED_SAMPLES / "netloc/IB-fe80_0000_0000_0001-nodes.txt"))
    assert (len(fabric.switches), len(fabric.adapters), fabric.n_links) == (1, 23, 46)
    assert len(follow(fabric).unrouted(fabric)) == 0
    # A mesh of 4 x 3 as amk_m2 4 3 wrote it: distances are those of the grid.
    x, y = np.divmod(np.arange(12), 4)[::-1]
    grid = np.abs(np.subtract.outer(x, x)) + np.abs(np.subtract.outer(y, y))
    assert np.array_equal(read_scotch_target(str(SHARED_SAMPLES / "scotch/m4x3.tgt")).table, grid)
    assert read_scotch_target(str(SHARED_SAMPLES / "netloc/subarch.scotch")).n_terminals == 4 * 24 * 2 * 2 * 6
    assert len(read_simgrid(str(SHARED_SAMPLES / "simgrid/griffon.xml")).host_names) == 92
    assert len(read_xtdb2proc(str(SHARED_SAMPLES / "cray/sample.xtdb2proc")).hosts) == 497
    assert read_coordinates(str(SHARED_SAMPLES / "torus/bgpc_nodes.yaml.gz")).dims == (8, 8, 8)
