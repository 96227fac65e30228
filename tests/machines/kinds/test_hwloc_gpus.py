"""GPUs of hwloc files: several behind one address, several makers, the numbers of runtimes."""

from __future__ import annotations

import pytest

import hopbytes as hb
from helpers.paths import SHARED
from hopbytes.machines.kinds.hwloc import read_hwloc

HEAD = '<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x{all:x}" gp_index="1">'


def node(packages, pus=4):
    """Return a file: in each package `pus` cores of one thread, and PCI devices as (bus, type, names)."""
    text, number = HEAD.format(all=(1 << len(packages) * pus) - 1), 10
    for package, devices in enumerate(packages):
        own = ((1 << pus) - 1) << package * pus
        text += f'<object type="Package" os_index="{package}" cpuset="0x{own:x}" gp_index="{package + 2}">'
        for pu in range(package * pus, (package + 1) * pus):
            text += f'<object type="Core" os_index="{pu}" cpuset="0x{1 << pu:x}">'
            text += f'<object type="PU" os_index="{pu}" cpuset="0x{1 << pu:x}"/></object>'
        for bus, kind, names in devices:
            number += 1
            text += f'<object type="PCIDev" gp_index="{number}" pci_busid="{bus}" pci_type="{kind}">'
            for name in names:
                number += 1
                text += f'<object type="OSDev" gp_index="{number}" name="{name}" osdev_type="5"/>'
            text += "</object>"
        text += "</object>"
    return text + "</object></topology>"


AMD, NVIDIA, INTEL = "1200 [1002:74a0]", "0302 [10de:2330]", "0380 [8086:0bd5]"


def gpus(folder, packages):
    path = folder / "node.xml"
    path.write_text(node(packages))
    tree = read_hwloc(str(path))
    return [
        (gpu.index, gpu.name, gpu.maker, gpu.shown_as, gpu.pus[0] // 4) for gpu in tree.gpus
    ], tree.notices


def names(first, count, prefix="rsmi"):
    return [f"{prefix}{number}" for number in range(first, first + count)]


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 6, 8])
def test_partitions_of_a_device_are_gpus(tmp_path, parts):
    """SPX, DPX, TPX, QPX and CPX show 1 to 8 devices with one address."""
    found, notices = gpus(
        tmp_path, [[("0000:02:00.0", AMD, names(0, parts))], [("0001:02:00.0", AMD, names(parts, parts))]]
    )
    assert found == [(i, f"rsmi{i}", "amd", str(i), i // parts) for i in range(2 * parts)]
    assert notices == ()


def test_numbers_are_those_of_the_runtime(tmp_path):
    """The driver counts the device of the second package first, and one of the numbers is missing."""
    found, _ = gpus(
        tmp_path, [[("0000:02:00.0", AMD, ["rsmi2", "rsmi3"])], [("0001:02:00.0", AMD, ["rsmi0"])]]
    )
    assert [gpu[:1] + gpu[4:] for gpu in found] == [(0, 1), (2, 0), (3, 0)]


def test_each_maker_counts_its_own(tmp_path):
    packages = [
        [("0000:81:00.0", NVIDIA, ["nvml0", "cuda0"])],
        [("0000:c1:00.0", AMD, ["rsmi0", "opencl0d0"])],
    ]
    found, _ = gpus(tmp_path, packages)
    assert found == [(0, "cuda0", "nvidia", "0", 0), (1, "rsmi0", "amd", "0", 1)]
    where = hb.allocate(f"hwloc:{tmp_path / 'node.xml'}", per="gpu")
    assert [where.shown_gpus(pe) for pe in range(2)] == [("0",), ("0",)]
    # hwloc without the runtime of the second one finds it on the bus.
    packages[1][0] = (*packages[1][0][:2], [])
    assert gpus(tmp_path, packages)[0][1] == (1, "0000:c1:00.0", "amd", "0", 1)


def test_a_runtime_that_saw_fewer_gpus(tmp_path):
    """With CUDA_VISIBLE_DEVICES=1 the second GPU is cuda0: its number is that of the driver."""
    found, notices = gpus(
        tmp_path, [[("0000:81:00.0", NVIDIA, ["nvml0"])], [("0000:c1:00.0", NVIDIA, ["nvml1", "cuda0"])]]
    )
    assert [gpu[:2] + gpu[4:] for gpu in found] == [(0, "nvml0", 0), (1, "nvml1", 1)]
    assert len(notices) == 1
    assert "numbers are those of nvml" in notices[0]


def test_tiles_of_level_zero(tmp_path):
    """Parts stand for their device, and the variable takes both numbers; flat numbers are of devices."""
    tiles = [f"ze0{part}" for part in ("", ".0", ".1")]
    found, _ = gpus(
        tmp_path, [[("0000:18:00.0", INTEL, tiles)], [("0000:19:00.0", INTEL, ["ze1", "ze1.0", "ze1.1"])]]
    )
    assert found == [
        (0, "ze0.0", "intel", "0.0", 0), (1, "ze0.1", "intel", "0.1", 0),
        (2, "ze1.0", "intel", "1.0", 1), (3, "ze1.1", "intel", "1.1", 1),
    ]  # fmt: skip
    flat, _ = gpus(
        tmp_path, [[("0000:18:00.0", INTEL, ["ze0", "ze1"])], [("0000:19:00.0", INTEL, ["ze2", "ze3"])]]
    )
    assert [gpu[3:] for gpu in flat] == [("0", 0), ("1", 0), ("2", 1), ("3", 1)]


def test_opencl_counts_other_devices_too(tmp_path):
    found, _ = gpus(
        tmp_path, [[("0000:81:00.0", AMD, ["opencl0d1"])], [("0000:c1:00.0", AMD, ["opencl0d3"])]]
    )
    assert [gpu[1:4] for gpu in found] == [("opencl1", "amd", "0"), ("opencl3", "amd", "1")]


def test_a_slot_for_each_partition(tmp_path):
    path = tmp_path / "node.xml"
    path.write_text(node([[("0000:02:00.0", AMD, names(0, 4))], [("0001:02:00.0", AMD, names(4, 4))]]))
    where = hb.allocate(f"hwloc:{path}@n[1-2]", per="gpu")
    assert where.gpus.tolist() == [*range(8)] * 2
    assert [where.os_pus(pe) for pe in range(8)] == [(pe,) for pe in range(8)]


@pytest.mark.shared
def test_mi300a_of_the_samples():
    where = hb.allocate(f"hwloc:{SHARED}/cases/gpu-partitions/mi300a_cpx.xml", per="gpu")
    tree = where.machine.inventory.tree(0)
    assert len(tree.gpus) == 24
    package = dict(
        zip(tree.os_pus.tolist(), tree.units[:, tree.kinds.index("package")].tolist(), strict=True)
    )
    assert [{package[pu] for pu in gpu.pus} for gpu in tree.gpus] == [{i // 6} for i in range(24)]
    assert sorted(where.gpus.tolist()) == [*range(24)]
