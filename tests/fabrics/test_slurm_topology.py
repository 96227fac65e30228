"""Slurm's topology.conf: known answers and faults by line."""

from __future__ import annotations

import pytest

from helpers.errors import mentions
from helpers.machine_files import SCONTROL, SLURM, put
from helpers.paths import SHARED_SAMPLES
from hopbytes.errors import FormatError
from hopbytes.fabrics.slurm_topology import read_slurm_topology


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
            "file:2 'a' 1",
        ),
        ("SwitchName=a Switches=b\n", "file:1 'b' 'a'"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "file:1 'a'"),
        (
            "SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=n\n",
            "file:2 'c'",
        ),
        ("SwitchName=a Nodes=n[1-\n", "file:1"),
        ("SwitchName=a\n", "file:1 'a'"),
        ("hello\n", "file:1 'hello' KEY=VALUE"),
        ("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", "both switches and blocks"),
        ("BlockName=b Nodes=n2\nBlockSizes=4,6\n", "file:2 6 4"),
        ("BlockName=b Nodes=n2\nBlockSizes=x\n", "file:2 BlockSizes=x"),
        ("# nothing\n", "SwitchName= BlockName="),
        ("SwitchName=a Nodes=n1 \\", "ends in a continued line"),
        ("SwitchName=a Nodes=\n", "file:1 ''"),
    ],
)
def test_slurm_faults(tmp_path, text, message):
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_slurm_topology(put(tmp_path, text)).leveled()


@pytest.mark.parametrize("name", ["block", "superpod", "tree_2level", "tree_3level_big"])
@pytest.mark.shared
def test_slurm_samples(name):
    tree = read_slurm_topology(str(SHARED_SAMPLES / f"slurm/{name}_topology.conf")).leveled()
    assert (
        len(tree.hosts) == {"block": 32, "superpod": 79, "tree_2level": 400, "tree_3level_big": 10_000}[name]
    )
