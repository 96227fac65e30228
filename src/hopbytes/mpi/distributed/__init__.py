"""Mapping of a graph that is distributed over the processes of a communicator. Needs mpi4py."""

from hopbytes.mpi.distributed.map_over_ranks import DistributedMapping, map_distributed
from hopbytes.mpi.distributed.slab import Slab

__all__ = ["DistributedMapping", "Slab", "map_distributed"]
