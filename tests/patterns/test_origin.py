"""What a pattern says about where it was recorded."""

import pytest

import hopbytes as hb
from hopbytes.patterns.base import recorded_hosts


def pattern(meta):
    return hb.CommGraph.from_edges([0, 1], [1, 2], n=3, meta=meta)


@pytest.mark.parametrize("meta", [
    {"recorded": {"hosts": ["n1", "n1", "n2.cluster"]}}, {"hosts": ["n1", "n1", "n2.cluster"]},
    {"recorded": {"hosts": []}, "hosts": ("n1", "n1", "n2.cluster")},
])  # fmt: skip
def test_hosts_of_every_task(meta, tmp_path):
    graph = pattern(meta)
    assert recorded_hosts(graph) == ["n1", "n1", "n2.cluster"]
    hb.write(graph, tmp_path / "a.pattern")
    assert recorded_hosts(hb.read(tmp_path / "a.pattern")) == ["n1", "n1", "n2.cluster"]


@pytest.mark.parametrize("hosts", [
    None, [], ["n1", "n2"], ["n1", "n2", ""], ["n1", "n2", 3], "abc", {"0": "n1"}, 7,
    ["n1", "n2", "n3; rm -r x"], ["n1", "n2", "n3\x1b[2J"],
])  # fmt: skip
def test_anything_else_is_none(hosts):
    assert recorded_hosts(pattern({"recorded": {"hosts": hosts}})) is None
    assert recorded_hosts(pattern({"recorded": hosts})) is None
    assert recorded_hosts(pattern({"hosts": hosts})) is None
