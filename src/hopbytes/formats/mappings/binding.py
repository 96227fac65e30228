"""One list of cores for all nodes: what most launchers take, and how far a placement can be bent to it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from hopbytes.formats.base import Written
from hopbytes.formats.mappings.launch_files import Launch, Numbers
from hopbytes.formats.mappings.slot_symmetry import renumbered

SCRIPT_BINDS = "nodes differ beyond what the command can say: {stem}.place.sh binds instead"
RENUMBERED = "slots renumbered inside nodes so that one list serves all; no metric changes"


@dataclass(frozen=True, slots=True)
class Binding:
    """What every node does with its ranks, by their order within the node.

    Parameters
    ----------
    launch : Launch
        The placement that is written: the one asked for, or one just as good.
    cpus : tuple of tuples or None
        CPUs of the first, second, … rank of a node; None when nodes need different lists, or slots have
        GPUs, which every rank is told by the script.
    notices : tuple of str
    """

    launch: Launch
    cpus: tuple[Numbers, ...] | None
    notices: tuple[str, ...] = ()

    def written(self, files: dict[str, str], command: str, notices: list[str]) -> Written:
        """Return what a writer made of it; files beside the one the user named are scripts."""
        scripts = tuple(suffix for suffix in files if suffix)
        return Written(files, command, tuple(notices), scripts, self.launch.mapping)

    @property
    def widest(self) -> int:
        """OpenMP threads that suit the largest slot in use."""
        if not self.launch.binds:
            return 1
        return max(self.launch.threads_of_pe(pe) for pe in set(self.launch.mapping.pe.tolist()))

    @property
    def openmp(self) -> str:
        """Settings to put before a command whose ranks have several cores each, with a blank behind them."""
        return f"OMP_NUM_THREADS={self.widest} OMP_PLACES=cores " if self.widest > 1 else ""


def one_list(launch: Launch) -> Binding:
    """Return the binding of a placement; slots are renumbered inside nodes where that gives one list.

    Launchers that take one list apply it to the ranks of a node in ascending order. Renumbering changes
    no distance (:func:`hopbytes.formats.mappings.slot_symmetry.renumbered`). O(n).
    """
    if launch.carries:
        return Binding(launch, None)
    found = _common(launch)
    if found is not None:
        return Binding(launch, found)
    alike = launch.rearranged(dataclasses.replace(launch.mapping, pe=renumbered(launch.mapping)))
    found = _common(alike)
    if found is not None:
        return Binding(alike, found, (RENUMBERED,))
    return Binding(launch, None)


def _common(launch: Launch) -> tuple[Numbers, ...] | None:
    """CPUs by order within the node, None when nodes differ."""
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
        return None  # OMP_NUM_THREADS could not be right for all
    return tuple(cpus)
