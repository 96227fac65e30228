"""Hosts on which Open MPI takes the numbers of a rankfile for others than it should."""

from __future__ import annotations

import numpy as np

from hopbytes.formats.mappings.launch_files import Launch
from hopbytes.machines.node.node_tree import NodeTree

CHECK = "'hopbytes verify' shows where ranks would run"


def openmpi_limits(launch: Launch, threads: bool, version: object = None) -> tuple[str, ...]:
    """Return a sentence for every such fault that the hosts in use would meet.

    Parameters
    ----------
    launch : Launch
    threads : bool
        The rankfile counts hardware threads.
    version : object
        ``"4"`` or ``"5"`` when only that one is meant.

    Notes
    -----
    Tried with 4.1.4 and 5.0.11: version 5 looks at the first core that the job may use and counts hardware
    threads when it has a single one, whatever the others have; version 4 binds all hosts by the tree of the
    host that mpirun runs on. O(hardware threads of the hosts in use).
    """
    nodes = sorted(set(launch.node.tolist()))
    trees = {node: launch.mapping.where.machine.node_tree(node) for node in nodes}
    known = {node: tree for node, tree in trees.items() if tree is not None}
    said = []
    single = [launch.hosts[node] for node, tree in known.items() if _begins_with_one_thread(tree)]
    if single and version != "4" and not threads:
        said.append(
            f"Open MPI 5 counts hardware threads instead of cores on hosts whose first core has one for the "
            f"job and others have more ({_some(single)}): ask for whole cores, or start with srun; {CHECK}"
        )
    first = next(iter(known.values()), None)
    other = [launch.hosts[node] for node, tree in known.items() if first and not _counted_alike(first, tree)]
    if other and version != "5":
        said.append(
            f"Open MPI 4 binds all hosts by the tree of the one that mpirun runs on, and they differ "
            f"({_some(other)} from {launch.hosts[nodes[0]]}): use Open MPI 5 or srun; {CHECK}"
        )
    return tuple(said)


def _begins_with_one_thread(tree: NodeTree) -> bool:
    counts = np.bincount(tree.cores)
    return bool(counts[0] == 1 and counts.max() > 1)


def _counted_alike(one: NodeTree, other: NodeTree) -> bool:
    """Whether the same number means the same hardware threads of the operating system."""
    return np.array_equal(one.os_pus, other.os_pus) and np.array_equal(one.cores, other.cores)


def _some(hosts: list[str]) -> str:
    return ", ".join(hosts[:3]) + (f" and {len(hosts) - 3} more" if len(hosts) > 3 else "")
