"""Reorders ranks, moves tasks and maps distributed graphs inside a running MPI program. Needs mpi4py.

The caller, who has a communicator, has imported mpi4py already; this package imports it only when it is used.
"""

from __future__ import annotations

from hopbytes.mpi.changing import ChangingRanks, ChangingTasks, Migrations, RankMove
from hopbytes.mpi.communicators import create_cart, create_dist_graph, create_dist_graph_adjacent, reorder
from hopbytes.mpi.distributed.files import read_distributed, read_slab, write_distributed
from hopbytes.mpi.distributed.mapping import evaluate_distributed, map_distributed
from hopbytes.mpi.distributed.rows import DistributedMapping, Slab
from hopbytes.mpi.parts import dolfinx_partitioner, parts_of_processes, petsc_partition, set_plex_partition

__all__ = [
    "ChangingRanks", "ChangingTasks", "DistributedMapping", "Migrations", "RankMove", "Slab", "create_cart",
    "create_dist_graph", "create_dist_graph_adjacent", "dolfinx_partitioner", "evaluate_distributed",
    "map_distributed", "parts_of_processes", "petsc_partition", "read_distributed", "read_slab", "reorder",
    "set_plex_partition", "write_distributed",
]  # fmt: skip
