"""Hosts on which Open MPI misinterprets the numbers of a rankfile."""

from __future__ import annotations

import numpy as np

from hopbytes.formats.mappings.launch_files import Launch
from hopbytes.machines.node.node_tree import NodeTree

CHECK = "'hopbytes verify' shows where ranks would run"


def openmpi_limits(launch: Launch, threads: bool, version: object = None) -> tuple[str, ...]:
    """Return a notice for every fault of Open MPI that affects the hosts in use.

    Tried with 4.1.4 and 5.0.11: version 5 counts hardware threads instead of cores if the job may use a
    single hardware thread of its first core, whatever the other cores have; version 4 binds on all hosts by
    the topology of the host that runs mpirun. O(hardware threads of the hosts in use).
    """
    nodes = sorted(set(launch.node.tolist()))
    inventory = launch.mapping.where.machine.inventory
    known = {} if inventory is None else {node: inventory.tree(node) for node in nodes}
    notices = []
    single = [launch.hosts[node] for node, tree in known.items() if _begins_with_one_thread(tree)]
    if single and version != "4" and not threads:
        notices.append(
            f"Open MPI 5 counts hardware threads instead of cores on hosts where the job has one hardware "
            f"thread of the first core and more of others ({_some(single)}): request whole cores, or start "
            f"with srun; {CHECK}"
        )
    first = next(iter(known.values()), None)
    other = [launch.hosts[node] for node, tree in known.items() if first and not _counted_alike(first, tree)]
    if other and version != "5":
        notices.append(
            f"Open MPI 4 binds on all hosts by the topology of the host that runs mpirun, but hosts differ "
            f"({_some(other)} from {launch.hosts[nodes[0]]}): use Open MPI 5 or srun; {CHECK}"
        )
    return tuple(notices)


def _begins_with_one_thread(tree: NodeTree) -> bool:
    counts = np.bincount(tree.cores)
    return bool(counts[0] == 1 and counts.max() > 1)


def _counted_alike(one: NodeTree, other: NodeTree) -> bool:
    """Tell whether the same core number stands for the same CPUs of the operating system on both nodes."""
    return np.array_equal(one.os_pus, other.os_pus) and np.array_equal(one.cores, other.cores)


def _some(hosts: list[str]) -> str:
    return ", ".join(hosts[:3]) + (f" and {len(hosts) - 3} more" if len(hosts) > 3 else "")
