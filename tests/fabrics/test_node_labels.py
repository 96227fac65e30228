"""Nodes at places told node by node: labels of Kubernetes, tables of switches, addresses of Slurm."""

from __future__ import annotations

import json

import pytest

import hopbytes as hb
from hopbytes.errors import FormatError

NVIDIA = "network.topology.nvidia.com"


def machine(folder, content):
    path = folder / "places"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return hb.machine(f"labels:{path}").machine


def shape(found):
    return [level.name for level in found.levels], found.known_hosts.names


def test_labels_of_topograph(tmp_path):
    """A domain of two leaves lies outside them, as it has fewer values."""
    items = [
        {"metadata": {"name": f"n{node}", "labels": {
            f"{NVIDIA}/accelerator": f"nvl{node // 4}", f"{NVIDIA}/leaf": f"s{node // 2}",
            f"{NVIDIA}/core": "c", "other": "x",
        }}}
        for node in range(8)
    ]  # fmt: skip
    found = machine(tmp_path, {"kind": "List", "items": items})
    assert shape(found) == (["domain", "leaf", "node"], tuple(f"n{node}" for node in range(8)))
    assert found.ancestors(0).tolist() == [0] * 4 + [1] * 4
    assert found.ancestors(1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_tiers_of_topograph(tmp_path):
    tier = "fabric.topograph.run/tier-"
    nodes = {f"n{node}": {f"{tier}1": f"a{node // 4}", f"{tier}0": f"b{node // 2}"} for node in range(8)}
    found = machine(tmp_path, nodes)
    assert shape(found) == (["tier1", "tier0", "node"], tuple(nodes))
    assert found.ancestors(1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_table_of_addresses_and_switches(tmp_path):
    found = machine(tmp_path, {"10.0.0.1": "sw1", "10.0.0.2": "sw2", "10.0.0.3": "sw1"})
    assert shape(found) == (["leaf", "node"], ("10.0.0.1", "10.0.0.3", "10.0.0.2"))
    lists = {"a": ["r1", "s"], "b": ["r2", "s"], "c": ["r1", "t"], "d": ["r2", "t"]}
    found = machine(tmp_path, lists)
    assert found.ancestors(0).tolist() == [0, 0, 1, 1]  # the two switches called s are different ones
    assert found.known_hosts.names == ("a", "c", "b", "d")


@pytest.mark.parametrize(
    "lines",
    [
        "root.s1.n1 switch.switch.node\nroot.s1.n2 switch.switch.node\nroot.s2.n3 switch.switch.node\n",
        "n1 root.s1.n1\nn2 root.s1.n2\nn3 root.s2.n3\n",
        "# from srun\nroot.s1.n1\n\nroot.s1.n2\nroot.s2.n3\n",
    ],
)
def test_addresses_of_slurm(tmp_path, lines):
    found = machine(tmp_path, lines)
    assert shape(found) == (["leaf", "node"], ("n1", "n2", "n3"))
    assert found.ancestors(0).tolist() == [0, 0, 1]


def test_names_with_domains(tmp_path):
    lines = "s1.n1.x.org switch.node\ns2.n2.x.org switch.node\n"
    assert machine(tmp_path, lines).known_hosts.names == ("n1.x.org", "n2.x.org")
    assert machine(tmp_path, "n1\nn2\n").known_hosts.names == ("n1", "n2")  # topology/default


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "empty"), ("{", "not JSON"), ("{}", "no node"), ('{"a": 3}', "expected a switch"),
        ('{"a": {"x": "y"}}', "no node has a label"), ('{"items": [3]}', "item 0 has no metadata"),
        ({"a": ["r", "s"], "b": ["s"]}, "lies in 1 units, expected 2"), ("s1.a\ns2.a\n", ":2: node 'a'"),
        ("a b c d\n", "does not end with"), ("n1 s1.n2\n", ":1: address"), ("s1.a\nb\n", ":2: node 'b'"),
        ({"a": {f"{NVIDIA}/leaf": "s"}, "b": {}}, "node 'b' has no label"),
        ('{"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "a"}}]}', "a second time"),
        ("[" * 100000, "expected letters"), ('{"a":' * 100000, "not JSON"),
    ],
)  # fmt: skip
def test_bad_files_are_one_line(tmp_path, content, words):
    with pytest.raises(FormatError) as caught:
        machine(tmp_path, content)
    assert "\n" not in str(caught.value)
    assert words in str(caught.value)
