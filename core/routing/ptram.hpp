// PTRAM: greedy mapping by a hybrid of hop-bytes and congestion along real routes, then exchanges that
// relieve the hottest link (Mirsadeghi and Afsahi, 2016). The nodes are evaluated one after the other.
#pragma once
#include <map>
#include <set>

#include "util/control.hpp"
#include "routing/places.hpp"
#include "routing/routed_groups.hpp"

namespace hopbytes {

// Classes of places whose routes differ only in links of their own, numbered by the lowest place of each
// class. While such places are free, they are equally good for every group. O(places^2 x route length). When
// it should stop, every place is a class by itself, which is valid but lets more places be evaluated.
inline std::vector<int32_t> route_classes(const PlacedRoutes& routes, int64_t links, In<int64_t> price,
                                          In<int64_t> capacity, const Control& control) {
  const int32_t places = static_cast<int32_t>(capacity.size());
  auto of = numbers_below<int32_t>(places);
  // A link is private to a place if every route over it begins or ends there: -1 unseen, -2 shared.
  struct Ends {
    int32_t a = -1, b = -1;
  };
  std::vector<Ends> ends(links);
  for (int32_t a = 0; a < places; ++a) {
    if (control.should_stop()) return of;
    for (int32_t b = 0; b < places; ++b)
      if (a != b)
        routes.links(a, b, [&](const Step& step) {
          Ends& e = ends[step.link];
          if (e.a == -1) e = {a, b};
          else {
            if (e.a != a && e.a != b) e.a = -2;
            if (e.b != a && e.b != b) e.b = -2;
          }
        });
  }
  // Only a link with a single owner is private; a link that a single pair of places uses has no owner.
  const auto owner = [&](int32_t link) {
    const Ends& e = ends[link];
    if (e.a >= 0 && e.b >= 0) return int32_t{-1};
    return e.a >= 0 ? e.a : e.b >= 0 ? e.b : int32_t{-1};
  };
  // Hash of the routes between place and other, in which the links of `place` itself are anonymous.
  const auto route_hash = [&](int32_t place, int32_t other) {
    uint64_t hash = mix(static_cast<uint64_t>(other));
    for (const bool out : {true, false})
      routes.links(out ? place : other, out ? other : place, [&](const Step& step) {
        const uint64_t name = owner(step.link) == place
                                  ? mix(~static_cast<uint64_t>(price.empty() ? 1 : price[step.link]))
                                  : step.link;
        hash += mix(name * 2 + out +
                    mix(static_cast<uint64_t>(step.part) << 32 | static_cast<uint32_t>(step.parts)));
        hash = mix(hash);
      });
    return hash;
  };
  std::vector<uint64_t> signature(places, 0);
  for (int32_t p = 0; p < places; ++p) {
    if (control.should_stop()) return of;
    for (int32_t other = 0; other < places; ++other)
      if (other != p) signature[p] += route_hash(p, other);
  }
  std::vector<int32_t> leaders;
  for (int32_t p = 0; p < places; ++p) {
    if (control.should_stop()) return of;
    for (const int32_t q : leaders)
      if (capacity[p] == capacity[q] && signature[p] - route_hash(p, q) == signature[q] - route_hash(q, p)) {
        of[p] = q;
        break;
      }
    if (of[p] == p) leaders.push_back(p);
  }
  return of;
}

// Chooses the next group of a class: the one with the largest volume to placed groups plus a falling share of
// its volume to unplaced ones, of equal ones the smallest number. With p its volume to placed groups and c
// its whole volume, that is the largest c + p x (number of placed groups). So of groups with one p the
// largest c is best at any time, and a step compares one group per different p: O(different p + arcs of the
// group x log).
class NextGroup {
 public:
  NextGroup(const Flows& flows, const PlaceFit& fit)
      : flows_(flows), fit_(fit), volume_to_placed_(flows.n(), 0), waiting_(fit.classes()) {
    for (int32_t g = 0; g < flows.n(); ++g) {
      volume_.push_back(flows.communication_volume(g));
      waiting_[fit.class_of_group(g)][0].insert({-volume_[g], g});
    }
    placed_.assign(flows.n(), 0);
  }
  // Returns the next group of a class, -1 if none is left.
  int32_t next(int32_t of_class) {
    int32_t best = -1;
    Wide most = 0;
    for (const auto& [to_placed, groups] : waiting_[of_class]) {
      ++compared_;
      const auto [negative, g] = *groups.begin();
      const Wide volume = static_cast<Wide>(to_placed) * count_ - negative;
      if (best < 0 || volume > most || (volume == most && g < best)) best = g, most = volume;
    }
    return best;
  }
  void place(int32_t group) {
    placed_[group] = 1;
    ++count_;
    remove(group);
    flows_.at(group, [&](int64_t e) {
      const int32_t other = flows_.other_end(e, group);
      if (placed_[other]) return;
      remove(other);
      volume_to_placed_[other] += flows_.volume(e);
      waiting_[fit_.class_of_group(other)][volume_to_placed_[other]].insert({-volume_[other], other});
    });
  }
  int64_t compared() const { return compared_; }

 private:
  void remove(int32_t group) {
    auto& by_placed = waiting_[fit_.class_of_group(group)];
    const auto found = by_placed.find(volume_to_placed_[group]);
    found->second.erase({-volume_[group], group});
    if (found->second.empty()) by_placed.erase(found);
  }

  const Flows& flows_;
  const PlaceFit& fit_;
  std::vector<int64_t> volume_to_placed_, volume_;
  // per class and volume to placed groups: the negative whole volume and the number of each unplaced group
  std::vector<std::map<int64_t, std::set<std::pair<int64_t, int32_t>>>> waiting_;
  std::vector<uint8_t> placed_;
  int64_t count_ = 0, compared_ = 0;
};

// Returns the order in which groups are placed, and counts the comparisons.
inline std::vector<int32_t> ptram_order(const Flows& flows, const PlaceFit& fit, int64_t& compared) {
  NextGroup queue(flows, fit);
  std::vector<int32_t> order;
  for (const int32_t rank : fit.by_rarity())
    for (int32_t group; (group = queue.next(rank)) >= 0;) {
      order.push_back(group);
      queue.place(group);
    }
  compared = queue.compared();
  return order;
}

// Places all groups (`place` is -1 for all before). With `by_share` the hop-bytes are extrapolated from the
// placed groups to all groups, because they grow with every placed group while congestion does not. `classes`
// is the result of route_classes, or names every place by itself. Returns the number of evaluations.
inline int64_t ptram_greedy(RoutedGroups& state, PlaceFit fit, In<int32_t> classes, const Hybrid& hybrid,
                            bool by_share, const Control& control) {
  const auto places = static_cast<int32_t>(state.places());
  const auto groups = static_cast<double>(state.flows().n());
  std::vector<int64_t> seen(places, -1);
  int64_t evaluations = 0, step = 0, compared = 0;
  for (const int32_t group : ptram_order(state.flows(), fit, compared)) {
    Hybrid metric = hybrid;
    if (by_share) metric.weight[0] *= groups / static_cast<double>(step + 1);
    int32_t best = -1, spare = -1;
    double least = 0;
    for (int32_t p = 0; p < places; ++p) {
      if (state.group_at(p) >= 0) continue;
      if (spare < 0) spare = p;
      if (!fit.allows(group, p) || seen[classes[p]] == step) continue;
      seen[classes[p]] = step;
      if (best >= 0 && control.should_stop()) break;
      ++evaluations;
      state.propose_first(group, p);
      const double value = metric.after_growth(state);
      if (best < 0 || value < least) best = p, least = value;
    }
    if (best < 0) best = spare;
    state.place_first(group, best);
    fit.take(group, best);
    ++step;
  }
  return evaluations;
}

// The exchanges that are accepted. `paper`: those that lower the maximum congestion, tried for groups with
// traffic over the first of the hottest links. `count`: also those that reduce the number of hottest links,
// tried for groups with traffic over any of them. `listing`: as `paper`, but exactly as the listing of the
// paper says: only groups that send over the link are tried, and only on places that hold a group.
enum class ReliefRule { count, paper, listing };

// Makes the best exchange of every round, among groups with traffic over hot links and the `nearest` places
// around them. Among places at the same distance the lower number comes first, or with `nearby` the number
// closest to the group's own place. Returns the number of rounds with an exchange.
inline int64_t ptram_refine(RoutedGroups& state, const PlaceFit& fit, const Neighbourhood& neighbourhood,
                            int32_t nearest, int64_t rounds, ReliefRule rule, bool nearby,
                            const Control& control, int64_t& evaluations) {
  using Peak = std::pair<int64_t, int64_t>;  // highest congestion, number of links with it
  const bool listing = rule == ReliefRule::listing;
  const bool paper = listing || rule == ReliefRule::paper;
  PlaceSearch search(neighbourhood);
  std::vector<int32_t> near, homes, equals;
  for (int64_t round = 0; round < rounds; ++round) {
    if (state.links().max() == 0) return round;
    auto hot = state.hottest();
    Peak least{state.links().max(), paper ? 0 : static_cast<int64_t>(hot.size())};
    if (paper) hot.resize(1);
    homes.clear();
    for (const int32_t link : hot)
      state.over(link, [&](int64_t e) {
        homes.push_back(state.place(state.flows().source(e)));
        if (!listing) homes.push_back(state.place(state.flows().target(e)));
      });
    sort_and_deduplicate(homes);
    int32_t best = -1, best_place = -1;
    for (const int32_t home : homes) {
      near.clear();
      search.run({&home, 1}, [&](In<int32_t> level) {
        equals.assign(level.begin(), level.end());
        if (nearby)
          std::stable_sort(equals.begin(), equals.end(),
                           [&](int32_t a, int32_t b) { return std::abs(a - home) < std::abs(b - home); });
        for (const int32_t p : equals)
          if (p != home && static_cast<int32_t>(near.size()) < nearest) near.push_back(p);
        return static_cast<int32_t>(near.size()) < nearest;
      });
      for (const int32_t p : near) {
        if (control.should_stop()) return round;
        const int32_t group = state.group_at(home), other = state.group_at(p);
        if ((listing && other < 0) || !fit.both_fit(group, p, other, home)) continue;
        ++evaluations;
        state.propose(group, p);
        Peak peak = state.hottest_if();
        if (paper) peak.second = 0;
        if (peak < least) least = peak, best = group, best_place = p;
      }
    }
    if (best < 0) return round;
    state.propose(best, best_place);
    state.commit();
  }
  return rounds;
}

}  // namespace hopbytes
