/* Heat flow on a plate: every process owns a block of a grid of points and exchanges the rim of its block
 * with its four neighbours in every step.
 *
 *   mpicc -O2 -o halo halo.c
 *   mpirun -n 96 ./halo 480 720 10       rows and columns of points, steps
 *
 * Processes are numbered row by row, as MPI_Cart_create does with the default order. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define AT(row, column) ((size_t)(row) * (width + 2) + (column))

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int size, rank, dims[2] = {0, 0}, periods[2] = {0, 0}, place[2], up, down, left, right;
  int rows = argc > 1 ? atoi(argv[1]) : 480, columns = argc > 2 ? atoi(argv[2]) : 720;
  int steps = argc > 3 ? atoi(argv[3]) : 10;
  MPI_Comm grid;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, place);
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Cart_shift(grid, 1, 1, &left, &right);

  int height = rows / dims[0], width = columns / dims[1];
  double *now = calloc((size_t)(height + 2) * (width + 2), sizeof *now);
  double *next = calloc((size_t)(height + 2) * (width + 2), sizeof *next);
  if (!now || !next) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 0) now[AT(1, 1)] = 1e6; /* a hot corner */

  MPI_Datatype column;
  MPI_Type_vector(height, 1, width + 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  for (int step = 0; step < steps; step++) {
    MPI_Sendrecv(&now[AT(1, 1)], width, MPI_DOUBLE, up, 0, &now[AT(height + 1, 1)], width, MPI_DOUBLE, down, 0,
                 grid, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&now[AT(height, 1)], width, MPI_DOUBLE, down, 1, &now[AT(0, 1)], width, MPI_DOUBLE, up, 1,
                 grid, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&now[AT(1, 1)], 1, column, left, 2, &now[AT(1, width + 1)], 1, column, right, 2,
                 grid, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&now[AT(1, width)], 1, column, right, 3, &now[AT(1, 0)], 1, column, left, 3,
                 grid, MPI_STATUS_IGNORE);
    for (int i = 1; i <= height; i++)
      for (int j = 1; j <= width; j++)
        next[AT(i, j)] = 0.25 * (now[AT(i - 1, j)] + now[AT(i + 1, j)] + now[AT(i, j - 1)] + now[AT(i, j + 1)]);
    double *swap = now;
    now = next;
    next = swap;
  }
  double own = 0, all = 0;
  for (int i = 1; i <= height; i++)
    for (int j = 1; j <= width; j++) own += now[AT(i, j)];
  MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, grid);
  if (rank == 0) printf("%d processes as %d x %d, heat %.3f\n", size, dims[0], dims[1], all);
  MPI_Type_free(&column);
  free(now);
  free(next);
  MPI_Finalize();
  return 0;
}
