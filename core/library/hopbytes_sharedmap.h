// SharedMap's functions (libsharedmap.h, C++) over hopbytes.h: a program that calls them includes this header
// in place of SharedMap's. The strategy and the algorithms have no effect, nor has `verbose`, since nothing
// is printed. If an argument is refused, `comm_cost` is -1 and `partition` unchanged. A cost beyond INT_MAX
// is reported as INT_MAX.
#ifndef HOPBYTES_SHAREDMAP_H
#define HOPBYTES_SHAREDMAP_H

#include <algorithm>
#include <limits>
#include <string>

#include "hopbytes.h"

typedef enum { NAIVE, LAYER, QUEUE, NB_LAYER } shared_map_strategy_type_t;
typedef enum {
  KAFFPA_FAST,
  KAFFPA_ECO,
  KAFFPA_STRONG,
  MTKAHYPAR_DEFAULT,
  MTKAHYPAR_QUALITY,
  MTKAHYPAR_HIGHEST_QUALITY
} shared_map_algorithm_type_t;

inline std::string strategy_to_string(shared_map_strategy_type_t strategy) {
  const char *const names[] = {"NAIVE", "LAYER", "QUEUE", "NB_LAYER"};
  return strategy >= NAIVE && strategy <= NB_LAYER ? names[strategy] : "";
}

inline std::string algorithm_to_string(shared_map_algorithm_type_t algorithm) {
  const char *const names[] = {"KAFFPA_FAST",       "KAFFPA_ECO",        "KAFFPA_STRONG",
                               "MTKAHYPAR_DEFAULT", "MTKAHYPAR_QUALITY", "MTKAHYPAR_HIGHEST_QUALITY"};
  return algorithm >= KAFFPA_FAST && algorithm <= MTKAHYPAR_HIGHEST_QUALITY ? names[algorithm] : "";
}

// Hierarchies and distances begin at the innermost level. The cost counts both directions of every edge.
inline void shared_map_hierarchical_multisection(int n, int *v_weights, int *adj_ptrs, int *adj_weights,
                                                 int *adj, int *hierarchy, int *distance, int l,
                                                 float imbalance, int n_threads, int seed,
                                                 shared_map_strategy_type_t, shared_map_algorithm_type_t,
                                                 shared_map_algorithm_type_t, int &comm_cost, int *partition,
                                                 bool) {
  const hopbytes_graph graph = {n, adj_ptrs, adj, adj_weights, v_weights, 32, 32, 0};
  hopbytes_options options;
  hopbytes_result result = {0, 0, 0, 0};
  std::string machine;
  for (int i = hierarchy && distance ? l - 1 : -1; i >= 0; --i)
    machine += "l:" + std::to_string(hierarchy[i]) + "@" + std::to_string(distance[i]) + " ";
  hopbytes_default_options(&options);
  options.machine = machine.c_str();
  options.imbalance = imbalance;
  options.threads = n_threads;
  options.seed = static_cast<uint64_t>(seed);
  options.effort = 1;
  const bool refused = hopbytes_map(&graph, &options, partition, &result) < 0;
  const int64_t most = std::numeric_limits<int>::max();
  comm_cost = refused ? -1 : static_cast<int>(std::min(2 * result.cost, most));
}

// Whether the call would be refused: SharedMap wants weights of at least 1.
inline bool shared_map_hierarchical_multisection_assert_input(
    int n, int *v_weights, int *adj_ptrs, int *adj_weights, int *adj, int *hierarchy, int *distance, int l,
    float imbalance, int n_threads, int seed, shared_map_strategy_type_t strategy,
    shared_map_algorithm_type_t parallel_alg, shared_map_algorithm_type_t serial_alg, bool verbose) {
  if (n < 1 || !v_weights || !adj_ptrs || !hierarchy || !distance || l < 1 || adj_ptrs[0] != 0) return false;
  for (int v = 0; v < n; ++v)
    if (v_weights[v] < 1 || adj_ptrs[v] > adj_ptrs[v + 1]) return false;
  for (int e = 0; e < adj_ptrs[n]; ++e)
    if (!adj || !adj_weights || adj_weights[e] < 1) return false;
  // One PE costs no search, and all arguments are checked.
  int cost = 0, one[16], none[16];
  if (l > 16) return false;
  for (int i = 0; i < l; ++i) {
    if (hierarchy[i] < 1 || distance[i] < 0) return false;
    one[i] = 1, none[i] = distance[i];
  }
  std::string part(sizeof(int) * static_cast<size_t>(n), '\0');
  shared_map_hierarchical_multisection(n, v_weights, adj_ptrs, adj_weights, adj, one, none, l, imbalance,
                                       n_threads, seed, strategy, parallel_alg, serial_alg, cost,
                                       reinterpret_cast<int *>(&part[0]), verbose);
  return cost >= 0;
}

#endif
