// Moves of several groups at once. They reach mappings that chains of single exchanges reach only by making
// links much hotter in between. The kinds of moves are: segments of places in machine order (a chain along a
// dimension of a torus, a part of a leaf switch), regions around two nodes (all groups of a leaf switch, a
// ball of a torus), clusters of groups that communicate with each other, and cycles through the places of
// communication partners.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "routing/place_fit.hpp"
#include "routing/place_search.hpp"
#include "util/rng.hpp"
#include "routing/routed_groups.hpp"

namespace hopbytes {

class SetMoves {
 public:
  SetMoves(const RoutedGroups& state, const PlaceFit& fit, const Neighbourhood& neighbourhood, uint64_t reach)
      : state_(state),
        fit_(fit),
        neighbourhood_(neighbourhood),
        reach_(reach),
        taken_(neighbourhood.places(), 0) {}

  // Draws a set of groups, including `group`, that may move together; empty if the draw gave none.
  std::span<const Relocation> draw(int32_t group, Rng& rng) {
    pairs_.clear(), moves_.clear();
    ++turn_;
    switch (rng.below(4)) {
      case 0:
        segments(group, rng);
        break;
      case 1:
        regions(group, rng);
        break;
      case 2:
        cluster(group, rng);
        break;
      default:
        cycle(group, rng);
        break;
    }
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

  // Exchanges all places within some number of hops of the group's node with those around another node, in
  // the order of the neighbourhood.
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
    const int64_t from = neighbourhood_.place_start[a], to = neighbourhood_.place_start[b];
    const int64_t count =
        std::min(neighbourhood_.place_start[a + 1] - from, neighbourhood_.place_start[b + 1] - to);
    for (int64_t i = 0; i < count; ++i) pair(neighbourhood_.place[from + i], neighbourhood_.place[to + i]);
  }

  // Moves the group, some of its partners and their partners to places around another node; the groups there
  // move the other way.
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
    for (int64_t i = 0; i < neighbourhood_.reach() && next < members_.size(); ++i) {
      const int32_t site = neighbourhood_.near[row + i];
      for (int64_t j = neighbourhood_.place_start[site]; j < neighbourhood_.place_start[site + 1]; ++j) {
        if (next == members_.size()) break;
        if (taken_[neighbourhood_.place[j]] == turn_) continue;
        pairs_.emplace_back(state_.place(members_[next++]), neighbourhood_.place[j]);
      }
    }
  }

  // Moves the group to a place near a partner; the group there moves to a place near a partner of its own,
  // and so on. The last one moves to the place of the first.
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

}  // namespace hopbytes
