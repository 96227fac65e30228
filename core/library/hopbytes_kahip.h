/* KaHIP's functions (kaHIP_interface.h) over hopbytes.h: a program that calls them includes this header in
 * place of KaHIP's. `mode`, `mode_partitioning` and `mode_mapping` have no effect, nor has `suppress_output`,
 * since nothing is printed. If an argument is refused, `edgecut` is -1 and `part` unchanged. A cost beyond
 * INT_MAX is reported as INT_MAX. */
#ifndef HOPBYTES_KAHIP_H
#define HOPBYTES_KAHIP_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "hopbytes.h"

enum { FAST, ECO, STRONG, FASTSOCIAL, ECOSOCIAL, STRONGSOCIAL };
enum { MAPMODE_MULTISECTION, MAPMODE_BISECTION };

static inline int hopbytes_kahip_int(int64_t cost) { return cost < INT_MAX ? (int)cost : INT_MAX; }

static inline void hopbytes_kahip_map(const int* n, const int* vwgt, const int* xadj, const int* adjcwgt,
                                      const int* adjncy, int k, const char* machine, const double* imbalance,
                                      int seed, int* edgecut, int* qap, int* part) {
  hopbytes_graph graph = {0, xadj, adjncy, adjcwgt, vwgt, 32, 32, 0};
  hopbytes_options options;
  hopbytes_result result = {0, 0, 0, 0};
  int failed = !n || !imbalance || !edgecut;
  hopbytes_default_options(&options);
  if (!failed) {
    graph.n = *n;
    options.k = k;
    options.machine = machine;
    options.imbalance = *imbalance;
    options.seed = (uint64_t)seed;
    failed = hopbytes_map(&graph, &options, part, &result) < 0;
  }
  if (edgecut) *edgecut = failed ? -1 : hopbytes_kahip_int(result.cut);
  /* Both directions of every edge, as in KaHIP. */
  if (qap) *qap = failed ? -1 : hopbytes_kahip_int(2 * result.cost);
}

static inline void kaffpa(int* n, int* vwgt, int* xadj, int* adjcwgt, int* adjncy, int* nparts,
                          double* imbalance, bool suppress_output, int seed, int mode, int* edgecut,
                          int* part) {
  (void)suppress_output, (void)mode;
  hopbytes_kahip_map(n, vwgt, xadj, adjcwgt, adjncy, nparts ? *nparts : 0, NULL, imbalance, seed, edgecut,
                     NULL, part);
}

/* With `perfectly_balance` no block exceeds its share rounded up. */
static inline void kaffpa_balance(int* n, int* vwgt, int* xadj, int* adjcwgt, int* adjncy, int* nparts,
                                  double* imbalance, bool perfectly_balance, bool suppress_output, int seed,
                                  int mode, int* edgecut, int* part) {
  double none = 0;
  (void)suppress_output, (void)mode;
  hopbytes_kahip_map(n, vwgt, xadj, adjcwgt, adjncy, nparts ? *nparts : 0, NULL,
                     perfectly_balance ? &none : imbalance, seed, edgecut, NULL, part);
}

/* Hierarchies and distances begin at the innermost level, as in KaHIP: 4 cores of 8 nodes are {4, 8}. */
static inline void process_mapping(int* n, int* vwgt, int* xadj, int* adjcwgt, int* adjncy,
                                   int* hierarchy_parameter, int* distance_parameter, int hierarchy_depth,
                                   int mode_partitioning, int mode_mapping, double* imbalance,
                                   bool suppress_output, int seed, int* edgecut, int* qap, int* part) {
  char machine[16 * 32] = "";
  int i, length = 0;
  (void)suppress_output, (void)mode_partitioning, (void)mode_mapping;
  if (hierarchy_parameter && distance_parameter && hierarchy_depth > 0 && hierarchy_depth <= 16)
    for (i = hierarchy_depth - 1; i >= 0; --i)
      length += snprintf(machine + length, sizeof machine - (size_t)length, "l:%d@%d ",
                         hierarchy_parameter[i], distance_parameter[i]);
  hopbytes_kahip_map(n, vwgt, xadj, adjcwgt, adjncy, 0, machine, imbalance, seed, edgecut, qap, part);
}

#endif
