#include "partition/refinement/annealing.hpp"

#include <array>

#include "util/portable_math.hpp"

namespace hopbytes {

namespace {

constexpr int32_t random_bits = 12;
using Thresholds = std::array<double, 1 << random_bits>;

// A loss is accepted if it is at most the temperature times a random entry: -log of a uniform random number.
const Thresholds& thresholds() {
  static const Thresholds table = [] {
    Thresholds values;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = -portable_log((static_cast<double>(i) + 0.5) / static_cast<double>(values.size()));
    return values;
  }();
  return table;
}

// The distances of few blocks as a table, from which they are read faster than they are computed.
class DistanceTable {
 public:
  DistanceTable(const AnyDistance& distance, int64_t k) : distance_(distance) {
    constexpr int64_t few_blocks = 1024;
    if (distance.flat() || k > few_blocks) return;
    entries_.reserve(k * k);
    for (int32_t a = 0; a < k; ++a)
      for (int32_t b = 0; b < k; ++b) entries_.push_back(distance(a, b));
    distance_ = TableDistance{entries_.data(), k};
  }
  DistanceTable(const DistanceTable&) = delete;
  DistanceTable& operator=(const DistanceTable&) = delete;
  const AnyDistance& distance() const { return distance_; }

 private:
  std::vector<int64_t> entries_;
  AnyDistance distance_;
};

}  // namespace

template <class W> bool near_blocks_matter(const Graph<W>& g, const Partition<W>& partition) {
  constexpr double least_share = 0.2;
  int64_t nearest = std::numeric_limits<int64_t>::max(), farthest = 0;
  double cost = 0, cut = 0;
  for (int32_t v = 0; v < g.n; ++v)
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) {
      const int32_t a = partition.block(v), b = partition.block(g.adj[e]);
      if (a == b) continue;
      const int64_t between = partition.distance()(a, b);
      nearest = std::min(nearest, between), farthest = std::max(farthest, between);
      const auto weight = static_cast<double>(g.weight[e]);
      cut += weight, cost += weight * static_cast<double>(between);
    }
  return nearest > 0 && nearest < farthest && cut * static_cast<double>(nearest) >= least_share * cost;
}

template <class W> void Annealing<W>::refine(Partition<W>& partition, Rng& rng, const Control& control) {
  if (partition.overload() > 0) return;
  partition.find_boundary();
  const Graph<W>& g = partition.graph();
  const int64_t cost = partition.cost_at_boundary();
  std::vector<int32_t> before = partition.blocks();
  anneal(partition, rng, control);
  rebalance_.refine(partition, rng, control);
  fm_.refine(partition, rng, control);
  if (partition.overload() == 0 && partition.cost_at_boundary() < cost) return;
  partition.assign(g, std::move(before));
  partition.find_boundary();
}

template <class W> void Annealing<W>::anneal(Partition<W>& partition, Rng& rng, const Control& control) {
  const Graph<W>& g = partition.graph();
  start(g, partition);
  const DistanceTable table(partition.distance(), partition.k());
  table.distance().in_form([&](const auto& distance) {
    for (int32_t i = 0; i < context_.sweeps && !control.should_stop(); ++i)
      control.record_work(g.n + sweep(g, distance, static_cast<double>(i) / context_.sweeps, rng));
  });
  HOPBYTES_CHECK(weight_into_ == weights_into_blocks(g));
  partition.assign(g, std::move(block_));
}

template <class W> void Annealing<W>::start(const Graph<W>& g, Partition<W>& partition) {
  max_block_weight_ = partition.max_block_weights();
  block_ = partition.blocks();
  load_ = partition.loads();
  double weight = 0;
  for (int64_t e = 0; e < g.arcs(); ++e) weight += static_cast<double>(g.weight[e]);
  mean_weight_ = weight / static_cast<double>(g.arcs());
  per_mean_load_ = static_cast<double>(g.n) / static_cast<double>(std::max<int64_t>(1, g.total_load));
  foreign_.assign(g.n, 0);
  for (int32_t v = 0; v < g.n; ++v)
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) foreign_[v] += block_[g.adj[e]] != block_[v];
  k_ = partition.distance().flat() && g.n * partition.k() <= 2 * g.arcs() ? partition.k() : 0;
  weight_into_ = weights_into_blocks(g);
}

template <class W> std::vector<int64_t> Annealing<W>::weights_into_blocks(const Graph<W>& g) const {
  std::vector<int64_t> weight(g.n * k_, 0);
  for (int32_t v = 0; k_ > 0 && v < g.n; ++v)
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) weight[v * k_ + block_[g.adj[e]]] += g.weight[e];
  return weight;
}

// Returns the number of scanned edges.
template <class W>
template <class D>
int64_t Annealing<W>::sweep(const Graph<W>& g, const D& distance, double progress, Rng& rng) {
  const double hot = exact_ ? context_.hot_if_exact : context_.hot;
  const double temperature = (hot + (context_.cold - hot) * progress) * mean_weight_;
  // With exact sizes both blocks of a move are penalised, not just one.
  const double unit = (exact_ ? 0.5 : 1) * mean_weight_;
  const double penalty = (context_.soft + (context_.hard - context_.soft) * progress) * unit;
  const Thresholds& threshold = thresholds();
  const auto excess = [&](int64_t load, int32_t b) {
    const int64_t above = load - max_block_weight_[b];
    return static_cast<double>(exact_ ? above : std::max<int64_t>(0, above)) * per_mean_load_;
  };
  int64_t scanned = 0, *const into = k_ > 0 ? weight_into_.data() : nullptr;
  for (int32_t v = 0; v < g.n; ++v) {
    if (foreign_[v] == 0 || g.degree(v) > kHubDegree) continue;
    const uint64_t random = rng.next();
    const int64_t first = g.start[v], degree = g.degree(v);
    const int32_t from = block_[v];
    auto arc = static_cast<int64_t>(((random >> 32) * static_cast<uint64_t>(degree)) >> 32);
    while (block_[g.adj[first + arc]] == from) arc = arc + 1 < degree ? arc + 1 : 0;
    const int32_t to = block_[g.adj[first + arc]];
    int64_t loss = into ? into[v * k_ + from] - into[v * k_ + to] : 0;
    for (int64_t e = first; !into && e < first + degree; ++e) {
      const int32_t b = block_[g.adj[e]];
      loss += g.weight[e] * (distance(to, b) - distance(from, b));
    }
    scanned += into ? 1 : degree;
    const int64_t load = g.load[v];
    const double more = excess(load_[to] + load, to), less = excess(load_[from], from);
    double total = static_cast<double>(loss) / static_cast<double>(std::max<int64_t>(1, distance(from, to)));
    if (exact_ || more > 0 || less > 0) {
      const double now = excess(load_[to], to), then = excess(load_[from] - load, from);
      total += penalty * (more * more - now * now + then * then - less * less);
    }
    if (total > temperature * threshold[random & (threshold.size() - 1)]) continue;
    block_[v] = to;
    load_[from] -= load, load_[to] += load;
    foreign_[v] = static_cast<int32_t>(degree);
    for (int64_t e = first; e < first + degree; ++e) {
      const int32_t u = g.adj[e], b = block_[u];
      foreign_[u] += (b == from) - (b == to);
      foreign_[v] -= b == to;
      if (into) into[u * k_ + from] -= g.weight[e], into[u * k_ + to] += g.weight[e];
    }
    scanned += degree;
  }
  return scanned;
}

template bool near_blocks_matter(const Graph<int32_t>&, const Partition<int32_t>&);
template bool near_blocks_matter(const Graph<int64_t>&, const Partition<int64_t>&);
template class Annealing<int32_t>;
template class Annealing<int64_t>;

}  // namespace hopbytes
