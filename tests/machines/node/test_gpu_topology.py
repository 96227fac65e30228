"""``nvidia-smi topo -m`` and topology files of NCCL: units, CPUs, adapters, GPU numbers; damage."""

from __future__ import annotations

import random
import re

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import EXAMPLES, GPU_SAMPLES
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.machines.kinds.nvidia import read_gpu_hosts
from hopbytes.machines.spec import kind_of_file


def first_host(path):
    return read_gpu_hosts(path).trees[0]

SWITCH, PAIRS = GPU_SAMPLES / "nvswitch_topo.txt", GPU_SAMPLES / "pairs_topo.txt"
NCCL = GPU_SAMPLES / "nccl_topo.xml"


def levels(path, hosts="n[1-2]"):
    tree = hb.allocate(f"nvidia:{path}@{hosts}").machine.tree
    return [(tier.name, count) for tier, count in zip(tree.tiers, tree.children, strict=True)]


def test_all_gpus_of_an_nvswitch_are_equally_far():
    where = hb.allocate(f"nvidia:{SWITCH}@n[1-2]")
    assert levels(SWITCH) == [("node", 2), ("gpu", 8), ("core", 4), ("pu", 2)]
    assert where.k == 16
    assert where.gpus.tolist() == [*range(8)] * 2
    # The threads of a core are in both ranges of the list of CPUs.
    assert sorted(where.os_pus(1)) == [4, 5, 6, 7, 36, 37, 38, 39]
    tree = first_host(str(SWITCH))
    assert [gpu.adapter.name for gpu in tree.gpus][:3] == ["mlx5_0", "mlx5_3", "mlx5_4"]
    assert tree.gpus[7].adapter[1:] == (7, 8)


def test_pairs_are_units():
    assert levels(PAIRS) == [("node", 2), ("nvlink", 2), ("gpu", 2), ("core", 6)]
    near = [gpu.adapter.name for gpu in first_host(str(PAIRS)).gpus]
    assert near == ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]


def test_links_across_sockets():
    """GPUs 0 and 2, and 1 and 3, are a unit each: slots keep the numbers that NVIDIA's tools use."""
    where = hb.allocate(f"nvidia:{NCCL}@n[1-2]")
    assert where.gpus.tolist() == [0, 2, 1, 3] * 2
    assert levels(NCCL) == [("node", 2), ("nvlink", 2), ("gpu", 2), ("core", 8)]
    assert [where.os_pus(pe)[0] for pe in range(4)] == [0, 16, 8, 24]
    near = [gpu.adapter.name for gpu in where.machine.inventory.tree(0).gpus]
    assert near == ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]


def test_switches_of_nccl(tmp_path):
    path = tmp_path / "topo.xml"
    switch = '<nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/>'
    path.write_text(re.sub("<nvlink[^>]*>", switch, NCCL.read_text()))
    assert levels(path) == [("node", 2), ("gpu", 4), ("core", 8)]
    path.write_text(re.sub("<nvlink[^>]*>", "", NCCL.read_text()))
    assert levels(path) == [("node", 2), ("pci", 2), ("gpu", 2), ("core", 8)]


def rack(hosts, switch='<nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/>'):
    """Return what NCCL writes where hosts share NVLink: the CPUs of all of them, the last host first."""
    text = re.sub("<nvlink[^>]*>", switch, NCCL.read_text())
    first, last = text.index(" <cpu"), text.index("</system>")
    parts = []
    for host in range(hosts):
        own = text[first:last].replace("0x1f", f"0x{host + 1}f")
        parts.append(re.sub('rank="([0-9])"', lambda found, h=host: f'rank="{4 * h + int(found[1])}"', own))
    return text[:first] + "".join(reversed(parts)) + text[last:]


def test_hosts_that_share_nvlink_are_one_machine(tmp_path):
    path = tmp_path / "rack.xml"
    path.write_text(rack(18))
    where = hb.allocate(f"nvidia:{path}@n[1-18]")
    assert where.k == 72
    assert where.gpus.tolist() == [0, 1, 2, 3] * 18
    assert [tier.name for tier in where.machine.tree.tiers] == ["node", "gpu", "core"]
    node, gpu = where.machine.tree.tiers[:2]
    assert node.distance == gpu.distance
    assert hb.allocate(where.machine.spec()).k == 72
    assert hb.allocate(f"nvidia:{path}:node=9").machine.tree.tiers[0].distance == 9
    with pytest.raises(FormatError, match="2 names for the 18 hosts of the file"):
        hb.allocate(f"nvidia:{path}@n[1-2]")
    path.write_text(rack(3, switch=""))
    node, pci, *_ = hb.allocate(f"nvidia:{path}").machine.tree.tiers
    assert node.distance > pci.distance


def test_memory_domains_without_nvlink(tmp_path):
    path = tmp_path / "topo.txt"
    path.write_text(PAIRS.read_text().replace("NV4", "NODE"))
    assert levels(path) == [("node", 2), ("numa", 2), ("gpu", 2), ("core", 6)]
    path.write_text(PAIRS.read_text().replace("NV4", "SYS"))
    assert levels(path) == [("node", 2), ("gpu", 4), ("core", 6)]


def test_inside_a_network_and_recognised():
    for path in (SWITCH, PAIRS, NCCL):
        assert kind_of_file(str(path)) == "nvidia"
    inside = hb.allocate(f"fattree:4 / nvidia:{PAIRS}")
    assert inside.k == 4 * 4
    assert inside.gpus.tolist()[:8] == [0, 1, 2, 3] * 2
    assert hb.allocate(f"fattree:4 / nvidia:{NCCL}").gpus.tolist()[:8] == [0, 2, 1, 3] * 2
    fabric = hb.allocate(f"ib:{EXAMPLES}/fabric:rails=gpu / nvidia:{PAIRS}")
    assert fabric.gpus is not None


def test_a_tensor_group_stays_in_a_pair():
    graph = hb.read("ml:tp=2,pp=1,dp=4,layers=2,order=dp-tp-cp-ep-pp")
    mapping = hb.map_tasks(graph, hb.allocate(f"nvidia:{NCCL}@n[1-2]"))
    for first in range(4):
        one, two = (int(mapping.where.gpus[mapping.pe[task]]) for task in (first, first + 4))
        assert {one, two} in ({0, 2}, {1, 3})


BAD = [
    (PAIRS, lambda text: text.replace("GPU0\tGPU1", "GPU0: GPU1"), "no line with GPU0 and CPU Affinity"),
    (PAIRS, lambda text: text.replace("PIX\tSYS\t0-11", "FAR\tSYS\t0-11"), ":2: 'FAR', expected one of X"),
    (PAIRS, lambda text: text.replace("GPU1\tNV4", "GPU2\tNV4"), ":3: GPU2, expected the GPUs in the order"),
    (PAIRS, lambda text: text.replace("\tSYS\t0-11\t0", ""), ":2: 5 ways from GPU0, expected 6: .* cut off"),
    (PAIRS, lambda text: text.replace("0-11", "0-x"), ":2: list '0-x', expected CPU numbers"),
    (PAIRS, lambda text: "\n".join(text.splitlines()[:3]), "2 rows of GPUs, expected 4 .* cut off"),
    (NCCL, lambda text: text.replace('dev="1" sm', 'dev="0" sm'), "GPU 0 twice"),
    (NCCL, lambda text: text.replace('dev="1" sm', 'dev="-1" sm'), "dev='-1', expected the number of a GPU"),
    (NCCL, lambda text: text.replace("0x1f", "0", 1).replace('rank="3"', ""), "rank='', expected the number"),
    (NCCL, lambda text: text.replace("</system>", "<cpu/></system>"), ":40: a host without GPUs"),
    (NCCL, lambda text: text.replace("0000ffff", "spam"), ":2: "),
    (NCCL, lambda text: text.replace("gpu", "x").replace("0x0302", "0x0880"), "no GPU, expected elements"),
    (NCCL, lambda text: text.replace("gpu", "x").replace('"0000:01', '"z'), "busid 'z:00.0', expected"),
    (NCCL, lambda text: text[:400], "the file ends in the middle|not well-formed"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "change", "words"), BAD, ids=range(len(BAD)))
def test_bad_files_are_explained(tmp_path, path, change, words):
    bad = tmp_path / path.name
    bad.write_text(change(path.read_text()))
    with pytest.raises(FormatError, match=words) as caught:
        hb.allocate(f"nvidia:{bad}")
    assert str(bad) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_hosts_twice_and_no_file():
    with pytest.raises(FormatError, match=mentions("n1", "twice")):
        hb.allocate(f"nvidia:{PAIRS}@n1,n1")
    with pytest.raises(FormatError, match="without a file name"):
        hb.allocate("nvidia:@n1")


@pytest.mark.parametrize("path", [SWITCH, PAIRS, NCCL], ids=lambda path: path.name)
def test_damage_never_crashes(tmp_path, path):
    generator = random.Random(5)
    text = path.read_text()
    for _ in range(150):
        at = generator.randrange(len(text))
        piece = generator.choice(["", "9", "-", "\t", "NV99999", "<", '"'])
        (tmp_path / "bad").write_text(text[:at] + piece + text[at + generator.randrange(5) :])
        try:
            assert first_host(str(tmp_path / "bad")).gpus
        except HopbytesError as error:
            assert "\n" not in str(error)  # noqa: PT017
