/* MPI programs that only send messages, in the order in which well-known programs do; every message is checked.
 *
 *   programs NAME BYTES STEPS
 *
 *   halo2, halo3   neighbours in a grid of two or three dimensions, all messages at once
 *   cg             rows of a square of ranks in stages, the transposed rank, and two sums, as in NPB's CG
 *   transpose      all-to-all in the rows of a grid of ranks, then in its columns
 *   sweep          wavefronts over a grid of ranks from two corners, as in LU
 *   groups         all-to-all in groups of eight ranks that are far from each other in the order of ranks
 *   irregular      neighbours among points that lie at random in a square, unlike sizes
 *   file           all at once what the lines of the file `messages` say: sender, receiver, units of BYTES bytes
 *
 * A name with an s at its end, such as halo2s, has the ranks in a fixed random order. Rank 0 prints the host
 * of every rank, then the seconds.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STAGES = 32, GROUP = 8, NAME = 64 };

static int rank, ranks, place, *rank_at; /* place: the position of this rank in the grid */
static unsigned drawn = 12345;

struct stage { /* messages that are sent and received at once */
  int count, *peer, *bytes, *back; /* bytes to a peer, and from it */
};
static struct stage stages[MOST_STAGES];
static int stage_count;

static void fail(const char *what, double found) {
  fprintf(stderr, "rank %d: %s: %g\n", rank, what, found);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static unsigned draw(void) { return (drawn = drawn * 1103515245u + 12345u) >> 8; }

static void order(int shuffled) {
  rank_at = malloc(sizeof(int) * (size_t)ranks);
  for (int i = 0; i < ranks; i++) rank_at[i] = i;
  for (int i = ranks - 1; shuffled && i > 0; i--) {
    int other = (int)(draw() % (unsigned)(i + 1)), kept = rank_at[i];
    rank_at[i] = rank_at[other], rank_at[other] = kept;
  }
  for (int i = 0; i < ranks; i++)
    if (rank_at[i] == rank) place = i;
}

static struct stage *new_stage(void) {
  struct stage *stage = &stages[stage_count++];
  int **lists[] = {&stage->peer, &stage->bytes, &stage->back};
  for (int i = 0; i < 3; i++) *lists[i] = malloc(sizeof(int) * (size_t)ranks);
  return stage;
}

static void add(struct stage *stage, int position, int bytes) {
  if (position == place) return;
  stage->peer[stage->count] = rank_at[position];
  stage->back[stage->count] = stage->bytes[stage->count] = (bytes + 7) / 8 * 8;
  stage->count++;
}

static void halo(int dimensions, int bytes) {
  int dims[3] = {0, 0, 0}, stride = 1;
  MPI_Dims_create(ranks, dimensions, dims);
  struct stage *stage = new_stage();
  for (int axis = dimensions - 1; axis >= 0; stride *= dims[axis--]) {
    int at = place / stride % dims[axis];
    if (at > 0) add(stage, place - stride, bytes);
    if (at < dims[axis] - 1) add(stage, place + stride, bytes);
  }
}

static void conjugate_gradients(int bytes) {
  int columns = 1;
  while (columns * columns < ranks) columns *= 2;
  int rows = ranks / columns, row = place / columns, column = place % columns;
  if (rows * columns != ranks) fail("ranks, expected a power of two", ranks);
  for (int bit = 1; bit < columns; bit *= 2) add(new_stage(), row * columns + (column ^ bit), bytes);
  /* Where there are two columns per row of the square, the pair of columns stays together. */
  int wide = columns / rows, other = column / wide * columns + row * wide + column % wide;
  add(new_stage(), other, bytes);
  for (int sum = 0; sum < 2; sum++)
    for (int bit = 1; bit < columns; bit *= 2) add(new_stage(), row * columns + (column ^ bit), 8);
}

static void transpose(int bytes) {
  int dims[2] = {0, 0};
  MPI_Dims_create(ranks, 2, dims);
  struct stage *rows = new_stage(), *columns = new_stage();
  for (int i = 0; i < dims[1]; i++) add(rows, place / dims[1] * dims[1] + i, bytes);
  for (int i = 0; i < dims[0]; i++) add(columns, i * dims[1] + place % dims[1], bytes);
}

static void groups(int bytes) {
  int count = (ranks + GROUP - 1) / GROUP;
  struct stage *stage = new_stage();
  for (int other = place % count; other < ranks; other += count) add(stage, other, bytes);
}

static void irregular(int bytes) {
  double *x = malloc(sizeof(double) * (size_t)ranks), *y = malloc(sizeof(double) * (size_t)ranks);
  for (int i = 0; i < ranks; i++) x[i] = draw() % 10000 / 1e4, y[i] = draw() % 10000 / 1e4;
  double radius = sqrt(2.5 / ranks);
  struct stage *stage = new_stage();
  for (int a = 0; a < ranks; a++)
    for (int b = a + 1; b < ranks; b++) {
      int size = bytes / 4 + (int)(draw() % (unsigned)(2 * bytes));
      if (hypot(x[a] - x[b], y[a] - y[b]) > radius) continue;
      if (a == place) add(stage, b, size);
      if (b == place) add(stage, a, size);
    }
}

static void from_file(int bytes) {
  FILE *file = fopen("messages", "r");
  if (!file) fail("no file messages", 0);
  int *out = calloc((size_t)ranks, sizeof(int)), *in = calloc((size_t)ranks, sizeof(int));
  for (int from, to, units; fscanf(file, "%d %d %d", &from, &to, &units) == 3;) {
    if (from == place) out[to] = units;
    if (to == place) in[from] = units;
  }
  fclose(file);
  struct stage *stage = new_stage();
  for (int other = 0; other < ranks; other++) {
    if (!out[other] != !in[other]) fail("messages in one direction only, to or from", other);
    if (!out[other]) continue;
    add(stage, other, out[other] * bytes);
    stage->back[stage->count - 1] = (in[other] * bytes + 7) / 8 * 8;
  }
}

/* Sends and receives the messages of all stages; each begins with its sender and the step. */
static void exchange(int steps) {
  size_t most = 1;
  for (int i = 0; i < stage_count; i++) {
    size_t sums[2] = {0, 0};
    for (int j = 0; j < stages[i].count; j++)
      sums[0] += (size_t)stages[i].bytes[j], sums[1] += (size_t)stages[i].back[j];
    for (int way = 0; way < 2; way++)
      if (sums[way] > most) most = sums[way];
  }
  char *out = calloc(most, 1), *in = calloc(most, 1);
  MPI_Request *requests = malloc(sizeof(MPI_Request) * 2 * (size_t)ranks);
  MPI_Status *statuses = malloc(sizeof(MPI_Status) * 2 * (size_t)ranks);
  for (int step = 0; step < steps; step++)
    for (int i = 0; i < stage_count; i++) {
      const struct stage *stage = &stages[i];
      size_t at = 0;
      for (int j = 0; j < stage->count; at += (size_t)stage->back[j++])
        MPI_Irecv(in + at, stage->back[j], MPI_BYTE, stage->peer[j], i, MPI_COMM_WORLD, &requests[j]);
      at = 0;
      for (int j = 0; j < stage->count; at += (size_t)stage->bytes[j++]) {
        memcpy(out + at, (int[]){rank, step}, 2 * sizeof(int));
        MPI_Isend(out + at, stage->bytes[j], MPI_BYTE, stage->peer[j], i, MPI_COMM_WORLD,
                  &requests[stage->count + j]);
      }
      MPI_Waitall(2 * stage->count, requests, statuses);
      at = 0;
      for (int j = 0; j < stage->count; at += (size_t)stage->back[j++])
        if (memcmp(in + at, (int[]){stage->peer[j], step}, 2 * sizeof(int))) fail("wrong message of", j);
    }
}

static void sweep(int bytes, int steps) {
  int dims[2] = {0, 0}, planes = 16;
  MPI_Dims_create(ranks, 2, dims);
  int row = place / dims[1], column = place % dims[1];
  int *room = calloc((size_t)bytes / sizeof(int) + 1, sizeof(int));
  for (int step = 0; step < 2 * steps; step++) {
    int way = step % 2 ? -1 : 1; /* from the first corner, then from the last one */
    int near[2] = {row - way, column - way}, far[2] = {row + way, column + way};
    for (int plane = 0; plane < planes; plane++) {
      int length = 0;
      for (int axis = 0; axis < 2; axis++) {
        int at = near[axis], from = axis ? row * dims[1] + at : at * dims[1] + column;
        if (at < 0 || at >= dims[axis]) continue;
        MPI_Recv(room, bytes, MPI_BYTE, rank_at[from], axis, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (room[0] > length) length = room[0];
      }
      room[0] = length + 1; /* the length of the way from the corner */
      int expected = way > 0 ? row + column + 1 : dims[0] - row + dims[1] - column - 1;
      if (room[0] != expected) fail("wrong wavefront", room[0]);
      for (int axis = 0; axis < 2; axis++) {
        int at = far[axis], to = axis ? row * dims[1] + at : at * dims[1] + column;
        if (at >= 0 && at < dims[axis])
          MPI_Send(room, bytes, MPI_BYTE, rank_at[to], axis, MPI_COMM_WORLD);
      }
    }
  }
}

static void print_hosts(void) {
  char own[NAME] = "", *all = malloc((size_t)ranks * NAME);
  int length;
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Get_processor_name(name, &length);
  memcpy(own, name, (size_t)length < NAME ? (size_t)length : NAME - 1);
  MPI_Gather(own, NAME, MPI_CHAR, all, NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; !rank && i < ranks; i++) printf(i ? " %s" : "hosts %s", all + (size_t)i * NAME);
  if (!rank) puts("");
}

int main(int count, char **words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (count != 4) fail("words, expected PROGRAM NAME BYTES STEPS", count);
  char name[NAME] = "";
  strncpy(name, words[1], NAME - 1);
  size_t length = strlen(name);
  int shuffled = length && name[length - 1] == 's' && strcmp(name, "groups"), bytes = atoi(words[2]);
  if (shuffled) name[length - 1] = '\0';
  order(shuffled);
  if (!strcmp(name, "halo2")) halo(2, bytes);
  else if (!strcmp(name, "halo3")) halo(3, bytes);
  else if (!strcmp(name, "cg")) conjugate_gradients(bytes);
  else if (!strcmp(name, "transpose")) transpose(bytes);
  else if (!strcmp(name, "groups")) groups(bytes);
  else if (!strcmp(name, "irregular")) irregular(bytes);
  else if (!strcmp(name, "file")) from_file(bytes);
  else if (strcmp(name, "sweep")) fail("unknown program", 0);
  MPI_Pcontrol(0); /* not recorded; connections are made with the first messages */
  print_hosts();
  exchange(1);
  if (!stage_count) sweep(bytes, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Pcontrol(1);
  double began = MPI_Wtime();
  if (stage_count) exchange(atoi(words[3]));
  else sweep(bytes, atoi(words[3]));
  MPI_Pcontrol(0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (!rank) printf("seconds %.9f\n", MPI_Wtime() - began), fflush(stdout);
  MPI_Finalize();
  return 0;
}
