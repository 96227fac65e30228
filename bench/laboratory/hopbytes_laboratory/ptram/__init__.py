"""PTRAM over MPI as in its paper: one leader process per node, or per group of nodes. Needs mpi4py.

``mpirun -n L python -m hopbytes_laboratory.ptram PATTERN --on MACHINE`` gives the mapping of
``hopbytes map PATTERN --on MACHINE --mapper ptram --refine ptram`` for any L.
"""

from hopbytes_laboratory.ptram.leaders import Leaders, StrandedError, map_with_leaders

__all__ = ["Leaders", "StrandedError", "map_with_leaders"]
