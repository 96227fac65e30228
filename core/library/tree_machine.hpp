// A machine as text: a tree of levels, "node:8@10 core:4@1", as Python reads it (hopbytes/machines/tree.py).
#pragma once
#include <array>
#include <cctype>
#include <string_view>

#include "graph/distance.hpp"
#include "library/checked_graph.hpp"

namespace hopbytes {

class TreeMachine {
 public:
  // k PEs, all 1 apart.
  explicit TreeMachine(int64_t k) : TreeMachine(std::vector<Level>{{{k}, false, 1}}) {}
  explicit TreeMachine(std::string_view text) : TreeMachine(levels_in(text)) {}

  int64_t pes() const { return std::ssize(label_); }
  int64_t largest_distance() const { return distance()(0, static_cast<int32_t>(pes() - 1)); }
  TreeDistance distance() const { return {label_.data(), bit_cost_.data()}; }
  In<uint64_t> labels() const { return label_; }
  In<int64_t> bit_costs() const { return bit_cost_; }
  void keep(int64_t k) { label_.resize(k); }

  // Row after row, the outermost level first: the group of every PE. Levels of equal distance are one level.
  std::vector<int32_t> groups() const {
    std::vector<int32_t> rows;
    int32_t groups = 1;
    for (auto bit = static_cast<int>(std::bit_width(label_.front() ^ label_.back())); bit > 0;) {
      int low = bit;
      while (low > 1 && bit_cost_[low - 1] == bit_cost_[bit]) --low;
      std::vector<int32_t> row(pes(), 0);
      for (int64_t i = 1; i < pes(); ++i)
        row[i] = row[i - 1] + (label_[i] >> (low - 1) != label_[i - 1] >> (low - 1));
      if (row.back() + 1 > groups) {
        groups = row.back() + 1;
        rows.insert(rows.end(), row.begin(), row.end());
      }
      bit = low - 1;
    }
    return rows;
  }

 private:
  static constexpr int64_t kMostPes = 1 << 24, kFurthest = int64_t{1} << 58;

  struct Level {
    std::vector<int64_t> counts;  // children of each parent; one number if all have as many
    bool listed;  // a number for each parent was given
    int64_t distance;
  };

  explicit TreeMachine(const std::vector<Level>& levels) {
    std::vector<int> widths;
    int bits = 0;
    for (const Level& level : levels) {
      const auto parents = std::ssize(label_);
      require(!level.listed || std::ssize(level.counts) == parents, HOPBYTES_BAD_MACHINE);
      const auto [least, most] = std::minmax_element(level.counts.begin(), level.counts.end());
      require(*least >= 1 && *most <= kMostPes, HOPBYTES_BAD_MACHINE);
      widths.push_back(static_cast<int>(std::bit_width(static_cast<uint64_t>(*most - 1))));
      require((bits += widths.back()) <= 64, HOPBYTES_BAD_MACHINE);
      std::vector<uint64_t> children;
      for (int64_t p = 0; p < parents; ++p) {
        const int64_t count = level.counts[level.listed ? p : 0];
        require(std::ssize(children) + count <= kMostPes, HOPBYTES_BAD_MACHINE);
        for (int64_t c = 0; c < count; ++c)
          children.push_back(label_[p] << widths.back() | static_cast<uint64_t>(c));
      }
      label_ = std::move(children);
    }
    int bit = 0;
    for (size_t i = levels.size(); i-- > 0; bit += widths[i]) {
      require(i == 0 || levels[i - 1].distance >= levels[i].distance, HOPBYTES_BAD_MACHINE);
      std::fill(bit_cost_.begin() + bit + 1, bit_cost_.end(), levels[i].distance);
    }
  }

  // The number at the beginning of a text, which it loses.
  static int64_t number(std::string_view& text) {
    int64_t value = 0;
    require(!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])), HOPBYTES_BAD_MACHINE);
    for (; !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])); text.remove_prefix(1)) {
      value = 10 * value + (text[0] - '0');
      require(value <= kFurthest, HOPBYTES_BAD_MACHINE);
    }
    return value;
  }

  static bool takes(std::string_view& text, char wanted) {
    const bool found = !text.empty() && text[0] == wanted;
    if (found) text.remove_prefix(1);
    return found;
  }

  // A distance of -1 stands for none.
  static Level level_at(std::string_view& text) {
    const auto of_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
    };
    require(!std::isdigit(static_cast<unsigned char>(text[0])) && of_name(text[0]), HOPBYTES_BAD_MACHINE);
    while (!text.empty() && of_name(text[0])) text.remove_prefix(1);
    require(takes(text, ':'), HOPBYTES_BAD_MACHINE);
    Level level{{}, takes(text, '['), -1};
    if (level.listed) {
      do level.counts.push_back(number(text));
      while (takes(text, ','));
      require(takes(text, ']'), HOPBYTES_BAD_MACHINE);
    } else {
      level.counts.push_back(number(text));
    }
    if (takes(text, '@')) level.distance = number(text);
    require(text.empty() || text[0] == ' ', HOPBYTES_BAD_MACHINE);
    return level;
  }

  static std::vector<Level> levels_in(std::string_view text) {
    std::vector<Level> levels;
    while (takes(text, ' ')) {
    }
    while (!text.empty()) {
      levels.push_back(level_at(text));
      while (takes(text, ' ')) {
      }
    }
    require(!levels.empty() && levels.size() <= 16, HOPBYTES_BAD_MACHINE);
    int64_t usual = 1;
    for (size_t i = levels.size(); i-- > 0; usual *= 10)
      if (levels[i].distance < 0) levels[i].distance = usual;
    return levels;
  }

  std::vector<uint64_t> label_{0};  // of every PE: its path from the root
  std::array<int64_t, 65> bit_cost_{};
};

}  // namespace hopbytes
