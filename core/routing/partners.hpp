// With which groups each group communicates.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "routing/flows.hpp"

namespace hopbytes {

class Partners {
 public:
  // What a group sends to another one and receives from it.
  struct Partner {
    int32_t group;
    int64_t out = 0, in = 0;
  };

  explicit Partners(const Flows& flows) : start_(flows.n() + 1, 0) {
    std::vector<int64_t> slot(flows.n(), -1);
    for (int32_t g = 0; g < flows.n(); ++g) {
      const int64_t first = start_[g];
      flows.at(g, [&](int64_t e) {
        const int32_t other = flows.other_end(e, g);
        if (slot[other] < first)
          slot[other] = static_cast<int64_t>(partner_.size()), partner_.push_back({other});
        (flows.source(e) == g ? partner_[slot[other]].out : partner_[slot[other]].in) += flows.volume(e);
      });
      start_[g + 1] = static_cast<int64_t>(partner_.size());
    }
  }

  std::span<const Partner> of(int32_t group) const {
    return {partner_.data() + start_[group], static_cast<size_t>(start_[group + 1] - start_[group])};
  }

 private:
  std::vector<int64_t> start_;
  std::vector<Partner> partner_;
};

}  // namespace hopbytes
