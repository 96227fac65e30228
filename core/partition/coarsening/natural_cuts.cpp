#include "partition/coarsening/natural_cuts.hpp"

#include "partition/refinement/max_flow.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

namespace {

class NaturalCuts {
 public:
  NaturalCuts(const AnyGraph& g, const NaturalCutContext& context, const Control& control)
      : g_(g),
        context_(context),
        control_(control),
        work_left_(context.most_work * (g.arcs() + g.n)),
        flow_(net_, work_left_, control),
        cut_(g.arcs(), 0),
        covered_(g.n, 0),
        place_(g.n, -1) {}

  Clusters fragments(Rng& rng) {
    auto centres = numbers_below<int32_t>(g_.n);
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
  // Marks the edges of the minimum cut between the core around v and the outside of its region, of several
  // the one that is nearest to the core.
  void cut_around(int32_t centre) {
    collect_region(centre);
    for (int64_t i = 0; i < core_; ++i) covered_[region_[i]] = 1;
    if (!whole_component_) {
      build_network();
      flow_.start();
      flow_.augment(FlowNetwork::kInfinite);
      for (const int32_t v : region_)
        if (beside_core(v)) mark_cut(v);
    }
    for (const int32_t v : region_) place_[v] = -1;
  }

  // The core can supply any amount. A vertex can send as much out of the region as its edges carry.
  void build_network() {
    net_.clear(std::ssize(region_));
    for (int64_t i = 0; i < std::ssize(region_); ++i) {
      const int32_t v = region_[i];
      int64_t outside = 0;
      net_.open(g_.load[v]);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        if (const int32_t u = g_.adj[e]; place_[u] >= 0) net_.connect(place_[u], g_.weight[e]);
        else outside += g_.weight[e];
      }
      net_.supply(i < core_ ? FlowNetwork::kInfinite : -outside);
    }
    net_.close();
  }

  // Whether the cut leaves a vertex on the side of the core.
  bool beside_core(int32_t v) const { return place_[v] >= 0 && flow_.side(place_[v]) == Side::kSource; }

  void mark_cut(int32_t v) {
    for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
      const int32_t u = g_.adj[e];
      if (beside_core(u)) continue;
      cut_[e] = 1;
      work_left_ -= g_.degree(u);
      for (int64_t back = g_.start[u]; back < g_.start[u + 1]; ++back) cut_[back] |= g_.adj[back] == v;
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
  FlowNetwork net_;  // of the region
  MaxFlow flow_;
  std::vector<uint8_t> cut_;      // of every arc
  std::vector<uint8_t> covered_;  // whether a vertex was in a core
  std::vector<int32_t> place_;    // in the region; -1 outside
  std::vector<int32_t> region_;
  int64_t core_ = 0;
  bool whole_component_ = false;
};

}  // namespace

Clusters fragments_between_natural_cuts(const AnyGraph& g, const NaturalCutContext& context, Rng& rng,
                                        const Control& control) {
  return NaturalCuts(g, context, control).fragments(rng);
}

}  // namespace hopbytes
