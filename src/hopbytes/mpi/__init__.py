"""Inside a running MPI program: communicators with ranks reordered for the machine. Needs mpi4py.

mpi4py is imported by the caller, who has a communicator already; nothing here imports it before it is used.
"""

from __future__ import annotations

from hopbytes.mpi.communicators import create_cart, create_dist_graph_adjacent, reorder

__all__ = ["create_cart", "create_dist_graph_adjacent", "reorder"]
