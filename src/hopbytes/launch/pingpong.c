/* Ping-pong between pairs of ranks. The same program as pingpong.py, for machines without mpi4py.
 *
 *   pingpong where                        every rank prints its host and CPUs
 *   pingpong run BATCHES SIZE:ROUNDS,... A-B,... SECONDS   one pair after the other, each as long as that; rank A
 *                                         prints seconds per message, and the number of sizes that it measured
 *
 * Every line begins with #hopbytes-measure, because the MPI library may print lines as well. Every line is written
 * by one call, because launchers forward pieces of output as they arrive and mix those of different ranks. */
#define _GNU_SOURCE
#include <mpi.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS = 65536, LINE = 8 * CPUS };

/* Write a line by one call of write, or by several if the system writes only a part. stdio is not used, because
 * some MPI libraries make it unbuffered. */
static void say(const char *line, size_t size) {
  while (size > 0) {
    const ssize_t done = write(STDOUT_FILENO, line, size);
    if (done < 0 && errno != EINTR) return;
    if (done > 0) line += done, size -= (size_t)done;
  }
}

/* Print the CPUs of this process in the kernel's notation: 0-3,8. */
static size_t list_cpus(char *text, size_t room) {
  size_t used = 0;
  cpu_set_t *set = CPU_ALLOC(CPUS);
  const size_t bytes = CPU_ALLOC_SIZE(CPUS);
  CPU_ZERO_S(bytes, set);
  if (sched_getaffinity(0, bytes, set) == 0)
    for (int cpu = 0; cpu < CPUS; ++cpu) {
      const int first = cpu;
      while (cpu < CPUS && CPU_ISSET_S(cpu, bytes, set)) ++cpu;
      if (cpu == first) continue;
      used += (size_t)snprintf(text + used, room - used, used ? ",%d" : "%d", first);
      if (cpu - 1 > first) used += (size_t)snprintf(text + used, room - used, "-%d", cpu - 1);
    }
  CPU_FREE(set);
  return used;
}

static void say_where(int rank) {
  char host[MPI_MAX_PROCESSOR_NAME + 1] = {0}, *line = malloc(LINE);
  int length = 0;
  if (line == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Get_processor_name(host, &length);
  size_t used = (size_t)snprintf(line, LINE, "#hopbytes-measure where %d %s ", rank, host);
  used += list_cpus(line + used, LINE - used);
  used += (size_t)snprintf(line + used, LINE - used, " .\n");
  say(line, used);
  free(line);
}

/* Return the seconds of one message in one direction, the mean of a batch of round trips. */
static double batch(int first, int partner, char *buffer, int size, long rounds) {
  const double begin = MPI_Wtime();
  for (long round = 0; round < rounds; ++round) {
    if (first) MPI_Send(buffer, size, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
    MPI_Recv(buffer, size, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!first) MPI_Send(buffer, size, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - begin) / (2.0 * (double)rounds);
}

/* The rounds of a batch that the time allows if each takes so many seconds, 0: all; rank A decides for both. */
static long rounds_within(int first, int partner, long most, double round_trip, double left) {
  long rounds = most;
  if (round_trip > 0 && left < round_trip * (double)most) rounds = (long)(left / round_trip);
  if (rounds < 0) rounds = 0;
  if (first) MPI_Send(&rounds, 1, MPI_LONG, partner, 2, MPI_COMM_WORLD);
  if (!first) MPI_Recv(&rounds, 1, MPI_LONG, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return rounds;
}

static void run_pair(int rank, int a, int b, int batches, const char *sizes, double limit) {
  const int partner = rank == a ? b : a;
  const double begin = MPI_Wtime();
  int done = 0; /* sizes; the first two are always measured */
  double per_byte = 0;
  char line[128];
  for (const char *word = sizes; word != NULL && *word; word = strchr(word, ',')) {
    if (*word == ',') ++word;
    int size = 0;
    long rounds = 0;
    if (sscanf(word, "%d:%ld", &size, &rounds) != 2 || size < 0 || rounds < 1) MPI_Abort(MPI_COMM_WORLD, 2);
    const double round_trip = done > 1 ? 2 * per_byte * size * (batches + 1) : 0;
    rounds = rounds_within(rank == a, partner, rounds, round_trip, limit - (MPI_Wtime() - begin));
    if (rounds == 0) break;
    char *buffer = calloc((size_t)size + 1, 1);
    if (buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    batch(rank == a, partner, buffer, size, 1);
    for (int number = 0; number < batches; ++number) {
      const double seconds = batch(rank == a, partner, buffer, size, rounds);
      const int used = snprintf(line, sizeof line, "#hopbytes-measure time %d %d %d %.12e .\n", a, b, size, seconds);
      if (rank == a) say(line, (size_t)used);
      per_byte = seconds / (size > 0 ? size : 1);
    }
    free(buffer);
    ++done;
  }
  const int used = snprintf(line, sizeof line, "#hopbytes-measure sizes %d %d %d .\n", a, b, done);
  if (rank == a) say(line, (size_t)used);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc == 2) say_where(rank);
  if (argc == 6) {
    for (const char *word = argv[4]; word != NULL && *word; word = strchr(word, ',')) {
      if (*word == ',') ++word;
      int a = 0, b = 0;
      if (sscanf(word, "%d-%d", &a, &b) != 2) MPI_Abort(MPI_COMM_WORLD, 2);
      if (rank == a || rank == b) run_pair(rank, a, b, atoi(argv[2]), argv[3], atof(argv[5]));
      MPI_Barrier(MPI_COMM_WORLD); /* the other ranks wait, so that only one pair communicates at a time */
    }
  }
  MPI_Finalize();
  return 0;
}
