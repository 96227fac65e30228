// Which arcs are routed over each link, while arcs change their routes.
#pragma once
#include <cstdint>
#include <vector>

#include "util/rng.hpp"

namespace hopbytes {

// Entries of an arc that has left its route remain until they are met: an arc has a version, which its valid
// entries share.
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

  // Makes all entries of an arc outdated.
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

}  // namespace hopbytes
