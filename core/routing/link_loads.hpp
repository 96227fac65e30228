// Loads of links: summarised from scratch, and as a structure that searches update flow by flow.
#pragma once
#include <bit>

#include "graph/csr.hpp"
#include "util/assert.hpp"

namespace hopbytes {

using Wide = __int128;

// How the load of a link changes, and its value before and after: its amount times its price.
struct LinkChange {
  int64_t amount, before, after;
};

// Sums over all links: amounts, links in use, their values and the squares of these.
struct LinkSums {
  int64_t used = 0;
  Wide hop_bytes = 0, sum = 0, squares = 0;

  void add(const LinkChange& change) {
    const auto [amount, before, after] = change;
    hop_bytes += amount;
    used += (after > 0) - (before > 0);
    sum += after - before;
    squares += static_cast<Wide>(after) * after - static_cast<Wide>(before) * before;
  }
  bool operator==(const LinkSums&) const = default;
};

// What metrics are computed from.
struct LoadSummary {
  LinkSums sums;
  int64_t most = 0;  // the largest value
  int64_t hottest = -1;  // the smallest link with the largest value, -1 if no link is used
  int64_t at_most = 0;  // number of links with the largest value
};

inline LoadSummary summarize(In<int64_t> amount, In<int64_t> price) {
  LoadSummary s;
  for (size_t link = 0; link < amount.size(); ++link) {
    if (amount[link] == 0) continue;
    const int64_t value = amount[link] * (price.empty() ? 1 : price[link]);
    s.sums.add({amount[link], 0, value});
    if (value > s.most) s.most = value, s.hottest = static_cast<int64_t>(link), s.at_most = 0;
    s.at_most += value == s.most;
  }
  return s;
}

// Link loads under updates. Values are amount x price (price = common multiple of the capacities / capacity),
// so comparing values compares congestion exactly. The sums are updated with every change. The maximum comes
// from a tournament tree that is updated when it is asked for: a trial of many changes that is undone costs
// each touched path only once. Amounts never go below 0.
class LinkLoads {
 public:
  explicit LinkLoads(int64_t links, In<int64_t> price = {})
      : links_(links),
        leaves_(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(links, 2))))),
        price_(price.begin(), price.end()),
        amount_(links, 0),
        best_(leaves_, 0),
        count_(leaves_, 0),
        outdated_(leaves_, 0) {}

  void add(int64_t link, int64_t amount) {
    if (amount == 0) return;
    const int64_t before = value(link);
    amount_[link] += amount;
    HOPBYTES_CHECK(amount_[link] >= 0);
    sums_.add({amount, before, value(link)});
    if (!outdated_[link / 2]) outdated_[link / 2] = 1, touched_.push_back(link / 2);
  }

  int64_t price(int64_t link) const { return price_.empty() ? 1 : price_[link]; }
  int64_t value(int64_t link) const { return amount_[link] * price(link); }
  const LinkSums& sums() const { return sums_; }

  // Returns the largest value; 0 if no link is used.
  int64_t max() {
    update_tree();
    return best_[1];
  }
  // Returns the number of links with the largest value (0 if no link is used).
  int64_t at_max() {
    update_tree();
    return best_[1] == 0 ? 0 : count_[1];
  }
  // Calls visit(link) for every link whose value is at least `floor` (> 0), ascending.
  template <class Visit> void each_from(int64_t floor, Visit&& visit) {
    update_tree();
    if (best_[1] >= floor) visit_from(1, floor, visit);
  }

  // Returns whether what is kept up to date equals what follows from the amounts.
  bool is_consistent() {
    const LoadSummary now = summarize(amount_, price_);
    return now.sums == sums_ && now.most == max() && now.at_most == at_max();
  }

 private:
  // The tree: node 1 is the root, node leaves_ / 2 + i holds the links 2i and 2i + 1.
  int64_t pair_value(int64_t pair, int64_t side) const {
    const int64_t link = 2 * pair + side;
    return link < links_ ? value(link) : 0;
  }

  void set(int64_t node, int64_t a, int64_t a_count, int64_t b, int64_t b_count) {
    best_[node] = std::max(a, b);
    count_[node] = (a == best_[node] ? a_count : 0) + (b == best_[node] ? b_count : 0);
  }

  // Updates the tree level by level, every touched node once.
  void update_tree() {
    if (touched_.empty()) return;
    for (int64_t& pair : touched_) {
      outdated_[pair] = 0;
      set(pair + leaves_ / 2, pair_value(pair, 0), 1, pair_value(pair, 1), 1);
      pair += leaves_ / 2;
    }
    while (touched_[0] > 1) {  // all nodes in the list are of one level
      size_t kept = 0;
      for (size_t i = 0; i < touched_.size(); ++i) {
        const int64_t parent = touched_[i] / 2;
        if (outdated_[parent]) continue;
        outdated_[parent] = 1;
        touched_[kept++] = parent;
      }
      touched_.resize(kept);
      for (int64_t node : touched_) {
        outdated_[node] = 0;
        set(node, best_[2 * node], count_[2 * node], best_[2 * node + 1], count_[2 * node + 1]);
      }
    }
    touched_.clear();
  }

  template <class Visit> void visit_from(int64_t node, int64_t floor, Visit&& visit) {
    if (node >= leaves_ / 2) {
      for (int64_t side = 0; side < 2; ++side)
        if (pair_value(node - leaves_ / 2, side) >= floor) visit(2 * (node - leaves_ / 2) + side);
      return;
    }
    for (int64_t child : {2 * node, 2 * node + 1})
      if (best_[child] >= floor) visit_from(child, floor, visit);
  }

  int64_t links_, leaves_;
  std::vector<int64_t> price_, amount_, best_;
  std::vector<int64_t> count_;
  std::vector<uint8_t> outdated_;
  std::vector<int64_t> touched_;
  LinkSums sums_;
};

}  // namespace hopbytes
