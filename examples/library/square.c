/* The vertices of a square lattice on 2 nodes of 4 cores.
 * cc square.c $(python -m hopbytes.config --cflags --libs) -o square */
#include <hopbytes.h>
#include <stdio.h>

enum { SIDE = 32, N = SIDE * SIDE };

int main(void) {
  static int32_t rows[N + 1], targets[4 * N], part[N];
  for (int v = 0, e = 0; v < N; ++v) {
    const int x = v % SIDE, y = v / SIDE;
    if (y > 0) targets[e++] = v - SIDE;
    if (x > 0) targets[e++] = v - 1;
    if (x < SIDE - 1) targets[e++] = v + 1;
    if (y < SIDE - 1) targets[e++] = v + SIDE;
    rows[v + 1] = e;
  }
  hopbytes_graph graph = {.n = N, .rows = rows, .targets = targets, .index_bits = 32, .weight_bits = 32};
  hopbytes_options options;
  hopbytes_result result;
  hopbytes_default_options(&options);
  options.machine = "node:2@10 core:4@1";
  const int status = hopbytes_map(&graph, &options, part, &result);
  if (status < 0) {
    fprintf(stderr, "hopbytes: %s\n", hopbytes_message(status));
    return 1;
  }
  printf("cost %lld cut %lld imbalance %.4f\n", (long long)result.cost, (long long)result.cut, result.imbalance);
  return 0;
}
