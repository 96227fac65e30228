"""Reorders ranks and moves tasks for the machine inside a running MPI program. Needs mpi4py.

The caller, who has a communicator, has imported mpi4py already; this package imports it only when it is used.
"""

from __future__ import annotations

from hopbytes.mpi.changing_ranks import ChangingRanks, RankMove
from hopbytes.mpi.changing_tasks import ChangingTasks, Migrations
from hopbytes.mpi.communicators import create_cart, create_dist_graph_adjacent, reorder

__all__ = [
    "ChangingRanks",
    "ChangingTasks",
    "Migrations",
    "RankMove",
    "create_cart",
    "create_dist_graph_adjacent",
    "reorder",
]
