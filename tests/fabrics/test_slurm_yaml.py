"""Slurm's topology.yaml: known answers and faults by line."""

from __future__ import annotations

import pytest

from helpers.errors import mentions
from helpers.machine_files import YAML, put
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.slurm_yaml import GridOfHosts, read_slurm_yaml


def test_slurm_yaml_says_the_same(tmp_path):
    path = put(tmp_path, YAML)
    assert read_slurm_yaml(path).leveled().counts == ((2,), (3, 2))
    blocks = read_slurm_yaml(path, "blocks").leveled()
    # Groups of two blocks; the last one is a block short.
    assert (blocks.levels, blocks.counts) == (("block4", "block", "node"), ((2,), (2, 1), (2, 2, 2)))
    assert read_slurm_yaml(path, "pod") == GridOfHosts((2, 1, 2), ("t1", "t2", "t3", "t4"))
    with pytest.raises(
        FormatError, match=mentions("'x'", "topology=NAME")
    ):
        read_slurm_yaml(path, "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- topology: a\n  tree: {switches: [{switch: s}]}\n", "file:2"),
        ("- topology: a\n", "file:1"),
        ("a: [1\n", "file:2"),
        ("&x [*x]\n", "file:1"),
        ("- topology: a\n  tree: 5\n", "file:2 '5'"),
        ("[" * 60 + "]" * 60, "more than 50 levels"),
        (
            "- topology: a\n  torus3d: {toruses: [{dims: {x: 2, y: 2, z: 2}, nodes: 'n[1-7]'}]}\n",
            "7 2",
        ),
        ("a: 1\na: 2\n", "file:2"),
    ],
)
def test_yaml_faults(tmp_path, text, message):
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_slurm_yaml(put(tmp_path, text))


def test_flat_and_rings(tmp_path):
    with pytest.raises(UnsupportedError, match="flat topology"):
        read_slurm_yaml(put(tmp_path, "- topology: a\n  flat: true\n"))
    text = "- topology: a\n  ring: {rings: [{ring: r, nodes: 'n[1-5]'}]}\n"
    assert read_slurm_yaml(put(tmp_path, text)) == GridOfHosts((5,), ("n1", "n2", "n3", "n4", "n5"))
