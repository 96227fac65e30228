"""A program for mpirun: PETSc's MatPartitioning on a ParHIP file, as a rival of map-distributed.

    mpirun.openmpi -n 4 /usr/bin/python3 bench/rivals/petsc_partition.py g.parhip part.txt hierarch 6 32

The last words are `hierarch` with the numbers of coarse and of fine parts, or `ptscotch` with the number of
parts. It uses nothing of hopbytes, since Debian's petsc4py belongs to Debian's Python; the file has to be as
`hopbytes write` writes it, without weights. Rank 0 prints seconds and peak bytes as JSON.
"""

import json
import resource
import sys
import time
from glob import glob

import numpy as np

sys.path[:0] = glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages")
import petsc4py  # noqa: E402 (its folder is not on the usual path)

petsc4py.init(["petsc", "-mat_partitioning_hierarchical_coarseparttype", "ptscotch",
               "-mat_partitioning_hierarchical_fineparttype", "ptscotch"])  # fmt: skip
from mpi4py import MPI  # noqa: E402
from petsc4py import PETSc  # noqa: E402

comm = MPI.COMM_WORLD
path, output, kind, *parts = sys.argv[1:]
n = int(np.fromfile(path, "<u8", 3)[1])
first, end = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
offsets = np.fromfile(path, "<u8", end - first + 1, offset=24 + 8 * first).astype(np.int64)
targets = np.fromfile(path, "<u4", int(offsets[-1] - offsets[0]) // 4, offset=int(offsets[0]))
indptr = ((offsets - offsets[0]) // 4).astype(np.int32)
matrix = PETSc.Mat().createAIJ(
    ((end - first, n), (end - first, n)), csr=(indptr, targets.astype(np.int32), np.ones(len(targets)))
)
comm.Barrier()
began = time.perf_counter()
partitioner = PETSc.MatPartitioning().create(comm)
partitioner.setAdjacency(matrix.convert("mpiadj"))
partitioner.setType(kind)
options = PETSc.Options()
if kind == "hierarch":
    options["mat_partitioning_hierarchical_ncoarseparts"] = parts[0]
    options["mat_partitioning_hierarchical_nfineparts"] = parts[1]
options["mat_partitioning_nparts"] = int(np.prod([int(part) for part in parts]))
partitioner.setFromOptions()
found = PETSc.IS()
partitioner.apply(found)
own = found.getIndices().astype(np.int64)
seconds = time.perf_counter() - began
everyone = comm.gather(own)
peak = comm.gather(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
if comm.rank == 0:
    np.savetxt(output, np.concatenate(everyone), "%d")
    print(json.dumps({"seconds": seconds, "peak_bytes": peak}))
