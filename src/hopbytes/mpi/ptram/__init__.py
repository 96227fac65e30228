"""PTRAM as its authors run it: one leader per node (or per some nodes), over MPI. Needs mpi4py.

``mpirun -n L python -m hopbytes.mpi.ptram PATTERN --on MACHINE`` gives the placement of
``hopbytes map PATTERN --on MACHINE --mapper ptram --refine ptram``, whatever L is.
"""

from hopbytes.mpi.ptram.distributed_mapping import map_with_leaders
from hopbytes.mpi.ptram.node_leaders import Leaders, StrandedError

__all__ = ["Leaders", "StrandedError", "map_with_leaders"]
