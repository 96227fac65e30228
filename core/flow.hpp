// Minimum cuts between two blocks under any distance.
//
// Around the seam of blocks a and b a region is freed; the rest of a becomes the source, the rest of b
// the sink. An edge inside the region costs w d(a,b) when cut, and every neighbour outside, also in
// third blocks, makes a vertex cheaper on one side: a terminal capacity of the difference. So a minimum
// cut is the best relabelling of the region. When it breaks a cap, the smaller side swallows what it
// reaches and one more vertex ("piercing", after FlowCutter: Hamann, Strasser 2018), and the flow goes
// on, until the caps hold or the flow reaches the present cost.
#pragma once
#include <algorithm>
#include <cstdlib>

#include "contacts.hpp"
#include "local_search.hpp"

namespace hopbytes {

struct FlowOptions {
  int32_t rounds = 2;         // passes over the pairs of blocks that changed; 0 turns flows off
  double width = 16;          // region load on each side, in units of the free room
  int64_t max_region = 20000; // vertices per side
  int64_t most_work = 200;    // arcs looked at in all, per arc and vertex of the graph
};

template <class W, class D> class PairFlow {
 public:
  PairFlow(const WorkGraph<W>& g, const D& distance, int32_t* part, std::vector<int64_t>& load, const int64_t* cap,
           const FlowOptions& options, const Control& control)
      : g_(g), distance_(distance), part_(part), load_(load), cap_(cap), options_(options), control_(control),
        work_left_(options.most_work * (g.arcs() + g.n)), local_(g.n, -1) {}

  // No more pairs: the time is up, or the work that one call may cost. Where many blocks touch each
  // other (random graphs) every pair frees large parts of both, k m in all.
  bool stop() const { return work_left_ < 0 || control_.hurry(); }

  int64_t work_left() const { return work_left_; }

  // Try to improve the seam between a and b, given the vertices of either at it. Returns the gain.
  int64_t improve(int32_t a, int32_t b, const std::vector<int32_t>& seam) {
    a_ = a, b_ = b;
    collect_region(seam);
    int64_t gain = 0;
    if (!region_.empty()) {
      build();
      gain = solve();
    }
    for (int32_t v : region_) local_[v] = -1;
    return gain;
  }

 private:
  static constexpr int64_t kEndless = int64_t{1} << 60;
  // Layers freed on each side. Cuts further away are found on coarser graphs, where a layer is thicker; freeing as
  // much as the caps allow made flows on large graphs grow faster than the graph.
  static constexpr int32_t kDeepest = 8;
  enum Side : uint8_t { kFree = 0, kSource = 1, kSink = 2 };

  int64_t side_limit(int32_t own, int32_t other) const {
    const int64_t room = cap_[other] - load_[other];
    const int64_t slack = std::max<int64_t>(0, (cap_[a_] - load_[a_] + cap_[b_] - load_[b_]) / 2);
    const int64_t most = load_[own] - 1 - load_[own] / 4;
    const double more = (options_.width - 1) * static_cast<double>(slack);
    return room >= most || more >= static_cast<double>(most - room) ? most : room + static_cast<int64_t>(more);
  }

  // Breadth first from the seam into each block, up to the side's limit and so many layers.
  void collect_region(const std::vector<int32_t>& seam) {
    region_.clear();
    depth_.clear();
    for (const int32_t own : {a_, b_}) {
      const int64_t limit = side_limit(own, own == a_ ? b_ : a_);
      int64_t load = 0;
      const size_t begin = region_.size();
      auto add = [&](int32_t v, int32_t depth) {
        if (g_.unary && !g_.unary->allows(v, own == a_ ? b_ : a_)) return;
        if (local_[v] >= 0 || part_[v] != own || load + g_.load[v] > limit ||
            static_cast<int64_t>(region_.size() - begin) >= options_.max_region)
          return;
        local_[v] = static_cast<int32_t>(region_.size());
        region_.push_back(v);
        depth_.push_back(depth);
        load += g_.load[v];
      };
      for (int32_t v : seam) add(v, 0);
      for (size_t i = begin; i < region_.size() && depth_[i] < kDeepest; ++i)
        for (int64_t e = g_.start[region_[i]]; e < g_.start[region_[i] + 1]; ++e) add(g_.adj[e], depth_[i] + 1);
    }
    for (int32_t v : region_) work_left_ -= 2 + 2 * g_.degree(v);
    work_left_ -= static_cast<int64_t>(seam.size());
  }

  // The network: residual capacities per arc, terminal capacity per vertex (> 0 from the source,
  // < 0 to the sink), and the load outside the region.
  void build() {
    const int64_t n = static_cast<int64_t>(region_.size());
    start_.assign(n + 1, 0);
    head_.clear();
    residual_.clear();
    terminal_.assign(n, 0);
    side_.assign(n, kFree);
    fixed_[0] = load_[a_], fixed_[1] = load_[b_];
    const int64_t across = distance_(a_, b_);
    for (int64_t i = 0; i < n; ++i) {
      const int32_t v = region_[i];
      fixed_[part_[v] == b_] -= g_.load[v];
      if (g_.unary) terminal_[i] += (*g_.unary)(v, b_) - (*g_.unary)(v, a_);
      for (int64_t e = g_.start[v]; e < g_.start[v + 1]; ++e) {
        const int32_t u = g_.adj[e];
        const int64_t w = g_.weight[e];
        if (local_[u] >= 0) {
          head_.push_back(local_[u]);
          residual_.push_back(w * across);
        } else {
          terminal_[i] += w * (distance_(b_, part_[u]) - distance_(a_, part_[u]));
        }
      }
      start_[i + 1] = static_cast<int64_t>(head_.size());
    }
    pair_arcs();
    // Cost of the present labelling, in the flow's terms.
    present_ = 0;
    for (int64_t i = 0; i < n; ++i) {
      const bool in_b = part_[region_[i]] == b_;
      present_ += in_b ? std::max<int64_t>(0, terminal_[i]) : std::max<int64_t>(0, -terminal_[i]);
      for (int64_t e = start_[i]; e < start_[i + 1]; ++e)
        if (head_[e] > i && (part_[region_[head_[e]]] == b_) != in_b) present_ += residual_[e];
    }
  }

  // reverse_[e] is the arc back. Visiting tails in ascending order meets the arcs into v in ascending
  // order of their tails; a second such pass, over the arcs so ordered, meets them from the other end.
  void pair_arcs() {
    const int64_t n = static_cast<int64_t>(region_.size());
    reverse_.resize(head_.size());
    std::vector<int64_t> into(head_.size()), next(start_.begin(), start_.end() - 1), position(n);
    std::vector<int32_t> tail(head_.size());
    for (int64_t i = 0; i < n; ++i)
      for (int64_t e = start_[i]; e < start_[i + 1]; ++e) tail[next[head_[e]]] = static_cast<int32_t>(i), into[next[head_[e]]++] = e;
    for (int64_t v = 0; v < n; ++v) {
      for (int64_t e = start_[v]; e < start_[v + 1]; ++e) position[head_[e]] = e;
      for (int64_t s = start_[v]; s < start_[v + 1]; ++s) reverse_[into[s]] = position[tail[s]];
    }
  }

  int64_t solve() {
    const int64_t n = static_cast<int64_t>(region_.size());
    int64_t flow = 0;
    for (int32_t turn = 0;; ++turn) {
      flow += augment(present_ - flow);
      if (flow >= present_ || stop()) return 0;
      mark(kSource);
      mark(kSink);
      int64_t load_s = fixed_[0], load_t = fixed_[1], load_free = 0;
      for (int64_t i = 0; i < n; ++i)
        (side_[i] == kSource ? load_s : side_[i] == kSink ? load_t : load_free) += g_.load[region_[i]];
      const bool free_to_sink = load_s <= cap_[a_] && load_t + load_free <= cap_[b_];
      const bool free_to_source = load_s + load_free <= cap_[a_] && load_t <= cap_[b_];
      if (free_to_sink || free_to_source) {
        // Both fit: the better balanced one.
        const bool to_source = free_to_source && (!free_to_sink || std::max(load_s + load_free, load_t) <
                                                                       std::max(load_s, load_t + load_free));
        apply(to_source);
        return present_ - flow;
      }
      if (load_s > cap_[a_] || load_t > cap_[b_] || turn > 200) return 0;
      const int64_t forced = pierce(load_s - cap_[a_] <= load_t - cap_[b_] ? kSource : kSink);
      if (forced < 0) return 0;
      flow += forced;
    }
  }

  // Residual reachability: kSource forward from vertices with supply, kSink backward from demand.
  void mark(Side side) {
    queue_.clear();
    for (int64_t i = 0; i < static_cast<int64_t>(region_.size()); ++i) {
      if (side == kSource) side_[i] = kFree;
      if (side == kSource ? terminal_[i] > 0 : terminal_[i] < 0) side_[i] = side, queue_.push_back(static_cast<int32_t>(i));
    }
    work_left_ -= static_cast<int64_t>(region_.size() + head_.size());
    for (size_t q = 0; q < queue_.size(); ++q)
      for (int64_t e = start_[queue_[q]]; e < start_[queue_[q] + 1]; ++e) {
        const int64_t open = side == kSource ? residual_[e] : residual_[reverse_[e]];
        if (open > 0 && side_[head_[e]] == kFree) side_[head_[e]] = side, queue_.push_back(head_[e]);
      }
  }

  // Make everything the side reaches part of it, and vertices next to it as well: first those that
  // open no augmenting path, deepest inside the side's own block first. Returns what that costs beyond
  // the flow: a vertex with unmet demand that becomes a source (or the reverse) pays it; -1 if there is
  // no vertex to take.
  int64_t pierce(Side side) {
    const int64_t n = static_cast<int64_t>(region_.size());
    const int64_t supply = side == kSource ? kEndless : -kEndless;
    const int32_t own = side == kSource ? a_ : b_;
    candidates_.clear();
    for (int64_t i = 0; i < n; ++i)
      if (side_[i] == side) {
        terminal_[i] = supply;
        for (int64_t e = start_[i]; e < start_[i + 1]; ++e)
          if (side_[head_[e]] != side) candidates_.push_back(head_[e]);
      }
    if (candidates_.empty()) return -1;
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    auto rank = [&](int32_t i) {
      const int32_t depth = part_[region_[i]] == own ? depth_[i] + 1 : -depth_[i];
      return std::pair<int32_t, int32_t>(side_[i] == kFree ? 0 : 1, -depth);
    };
    const size_t taken = std::max<size_t>(1, candidates_.size() / 20);
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<int64_t>(taken) - 1, candidates_.end(),
                     [&](int32_t x, int32_t y) { return std::pair(rank(x), x) < std::pair(rank(y), y); });
    // Several at once while that opens no augmenting path, else a single one.
    std::sort(candidates_.begin(), candidates_.begin() + static_cast<int64_t>(taken),
              [&](int32_t x, int32_t y) { return std::pair(rank(x), x) < std::pair(rank(y), y); });
    int64_t forced = 0;
    for (size_t i = 0; i < taken; ++i) {
      if (i > 0 && side_[candidates_[i]] != kFree) break;
      int64_t& terminal = terminal_[candidates_[i]];
      if ((terminal > 0) != (supply > 0)) forced += std::abs(terminal);
      terminal = supply;
    }
    return forced;
  }

  // Dinic's blocking flows from supplies to demands, stopped when `limit` has been reached.
  int64_t augment(int64_t limit) {
    int64_t total = 0;
    while (total < limit && !stop() && levels()) {
      arc_.assign(start_.begin(), start_.end() - 1);
      for (size_t s = 0; s < sources_ && total < limit; ++s) {
        const int32_t source = queue_[s];
        while (terminal_[source] > 0 && total < limit) {
          const int64_t pushed = push_path(source);
          if (pushed == 0) break;
          total += pushed;
        }
      }
    }
    return total;
  }

  // Distances from the supplies; true when a demand is within reach.
  bool levels() {
    const int64_t n = static_cast<int64_t>(region_.size());
    level_.assign(n, -1);
    queue_.clear();
    for (int64_t i = 0; i < n; ++i)
      if (terminal_[i] > 0) level_[i] = 0, queue_.push_back(static_cast<int32_t>(i));
    sources_ = queue_.size();
    int32_t found = -1;
    for (size_t q = 0; q < queue_.size(); ++q) {
      const int32_t v = queue_[q];
      if (found >= 0 && level_[v] >= found) break;
      work_left_ -= 1 + start_[v + 1] - start_[v];
      for (int64_t e = start_[v]; e < start_[v + 1]; ++e)
        if (residual_[e] > 0 && level_[head_[e]] < 0) {
          level_[head_[e]] = level_[v] + 1;
          queue_.push_back(head_[e]);
          if (terminal_[head_[e]] < 0) found = level_[head_[e]];
        }
    }
    return found >= 0;
  }

  int64_t push_path(int32_t source) {
    path_.clear();
    int32_t v = source;
    while (terminal_[v] >= 0) {
      int64_t& e = arc_[v];
      while (e < start_[v + 1] && !(residual_[e] > 0 && level_[head_[e]] == level_[v] + 1)) ++e;
      if (e == start_[v + 1]) {
        level_[v] = -1;  // dead end
        if (path_.empty()) return 0;
        v = head_[reverse_[path_.back()]];
        path_.pop_back();
        ++arc_[v];
        continue;
      }
      path_.push_back(e);
      v = head_[e];
    }
    work_left_ -= static_cast<int64_t>(path_.size());
    int64_t amount = std::min(terminal_[source], -terminal_[v]);
    for (int64_t e : path_) amount = std::min(amount, residual_[e]);
    for (int64_t e : path_) residual_[e] -= amount, residual_[reverse_[e]] += amount;
    if (terminal_[source] < kEndless / 2) terminal_[source] -= amount;
    if (terminal_[v] > -kEndless / 2) terminal_[v] += amount;
    return amount;
  }

  void apply(bool free_to_source) {
    for (int64_t i = 0; i < static_cast<int64_t>(region_.size()); ++i) {
      const int32_t v = region_[i];
      const int32_t to = side_[i] == kSource || (side_[i] == kFree && free_to_source) ? a_ : b_;
      load_[part_[v]] -= g_.load[v];
      load_[to] += g_.load[v];
      part_[v] = to;
    }
  }

  const WorkGraph<W>& g_;
  const D& distance_;
  int32_t* part_;
  std::vector<int64_t>& load_;
  const int64_t* cap_;
  FlowOptions options_;
  const Control& control_;
  int64_t work_left_;
  int32_t a_ = 0, b_ = 0;
  int64_t present_ = 0;
  int64_t fixed_[2] = {0, 0};
  size_t sources_ = 0;
  std::vector<int32_t> local_, region_, depth_, head_, level_, queue_, candidates_;
  std::vector<int64_t> start_, residual_, reverse_, terminal_, arc_, path_;
  std::vector<uint8_t> side_;
};

// Flows between all adjacent pairs of blocks, dearest seams first; later rounds only where a block
// changed. Returns the gain.
template <class W, class D>
int64_t flow_refine(const WorkGraph<W>& g, const D& distance, int32_t* part, std::vector<int64_t>& load,
                    const int64_t* cap, const FlowOptions& options, const Control& control) {
  PairFlow<W, D> flow(g, distance, part, load, cap, options, control);
  std::vector<uint8_t> active(load.size(), 1), next_active(load.size());
  std::vector<Contact> contacts;
  int64_t total = 0;
  const int64_t budget = flow.work_left();
  for (int32_t round = 0; round < options.rounds; ++round) {
    control.spend(g.arcs());
    find_contacts(g, distance, part, active, contacts);
    struct Pair { size_t begin, end; int64_t cost; };
    std::vector<Pair> pairs;
    for (size_t i = 0; i < contacts.size(); ++i) {
      if (i == 0 || contacts[i].a != contacts[i - 1].a || contacts[i].b != contacts[i - 1].b) pairs.push_back({i, i, 0});
      pairs.back().end = i + 1;
      pairs.back().cost += contacts[i].cost;
    }
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) { return x.cost > y.cost; });
    std::fill(next_active.begin(), next_active.end(), 0);
    int64_t gained = 0;
    std::vector<int32_t> seam;
    for (const Pair& pair : pairs) {
      if (flow.stop()) break;
      const int32_t a = contacts[pair.begin].a, b = contacts[pair.begin].b;
      seam.clear();
      for (size_t i = pair.begin; i < pair.end; ++i)
        if (seam.empty() || seam.back() != contacts[i].vertex) seam.push_back(contacts[i].vertex);
      const int64_t gain = flow.improve(a, b, seam);
      gained += gain;
      if (gain > 0) next_active[a] = next_active[b] = 1;
    }
    total += gained;
    active.swap(next_active);
    if (gained == 0) break;
  }
  control.spend(budget - flow.work_left());
  return total;
}

}  // namespace hopbytes
