"""ParMETIS' entry points in a program of several processes, and PT-Scotch's with the original behind."""

import os
import shutil
import subprocess

import numpy as np
import pytest
from test_metis_names import OURS, Metis, cut_of, lattice

from helpers.c_library import LIB

pytestmark = [
    pytest.mark.launcher,
    pytest.mark.skipif(shutil.which("mpicc.openmpi") is None, reason="no mpicc.openmpi"),
]
ENVIRONMENT = os.environ | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
}  # fmt: skip
#: ParMETIS' declarations are here, since Debian does not have its header.
PROGRAM = r"""
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if WIDE
typedef int64_t idx_t;
#else
typedef int32_t idx_t;
#endif
typedef float real_t;
int ParMETIS_V3_PartKway(idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, real_t*,
                         real_t*, idx_t*, idx_t*, idx_t*, MPI_Comm*);
int ParMETIS_V3_PartGeomKway(idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, real_t*,
                             idx_t*, idx_t*, real_t*, real_t*, idx_t*, idx_t*, idx_t*, MPI_Comm*);
int ParMETIS_V3_RefineKway(idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, real_t*,
                           real_t*, idx_t*, idx_t*, idx_t*, MPI_Comm*);
int ParMETIS_V3_AdaptiveRepart(idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*, idx_t*,
                               idx_t*, real_t*, real_t*, real_t*, idx_t*, idx_t*, idx_t*, MPI_Comm*);
/* A lattice of w x h whose rows are shared by the processes. */
int main(int argc, char** argv) {
  const char* call = argv[1];
  idx_t w = 30, h = 20, base = atoi(argv[2]), k = atoi(argv[3]), flag = 3, ncon = 1, dims = 2, cut = -7, n,
        v, e = 0;
  idx_t dist[16], options[4] = {1, 0, 5, 2}, *rows, *targets, *loads, *weights, *part;
  real_t allowance = 1.03f, shares[16], price = 1000;
  MPI_Comm comm;
  int rank, size, status, r;
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank), MPI_Comm_size(comm, &size);
  for (r = 0; r <= size; ++r) dist[r] = base + w * h * r * r / (size * size); /* unequal shares */
  n = dist[rank + 1] - dist[rank];
  rows = malloc((n + 1) * sizeof *rows), targets = malloc((4 * n + 1) * sizeof *targets);
  weights = malloc((4 * n + 1) * sizeof *weights), loads = malloc((n + 1) * sizeof *loads);
  part = malloc((n + 1) * sizeof *part);
  rows[0] = base;
  for (v = 0; v < n; ++v) {
    idx_t g = dist[rank] - base + v, x = g % w, y = g / w;
    if (y > 0) weights[e] = 2, targets[e++] = g - w + base;
    if (x > 0) weights[e] = 2, targets[e++] = g - 1 + base;
    if (x < w - 1) weights[e] = 2, targets[e++] = g + 1 + base;
    if (y < h - 1) weights[e] = 2, targets[e++] = g + w + base;
    rows[v + 1] = e + base, loads[v] = g % 3 + 1;
    part[v] = base + (k - 1 - g * k / (w * h)); /* where vertices are, for those that divide anew */
  }
  for (v = 0; v < k; ++v) shares[v] = 1.0f / k;
#define COMMON &flag, &base, &ncon, &k, shares, &allowance, options, &cut, part, &comm
  if (!strcmp(call, "null") && rank == size - 1) flag = 7;
  if (!strcmp(call, "asymmetric") && rank == 0) targets[0] = targets[1];
  if (!strcmp(call, "geom"))
    status = ParMETIS_V3_PartGeomKway(dist, rows, targets, loads, weights, &flag, &base, &dims, NULL, &ncon,
                                      &k, shares, &allowance, options, &cut, part, &comm);
  else if (!strcmp(call, "refine"))
    status = ParMETIS_V3_RefineKway(dist, rows, targets, loads, weights, COMMON);
  else if (!strcmp(call, "adapt"))
    status = ParMETIS_V3_AdaptiveRepart(dist, rows, targets, loads, loads, weights, &flag, &base, &ncon, &k,
                                        shares, &allowance, &price, options, &cut, part, &comm);
  else if (!strcmp(call, "nothing"))
    status = ParMETIS_V3_PartKway(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                  NULL, NULL, rank ? &comm : &comm);
  else
    status = ParMETIS_V3_PartKway(dist, rows, targets, loads, weights, COMMON);
  for (r = 0; r < size; ++r) {
    if (r == rank) {
      printf("%d %d %lld", rank, status, (long long)cut);
      for (v = 0; v < n; ++v) printf(" %lld", (long long)part[v]);
      printf("\n"), fflush(stdout);
    }
    MPI_Barrier(comm);
  }
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture(scope="module", params=[32, 64])
def program(request, tmp_path_factory):
    folder, wide = tmp_path_factory.mktemp("mpi"), request.param == 64
    library, source, made = folder / "libhopbytes_mpi.so", folder / "a.c", folder / "a"
    source.write_text(PROGRAM)
    end = "_i64" if wide else ""
    line = ["mpicc.openmpi", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", LIB / "hopbytes_mpi.c"]
    line += [f"-DIDXTYPEWIDTH={request.param}", f"-L{LIB}", f"-Wl,-rpath,{LIB}"]
    subprocess.run(
        [*line, f"-lhopbytes_metis{end}", f"-lhopbytes_scotch{end}", "-ldl", "-o", library], check=True
    )
    line = ["mpicc.openmpi", "-w", f"-DWIDE={int(wide)}", source, f"-L{folder}", "-lhopbytes_mpi"]
    subprocess.run([*line, f"-Wl,-rpath,{folder}", f"-Wl,-rpath-link,{LIB}", "-o", made], check=True)
    return request.param, made


def run(program, call, base=0, k=5, ranks=3):
    line = ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks), program, call, str(base), str(k)]
    done = subprocess.run(line, capture_output=True, text=True, env=ENVIRONMENT, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = sorted([int(word) for word in line.split()] for line in done.stdout.splitlines())
    assert [row[0] for row in rows] == list(range(ranks))
    return (
        {row[1] for row in rows},
        {row[2] for row in rows},
        np.concatenate([np.array(row[3:], int) for row in rows]),
    )


@pytest.mark.parametrize("call", ["kway", "geom"])
@pytest.mark.parametrize("base", [0, 1])
def test_blocks_are_those_of_metis_names(program, call, base):
    bits, made = program
    statuses, cuts, part = run(made, call, base)
    rows, targets = lattice(30, 20)
    metis = Metis(OURS[bits], bits)
    status, cut, own = metis.part_graph(
        rows, targets, 5, loads=np.arange(600) % 3 + 1, weights=np.full(len(targets), 2), shares=[0.2] * 5,
        allowances=[1.03], options=metis.options(_8=5),
    )  # fmt: skip
    assert (statuses, status, cuts) == ({1}, 1, {cut})
    assert (part - base).tolist() == own.tolist()
    assert cut == 2 * cut_of(rows, targets, part)


@pytest.mark.parametrize("call", ["refine", "adapt"])
@pytest.mark.parametrize("base", [0, 1])
def test_little_moves_where_blocks_are_known(program, call, base):
    _, made = program
    statuses, _, part = run(made, call, base)
    _, _, fresh = run(made, "kway", base)
    before = 4 - np.arange(600) * 5 // 600
    # The same blocks by other numbers, so that more stays.
    pairs = set(zip(part.tolist(), fresh.tolist(), strict=True))
    assert statuses == {1}
    assert len(pairs) == 5
    assert (part - base == before).sum() > (fresh - base == before).sum()
    assert (part - base == before).sum() >= 120


@pytest.mark.parametrize("call", ["null", "asymmetric", "nothing"])
def test_bad_input_has_the_code_of_metis_on_all_processes(program, call):
    statuses, cuts, _ = run(program[1], call)
    assert (statuses, cuts) == ({-2}, {-7})


def test_more_processes_than_rows(program):
    statuses, _, part = run(program[1], "kway", ranks=7, k=2)
    assert statuses == {1}
    assert set(part) == {0, 1}
