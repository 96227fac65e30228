// Routes between places: those of a network, the endpoint of each place, the load that a flow is on a link.
#pragma once
#include "routing/routes.hpp"
#include "util/sorting.hpp"

namespace hopbytes {

// The links from one place to another and those of the opposite direction.
struct RoundTrip {
  In<int32_t> there, back;
};

// Searches use routes through this type, whatever their form, and are therefore compiled once. If every flow
// takes a single path, the paths between endpoints are cached, because searches ask for the same ones
// repeatedly. Not thread-safe: routes are written into buffers.
class PlacedRoutes {
 public:
  PlacedRoutes(const AnyRoutes& routes, In<int32_t> endpoint, int32_t shift)
      : routes_(routes),
        endpoint_(endpoint),
        shift_(shift),
        single_path_(routes.single_path()),
        site_(endpoint.size()) {
    std::vector<int32_t> known(endpoint.begin(), endpoint.end());
    sort_and_deduplicate(known);
    for (size_t p = 0; p < endpoint.size(); ++p)
      site_[p] =
          static_cast<int32_t>(std::lower_bound(known.begin(), known.end(), endpoint[p]) - known.begin());
    sites_ = static_cast<int64_t>(known.size());
    if (single_path_ && sites_ <= kMostSites) start_.assign(sites_ * sites_, -1);
  }

  bool single_path() const { return single_path_; }
  int64_t sites() const { return sites_; }
  // Places of one endpoint share a site: no link leads from one to the other.
  int32_t site(int32_t place) const { return site_[place]; }

  // Returns the contribution of a flow to a link that carries all of it.
  int64_t whole(int64_t volume) const { return volume << shift_; }

  // Calls visit(link, amount) along the route from a to b. Amounts are volume x share x 2^shift, rounded per
  // flow and link, so that removing a flow removes exactly what it added.
  template <class Visit> void walk(int32_t a, int32_t b, int64_t volume, Visit&& visit) const {
    if (single_path_) {
      const int64_t amount = whole(volume);
      for (const int32_t link : path(a, b)) visit(link, amount);
      return;
    }
    links(a, b, [&](const Step& step) { visit(step.link, share_of(volume, step.part, step.parts, shift_)); });
  }
  template <class Visit> void links(int32_t a, int32_t b, Visit&& visit) const {
    row_.clear();
    fill(a, b, row_);
    for (const Step& step : row_) visit(step);
  }
  // Returns the links from a to b if flows take a single path; valid until the next call.
  In<int32_t> path(int32_t a, int32_t b) const { return round_trip(a, b).there; }
  // Returns the links of both directions, which are adjacent in memory.
  RoundTrip round_trip(int32_t a, int32_t b) const {
    if (site_[a] == site_[b]) return {};
    if (start_.empty()) return computed(a, b);
    int32_t& start = start_[site_[a] * sites_ + site_[b]];
    if (start < 0) {
      const RoundTrip found = computed(a, b);
      const size_t size = found.there.size() + found.back.size() + 2;
      if (cache_.size() + size > kMostCached) return found;
      start = static_cast<int32_t>(cache_.size());
      for (const auto& path : {found.there, found.back}) cache_.push_back(static_cast<int32_t>(path.size()));
      for (const auto& path : {found.there, found.back})
        cache_.insert(cache_.end(), path.begin(), path.end());
    }
    const int32_t* cached = cache_.data() + start;
    const auto there = static_cast<size_t>(cached[0]), back = static_cast<size_t>(cached[1]);
    return {{cached + 2, there}, {cached + 2 + there, back}};
  }

 private:
  void fill(int32_t a, int32_t b, std::vector<Step>& row) const {
    if (endpoint_[a] != endpoint_[b]) routes_.list(endpoint_[a], endpoint_[b], row);
  }

  static constexpr int64_t kMostSites = 2048;
  static constexpr size_t kMostCached = size_t{1} << 24;

  RoundTrip computed(int32_t a, int32_t b) const {
    row_.clear();
    fill(a, b, row_);
    const size_t there = row_.size();
    fill(b, a, row_);
    plain_.clear();
    for (const Step& step : row_) plain_.push_back(step.link);
    return {{plain_.data(), there}, {plain_.data() + there, plain_.size() - there}};
  }

  const AnyRoutes& routes_;
  In<int32_t> endpoint_;
  int32_t shift_;
  bool single_path_;
  std::vector<int32_t> site_;
  int64_t sites_ = 0;
  mutable std::vector<Step> row_;
  mutable std::vector<int32_t> plain_;
  // of every pair of sites, its entry in cache_: two lengths, then links; -1 if not cached
  mutable std::vector<int32_t> start_;
  mutable std::vector<int32_t> cache_;
};

}  // namespace hopbytes
