#include "partition/coarsening/parallel_contraction.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "graph/unit_weight.hpp"
#include "partition/coarsening/contracted_rows.hpp"
#include "util/parallel.hpp"

namespace hopbytes {

namespace {

// The rows of a batch are held twice for a while, the others only once. The next batch takes the same memory.
constexpr int64_t rows_per_range = 4096, ranges_per_batch = 32;

int64_t ranges_of(int64_t count) { return (count + rows_per_range - 1) / rows_per_range; }

}  // namespace

// The vertices by coarse vertex, ascending within each.
struct CoarseMembers {
  std::vector<int64_t> first;
  std::vector<int32_t> vertex;

  CoarseMembers(std::span<const int32_t> map, int64_t count, Team& team)
      : first(count + 1, 0), vertex(map.size()) {
    const auto n = static_cast<int64_t>(map.size());
    parallel_ranges(n, rows_per_range, team, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v) shared_add(first[map[v] + 1], int64_t{1});
    });
    for (int64_t c = 0; c < count; ++c) first[c + 1] += first[c];
    std::vector<int64_t> fill(first.begin(), first.end() - 1);
    parallel_ranges(n, rows_per_range, team, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v)
        vertex[shared_add(fill[map[v]], int64_t{1})] = static_cast<int32_t>(v);
    });
    parallel_ranges(count, rows_per_range, team, [&](int32_t, int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) std::sort(vertex.data() + first[c], vertex.data() + first[c + 1]);
    });
  }

  std::span<const int32_t> of(int64_t c) const {
    return {vertex.data() + first[c], static_cast<size_t>(first[c + 1] - first[c])};
  }
};

// The rows of consecutive coarse vertices.
template <class W> struct CoarseRows {
  Buffer<int32_t> adj;
  Buffer<W> weight;
  int64_t filled = 0;
};

void number_clusters(const Clusters& clusters, Team& team, std::span<int32_t> map) {
  const std::vector<int32_t>& leader = clusters.leader;
  const auto n = static_cast<int64_t>(leader.size());
  std::vector<int32_t> number(n);
  std::vector<int32_t> before(ranges_of(n) + 1, 0);
  parallel_ranges(n, rows_per_range, team, [&](int32_t, int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) before[begin / rows_per_range + 1] += leader[v] == v;
  });
  for (size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  parallel_ranges(n, rows_per_range, team, [&](int32_t, int64_t begin, int64_t end) {
    int32_t next = before[begin / rows_per_range];
    for (int64_t v = begin; v < end; ++v)
      if (leader[v] == v) number[v] = next++;
  });
  parallel_ranges(n, rows_per_range, team, [&](int32_t, int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) map[v] = number[leader[v]];
  });
}

template <class W, class Weight>
void contract_in_parallel(const Graph<W>& g, std::span<const int32_t> map, int64_t count, Team& team,
                          const CoarseArrays<Weight>& coarse) {
  const CoarseMembers members(map, count, team);
  std::vector<std::vector<Weight>> sums(team.threads());
  std::vector<CoarseRows<Weight>> rows(ranges_per_batch);
  coarse.start[0] = 0;
  int64_t filled = 0;
  for (int64_t first = 0; first < count; first += ranges_per_batch * rows_per_range) {
    const int64_t size = std::min(count - first, ranges_per_batch * rows_per_range);
    parallel_ranges(size, rows_per_range, team, [&](int32_t worker, int64_t begin, int64_t end) {
      std::vector<Weight>& sum = sums[worker];  // of the arcs from the present row to a coarse vertex
      sum.resize(count, -1);
      int64_t most = 0;
      for (int64_t i = members.first[first + begin]; i < members.first[first + end]; ++i)
        most += g.degree(members.vertex[i]);
      CoarseRows<Weight>& own = rows[begin / rows_per_range];
      if (own.adj.size() <= most) own = {Buffer<int32_t>(most + 1), Buffer<Weight>(most + 1)};
      own.filled = contract_rows(
          g, map, first + begin, first + end, [&](int64_t c) { return members.of(c); }, sum.data(),
          ContractedRows<Weight>{coarse.start.data(), coarse.load.data(), own.adj.data(), own.weight.data()});
    });
    std::array<int64_t, ranges_per_batch + 1> before{filled};
    for (int64_t i = 0; i < ranges_of(size); ++i) before[i + 1] = before[i] + rows[i].filled;
    filled = before[ranges_of(size)];
    parallel_ranges(size, rows_per_range, team, [&](int32_t, int64_t begin, int64_t end) {
      const CoarseRows<Weight>& own = rows[begin / rows_per_range];
      const int64_t offset = before[begin / rows_per_range];
      for (int64_t c = first + begin; c < first + end; ++c) coarse.start[c] += offset;
      std::copy(own.adj.data(), own.adj.data() + own.filled, coarse.adj.data() + offset);
      std::copy(own.weight.data(), own.weight.data() + own.filled, coarse.weight.data() + offset);
    });
  }
  coarse.start[count] = filled;
}

template void contract_in_parallel(const Graph<UnitWeight>&, std::span<const int32_t>, int64_t, Team&,
                                   const CoarseArrays<int32_t>&);
template void contract_in_parallel(const Graph<UnitWeight>&, std::span<const int32_t>, int64_t, Team&,
                                   const CoarseArrays<int64_t>&);
template void contract_in_parallel(const Graph<int32_t>&, std::span<const int32_t>, int64_t, Team&,
                                   const CoarseArrays<int32_t>&);
template void contract_in_parallel(const Graph<int64_t>&, std::span<const int32_t>, int64_t, Team&,
                                   const CoarseArrays<int32_t>&);
template void contract_in_parallel(const Graph<int64_t>&, std::span<const int32_t>, int64_t, Team&,
                                   const CoarseArrays<int64_t>&);

}  // namespace hopbytes
