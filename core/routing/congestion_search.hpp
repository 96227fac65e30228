// Lowers the load of all hot links at once by threshold accepting. The objective is the sum of the fourth
// powers of link congestion: it includes every hot link, distinguishes mappings of equal maximum
// congestion, and may rise temporarily.
#pragma once
#include <array>
#include <optional>

#include "routing/congestion_swap.hpp"
#include "util/portable_math.hpp"

namespace hopbytes {

// Moves of several groups at once. They reach mappings that chains of single exchanges reach only by making
// links much hotter in between. The kinds of moves are: segments of places in machine order (a chain along a
// dimension of a torus, a part of a leaf switch), regions around two nodes (all groups of a leaf switch, a
// ball of a torus), clusters of groups that communicate with each other, and cycles through the places of
// communication partners.
class SetMoves {
 public:
  SetMoves(const RoutedGroups& state, const PlaceFit& fit, const Neighbourhood& neighbourhood, uint64_t reach)
      : state_(state),
        fit_(fit),
        neighbourhood_(neighbourhood),
        reach_(reach),
        taken_(neighbourhood.places(), 0) {}

  // Draws a set of groups, including `group`, that may move together; empty if the draw gave none.
  In<Relocation> draw(int32_t group, Rng& rng) {
    pairs_.clear(), moves_.clear();
    ++turn_;
    constexpr std::array kinds{&SetMoves::segments, &SetMoves::regions, &SetMoves::cluster, &SetMoves::cycle};
    (this->*kinds[rng.below(kinds.size())])(group, rng);
    for (const auto& [a, b] : pairs_) put(state_.group_at(a), b), put(state_.group_at(b), a);
    for (const Relocation& move : moves_)
      if (!fit_.fits(move.group, move.place)) return {};
    if (moves_.size() < 3) return {};  // exchanges of two groups are proposed elsewhere
    return moves_;
  }

 private:
  static constexpr int64_t kLongest = 32;  // places in a segment or region
  static constexpr uint64_t kCluster = 8;

  // Exchanges two segments of equal length, the second possibly reversed; or reverses one segment.
  void segments(int32_t group, Rng& rng) {
    const int64_t places = state_.places(), home = state_.place(group);
    const int64_t length = std::min<int64_t>(std::min(kLongest, places / 2), int64_t{2} << rng.below(5));
    const int64_t first = std::max<int64_t>(0, home - static_cast<int64_t>(rng.below(length)));
    if (first + length > places) return;
    if (rng.below(4) == 0) {
      for (int64_t i = 0; 2 * i + 1 < length; ++i) pair(first + i, first + length - 1 - i);
      return;
    }
    const int64_t other = std::max<int64_t>(0, target(group, rng) - static_cast<int64_t>(rng.below(length)));
    if (other + length > places || std::abs(other - first) < length) return;
    const bool reversed = rng.below(2);
    for (int64_t i = 0; i < length; ++i) pair(first + i, reversed ? other + length - 1 - i : other + i);
  }

  // Exchanges all places within some hops of the group's node with those around another node.
  void regions(int32_t group, Rng& rng) {
    const int64_t a = neighbourhood_.site[state_.place(group)], b = neighbourhood_.site[target(group, rng)];
    if (a == b) return;
    const int64_t row_a = a * neighbourhood_.reach(), row_b = b * neighbourhood_.reach();
    const int64_t most = std::min<int64_t>(kLongest, neighbourhood_.reach());
    const uint16_t radius = neighbourhood_.hops[row_a + static_cast<int64_t>(rng.below(most))];
    for (int64_t i = 0; i < most; ++i) {
      if (neighbourhood_.hops[row_a + i] > radius || neighbourhood_.hops[row_b + i] > radius) break;
      sites(neighbourhood_.near[row_a + i], neighbourhood_.near[row_b + i]);
    }
  }
  void sites(int32_t a, int32_t b) {
    const In<int32_t> from = neighbourhood_.places_at(a), to = neighbourhood_.places_at(b);
    for (size_t i = 0; i < std::min(from.size(), to.size()); ++i) pair(from[i], to[i]);
  }

  // Moves the group, some partners and theirs to places around another node; the groups there move back.
  void cluster(int32_t group, Rng& rng) {
    const uint64_t size = 2 + rng.below(kCluster - 1);
    members_.assign(1, group);
    for (uint64_t draws = 0; draws < 4 * size && members_.size() < size; ++draws) {
      const int32_t from = members_[rng.below(members_.size())];
      if (state_.partners(from) == 0) continue;
      const int32_t next = state_.partner(from, static_cast<int64_t>(rng.below(state_.partners(from))));
      if (std::find(members_.begin(), members_.end(), next) == members_.end()) members_.push_back(next);
    }
    for (const int32_t member : members_) taken_[state_.place(member)] = turn_;
    const int64_t row = neighbourhood_.site[target(group, rng)] * neighbourhood_.reach();
    size_t next = 0;
    for (int64_t i = 0; i < neighbourhood_.reach() && next < members_.size(); ++i)
      for (const int32_t p : neighbourhood_.places_at(neighbourhood_.near[row + i])) {
        if (next == members_.size()) break;
        if (taken_[p] != turn_) pairs_.emplace_back(state_.place(members_[next++]), p);
      }
  }

  // Moves the group to a place near a partner, the group there near a partner of its own, and so on; the
  // last one to the place of the first.
  void cycle(int32_t group, Rng& rng) {
    const uint64_t length = 3 + rng.below(3);
    const int32_t home = state_.place(group);
    taken_[home] = turn_;
    for (int32_t mover = group; mover >= 0;) {
      const int32_t p = moves_.size() + 1 == length ? home : target(mover, rng);
      if (p != home && taken_[p] == turn_) return moves_.clear();
      taken_[p] = turn_;
      moves_.push_back({mover, p});
      if (p == home) return;
      mover = state_.group_at(p);  // -1 if the place is free: the cycle ends there
    }
  }

  // Draws a place near a partner of the group, occasionally any place.
  int32_t target(int32_t group, Rng& rng) {
    if (state_.partners(group) == 0 || rng.below(8) == 0)
      return static_cast<int32_t>(rng.below(state_.places()));
    const int32_t partner = state_.partner(group, static_cast<int64_t>(rng.below(state_.partners(group))));
    return neighbourhood_.draw(state_.place(partner), reach_, rng);
  }

  void pair(int64_t a, int64_t b) {
    if (a == b || taken_[a] == turn_ || taken_[b] == turn_) return;
    taken_[a] = taken_[b] = turn_;
    pairs_.emplace_back(static_cast<int32_t>(a), static_cast<int32_t>(b));
  }
  void put(int32_t group, int32_t p) {
    if (group >= 0) moves_.push_back({group, p});
  }

  const RoutedGroups& state_;
  const PlaceFit& fit_;
  Neighbourhood neighbourhood_;
  uint64_t reach_;
  std::vector<int64_t> taken_;
  std::vector<std::pair<int32_t, int32_t>> pairs_;  // places whose groups are exchanged
  std::vector<Relocation> moves_;
  std::vector<int32_t> members_;
  int64_t turn_ = 0;
};

struct CongestionOptions {
  int64_t evaluations = 0;  // exchanges to evaluate in total
  int32_t nearest = 24;  // nodes around a node that are candidates for a group
  int32_t band_percent = 85;  // Links with at least this share of the highest congestion are hot.
  // initial threshold, in thousandths of a group's average share of the objective
  int32_t threshold = 30'000;
  int32_t hop_percent = 0;  // by how much hop-bytes may exceed those of the start; -1: no limit
  int32_t set_percent = 0;  // share of evaluations in which several groups move at once
  std::optional<Hybrid> hybrid;  // if set, the objective is this metric
};

class CongestionSearch {
 public:
  CongestionSearch(RoutedGroups& state, const PlaceFit& fit, const Neighbourhood& neighbourhood,
                   const CongestionOptions& options, uint64_t seed)
      : state_(state), fit_(fit), neighbourhood_(neighbourhood), options_(options), rng_(seed) {
    for (int32_t g = 0; g < state.flows().n(); ++g) communicates_ |= state.partners(g) > 0;
    reach_ = static_cast<uint64_t>(std::clamp<int64_t>(options_.nearest + 1, 1, neighbourhood_.reach()));
    if (options_.set_percent > 0) sets_.emplace(state_, fit_, neighbourhood_, reach_);
  }

  // Ends with the best mapping found that respects the limit of hop-bytes. The best mapping has the lowest
  // hybrid metric, or the lexicographically lowest triple of maximum congestion, number of links with it, and
  // hop-bytes. Returns the number of exchanges made.
  int64_t run(const Control& control, int64_t& evaluations) {
    if (!communicates_ || state_.links().max() == 0 || state_.places() < 2) return 0;
    const auto hop_bytes = static_cast<int64_t>(state_.sums().hop_bytes);
    limit_ = options_.hop_percent < 0 ? INT64_MAX : hop_bytes + percent_of(hop_bytes, options_.hop_percent);
    store_best();
    int64_t made = 0;
    const int64_t phase_length = std::max<int64_t>(1, options_.evaluations / kPhases);
    for (int64_t part = 0; part < kPhases && !control.should_stop(); ++part) {
      const double left = 1.0 - static_cast<double>(part) / kPhases;
      reference_ = 1.0 / static_cast<double>(std::max<int64_t>(1, best_.top));
      count_above();
      const double fair =
          (options_.hybrid ? best_.hybrid : steep_sum()) / static_cast<double>(state_.flows().n());
      const double allowed = options_.threshold / 1000.0 * fair * left * left;
      made += accept_by_threshold(phase_length, allowed, control, evaluations);
    }
    restore();
    return made;
  }

 private:
  static constexpr int64_t kPhases = 64;
  struct Best {
    double hybrid = 0;
    int64_t top = 0, at_top = 0, hop_bytes = 0;
    std::vector<int32_t> place;
  };

  // The fourth power lets the hottest links dominate and the others count.
  double steep(int64_t value) const {
    const double x = static_cast<double>(value) * reference_, x2 = x * x;
    return x2 * x2;
  }
  double steep_sum() {
    double sum = 0;
    state_.links().each_from(1, [&](int64_t link) { sum += steep(state_.links().value(link)); });
    return sum;
  }

  int64_t accept_by_threshold(int64_t evaluations, double allowed, const Control& control, int64_t& counted) {
    int64_t made = 0, since = kRefresh;
    std::vector<int32_t> hot;
    for (int64_t i = 0; i < evaluations; ++i, ++since) {
      if (since >= kRefresh) {
        if (control.should_stop()) return made;
        hot = state_.hotter_than(percent_of(state_.links().max(), options_.band_percent));
        if (hot.empty()) return made;  // All traffic is inside nodes, so that there is nothing to lower.
        since = 0;
      }
      const int64_t arc = state_.one_over(hot[rng_.below(hot.size())], rng_);
      if (arc < 0) continue;
      const int32_t group = rng_.below(2) ? state_.flows().source(arc) : state_.flows().target(arc);
      if (const int64_t moved = propose(group)) i += moved - 1, counted += moved;
      else continue;
      if (cost() >= allowed * static_cast<double>(rng_.below(1024)) / 1024) continue;
      state_.commit();
      above_ += rise_, level_ += level_rise_;
      ++made;
      if (better_than_best()) store_best(), since = kRefresh;
    }
    return made;
  }

  // Proposes to move a group, alone or in a set. Returns the number of groups that move, 0 if none may; two
  // that are exchanged count as one.
  int64_t propose(int32_t group) {
    if (sets_ && static_cast<int32_t>(rng_.below(kSetMean * 100)) < options_.set_percent) {
      const auto moves = sets_->draw(group, rng_);
      if (!moves.empty()) state_.propose(moves);
      return static_cast<int64_t>(moves.size());
    }
    const int32_t p = draw_place(group);
    if (p < 0) return 0;
    state_.propose(group, p);
    return 1;
  }

  // Draws a place near a partner of the group or near its own place; -1 if a group would not fit.
  int32_t draw_place(int32_t group) {
    const int32_t home = state_.place(group);
    int32_t around = home;
    if (rng_.below(4) != 0)
      around = state_.place(state_.partner(group, static_cast<int64_t>(rng_.below(state_.partners(group)))));
    const int32_t p = neighbourhood_.draw(around, reach_, rng_);
    return !state_.alike(p, home) && fit_.both_fit(group, p, state_.group_at(p), home) ? p : -1;
  }

  // Returns the change of the objective by the proposal; an infinite one beyond the limit of hop-bytes.
  double cost() {
    double change = 0;
    int64_t hop_bytes = 0;
    rise_ = level_rise_ = 0;
    for (const int32_t link : state_.touched()) {
      const auto [amount, before, after] = state_.change(link);
      if (amount == 0) continue;
      change += steep(after) - steep(before);
      hop_bytes += amount;
      rise_ += (after > best_.top) - (before > best_.top);
      level_rise_ += (after == best_.top) - (before == best_.top);
    }
    if (hop_bytes > 0 && state_.sums().hop_bytes + hop_bytes > limit_) return 1e300;
    if (options_.hybrid)
      return options_.hybrid->after(state_, state_.hottest_if().first) - options_.hybrid->now(state_);
    return change;
  }

  // Exchanges update how many links exceed, and equal, the maximum of the best mapping, so that it is
  // computed only when it has fallen.
  void count_above() {
    above_ = level_ = 0;
    state_.links().each_from(std::max<int64_t>(1, best_.top), [&](int64_t link) {
      const bool same = state_.links().value(link) == best_.top;
      above_ += !same, level_ += same;
    });
  }

  bool better_than_best() {
    if (options_.hybrid) return options_.hybrid->now(state_) < best_.hybrid;
    if (above_ > 0) return false;
    return level_ != best_.at_top ? level_ < best_.at_top : state_.sums().hop_bytes < best_.hop_bytes;
  }
  void store_best() {
    if (options_.hybrid) best_.hybrid = options_.hybrid->now(state_);
    best_.top = state_.links().max();
    best_.at_top = state_.links().at_max();
    best_.hop_bytes = static_cast<int64_t>(state_.sums().hop_bytes);
    count_above();
    best_.place.resize(state_.flows().n());
    for (int32_t g = 0; g < state_.flows().n(); ++g) best_.place[g] = state_.place(g);
  }
  // Returns to the best mapping by exchanges: every group in turn moves back to its place.
  void restore() {
    for (int32_t g = 0; g < state_.flows().n(); ++g)
      if (state_.place(g) != best_.place[g]) state_.propose(g, best_.place[g]), state_.commit();
  }

  static constexpr int64_t kRefresh = 64;
  static constexpr int64_t kSetMean = 8;  // the approximate mean number of groups in a set
  RoutedGroups& state_;
  const PlaceFit& fit_;
  Neighbourhood neighbourhood_;
  CongestionOptions options_;
  Rng rng_;
  std::optional<SetMoves> sets_;
  uint64_t reach_ = 1;
  bool communicates_ = false;
  int64_t above_ = 0, level_ = 0, rise_ = 0, level_rise_ = 0;
  double reference_ = 1.0;
  int64_t limit_ = INT64_MAX;
  Best best_;
};

}  // namespace hopbytes
