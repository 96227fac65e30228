"""The processes of a communicator: where they run, what they send, and an answer that rank 0 works out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Mapping as Dictionary
from operator import index
from typing import Any, TypeAlias

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError, InfeasibleError
from hopbytes.formats.mappings.numbering import parse_cpus
from hopbytes.launch.observed import Seen, mapping_seen
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.machines.base import Level
from hopbytes.machines.node.hardware_kinds import DEFAULT_DISTANCE
from hopbytes.machines.tree import Tree
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping

Comm: TypeAlias = Any  # mpi4py.MPI.Intracomm; mpi4py has to be optional
Sends: TypeAlias = "Dictionary[int, int] | Sequence[int]"
#: Finds the PEs of processes on a machine from what is seen of each; the text is for errors.
Finder: TypeAlias = Callable[[Allocation, dict[int, Seen], str], Mapping]
#: Levels inside a node, outermost first, and the file in the folder of a CPU that lists the CPUs of its unit.
UNITS = (
    ("package", "topology/package_cpus_list"),
    ("l3", "cache/index3/shared_cpu_list"),
    ("l2", "cache/index2/shared_cpu_list"),
    ("core", "topology/core_cpus_list"),
)
CPU_FOLDER = "/sys/devices/system/cpu/cpu{}"


@frozen
class Spot:
    """The host and the CPUs on which one process runs."""

    host: str
    cpus: tuple[int, ...]  # CPU numbers of the operating system that the process may run on
    #: for each level of :data:`UNITS` the lowest CPU of the unit that contains all of them; -1 if none does
    units: tuple[int, ...]


def this_spot(host: str | None = None, folder: str = CPU_FOLDER) -> Spot:
    """Return where this process runs, from its affinity and the kernel's files about one of its CPUs."""
    if host is None:
        from mpi4py import MPI

        host = MPI.Get_processor_name()
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    own = folder.format(cpus[0])
    return spot(host, cpus, [_first_bytes(os.path.join(own, name)) for _, name in UNITS])


def spot(host: str, cpus: tuple[int, ...], units: Sequence[str]) -> Spot:
    """Return where a process runs, from the CPUs in its unit of each of :data:`UNITS`, "" if none."""
    return Spot(host, cpus, tuple(_lowest(cpus, text) for text in units))


def _first_bytes(path: str) -> str:
    try:
        with open(path, encoding="ascii") as stream:
            return stream.read(4096)
    except (OSError, ValueError):  # no such level on this machine
        return ""


def _lowest(cpus: tuple[int, ...], text: str) -> int:
    try:
        unit = parse_cpus(text, "units")
    except HopbytesError:
        return -1
    return min(unit) if unit and set(cpus) <= unit else -1


def from_rank_0(comm: Comm, given: Any, work: Callable[[list[Any]], Sequence[Any]], name: str) -> Any:
    """Return the answer for this process that `work` finds on rank 0 from what all give; collective."""
    gathered = comm.gather(given, root=0)
    answers: list[Any] | None = None
    if gathered is not None:
        try:
            answers = [(answer, None) for answer in work(gathered)]
        except Exception as error:
            text = str(error) if isinstance(error, HopbytesError) else f"{name}: {error!r}"
            answers = [(None, text)] * len(gathered)
    answer, failure = comm.scatter(answers, root=0)
    if failure is not None:
        raise HopbytesError(failure)
    return answer


def located(machine: Allocation | str | None, spots: Sequence[Spot]) -> tuple[Allocation, Int64]:
    """Return one PE per process, of the machine given or of one built from the spots, and their processes."""
    if isinstance(machine, str):
        machine = allocate(machine)
    return machine_of(spots) if machine is None else processes_on(machine, spots)


def machine_of(spots: Sequence[Spot]) -> tuple[Allocation, Int64]:
    """Return a machine with one PE per process, and int64[n], the process on each of its PEs.

    Processes that may move within a unit have the distance of two cores in different parts of that unit: an
    unbound process differs from all others of its node at the outermost level inside the node. Levels that no
    node has are left out. O(n log n).
    """
    hosts = {host: number for number, host in enumerate(dict.fromkeys(spot.host for spot in spots))}
    present = [unit for unit in range(len(UNITS)) if any(spot.units[unit] >= 0 for spot in spots)]
    paths = []
    for rank, spot in enumerate(spots):
        # A process that is not bound to a unit of this level gets a unit of its own, which no other shares.
        inside = [spot.units[unit] if spot.units[unit] >= 0 else 2**20 + rank for unit in present]
        paths.append((hosts[spot.host], *inside, rank))
    order = sorted(range(len(spots)), key=paths.__getitem__)
    levels = ["node", *(UNITS[unit][0] for unit in present), "process"]
    children: list[int | tuple[int, ...]] = []
    outer: list[tuple[int, ...]] = [()]
    for depth in range(len(levels)):
        units = list(dict.fromkeys(paths[rank][: depth + 1] for rank in order))
        counts = dict.fromkeys(outer, 0)
        for unit in units:
            counts[unit[:-1]] += 1
        children.append(tuple(counts.values()) if len(outer) > 1 else len(units))
        outer = units
    tiers = tuple(Level(name, DEFAULT_DISTANCE[name] if name != "process" else 1) for name in levels)
    return Allocation.whole(Tree(tiers, tuple(children))), np.array(order, np.int64)


def processes_on(
    where: Allocation, spots: Sequence[Spot], by: Finder = mapping_seen
) -> tuple[Allocation, Int64]:
    """Return the PEs of a given machine on which processes run, and the process on each of them."""
    pe = pe_of_processes(where, spots, by)
    order = np.argsort(pe, kind="stable")
    return where.select(pe[order]), order.astype(np.int64)


def pe_of_processes(where: Allocation, spots: Sequence[Spot], by: Finder) -> Int64:
    """Return int64[processes], the PE of each, which `by` finds from hosts and CPUs; no two have the same."""
    seen = {rank: Seen(spot.host, frozenset(spot.cpus)) for rank, spot in enumerate(spots)}
    pe = by(where, seen, "machine").pe.astype(np.int64)
    order = np.argsort(pe, kind="stable")
    same = np.flatnonzero(np.diff(pe[order]) == 0)
    if len(same):
        first, second = order[same[0] : same[0] + 2].tolist()
        raise InfeasibleError(f"ranks {first} and {second} run on one slot, expected one process per slot")
    return pe


def checked_sends(sends: Sends, rank: int, size: int) -> tuple[dict[int, int], str]:
    """Return the bytes by rank, and the first fault in them, or "": a text, which all processes must hear."""
    try:
        items: Iterable[tuple[Any, Any]]
        if isinstance(sends, Dictionary):
            items = sends.items()
        else:
            listed = list(sends)
            if len(listed) != size:
                what = f"{len(listed)} numbers of bytes"
                return {}, f"rank {rank} gives {what}, expected {size}, one for each rank"
            items = enumerate(listed)
    except TypeError:
        return {}, f"rank {rank}: {str(sends)[:40]!r}, expected bytes by rank or a sequence of {size}"
    checked: dict[int, int] = {}
    for target, volume in items:
        if not _is_whole(target) or not 0 <= index(target) < size:
            return {}, f"rank {rank} sends to rank {target}, expected 0..{size - 1}"
        if not _is_whole(volume):
            return {}, f"rank {rank} sends {volume} bytes to rank {target}, expected a whole number"
        if not 0 <= index(volume) < 2**63:
            return {}, f"rank {rank} sends {volume} bytes, expected 0 to 2^63 - 1"
        if index(volume):
            checked[index(target)] = index(volume)
    return checked, ""


def _is_whole(value: Any) -> bool:
    try:
        index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)
