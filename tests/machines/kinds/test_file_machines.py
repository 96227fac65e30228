"""Machines of Slurm, topograph, Scotch, Cray and SimGrid files."""

from __future__ import annotations

import numpy as np
import pytest
from test_other_files import CRAY, SIMGRID, SLURM, YAML, put

import hopbytes as hb
from helpers.paths import ROOT, SHARED_SAMPLES
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.machines.spec import parse_machine


def round_trip(spec):
    machine = parse_machine(spec)
    again = parse_machine(machine.spec())
    assert again == machine
    assert again.spec() == machine.spec()
    assert np.array_equal(again.distance().matrix(), machine.distance().matrix())
    return machine


def test_slurm_distances(tmp_path):
    path = put(tmp_path, SLURM)
    machine = round_trip(f"slurm:{path}:leaf=90 / package:2 core:2")
    assert machine.node_names() == ("n1", "n2", "n3", "n4", "n5")
    between = machine.distance().between
    assert [between(0, core) for core in (0, 1, 2, 4, 8, 12)] == [0, 1, 10, 40, 40, 90]
    assert machine.spec() == f"slurm:{path}:leaf=90 / package:2@10 core:2@1"
    assert hb.machine(machine.spec(), distance="node=50,core=2").distance.between(0, 4) == 50
    some = round_trip(f"slurm:{path}@n[3-4] / core:[2,1]")
    assert (some.node_names(), some.n_cores) == (("n3", "n4"), 3)


def test_slurm_yaml(tmp_path):
    path = put(tmp_path, YAML, "topology.yaml")
    assert round_trip(f"slurm:{path}").n_cores == 5
    blocks = round_trip(f"slurm:{path}:topology=blocks")
    assert [blocks.distance().between(0, node) for node in (1, 2, 4)] == [40, 60, 80]
    pod = round_trip(f"slurm:{path}:topology=pod@6 / core:2")
    # x runs fastest: t1 t2 are neighbours in x, t1 t3 in z.
    assert pod.node_names() == ("t1", "t2", "t3", "t4")
    assert [pod.distance().between(0, core) for core in (1, 2, 4, 6)] == [1, 6, 6, 12]
    assert pod.network().routes([0], [1]).links.size == 1


def test_slurm_rings(tmp_path):
    path = put(tmp_path, "- topology: a\n  ring: {rings: [{ring: r, nodes: 'n[1-5]'}]}\n", "t.yaml")
    ring = round_trip(f"slurm:{path}@n[1,3-5]")
    assert [ring.distance().between(0, node) for node in range(4)] == [0, 2, 2, 1]
    assert [part.tolist() for part in ring.split(np.arange(4))] == [[1, 2], [0, 3]]  # n2 is the gap


def test_scotch(tmp_path):
    def machine(text, options=""):
        return round_trip(f"scotch:{put(tmp_path, text)}{options}")

    assert machine("tleaf 2 4 180 6 1", ":names=node,core").spec() == "node:4@181 core:6@1"
    assert machine("cmplt 5").spec() == "level1:5@1"
    assert machine("torus3D 4 3 2").spec() == "torus:2x3x4@1"
    assert machine("hcub 3").distance().between(0, 7) == 3
    table = machine("deco 0\n3 5\n1 1 4\n0 1 5\n2 1 3\n7\n8 9\n")
    assert table.distance().matrix().tolist() == [[0, 7, 9], [7, 0, 8], [9, 8, 0]]
    # Terminals 5, 0 and 4 of a line of 6, in that order.
    assert machine("sub 3 5 0 4 mesh2D 6 1").distance().matrix().tolist() == [[0, 5, 1], [5, 0, 4], [1, 4, 0]]
    with pytest.raises(UnsupportedError, match="different weights"):
        machine("cmpltw 2 3 5")
    with pytest.raises(FormatError, match="3 names, expected one for each of 2 levels"):
        machine("tleaf 2 4 180 6 1", ":names=a,b,c")


def test_cray(tmp_path):
    gemini = round_trip(f"xtdb2proc:{put(tmp_path, CRAY)}:dims=4x4x4@2 / core:2")
    assert gemini.node_names() == ("nid00004", "nid00012")
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


def test_coordinates(tmp_path):
    path = put(tmp_path, "b 0 1\na 0 1\nc 3 0\n")
    machine = round_trip(f"coordinates:{path}:wrap=1x0:bw=5x7@2")
    # Two hosts share the router at 0.1: no hop between them; c is one step round the ring and one down.
    assert machine.node_names() == ("a", "b", "c")
    assert [machine.distance().between(0, node) for node in (1, 2)] == [0, 4]
    assert {int(c) for c in machine.network().capacity if c} == {5, 7}
    with pytest.raises(FormatError, match="expected below dims=3x2"):
        parse_machine(f"coordinates:{path}:dims=3x2")
    with pytest.raises(FormatError, match="1 hosts are not in coordinates"):
        parse_machine(f"coordinates:{path}@a,x")


def test_simgrid(tmp_path):
    machine = round_trip(f"simgrid:{put(tmp_path, SIMGRID)}")
    network = machine.network()
    names = [
        [network.name_link(int(link)) for link in network.routes([a], [b]).links]
        for a, b in ((0, 3), (4, 5), (0, 5), (5, 0))
    ]
    assert names == [
        ["a0.x up", "a backbone", "a7.x down"],
        ["b0 link", "b1 link"],
        ["a0.x up", "a backbone", "wan", "b1 link"],
        ["b1 link", "wan", "a backbone", "a0.x down"],
    ]
    assert [part.tolist() for part in machine.split(np.arange(6))] == [[0, 1, 2, 3], [4, 5]]
    shaped = (
        '<platform version="4"><cluster id="c" prefix="h" suffix="" radical="0-{}" bw="2GBps" topology="{}" '
    )
    shaped += 'topo_parameters="{}"/></platform>'
    torus = round_trip(f"simgrid:{put(tmp_path, shaped.format(11, 'TORUS', '3,2,2'))}@4")
    assert torus.distance().between(0, 1) == 4  # the first dimension runs fastest
    assert torus.node_names()[11] == "h11"
    tree = round_trip(f"simgrid:{put(tmp_path, shaped.format(15, 'FAT_TREE', '2;4,4;1,2;1,2'))}")
    # Four leaves of four hosts, two cores, two cables each.
    assert tree.network().describe()["links"] == 2 * (16 + 4 * 2 * 2)
    with pytest.raises(FormatError, match="12 hosts, expected 8"):
        parse_machine(f"simgrid:{put(tmp_path, shaped.format(11, 'TORUS', '2,2,2'))}")
    with pytest.raises(UnsupportedError, match="topology VIVALDI"):
        parse_machine(f"simgrid:{put(tmp_path, shaped.format(11, 'VIVALDI', '3'))}")


@pytest.mark.parametrize(
    ("shape", "parameters", "what"),
    [
        ("TORUS", "two,2,2", "topo_parameters 'two,2,2', expected '3,2,2'"),
        ("TORUS", "3,2:nodes=2", "topo_parameters '3,2:nodes=2', expected"),  # no options of our own specs
        ("TORUS", "3,0,2", "torus: '0' in"),
        ("FAT_TREE", "2;4,4;1,2", "topo_parameters '2;4,4;1,2', expected"),
        ("FAT_TREE", "3;4,4;1,2;1,2", "3 levels, but sizes of 2"),
        ("FAT_TREE", "2;4,4;1,2,3;1,2", "up"),
    ],
)
def test_faults_of_simgrid_shapes_name_file_and_line(tmp_path, shape, parameters, what):
    text = f"""<?xml version='1.0'?>
<platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-11" speed="1Gf" bw="125MBps" lat="1us" topology="{shape}"
         topo_parameters="{parameters}"/></platform>"""
    with pytest.raises(FormatError, match=r"file:3: ") as error:
        parse_machine(f"simgrid:{put(tmp_path, text)}")
    assert what in str(error.value)


def test_one_of_very_many_simgrid_hosts_given_twice_is_found_quickly(tmp_path):
    text = """<?xml version='1.0'?>
<platform version="4.1"><zone id="z" routing="Full">
<cluster id="c" prefix="n" suffix="" radical="0-99999" speed="1Gf" bw="125MBps" lat="1us"/>
<host id="n99999" speed="1Gf"/></zone></platform>"""
    with pytest.raises(FormatError, match="'n99999' a second time, first at line 3"):
        parse_machine(f"simgrid:{put(tmp_path, text)}")


@pytest.mark.parametrize(
    "kind", ["slurm", "topograph", "scotch", "xtdb2proc", "coordinates", "simgrid", "netloc"]
)
@pytest.mark.parametrize("rest", ["", "/nowhere", "README.md:odd=", ":a=b"])
def test_faults(kind, rest, monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(HopbytesError) as error:
        parse_machine(f"{kind}:{rest}")
    assert "\n" not in str(error.value)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("spec", "cores"),
    [
        ("slurm:{}/slurm/block_topology.conf / core:2", 64),
        ("slurm:{}/slurm/superpod_topology.conf", 79),
        ("slurm:{}/slurm/tree_2level_topology.conf", 400),
        ("slurm:{}/slurm/topology.yaml:topology=topo5", 32),
        ("topograph:{}/topograph/medium.yaml", 8),
        ("topograph:{}/topograph/nvl72.yaml", 72),
        ("scotch:{}/scotch/hy3.tgt", 8),
        ("scotch:{}/netloc/subarch.scotch", 64),
        ("xtdb2proc:{}/cray/sample.xtdb2proc", 497),
        ("coordinates:{}/torus/bgpc_nodes.yaml.gz", 512),
        ("simgrid:{}/simgrid/cluster_backbone.xml", 100),
        ("simgrid:{}/simgrid/cluster_fat_tree.xml", 16),
        ("simgrid:{}/simgrid/cluster_torus.xml", 12),
        ("simgrid:{}/simgrid/griffon.xml", 92),
    ],
)
def test_samples(spec, cores):
    assert round_trip(spec.format(SHARED_SAMPLES)).n_cores == cores
