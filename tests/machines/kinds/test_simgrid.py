"""Machines of SimGrid's platforms, and their faults by file and line."""

import numpy as np
import pytest

from helpers.machine_files import SIMGRID, put
from helpers.machines import round_trip
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.spec import parse_machine


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
    assert torus.known_hosts.names[11] == "h11"
    tree = round_trip(f"simgrid:{put(tmp_path, shaped.format(15, 'FAT_TREE', '2;4,4;1,2;1,2'))}")
    # Four leaves of four hosts, two cores, two cables each.
    assert tree.network().describe()["links"] == 2 * (16 + 4 * 2 * 2)
    with pytest.raises(FormatError, match="12 hosts, expected 8"):
        parse_machine(f"simgrid:{put(tmp_path, shaped.format(11, 'TORUS', '2,2,2'))}")
    with pytest.raises(UnsupportedError, match="topology VIVALDI"):
        parse_machine(f"simgrid:{put(tmp_path, shaped.format(11, 'VIVALDI', '3'))}")


@pytest.mark.parametrize(("shape", "parameters", "what"), [
    ("TORUS", "two,2,2", "topo_parameters 'two,2,2', expected '3,2,2'"),
    ("TORUS", "3,2:nodes=2", "topo_parameters '3,2:nodes=2', expected"),  # no options of our own specs
    ("TORUS", "3,0,2", "torus: '0' in"),
    ("FAT_TREE", "2;4,4;1,2", "topo_parameters '2;4,4;1,2', expected"),
    ("FAT_TREE", "3;4,4;1,2;1,2", "3 levels, but sizes of 2"),
    ("FAT_TREE", "2;4,4;1,2,3;1,2", "up"),
])  # fmt: skip
def test_faults_of_simgrid_shapes_name_file_and_line(tmp_path, shape, parameters, what):
    text = f"""<?xml version='1.0'?>
<platform version="4.1">
<cluster id="c" prefix="n" suffix="" radical="0-11" speed="1Gf" bw="125MBps" lat="1us" topology="{shape}"
         topo_parameters="{parameters}"/></platform>"""
    with pytest.raises(FormatError, match=r"file:3: ") as error:
        parse_machine(f"simgrid:{put(tmp_path, text)}")
    assert what in str(error.value)


CORES = """<platform version="4.1"><zone id="w" routing="Full">
<host id="PM 0" core="4"/><host id="PM 1" core="4"/><host id="PM2" core="2"/>
<link id="l" bandwidth="1GBps"/>
<route src="PM 0" dst="PM 1"><link_ctn id="l"/></route><route src="PM 0" dst="PM2"><link_ctn id="l"/></route>
<route src="PM 1" dst="PM2"><link_ctn id="l"/></route></zone></platform>
"""


def test_cores_and_blanks_in_names(tmp_path):
    path = put(tmp_path, CORES)
    machine = round_trip(f"simgrid:{path}")
    assert np.bincount(machine.node_of_core()).tolist() == [4, 4, 2]
    assert machine.known_hosts.names == ("PM_0", "PM_1", "PM2")
    assert any("2 hosts" in notice for notice in machine.notices())
    kept = parse_machine(f"simgrid:{path}@PM_1,PM2")
    assert np.bincount(kept.node_of_core()).tolist() == [4, 2]
    other = parse_machine(f"simgrid:{path} / package:2 core:3")
    assert np.bincount(other.node_of_core()).tolist() == [6, 6, 6]
    with pytest.raises(FormatError, match="differ only in blanks"):
        parse_machine(f"simgrid:{put(tmp_path, CORES.replace('PM2', 'PM_1'))}")


@pytest.mark.parametrize(("topology", "parameters"), [
    ("FLAT", ""), ("TORUS", "3,2,2"), ("FAT_TREE", "2;4,3;1,2;1,2"), ("DRAGONFLY", "2,1;2,1;3,1;1"),
])  # fmt: skip
def test_cores_of_clusters(tmp_path, topology, parameters):
    text = f"""<platform version="4.1"><cluster id="c" prefix="n" radical="0-11" speed="1Gf" bw="1GBps"
    core="8" topology="{topology}" topo_parameters="{parameters}"/></platform>"""
    path = put(tmp_path, text)
    machine = round_trip(f"simgrid:{path}")
    assert (machine.n_cores, machine.n_nodes, machine.levels[-1].name) == (96, 12, "core")
    assert parse_machine(f"simgrid:{path}:hosts=n[2-4] / core:2").n_cores == 6
