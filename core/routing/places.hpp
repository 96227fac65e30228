// Places for groups of tasks: which group may take which place, and the places around others, hop by hop.
#pragma once
#include "graph/csr.hpp"
#include "util/assert.hpp"
#include "util/rng.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

// Which group may take which free place so that all other groups still find one. Places are divided into
// classes by capacity, groups by the smallest capacity that holds them. Each place takes one group. A group
// larger than every place is in the largest class; the caller repairs the overload.
class PlaceFit {
 public:
  PlaceFit(In<int64_t> size, In<int64_t> capacity) {
    std::vector<int64_t> distinct(capacity.begin(), capacity.end());
    sort_and_deduplicate(distinct);
    const auto class_of = [&](int64_t amount) {
      const auto found = std::lower_bound(distinct.begin(), distinct.end(), amount);
      return static_cast<int32_t>(
          std::min<int64_t>(found - distinct.begin(), static_cast<int64_t>(distinct.size()) - 1));
    };
    count_.assign(distinct.size(), 0);
    have_.assign(distinct.size(), 0);
    for (const int64_t s : size) group_class_.push_back(class_of(s)), ++count_[group_class_.back()];
    for (const int64_t c : capacity) place_class_.push_back(class_of(c)), ++have_[place_class_.back()];
    need_ = count_;
    std::partial_sum(need_.rbegin(), need_.rend(), need_.rbegin());
    std::partial_sum(have_.rbegin(), have_.rend(), have_.rbegin());
  }

  // Returns the classes of groups in the order in which they are placed: rare ones first, because their
  // places are nearly determined, then large ones.
  std::vector<int32_t> by_rarity() const {
    std::vector<int32_t> order;
    for (int32_t c = 0; c < static_cast<int32_t>(count_.size()); ++c)
      if (count_[c] > 0) order.push_back(c);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return count_[a] != count_[b] ? count_[a] < count_[b] : a > b;
    });
    return order;
  }

  int32_t classes() const { return static_cast<int32_t>(count_.size()); }
  int32_t class_of_group(int32_t group) const { return group_class_[group]; }

  // Returns whether `group` may take the free place: it fits, and every larger class has places to spare.
  bool allows(int32_t group, int32_t place) const {
    const int32_t own = group_class_[group], taken = place_class_[place];
    if (taken < own) return false;
    for (int32_t c = own + 1; c <= taken; ++c)
      if (have_[c] <= need_[c]) return false;
    return true;
  }
  bool fits(int32_t group, int32_t place) const { return place_class_[place] >= group_class_[group]; }
  // Returns whether a group may go to a place while the group there, if any (-1), goes home in its stead.
  bool both_fit(int32_t group, int32_t place, int32_t other, int32_t home) const {
    return fits(group, place) && (other < 0 || fits(other, home));
  }

  void take(int32_t group, int32_t place) {
    for (int32_t c = 0; c <= group_class_[group]; ++c) --need_[c];
    for (int32_t c = 0; c <= place_class_[place]; ++c) --have_[c];
    HOPBYTES_CHECK(need_.front() >= 0 && have_.front() >= need_.front());
  }

 private:
  std::vector<int32_t> group_class_, place_class_;
  // need, have: groups to place and free places of a class and all larger ones
  std::vector<int64_t> count_, need_, have_;
};

// Sites (nodes) with the nearest sites of each, and the places at each site. A row of `near` has `reach`
// sites, beginning with the site itself; `hops` holds their distances.
struct Neighbourhood {
  In<int32_t> near;  // sites * reach
  In<uint16_t> hops;  // sites * reach, ascending in a row
  In<int32_t> site;  // of every place
  In<int64_t> place_start;  // sites + 1
  In<int32_t> place;  // places of every site, ascending

  int64_t sites() const { return static_cast<int64_t>(place_start.size()) - 1; }
  int64_t places() const { return static_cast<int64_t>(site.size()); }
  int64_t reach() const { return static_cast<int64_t>(near.size()) / std::max<int64_t>(1, sites()); }

  In<int32_t> places_at(int32_t at) const {
    return place.subspan(place_start[at], place_start[at + 1] - place_start[at]);
  }

  // Draws a place at one of the `most` sites nearest to a place.
  int32_t draw(int32_t around, uint64_t most, Rng& rng) const {
    const auto places = places_at(near[site[around] * reach() + static_cast<int64_t>(rng.below(most))]);
    return places[rng.below(places.size())];
  }
};

// Visits the places around some places level by level (level = hops to the nearest of them), ascending within
// a level: a breadth-first search through the network from several sources. It ends where the rows end.
class PlaceSearch {
 public:
  explicit PlaceSearch(const Neighbourhood& neighbourhood)
      : neighbourhood_(neighbourhood), seen_(neighbourhood.sites(), 0) {}

  // visit(places of one level) returns whether to continue.
  template <class Visit> void run(In<int32_t> sources, Visit&& visit) {
    ++turn_;
    rows_.clear();
    for (const int32_t place : sources) {
      const int32_t site = neighbourhood_.site[place];
      if (seen_[site] == turn_) continue;
      seen_[site] = turn_;
      rows_.push_back(site * neighbourhood_.reach());
    }
    ++turn_;  // marks visited sites from here on
    next_ = rows_;
    for (int64_t level = 0; level >= 0; level = following()) {
      found_.clear();
      for (size_t i = 0; i < rows_.size(); ++i)
        for (; !ended(i) && neighbourhood_.hops[next_[i]] == level; ++next_[i])
          take(neighbourhood_.near[next_[i]]);
      if (found_.empty()) continue;
      std::sort(found_.begin(), found_.end());
      if (!visit(In<int32_t>(found_))) return;
    }
  }

  // Calls attempt(place) for up to `most` places but `home`, until it returns true. Returns whether it did.
  template <class Attempt>
  bool attempt_around(In<int32_t> sources, int32_t home, int32_t most, Attempt attempt) {
    int32_t tried = 0;
    bool done = false;
    run(sources, [&](In<int32_t> level) {
      for (const int32_t p : level) {
        if (p == home) continue;
        if (done || tried++ >= most) return false;
        done = attempt(p);
      }
      return !done && tried < most;
    });
    return done;
  }

 private:
  bool ended(size_t i) const { return next_[i] == rows_[i] + neighbourhood_.reach(); }
  // Returns the smallest level that remains in a row, -1 if all rows have ended.
  int64_t following() const {
    int64_t least = -1;
    for (size_t i = 0; i < rows_.size(); ++i)
      if (!ended(i) && (least < 0 || neighbourhood_.hops[next_[i]] < least))
        least = neighbourhood_.hops[next_[i]];
    return least;
  }
  void take(int32_t site) {
    if (seen_[site] == turn_) return;
    seen_[site] = turn_;
    const In<int32_t> places = neighbourhood_.places_at(site);
    found_.insert(found_.end(), places.begin(), places.end());
  }

  Neighbourhood neighbourhood_;
  std::vector<int64_t> seen_;
  std::vector<int64_t> rows_, next_;
  std::vector<int32_t> found_;
  int64_t turn_ = 0;
};

}  // namespace hopbytes
