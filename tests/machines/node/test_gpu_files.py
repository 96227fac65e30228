"""``nvidia-smi topo -m`` and topology files of NCCL: units, CPUs, adapters, GPU numbers; damage."""

import json
import re

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import EXAMPLES, GPU_SAMPLES, SHARED
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.machine import machine_text
from hopbytes.machines.node.gpu_files import read_gpu_hosts
from hopbytes.machines.spec import kind_of_file
from hopbytes.show.boxes import boxes_of, drawing


def first_host(path):
    return read_gpu_hosts(path).trees[0]


SWITCH, PAIRS = GPU_SAMPLES / "nvswitch_topo.txt", GPU_SAMPLES / "pairs_topo.txt"
NCCL = GPU_SAMPLES / "nccl_topo.xml"


def levels(path):
    tree = hb.allocate(f"nvidia:{path}@n[1-2]").machine.topology
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


TO_SWITCH = '<nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/>'
GPU_ELEMENT = r'<gpu dev="0"[\s\S]*?</gpu>'


@pytest.mark.parametrize(("source", "old", "new", "expected"), [
    (PAIRS, "NV4", "NV4", [("nvlink", 2), ("gpu", 2), ("core", 6)]),
    (PAIRS, "NV4", "NODE", [("numa", 2), ("gpu", 2), ("core", 6)]),
    (PAIRS, "NV4", "SYS", [("gpu", 4), ("core", 6)]),
    (NCCL, "<nvlink[^>]*>", TO_SWITCH, [("gpu", 4), ("core", 8)]),
    (NCCL, "<nvlink[^>]*>", "", [("pci", 2), ("gpu", 2), ("core", 8)]),
])  # fmt: skip
def test_units_are_gpus_that_something_joins(tmp_path, source, old, new, expected):
    path = tmp_path / "topo"
    path.write_text(re.sub(old, new, source.read_text()))
    assert levels(path) == [("node", 2), *expected]


def test_pairs_share_an_adapter():
    near = [gpu.adapter.name for gpu in first_host(str(PAIRS)).gpus]
    assert near == ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]


def test_parts_of_one_device_in_a_file_of_nccl(tmp_path):
    """Several GPUs in one function are parts of a device."""
    (one,) = re.findall(GPU_ELEMENT, NCCL.read_text())
    path = tmp_path / "topo.xml"
    two = one + one.replace('dev="0"', 'dev="7"')
    path.write_text(NCCL.read_text().replace(one, two).replace("nvlink", "link"))
    assert [name for name, _ in levels(path)] == ["node", "pci", "card", "gpu", "core"]


def test_links_across_sockets():
    """GPUs 0 and 2, and 1 and 3, are a unit each: slots keep the numbers that NVIDIA's tools use."""
    where = hb.allocate(f"nvidia:{NCCL}@n[1-2]")
    assert where.gpus.tolist() == [0, 2, 1, 3] * 2
    assert levels(NCCL) == [("node", 2), ("nvlink", 2), ("gpu", 2), ("core", 8)]
    assert [where.os_pus(pe)[0] for pe in range(4)] == [0, 16, 8, 24]
    near = [gpu.adapter.name for gpu in where.machine.inventory.tree(0).gpus]
    assert near == ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]


def rack(hosts, switch=TO_SWITCH):
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
    assert [tier.name for tier in where.machine.topology.tiers] == ["node", "gpu", "core"]
    node, gpu = where.machine.topology.tiers[:2]
    assert node.distance == gpu.distance
    assert hb.allocate(where.machine.spec()).k == 72
    assert hb.allocate(f"nvidia:{path}:node=9").machine.topology.tiers[0].distance == 9
    with pytest.raises(FormatError, match="2 names for the 18 hosts of the file"):
        hb.allocate(f"nvidia:{path}@n[1-2]")
    path.write_text(rack(3, switch=""))
    node, pci, *_ = hb.allocate(f"nvidia:{path}").machine.topology.tiers
    assert node.distance > pci.distance


def test_inside_a_network_and_recognised():
    for path in (SWITCH, PAIRS, NCCL):
        assert kind_of_file(str(path)) == "nvidia"
    inside = hb.allocate(f"fattree:4 / nvidia:{PAIRS}")
    assert inside.k == 4 * 4
    assert inside.gpus.tolist()[:8] == [0, 1, 2, 3] * 2
    assert hb.allocate(f"fattree:4 / nvidia:{NCCL}").gpus.tolist()[:8] == [0, 2, 1, 3] * 2
    fabric = hb.allocate(f"ib:{EXAMPLES}/fabric:rails=gpu / nvidia:{PAIRS}")
    assert fabric.gpus is not None


BAD = [
    (PAIRS, lambda text: text.replace("GPU0\tGPU1", "GPU0: GPU1"), "no table of GPUs"),
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


def test_hosts_twice_and_no_file():
    with pytest.raises(FormatError, match=mentions("n1", "twice")):
        hb.allocate(f"nvidia:{PAIRS}@n1,n1")
    with pytest.raises(FormatError, match="without a file name"):
        hb.allocate("nvidia:@n1")


ABOUT = "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"
LEGEND = "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n"


def table(ways, about, head=ABOUT, names=(), legend=LEGEND):
    """Return a table: a word per other device in `ways`, and what follows the ways in each row of a GPU."""
    columns = [f"GPU{place}" for place in range(len(ways))] + list(names)
    lines = ["\t" + "\t".join(columns) + head]
    for place, row in enumerate(ways):
        words = [" X " if word == "X" else word for word in row.split()]
        lines.append("\t".join([columns[place], *words]) + about[place])
    lines += [f"{name}\t" + "\t".join(["SYS"] * len(columns)) + "\t\t\t\t" for name in names]
    return "\n".join(lines) + "\n" + legend


def near(*cpus):
    return [f"\t{text}\t{place % 2}\t\tN/A" for place, text in enumerate(cpus)]


def full(way, count, *rest):
    return [" ".join(["X" if i == j else way for j in range(count)] + list(rest)) for i in range(count)]


TWO_PAIRS = ["X NV12 SYS SYS", "NV12 X SYS SYS", "SYS SYS X NV12", "SYS SYS NV12 X"]
ODD, EVEN = ",".join(map(str, range(1, 32, 2))), ",".join(map(str, range(0, 32, 2)))
TWO_SOCKETS = near(*["0-23,48-71"] * 4, *["24-47,72-95"] * 4)
UNBOUND = [("node", 2), ("gpu", 2)]

#: name: (text, levels of two hosts, CPUs of the first GPU, number of notices)
FORMS = {
    "nvswitch of a cloud": (
        table(full("NV12", 8), TWO_SOCKETS), [("node", 2), ("gpu", 8), ("core", 6), ("pu", 2)],
        (*range(6), *range(48, 54)), 0,
    ),
    "titles underlined, adapters with a legend": (
        table(full("NV18", 2, "PXB", "NODE"), near(*["0-63,128-191"] * 2), names=("NIC0", "NIC1"))
        .replace("\t", "\t\x1b[4m", 1).replace("ID\n", "ID\x1b[0m\n")
        + "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_0\n",
        [("node", 2), ("gpu", 2), ("core", 32), ("pu", 2)], (*range(32), *range(128, 160)), 0,
    ),
    "pairs on four memory nodes": (
        table(TWO_PAIRS, near("0-23", "24-47", "48-71", "72-95")),
        [("node", 2), ("nvlink", 2), ("gpu", 2), ("core", 24)], tuple(range(24)), 1,
    ),
    "one memory node with threads or without": (
        table(full("NODE", 2), near("0-31", "0-31")), [("node", 2), ("gpu", 2), ("core", 16)],
        (*range(8), *range(16, 24)), 1,
    ),
    "a range for the two GPUs of each socket": (
        table([row.replace("NV12", "NODE") for row in TWO_PAIRS], near("0-7", "0-7", "8-15", "8-15")),
        [("node", 2), ("numa", 2), ("gpu", 2), ("core", 4)], (0, 1, 2, 3), 1,
    ),
    "interleaved sockets": (
        table([row.replace("NV12", "NODE") for row in TWO_PAIRS], near(EVEN, EVEN, ODD, ODD)),
        [("node", 2), ("numa", 2), ("gpu", 2), ("core", 8)], (0, 2, 4, 6, 16, 18, 20, 22), 1,
    ),
    "a job with parts of cores": (
        table(full("NV12", 2), near("0-1,3,64-65,67", "0-1,3,64-65,67")),
        [("node", 2), ("gpu", 2), ("core", (1, 2, 1, 2)), ("pu", 2)], (0, 64), 1,
    ),
    "a job with half of its threads": (
        table(full("NV12", 2), near("0-3,64-66", "0-3,64-66")),
        [("node", 2), ("gpu", 2), ("core", (3, 4, 3, 4))], (0, 1, 2), 1,
    ),
    "X without blanks": (
        table(full("NV18", 4), near(*["0-3"] * 4)).replace(" X ", "X"),
        [("node", 2), ("gpu", 4), ("core", 1)], (0,), 1,
    ),
    "no list, the number of a memory node": (
        table(full("PIX", 2), ["\t\t3\t\tN/A"] * 2), UNBOUND, None, 1,
    ),
    "no list and nothing else": (table(full("PHB", 2), ["\t\t\t", ""]), UNBOUND, None, 1),
    "not available": (table(full("SYS", 2), ["\tN/A\tN/A\t\tN/A", "\t\tN/A\t\tN/A"]), UNBOUND, None, 1),
    "fewer CPUs than GPUs": (table(full("NV12", 2), near("7", "7")), UNBOUND, None, 1),
    "one list is missing": (table(full("NV12", 2), near("0-7", "")), UNBOUND, None, 1),
    "lists that overlap": (table(full("NV12", 2), near("0-7", "0-8")), UNBOUND, None, 1),
    "titles cut off": (table(full("NV12", 2), ["", ""], head=""), UNBOUND, None, 1),
    "GPUs with memory nodes of their own": (
        table(full("NV18", 2), ["\t0-71\t0,2-17\t\t2", "\t72-143\t1,18-33\t\t10"]),
        [("node", 2), ("gpu", 2), ("core", 72)], tuple(range(72)), 1,
    ),
    "an old driver": (
        table(
            ["X SOC PHB", "SOC X SOC"], ["\t0-9,20-29", "\t10-19,30-39"], "\tCPU Affinity", ("mlx4_0",)
        ),
        [("node", 2), ("gpu", 2), ("core", 10), ("pu", 2)], (*range(10), *range(20, 30)), 0,
    ),
    "unequal ranges": (
        table(full("NODE", 2), near("32-63,96-123", "0-31,64-95")),
        [("node", 2), ("gpu", 2), ("core", (60, 32) * 2), ("pu", ((1,) * 60 + (2,) * 32) * 2)],
        (*range(32, 64), *range(96, 124)), 1,
    ),
    "line ends of Windows": (
        table(full("NV12", 2), near("0-7", "8-15")).replace("\n", "\r\n"),
        [("node", 2), ("gpu", 2), ("core", 8)], tuple(range(8)), 1,
    ),
    "after the command and its other table": (
        "$ nvidia-smi; nvidia-smi topo -m\n|   0  NVIDIA H100   On  | GPU0\n"
        + table(full("NV12", 2), near("0-7", "8-15")),
        [("node", 2), ("gpu", 2), ("core", 8)], tuple(range(8)), 1,
    ),
    "rows indented": (
        "".join(f"\t{line}\n" for line in table(full("NV12", 2), near("0-7", "8-15")).splitlines()),
        [("node", 2), ("gpu", 2), ("core", 8)], tuple(range(8)), 1,
    ),
}  # fmt: skip


def described(path):
    where = hb.allocate(f"nvidia:{path}@n[1-2]")
    return levels(path), where.os_pus(0), len(where.machine.notices())


@pytest.mark.parametrize("copied", [False, True], ids=["tabs", "blanks"])
@pytest.mark.parametrize("name", FORMS)
def test_forms_of_the_table(tmp_path, name, copied):
    """As the program writes it, and as a terminal shows it, from where it may be copied."""
    text, expected, first, notices = FORMS[name]
    path = tmp_path / "topo.txt"
    path.write_bytes((text.expandtabs(8) if copied else text).encode())
    assert described(path) == (expected, first, notices)
    where = hb.allocate(f"nvidia:{path}@n[1-2]")
    gpus = len(first_host(str(path)).gpus)
    assert where.k == 2 * gpus
    assert sorted(where.gpus.tolist()) == sorted([*range(gpus)] * 2)
    assert where.has_cores == (first is not None)
    again = hb.allocate(where.machine.spec())
    assert again.k == where.k


@pytest.mark.parametrize("name", FORMS)
def test_no_two_gpus_have_a_core(tmp_path, name):
    """Whichever way the threads of a core are numbered: next to each other, or half of a list apart."""
    path = tmp_path / "topo.txt"
    path.write_bytes(FORMS[name][0].encode())
    gpus = first_host(str(path)).gpus
    owner = {pu: gpu.index for gpu in gpus for pu in gpu.pus}
    assert len(owner) == sum(len(gpu.pus) for gpu in gpus)
    if name in ("one memory node with threads or without", "interleaved sockets"):
        assert all(owner[pu] == owner[pu + 16] for pu in range(16))
    if name == "one memory node with threads or without":
        assert all(owner[pu] == owner[pu + 1] for pu in range(0, 32, 2))


def test_adapters_by_the_names_of_the_legend(tmp_path):
    path = tmp_path / "topo.txt"
    path.write_text(FORMS["titles underlined, adapters with a legend"][0])
    assert [gpu.adapter.name for gpu in first_host(str(path)).gpus] == ["mlx5_0", "mlx5_0"]
    assert kind_of_file(str(path)) == "nvidia"


def test_a_row_whose_blanks_were_lost(tmp_path):
    """Without columns a single number may be a CPU or a memory node: it is neither guessed."""
    path = tmp_path / "topo.txt"
    path.write_text("GPU0 NIC0 CPU Affinity NUMA Affinity GPU NUMA ID\nGPU0 X PIX 3 N/A\nNIC0 PIX X\n")
    assert described(path) == ([("node", 2), ("gpu", 1)], None, 1)
    path.write_text("GPU0 NIC0 CPU Affinity NUMA Affinity GPU NUMA ID\nGPU0 X PIX 4-7 3 N/A\nNIC0 PIX X\n")
    assert described(path) == ([("node", 2), ("gpu", 1), ("core", 4)], (4, 5, 6, 7), 1)


def test_one_gpu_for_each_host_is_a_slot(tmp_path):
    path = tmp_path / "one.txt"
    path.write_text(table(["X"], near("0-7,16-23")))
    where = hb.allocate(f"nvidia:{path}@n[1-4]")
    assert (where.k, where.gpus.tolist()) == (4, [0] * 4)
    assert len(where.os_pus(0)) == 16
    assert hb.allocate(f"nvidia:{path}").k == 1
    assert hb.allocate(f"fattree:4 / nvidia:{path}").k == 4
    path.write_text(table(["X"], ["\t\t3\t\tN/A"]))
    assert hb.allocate(f"nvidia:{path}").gpus.tolist() == [0]
    assert not hb.allocate(f"fattree:4 / nvidia:{path}").has_cores


def test_gpus_without_known_cpus_in_files_and_networks(tmp_path):
    path, stored, ranks = tmp_path / "topo.txt", tmp_path / "machine.json", tmp_path / "ranks"
    path.write_text(table(TWO_PAIRS, ["\tN/A\tN/A\t\tN/A"] * 4))
    where = hb.allocate(f"nvidia:{path}@n[1-2]")
    assert where.machine.levels[1].name == "nvlink"
    facts = where.machine.inventory.tree(0).facts()
    assert facts == {"pus": 0, "cores": 0, "packages": 0, "numa": 0, "gpus": 4}
    stored.write_text(machine_text(where.machine, "test"))
    again = hb.allocate(f"machine:{stored}")
    assert again.machine.inventory == where.machine.inventory
    assert (again.os_pus(3), again.gpus.tolist()) == (None, [0, 1, 2, 3] * 2)
    assert again.machine.notices() == where.machine.notices()
    rails = hb.allocate(f"rails:2x4 / nvidia:{path}")
    assert (rails.k, rails.has_cores) == (8, False)
    mapping = hb.map_tasks(hb.read("stencil:8"), where, "fast")
    hb.write(mapping, ranks, "slurm")
    script = (tmp_path / "ranks.place.sh").read_text()
    assert "taskset" not in script.split("esac", 1)[1]
    assert "gpus= maker=nvidia" in script
    drawn = "\n".join(drawing(boxes_of(where)[0]))
    assert "PU" not in drawn.replace("GPU", "")
    assert "GPUs of their node" in where._repr_svg_()


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


def levels_of_text(path, text):
    path.write_text(text)
    where = hb.allocate(f"amd:{path}@n[1-2]")
    assert not where.has_cores
    assert len(where.machine.notices()) == 1
    assert {gpu.maker for gpu in where.machine.inventory.tree(0).gpus} == {"amd"}
    tree = where.machine.topology
    return [(tier.name, count) for tier, count in zip(tree.tiers, tree.children, strict=True)]


def halves(i, j):
    return "XGMI" if i // 4 == j // 4 else "PCIE"


def alike(word):
    return lambda i, j: word


@pytest.mark.parametrize(("text", "expected"), [
    (amd_smi(buses(8), alike("XGMI")), [("gpu", 8)]), (amd_smi(buses(8), halves), [("xgmi", 2), ("gpu", 4)]),
    (rocm_smi(8, alike("XGMI"), [0] * 4 + [1] * 4), [("gpu", 8)]),
    (rocm_smi(8, halves, [0] * 8), [("xgmi", 2), ("gpu", 4)]),
    (rocm_smi(4, alike("PCIE"), [0, 0, 1, 1]), [("numa", 2), ("gpu", 2)]),
    (rocm_smi(4, alike("PCIE"), [0, 0, 1, 1], "GPU {}          "), [("numa", 2), ("gpu", 2)]),
    (rocm_smi(2, alike("PCIE"), [-1, -1]), [("gpu", 2)]),
    # Two steps stay in a memory node.
    (amd_smi(buses(4), alike("PCIE"), lambda i, j: 2 + (i // 2 != j // 2)), [("numa", 2), ("gpu", 2)]),
], ids=range(8))  # fmt: skip
def test_units_of_amd(tmp_path, text, expected):
    path = tmp_path / "topo.txt"
    assert levels_of_text(path, text) == [("node", 2), *expected]
    assert kind_of_file(str(path)) == "amd"


@pytest.mark.parametrize("parts", [2, 3, 8])
def test_partitions_of_a_device_are_a_unit(tmp_path, parts):
    names = [f"0000:{bus:02x}:00.{part}" for bus in (12, 34, 56) for part in range(parts)]
    path = tmp_path / "topo.txt"
    text = amd_smi(names, lambda i, j: "XGMI")
    assert levels_of_text(path, text) == [("node", 2), ("card", 3), ("gpu", parts)]
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
        assert levels_of_text(path, json.dumps(content)) == [("node", 2), ("xgmi", 2), ("gpu", 4)]


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
    assert [tier.name for tier in where.machine.topology.tiers] == ["node", "gpu", "core"]
    assert [(gpu.name, gpu.maker) for gpu in tree.gpus] == [(f"rsmi{i}", "amd") for i in range(4)]
    bare = path.read_text()
    while "<gpu" in bare:
        bare = bare[: bare.index("<gpu")] + bare[bare.index("</gpu>") + 6 :]
    path.write_text(bare)
    where = hb.allocate(f"amd:{path}")
    assert where.gpus.tolist() == [0, 1, 2, 3]
    assert where.known_gpus(3)[0].maker == "amd"
    assert [tier.name for tier in where.machine.topology.tiers] == ["numa", "gpu", "core"]


GOOD = amd_smi(buses(3), lambda i, j: "XGMI")
BAD_AMD = [
    (GOOD[: GOOD.index("LINK TYPE") + 120], "rows of GPUs, expected 3 as columns.*cut off"),
    (GOOD.replace("0 XGMI", "0 SPAM"), "'SPAM', expected one of SELF"),
    (GOOD.replace("\n0000:1c:00.0 1", "\n0000:2c:00.0 1"), "expected 0000:1c:00.0 and a value for each"),
    ("ACCESS TABLE:\n", "no GPU in a table of link types"),
    ("[1, 2", ":1: not JSON"), ("[1, 2]", "expected JSON of the form"), ("{}", "no GPU in a table"),
    (GOOD + "x" * 20000, "a line of 20000 characters"),
]


@pytest.mark.parametrize(("kind", "text", "words"), [
    *(("nvidia", change(path.read_text()), words) for path, change, words in BAD),
    *(("amd", text, words) for text, words in BAD_AMD),
], ids=range(len(BAD) + len(BAD_AMD)))  # fmt: skip
def test_bad_files_are_explained(tmp_path, kind, text, words):
    bad = tmp_path / "topo"
    bad.write_text(text)
    with pytest.raises(FormatError, match=words) as caught:
        hb.allocate(f"{kind}:{bad}")
    assert str(bad) in str(caught.value)
    assert "\n" not in str(caught.value)


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


def test_a_file_without_affinities(tmp_path):
    path = tmp_path / "topo.xml"
    path.write_text(re.sub('affinity="[^"]*"', "", NCCL.read_text()))
    where = hb.allocate(f"nvidia:{path}")
    assert (where.k, where.has_cores, where.os_pus(0)) == (4, False, None)


@pytest.mark.parametrize("numbers", [(0, 0), (0, -1)])
def test_gpus_in_json_have_numbers_of_their_own(tmp_path, numbers):
    path = tmp_path / "topo.json"
    path.write_text(json.dumps([{"gpu": number, "links": []} for number in numbers]))
    with pytest.raises(FormatError, match=mentions("topo.json", f"GPU {numbers[1]}", "amd-smi")):
        read_gpu_hosts(str(path))
