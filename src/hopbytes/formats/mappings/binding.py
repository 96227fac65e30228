"""One list of cores for all nodes, as most launchers take it; slots are renumbered where that gives one."""

from __future__ import annotations

import dataclasses

from hopbytes._frozen import frozen
from hopbytes.formats.base import Written
from hopbytes.formats.mappings.launch_files import Launch, Numbers
from hopbytes.formats.mappings.slot_symmetry import renumbered

SCRIPT_BINDS = "nodes need different lists of cores, but the command takes one: {stem}.place.sh binds instead"
RENUMBERED = "slots are renumbered inside nodes, so that one list of cores serves all; no metric changes"


@frozen
class Binding:
    """The CPUs of the ranks of every node, by the order of the ranks within the node."""

    #: the mapping that is written: the given one, or one of the same cost with slots renumbered
    launch: Launch
    #: CPUs of the first, second, … rank of a node; None if nodes need different lists, or if slots have GPUs,
    #: because then the script binds every rank and shows it its GPU
    cpus: tuple[Numbers, ...] | None
    notices: tuple[str, ...] = ()

    def written(self, files: dict[str, str], command: str, notices: list[str]) -> Written:
        """Return the result of a writer; all files except the one that the user named are scripts."""
        scripts = tuple(suffix for suffix in files if suffix)
        return Written(files, command, tuple(notices), scripts, self.launch.mapping)

    @property
    def widest(self) -> int:
        """Number of OpenMP threads for the largest slot in use."""
        if not self.launch.binds:
            return 1
        return max(self.launch.threads_of_pe(pe) for pe in set(self.launch.mapping.pe.tolist()))

    @property
    def openmp(self) -> str:
        """OpenMP settings that precede a command whose ranks have several cores each, with a final blank."""
        return f"OMP_NUM_THREADS={self.widest} OMP_PLACES=cores " if self.widest > 1 else ""


def common_binding(launch: Launch) -> Binding:
    """Return the binding of a mapping; slots are renumbered inside nodes if that gives one list for all.

    Launchers that take one list apply it to the ranks of a node in ascending order. Renumbering changes
    no distance (:func:`hopbytes.formats.mappings.slot_symmetry.renumbered`). O(n).
    """
    if launch.has_gpus:
        return Binding(launch, None)
    found = _common(launch)
    if found is not None:
        return Binding(launch, found)
    alike = launch.rearranged(dataclasses.replace(launch.mapping, pe=renumbered(launch.mapping)))
    found = _common(alike)
    if found is not None and alike.all_allowed():
        return Binding(alike, found, (RENUMBERED,))
    return Binding(launch, None)


def _common(launch: Launch) -> tuple[Numbers, ...] | None:
    """Return the CPUs by order within the node, or None if nodes differ."""
    filled = [0] * len(launch.hosts)
    cpus: list[Numbers] = []
    threads: set[int] = set()
    for rank, node in enumerate(launch.node.tolist()):
        own = launch.cpus(rank)
        threads.add(launch.threads_of_pe(int(launch.mapping.pe[rank])))
        place = filled[node]
        filled[node] += 1
        if place == len(cpus):
            cpus.append(own)
        elif cpus[place] != own:
            return None
    if len(threads) > 1:
        return None  # one OMP_NUM_THREADS cannot be right for slots of different sizes
    return tuple(cpus)
