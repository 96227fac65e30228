// Groups on places with routed traffic between them, and the changes that a move or an exchange causes.
#pragma once
#include "graph/checked.hpp"
#include "routing/flows.hpp"
#include "routing/link_loads.hpp"
#include "routing/placed_routes.hpp"
#include "util/rng.hpp"

namespace hopbytes {

// Which arcs are routed over each link, while arcs change their routes. Entries of an arc that has left its
// route remain until they are met: an arc has a version, which its valid entries share.
class ArcsOverLinks {
 public:
  ArcsOverLinks(int64_t links, int64_t arcs) : over_(links), version_(arcs, 0) {}

  // Enters an arc at a link of its route. Outdated entries are removed before a list grows, so that it holds
  // at most twice the number of valid entries.
  void enter(int32_t link, int64_t arc) {
    auto& entries = over_[link];
    if (entries.size() == entries.capacity() && entries.size() >= 16) {
      sweep(entries);
      if (2 * entries.size() > entries.capacity()) entries.reserve(2 * entries.capacity());
    }
    entries.push_back({arc, version_[arc]});
  }

  void leave_all(int64_t arc) { ++version_[arc]; }

  // Calls visit(arc) for the arcs over a link, in no particular order, and removes outdated entries.
  template <class Visit> void visit(int32_t link, Visit&& visit) {
    auto& entries = over_[link];
    sweep(entries);
    for (const Entry& entry : entries) visit(entry.arc);
  }

  // Returns a random arc over a link, with equal probabilities; -1 if there is none. O(1) on average.
  int64_t any(int32_t link, Rng& rng) {
    auto& entries = over_[link];
    while (!entries.empty()) {
      const size_t i = rng.below(entries.size());
      if (valid(entries[i])) return entries[i].arc;
      entries[i] = entries.back();
      entries.pop_back();
    }
    return -1;
  }

 private:
  struct Entry {
    int64_t arc;
    int32_t version;
  };

  bool valid(const Entry& entry) const { return version_[entry.arc] == entry.version; }
  void sweep(std::vector<Entry>& entries) {
    std::erase_if(entries, [&](const Entry& entry) { return !valid(entry); });
  }

  std::vector<std::vector<Entry>> over_;
  std::vector<int32_t> version_;  // of each arc
};

struct Relocation {
  int32_t group, place;
};

class RoutedGroups {
 public:
  // place: of every group; -1 for an unplaced group, whose traffic does not count.
  RoutedGroups(const Flows& flows, const PlacedRoutes& routes, int64_t links, In<int64_t> price,
               int64_t places, Out<int32_t> place)
      : flows_(flows),
        routes_(routes),
        links_(links, price),
        place_(place),
        group_at_(places, -1),
        change_(links, 0),
        known_(links, 0),
        over_(links, flows.m()),
        partners_(flows) {
    net_.resize(routes_.sites());
    for (int32_t g = 0; g < flows_.n(); ++g)
      if (place_[g] >= 0) group_at_[place_[g]] = g;
    for (int64_t e = 0; e < flows_.m(); ++e)
      if (flows_.counts(e)) enter(e);
  }

  LinkLoads& links() { return links_; }
  const LinkSums& sums() const { return links_.sums(); }
  const Flows& flows() const { return flows_; }
  int32_t place(int32_t group) const { return place_[group]; }
  int32_t group_at(int32_t place) const { return group_at_[place]; }
  int64_t places() const { return static_cast<int64_t>(group_at_.size()); }
  // Returns whether two places have the same endpoints, so that they are equally good.
  bool alike(int32_t a, int32_t b) const {
    const int32_t ports = flows_.ports();
    for (int32_t q = 0; q < ports; ++q)
      if (routes_.site(a * ports + q) != routes_.site(b * ports + q)) return false;
    return true;
  }

  // Proposes that `group` moves to p and a group there to its place, until the next proposal.
  void propose(int32_t group, int32_t p) {
    discard_proposal();
    group_ = group, other_ = group_at_[p], target_ = p, home_ = place_[group];
    if (merges()) reroute_merged();
    else each_of_both([&](int64_t e) { reroute(e); });
  }

  // Proposes that several groups move. Every new place must be free or left by another of these groups.
  void propose(In<Relocation> moves) {
    discard_proposal();
    set_.assign(moves.begin(), moves.end());
    goal_.resize(flows_.n(), -1);
    for (const auto& [group, p] : set_) goal_[group] = p;
    for (const auto& [group, p] : set_) {
      if (merges()) reroute_partners(group);
      else each_of_set(group, [&](int64_t e) { reroute(e); });
    }
  }

  int64_t partners(int32_t group) const { return std::ssize(partners_.of(group)); }
  int32_t partner(int32_t group, int64_t i) const { return partners_.of(group)[i].group; }

  // Returns the links with the highest congestion, ascending.
  std::vector<int32_t> hottest() { return hotter_than(links_.max()); }
  std::vector<int32_t> hotter_than(int64_t floor) {
    std::vector<int32_t> found;
    links_.each_from(std::max<int64_t>(floor, 1),
                     [&](int64_t link) { found.push_back(static_cast<int32_t>(link)); });
    return found;
  }

  // The links whose loads the proposal changes, and what it makes of each.
  In<int32_t> touched() const { return touched_; }
  LinkChange change(int32_t link) const {
    const int64_t before = links_.value(link);
    return {change_[link], before, before + change_[link] * links_.price(link)};
  }

  // Returns the highest congestion after the proposal and how many links have it, by applying and undoing
  // it.
  std::pair<int64_t, int64_t> hottest_if() {
    for (const int32_t link : touched_) links_.add(link, change_[link]);
    const std::pair<int64_t, int64_t> found{links_.max(), links_.at_max()};
    for (const int32_t link : touched_) links_.add(link, -change_[link]);
    return found;
  }

  void commit() {
    for (const int32_t link : touched_) links_.add(link, change_[link]);
    HOPBYTES_CHECK(links_.is_consistent());
    if (!set_.empty()) return commit_set();
    place_[group_] = target_;
    if (other_ >= 0) place_[other_] = home_;
    group_at_[target_] = group_;
    group_at_[home_] = other_;
    each_of_both([&](int64_t e) { record(e); });
  }

  // Puts an unplaced group on a free place.
  void place_first(int32_t group, int32_t p) {
    place_[group] = p;
    group_at_[p] = group;
    flows_.at(group, [&](int64_t e) { enter(e); });
  }
  // Proposes that an unplaced group goes to p, a free place.
  void propose_first(int32_t group, int32_t p) {
    discard_proposal();
    flows_.at(group, [&](int64_t e) {
      const int32_t other = place_[flows_.other_end(e, group)];
      if (other < 0) return;
      const bool leaves = flows_.source(e) == group;
      routes_.walk(flows_.from(e, leaves ? p : other), flows_.to(e, leaves ? other : p), flows_.volume(e),
                   [&](int32_t link, int64_t amount) { note(link, amount); });
    });
  }

  // Visits the arcs routed over a link, in no particular order.
  template <class Visit> void over(int32_t link, Visit&& visit) { over_.visit(link, visit); }
  // Returns a random arc routed over a link, with equal probabilities; -1 if there is none. O(1) on average.
  int64_t one_over(int32_t link, Rng& rng) { return over_.any(link, rng); }

 private:
  // What two groups that exchange places send to and receive from one site; the second one negatively.
  struct Exchange {
    int32_t place = -1;
    int64_t out = 0, in = 0;
  };

  // Adds the traffic of an arc between placed groups.
  void enter(int64_t e) {
    const int32_t a = place_[flows_.source(e)], b = place_[flows_.target(e)];
    if (a < 0 || b < 0) return;
    routes_.walk(flows_.from(e, a), flows_.to(e, b), flows_.volume(e), [&](int32_t link, int64_t amount) {
      links_.add(link, amount);
      over_.enter(link, e);
    });
  }
  // Visits the arcs of the group that moves and of the one that moves the other way, each arc once.
  template <class Visit> void each_of_both(Visit visit) const {
    flows_.at(group_, visit);
    if (other_ < 0) return;
    flows_.at(other_, [&](int64_t e) {
      if (flows_.source(e) != group_ && flows_.target(e) != group_) visit(e);
    });
  }
  // Returns whether all traffic of two groups takes one path, so that it can be rerouted at once.
  bool merges() const { return routes_.single_path() && flows_.ports() == 1; }
  int32_t place_after(int32_t group) const {
    if (!set_.empty()) return goal_[group] >= 0 ? goal_[group] : place_[group];
    if (group == group_) return target_;
    return group == other_ ? home_ : place_[group];
  }
  void reroute(int64_t e) {
    const int32_t source = flows_.source(e), target = flows_.target(e);
    const int64_t volume = flows_.volume(e);
    routes_.walk(flows_.from(e, place_[source]), flows_.to(e, place_[target]), volume,
                 [&](int32_t link, int64_t amount) { note(link, -amount); });
    routes_.walk(flows_.from(e, place_after(source)), flows_.to(e, place_after(target)), volume,
                 [&](int32_t link, int64_t amount) { note(link, amount); });
  }
  // Visits the arcs of a group of the set, those between two of them with the lower number.
  template <class Visit> void each_of_set(int32_t group, Visit&& visit) const {
    flows_.at(group, [&](int64_t e) {
      const int32_t other = flows_.other_end(e, group);
      if (goal_[other] < 0 || group < other) visit(e);
    });
  }
  void reroute_partners(int32_t group) {
    for (const Partners::Partner& partner : partners_.of(group)) {
      const int32_t now = place_[partner.group];
      if (now < 0 || (goal_[partner.group] >= 0 && partner.group < group)) continue;
      shift(place_[group], now, -partner.out, -partner.in);
      shift(goal_[group], place_after(partner.group), partner.out, partner.in);
    }
  }
  void commit_set() {
    for (const auto& [group, p] : set_) group_at_[place_[group]] = -1;
    for (const auto& [group, p] : set_) place_[group] = p, group_at_[p] = group;
    for (const auto& [group, p] : set_) each_of_set(group, [&](int64_t e) { record(e); });
  }
  void record(int64_t e) {
    over_.leave_all(e);
    const int32_t a = flows_.from(e, place_[flows_.source(e)]), b = flows_.to(e, place_[flows_.target(e)]);
    if (routes_.single_path())
      for (const int32_t link : routes_.path(a, b)) over_.enter(link, e);
    else routes_.links(a, b, [&](const Step& step) { over_.enter(step.link, e); });
  }

  // Flows on one path add up exactly: of the traffic of two groups with a site only the difference is
  // rerouted.
  void reroute_merged() {
    const int32_t here = routes_.site(home_), there = routes_.site(target_);
    if (here == there) return;
    int64_t between = 0;  // what the first group sends to the second, minus the opposite direction
    gather(group_, 1, between);
    if (other_ >= 0) gather(other_, -1, between);
    shift(home_, target_, -between, between);
    for (const int32_t site : visited_sites_) {
      Exchange& net = net_[site];
      if (site != here) shift(home_, net.place, -net.out, -net.in);
      if (site != there) shift(target_, net.place, net.out, net.in);
      net = {};
    }
    visited_sites_.clear();
  }
  void gather(int32_t group, int64_t sign, int64_t& between) {
    for (const Partners::Partner& partner : partners_.of(group)) {
      if (partner.group == other_ || partner.group == group_) {
        if (sign > 0) between = partner.out - partner.in;
        continue;
      }
      const int32_t place = place_[partner.group];
      if (place < 0) continue;
      const int32_t site = routes_.site(place);
      Exchange& net = net_[site];
      if (net.place < 0) net.place = place, visited_sites_.push_back(site);
      net.out += sign * partner.out;
      net.in += sign * partner.in;
    }
  }
  // Adds volume to the route from a to b, and volume to the opposite direction.
  void shift(int32_t a, int32_t b, int64_t out, int64_t in) {
    if (out == 0 && in == 0) return;
    const RoundTrip round_trip = routes_.round_trip(a, b);
    if (const int64_t amount = routes_.whole(out))
      for (const int32_t link : round_trip.there) note(link, amount);
    if (const int64_t amount = routes_.whole(in))
      for (const int32_t link : round_trip.back) note(link, amount);
  }

  void note(int32_t link, int64_t amount) {
    if (!known_[link]) known_[link] = 1, touched_.push_back(link);
    change_[link] += amount;
  }
  void discard_proposal() {
    for (const int32_t link : touched_) change_[link] = 0, known_[link] = 0;
    touched_.clear();
    for (const auto& [group, p] : set_) goal_[group] = -1;
    set_.clear();
  }

  const Flows& flows_;
  const PlacedRoutes& routes_;
  LinkLoads links_;
  Out<int32_t> place_;
  std::vector<int32_t> group_at_;
  std::vector<int64_t> change_;
  std::vector<uint8_t> known_;
  std::vector<int32_t> touched_;
  ArcsOverLinks over_;
  Partners partners_;
  std::vector<Exchange> net_;
  std::vector<int32_t> visited_sites_;
  std::vector<Relocation> set_;  // proposed together; empty if one group moves or two exchange
  std::vector<int32_t> goal_;  // the new place of the groups in the set, -1 for others
  int32_t group_ = -1, other_ = -1, target_ = -1, home_ = -1;
};

// The hybrid metric of PTRAM: the weighted sum of hop-bytes, highest congestion, and mean and variance of the
// congestion of links in use.
struct Hybrid {
  double weight[4];  // of the four terms, including any normalisation
  double unit;  // integers per unit of congestion
  double scale;  // integers per byte of load

  double value(const LinkSums& sums, int64_t top) const {
    if (sums.used == 0) return 0.0;
    const auto used = static_cast<double>(sums.used);
    const double mean = static_cast<double>(sums.sum) / used;
    const double variance = static_cast<double>(sums.squares) / used - mean * mean;
    return weight[0] * (static_cast<double>(sums.hop_bytes) / scale) +
           weight[1] * (static_cast<double>(top) / unit) + weight[2] * (mean / unit) +
           weight[3] * (variance / unit / unit);
  }
  double now(RoutedGroups& state) const { return value(state.sums(), state.links().max()); }
  // The value after proposed additions: loads only grow, so the maximum is the old one or on a touched link.
  double after_growth(RoutedGroups& state) const {
    int64_t top = state.links().max();
    for (const int32_t link : state.touched()) top = std::max(top, state.change(link).after);
    return after(state, top);
  }
  // The value after any proposal, given the highest congestion that it leads to.
  double after(const RoutedGroups& state, int64_t top) const {
    LinkSums sums = state.sums();
    for (const int32_t link : state.touched()) sums.add(state.change(link));
    return value(sums, top);
  }
};

// Reads six numbers as Python passes them: four weights, unit, scale.
inline Hybrid hybrid_of(In<double> terms) {
  expect(terms.size() == 6, "terms of the hybrid metric");
  return {{terms[0], terms[1], terms[2], terms[3]}, terms[4], terms[5]};
}

}  // namespace hopbytes
