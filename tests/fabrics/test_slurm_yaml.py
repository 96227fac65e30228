"""Slurm's topology.yaml: known answers and faults by line."""

from __future__ import annotations

import sys

import pytest

from helpers.errors import mentions
from helpers.machine_files import YAML, put
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.fabrics.slurm import GridOfHosts, read_slurm_yaml


def test_slurm_yaml_says_the_same(tmp_path):
    path = put(tmp_path, YAML)
    assert read_slurm_yaml(path).leveled().counts == ((2,), (3, 2))
    blocks = read_slurm_yaml(path, "blocks").leveled()
    # Groups of two blocks; the last one is a block short.
    assert (blocks.levels, blocks.counts) == (("block4", "block", "node"), ((2,), (2, 1), (2, 2, 2)))
    assert read_slurm_yaml(path, "pod") == GridOfHosts((2, 1, 2), ("t1", "t2", "t3", "t4"))
    with pytest.raises(FormatError, match=mentions("'x'", "topology=NAME")):
        read_slurm_yaml(path, "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- topology: a\n  tree: {switches: [{switch: s, nodes: n, children: t}]}\n", "file:2"),
        ("- topology: a\n  tree: {switches: [{switch: s, node: n}]}\n", "file:2 node: nodes"),
        ("- topology: a\n  flat: true\n  block: {blocks: [{block: b, nodes: n}]}\n", "file:1 block flat"),
        ("- topology: a\n  flat: false\n", "file:1 none"),
        ("- topology: a\n  wide: 1\n  flat: true\n", "file:2 wide"),
        ("- topology: a\n  ring: {rings: [{ring: r, nodes: n, wrap: 1}]}\n", "file:2 wrap"),
        ("- topology: a\n  ring: {size: 2, rings: [{ring: r, nodes: n}]}\n", "file:2 size"),
        ("- topology: a\n  ring: {rings: [{ring: r, nodes: 'n[1-17]'}]}\n", "file:2 17 16"),
        ("- topology: a\n  block: {block_sizes: [4, 12], blocks: []}\n", "file:2 12"),
        ("- topology: a\n", "file:1"),
        ("a: [1\n", "file:2"),
        ("&x [*x]\n", "file:1"),
        ("- topology: a\n  tree: 5\n", "file:2 '5'"),
        ("[" * 60 + "]" * 60, "more than 50 levels"),
        ("- topology: a\n  torus3d: {toruses: [{dims: {x: 2, y: 2, z: 2}, nodes: 'n[1-7]'}]}\n", "7 2"),
        ("a: 1\na: 2\n", "file:2"),
    ],
)
def test_yaml_faults(tmp_path, text, message):
    with pytest.raises(FormatError, match=mentions(*message.split())):
        read_slurm_yaml(put(tmp_path, text))


def test_the_largest_ring(tmp_path):
    (tmp_path / "t.yaml").write_text("- topology: a\n  ring: {rings: [{ring: r, nodes: 'n[1-16]'}]}\n")
    ring = read_slurm_yaml(f"{tmp_path}/t.yaml")
    assert len(ring.hosts) == 16


def test_flat_and_rings(tmp_path):
    with pytest.raises(UnsupportedError, match="flat topology"):
        read_slurm_yaml(put(tmp_path, "- topology: a\n  flat: true\n"))
    text = "- topology: a\n  ring: {rings: [{ring: r, nodes: 'n[1-5]'}]}\n"
    assert read_slurm_yaml(put(tmp_path, text)) == GridOfHosts((5,), ("n1", "n2", "n3", "n4", "n5"))


def test_of_several_defaults_the_first_counts(tmp_path):
    text = "".join(
        f"- topology: {name}\n  cluster_default: {default}\n"
        f"  tree: {{switches: [{{switch: s, nodes: {name}}}, {{switch: empty}}, {{switch: t, nodes: }}]}}\n"
        for name, default in (("a", "False"), ("b", "True"), ("c", "yes"))
    )
    assert read_slurm_yaml(put(tmp_path, text)).leveled().hosts == ("b",)


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(UnsupportedError, match=r"needs PyYAML: pip install pyyaml$"):
        read_slurm_yaml(put(tmp_path, YAML))
