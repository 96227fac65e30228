"""Mapping of a graph that is distributed over the processes of a communicator. Needs mpi4py."""

from hopbytes.mpi.distributed.files import read_distributed, read_slab, write_distributed
from hopbytes.mpi.distributed.mapping import DistributedMapping, evaluate_distributed, map_distributed
from hopbytes.mpi.distributed.rows import Slab

__all__ = [
    "DistributedMapping",
    "Slab",
    "evaluate_distributed",
    "map_distributed",
    "read_distributed",
    "read_slab",
    "write_distributed",
]
