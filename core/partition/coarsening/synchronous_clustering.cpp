#include "partition/coarsening/synchronous_clustering.hpp"

#include <numeric>
#include <span>
#include <utility>

#include "util/parallel.hpp"
#include "util/sparse_sums.hpp"

namespace hopbytes {

namespace {

constexpr int64_t classes = 8, step = 4096;

// The vertices by class, and within a class in ascending order.
struct ClassOrder {
  std::vector<int32_t> vertex;
  int64_t first[classes + 1];

  ClassOrder(int64_t n, uint64_t seed, int32_t threads) : vertex(n) {
    const int64_t ranges = (n + step - 1) / step;
    std::vector<int64_t> at(classes * ranges, 0);
    auto class_of = [seed](int64_t v) {
      return static_cast<int64_t>(mix(seed ^ static_cast<uint64_t>(v)) % classes);
    };
    parallel_ranges(n, step, threads, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) ++at[class_of(v) * ranges + begin / step];
    });
    int64_t filled = 0;
    for (int64_t c = 0; c < classes; ++c) {
      first[c] = filled;
      for (int64_t r = 0; r < ranges; ++r) filled += std::exchange(at[c * ranges + r], filled);
    }
    first[classes] = filled;
    parallel_ranges(n, step, threads, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v)
        vertex[at[class_of(v) * ranges + begin / step]++] = static_cast<int32_t>(v);
    });
  }
};

template <class W> class SynchronousClustering {
 public:
  SynchronousClustering(const Graph<W>& g, int64_t max_cluster, uint64_t seed, int32_t threads)
      : g_(g),
        max_cluster_(max_cluster),
        seed_(seed),
        threads_(threads),
        order_(g.n, seed, threads),
        found_{std::vector<int32_t>(g.n), g.n},
        target_(g.n),
        load_(g.load, g.load + g.n),
        joining_(g.n, 0),
        matched_(g.n, 0),
        may_move_(g.n, 0),
        sums_(std::max(threads, 1)) {
    std::iota(found_.leader.begin(), found_.leader.end(), 0);
  }

  Clusters run(int64_t fewest, const Control& control) {
    for (int64_t c = 0; c < classes && found_.count > fewest && !control.should_stop(); ++c) {
      const std::span<const int32_t> visited(order_.vertex.data() + order_.first[c],
                                             order_.first[c + 1] - order_.first[c]);
      choose(visited);
      join(visited);
    }
    if (found_.count * 4 > g_.n * 3 && !control.should_stop()) match_two_hop();
    return std::move(found_);
  }

 private:
  static constexpr int32_t none = -1;
  // Marks a vertex that cluster c refused, among the numbers of clusters and `none`.
  static int32_t refused_by(int32_t c) { return -2 - c; }

  // Calls work(worker, range, v) for the visited vertices.
  template <class Work> void for_each(std::span<const int32_t> visited, Work work) const {
    parallel_ranges(static_cast<int64_t>(visited.size()), step, threads_,
                    [&](int32_t worker, int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) work(worker, begin / step, visited[i]);
                    });
  }

  // Writes the cluster that each visited vertex wants to join.
  void choose(std::span<const int32_t> visited) {
    for_each(visited, [&](int32_t, int64_t, int32_t v) { may_move_[v] = !matched_[v]; });
    for_each(visited, [&](int32_t worker, int64_t, int32_t v) {
      target_[v] = may_move_[v] ? best_cluster(v, sums_[worker]) : none;
    });
  }

  int32_t best_cluster(int32_t v, SparseSums& sums) const {
    sums.start(g_.degree(v));
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
      const int32_t c = found_.leader[g_.adj[e]];
      if (!may_move_[c]) sums.add(c, g_.weight[e]);
    }
    const uint64_t draw = mix(seed_ + static_cast<uint64_t>(v));
    double best = 0;
    uint64_t best_draw = 0;
    int32_t target = none;
    for (const auto& [c, weight] : sums.entries()) {
      if (load_[c] + g_.load[v] > max_cluster_) continue;
      const double r = rating(static_cast<double>(weight), load_[c]);
      if (r < best) continue;
      const uint64_t own = (draw ^ static_cast<uint64_t>(c)) * 0x9e3779b97f4a7c15ULL;
      if (r > best || own > best_draw) best = r, best_draw = own, target = c;
    }
    return target;
  }

  // Moves the visited vertices to the clusters that they want to join, as far as there is room.
  void join(std::span<const int32_t> visited) {
    for_each(visited, [&](int32_t, int64_t, int32_t v) {
      may_move_[v] = 0;
      if (target_[v] != none) shared_add(joining_[target_[v]], g_.load[v]);
    });
    std::vector<std::vector<int32_t>> refused((visited.size() + step - 1) / step);
    std::vector<int64_t> joined(refused.size(), 0);
    for_each(visited, [&](int32_t, int64_t range, int32_t v) {
      const int32_t c = target_[v];
      if (c == none) return;
      if (load_[c] + joining_[c] > max_cluster_) {
        refused[range].push_back(v);
        target_[v] = refused_by(c);
      } else {
        found_.leader[v] = c;
        ++joined[range];
      }
    });
    for_each(visited, [&](int32_t, int64_t, int32_t v) {
      const int32_t c = target_[v];
      if (c < none) shared_store(joining_[refused_by(c)], int64_t{0});
      if (c < 0) return;
      shared_store(joining_[c], int64_t{0});
      shared_add(load_[c], g_.load[v]);
      matched_[v] = 1;
      shared_store(matched_[c], uint8_t{1});
    });
    for (const int64_t count : joined) found_.count -= count;
    for (const std::vector<int32_t>& several : refused)
      for (const int32_t v : several) join_with_room(v, refused_by(target_[v]));
  }

  void join_with_room(int32_t v, int32_t c) {
    if (load_[c] + g_.load[v] > max_cluster_) return;
    found_.leader[v] = c;
    load_[c] += g_.load[v];
    matched_[v] = matched_[c] = 1;
    --found_.count;
  }

  // Joins vertices that are alone and rate the same neighbour highest in pairs, and isolated ones with the
  // next ones.
  void match_two_hop() {
    parallel_ranges(g_.n, step, threads_, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) target_[v] = matched_[v] ? none : preferred(v);
    });
    std::vector<int32_t> waiting(g_.n + 1, none);
    for (int32_t v = 0; v < g_.n; ++v) {
      if (matched_[v]) continue;
      int32_t& other = waiting[target_[v] == none ? g_.n : target_[v]];
      if (other != none && g_.load[other] + g_.load[v] <= max_cluster_) {
        join_with_room(v, other);
        other = none;
      } else {
        other = v;
      }
    }
  }

  int32_t preferred(int64_t v) const {
    double best = -1;
    int32_t found = none;
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
      const double r = rating(static_cast<double>(g_.weight[e]), g_.load[g_.adj[e]]);
      if (r > best) best = r, found = g_.adj[e];
    }
    return found;
  }

  const Graph<W>& g_;
  int64_t max_cluster_;
  uint64_t seed_;
  int32_t threads_;
  ClassOrder order_;
  Clusters found_;
  std::vector<int32_t> target_;
  std::vector<int64_t> load_;     // of the cluster that a leader names
  std::vector<int64_t> joining_;  // load of the vertices that want to join
  std::vector<uint8_t> matched_;  // whether a vertex is in a cluster of several
  std::vector<uint8_t> may_move_;  // whether it is alone and in the class of this round
  std::vector<SparseSums> sums_;   // of each worker
};

}  // namespace

template <class W>
Clusters cluster_synchronously(const Graph<W>& g, const CoarseningContext& context, int64_t fewest,
                               uint64_t seed, int32_t threads, const Control& control) {
  return SynchronousClustering<W>(g, context.max_cluster, seed, threads).run(fewest, control);
}

template Clusters cluster_synchronously(const Graph<int32_t>&, const CoarseningContext&, int64_t, uint64_t,
                                        int32_t, const Control&);
template Clusters cluster_synchronously(const Graph<int64_t>&, const CoarseningContext&, int64_t, uint64_t,
                                        int32_t, const Control&);

}  // namespace hopbytes
