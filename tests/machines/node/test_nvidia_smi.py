"""Tables of ``nvidia-smi topo -m`` in the forms that drivers, jobs and terminals give them."""

from __future__ import annotations

import pytest

import hopbytes as hb
from hopbytes.machines.kinds.machine import machine_text
from hopbytes.machines.kinds.nvidia import read_gpu_hosts
from hopbytes.machines.spec import kind_of_file
from hopbytes.pictures.boxes import boxes_of, drawing


def first_host(path):
    return read_gpu_hosts(path).trees[0]

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


PAIRS = ["X NV12 SYS SYS", "NV12 X SYS SYS", "SYS SYS X NV12", "SYS SYS NV12 X"]
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
        table(PAIRS, near("0-23", "24-47", "48-71", "72-95")),
        [("node", 2), ("nvlink", 2), ("gpu", 2), ("core", 24)], tuple(range(24)), 1,
    ),
    "one memory node with threads or without": (
        table(full("NODE", 2), near("0-31", "0-31")), [("node", 2), ("gpu", 2), ("core", 16)],
        (*range(8), *range(16, 24)), 1,
    ),
    "interleaved sockets": (
        table([row.replace("NV12", "NODE") for row in PAIRS], near(EVEN, EVEN, ODD, ODD)),
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
    tree = where.machine.tree
    levels = [(tier.name, count) for tier, count in zip(tree.tiers, tree.children, strict=True)]
    return levels, where.os_pus(0), len(where.machine.notices())


@pytest.mark.parametrize("copied", [False, True], ids=["tabs", "blanks"])
@pytest.mark.parametrize("name", FORMS)
def test_forms_of_the_table(tmp_path, name, copied):
    """As the program writes it, and as a terminal shows it, from where it may be copied."""
    text, levels, first, notices = FORMS[name]
    path = tmp_path / "topo.txt"
    path.write_bytes((text.expandtabs(8) if copied else text).encode())
    assert described(path) == (levels, first, notices)
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
    path.write_text(table(PAIRS, ["\tN/A\tN/A\t\tN/A"] * 4))
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
