// Linear assignment costs as Python passes them.
#pragma once
#include <memory>
#include <span>

#include "checked.hpp"
#include "graph/linear_cost.hpp"

namespace hopbytes {

// Returns null if `start` is empty.
inline std::shared_ptr<const LinearCost> read_linear_cost(std::span<const int64_t> start,
                                                          std::span<const int32_t> block,
                                                          std::span<const int64_t> cost,
                                                          std::span<const int64_t> rest) {
  if (start.empty()) return nullptr;
  expect_offsets(start, block.size(), "linear costs");
  expect(cost.size() == block.size() && rest.size() + 1 == start.size(), "linear costs");
  auto linear_cost = std::make_shared<LinearCost>();
  linear_cost->start.assign(start.begin(), start.end());
  linear_cost->block.assign(block.begin(), block.end());
  linear_cost->cost.assign(cost.begin(), cost.end());
  linear_cost->rest.assign(rest.begin(), rest.end());
  linear_cost->find_kinds();
  return linear_cost;
}

}  // namespace hopbytes
