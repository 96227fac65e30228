// Groups on places with routed traffic between them, and what a move or an exchange would change.
#pragma once
#include <algorithm>

#include "flows.hpp"
#include "placed_routes.hpp"

namespace hopbytes {

using Wide = __int128;

class RoutedGroups {
 public:
  // place: of every group; -1 for one not placed yet, whose traffic does not count.
  RoutedGroups(const Flows& flows, const PlacedRoutes& routes, int64_t links, In<int64_t> price, int64_t places,
               std::span<int32_t> place)
      : flows_(flows), routes_(routes), links_(links, price), place_(place), group_at_(places, -1),
        change_(links, 0), known_(links, 0), over_(links), version_(flows.m(), 0) {
    for (int32_t g = 0; g < flows_.n(); ++g)
      if (place_[g] >= 0) group_at_[place_[g]] = g;
    for (int64_t e = 0; e < flows_.m(); ++e) {
      const int32_t a = place_[flows_.source(e)], b = place_[flows_.target(e)];
      if (!flows_.counts(e) || a < 0 || b < 0) continue;
      routes_.walk(a, b, flows_.volume(e), [&](int32_t link, int64_t amount) {
        add(link, amount);
        over_[link].push_back({e, 0});
      });
    }
  }

  LinkLoads& links() { return links_; }
  int64_t hop_bytes() const { return hop_bytes_; }  // sum of loads, whatever the capacities
  const Flows& flows() const { return flows_; }
  int32_t place(int32_t group) const { return place_[group]; }
  int32_t group_at(int32_t place) const { return group_at_[place]; }
  int64_t places() const { return static_cast<int64_t>(group_at_.size()); }

  // Propose that `group` goes to p and whoever is there comes the other way; what it changes is then
  // known until the next proposal.
  void propose(int32_t group, int32_t p) {
    forget();
    group_ = group, other_ = group_at_[p], target_ = p, home_ = place_[group];
    flows_.at(group_, [&](int64_t e) { reroute(e); });
    if (other_ < 0) return;
    flows_.at(other_, [&](int64_t e) {
      if (flows_.source(e) != group_ && flows_.target(e) != group_) reroute(e);
    });
  }

  // Links with the highest congestion, ascending.
  std::vector<int32_t> hottest() { return hotter_than(links_.max()); }
  std::vector<int32_t> hotter_than(int64_t floor) {
    std::vector<int32_t> found;
    links_.each_from(std::max<int64_t>(floor, 1), [&](int64_t link) { found.push_back(static_cast<int32_t>(link)); });
    return found;
  }

  std::span<const int32_t> touched() const { return touched_; }
  int64_t change(int32_t link) const { return change_[link]; }

  // Highest congestion if the proposal were accepted; exact, by doing and undoing it.
  int64_t top_if() {
    for (const int32_t link : touched_) links_.add(link, change_[link]);
    const int64_t top = links_.max();
    for (const int32_t link : touched_) links_.add(link, -change_[link]);
    return top;
  }

  void commit() {
    for (const int32_t link : touched_) add(link, change_[link]);
    const int32_t group = group_, other = other_;
    place_[group] = target_;
    if (other >= 0) place_[other] = home_;
    group_at_[target_] = group;
    group_at_[home_] = other;
    flows_.at(group, [&](int64_t e) { record(e); });
    if (other < 0) return;
    flows_.at(other, [&](int64_t e) {
      if (flows_.source(e) != group && flows_.target(e) != group) record(e);
    });
  }

  // Put a group that has no place yet on a free one.
  void place_first(int32_t group, int32_t p) {
    place_[group] = p;
    group_at_[p] = group;
    flows_.at(group, [&](int64_t e) {
      const int32_t a = place_[flows_.source(e)], b = place_[flows_.target(e)];
      if (a < 0 || b < 0) return;
      routes_.walk(a, b, flows_.volume(e), [&](int32_t link, int64_t amount) {
        add(link, amount);
        over_[link].push_back({e, version_[e]});
      });
    });
  }
  // Propose that an unplaced group goes to p, a free place.
  void propose_first(int32_t group, int32_t p) {
    forget();
    flows_.at(group, [&](int64_t e) {
      const int32_t other = place_[flows_.other_end(e, group)];
      if (other < 0) return;
      const bool leaves = flows_.source(e) == group;
      routes_.walk(leaves ? p : other, leaves ? other : p, flows_.volume(e),
                   [&](int32_t link, int64_t amount) { note(link, amount); });
    });
  }

  // Arcs routed over a link, in no particular order; entries that are out of date are swept out.
  template <class Visit> void over(int32_t link, Visit&& visit) {
    auto& entries = over_[link];
    std::erase_if(entries, [&](const Entry& entry) { return version_[entry.arc] != entry.version; });
    for (const Entry& entry : entries) visit(entry.arc);
  }

 private:
  struct Entry { int64_t arc; int32_t version; };

  void add(int32_t link, int64_t amount) {
    links_.add(link, amount);
    hop_bytes_ += amount;
  }
  int32_t place_after(int32_t group) const {
    if (group == group_) return target_;
    return group == other_ ? home_ : place_[group];
  }
  void reroute(int64_t e) {
    const int32_t source = flows_.source(e), target = flows_.target(e);
    const int64_t volume = flows_.volume(e);
    routes_.walk(place_[source], place_[target], volume,
                 [&](int32_t link, int64_t amount) { note(link, -amount); });
    routes_.walk(place_after(source), place_after(target), volume,
                 [&](int32_t link, int64_t amount) { note(link, amount); });
  }
  void record(int64_t e) {
    const int32_t version = ++version_[e];
    routes_.links(place_[flows_.source(e)], place_[flows_.target(e)],
                  [&](const Step& step) { over_[step.link].push_back({e, version}); });
  }
  void note(int32_t link, int64_t amount) {
    if (!known_[link]) known_[link] = 1, touched_.push_back(link);
    change_[link] += amount;
  }
  void forget() {
    for (const int32_t link : touched_) change_[link] = 0, known_[link] = 0;
    touched_.clear();
  }

  const Flows& flows_;
  const PlacedRoutes& routes_;
  LinkLoads links_;
  std::span<int32_t> place_;
  std::vector<int32_t> group_at_;
  std::vector<int64_t> change_;
  std::vector<uint8_t> known_;
  std::vector<int32_t> touched_;
  std::vector<std::vector<Entry>> over_;
  std::vector<int32_t> version_;
  int64_t hop_bytes_ = 0;
  int32_t group_ = -1, other_ = -1, target_ = -1, home_ = -1;
};

}  // namespace hopbytes
