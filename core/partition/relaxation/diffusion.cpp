#include "partition/relaxation/diffusion.hpp"

#include <numeric>

#include "util/parallel.hpp"

namespace hopbytes {

namespace {

// Measured on meshes: fewer steps keep blocks where they are, more cost time.
constexpr double steps_per_vertex_of_a_block = 0.3;
constexpr int64_t steps_on_finer_graphs = 4, most_steps = 100;
constexpr int64_t kRange = 1 << 12;  // vertices that a thread takes at once

// Returns the coarsest vertex of every vertex of the finest graph.
template <class W> std::vector<int32_t> coarsest_vertex(const Hierarchy<W>& hierarchy, Team& team) {
  std::vector<int32_t> at(hierarchy.graph(0).n);
  parallel_ranges(std::ssize(at), kRange, team, [&](int32_t, int64_t begin, int64_t end) {
    std::iota(at.begin() + begin, at.begin() + end, static_cast<int32_t>(begin));
    for (size_t level = 0; level < hierarchy.size(); ++level)
      for (int64_t v = begin; v < end; ++v) at[v] = hierarchy.map(level)[at[v]];
  });
  return at;
}

template <class W> std::vector<float> inverse_degrees(const Graph<W>& g, Team& team) {
  std::vector<float> inverse(g.n);
  parallel_ranges(g.n, kRange, team, [&](int32_t, int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
      double degree = 0;
      for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e) degree += static_cast<double>(g.weight[e]);
      inverse[v] = degree > 0 ? static_cast<float>(1 / degree) : 0.0F;
    }
  });
  return inverse;
}

}  // namespace

template <class W>
Diffusion<W>::Diffusion(const Hierarchy<W>& hierarchy, int64_t blocks, const Control& control)
    : hierarchy_(hierarchy),
      blocks_(blocks),
      control_(control),
      contents_(coarsest_vertex(hierarchy, control.team()), hierarchy.coarsest().n),
      sums_(control.threads()) {
  for (size_t level = 0; level <= hierarchy.size(); ++level)
    one_per_weight_.push_back(inverse_degrees(hierarchy.graph(level), control.team()));
}

// Calls work(v, sum) for all vertices of a graph, where `sum` belongs to the thread.
template <class W> template <class Work> void Diffusion<W>::for_vertices(int64_t n, Work work) {
  parallel_ranges(n, kRange, control_.team(), [&](int32_t worker, int64_t begin, int64_t end) {
    if (!sums_[worker]) sums_[worker] = std::make_unique<ShareSum>(blocks_);
    for (int64_t v = begin; v < end; ++v) work(v, *sums_[worker]);
  });
}

template <class W> const BlockShares& Diffusion<W>::spread(const std::vector<int32_t>& block) {
  start_on_coarsest(block);
  const double per_block =
      static_cast<double>(hierarchy_.coarsest().n) / static_cast<double>(std::max<int64_t>(1, blocks_));
  const auto steps = static_cast<int64_t>(steps_per_vertex_of_a_block * per_block);
  for (int64_t i = 0; i < std::clamp<int64_t>(steps, 2, most_steps); ++i) step(hierarchy_.size());
  for (size_t level = hierarchy_.size(); level-- > 0;) {
    hand_down(level);
    for (int64_t i = 0; i < steps_on_finer_graphs; ++i) step(level);
  }
  return now_;
}

template <class W> void Diffusion<W>::start_on_coarsest(const std::vector<int32_t>& block) {
  const Weights<int64_t> load = hierarchy_.graph(0).load;
  const int64_t n = hierarchy_.coarsest().n;
  now_.resize(n);
  for_vertices(n, [&](int64_t c, ShareSum& sum) {
    double total = 0;
    for (const int32_t v : contents_.of(c)) total += static_cast<double>(std::max<int64_t>(1, load[v]));
    for (const int32_t v : contents_.of(c))
      sum.add(block[v], static_cast<float>(static_cast<double>(std::max<int64_t>(1, load[v])) / total));
    sum.move_to(now_, c);
  });
}

template <class W> void Diffusion<W>::hand_down(size_t level) {
  const std::span<const int32_t> map = hierarchy_.map(level);
  const auto n = static_cast<int64_t>(map.size());
  next_.resize(n);
  for_vertices(n, [&](int64_t v, ShareSum&) { next_.set(v, now_.of(map[v])); });
  std::swap(now_, next_);
}

template <class W> void Diffusion<W>::step(size_t level) {
  if (control_.should_stop()) return;
  const Graph<W>& g = hierarchy_.graph(level);
  next_.resize(g.n);
  for_vertices(g.n, [&](int64_t v, ShareSum& sum) {
    const int32_t own = now_.first_block(v);
    bool inside = now_.undivided(v);
    for (int64_t e = g.start[v]; inside && e < g.start[v + 1]; ++e)
      inside = now_.undivided(g.adj[e]) && now_.first_block(g.adj[e]) == own;
    if (inside) return next_.set_undivided(v, own);
    constexpr float kept = 0.5F;
    sum.add(now_.of(v), kept);
    const float taken = (1 - kept) * one_per_weight_[level][v];
    for (int64_t e = g.start[v]; e < g.start[v + 1]; ++e)
      sum.add(now_.of(g.adj[e]), taken * static_cast<float>(g.weight[e]));
    sum.move_to(next_, v);
  });
  std::swap(now_, next_);
  control_.record_parallel_work(g.n + g.arcs(), std::min(g.n, kRange) + most_arcs_of_range(g, kRange));
}

template class Diffusion<int32_t>;
template class Diffusion<int64_t>;

}  // namespace hopbytes
