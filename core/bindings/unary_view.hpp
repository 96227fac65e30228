// Linear assignment costs as Python passes them.
#pragma once
#include <memory>
#include <span>

#include "unary.hpp"

namespace hopbytes {

// Returns null if `start` is empty.
inline std::shared_ptr<const Unary> read_unary(std::span<const int64_t> start, std::span<const int32_t> block,
                                               std::span<const int64_t> cost, std::span<const int64_t> rest) {
  if (start.empty()) return nullptr;
  auto unary = std::make_shared<Unary>();
  unary->start.assign(start.begin(), start.end());
  unary->block.assign(block.begin(), block.end());
  unary->cost.assign(cost.begin(), cost.end());
  unary->rest.assign(rest.begin(), rest.end());
  unary->find_kinds();
  return unary;
}

}  // namespace hopbytes
