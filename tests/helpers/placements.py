"""Placements and small readers of launch files, for the tests of placement formats."""

import io
import re

import numpy as np
from hypothesis import strategies as st

from helpers.strategies import machines
from hopbytes.formats.base import Source, formats
from hopbytes.formats.mappings.launch_files import renumbered
from hopbytes.machines.spec import parse_machine
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping


def place(spec, pe, *, hosts=(), cores_per_slot=1, **info):
    """Return a mapping on the whole of a machine, cut into slots of consecutive cores."""
    machine = parse_machine(spec)
    cores = np.arange(machine.n_cores, dtype=np.int64)
    starts = np.arange(0, machine.n_cores + 1, cores_per_slot, dtype=np.int64)
    return Mapping(np.array(pe, np.int32), Allocation(machine, starts, cores, tuple(hosts)), info)


def read(name, content, **options):
    """Parse a text or bytes with a format."""
    data = content.encode() if isinstance(content, str) else content
    return formats[name].read(Source("file", io.BufferedReader(io.BytesIO(data)), None, options))


def write(name, mapping, **options):
    """Write a mapping with a format."""
    return formats[name].write_mapping(mapping, options)


#: Three invented hosts of two cores each, which one computer can stand in for.
HOSTS = ("n3", "n1", "n2")


def on_three_hosts():
    """Return mappings on them that launchers of machine files and pinning options have to bear, by name."""
    machine = "node:3@10 core:2@1"
    whole = place(machine, [0], hosts=HOSTS).where
    uneven = Allocation(whole.machine, np.array([0, 2, 3, 4], np.int64), whole.cores[:4], HOSTS)
    return {
        "full nodes, hosts in any order": place(machine, [3, 2, 5, 4, 1, 0], hosts=HOSTS),
        "unequal nodes and one without tasks": place(machine, [4, 5, 1], hosts=HOSTS),
        "two cores per rank": place(machine, [2, 0, 1], hosts=HOSTS, cores_per_slot=2),
        "ranks with one and with two cores need the script": Mapping(
            np.array([0, 2, 1], np.int32), uneven, {"problem": "processes"}
        ),
    }


def cores_of_ranks(mapping):
    """Return each task's cores in its node, as mapped and with slots renumbered, which costs nothing."""
    alike = Mapping(renumbered(mapping), mapping.where)
    return [[cores_in_node(one, task)[1] for task in range(one.n)] for one in (mapping, alike)]


@st.composite
def mappings(draw):
    """One task per slot on random trees, parts of them, slots of several cores, with host names or not."""
    machine = draw(machines(max_cores=40))
    size = draw(st.integers(1, 3))
    starts = [0]
    kept: list[int] = []
    node = machine.node_of_core()
    for first in range(machine.n_cores):  # a slot is `size` next cores of one node
        if kept and first <= kept[-1]:
            continue
        cores = [c for c in range(first, min(first + size, machine.n_cores)) if node[c] == node[first]]
        if draw(st.integers(0, 3)):
            kept += cores
            starts.append(len(kept))
    if not kept:
        starts, kept = [0, 1], [0]
    nodes = int(node[-1]) + 1
    hosts = tuple(f"n-{i}.x" for i in range(nodes)) if draw(st.booleans()) else ()
    where = Allocation(machine, np.array(starts, np.int64), np.array(kept, np.int64), hosts)
    pes = draw(st.permutations(range(where.k)))[: draw(st.integers(1, where.k))]
    return Mapping(np.array(pes, np.int32), where, {"problem": "processes"})


def expand(text):
    """Return the numbers of ``0-3,6``."""
    runs = [run.split("-") for run in text.split(",")]
    return [number for run in runs for number in range(int(run[0]), int(run[-1]) + 1)]


def cores_in_node(mapping, task):
    """Node of a task and its cores counted within that node, straight from the definitions."""
    cores = mapping.where.cores_of(int(mapping.pe[task])).tolist()
    node_of_core = mapping.where.machine.node_of_core().tolist()
    node = node_of_core[cores[0]]
    return node, [core - node_of_core.index(node) for core in cores]


def read_rankfile(written):
    """Parse rankfile and hostfile: per rank its host and cores, ranks checked to ascend without gaps."""
    hosts = [line.split()[0] for line in written.files[".hosts"].splitlines() if line[0] != "#"]
    slots = {
        line.split()[0]: int(line.split("slots=")[1])
        for line in written.files[".hosts"].splitlines()
        if line[0] != "#"
    }
    ranks = []
    for line in written.files[""].splitlines():
        if line[0] == "#":
            continue
        rank, host, cores = re.fullmatch(r"rank (\d+)=(\S+) slot=([\d,-]+)", line).groups()
        assert int(rank) == len(ranks)
        ranks.append((hosts[int(host[2:])] if host.startswith("+n") else host, expand(cores)))
    return ranks, slots
