"""Rankfiles read by the real Open MPI: host and cores of every rank are those of the mapping."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from several_hosts import ENVIRONMENT, mpirun

import hopbytes as hb
from helpers.paths import executable
from helpers.placements import cores_in_node, expand, place
from hopbytes.machines.kinds.synthetic import read_synthetic
from hopbytes.machines.node.job import JobInfo
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.node_machine import NodeMachine

pytestmark = pytest.mark.launcher

HOSTS = tuple(f"nodeA{number}" for number in range(4))  # the simulator's own names
CPUS = len(os.sched_getaffinity(0))


def node_xml(packages, cores, threads=1):
    """Describe a node for the launcher: packages of cores of hardware threads, in hwloc's XML."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<!DOCTYPE topology SYSTEM "hwloc2.dtd">']
    lines.append('<topology version="2.0">')
    serial = iter(range(1, 10**6))

    def start(kind, index, cpus, extra="", end=">"):
        mask = f"0x{sum(1 << cpu for cpu in cpus):08x}"
        name = f'type="{kind}" os_index="{index}" gp_index="{next(serial)}"'
        sets = f'cpuset="{mask}" complete_cpuset="{mask}" nodeset="0x1" complete_nodeset="0x1"'
        lines.append(f"<object {name} {sets} {extra}{end}")

    everything = range(packages * cores * threads)
    mask = f"0x{(1 << len(everything)) - 1:08x}"
    start("Machine", 0, everything, f'allowed_cpuset="{mask}" allowed_nodeset="0x1"')
    start("NUMANode", 0, everything, 'local_memory="17179869184"', "/>")
    for package in range(packages):
        own = range(package * cores, (package + 1) * cores)
        start("Package", package, range(own.start * threads, own.stop * threads))
        for core in own:
            units = range(core * threads, (core + 1) * threads)
            start("Core", core, units)
            for unit in units:
                start("PU", unit, [unit], "", "/>")
            lines.append("</object>")
        lines.append("</object>")
    return "\n".join([*lines, "</object>", "</topology>"])


def displayed_map(text):
    """Parse the map mpirun prints: host and cores of each rank."""
    ranks, host, rank = {}, None, None
    for line in text.splitlines():
        if found := re.search(r"Data for node: (\S+)", line):
            host = found[1]
        elif found := re.search(r"Data for proc: \[\S+,(\d+)\]", line):
            rank = int(found[1])
        elif found := re.search(r"Binding: (.*)", line):
            cores = re.findall(r"(?:core|hwt):L([\d,-]+)", found[1])
            ranks[rank] = (host, [core for part in cores for core in expand(part)])
    return ranks


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("cores_per_slot", [1, 2])
@pytest.mark.parametrize("packed", [True, False])
def test_open_mpi_5_on_invented_nodes(tmp_path, named, cores_per_slot, packed):
    """Four invented nodes of 2 x 4 cores; the launcher itself says where it would put and bind each rank."""
    launcher = mpirun(5)
    (tmp_path / "node.xml").write_text(node_xml(2, 4))
    k = 32 // cores_per_slot
    pe = np.random.default_rng(5).permutation(k)[: k if packed else k // 2]
    mapping = place(
        "node:4@10 package:2@3 core:4@1", pe, hosts=HOSTS if named else (), cores_per_slot=cores_per_slot
    )
    receipt = hb.write(mapping, tmp_path / "rank file", "openmpi")
    if not named:  # what the notice asks the user to do
        hostfile = tmp_path / "rank file.hosts"
        text = hostfile.read_text()
        for number, host in enumerate(HOSTS):
            text = text.replace(f"node00{number}", host)
        hostfile.write_text(text)
    check_map(ask(tmp_path, launcher, receipt.launch), mapping, HOSTS)


def test_open_mpi_5_binds_to_hardware_threads(tmp_path):
    launcher = mpirun(5)
    (tmp_path / "node.xml").write_text(node_xml(2, 2, threads=2))
    # As many ranks as cores on every node, some of them two on a core.
    threads = np.concatenate([[0, 1, 5, 7], [10, 11, 12, 15], [16, 18, 20, 23], [30, 29, 27, 26]])
    mapping = place("node:4@10 core:4@2 pu:2@1", np.random.default_rng(6).permutation(threads), hosts=HOSTS)
    receipt = hb.write(mapping, tmp_path / "rankfile", "openmpi")
    check_map(ask(tmp_path, launcher, receipt.launch), mapping, HOSTS)


@pytest.mark.parametrize(("threads", "pe"), [(1, [11, 3, 2, 8, 0, 30]), (2, [6, 0, 21, 2, 40])])
def test_open_mpi_5_takes_more_ranks_on_a_host_than_its_slots(tmp_path, threads, pe):
    """The job has two tasks on each of four hosts of eight cores; some get three, bound as always."""
    launcher = mpirun(5)
    (tmp_path / "node.xml").write_text(node_xml(2, 4, threads))
    tree, job = read_synthetic(f"pack:2 core:4 pu:{threads}"), JobInfo("PBS", HOSTS, None, (2,) * 4)
    machine = NodeMachine("test", NodeInventory.of([tree] * 4), HOSTS, job=job)
    mapping = hb.Mapping(pe, hb.allocate(machine, per="pu"), {"problem": "processes"})
    receipt = hb.write(mapping, tmp_path / "rankfile", "openmpi")
    check_map(ask(tmp_path, launcher, receipt.launch, slots=2), mapping, HOSTS)


@pytest.mark.parametrize("launched", ["block", "cyclic"])
def test_new_ranks_count_on_what_open_mpi_5_does(tmp_path, launched):
    """The process with old rank i sits where the mapping wants the task of its new rank."""
    launcher = mpirun(5)
    (tmp_path / "node.xml").write_text(node_xml(2, 4))
    mapping = place("node:4@10 package:2@3 core:4@1", np.random.default_rng(7).permutation(32), hosts=HOSTS)
    receipt = hb.write(mapping, tmp_path / "newrank", "newrank", launched=launched)
    new = np.loadtxt(receipt.paths[0], dtype=int).tolist()
    found = ask(tmp_path, launcher, receipt.launch)
    check_map({new[old]: place_of for old, place_of in found.items()}, mapping, HOSTS)


def ask(folder, launcher, launch, slots=8):
    """Let the launcher say on four invented nodes where it would put and bind each rank."""
    simulator = (
        f"--prtemca ras simulator --prtemca ras_simulator_num_nodes 4 --prtemca ras_simulator_slots {slots} "
        "--prtemca ras_simulator_topo_files node.xml --do-not-launch --display map"
    )
    command = launch.replace("mpirun", f"{launcher} {simulator}", 1)
    done = subprocess.run(
        command, shell=True, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return displayed_map(done.stdout)


def check_map(found, mapping, hosts):
    expected = {}
    for task in range(mapping.n):
        node, cores = cores_in_node(mapping, task)
        expected[task] = (hosts[node], cores)
    assert found == expected


@pytest.mark.skipif(CPUS < 2, reason="needs two CPUs")
@pytest.mark.parametrize("major", [4, 5])
def test_open_mpi_binds_on_this_computer(tmp_path, major):
    """Two ranks exchanged: what the kernel says they may run on, not what the launcher prints."""
    launcher = mpirun(major)
    receipt = hb.write(place("core:2", [1, 0]), tmp_path / "rankfile", "openmpi")
    command = next(line.command for line in receipt.lines if line.version == str(major))
    program = tmp_path / "app"
    show = 'echo "$OMPI_COMM_WORLD_RANK $(grep Cpus_allowed_list /proc/self/status)"'
    executable(program, f"#!/bin/sh\n{show}\n")
    command = command.replace("mpirun", launcher, 1).replace("./app", str(program))
    done = subprocess.run(command, shell=True, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    printed = [line.split() for line in done.stdout.splitlines() if line]
    allowed = {int(rank): set(expand(cpus)) for rank, _, cpus in printed}
    assert sorted(allowed) == [0, 1]
    assert not allowed[0] & allowed[1]
    assert min(allowed[0]) > min(allowed[1])
    assert Path(receipt.paths[1]).name == "rankfile.hosts"


# The fault of Open MPI 5 that the writer warns of: hosts whose first core lacks a thread.


def without(text, pu):
    """Take a hardware thread away from a node, as a job does that was not given it."""
    text = re.sub(rf'<object type="PU" os_index="{pu}" [^>]*/>\n', "", text)

    def smaller(found):
        return f'{found[1]}="0x{int(found[2], 16) & ~(1 << pu):08x}"'

    return re.sub(r'\b((?:complete_|allowed_)?cpuset)="0x([0-9a-f]+)"', smaller, text)


@pytest.mark.parametrize(("pu", "wrong"), [(1, True), (3, False)])
def test_open_mpi_5_looks_at_the_first_core(tmp_path, pu, wrong):
    launcher = mpirun(5)
    (tmp_path / "node.xml").write_text(without(node_xml(1, 4, 2), pu))
    where = hb.allocate(f"hwloc:{tmp_path}/node.xml@nodeA[0-3]")
    mapping = hb.Mapping(np.arange(where.k, dtype=np.int32), where)
    receipt = hb.write(mapping, tmp_path / "ranks", "openmpi", version="5")
    found = ask(tmp_path, launcher, receipt.launch)
    expected = {rank: (HOSTS[rank // 4], [rank % 4]) for rank in range(16)}
    assert (found != expected) == wrong
    assert any("counts hardware threads" in notice for notice in receipt.notices) == wrong
