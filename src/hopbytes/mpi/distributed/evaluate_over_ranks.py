"""evaluate_distributed(): metrics of a mapping whose graph and tasks lie on several processes."""

from __future__ import annotations

from typing import Any

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Int32
from hopbytes.errors import HopbytesError
from hopbytes.kernels.records import Csr
from hopbytes.machines.distances import TreeDistance
from hopbytes.mpi.distributed.check_slab import judge
from hopbytes.mpi.distributed.member import Comm, Member
from hopbytes.mpi.distributed.slab import Rows, Slab, checked_rows
from hopbytes.solve.sides import PlaceLike, place_side


def evaluate_distributed(comm: Comm, slab: Slab, pe: Int32, where: PlaceLike) -> dict[str, Any]:
    """Return metrics of a mapping, the same on all processes; collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    slab : Slab
        The rows of this process.
    pe : int32[n]
        The PEs of their tasks.
    where : Allocation, or an object that can be converted to one

    Returns
    -------
    dict
        "comm_cost" (J), "volume" and "cut" (of all arcs, and of those between PEs), "tasks", "imbalance",
        "largest_load", "empty" (PEs without a task), and on trees "volume_by_distance" (by the
        distance of the two PEs).

    Raises
    ------
    HopbytesError
        Raised on all processes: a slab is malformed, or a task has no PE of the machine.
    ScaleError
        If volumes or distances are too large for 64-bit sums.

    Notes
    -----
    O(m / P) per process, and one exchange of the PEs of ghosts.
    """
    member = Member(comm)
    place, fault = None, None
    try:
        place = place_side(where)
    except (HopbytesError, OSError) as error:
        fault = error
    member.agree(fault)
    assert place is not None
    member.same("machine", (place.machine.spec(), place.k))
    rows = checked_rows(member, slab)
    judged = judge(rows, place, pe)
    around = rows.with_ghosts(pe.astype(np.int64)).astype(np.int32)
    weights = rows.arc_weights()
    apart = around[rows.sources()] != around[rows.targets]
    found: dict[str, Any] = {
        "comm_cost": judged.comm_cost, "volume": member.total(int(weights.sum())),
        "cut": member.total(int(weights[apart].sum())), "tasks": rows.total, "imbalance": judged.imbalance,
        "largest_load": int(judged.loads.max()), "empty": int(np.sum(judged.tasks == 0)),
        "ranks": member.size,
    }
    if isinstance(place.distance, TreeDistance):
        found["volume_by_distance"] = _by_distance(rows, place.distance, around)
    return found


def _by_distance(rows: Rows, distance: TreeDistance, around: Int32) -> dict[str, int]:
    """Return the volume by the distance at which the PEs of an arc differ."""
    levels = len(distance.costs) - 1
    own = kernels.comm_cost_by_level(
        Csr(rows.indptr, rows.targets, rows.weights), around, distance.labels, distance.level_of_bit, levels
    )
    sums = rows.member.summed(own).tolist()
    found: dict[str, int] = {}
    for volume, cost in zip(sums, distance.costs.tolist(), strict=True):
        found[str(cost)] = found.get(str(cost), 0) + volume
    return found
