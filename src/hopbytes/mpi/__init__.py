"""Reorders the ranks of communicators for the machine inside a running MPI program. Needs mpi4py.

The caller, who has a communicator, has imported mpi4py already; this package imports it only when it is used.
"""

from __future__ import annotations

from hopbytes.mpi.communicators import create_cart, create_dist_graph_adjacent, reorder

__all__ = ["create_cart", "create_dist_graph_adjacent", "reorder"]
