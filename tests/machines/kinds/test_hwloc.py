"""hwloc files: the levels, numbers and GPUs of small files written for this, and of many real machines."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions, refused
from helpers.hwloc_text import AMD, INTEL, NVIDIA, node
from helpers.paths import SHARED, SHARED_SAMPLES, hwloc_sample
from hopbytes.errors import FormatError, HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.machines.kinds.hwloc import read_hwloc
from hopbytes.show.describe import machine_facts, machine_text


def levels(spec: str) -> str:
    return hb.allocate(spec).machine.topology.spec()


@pytest.mark.parametrize(("name", "expected"), [
    # PUs 7 and 15 may not be used, so the last core is missing; a NUMA domain is a package here.
    ("v2_smt_gpus.xml", "package:2@10 l3:2@3 core:[2,2,2,1]@2 pu:2@1"),
    # PU 7 is offline. One PU per core and one L3 per package are no levels of their own.
    ("v1_numa_outside.xml", "package:2@10 core:[4,3]@2"),
    # The slow cores share an L2, the fast ones have one each: uneven stays uneven.
    ("v3_hybrid.xml", "l2:3@2 core:[1,1,4]@1 pu:[2,2,1,1,1,1]@1"),
    ("v2_no_cores.xml", "numa:2@5 pu:2@1"),
])  # fmt: skip
def test_levels_of_small_files(name, expected):
    assert levels(f"hwloc:{hwloc_sample(name)}") == expected


def test_numbers_of_the_operating_system_and_logical_numbers():
    tree = read_hwloc(hwloc_sample("v2_smt_gpus.xml"))
    assert tree.os_pus.tolist() == [0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14]
    assert tree.logical_pus.tolist() == list(range(14))
    assert tree.cores.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    assert tree.host == "node07"
    assert tree.facts() == {"pus": 14, "cores": 7, "packages": 2, "numa": 2, "gpus": 3}


def test_numbers_skip_what_may_not_be_used():
    tree = read_hwloc(hwloc_sample("v2_smt_gpus.xml")).restricted({9, 3, 11})
    assert tree.os_pus.tolist() == [9, 3, 11]
    assert tree.logical_cores.tolist() == [1, 3, 3], "counted over all cores"
    assert tree.cores.tolist() == [0, 1, 1], "counted over those that may be used"
    with pytest.raises(FormatError, match="no hardware thread"):
        tree.restricted({4})


def test_places_are_cores_of_all_their_threads_unless_asked():
    spec = f"hwloc:{hwloc_sample('v2_smt_gpus.xml')}"
    where = hb.allocate(spec)
    assert [where.os_pus(pe) for pe in range(where.k)] == [(core, core + 8) for core in range(7)]
    threads = hb.allocate(spec, per="pu")
    assert [threads.os_pus(pe) for pe in range(3)] == [(0,), (8,), (1,)]


def test_hosts_make_nodes_and_unlike_nodes_keep_their_own_numbers():
    smt, old = hwloc_sample("v2_smt_gpus.xml"), hwloc_sample("v1_numa_outside.xml")
    where = hb.allocate(f"hwloc:{smt}@n[1-2],hwloc:{old}@old")
    assert where.hosts == ("n1", "n2", "old")
    assert [level.name for level in where.machine.levels] == ["node", "package", "l3", "core", "pu"]
    assert np.bincount(where.node_of_pe).tolist() == [7, 7, 7]
    assert where.os_pus(7 + 6) == (6, 14)
    assert where.os_pus(14 + 6) == (6,)
    # Cores of the old node are as far apart as in it alone: other nodes' levels do not tear it apart.
    apart = where.distance
    assert apart.between(14, 15) == 2
    assert apart.between(14, 18) == 10
    assert apart.between(0, 14) == 40


def test_distances_can_be_replaced_also_by_the_name_of_a_merged_kind():
    spec = f"hwloc:{hwloc_sample('v2_smt_gpus.xml')}"
    where = hb.allocate(spec, distance="numa=30,l3=7")
    assert [level.distance for level in where.machine.levels] == [30, 7, 2, 1]
    assert where.machine.spec() == f"{spec}:package=30:l3=7"
    with pytest.raises(UnsupportedError, match="unknown level 'l9'"):
        hb.allocate(spec, distance="l9=3")
    with pytest.raises(FormatError, match="below"):
        hb.allocate(spec, distance="l3=99")


def test_options_take_the_names_of_merged_kinds():
    spec = f"hwloc:{hwloc_sample('v1_numa_outside.xml')}"
    assert hb.allocate(spec, per="numa").k == 2
    assert hb.allocate(spec, exclude="l3.core=0").k == 5
    assert hb.allocate(spec, reserve="1/numa").k == 5


def test_one_slot_per_gpu_with_the_nearest_cores():
    spec = f"hwloc:{hwloc_sample('v2_smt_gpus.xml')}"
    where = hb.allocate(spec, per="gpu")
    assert where.gpus.tolist() == [0, 1, 2]
    # GPUs 0 and 1 share the first package, GPU 2 has the second for itself.
    assert [where.os_pus(pe) for pe in range(3)] == [
        (0, 1, 8, 9), (2, 3, 10, 11), (4, 5, 6, 12, 13, 14),
    ]  # fmt: skip
    assert where.known_gpus(2)[0].name == "cuda2"
    two = hb.allocate(spec, per="gpu", cores_per_task=2)
    assert two.os_pus(2) == (4, 5, 12, 13)
    assert two.notices == ("2 of 14 allowed cores are left over: they make no slot of 2 cores per gpu",)
    assert hb.allocate(f"{spec}@a,b", per="gpu").gpus.tolist() == [0, 1, 2, 0, 1, 2]


def test_slots_per_gpu_that_cannot_be():
    with pytest.raises(InfeasibleError, match="no node with a GPU"):
        hb.allocate(f"hwloc:{hwloc_sample('v3_hybrid.xml')}", per="gpu")
    with pytest.raises(InfeasibleError, match=mentions("0", "2", "3")):
        hb.allocate(f"hwloc:{hwloc_sample('v2_smt_gpus.xml')}", per="gpu", cores_per_task=3)


MIXED = """<topology version="2.0"><object type="Machine" os_index="0" cpuset="0xff">
<object type="Package" os_index="0" cpuset="0x0f"><object type="NUMANode" os_index="0" cpuset="0x0f"/>
<object type="Group" cpuset="0x03">{0}{1}</object><object type="Group" cpuset="0x0c">{2}{3}</object></object>
<object type="Package" os_index="1" cpuset="0xf0"><object type="Group" cpuset="0x30">
<object type="NUMANode" os_index="1" cpuset="0x30"/>{4}{5}</object><object type="Group" cpuset="0xc0">
<object type="NUMANode" os_index="2" cpuset="0xc0"/>{6}{7}</object></object></object></topology>"""


def test_memory_around_groups_and_inside_groups(tmp_path):
    core = '<object type="Core" os_index="{0}"><object type="PU" os_index="{0}"/></object>'
    cores = [core.format(number) for number in range(8)]
    path = tmp_path / "node.xml"
    path.write_text(MIXED.format(*cores))
    machine = hb.allocate(f"hwloc:{path}").machine
    assert machine.topology.spec() == "package:2@10 numa:[1,2]@5 group:[2,1,1]@5 core:2@1"
    assert machine.inventory.tree(0).facts() == {"pus": 8, "cores": 8, "packages": 2, "numa": 3, "gpus": 0}


def test_a_memory_node_as_the_outermost_object(tmp_path):
    path = tmp_path / "node.xml"
    text = """<topology><object type="NUMANode" os_index="0" cpuset="0x3">
    <object type="Socket" os_index="0"><object type="PU" os_index="0"/></object>
    <object type="Socket" os_index="1"><object type="PU" os_index="1"/></object></object></topology>"""
    path.write_text(text)
    machine = hb.allocate(f"hwloc:{path}").machine
    assert machine.topology.spec() == "pu:2@10"
    assert machine.inventory.tree(0).facts()["numa"] == 1


SHARED_HWLOC = SHARED_SAMPLES / "hwloc"
REAL = {
    # name: (levels, usable PUs, cores, packages, memory nodes, GPUs); checked against lstopo 2.9 where it
    # reads the file, and against the descriptions of the collection otherwise.
    "v1_corona11": ("package:2@10 numa:4@5 l3:2@3 core:3@2 pu:2@1", 96, 48, 2, 8, 4),
    "v1_fourmi012": ("package:2@10 core:4@2", 8, 8, 2, 2, 0),
    "v1_lassen": ("package:2@10 l3:10@3 core:2@1 pu:4@1", 160, 40, 2, 2, 4),
    "v1_mirage001": ("package:2@10 core:6@2", 12, 12, 2, 2, 3),
    "v2_16amd64-8n2c-cpusets": ("package:6@10 core:[2,2,1,1,2,2]@2", 10, 10, 6, 5, 0),
    "v2_16em64t-4s2c2t-offlines": ("package:4@10 core:[2,1,1,2]@2 pu:[1,2,1,1,1,1]@1", 7, 6, 4, 1, 0),
    "v2_24em64t-2n6c2t-pci": ("package:2@10 core:6@2 pu:2@1", 24, 12, 2, 2, 3),
    "v2_32em64t-2n8c2t-pci-normalio": ("package:2@10 core:8@2 pu:2@1", 32, 16, 2, 2, 2),
    "v2_64intel64-fakeKNL-SNC4-hybrid": ("numa:4@5 l2:2@2 core:2@1 pu:4@1", 64, 16, 1, 8, 0),
    "v2_8intel64-4n2t-memattrs": ("numa:4@5 pu:2@1", 8, 0, 0, 4, 0),
    "v2_96em64t-4n4d3ca2co-pci": ("numa:4@15 package:4@10 l2:3@2 core:2@1", 96, 96, 16, 4, 0),
    "v2_corona11_converted": ("package:2@10 numa:4@5 l3:2@3 core:3@2 pu:2@1", 96, 48, 2, 8, 4),
    "v2_fakecpukinds": ("core:2@1 pu:2@1", 4, 2, 1, 1, 0),
    "v2_lassen_converted": ("package:2@10 l3:10@3 core:2@1 pu:4@1", 160, 40, 2, 2, 4),
    "v2_memorysidecaches": ("package:2@10 numa:2@5 core:10@2 pu:2@1", 80, 40, 2, 4, 0),
    "v2_nvidiaDGX2": ("package:2@10 core:2@2", 4, 4, 2, 2, 16),
    "v2_power8gpudistances": ("package:2@10 core:4@3 pu:2@1", 16, 8, 2, 2, 4),
    "v3_KNL-XeonPhi-7210": ("l2:32@2 core:2@1 pu:4@1", 256, 64, 1, 1, 0),
    "v3_RaptorLake-i7-1370P": (
        "l2:8@2 core:[1,1,1,1,1,1,4,4]@1 pu:[2,2,2,2,2,2,1,1,1,1,1,1,1,1]@1", 20, 14, 1, 1, 0,
    ),
    "v3_Zen-2xEpyc-7451": ("package:2@10 l3:8@3 core:3@2 pu:2@1", 96, 48, 2, 1, 0),
    "v3_Zen3-2xEpyc-7763": ("package:2@10 l3:8@3 core:8@2", 128, 128, 2, 1, 0),
    "v3_nvidia-dgx-gb10": ("l3:2@3 core:10@2", 20, 20, 1, 1, 0),
}  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("name", REAL)
def test_real_machines(name):
    machine = hb.allocate(f"hwloc:{SHARED_HWLOC / name}.xml").machine
    assert (machine.topology.spec(), *machine.inventory.tree(0).facts().values()) == REAL[name]


def small(folder, inside, attributes="", version='version="2.0"'):
    path = folder / "small.xml"
    machine = f'<object type="Machine" os_index="0" {attributes}>{inside}</object>'
    path.write_text(f"<topology {version}>{machine}</topology>")
    return str(path)


def unit(kind, number, pus, inside="", more=""):
    mask = sum(1 << pu for pu in pus)
    return f'<object type="{kind}" os_index="{number}" cpuset="0x{mask:x}" {more}>{inside}</object>'


def test_memory_nodes_that_may_not_be_used_are_said(tmp_path):
    """lstopo leaves them out: here a job has two of eight."""
    inside = "".join(unit("Package", i, [i], unit("NUMANode", i, [i]) + unit("PU", i, [i])) for i in range(8))
    path = small(tmp_path, inside, 'cpuset="0xff" allowed_cpuset="0x3" allowed_nodeset="0x3"')
    where = hb.allocate(f"hwloc:{path}")
    tree = where.machine.inventory.tree(0)
    assert (where.k, tree.numa, tree.numa_barred) == (2, 8, 6)
    assert machine_facts(where)["numa_allowed"] == 2
    assert "8 memory nodes (2 allowed)" in machine_text(where)
    whole = hb.allocate(f"hwloc:{hwloc_sample('v2_smt_gpus.xml')}")
    assert "numa_allowed" not in machine_facts(whole)


def test_there_is_always_a_memory_node(tmp_path):
    """Files of hwloc 1.x may have none, and hwloc then counts one."""
    path = small(tmp_path, unit("PU", 0, [0]), 'cpuset="0x1"', version="")
    assert read_hwloc(path).numa == 1


def test_books_and_drawers_are_units_of_their_own(tmp_path):
    """Groups with these subtypes, as hwloc has them for IBM Z."""
    inside = "".join(
        unit("Group", i, [2 * i, 2 * i + 1], unit("Group", i, [2 * i, 2 * i + 1], "".join(
            unit("Core", pu, [pu], unit("PU", pu, [pu])) for pu in (2 * i, 2 * i + 1)
        ), 'subtype="Book"'), 'subtype="Drawer"')
        for i in range(2)
    )  # fmt: skip
    assert read_hwloc(small(tmp_path, inside, 'cpuset="0xf"')).kinds == ("drawer", "book", "core", "pu")


PU = '<object type="PU" os_index="0"/>'


def document(inside: str, head: str = '<topology version="2.0">', prolog: str = "") -> str:
    return f'<?xml version="1.0"?>{prolog}{head}{inside}</topology>'


BOMB = (
    '<!DOCTYPE topology [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>'
)
EXTERNAL = '<!DOCTYPE topology [<!ENTITY secret SYSTEM "file:///etc/hostname">]>'
PARAMETER = '<!DOCTYPE topology [<!ENTITY % remote SYSTEM "http://127.0.0.1:9/x.dtd"> %remote;]>'


@pytest.mark.parametrize(("text", "words"), [
    ("hello", "not well-formed XML"),
    ("<topology version='2.0'><object", "the file ends in the middle"),
    ("<html></html>", "<html>, expected <topology>"),
    (document("&c;", prolog=BOMB), "a document type with declarations of its own"),
    (document("&secret;", prolog=EXTERNAL), "a document type with declarations of its own"),
    (document("", prolog=PARAMETER), "a document type with declarations of its own"),
    (document("&undeclared;"), "not well-formed XML: undefined entity"),
    (document("&undeclared;", prolog='<!DOCTYPE topology SYSTEM "hwloc2.dtd">'), "an entity"),
    (document(""), "0 outermost objects, expected one of type Machine"),
    (document('<object type="Core"/>'), "expected one of type Machine"),
    (document('<object type="Machine"/>'), "0 of 0 PUs are online and allowed"),
    (document(f'<object type="Machine" cpuset="0x0">{PU}</object>'), "0 of 1 PUs"),
    (document(f'<object type="Machine" allowed_cpuset="0x2">{PU}</object>'), "0 of 1 PUs"),
    (document(f'<object type="Machine" cpuset="zz">{PU}</object>'), "set 'zz', expected words like"),
    (document(f'<object type="Machine">{PU}{PU}</object>'), "PU 0 twice"),
    (document('<object type="Machine"><object type="PU"/></object>'), "PU number missing"),
    (document('<object type="Machine"><object type="PU" os_index="-4"/></object>'), "PU number -4"),
    (document('<object type="Machine"><object type="PU" os_index="99999"/></object>'), "PU number 99999"),
    (document(f'<object type="Machine">{PU}</object>', "<topology version='x'>"), "version 'x'"),
    ("<topology>" + "<object>" * 300, "nested more than 200 deep"),
])  # fmt: skip
def test_files_with_a_fault(tmp_path, text, words):
    path = tmp_path / "node.xml"
    path.write_text(text)
    with pytest.raises(FormatError, match=r".") as caught:
        read_hwloc(str(path))
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_future_generations_are_named(tmp_path):
    path = tmp_path / "node.xml"
    path.write_text(document(f'<object type="Machine">{PU}</object>', '<topology version="4.0">'))
    with pytest.raises(UnsupportedError, match=mentions("4.0", "1", "3")):
        read_hwloc(str(path))


def test_an_external_document_type_is_not_fetched(tmp_path):
    path = tmp_path / "node.xml"
    prolog = '<!DOCTYPE topology SYSTEM "file:///nowhere/hwloc2.dtd">'
    path.write_text(document(f'<object type="Machine">{PU}</object>', prolog=prolog))
    assert read_hwloc(str(path)).os_pus.tolist() == [0]


@pytest.mark.parametrize(("spec", "words"), [
    ("hwloc:", "without a file name"), ("hwloc:@n1", "without a file name"),
    ("hwloc:/nowhere.xml", "No such file"), ("hwloc:{0}@n[1-", "open bracket"),
    ("hwloc:{0}@a,a", "'a' twice"), ("hwloc:{0}@a,hwloc:{0}", "without hosts"),
    ("hwloc:{0}@a,hwloc:{0}@a", "'a' twice"),
    ("hwloc:{0}:l2=9999999999999999999", "expected an integer from 0 to"),
])  # fmt: skip
def test_specs_with_a_fault(spec, words):
    with refused(HopbytesError, words):
        hb.allocate(spec.format(hwloc_sample("v3_hybrid.xml")))


def test_hosts_option_must_fit():
    with pytest.raises(FormatError, match=mentions("3", "2")):
        hb.allocate(f"hwloc:{hwloc_sample('v3_hybrid.xml')}@a,b", hosts="x,y,z")


def gpus(folder, *devices):
    """Return index, name, maker, what its variable takes and package of each GPU, and notices."""
    path = folder / "node.xml"
    path.write_text(node(*([device] for device in devices)))
    tree = read_hwloc(str(path))
    found = [(gpu.index, gpu.name, gpu.maker, gpu.shown_as, gpu.pus[0] // 4) for gpu in tree.gpus]
    return found, tree.notices


def names(first, count):
    return [f"rsmi{number}" for number in range(first, first + count)]


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 6, 8])
def test_partitions_of_a_device_are_gpus(tmp_path, parts):
    """SPX, DPX, TPX, QPX and CPX show 1 to 8 devices with one address."""
    found, notices = gpus(tmp_path, (AMD, names(0, parts)), (AMD, names(parts, parts)))
    assert found == [(i, f"rsmi{i}", "amd", str(i), i // parts) for i in range(2 * parts)]
    assert notices == ()
    where = hb.allocate(f"hwloc:{tmp_path}/node.xml@n[1-2]", per="gpu") if parts <= 4 else None
    assert where is None or where.gpus.tolist() == [*range(2 * parts)] * 2


@pytest.mark.parametrize(("devices", "expected"), [
    # The driver counts the device of the second package first, and one of the numbers is missing.
    ([(AMD, ["rsmi2", "rsmi3"]), (AMD, ["rsmi0"])],
     [(0, "rsmi0", "amd", "0", 1), (2, "rsmi2", "amd", "2", 0), (3, "rsmi3", "amd", "3", 0)]),
    # Each maker counts its own; hwloc without the runtime of one finds its GPU on the bus.
    ([(NVIDIA, ["nvml0", "cuda0"]), (AMD, ["rsmi0", "opencl0d0"])],
     [(0, "cuda0", "nvidia", "0", 0), (1, "rsmi0", "amd", "0", 1)]),
    ([(NVIDIA, ["nvml0", "cuda0"]), (AMD, [])],
     [(0, "cuda0", "nvidia", "0", 0), (1, "0001:02:00.0", "amd", "0", 1)]),
    # Tiles of Level Zero stand for their device; the variable takes both numbers, flat ones are of devices.
    ([(INTEL, ["ze0", "ze0.0", "ze0.1"]), (INTEL, ["ze1", "ze1.0", "ze1.1"])],
     [(0, "ze0.0", "intel", "0.0", 0), (1, "ze0.1", "intel", "0.1", 0), (2, "ze1.0", "intel", "1.0", 1),
      (3, "ze1.1", "intel", "1.1", 1)]),
    ([(INTEL, ["ze0", "ze1"]), (INTEL, ["ze2"])],
     [(0, "ze0", "intel", "0", 0), (1, "ze1", "intel", "1", 0), (2, "ze2", "intel", "2", 1)]),
    # OpenCL counts other devices too.
    ([(AMD, ["opencl0d1"]), (AMD, ["opencl0d3"])],
     [(0, "opencl1", "amd", "0", 0), (1, "opencl3", "amd", "1", 1)]),
])  # fmt: skip
def test_numbers_are_those_of_the_runtime_of_each_maker(tmp_path, devices, expected):
    assert gpus(tmp_path, *devices) == (expected, ())


def test_a_runtime_that_saw_fewer_gpus(tmp_path):
    """With CUDA_VISIBLE_DEVICES=1 the second GPU is cuda0: its number is that of the driver."""
    found, (notice,) = gpus(tmp_path, (NVIDIA, ["nvml0"]), (NVIDIA, ["nvml1", "cuda0"]))
    assert [gpu[:2] + gpu[4:] for gpu in found] == [(0, "nvml0", 0), (1, "nvml1", 1)]
    assert "numbers are those of nvml" in notice


@pytest.mark.shared
def test_mi300a_of_the_samples():
    where = hb.allocate(f"hwloc:{SHARED}/cases/gpu-partitions/mi300a_cpx.xml", per="gpu")
    tree = where.machine.inventory.tree(0)
    assert len(tree.gpus) == 24
    packages = tree.units[:, tree.kinds.index("package")].tolist()
    package = dict(zip(tree.os_pus.tolist(), packages, strict=True))
    assert [{package[pu] for pu in gpu.pus} for gpu in tree.gpus] == [{i // 6} for i in range(24)]
    assert sorted(where.gpus.tolist()) == [*range(24)]


def test_stored_mappings_keep_the_gpus(tmp_path):
    where = hb.allocate(f"hwloc:{hwloc_sample('v2_smt_gpus.xml')}", per="gpu")
    graph = hb.CommGraph.from_edges([0, 1], [1, 2], [5, 7])
    hb.write(hb.map_tasks(graph, where, seed=1), tmp_path / "m.json")
    stored = hb.read(tmp_path / "m.json", where=where)
    assert stored.where.gpus.tolist() == [0, 1, 2]
    assert stored.where.os_pus(2) == where.os_pus(2)
