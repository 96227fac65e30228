"""A ConfigMap whose scripts find the node rank of their pod."""

from __future__ import annotations

import subprocess

import pytest

from helpers.errors import mentions
from helpers.placements import place, write
from hopbytes.errors import UnsupportedError
from hopbytes.formats.mappings import host_orders

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
NODES = ("node-b.cluster.local", "node-a.cluster.local", "node-c.cluster.local")


def data(pe, hosts=NODES):
    written = write("kubernetes", place("node:3 gpu:2", pe, hosts=hosts))
    found = yaml.safe_load(written.files[""])
    assert (found["kind"], found["metadata"]["name"]) == ("ConfigMap", "hopbytes-hosts")
    return found["data"], written


def test_hosts_in_the_order_of_node_ranks():
    found, written = data([2, 3, 4, 5, 0, 1])
    order = [NODES[1], NODES[2], NODES[0]]
    assert found["hosts"].split() == order
    assert found["hostfile"] == "".join(f"{name} slots=2\n" for name in order)
    assert written.launch == "kubectl apply -f {stem}"
    assert any(order[0] in notice for notice in written.notices)


def test_a_pod_finds_its_node_rank_by_node_or_by_its_own_name(tmp_path):
    found, _ = data([2, 3, 4, 5, 0, 1])
    (tmp_path / "run").write_text(found["torchrun.sh"])
    for name, text in {"hostname": "echo $AM", "torchrun": 'echo "$@"'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)

    def run(**names):
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", **names}
        command = ["sh", tmp_path / "run", "train.py"]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)

    assert "--node-rank=1 " in run(AM="job-workers-0-7", NODE_NAME=NODES[2]).stdout
    assert "--node-rank=2 " in run(AM="node-b").stdout
    assert run(AM="job-workers-0-7").returncode == 1


def test_what_it_cannot_say(monkeypatch):
    with pytest.raises(UnsupportedError, match=mentions("kubernetes")):
        data([0, 2, 1, 3, 4, 5])
    monkeypatch.setattr(host_orders, "LARGEST", 100)
    with pytest.raises(UnsupportedError, match=mentions("3 hosts", "100")):
        data(range(6))
