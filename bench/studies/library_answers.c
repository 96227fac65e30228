/* The same bytes on every processor: lines of the cost and a hash of the blocks that the C library finds.
 * November 2026: the lines of x86-64 and of aarch64 (in an emulator, by `qemu-aarch64-static -L
 * /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=...`) are the same.
 *
 *   cc library_answers.c $(python -m hopbytes.config --cflags --libs) -o answers && ./answers
 */
#include <hopbytes.h>
#include <stdio.h>
#include <stdlib.h>

enum { GRAPHS = 50, MOST = 4000 };

static uint64_t state;
static uint64_t next(void) { /* splitmix64 */
  uint64_t z = (state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int32_t rows[MOST + 1], targets[16 * MOST], weights[16 * MOST], loads[MOST], part[MOST];
static int32_t ends[8 * MOST][3];
static int count;

static void edge(int a, int b, int weight) {
  if (a == b || count == 8 * MOST) return;
  ends[count][0] = a, ends[count][1] = b, ends[count][2] = weight, ++count;
}

/* A lattice with some long edges, or a graph with edges anywhere. */
static int graph(int number) {
  const int side = 10 + (int)(next() % 50), n = side * side;
  int v, e, i;
  state = (uint64_t)number, count = 0;
  for (v = 0; v < n; ++v) {
    const int heavy = number % 3 == 0 ? 1 + (int)(next() % 40) : 1;
    if (number % 2 == 0) {
      if (v % side) edge(v, v - 1, heavy);
      if (v >= side) edge(v, v - side, 1);
    }
    if (number % 2 || next() % 20 == 0)
      for (i = 0; i < 2; ++i) edge(v, (int)(next() % (uint64_t)n), heavy);
    loads[v] = number % 5 == 0 ? 1 + (int)(next() % 9) : 1;
  }
  for (v = 0; v <= n; ++v) rows[v] = 0;
  for (e = 0; e < count; ++e) ++rows[ends[e][0] + 1], ++rows[ends[e][1] + 1];
  for (v = 0; v < n; ++v) rows[v + 1] += rows[v];
  for (e = 0; e < count; ++e)
    for (i = 0; i < 2; ++i) {
      const int at = rows[ends[e][i]]++;
      targets[at] = ends[e][1 - i], weights[at] = ends[e][2];
    }
  for (v = n; v > 0; --v) rows[v] = rows[v - 1];
  rows[0] = 0;
  return n;
}

int main(void) {
  static const char *const machines[] = {"node:3@10 core:4@1", "rack:2 node:2 socket:2 core:3", "core:16",
                                         "node:6 core:5"};
  int number, effort, v;
  for (number = 0; number < GRAPHS; ++number) {
    hopbytes_graph given = {0, rows, targets, weights, loads, 32, 32, 0};
    given.n = graph(number);
    for (effort = -1; effort <= 1; ++effort) {
      hopbytes_options options;
      hopbytes_result result;
      uint64_t hash = 14695981039346656037u;
      int status;
      hopbytes_default_options(&options);
      options.machine = machines[number % 4], options.seed = (uint64_t)number, options.effort = effort;
      options.imbalance = number % 7 ? 0.03 : 0.005;
      status = hopbytes_map(&given, &options, part, &result);
      for (v = 0; v < given.n; ++v) hash = (hash ^ (uint64_t)(uint32_t)part[v]) * 1099511628211u;
      printf("%d %d %d %lld %016llx\n", number, effort, status, (long long)result.cost,
             (unsigned long long)hash);
    }
  }
  return 0;
}
