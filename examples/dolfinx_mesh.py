"""A mesh of dolfinx whose cells are dealt to processes by hopbytes: node by node first, then inside.

    mpirun -n 4 python examples/dolfinx_mesh.py
    mpirun -n 4 python examples/dolfinx_mesh.py --machine "node:2@10 core:2@1"    # as if these were two nodes

A cube of tetrahedra is distributed by dolfinx's own partitioner and by hopbytes. For both the program prints
how many cells of other processes (ghosts) the processes hold, of the same node and of other nodes.
"""

from __future__ import annotations

import argparse

import numpy as np
from dolfinx import cpp, mesh
from mpi4py import MPI

import hopbytes as hb
from hopbytes.mpi import dolfinx_partitioner


def cell_partitioner(*graph_partitioner):
    """What create_unit_cube takes; newer versions of dolfinx want to know about ghosts here as well."""
    try:
        return cpp.mesh.create_cell_partitioner(*graph_partitioner, mesh.GhostMode.shared_facet)
    except TypeError:
        return cpp.mesh.create_cell_partitioner(*graph_partitioner)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--side", type=int, default=16)
    parser.add_argument("--machine", help="the machine instead of what the processes find; PE i is rank i")
    options = parser.parse_args()
    comm, side = MPI.COMM_WORLD, options.side
    machine = hb.allocate(options.machine) if options.machine else None
    if machine is None:
        hosts = comm.allgather(MPI.Get_processor_name())
        node_of_rank = np.array([hosts.index(host) for host in hosts])
    else:
        node_of_rank = machine.machine.node_of_core()[machine.cores]
    ways = {"dolfinx": (), "hopbytes": (dolfinx_partitioner(machine),)}
    for name, graph_partitioner in ways.items():
        cube = mesh.create_unit_cube(
            comm, side, side, side, ghost_mode=mesh.GhostMode.shared_facet,
            partitioner=cell_partitioner(*graph_partitioner),
        )  # fmt: skip
        cells = cube.topology.index_map(cube.topology.dim)
        owners = np.asarray(cells.owners if hasattr(cells, "owners") else cells.ghost_owner_rank())
        far = comm.allreduce(int(np.count_nonzero(node_of_rank[owners] != node_of_rank[comm.rank])))
        every = comm.allreduce(len(owners))
        most = comm.allreduce(cells.size_local, MPI.MAX)
        if comm.rank == 0:
            print(
                f"{name:9} {cells.size_global} cells, at most {most} on a process, "
                f"{far:6} ghosts between nodes, {every - far:6} inside"
            )


if __name__ == "__main__":
    main()
