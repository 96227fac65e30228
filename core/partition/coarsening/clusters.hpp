// Clusters of vertices, and how edges and clusters are rated for contraction.
#pragma once
#include <algorithm>

#include "util/rng.hpp"
#include "util/unset_vector.hpp"

namespace hopbytes {

struct Clusters {
  UnsetVector<int32_t> leader;  // of every vertex: the member that names its cluster
  int64_t count = 0;
};

// Rating of an edge for contraction: w^2 / (c_u c_v), which prefers heavy edges between light vertices
// (Holtgrewe, Sanders, Schulz 2010, "expansion*2"). For a fixed u only the load of the other end matters.
inline double rating(double w, int64_t far_load) {
  return w * w / static_cast<double>(std::max<int64_t>(far_load, 1));
}

struct RatedCluster {
  int32_t cluster = -1;  // -1: none
  double rating = 0;
};

// Returns the best rated one of `near` clusters, in case of ties the first one from a random one on. rate(c)
// is 0 for a cluster that may not be joined.
template <class Rate> RatedCluster best_rated(const int32_t* clusters, int64_t near, Rng& rng, Rate rate) {
  RatedCluster best;
  const int64_t offset = near == 0 ? 0 : static_cast<int64_t>(rng.below(near));
  for (int64_t j = 0; j < near; ++j) {
    const int32_t c = clusters[j + offset < near ? j + offset : j + offset - near];
    if (const double r = rate(c); r > best.rating) best = {c, r};
  }
  return best;
}

}  // namespace hopbytes
