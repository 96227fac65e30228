"""Selection of the pairs of ranks that are measured, and of the message sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, InfeasibleError
from hopbytes.machines.node.job import same_host
from hopbytes.model.allocation import Allocation

#: Message sizes in bytes; small messages determine the latency, large ones the bandwidth.
SIZES = (1, 64, 512, 4096, 16384, 65536, 262144, 1048576, 4194304)
PAIRS_PER_LEVEL = 3
#: Approximate number of bytes in a batch, and bounds of its number of round trips.
BATCH_BYTES, MOST_ROUNDS, FEWEST_ROUNDS = 2**22, 200, 2


@frozen
class RankPlace:
    """Host name of a rank, and the CPUs that it may use (numbers of the operating system)."""

    host: str
    cpus: frozenset[int]


def rounds_of(size: int) -> int:
    """Return the number of round trips in a batch of messages of `size` bytes."""
    return max(FEWEST_ROUNDS, min(MOST_ROUNDS, BATCH_BYTES // (size + 1)))


def pes_of_ranks(places: Sequence[RankPlace], where: Allocation) -> list[int]:
    """Find the PE on which every rank runs."""
    found = [_pe_of(place, where) for place in places] if where.os_pus(0) is not None else []
    pes = [pe for pe in found if pe is not None]
    if found and len(pes) == len(places) and len(set(pes)) == len(pes):
        return pes
    if len(places) == where.k:
        return list(range(where.k))
    raise InfeasibleError(
        f"{len(places)} ranks on {where.k} slots, not bound to one slot each; expected ranks bound to one "
        f"core each (mpirun --bind-to core, srun --cpu-bind=cores), or exactly {where.k} of them in order"
    )


def _pe_of(place: RankPlace, where: Allocation) -> int | None:
    hosts = where.hosts
    nodes = int(where.machine.node_of_core()[-1]) + 1
    node = next((i for i, host in enumerate(hosts) if same_host(place.host, host)), None)
    if node is None and hosts and nodes > 1:
        what = f"a rank runs on {place.host!r}, expected a host of the machine"
        raise FormatError("measure", None, what)
    if nodes == 1:
        node = 0
    if node is None or not place.cpus:
        return None
    for pe in np.flatnonzero(where.node_of_pe == node).tolist():
        own = where.os_pus(pe)
        if own is not None and place.cpus <= set(own):
            return int(pe)
    return None


def pairs_of_levels(where: Allocation, pes: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """Choose pairs of ranks for every level that is the outermost one at which some ranks differ."""
    machine = where.machine
    cores = where.first_core[np.asarray(pes, np.int64)]
    outer = np.zeros(len(cores), np.int64)
    chosen: dict[int, list[tuple[int, int]]] = {}
    for level in range(len(machine.levels)):
        units = machine.ancestors(level)[cores].astype(np.int64)
        pairs = []
        for unit in np.unique(outer):
            ranks = np.flatnonzero(outer == unit)
            inner, first = np.unique(units[ranks], return_index=True)
            if len(inner) > 1:  # take ranks of the first and the last unit, which are farthest apart
                pairs.append((int(ranks[first[0]]), int(ranks[first[-1]])))
        if pairs:
            places = sorted({0, len(pairs) // 2, len(pairs) - 1})[:PAIRS_PER_LEVEL]
            chosen[level] = [pairs[place] for place in places]
        outer = units
    return chosen
