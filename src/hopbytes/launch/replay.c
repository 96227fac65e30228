/* Sends the messages of a pattern and measures the time: the same program as replay_program.py, built with the MPI
 * compiler of the user.
 *
 *   replay FILE ROUNDS      rank 0 prints a line of JSON
 *
 * FILE holds integers of 64 bits: ranks, messages, the first message of every rank and the number of messages, then
 * receiver and bytes of every message. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest message that is sent in one piece. */
static const int64_t PIECE = 1 << 30;

typedef struct {
  int64_t ranks, messages;
  int64_t *first, *message;
} Pattern;

static int64_t *numbers(FILE *file, int64_t count) {
  int64_t *read = malloc((size_t)(count > 0 ? count : 1) * sizeof *read);
  if (read && fread(read, sizeof *read, (size_t)count, file) == (size_t)count) return read;
  fprintf(stderr, "hopbytes: the file of messages is cut, or there is no memory for it\n");
  exit(1);
}

static Pattern read_pattern(const char *name) {
  FILE *file = fopen(name, "rb");
  if (!file) {
    fprintf(stderr, "hopbytes: %s: cannot be read, expected a folder that all nodes share\n", name);
    exit(1);
  }
  int64_t *head = numbers(file, 2);
  Pattern pattern = {head[0], head[1], numbers(file, head[0] + 1), numbers(file, 2 * head[1])};
  free(head);
  fclose(file);
  return pattern;
}

static int64_t pieces(int64_t bytes) { return (bytes + PIECE - 1) / PIECE; }

static int piece(int64_t bytes, int64_t number) {
  const int64_t left = bytes - number * PIECE;
  return (int)(left < PIECE ? left : PIECE);
}

/* Fills `seconds` with the time of every round from the first send to the last completion. */
static void measure(const Pattern *p, int rank, int rounds, double *seconds) {
  int64_t requests = 0, received = 0, longest = 0;
  for (int64_t source = 0; source < p->ranks; ++source)
    for (int64_t i = p->first[source]; i < p->first[source + 1]; ++i) {
      const int64_t to = p->message[2 * i], bytes = p->message[2 * i + 1];
      if (source == rank && bytes > longest) longest = bytes;
      if (to == rank) received += bytes;
      requests += (source == rank ? pieces(bytes) : 0) + (to == rank ? pieces(bytes) : 0);
    }
  char *out = calloc((size_t)longest + 1, 1), *in = calloc((size_t)received + 1, 1);
  MPI_Request *posted = malloc((size_t)(requests + 1) * sizeof *posted);
  if (!out || !in || !posted) {
    fprintf(stderr, "hopbytes: no memory for the messages of rank %d, expected less (--round-bytes)\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int number = -1; number < rounds; ++number) { /* the first round opens connections and is not measured */
    int count = 0;
    char *place = in;
    for (int64_t source = 0; source < p->ranks; ++source)
      for (int64_t i = p->first[source]; i < p->first[source + 1]; ++i)
        if (p->message[2 * i] == rank)
          for (int64_t k = 0; k < pieces(p->message[2 * i + 1]); ++k) {
            const int size = piece(p->message[2 * i + 1], k);
            MPI_Irecv(place, size, MPI_BYTE, (int)source, 0, MPI_COMM_WORLD, &posted[count++]);
            place += size;
          }
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    for (int64_t i = p->first[rank]; i < p->first[rank + 1]; ++i)
      for (int64_t k = 0; k < pieces(p->message[2 * i + 1]); ++k)
        MPI_Isend(out + k * PIECE, piece(p->message[2 * i + 1], k), MPI_BYTE, (int)p->message[2 * i], 0,
                  MPI_COMM_WORLD, &posted[count++]);
    MPI_Waitall(count, posted, MPI_STATUSES_IGNORE);
    if (number >= 0) seconds[number] = MPI_Wtime() - began;
  }
  free(posted), free(in), free(out);
}

int main(int argc, char **argv) {
  int rank, size, length;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc == 3 ? atoi(argv[2]) : 0;
  if (rounds < 1) return 2;
  const Pattern pattern = read_pattern(argv[1]);
  if (size != pattern.ranks) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = 0;
    if (size == 1) printf("hopbytes-replay-alone %s\n", version);
    else if (rank == 0)
      fprintf(stderr, "%d processes, expected %lld as in the pattern\n", size, (long long)pattern.ranks);
    fflush(stdout);
    MPI_Finalize();
    return 1;
  }
  double *seconds = calloc((size_t)rounds, sizeof *seconds), *slowest = calloc((size_t)rounds, sizeof *slowest);
  if (!seconds || !slowest) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("hopbytes-replay-under-way"), fflush(stdout);
  measure(&pattern, rank, rounds, seconds);
  MPI_Reduce(seconds, slowest, rounds, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("hopbytes-replay {\"seconds\": [");
    for (int round = 0; round < rounds; ++round) printf("%s%.9g", round ? ", " : "", slowest[round]);
    puts("]}");
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
