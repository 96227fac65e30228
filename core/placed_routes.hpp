// Routes between places: a form of routes.hpp, the endpoint of every place, and what a flow puts on a link.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "link_loads.hpp"

namespace hopbytes {

// One link of a route with the share of the flow it carries.
struct Step {
  int32_t link;
  int32_t part, parts;
};

// Searches look at routes through this one type, whatever their form, and so are compiled once. Not for
// several threads at a time: routes are written into a buffer.
class PlacedRoutes {
 public:
  explicit PlacedRoutes(int32_t shift) : shift_(shift) {}
  virtual ~PlacedRoutes() = default;

  // visit(link, amount) along the way from a to b. Amounts are volume x share x 2^shift, rounded per flow
  // and link, so that taking a flow away removes exactly what it brought.
  template <class Visit> void walk(int32_t a, int32_t b, int64_t volume, Visit&& visit) const {
    row_.clear();
    fill(a, b, row_);
    for (const Step& step : row_) visit(step.link, amount(volume, step));
  }
  template <class Visit> void links(int32_t a, int32_t b, Visit&& visit) const {
    row_.clear();
    fill(a, b, row_);
    for (const Step& step : row_) visit(step);
  }
  int64_t amount(int64_t volume, const Step& step) const { return share_of(volume, step.part, step.parts, shift_); }

 protected:
  virtual void fill(int32_t a, int32_t b, std::vector<Step>& row) const = 0;

 private:
  int32_t shift_;
  mutable std::vector<Step> row_;
};

template <class Form> class RoutesOfForm final : public PlacedRoutes {
 public:
  RoutesOfForm(Form form, std::span<const int32_t> endpoint, int32_t shift)
      : PlacedRoutes(shift), form_(std::move(form)), endpoint_(endpoint) {}

 protected:
  void fill(int32_t a, int32_t b, std::vector<Step>& row) const override {
    if (endpoint_[a] == endpoint_[b]) return;
    form_.walk(endpoint_[a], endpoint_[b], [&](int64_t link, int64_t part, int64_t parts) {
      row.push_back({static_cast<int32_t>(link), static_cast<int32_t>(part), static_cast<int32_t>(parts)});
    });
  }

 private:
  Form form_;
  std::span<const int32_t> endpoint_;
};

}  // namespace hopbytes
