"""A Poisson problem of PETSc whose rows are dealt to processes by hopbytes: node by node first, then inside.

    mpirun -n 4 python examples/petsc_parts.py
    mpirun -n 4 python examples/petsc_parts.py --machine "node:2@10 core:2@1"    # as if these were two nodes

The matrix of a cube is partitioned by PETSc's own MatPartitioning and by petsc_partition(), distributed by
either of them and solved with conjugate gradients. For both the program prints the matrix entries whose row
and column lie on different processes, of one node and of different nodes, and the seconds of the solver. The
mesh of the same cube is then distributed by DMPlex, whose shell partitioner has got the answer of hopbytes.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
import petsc4py

petsc4py.init(sys.argv[:1])
from mpi4py import MPI  # noqa: E402 (PETSc has to be initialised before)
from petsc4py import PETSc  # noqa: E402

import hopbytes as hb  # noqa: E402
from hopbytes.mpi import petsc_partition, set_plex_partition  # noqa: E402


def poisson(comm, side):
    """The 7-point matrix of a cube, its rows in equal parts on all processes."""
    matrix = PETSc.Mat().createAIJ((side**3, side**3), nnz=7, comm=comm)
    steps = (side * side, side, 1)
    for row in range(*matrix.getOwnershipRange()):
        matrix.setValue(row, row, 6.0)
        for step in steps:
            at = row // step % side
            if at > 0:
                matrix.setValue(row, row - step, -1.0)
            if at < side - 1:
                matrix.setValue(row, row + step, -1.0)
    matrix.assemble()
    return matrix


def by_petsc(matrix):
    """The partition of PETSc's own partitioner; contiguous rows if PETSc was built without any."""
    partitioner = PETSc.MatPartitioning().create(matrix.comm)
    partitioner.setAdjacency(matrix.convert("mpiadj", PETSc.Mat()))
    partitioner.setFromOptions()
    found = PETSc.IS()
    partitioner.apply(found)
    partitioner.destroy()
    return found


def solved(matrix, parts, node_of_rank):
    """Distribute the matrix and solve; return the norm, seconds, and entries between processes."""
    rows = parts.buildTwoSided().sort()
    own = matrix.createSubMatrix(rows, rows)
    b, x = own.createVecRight(), own.createVecRight()
    b.set(1.0)
    solver = PETSc.KSP().create(own.comm)
    solver.setOperators(own)
    solver.setType("cg")
    solver.getPC().setType("jacobi")
    solver.setTolerances(rtol=1e-8)
    own.comm.tompi4py().Barrier()
    began = time.perf_counter()
    solver.solve(b, x)
    seconds = time.perf_counter() - began
    first, columns = own.getOwnershipRanges(), own.getValuesCSR()[1]
    rank = own.comm.getRank()
    other = np.searchsorted(first, columns, "right") - 1
    far = int(np.count_nonzero(node_of_rank[other] != node_of_rank[rank]))
    near = int(np.count_nonzero(other != rank)) - far
    return x.norm(), seconds, near, far


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--side", type=int, default=24)
    parser.add_argument("--machine", help="the machine instead of what the processes find; PE i is rank i")
    options = parser.parse_args()
    comm = MPI.COMM_WORLD
    machine = hb.allocate(options.machine) if options.machine else None
    if machine is None:
        hosts = comm.allgather(MPI.Get_processor_name())
        node_of_rank = np.array([hosts.index(host) for host in hosts])
    else:
        node_of_rank = machine.machine.node_of_core()[machine.cores]
    matrix = poisson(comm, options.side)
    ways = {"PETSc": lambda: by_petsc(matrix), "hopbytes": lambda: petsc_partition(matrix, machine=machine)}
    for name, way in ways.items():
        norm, seconds, near, far = solved(matrix, way(), node_of_rank)
        near, far = comm.allreduce(near), comm.allreduce(far)
        if comm.rank == 0:
            print(f"{name:9} norm {norm:.3f}, {far:6} entries between nodes, {near:6} inside, "
                  f"{seconds:.3f} s")  # fmt: skip

    cells = [options.side] * 3
    plex = PETSc.DMPlex().createBoxMesh(cells, simplex=False, interpolate=True, comm=comm)
    part = set_plex_partition(plex, machine=machine)
    counts = np.bincount(part, minlength=comm.size)
    comm.Allreduce(MPI.IN_PLACE, counts)
    plex.distribute()
    low, high = plex.getHeightStratum(0)
    assert high - low == counts[comm.rank]
    if comm.rank == 0:
        print(f"DMPlex    cells of every process {counts.tolist()}")


if __name__ == "__main__":
    main()
