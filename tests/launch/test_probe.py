"""Nodes asked by the probe, machines stored in files, this host."""

import json
import os
import random
import shutil
from pathlib import Path

import pytest

import hopbytes as hb
from helpers.errors import mentions, refused
from helpers.paths import hwloc_sample
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.launch.probe import probe, probe_to_file, read_probe, script
from hopbytes.machines.kinds.local import gpu_notices
from hopbytes.machines.kinds.machine import machine_text
from hopbytes.machines.node.job import JobInfo
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.node.sysfs import add_file, node_from_files
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.text.cpu_lists import format_list, parse_list

CPUS = {
    # Two packages of two cores of two PUs, numbered as firmware likes it; CPU 7 is offline.
    0: (0, "0,4", "0-1,4-5"), 1: (1, "1,5", "0-1,4-5"), 2: (0, "2,6", "2-3,6"), 3: (1, "3", "2-3,6"),
    4: (0, "0,4", "0-1,4-5"), 5: (1, "1,5", "0-1,4-5"), 6: (0, "2,6", "2-3,6"),
}  # fmt: skip


def files_of_cpu(cpu: int, threads: str, package: str, instructions: str, l3: str) -> dict[str, str]:
    here = f"devices/system/cpu/cpu{cpu}"
    files = {f"{here}/topology/thread_siblings_list": threads, f"{here}/topology/core_siblings_list": package}
    for index, (level, kind, shared) in enumerate(
        [("1", "Data", threads), ("1", "Instruction", instructions), ("3", "Unified", l3)]
    ):
        files[f"{here}/cache/index{index}/level"] = level
        files[f"{here}/cache/index{index}/type"] = kind
        files[f"{here}/cache/index{index}/shared_cpu_list"] = shared
    return files


def kernel_files() -> dict[str, str]:
    files = {
        "devices/system/cpu/online": "0-6",
        "devices/system/node/node0/cpulist": "0-1,4-5",
        "devices/system/node/node1/cpulist": "2-3,6",
        "devices/system/node/node2/cpulist": "",
    }
    for cpu, (core, threads, package) in CPUS.items():
        files[f"devices/system/cpu/cpu{cpu}/topology/core_id"] = str(core)
        files |= files_of_cpu(cpu, threads, package, threads, package)
    for address, kind, vendor, near in [
        ("0000:81:00.0", "0x030200", "0x10de", "2-3,6-7"), ("0000:01:00.0", "0x030000", "0x1002", "0-1,4-5"),
        ("0000:02:00.0", "0x030000", "0x1a03", "0-7"), ("0000:03:00.0", "0x020000", "0x15b3", "0-7"),
    ]:  # fmt: skip
        device = f"bus/pci/devices/{address}"
        files[f"{device}/class"], files[f"{device}/vendor"] = kind, vendor
        files[f"{device}/local_cpulist"] = near
    return files


def lines_of(host: str, allowed: str, files: dict[str, str]) -> list[str]:
    pairs = [(path, line) for path, text in files.items() for line in text.splitlines()]
    said = [f"allowed {allowed}", *(f"file {path}:{line}" for path, line in pairs)]
    return [f"#hopbytes {host} {line}\n" for line in [*said, f"end {len(said) + 1}"]]


def test_node_from_the_files_of_a_kernel():
    tree = node_from_files(kernel_files(), {0, 1, 2, 3, 4, 5, 6, 7})
    assert tree.facts() == {"pus": 7, "cores": 4, "packages": 2, "numa": 3, "gpus": 2}
    assert tree.os_pus.tolist() == [0, 4, 1, 5, 2, 6, 3]
    # Each maker's runtime counts its own GPUs from 0.
    assert [(gpu.index, gpu.name, gpu.maker, gpu.shown_as, gpu.pus) for gpu in tree.gpus] == [
        (0, "0000:81:00.0", "nvidia", "0", (2, 3, 6)), (1, "0000:01:00.0", "amd", "0", (0, 1, 4, 5)),
    ]  # fmt: skip
    machine = NodeMachine("test:", NodeInventory((tree,), (0,)))
    assert machine.topology.spec() == "package:2@10 core:2@1 pu:[2,2,2,1]@1"


def test_caches_of_data_are_levels_and_those_of_instructions_are_none():
    """Two third-level caches in a package; two cores share a first-level cache of instructions."""
    files = {"devices/system/cpu/online": "0-7"}
    for cpu in range(8):
        pair, half = cpu // 2 * 2, cpu // 4 * 4
        files |= files_of_cpu(cpu, str(cpu), "0-7", f"{pair}-{pair + 1}", f"{half}-{half + 3}")
    machine = NodeMachine("test:", NodeInventory((node_from_files(files, set(range(8))),), (0,)))
    assert [(level.name, count) for level, count in zip(machine.levels, (2, 4), strict=True)] == [
        ("l3", 2), ("core", 4)
    ]
    assert machine.topology.spec().startswith("l3:2@")


def test_probe_lines_of_many_nodes_mixed_and_labelled():
    a, b = lines_of("n10.cluster", "0-6", kernel_files()), lines_of("n9", "0-1,4-5", kernel_files())
    lines = [f"{task}: {line}" for task, line in enumerate(a + b)] + ["a greeting\n"]
    random.Random(1).shuffle(lines)
    machine = read_probe(lines)
    assert machine.hosts == ("n9", "n10.cluster"), "in the order of their numbers"
    assert [len(machine.inventory.tree(node).os_pus) for node in (0, 1)] == [4, 7]


def test_probe_keeps_names_and_wishes_of_the_job():
    job = JobInfo("Slurm", ("n2", "n1"), (7, 7), (3, 4), 2)
    lines = [*lines_of("n1.cluster", "0-6", kernel_files()), *lines_of("n2.cluster", "0-6", kernel_files())]
    machine = read_probe(lines, job)
    assert (machine.hosts, machine.job) == (("n2", "n1"), job)
    assert len(machine.inventory.trees) == 1, "alike nodes are stored once"


@pytest.mark.parametrize(("words", "content", "slots"), [
    (["--hostfile"], "n2 slots=3\nn1 slots=4\n", (3, 4)), (["-f"], "n2:1\nn1:1 # all\n", (1, 1)),
    (["--machinefile="], "n2 slots=2 max_slots=4\nn1\n", (2, 4)),  # as many as cores
    (["--hostfile"], "n2 # slots=9\nn1\n", None),
    (["--host"], "n2 slots=3\nn1 slots=4\n", None),
])  # fmt: skip
def test_slots_of_the_commands_own_hosts_are_kept(tmp_path, monkeypatch, words, content, slots):
    for name in [name for name in os.environ if name.startswith(("SLURM_", "PBS_", "OMPI_", "PRTE_"))]:
        monkeypatch.delenv(name)
    (tmp_path / "hosts").write_text(content)
    lines = [*lines_of("n1.cluster", "0-6", kernel_files()), *lines_of("n2.cluster", "0-6", kernel_files())]
    (tmp_path / "said").write_text("".join(lines))
    path = str(tmp_path / "hosts")
    words = [f"{words[0]}{path}"] if words[0].endswith("=") else [*words, path]
    launcher = tmp_path / "launcher"
    launcher.write_text(f"#!/bin/sh\ncat {tmp_path}/said\n")
    launcher.chmod(0o755)
    stored = tmp_path / "job.machine.json"
    probe_to_file([str(launcher), *words], str(stored))
    machine = hb.allocate(stored).machine
    job = machine.job
    assert (job and job.tasks) == slots
    assert machine.hosts == (("n1.cluster", "n2.cluster") if "--host" in words else ("n2", "n1"))


def test_several_processes_on_a_node_do_no_harm():
    lines = [*lines_of("n1", "0-3", kernel_files()), *lines_of("n1", "4-6", kernel_files())]
    assert len(read_probe(lines).inventory.tree(0).os_pus) == 7


@pytest.mark.parametrize(("change", "words"), [
    (lambda lines: [], "no node answered"),
    (lambda lines: lines[:-1], "of an unknown number of lines arrived from n1"),
    (lambda lines: lines[:3] + lines[4:], "lines arrived from n1, expected all"),
    (lambda lines: [line.replace("allowed 0-6", "allowed x") for line in lines], "list 'x'"),
    (lambda lines: [line.replace("allowed 0-6", "allowed 9") for line in lines], "no hardware thread"),
    (lambda lines: [line.replace("cpu/online:0-6", "cpu/online:0--6") for line in lines], "list '0--6'"),
])  # fmt: skip
def test_answers_with_a_fault(change, words):
    with refused(FormatError, words):
        read_probe(change(lines_of("n1", "0-6", kernel_files())))


def test_probe_of_this_host_is_what_local_says():
    machine = probe(["env"])
    assert machine.inventory.tree(0).identity() == hb.allocate("local").machine.inventory.tree(0).identity()


@pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset")
def test_probe_undoes_the_binding_of_its_launcher(tmp_path):
    one = min(os.sched_getaffinity(0))
    bound = probe(["taskset", "-c", str(one)])
    assert set(bound.inventory.tree(0).os_pus.tolist()) >= os.sched_getaffinity(0)


def test_the_probe_program_is_one_line_of_plain_shell():
    assert "\n" not in script()
    assert "@" not in script()
    assert len(script()) < 4000


def test_commands_that_fail(tmp_path):
    with pytest.raises(UnsupportedError, match="expected a command that starts programs"):
        probe(["/nowhere/srun"])
    with pytest.raises(UnsupportedError, match="failed with exit code 1"):
        probe(["false"])
    with pytest.raises(FormatError, match="no node answered"):
        probe(["true"])
    target = tmp_path / "mine.json"
    target.write_text("precious")
    with pytest.raises(UnsupportedError, match="does not say 'written by hopbytes'"):
        probe_to_file(["env"], str(target))
    assert target.read_text() == "precious"


def store(tmp_path, machine) -> str:
    path = tmp_path / "job.machine.json"
    path.write_text(machine_text(machine, "test"))
    return str(path)


def test_stored_machines_are_what_they_were(tmp_path):
    spec = f"hwloc:{hwloc_sample('v2_smt_gpus.xml')}@n[1-2],hwloc:{hwloc_sample('v1_numa_outside.xml')}@old"
    machine = hb.allocate(spec, distance="l3=4").machine
    path = store(tmp_path, machine)
    where = hb.allocate(f"machine:{path}")
    assert where.machine == machine
    assert where.hosts == ("n1", "n2", "old")
    assert hb.allocate(path).machine == machine, "the name of the file is enough"
    assert hb.allocate(f"machine:{path}:l3=7").machine.spec() == f"machine:{path}:l3=7"
    assert len(json.loads(Path(path).read_text())["trees"]) == 2
    assert hb.allocate(path, per="gpu", hosts="n1,n2").gpus.tolist() == [0, 1, 2, 0, 1, 2]


def test_hosts_choose_among_the_nodes_of_a_stored_machine(tmp_path):
    path = store(tmp_path, hb.allocate(f"hwloc:{hwloc_sample('v3_hybrid.xml')}@n[1-4]").machine)
    where = hb.allocate(path, hosts="n4,n2")
    assert sorted(set(where.node_of_pe.tolist())) == [1, 3]
    assert where.hosts == ("n1", "n2", "n3", "n4")
    assert where.notices == ()
    with pytest.raises(FormatError, match=mentions("1", "4", "n9")):
        hb.allocate(path, hosts="n1,n9")
    assert hb.allocate(path, hosts="a,b,c,d").hosts == ("a", "b", "c", "d"), "same shape, other names"


def test_a_node_without_name_becomes_as_many_as_hosts():
    where = hb.allocate(f"hwloc:{hwloc_sample('v3_hybrid.xml')}", hosts="n[1-3]")
    assert where.hosts == ("n1", "n2", "n3")
    assert where.k == 18
    assert hb.allocate(where.machine.spec()).hosts == ("n1", "n2", "n3")


def test_a_stored_node_without_name_becomes_as_many_as_hosts(tmp_path):
    path = store(tmp_path, hb.allocate(f"hwloc:{hwloc_sample('v3_hybrid.xml')}").machine)
    where = hb.allocate(path, hosts="n[1-3]")
    assert where.machine.spec() == f"machine:{path}@n1,n2,n3"
    assert hb.allocate(where.machine.spec()).machine == where.machine
    named = store(tmp_path, hb.allocate(f"hwloc:{hwloc_sample('v3_hybrid.xml')}@a,b").machine)
    with pytest.raises(FormatError, match="2 nodes in the file"):
        hb.allocate(f"machine:{named}@n1,n2")


def test_plain_trees_can_be_stored_too(tmp_path):
    machine = hb.allocate("node:2@10 core:4@1:bw=2e9:lat=1e-6").machine
    assert hb.allocate(store(tmp_path, machine)).machine == machine


@pytest.mark.parametrize(("text", "words"), [
    ("x", "not JSON"), ("[" * 100000, "damaged JSON"), ("{}", 'no "kind"'),
    ('{"kind": "hopbytes machine", "version": 0}', "version 0"),
    ('{"kind": "hopbytes machine", "version": 9}', "at most version 1"),
    ('{"kind": "hopbytes machine", "version": 1}', "trees are not a list"),
    ('{"kind": "hopbytes machine", "version": 1, "hosts": ["a b"]}', "hosts are not a list"),
])  # fmt: skip
def test_files_that_are_no_machine(tmp_path, text, words):
    path = tmp_path / "m.json"
    path.write_text(text)
    with refused(HopbytesError, words):
        hb.allocate(f"machine:{path}")


def test_local_is_what_this_process_may_use():
    where = hb.allocate("local")
    used = [cpu for pe in range(where.k) for cpu in where.os_pus(pe)]
    assert set(used) == os.sched_getaffinity(0)
    assert where.machine.spec() == "local"
    assert hb.allocate("local:core=7" if len(used) > 1 else "local").k == where.k
    with pytest.raises(UnsupportedError, match="expected local"):
        hb.allocate("local:nonsense")


@pytest.mark.parametrize(("text", "numbers"), [("", []), ("3", [3]), ("0-2,8", [0, 1, 2, 8])])
def test_lists_of_kernels(text, numbers):
    assert sorted(parse_list(text, "test")) == numbers
    assert format_list(numbers) == text


def kfd(nodes):
    """Return what AMD's kernel driver says of GPUs, (bus, part) each, behind two CPUs."""
    files = {}
    for number, (bus, part) in enumerate([(None, 0), (None, 0), *nodes]):
        folder = f"class/kfd/kfd/topology/nodes/{number}"
        computes = 0 if bus is None else 304
        location = 0 if bus is None else bus << 8 | part << 28
        lines = ("cpu_cores_count 0", f"simd_count {computes}", f"location_id {location}", "domain 0")
        files[f"{folder}/properties"] = "\n".join(lines)
    return files


def amd_files(nodes):
    files = {path: text for path, text in kernel_files().items() if "bus/pci" not in path}
    for bus, near in ((0x81, "0-1,4-5"), (0xC1, "2-3,6-7")):
        device = f"bus/pci/devices/0000:{bus:02x}:00.0"
        files[f"{device}/class"], files[f"{device}/vendor"] = "0x120000", "0x1002"
        files[f"{device}/local_cpulist"] = near
    collected = {}
    for path, text in {**files, **kfd(nodes)}.items():
        add_file(collected, path, text)
    return collected


@pytest.mark.parametrize("parts", [1, 3, 6])
def test_partitions_of_amd_devices_are_gpus(parts):
    tree = node_from_files(amd_files([(bus, part) for bus in (0xC1, 0x81) for part in range(parts)]), None)
    assert [gpu.index for gpu in tree.gpus] == [*range(2 * parts)]
    buses = [gpu.name.partition("/")[0] for gpu in tree.gpus]
    assert buses == ["0000:c1:00.0"] * parts + ["0000:81:00.0"] * parts
    assert [gpu.pus[0] for gpu in tree.gpus] == [2] * parts + [0] * parts
    assert {gpu.maker for gpu in tree.gpus} == {"amd"}
    assert tree.notices == ()


def test_devices_that_a_job_may_not_use_are_said():
    tree = node_from_files(amd_files([(0xC1, 0)]), None)
    assert [(gpu.index, gpu.name) for gpu in tree.gpus] == [(0, "0000:c1:00.0")]
    assert len(tree.notices) == 1
    assert "1 of the GPUs of AMD" in tree.notices[0]
    assert len(node_from_files(amd_files([]), None).gpus) == 2


def test_the_probe_tells_parts_of_devices():
    """Files of several lines come as several lines of the probe."""
    files = {**amd_files([]), **kfd([(0x81, 0), (0x81, 1), (0xC1, 0), (0xC1, 1)])}
    machine = read_probe(lines_of("n1", "0-7", files))
    assert len(machine.inventory.tree(0).gpus) == 4


def test_an_environment_that_hides_gpus_is_said():
    tree = node_from_files(kernel_files(), None)
    assert list(gpu_notices(tree, {})) == []
    assert list(gpu_notices(tree, {"CUDA_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "0"})) == []
    four = amd_files([(bus, part) for bus in (0x81, 0xC1) for part in range(2)])
    (notice,) = gpu_notices(node_from_files(four, None), {"ROCR_VISIBLE_DEVICES": "2,3"})
    assert "ROCR_VISIBLE_DEVICES=2,3 shows 2 of the 4 GPUs" in notice
    for hidden, shown in {"": 0, "-1": 0, "0,-1,2,3": 1, "0,0,0,0": 1, "GPU-a,GPU-b, 2": 3}.items():
        (notice,) = gpu_notices(node_from_files(four, None), {"ROCR_VISIBLE_DEVICES": hidden})
        assert f" shows {shown} of the 4 GPUs" in notice


def test_books_of_ibm_z_hold_their_packages():
    """Packages are numbered in each book, CPUs go around all books: lstopo has this order of PUs."""
    places = [(book, package, core) for core in range(2) for package in range(2) for book in range(2)]
    cpus = {2 * place + thread: where for place, where in enumerate(places) for thread in range(2)}
    files = {"devices/system/cpu/online": "0-15"}
    for cpu, where in cpus.items():
        folder = f"devices/system/cpu/cpu{cpu}/topology"
        for depth, name in enumerate(("book", "core", "thread"), 1):
            alike = [other for other, there in cpus.items() if there[:depth] == where[:depth]]
            files[f"{folder}/{name}_siblings_list"] = format_list(alike)
    tree = node_from_files(files, None)
    assert tree.kinds == ("book", "package", "core", "pu")
    assert tree.os_pus.tolist() == [0, 1, 8, 9, 4, 5, 12, 13, 2, 3, 10, 11, 6, 7, 14, 15]
    assert tree.facts() == {"pus": 16, "cores": 8, "packages": 4, "numa": 1, "gpus": 0}
