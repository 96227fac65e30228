#include "partition/coarsening/synchronous_clustering.hpp"

#include "partition/coarsening/growing_clusters.hpp"
#include "util/bucket_order.hpp"
#include "util/sparse_sums.hpp"

namespace hopbytes {

namespace {

constexpr int64_t most_visits = 1024;
// visits and arcs for which memory is asked beforehand
constexpr int64_t ahead = GrowingClusters::ahead, many_arcs = 32;

// Classes of vertices, which visit their neighbours in turn; vertices that are sorted into them in turn.
constexpr int64_t classes = 8, sorted_in_turn = 1 << 13;

// Only the methods that read weights are templates.
class SynchronousClustering {
 public:
  SynchronousClustering(const GraphShape& g, const SynchronousContext& context, Team& team)
      : g_(g),
        context_(context),
        team_(team),
        visits_at_once_(std::min(most_visits, vertices_per_range(g))),
        clusters_(g, context.max_cluster, context.community, team),
        target_(g.n),
        wanted_(g.n),
        sums_(team.threads()) {}

  // `g` is the graph of the constructor.
  template <class W> Clusters run(const Graph<W>& g, const Control& control) {
    join_in_ranges(g, control);
    int64_t span = most_arcs_of_range(g_, context_.local_range);
    // Visits of a range, each of a vertex of average degree.
    const auto most_of_visits = [&](int64_t visits) {
      return std::min(visits, visits_at_once_) * (1 + g_.arcs() / std::max<int64_t>(1, g_.n));
    };
    parallel_ranges(g_.n, kVerticesPerRange, team_, [&](int32_t, int64_t begin, int64_t end) {
      std::copy(clusters_.load.begin() + begin, clusters_.load.begin() + end, wanted_.begin() + begin);
    });
    const UnsetVector<int32_t> waiting = alone();
    const auto class_of = [&](int32_t v) { return mix(context_.seed ^ static_cast<uint64_t>(v)) % classes; };
    const Buckets<int32_t> order(waiting, classes, class_of, team_);
    for (int64_t c = 0; c < classes && clusters_.found.count > context_.fewest && !control.should_stop();
         ++c) {
      choose(g, order.of(c));
      join(order.of(c));
      span += most_of_visits(std::ssize(order.of(c)));
    }
    span += std::min(std::ssize(waiting), sorted_in_turn);
    if (clusters_.found.count * 4 > g_.n * 3 && !control.should_stop()) {
      find_preferred(g);
      span += most_arcs_of_range(g_, visits_at_once_);
      const UnsetVector<int32_t> single = alone();
      match_two_hop(single, [&](int32_t v) { return target_[v]; }, clusters_);
      span += std::ssize(single);  // which are looked at in turn
    }
    control.record_parallel_work(g_.arcs(), std::min(span, g_.arcs()));
    return std::move(clusters_.found);
  }

 private:
  static constexpr int32_t none = -1;

  // Clusters the vertices of every range of consecutive numbers among themselves, as far as the share of the
  // range in the fewest clusters permits.
  template <class W> void join_in_ranges(const Graph<W>& g, const Control& control) {
    const int64_t step = context_.local_range;
    std::vector<int64_t> joined((g.n + step - 1) / step, 0);
    parallel_ranges(g.n, step, team_, [&](int32_t, int64_t begin, int64_t end) {
      const int64_t most = (end - begin) - ((end - begin) * context_.fewest + g.n - 1) / g.n;
      std::vector<int32_t> order(end - begin);
      std::iota(order.begin(), order.end(), static_cast<int32_t>(begin));
      Rng rng(derive(context_.seed, begin));
      rng.shuffle(order);
      joined[begin / step] = join_in_order(g, order, begin, end, most, rng, control, clusters_);
    });
    for (const int64_t count : joined) clusters_.found.count -= count;
  }

  // Returns the vertices that are in no cluster with others.
  UnsetVector<int32_t> alone() const {
    std::vector<int64_t> at((g_.n + context_.local_range - 1) / context_.local_range + 1, 0);
    parallel_ranges(g_.n, context_.local_range, team_, [&](int32_t, int64_t begin, int64_t end) {
      at[begin / context_.local_range + 1] =
          std::count(clusters_.matched.begin() + begin, clusters_.matched.begin() + end, 0);
    });
    for (size_t i = 1; i < at.size(); ++i) at[i] += at[i - 1];
    UnsetVector<int32_t> vertices(at.back());
    parallel_ranges(g_.n, context_.local_range, team_, [&](int32_t, int64_t begin, int64_t end) {
      int64_t filled = at[begin / context_.local_range];
      for (int64_t v = begin; v < end; ++v)
        if (!clusters_.matched[v]) vertices[filled++] = static_cast<int32_t>(v);
    });
    return vertices;
  }

  // Calls work(worker, range, v) for the visited vertices.
  template <class Work> void for_each(std::span<const int32_t> visited, Work work) const {
    parallel_ranges(static_cast<int64_t>(visited.size()), visits_at_once_, team_,
                    [&](int32_t worker, int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i) work(worker, begin / visits_at_once_, visited[i]);
                    });
  }

  // Writes the cluster that each visited vertex wants to join, and adds its load to what the cluster would
  // have. In the meantime those that are alone have no leader, so that others see that they may move.
  template <class W> void choose(const Graph<W>& g, std::span<const int32_t> visited) {
    for_each(visited, [&](int32_t, int64_t, int32_t v) {
      if (!clusters_.matched[v]) clusters_.found.leader[v] = none;
    });
    const auto size = std::ssize(visited);
    parallel_ranges(size, visits_at_once_, team_, [&](int32_t worker, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (i + 3 * ahead < size) __builtin_prefetch(&g.start[visited[i + 3 * ahead]]);
        if (i + 2 * ahead < size) prefetch_arcs(g, visited[i + 2 * ahead]);
        if (i + ahead < size) prefetch_leaders(visited[i + ahead]);
        const int32_t v = visited[i];
        const int32_t c = clusters_.found.leader[v] == none ? best_cluster(g, v, sums_[worker]) : none;
        target_[v] = c;
        if (c != none) shared_add(wanted_[c], g_.load[v]);
      }
    });
  }

  void prefetch_leaders(int32_t v) const {
    for (int64_t e = g_.start[v]; e < std::min(g_.start[v + 1], g_.start[v] + many_arcs); ++e)
      __builtin_prefetch(&clusters_.found.leader[g_.adj[e]]);
  }

  template <class W> int32_t best_cluster(const Graph<W>& g, int32_t v, SparseSums& sums) const {
    sums.start(g.degree(v));
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t c = clusters_.found.leader[g.adj[e]];
      if (c != none) sums.add(c, g.weight[e]);
    }
    const uint64_t draw = mix(context_.seed + static_cast<uint64_t>(v));
    double best = 0;
    uint64_t best_draw = 0;
    int32_t target = none;
    for (const auto& [c, weight] : sums.entries()) {
      if (!clusters_.may_join(v, c)) continue;
      const double r = rating(static_cast<double>(weight), clusters_.load[c]);
      if (r < best) continue;
      const uint64_t own = (draw ^ static_cast<uint64_t>(c)) * 0x9e3779b97f4a7c15ULL;
      if (r > best || own > best_draw) best = r, best_draw = own, target = c;
    }
    return target;
  }

  // Moves the visited vertices to the clusters that they want to join, as far as there is room.
  void join(std::span<const int32_t> visited) {
    std::vector<std::vector<int32_t>> refused((visited.size() + visits_at_once_ - 1) / visits_at_once_);
    std::vector<int64_t> joined(refused.size(), 0);
    for_each(visited, [&](int32_t, int64_t range, int32_t v) {
      int32_t& leader = clusters_.found.leader[v];
      const int32_t c = target_[v];
      if (leader == none) leader = v;
      if (c == none) return;
      if (wanted_[c] > clusters_.max_cluster) {
        refused[range].push_back(v);
        return;
      }
      leader = c;
      shared_add(clusters_.load[c], g_.load[v]);
      clusters_.matched[v] = 1;
      shared_store(clusters_.matched[c], uint8_t{1});
      ++joined[range];
    });
    for (const int64_t count : joined) clusters_.found.count -= count;
    for (const std::vector<int32_t>& several : refused)
      for (const int32_t v : several) clusters_.join(v, target_[v]);
    for (const std::vector<int32_t>& several : refused)
      for (const int32_t v : several) wanted_[target_[v]] = clusters_.load[target_[v]];
  }

  // Writes the neighbour that each vertex that is alone rates highest.
  template <class W> void find_preferred(const Graph<W>& g) {
    parallel_ranges(g_.n, visits_at_once_, team_, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v)
        target_[v] = clusters_.matched[v] ? none : preferred_neighbour(g, v);
    });
  }

  const GraphShape& g_;
  const SynchronousContext context_;
  Team& team_;
  const int64_t visits_at_once_;  // that a thread makes at once
  GrowingClusters clusters_;
  UnsetVector<int32_t> target_;
  UnsetVector<int64_t> wanted_;  // load of each cluster if all joined it that want to
  std::vector<SparseSums> sums_;  // of each worker
};

}  // namespace

template <class W>
Clusters cluster_synchronously(const Graph<W>& g, const SynchronousContext& context, Team& team,
                               const Control& control) {
  return SynchronousClustering(g, context, team).run(g, control);
}

template Clusters cluster_synchronously(const Graph<int32_t>&, const SynchronousContext&, Team&,
                                        const Control&);
template Clusters cluster_synchronously(const Graph<int64_t>&, const SynchronousContext&, Team&,
                                        const Control&);

}  // namespace hopbytes
