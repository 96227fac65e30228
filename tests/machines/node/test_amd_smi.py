"""What AMD's tools print: tables and JSON of amd-smi and rocm-smi; partitions, memory nodes, damage."""

from __future__ import annotations

import json
import random

import pytest

import hopbytes as hb
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.machines.kinds.nvidia import read_gpu_hosts
from hopbytes.machines.spec import kind_of_file


def first_host(path):
    return read_gpu_hosts(path).trees[0]

RULE = "=" * 20


def smi_table(title, names, word):
    """Return a table of amd-smi; `word` gives the value for two places."""
    lines = [f"{title} TABLE:", " " * 13 + " ".join(f"{name:12}" for name in names)]
    for i, name in enumerate(names):
        lines.append(f"{name} " + " ".join(f"{word(i, j):12}" for j in range(len(names))))
    return "\n".join(lines) + "\n"


def amd_smi(names, kind, hops=None):
    """Return the output of ``amd-smi topology``; `kind` gives how two places are joined."""
    hops = hops or (lambda i, j: 1)
    return "".join([
        smi_table("ACCESS", names, lambda i, j: "ENABLED"),
        smi_table("WEIGHT", names, lambda i, j: str(15 * (i != j))),
        smi_table("HOPS", names, lambda i, j: str(hops(i, j) if i != j else 0)),
        smi_table("LINK TYPE", names, lambda i, j: kind(i, j) if i != j else "SELF"),
        smi_table("NUMA BW", names, lambda i, j: "N/A"),
        "\n\nLegend:\n  SELF = Current GPU\n  ENABLED / DISABLED = Link is enabled or disabled\n",
    ])  # fmt: skip


def rocm_smi(count, kind, numa, style="GPU[{}]\t\t"):
    """Return the output of ``rocm-smi --showtopo``."""

    def table(title, word):
        lines = [f"{RULE} {title} {RULE}", "       " + "".join(f"GPU{j:<10}" for j in range(count))]
        lines += [f"GPU{i:<4}" + "".join(f"{word(i, j):<13}" for j in range(count)) for i in range(count)]
        return "\n".join(lines) + "\n\n"

    text = f"\n\n{RULE} ROCm System Management Interface {RULE}\n"
    text += table("Weight between two GPUs", lambda i, j: 15 * (i != j))
    text += table("Hops between two GPUs", lambda i, j: 1 if i != j else 0)
    text += table("Link Type between two GPUs", lambda i, j: kind(i, j) if i != j else "0")
    text += f"{RULE} Numa Nodes {RULE}\n"
    for gpu in range(count):
        text += f"{style.format(gpu)}: (Topology) Numa Node: {numa[gpu]}\n"
        text += f"{style.format(gpu)}: (Topology) Numa Affinity: {numa[gpu]}\n"
    return text + f"{RULE} End of ROCm SMI Log {RULE}\n"


def buses(count):
    return [f"0000:{16 * number + 12:02x}:00.0" for number in range(count)]


def levels(path, text):
    path.write_text(text)
    where = hb.allocate(f"amd:{path}@n[1-2]")
    assert not where.has_cores
    assert len(where.machine.notices()) == 1
    assert {gpu.maker for gpu in where.machine.inventory.tree(0).gpus} == {"amd"}
    tree = where.machine.tree
    return [(tier.name, count) for tier, count in zip(tree.tiers, tree.children, strict=True)]


def halves(i, j):
    return "XGMI" if i // 4 == j // 4 else "PCIE"


def test_all_joined_by_xgmi(tmp_path):
    path = tmp_path / "topo.txt"
    assert levels(path, amd_smi(buses(8), lambda i, j: "XGMI")) == [("node", 2), ("gpu", 8)]
    assert kind_of_file(str(path)) == "amd"
    assert levels(path, rocm_smi(8, lambda i, j: "XGMI", [0] * 4 + [1] * 4)) == [("node", 2), ("gpu", 8)]
    assert kind_of_file(str(path)) == "amd"


def test_two_hives(tmp_path):
    path = tmp_path / "topo.txt"
    assert levels(path, amd_smi(buses(8), halves)) == [("node", 2), ("xgmi", 2), ("gpu", 4)]
    assert levels(path, rocm_smi(8, halves, [0] * 8)) == [("node", 2), ("xgmi", 2), ("gpu", 4)]


def test_memory_nodes_and_steps_without_xgmi(tmp_path):
    path = tmp_path / "topo.txt"
    expected = [("node", 2), ("numa", 2), ("gpu", 2)]
    assert levels(path, rocm_smi(4, lambda i, j: "PCIE", [0, 0, 1, 1])) == expected
    assert levels(path, rocm_smi(4, lambda i, j: "PCIE", [0, 0, 1, 1], "GPU {}          ")) == expected
    steps = amd_smi(buses(4), lambda i, j: "PCIE", lambda i, j: 2 if i // 2 == j // 2 else 3)
    assert levels(path, steps) == expected
    assert levels(path, rocm_smi(2, lambda i, j: "PCIE", [-1, -1])) == [("node", 2), ("gpu", 2)]
    assert first_host(str(path)).numa == 0


@pytest.mark.parametrize("parts", [2, 3, 8])
def test_partitions_of_a_device_are_a_unit(tmp_path, parts):
    names = [f"0000:{bus:02x}:00.{part}" for bus in (12, 34, 56) for part in range(parts)]
    path = tmp_path / "topo.txt"
    assert levels(path, amd_smi(names, lambda i, j: "XGMI")) == [("node", 2), ("card", 3), ("gpu", parts)]
    assert hb.allocate(f"amd:{path}").gpus.tolist() == [*range(3 * parts)]


def test_json(tmp_path):
    path = tmp_path / "topo.json"
    names = buses(8)
    new = [
        {"gpu": i, "bdf": names[i], "links": [
            {"gpu": j, "bdf": names[j], "link_type": halves(i, j) if i != j else "SELF", "num_hops": 1}
            for j in reversed(range(8))
        ]} for i in range(8)
    ]  # fmt: skip
    old = [{"gpu": i, "link_type": {f"gpu_{j}": halves(i, j) for j in range(8)}} for i in range(8)]
    rocm = {f"card{i}": {"(Topology) Numa Node": "0", "(Topology) Numa Affinity": "0"} for i in range(8)}
    rocm["system"] = {
        f"(Topology) Link type between DRM devices {i} and {j}": halves(i, j)
        for j in range(8)
        for i in range(j)
    }
    for content in (new, old, rocm):
        assert levels(path, json.dumps(content)) == [("node", 2), ("xgmi", 2), ("gpu", 4)]


def test_topology_files_of_rccl(tmp_path):
    """Links of XGMI, devices of class 0x0380, CPUs that RCCL knows; without <gpu> the class counts."""
    text = '<system version="2">'
    for cpu in range(2):
        text += f'<cpu numaid="{cpu}" affinity="00000000,000000{"0f" if cpu == 0 else "f0"}" arch="x86_64">'
        for gpu in range(2 * cpu, 2 * cpu + 2):
            links = "".join(
                f'<xgmi target="0000:{other + 1}0:00.0" count="1" tclass="0x038000"/>'
                for other in range(4)
                if other != gpu
            )
            text += f'<pci busid="0000:{gpu + 1}0:00.0" class="0x038000" vendor="0x1002">'
            text += f'<gpu dev="{gpu}" gcn="gfx90a" rank="{gpu}">{links}</gpu></pci>'
        text += "</cpu>"
    path = tmp_path / "topo.xml"
    path.write_text(text + "</system>")
    where = hb.allocate(f"amd:{path}@n[1-2]")
    tree = where.machine.inventory.tree(0)
    assert [tier.name for tier in where.machine.tree.tiers] == ["node", "gpu", "core"]
    assert [(gpu.name, gpu.maker) for gpu in tree.gpus] == [(f"rsmi{i}", "amd") for i in range(4)]
    bare = path.read_text()
    while "<gpu" in bare:
        bare = bare[: bare.index("<gpu")] + bare[bare.index("</gpu>") + 6 :]
    path.write_text(bare)
    where = hb.allocate(f"amd:{path}")
    assert where.gpus.tolist() == [0, 1, 2, 3]
    assert where.gpu_of(3).maker == "amd"
    assert [tier.name for tier in where.machine.tree.tiers] == ["numa", "gpu", "core"]


GOOD = amd_smi(buses(3), lambda i, j: "XGMI")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD[: GOOD.index("LINK TYPE") + 120], "rows of GPUs, expected 3 as columns.*cut off"),
        (GOOD.replace("0 XGMI", "0 SPAM"), "'SPAM', expected one of SELF"),
        (GOOD.replace("\n0000:1c:00.0 1", "\n0000:2c:00.0 1"), "expected 0000:1c:00.0 and a value for each"),
        ("ACCESS TABLE:\n", "no GPU in a table of link types"),
        ("[1, 2", ":1: no JSON"), ("[1, 2]", "JSON of another form"), ("{}", "no GPU in a table"),
        (GOOD + "x" * 20000, "a line of 20000 characters"),
    ],
)  # fmt: skip
def test_faults_are_explained(tmp_path, text, words):
    path = tmp_path / "topo.txt"
    path.write_text(text)
    with pytest.raises(FormatError, match=words) as caught:
        hb.allocate(f"amd:{path}")
    assert "\n" not in str(caught.value)


def test_damage_never_crashes(tmp_path):
    generator = random.Random(5)
    texts = [
        GOOD,
        rocm_smi(4, halves, [0, 0, 1, 1]),
        json.dumps([{"gpu": 0, "bdf": "0000:0c:00.0", "links": []}]),
    ]
    for turn in range(200):
        text = texts[turn % 3]
        at = generator.randrange(len(text))
        piece = generator.choice(["", "9", "-", "\t", "GPU7", "[", '"', "TABLE:"])
        (tmp_path / "bad").write_text(text[:at] + piece + text[at + generator.randrange(9) :])
        try:
            assert first_host(str(tmp_path / "bad")).gpus
        except HopbytesError as error:
            assert "\n" not in str(error)  # noqa: PT017
