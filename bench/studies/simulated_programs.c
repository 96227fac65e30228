/* Four small MPI programs that compute and check something, for bench/studies/simulated_programs.py.
 *
 *   cg SIDE STEPS      conjugate gradients on a 3-D grid of ranks, SIDE^3 cells each, 7-point Laplacian
 *   mesh SIDE STEPS    the same with ranks in a fixed random order, as after an unstructured partitioning
 *   transpose SIDE STEPS   transposes of a 2-D grid of ranks: all-to-all in rows, then in columns
 *   sweep SIDE STEPS   wavefronts over a 2-D grid of ranks from two corners, as in LU, many small messages
 *
 * Under SMPI the cost of computing is charged by the number of operations; with another MPI nothing is charged.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__has_include) && __has_include(<smpi/smpi.h>)
#include <smpi/smpi.h>
#define CHARGE(operations) smpi_execute_flops(operations)
#else
#define CHARGE(operations) ((void)(operations))
#endif

static int rank, ranks, place, *rank_at; /* place: the position of this rank in the grid */

static double *reserve(size_t count) {
  double *room = calloc(count, sizeof(double));
  if (!room) MPI_Abort(MPI_COMM_WORLD, 3);
  return room;
}

static void fail(const char *what, double found) {
  fprintf(stderr, "rank %d: %s: %g\n", rank, what, found);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Puts rank_at and place: in order, or in a fixed random order. */
static void order(int shuffled) {
  unsigned state = 12345;
  rank_at = malloc(sizeof(int) * (size_t)ranks);
  for (int i = 0; i < ranks; i++) rank_at[i] = i;
  for (int i = ranks - 1; shuffled && i > 0; i--) {
    state = state * 1103515245u + 12345u;
    int other = (int)((state >> 8) % (unsigned)(i + 1)), kept = rank_at[i];
    rank_at[i] = rank_at[other], rank_at[other] = kept;
  }
  for (int i = 0; i < ranks; i++)
    if (rank_at[i] == rank) place = i;
}

static double total(double own) {
  double sum;
  MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/* Cell (i, j, k) of a block with one layer of halo. */
#define AT(i, j, k) ((((size_t)(i)) * (n + 2) + (j)) * (n + 2) + (k))

static void exchange(double *x, int n, const int dims[3], const int at[3], double *buffer) {
  size_t face = (size_t)n * n;
  MPI_Request requests[12];
  int count = 0, stride[3] = {dims[1] * dims[2], dims[2], 1};
  for (int side = 0; side < 6; side++) {
    int axis = side / 2, step = side % 2 ? 1 : -1;
    if (at[axis] + step < 0 || at[axis] + step >= dims[axis]) continue;
    int other = rank_at[place + step * stride[axis]];
    double *out = buffer + side * face, *in = buffer + (6 + side) * face;
    int layer = step < 0 ? 1 : n;
    for (int a = 1; a <= n; a++)
      for (int b = 1; b <= n; b++)
        out[(size_t)(a - 1) * n + b - 1] =
            axis == 0 ? x[AT(layer, a, b)] : axis == 1 ? x[AT(a, layer, b)] : x[AT(a, b, layer)];
    MPI_Irecv(in, (int)face, MPI_DOUBLE, other, side ^ 1, MPI_COMM_WORLD, &requests[count++]);
    MPI_Isend(out, (int)face, MPI_DOUBLE, other, side, MPI_COMM_WORLD, &requests[count++]);
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int side = 0; side < 6; side++) {
    int axis = side / 2, step = side % 2 ? 1 : -1;
    if (at[axis] + step < 0 || at[axis] + step >= dims[axis]) continue;
    double *in = buffer + (6 + side) * face;
    int layer = step < 0 ? 0 : n + 1;
    for (int a = 1; a <= n; a++)
      for (int b = 1; b <= n; b++) {
        double value = in[(size_t)(a - 1) * n + b - 1];
        if (axis == 0) x[AT(layer, a, b)] = value;
        else if (axis == 1) x[AT(a, layer, b)] = value;
        else x[AT(a, b, layer)] = value;
      }
  }
}

static void gradients(int n, int steps) {
  int dims[3] = {0, 0, 0};
  MPI_Dims_create(ranks, 3, dims);
  int at[3] = {place / (dims[1] * dims[2]), place / dims[2] % dims[1], place % dims[2]};
  size_t cells = (size_t)(n + 2) * (n + 2) * (n + 2);
  double *x = reserve(cells), *r = reserve(cells), *p = reserve(cells), *q = reserve(cells);
  double *buffer = reserve((size_t)12 * n * n), own = 0;
#define CELLS for (int i = 1; i <= n; i++) for (int j = 1; j <= n; j++) for (int k = 1; k <= n; k++)
  CELLS { r[AT(i, j, k)] = p[AT(i, j, k)] = 1; own += 1; }
  double before = total(own), first = before;
  for (int step = 0; step < steps; step++) {
    exchange(p, n, dims, at, buffer);
    own = 0;
    CELLS {
      q[AT(i, j, k)] = 6.1 * p[AT(i, j, k)] - p[AT(i - 1, j, k)] - p[AT(i + 1, j, k)] - p[AT(i, j - 1, k)] -
                       p[AT(i, j + 1, k)] - p[AT(i, j, k - 1)] - p[AT(i, j, k + 1)];
      own += p[AT(i, j, k)] * q[AT(i, j, k)];
    }
    CHARGE(9.0 * n * n * n);
    double alpha = before / total(own);
    own = 0;
    CELLS {
      x[AT(i, j, k)] += alpha * p[AT(i, j, k)];
      r[AT(i, j, k)] -= alpha * q[AT(i, j, k)];
      own += r[AT(i, j, k)] * r[AT(i, j, k)];
    }
    CHARGE(6.0 * n * n * n);
    double after = total(own), beta = after / before;
    CELLS p[AT(i, j, k)] = r[AT(i, j, k)] + beta * p[AT(i, j, k)];
    CHARGE(2.0 * n * n * n);
    before = after;
  }
  if (!(before < 0.5 * first)) fail("the residual did not fall", before / first);
}

/* Sends block i of `out` to the i-th of `group` and receives its block for us into `in`. */
static void all_to_all(double *out, double *in, int block, const int *group, int size) {
  MPI_Request *requests = malloc(sizeof(MPI_Request) * 2 * (size_t)size);
  for (int i = 0; i < size; i++)
    MPI_Irecv(in + (size_t)i * block, block, MPI_DOUBLE, group[i], 7, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < size; i++)
    MPI_Isend(out + (size_t)i * block, block, MPI_DOUBLE, group[i], 7, MPI_COMM_WORLD, &requests[size + i]);
  MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

static void transposes(int n, int steps) {
  int dims[2] = {0, 0};
  MPI_Dims_create(ranks, 2, dims);
  int row = place / dims[1], column = place % dims[1], *group = malloc(sizeof(int) * (size_t)ranks);
  for (int step = 0; step < steps; step++)
    for (int along = 0; along < 2; along++) {
      int size = along ? dims[0] : dims[1], mine = along ? row : column, block = n * n * n / size;
      double *out = reserve((size_t)block * size), *in = reserve((size_t)block * size);
      for (int i = 0; i < size; i++) {
        group[i] = rank_at[along ? i * dims[1] + column : row * dims[1] + i];
        for (int cell = 0; cell < block; cell++) out[(size_t)i * block + cell] = mine * 1000.0 + i + step;
      }
      CHARGE(5.0 * n * n * n * log2((double)n));
      all_to_all(out, in, block, group, size);
      for (int i = 0; i < size; i++)
        if (in[(size_t)(i + 1) * block - 1] != i * 1000.0 + mine + step) fail("wrong block", i);
      free(out), free(in);
    }
}

static void sweeps(int n, int steps) {
  int dims[2] = {0, 0}, planes = n;
  MPI_Dims_create(ranks, 2, dims);
  int row = place / dims[1], column = place % dims[1];
  double *left = reserve((size_t)n * 5), *above = reserve((size_t)n * 5), sum = 0;
  for (int step = 0; step < 2 * steps; step++) {
    int way = step % 2 ? -1 : 1; /* from the first corner, then from the last one */
    int before[2] = {row - way, column - way}, after[2] = {row + way, column + way};
    for (int plane = 0; plane < planes; plane++) {
      memset(left, 0, sizeof(double) * 5 * (size_t)n), memset(above, 0, sizeof(double) * 5 * (size_t)n);
      if (before[0] >= 0 && before[0] < dims[0])
        MPI_Recv(above, 5 * n, MPI_DOUBLE, rank_at[before[0] * dims[1] + column], 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      if (before[1] >= 0 && before[1] < dims[1])
        MPI_Recv(left, 5 * n, MPI_DOUBLE, rank_at[row * dims[1] + before[1]], 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
      for (int i = 0; i < 5 * n; i++) left[i] = above[i] = 1 + (left[i] > above[i] ? left[i] : above[i]);
      CHARGE(50.0 * n * n);
      if (after[0] >= 0 && after[0] < dims[0])
        MPI_Send(above, 5 * n, MPI_DOUBLE, rank_at[after[0] * dims[1] + column], 1, MPI_COMM_WORLD);
      if (after[1] >= 0 && after[1] < dims[1])
        MPI_Send(left, 5 * n, MPI_DOUBLE, rank_at[row * dims[1] + after[1]], 2, MPI_COMM_WORLD);
      sum = left[0]; /* the length of the way from the corner */
    }
    int expected = way > 0 ? row + column + 1 : dims[0] - row + dims[1] - column - 1;
    if (sum != expected) fail("wrong wavefront", sum);
  }
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count != 4) fail("expected PROGRAM SIDE STEPS", count);
  const char *name = words[1];
  int side = atoi(words[2]), steps = atoi(words[3]);
  order(!strcmp(name, "mesh"));
  MPI_Barrier(MPI_COMM_WORLD);
  double began = MPI_Wtime();
  if (!strcmp(name, "cg") || !strcmp(name, "mesh")) gradients(side, steps);
  else if (!strcmp(name, "transpose")) transposes(side, steps);
  else if (!strcmp(name, "sweep")) sweeps(side, steps);
  else fail("unknown program", 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!rank) printf("seconds %.9f\n", MPI_Wtime() - began);
  MPI_Finalize();
  return 0;
}
