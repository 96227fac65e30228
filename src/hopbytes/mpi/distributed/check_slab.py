"""Verification of a mapping whose tasks lie on several processes: J, loads and PEs from scratch."""

from __future__ import annotations

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes._frozen import frozen
from hopbytes.cost.objectives.comm_cost import arcs_distance_sum
from hopbytes.errors import ScaleError
from hopbytes.kernels.records import Csr
from hopbytes.model.allocation import Allocation
from hopbytes.model.capacities import group_sums
from hopbytes.mpi.distributed.slab import Rows
from hopbytes.util.integers import MAX_SUM


@frozen(eq=False)
class Judged:
    """What is known of a mapping after verification, the same on all processes."""

    comm_cost: int  # J
    loads: Int64  # int64[k]: Load per PE
    tasks: Int64  # int64[k]: Number of tasks per PE

    @property
    def imbalance(self) -> float:
        """Largest load of a PE beyond the mean load, as a share of it."""
        total = int(self.loads.sum())
        return int(self.loads.max()) * len(self.loads) / total - 1 if total else 0.0


def check_sums_over_ranks(rows: Rows, where: Allocation) -> None:
    """Raise ScaleError on all processes if volume x distance could exceed 63 bits; collective."""
    total, widest = rows.member.total(int(rows.arc_weights().sum())), int(where.distance.largest)
    if max(total, 1) * widest > MAX_SUM:
        factor = -(-total * widest // MAX_SUM)
        what = f"total volume {total} x largest distance {widest} is more than 2^63 - 1"
        raise ScaleError(f"{what}: divide the volumes or distances by {factor} or more")


def cost_over_ranks(rows: Rows, where: Allocation, pe: Int32) -> int:
    """Return J of a mapping, int32[n] per process; collective, O(m / P).

    The sum fits into 63 bits where :func:`check_sums_over_ranks` found no fault.
    """
    around = rows.with_ghosts(pe.astype(np.int64)).astype(np.int32)
    arcs = Csr(rows.indptr, rows.targets, rows.weights)
    return rows.member.total(arcs_distance_sum(arcs, where, around))


def judge(rows: Rows, where: Allocation, pe: Int32) -> Judged:
    """Check that every task has a PE and compute J and loads from scratch; collective."""
    fault = ""
    if len(pe) != rows.n:
        fault = f"rank {rows.member.rank}: {len(pe)} tasks have a PE, expected {rows.n}"
    elif len(pe) and not 0 <= int(pe.min()) <= int(pe.max()) < where.k:
        fault = f"rank {rows.member.rank}: a PE outside 0..{where.k - 1}"
    rows.member.agree(fault)
    check_sums_over_ranks(rows, where)
    loads = rows.member.summed(group_sums(pe, rows.loads, where.k))
    tasks = rows.member.summed(np.bincount(pe, minlength=where.k).astype(np.int64))
    return Judged(cost_over_ranks(rows, where, pe), loads, tasks)
