#include "partition/coarsening/natural_cuts.hpp"

#include <limits>
#include <numeric>

namespace hopbytes {

namespace {

class NaturalCuts {
 public:
  NaturalCuts(const AnyGraph& g, const NaturalCutContext& context, const Control& control)
      : g_(g),
        context_(context),
        control_(control),
        work_left_(context.most_work * (g.arcs() + g.n)),
        reverse_(g.arcs()),
        flow_(g.arcs(), 0),
        cut_(g.arcs(), 0),
        covered_(g.n, 0),
        place_(g.n, -1),
        level_(g.n, 0),
        next_(g.n, 0) {
    pair_arcs();
  }

  Clusters fragments(Rng& rng) {
    std::vector<int32_t> centres(g_.n);
    std::iota(centres.begin(), centres.end(), 0);
    rng.shuffle(centres);
    bool complete = true;
    for (int64_t i = 0; i < g_.n && complete; ++i) {
      if (!covered_[centres[i]]) cut_around(centres[i]);
      complete = work_left_ >= 0 && !control_.should_stop();
    }
    control_.record_work(context_.most_work * (g_.arcs() + g_.n) - work_left_);
    if (complete) return components();
    Clusters apart{UnsetVector<int32_t>(g_.n), g_.n};
    std::iota(apart.leader.begin(), apart.leader.end(), 0);
    return apart;
  }

 private:
  // Finds the arc back of every arc: the arcs that arrive at u are listed, then u's own rows look them up.
  void pair_arcs() {
    std::vector<int32_t> source(g_.arcs());
    std::vector<int64_t> arriving(g_.arcs()), next(g_.start, g_.start + g_.n), from(g_.n);
    for (int32_t v = 0; v < g_.n; ++v) {
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        source[e] = v;
        arriving[next[g_.adj[e]]++] = e;
      }
    }
    for (int64_t u = 0; u < g_.n; ++u) {
      for (int64_t i = g_.start[u]; i < g_.start[u + 1]; ++i) from[source[arriving[i]]] = arriving[i];
      for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e) reverse_[e] = from[g_.adj[e]];
    }
  }

  // Marks the edges of the minimum cut between the core around v and the outside of its region.
  void cut_around(int32_t centre) {
    collect_region(centre);
    for (int64_t i = 0; i < core_; ++i) covered_[region_[i]] = 1;
    if (!whole_component_) {
      while (work_left_ >= 0 && find_levels()) {
        for (int64_t i = 0; i < core_; ++i)
          while (work_left_ >= 0 && augment(region_[i])) {
          }
      }
      for (const int32_t v : reached_)
        for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e)
          if (place_[g_.adj[e]] < 0 || level_[g_.adj[e]] < 0) cut_[e] = cut_[reverse_[e]] = 1;
    }
    for (const int32_t v : region_) {
      place_[v] = -1;
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) flow_[e] = flow_[reverse_[e]] = 0;
    }
  }

  // Breadth-first search until the region is full; the vertices found first are its core.
  void collect_region(int32_t centre) {
    region_.assign(1, centre);
    place_[centre] = 0;
    int64_t load = g_.load[centre];
    whole_component_ = true;
    core_ = 0;
    for (size_t i = 0; i < region_.size(); ++i) {
      const int32_t v = region_[i];
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        const int32_t u = g_.adj[e];
        if (place_[u] >= 0) continue;
        if (load + g_.load[u] > context_.region) {
          whole_component_ = false;
          continue;
        }
        place_[u] = static_cast<int32_t>(region_.size());
        region_.push_back(u);
        load += g_.load[u];
      }
      work_left_ -= g_.degree(v);
    }
    int64_t core_load = 0;
    while (core_ < std::ssize(region_) && (core_ == 0 || core_load * context_.cores_per_region < load))
      core_load += g_.load[region_[core_++]];
  }

  // Levels of a breadth-first search from the core over arcs with room; returns whether it leaves the region.
  bool find_levels() {
    for (const int32_t v : region_) level_[v] = -1, next_[v] = g_.start[v];
    reached_.assign(region_.begin(), region_.begin() + core_);
    for (const int32_t v : reached_) level_[v] = 0;
    bool leaves = false;
    for (size_t i = 0; i < reached_.size(); ++i) {
      const int32_t v = reached_[i];
      work_left_ -= g_.degree(v);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        if (flow_[e] >= g_.weight[e]) continue;
        const int32_t u = g_.adj[e];
        if (place_[u] < 0) {
          leaves = true;
        } else if (level_[u] < 0) {
          level_[u] = level_[v] + 1;
          reached_.push_back(u);
        }
      }
    }
    return leaves;
  }

  // Depth-first search for a path of rising levels from a vertex of the core to the outside.
  bool augment(int32_t from) {
    path_.clear();
    int32_t v = from;
    for (;;) {
      bool advanced = false;
      for (int64_t& e = next_[v]; e < g_.start[v + 1]; ++e) {
        --work_left_;
        if (flow_[e] >= g_.weight[e]) continue;
        const int32_t u = g_.adj[e];
        if (place_[u] < 0) {
          path_.push_back(e);
          push_along_path();
          return true;
        }
        if (level_[u] != level_[v] + 1) continue;
        path_.push_back(e);
        v = u;
        advanced = true;
        break;
      }
      if (advanced) continue;
      if (path_.empty()) return false;
      const int64_t back = path_.back();
      path_.pop_back();
      v = g_.adj[reverse_[back]];
      ++next_[v];
    }
  }

  void push_along_path() {
    int64_t room = std::numeric_limits<int64_t>::max();
    for (const int64_t e : path_) room = std::min(room, g_.weight[e] - flow_[e]);
    for (const int64_t e : path_) flow_[e] += room, flow_[reverse_[e]] -= room;
  }

  Clusters components() {
    Clusters found{UnsetVector<int32_t>(g_.n, -1), 0};
    std::vector<int32_t> queue;
    for (int32_t v = 0; v < g_.n; ++v) {
      if (found.leader[v] >= 0) continue;
      ++found.count;
      found.leader[v] = v;
      queue.assign(1, v);
      while (!queue.empty()) {
        const int32_t u = queue.back();
        queue.pop_back();
        for (int64_t e = g_.start[u]; e < g_.start[u + 1]; ++e) {
          if (cut_[e] || found.leader[g_.adj[e]] >= 0) continue;
          found.leader[g_.adj[e]] = v;
          queue.push_back(g_.adj[e]);
        }
      }
    }
    return found;
  }

  const AnyGraph& g_;
  NaturalCutContext context_;
  const Control& control_;
  int64_t work_left_;
  std::vector<int64_t> reverse_;  // the arc back
  std::vector<int64_t> flow_;     // along every arc; that of the arc back is its negative
  std::vector<uint8_t> cut_;
  std::vector<uint8_t> covered_;  // whether a vertex was in a core
  std::vector<int32_t> place_;  // in the region; -1 outside
  std::vector<int32_t> level_;  // valid inside the region; -1: not reached
  std::vector<int64_t> next_;
  std::vector<int32_t> region_, reached_;
  std::vector<int64_t> path_;
  int64_t core_ = 0;
  bool whole_component_ = false;
};

}  // namespace

Clusters fragments_between_natural_cuts(const AnyGraph& g, const NaturalCutContext& context, Rng& rng,
                                        const Control& control) {
  return NaturalCuts(g, context, control).fragments(rng);
}

}  // namespace hopbytes
