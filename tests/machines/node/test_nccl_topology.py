"""Topology files that clouds publish for NCCL, parts of one device, files without affinities."""

from __future__ import annotations

import re

import pytest

import hopbytes as hb
from helpers.paths import GPU_SAMPLES, SHARED
from hopbytes.machines.spec import kind_of_file

NCCL = GPU_SAMPLES / "nccl_topo.xml"


def levels(path):
    tree = hb.allocate(f"nvidia:{path}@n[1-2]").machine.tree
    return [(tier.name, count) for tier, count in zip(tree.tiers, tree.children, strict=True)]


#: What a cloud publishes for NCCL_TOPO_FILE: two packages with two GPUs and an adapter behind each switch.
CLOUD = '<system version="1">' + "".join(
    f'<cpu numaid="{cpu}" affinity="00000000,{mask}" arch="x86_64">' + "".join(
        f'<pci busid="ffff:ff:0{2 * cpu + switch}.0" class="0x060400">'
        f'<pci busid="{9 - 4 * cpu - 2 * switch:04x}:10:1b.0" class="0x020000" vendor="0x1d0f"/>'
        f'<pci busid="{9 - 4 * cpu - 2 * switch:04x}:10:1d.0" class="{kind}"/>'
        f'<pci busid="{9 - 4 * cpu - 2 * switch:04x}:10:1c.0" class="{kind}"/></pci>'
        for switch, kind in enumerate(("0x030200", "0x030000"))
    ) + "</cpu>"
    for cpu, mask in enumerate(("000000ff", "0000ff00"))
) + "</system>"  # fmt: skip


def test_files_for_nccl_topo_file(tmp_path):
    """GPUs are known by their class and numbered by their addresses, and the file says nothing of NVLink."""
    path = tmp_path / "topo.xml"
    path.write_text(CLOUD)
    where = hb.allocate(f"nvidia:{path}@n[1-2]")
    assert where.k == 16
    assert levels(path) == [("node", 2), ("numa", 2), ("pci", 2), ("gpu", 2), ("core", 2)]
    gpus = where.machine.inventory.tree(0).gpus
    assert [gpu.name for gpu in gpus[:3]] == ["0003:10:1c.0", "0003:10:1d.0", "0005:10:1c.0"]
    assert [gpu.adapter.name for gpu in gpus[::2]] == [f"000{i}:10:1b.0" for i in (3, 5, 7, 9)]
    assert [gpu.pus[0] // 8 for gpu in gpus] == [1] * 4 + [0] * 4
    notices = where.machine.notices()
    assert any("neither numbers of GPUs nor NVLink" in notice for notice in notices)
    assert kind_of_file(str(path)) == "nvidia"


@pytest.mark.shared
@pytest.mark.parametrize("name", ["ndv2", "ndv5", "p4d-24xl"])
def test_published_files(name):
    where = hb.allocate(f"nvidia:{SHARED}/cases/nccl-topo/{name}-topo.xml")
    assert where.gpus.tolist() == [*range(8)]
    assert where.has_cores


def test_parts_of_one_device_in_a_file_of_nccl(tmp_path):
    """Several GPUs in one function are parts of a device."""
    text = NCCL.read_text()
    one = text[text.index("<gpu dev") : text.index("</gpu>") + 6]
    path = tmp_path / "topo.xml"
    path.write_text(text.replace(one, one + one.replace('dev="0"', 'dev="7"'), 1).replace("nvlink", "link"))
    names = [name for name, _ in levels(path)]
    assert names == ["node", "pci", "card", "gpu", "core"]


def test_a_file_without_affinities(tmp_path):
    path = tmp_path / "topo.xml"
    path.write_text(re.sub('affinity="[^"]*"', "", NCCL.read_text()))
    where = hb.allocate(f"nvidia:{path}")
    assert (where.k, where.has_cores, where.os_pus(0)) == (4, False, None)
