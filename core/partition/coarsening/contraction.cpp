#include "partition/coarsening/contraction.hpp"

#include <type_traits>

#include "util/bucket_order.hpp"
#include "util/zeroed_array.hpp"

namespace hopbytes {

namespace {

// How many consecutive coarse vertices a thread takes at once: fewer where their vertices have many arcs. A
// power of two, since the range of a coarse vertex is asked for often.
class CoarseRanges {
 public:
  CoarseRanges(int64_t arcs, int64_t count) : count_(count) {
    constexpr int64_t many_arcs = 1 << 16;
    while (shift_ > 0 && arcs / std::max<int64_t>(1, count) > many_arcs >> shift_) --shift_;
  }
  int64_t count() const { return (count_ + (int64_t{1} << shift_) - 1) >> shift_; }
  int64_t of(int64_t coarse) const { return coarse >> shift_; }
  int64_t begin(int64_t range) const { return range << shift_; }
  int64_t end(int64_t range) const { return std::min(count_, (range + 1) << shift_); }

 private:
  int64_t count_;
  int32_t shift_ = 9;
};

int64_t ranges_of(int64_t count, int64_t per_range) { return (count + per_range - 1) / per_range; }

// Where the rows of each range begin: it is known as soon as all earlier ranges have been contracted.
class FirstArcs {
 public:
  explicit FirstArcs(int64_t ranges) : first_(ranges + 1, 0), arcs_(ranges, -1) {}

  // Takes the number of arcs of a range. Returns the last range whose beginning is known; if all ranges have
  // been contracted, their number.
  int64_t set(int64_t range, int64_t arcs) {
    const std::lock_guard<std::mutex> hold(lock_);
    arcs_[range] = arcs;
    for (; known_ < std::ssize(arcs_) && arcs_[known_] >= 0; ++known_)
      first_[known_ + 1] = first_[known_] + arcs_[known_];
    return known_;
  }
  int64_t of(int64_t range) const { return first_[range]; }

 private:
  std::mutex lock_;
  std::vector<int64_t> first_, arcs_;
  int64_t known_ = 0;
};

// The weight of the arcs from one row to a coarse vertex, plus 1: 0 if there is no arc. An unsigned number
// holds the largest weight plus 1.
template <class Weight> using RowSum = std::make_unsigned_t<Weight>;

// Writes the rows of the coarse vertices begin .. end - 1 to the beginning of the arrays of arcs, and returns
// their number of arcs: parallel edges are merged, edges inside a coarse vertex vanish. `map` gives the
// coarse vertex of every vertex, `members` the vertices of each of these. All sums are 0 before and after.
template <class W, class Weight>
int64_t contract_rows(const Graph<W>& g, std::span<const int32_t> map, int64_t begin, int64_t end,
                      const Buckets<int32_t>& members, RowSum<Weight>* sum,
                      const CoarseArrays<Weight>& coarse) {
  constexpr int64_t ahead = 4;
  const auto weight = g.weight;  // copies, because entries are written in between
  const int32_t *adj = g.adj, *coarse_of = map.data();
  int32_t* const to = coarse.adj.data();
  int64_t filled = 0;
  for (int64_t c = begin; c < end; ++c) {
    if (c + 2 * ahead < end)
      for (const int32_t v : members.of(c - begin + 2 * ahead)) __builtin_prefetch(g.start + v);
    if (c + ahead < end)
      for (const int32_t v : members.of(c - begin + ahead)) prefetch_arcs(g, v);
    coarse.start[c] = filled;
    int64_t load = 0;
    sum[c] = 1;  // Edges inside are added up as if the row had an arc to c already.
    int64_t next = filled;
    for (const int32_t v : members.of(c - begin)) {
      load += g.load[v];
      for (int64_t e = g.start[v], last = g.start[v + 1]; e < last; ++e) {
        // The row becomes longer if it had no such arc. Branch-free, because that is unpredictable.
        const int32_t d = coarse_of[adj[e]];
        const bool fresh = sum[d] == 0;
        to[next] = d;
        sum[d] += static_cast<RowSum<Weight>>(weight[e]) + fresh;
        next += fresh;
      }
    }
    coarse.load[c] = load;
    sum[c] = 0;
    for (; filled < next; ++filled)
      coarse.weight[filled] = static_cast<Weight>(std::exchange(sum[to[filled]], 0) - 1);
  }
  return filled;
}

// The rows of a range of coarse vertices.
template <class Weight> struct RowsOfRange {
  int64_t range = 0, filled = 0;
  UnsetVector<int32_t> adj;
  UnsetVector<Weight> weight;
};

// Contracts ranges of coarse vertices with one of several threads.
template <class W, class Weight> class RangeContraction {
 public:
  RangeContraction(const Graph<W>& g, std::span<const int32_t> map, int64_t count, const CoarseRanges& ranges,
                   const Buckets<int32_t>& members, const CoarseArrays<Weight>& coarse, FirstArcs& first)
      : g_(g),
        map_(map),
        ranges_(ranges),
        of_ranges_(members),
        coarse_(coarse),
        first_(first),
        sums_(count) {}

  // Rows are held twice from here until all earlier ranges have been contracted, too.
  void contract(int64_t range) {
    const std::span<const int32_t> vertices = of_ranges_.of(range);
    int64_t most = 0;
    for (const int32_t v : vertices) most += g_.degree(v);
    RowsOfRange<Weight> rows = std::exchange(spare_, {});
    if (std::ssize(rows.adj) <= most)
      rows.adj = UnsetVector<int32_t>(most + 1), rows.weight = UnsetVector<Weight>(most + 1);
    const int64_t begin = ranges_.begin(range), end = ranges_.end(range);
    const auto coarse_of = [&](int32_t v) { return map_[v] - begin; };
    const Buckets<int32_t> members(vertices, end - begin, coarse_of, Team::alone());
    rows.range = range;
    rows.filled = contract_rows(g_, map_, begin, end, members, sums_.data(),
                                CoarseArrays<Weight>{coarse_.start, rows.adj, rows.weight, coarse_.load});
    const int64_t known = first_.set(range, rows.filled);
    waiting_.push_back(std::move(rows));
    copy_until(known);
  }

  // Moves the rows of the ranges up to `known` to where they belong.
  void copy_until(int64_t known) {
    auto next = waiting_.begin();  // A thread takes ranges in ascending order.
    for (; next != waiting_.end() && next->range <= known; ++next) {
      copy(*next);
      if (next->adj.size() > spare_.adj.size()) std::swap(spare_, *next);
    }
    waiting_.erase(waiting_.begin(), next);
  }

 private:
  void copy(const RowsOfRange<Weight>& rows) const {
    const int64_t offset = first_.of(rows.range);
    for (int64_t c = ranges_.begin(rows.range); c < ranges_.end(rows.range); ++c) coarse_.start[c] += offset;
    std::copy(rows.adj.data(), rows.adj.data() + rows.filled, coarse_.adj.data() + offset);
    std::copy(rows.weight.data(), rows.weight.data() + rows.filled, coarse_.weight.data() + offset);
  }

  const Graph<W>& g_;
  std::span<const int32_t> map_;
  const CoarseRanges& ranges_;
  const Buckets<int32_t>& of_ranges_;
  const CoarseArrays<Weight>& coarse_;
  FirstArcs& first_;
  ZeroedArray<RowSum<Weight>> sums_;
  std::vector<RowsOfRange<Weight>> waiting_;
  RowsOfRange<Weight> spare_;  // whose arrays the next range takes
};

// The same with one thread, which writes rows where they belong.
template <class W, class Weight>
void contract_in_turn(const Graph<W>& g, std::span<const int32_t> map, int64_t count,
                      const CoarseArrays<Weight>& coarse) {
  const Buckets<int32_t> members(g.n, count, [&](int64_t v) { return map[v]; });
  std::vector<RowSum<Weight>> sums(count, 0);
  coarse.start[count] = contract_rows(g, map, 0, count, members, sums.data(), coarse);
}

}  // namespace

// The entries of leaders are written first. The others are copied from them, and each leader's from itself.
void number_clusters(const Clusters& clusters, Team& team, std::span<int32_t> map) {
  const UnsetVector<int32_t>& leader = clusters.leader;
  const auto n = static_cast<int64_t>(leader.size());
  std::vector<int32_t> before(ranges_of(n, kVerticesPerRange) + 1, 0);
  parallel_ranges(n, kVerticesPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
    int32_t found = 0;
    for (int64_t v = begin; v < end; ++v) found += leader[v] == v;
    before[begin / kVerticesPerRange + 1] = found;
  });
  for (size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  parallel_ranges(n, kVerticesPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
    int32_t next = before[begin / kVerticesPerRange];
    for (int64_t v = begin; v < end; ++v)
      if (leader[v] == v) map[v] = next++;
  });
  parallel_ranges(n, kVerticesPerRange, team, [&](int32_t, int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) shared_store(map[v], shared_load(map[leader[v]]));
  });
}

template <class W, class Weight>
void contract_to(const Graph<W>& g, std::span<const int32_t> map, int64_t count, Team& team,
                 const CoarseArrays<Weight>& coarse) {
  if (team.threads() == 1) return contract_in_turn(g, map, count, coarse);
  const CoarseRanges ranges(g.arcs(), count);
  const auto range_of = [&](int64_t v) { return ranges.of(map[v]); };
  const Buckets<int32_t> members(std::ssize(map), ranges.count(), range_of, team);
  FirstArcs first(ranges.count());
  using Worker = RangeContraction<W, Weight>;
  std::vector<std::unique_ptr<Worker>> workers(team.threads());
  parallel_ranges(ranges.count(), 1, team, [&](int32_t worker, int64_t range, int64_t) {
    if (!workers[worker])
      workers[worker] = std::make_unique<Worker>(g, map, count, ranges, members, coarse, first);
    workers[worker]->contract(range);
  });
  parallel_for(std::ssize(workers), team, [&](int64_t worker) {
    if (workers[worker]) workers[worker]->copy_until(ranges.count());
    workers[worker].reset();
  });
  coarse.start[count] = first.of(ranges.count());
}

template <class W> Level<W> contract(const Graph<W>& g, const Clusters& clusters, Team& team) {
  const int64_t count = clusters.count;
  Level<W> level;
  level.map.resize(g.n);
  number_clusters(clusters, team, level.map);
  Graph<W>& coarse = level.graph;
  coarse.allocate(count, g.arcs());
  const auto size = [](int64_t entries) { return static_cast<size_t>(entries); };
  contract_to(g, level.map, count, team,
              CoarseArrays<W>{{coarse.own_start.data(), size(count + 1)},
                              {coarse.own_adj.data(), size(g.arcs())},
                              {coarse.own_weight.data(), size(g.arcs())},
                              {coarse.own_load.data(), size(count)}});
  coarse.sum_loads(team);
  coarse.uneven = g.uneven;
  if (g.linear_cost)
    coarse.linear_cost = std::make_shared<const LinearCost>(g.linear_cost->contracted(level.map, count));
  return level;
}

template Level<int32_t> contract(const Graph<int32_t>&, const Clusters&, Team&);
template Level<int64_t> contract(const Graph<int64_t>&, const Clusters&, Team&);
template void contract_to(const Graph<int32_t>&, std::span<const int32_t>, int64_t, Team&,
                          const CoarseArrays<int32_t>&);
template void contract_to(const Graph<int32_t>&, std::span<const int32_t>, int64_t, Team&,
                          const CoarseArrays<int64_t>&);
template void contract_to(const Graph<int64_t>&, std::span<const int32_t>, int64_t, Team&,
                          const CoarseArrays<int32_t>&);
template void contract_to(const Graph<int64_t>&, std::span<const int32_t>, int64_t, Team&,
                          const CoarseArrays<int64_t>&);

}  // namespace hopbytes
