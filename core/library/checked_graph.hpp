// A graph that was given to the C library, checked and copied to the form of the core.
#pragma once
#include <exception>

#include "graph/csr_checks.hpp"
#include "graph/group_sums.hpp"
#include "library/hopbytes.h"

namespace hopbytes {

// What ends a call: its status.
struct Refusal : std::exception {
  explicit Refusal(int why) : status(why) {}
  int status;
};

inline void require(bool holds, int status) {
  if (!holds) throw Refusal(status);
}

// Integers of 32 or 64 bits.
struct Integers {
  const void* first;
  bool wide;
  int64_t operator[](int64_t i) const {
    return wide ? static_cast<const int64_t*>(first)[i] : static_cast<const int32_t*>(first)[i];
  }
};

// Rows ascend, without loops and edges of weight 0. Weights and loads are empty where all are 1.
struct CheckedGraph {
  std::vector<int64_t> start{0};
  std::vector<int32_t> target;
  std::vector<int64_t> weight, load;
  __int128 total_weight = 0;  // of all arcs

  int64_t n() const { return std::ssize(start) - 1; }
  Csr csr() const { return {start, target, weight}; }
};

class GraphReader {
 public:
  explicit GraphReader(const hopbytes_graph& given)
      : n_(given.n),
        base_(given.base),
        rows_{given.rows, given.index_bits == 64},
        targets_{given.targets, given.index_bits == 64},
        weights_{given.weights, given.weight_bits == 64},
        loads_{given.loads, given.weight_bits == 64} {
    const auto known = [](int32_t bits) { return bits == 32 || bits == 64; };
    require(known(given.index_bits) && known(given.weight_bits) && (base_ == 0 || base_ == 1),
            HOPBYTES_BAD_OPTION);
    require(n_ >= 0 && n_ < std::numeric_limits<int32_t>::max(), HOPBYTES_BAD_SIZE);
    require(given.rows, HOPBYTES_NULL);
  }

  CheckedGraph read() {
    require(rows_[0] == base_, HOPBYTES_BAD_SIZE);
    for (int64_t v = 0; v < n_; ++v) require(rows_[v] <= rows_[v + 1], HOPBYTES_BAD_SIZE);
    const int64_t arcs = rows_[n_] - base_;
    require(arcs == 0 || targets_.first, HOPBYTES_NULL);
    if (!(rows_.wide ? copied<int64_t>(arcs) : copied<int32_t>(arcs))) {
      graph_ = CheckedGraph();
      for (int64_t v = 0; v < n_; ++v) read_row(v);
    }
    drop_ones(graph_.weight);
    graph_.total_weight = wide_sum(graph_.weight, Team::alone());
    if (graph_.weight.empty()) graph_.total_weight = std::ssize(graph_.target);
    read_loads();
    require(find_asymmetry(graph_.csr(), Team::alone()) < 0, HOPBYTES_ASYMMETRIC);
    return std::move(graph_);
  }

 private:
  static void drop_ones(std::vector<int64_t>& values) {
    if (std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 1; })) values.clear();
  }

  // Copies the rows as they are, the fastest way; returns whether that is possible: they ascend, without
  // loops and edges of weight 0.
  template <class Index> bool copied(int64_t arcs) {
    const auto *rows = static_cast<const Index*>(rows_.first),
               *targets = static_cast<const Index*>(targets_.first);
    graph_.start.resize(n_ + 1);
    graph_.target.resize(arcs);
    Index outside = 0;
    for (int64_t v = 0; v < n_; ++v) graph_.start[v + 1] = rows[v + 1] - base_;
    for (int64_t e = 0; e < arcs; ++e) {  // several at once
      graph_.target[e] =
          static_cast<int32_t>(static_cast<uint32_t>(targets[e]) - static_cast<uint32_t>(base_));
      outside |= (targets[e] < static_cast<Index>(base_)) | (targets[e] > static_cast<Index>(n_));
    }
    bool possible = outside == 0 && rows_are_valid(graph_.start, graph_.target, 0, n_);
    for (int64_t v = 0; v < n_; ++v)
      for (int64_t e = graph_.start[v]; e < graph_.start[v + 1]; ++e) possible &= graph_.target[e] != v;
    if (weights_.first) graph_.weight.resize(arcs);
    for (int64_t e = 0; e < std::ssize(graph_.weight); ++e) possible &= (graph_.weight[e] = weights_[e]) > 0;
    return possible;
  }

  void read_row(int64_t v) {
    row_.clear();
    bool ascends = true;
    for (int64_t e = rows_[v] - base_; e < rows_[v + 1] - base_; ++e) {
      const int64_t u = targets_[e] - base_, w = weights_.first ? weights_[e] : 1;
      require(u >= 0 && u < n_, HOPBYTES_BAD_INDEX);
      require(w >= 0, HOPBYTES_BAD_WEIGHT);
      if (u == v || w == 0) continue;
      ascends = ascends && (row_.empty() || row_.back().first < u);
      row_.emplace_back(static_cast<int32_t>(u), w);
    }
    if (!ascends) std::sort(row_.begin(), row_.end());
    const auto first = std::ssize(graph_.target);
    for (const auto& [u, w] : row_) {
      if (std::ssize(graph_.target) > first && graph_.target.back() == u) {
        keep_weights();
        require(!__builtin_add_overflow(graph_.weight.back(), w, &graph_.weight.back()), HOPBYTES_TOO_LARGE);
      } else {
        graph_.target.push_back(u);
        if (weights_.first || !graph_.weight.empty()) graph_.weight.push_back(w);
      }
    }
    graph_.start.push_back(std::ssize(graph_.target));
  }

  // Repeated edges weigh more than 1.
  void keep_weights() {
    if (graph_.weight.empty()) graph_.weight.assign(graph_.target.size(), 1);
  }

  void read_loads() {
    if (!loads_.first) return;
    graph_.load.reserve(n_);
    for (int64_t v = 0; v < n_; ++v) {
      require(loads_[v] >= 0, HOPBYTES_BAD_WEIGHT);
      graph_.load.push_back(loads_[v]);
    }
    require(wide_sum(graph_.load, Team::alone()) <= int64_t{1} << 62, HOPBYTES_TOO_LARGE);
    drop_ones(graph_.load);
  }

  int64_t n_, base_;
  Integers rows_, targets_, weights_, loads_;
  CheckedGraph graph_;
  std::vector<std::pair<int32_t, int64_t>> row_;
};

}  // namespace hopbytes
