#include "graph/linear_cost.hpp"

#include <map>
#include <unordered_map>
#include <utility>

namespace hopbytes {

LinearCost LinearCost::fixed(std::span<const int32_t> block) {
  LinearCost costs;
  costs.start.push_back(0);
  for (const int32_t b : block) {
    if (b >= 0) costs.block.push_back(b), costs.cost.push_back(0);
    costs.start.push_back(std::ssize(costs.block));
    costs.rest.push_back(b >= 0 ? kForbidden : 0);
    costs.kind.push_back(b + 1);
  }
  return costs;
}

bool LinearCost::has_cheaper_block(int64_t v, int32_t own) const {
  const int64_t here = (*this)(v, own);
  for (int64_t e = start[v]; e < start[v + 1]; ++e)
    if (cost[e] < here) return true;
  return rest[v] < here;
}

void LinearCost::find_kinds() {
  std::map<std::pair<bool, std::vector<int32_t>>, int32_t> number;
  kind.assign(n(), 0);
  for (int64_t v = 0; v < n(); ++v) {
    const bool closed = rest[v] >= kForbidden;  // The listed blocks are then the only permitted ones.
    std::vector<int32_t> special;
    for (int64_t e = start[v]; e < start[v + 1]; ++e)
      if ((cost[e] >= kForbidden) != closed) special.push_back(block[e]);
    if (!closed && special.empty()) continue;
    kind[v] = number.try_emplace({closed, std::move(special)}, static_cast<int32_t>(number.size()) + 1)
                  .first->second;
  }
}

LinearCost LinearCost::of(std::span<const int32_t> members) const {
  LinearCost part;
  part.start.push_back(0);
  for (int32_t v : members) {
    part.block.insert(part.block.end(), block.begin() + start[v], block.begin() + start[v + 1]);
    part.cost.insert(part.cost.end(), cost.begin() + start[v], cost.begin() + start[v + 1]);
    part.start.push_back(static_cast<int64_t>(part.block.size()));
    part.rest.push_back(rest[v]);
    part.kind.push_back(kind[v]);
  }
  return part;
}

LinearCost LinearCost::contracted(std::span<const int32_t> map, int64_t count) const {
  std::vector<std::vector<std::pair<int32_t, int64_t>>> row(count);
  LinearCost coarse;
  coarse.rest.assign(count, 0);
  coarse.kind.assign(count, 0);
  for (int64_t v = 0; v < n(); ++v) {
    const int32_t c = map[v];
    coarse.kind[c] = kind[v];
    const bool closed = rest[v] >= kForbidden;
    coarse.rest[c] = closed ? kForbidden : coarse.rest[c] + rest[v];
    for (int64_t e = start[v]; e < start[v + 1]; ++e) {
      if (closed && cost[e] >= kForbidden) continue;
      // Collects the difference to the sum of the unlisted costs; if unlisted blocks are forbidden, the
      // whole cost.
      row[c].push_back({block[e], cost[e] >= kForbidden ? kForbidden : closed ? cost[e] : cost[e] - rest[v]});
    }
  }
  coarse.start.push_back(0);
  for (int64_t c = 0; c < count; ++c) {
    std::sort(row[c].begin(), row[c].end());
    const int64_t base = coarse.rest[c] >= kForbidden ? 0 : coarse.rest[c];
    for (size_t i = 0; i < row[c].size();) {
      const int32_t b = row[c][i].first;
      int64_t sum = base;
      for (; i < row[c].size() && row[c][i].first == b; ++i)
        sum = sum >= kForbidden || row[c][i].second >= kForbidden ? kForbidden : sum + row[c][i].second;
      if (sum == coarse.rest[c]) continue;
      coarse.block.push_back(b);
      coarse.cost.push_back(sum);
    }
    coarse.start.push_back(static_cast<int64_t>(coarse.block.size()));
  }
  return coarse;
}

int64_t LinearCost::total(const int32_t* part, int64_t& forbidden) const {
  int64_t sum = 0;
  for (int64_t v = 0; v < n(); ++v) {
    const int64_t here = (*this)(v, part[v]);
    if (here >= kForbidden) ++forbidden;
    else sum += here;
  }
  return sum;
}

std::vector<int32_t> LinearCost::labels(const int32_t* label) const {
  std::unordered_map<uint64_t, int32_t> number;
  std::vector<int32_t> both(n());
  uint64_t previous = 0;
  for (int64_t v = 0; v < n(); ++v) {
    const uint64_t own = static_cast<uint64_t>(label ? label[v] : 0) << 32 | static_cast<uint32_t>(kind[v]);
    both[v] = v > 0 && own == previous
                  ? both[v - 1]
                  : number.try_emplace(own, static_cast<int32_t>(number.size())).first->second;
    previous = own;
  }
  return both;
}

}  // namespace hopbytes
