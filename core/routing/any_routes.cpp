#include "routing/any_routes.hpp"

#include <algorithm>
#include <array>

#include "routing/grid_routes.hpp"
#include "routing/hierarchy_routes.hpp"
#include "routing/table_routes.hpp"
#include "util/assert.hpp"

namespace hopbytes {

namespace {

template <class Form> class RoutesOfForm final : public AnyRoutes {
 public:
  explicit RoutesOfForm(const RouteArrays& arrays) : form_(arrays) {}

  int64_t endpoints() const override { return form_.endpoints(); }
  int64_t sources() const override {
    if constexpr (requires { form_.sources(); }) return form_.sources();
    else return form_.endpoints();
  }
  bool single_path() const override { return form_.single_path(); }
  int64_t hops(int64_t source, int64_t target) const override { return form_.hops(source, target); }
  bool list(int64_t source, int64_t target, std::vector<Step>& steps) const override {
    return form_.walk(source, target, [&](int64_t link, int64_t part, int64_t parts) {
      steps.push_back({static_cast<int32_t>(link), part, parts});
    });
  }
  bool add(int64_t source, int64_t target, int64_t flow, int32_t shift, Out<int64_t> amount) const override {
    return form_.walk(source, target, [&](int64_t link, int64_t part, int64_t parts) {
      HOPBYTES_CHECK(link >= 0 && link < std::ssize(amount));
      amount[link] += share_of(flow, part, parts, shift);
    });
  }

 private:
  Form form_;
};

template <class Form> std::unique_ptr<AnyRoutes> routes_of(const RouteArrays& arrays) {
  return std::make_unique<RoutesOfForm<Form>>(arrays);
}

// Calls visit(arc, from, to) for the arcs whose ends are at different endpoints.
template <class Visit> void each_flow(const Csr& g, In<int32_t> endpoint, Visit visit) {
  for (int64_t i = 0; i < g.n(); ++i)
    for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e)
      if (const int32_t from = endpoint[i], to = endpoint[g.target[e]]; from != to) visit(e, from, to);
}

}  // namespace

std::unique_ptr<AnyRoutes> any_routes(const RouteArrays& arrays) {
  // In the order of FORMS in kernels/routes.py.
  static constexpr std::array forms{
      routes_of<GridRoutes>,   routes_of<ForwardingRoutes>, routes_of<ListedRoutes>, routes_of<FatTreeRoutes>,
      routes_of<HyperXRoutes>, routes_of<DragonflyRoutes>,  routes_of<SpreadRoutes>};
  return forms.at(arrays.form)(arrays);
}

void count_visits(const AnyRoutes& routes, In<int32_t> source, In<int32_t> target, Out<int64_t> start) {
  std::vector<Step> steps;
  start[0] = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    steps.clear();
    routes.list(source[i], target[i], steps);
    start[i + 1] = start[i] + std::ssize(steps);
  }
}

void list_visits(const AnyRoutes& routes, In<int32_t> source, In<int32_t> target, In<int64_t> start,
                 Out<int64_t> link, Out<int64_t> numerator, Out<int64_t> denominator) {
  std::vector<Step> steps;
  for (size_t i = 0; i < source.size(); ++i) {
    steps.clear();
    routes.list(source[i], target[i], steps);
    int64_t place = start[i];
    for (const Step& step : steps) {
      link[place] = step.link, numerator[place] = step.part, denominator[place] = step.parts;
      ++place;
    }
  }
}

int64_t hop_table(const AnyRoutes& routes, In<int32_t> endpoint, Out<uint16_t> hops) {
  int64_t unrouted = 0;
  size_t place = 0;
  for (int32_t a : endpoint)
    for (int32_t b : endpoint) {
      const int64_t found = routes.hops(a, b);
      unrouted += found < 0;
      hops[place++] = found < 0 || found > 65535 ? 65535 : static_cast<uint16_t>(found);
    }
  return unrouted;
}

int64_t add_arcs(const AnyRoutes& routes, const Csr& g, In<int32_t> endpoint, int32_t shift,
                 Out<int64_t> amount) {
  int64_t unrouted = -1;
  each_flow(g, endpoint, [&](int64_t e, int32_t from, int32_t to) {
    if (!routes.add(from, to, g.w(e), shift, amount) && unrouted < 0) unrouted = e;
  });
  return unrouted;
}

void mark_arcs_over(const AnyRoutes& routes, const Csr& g, In<int32_t> endpoint, int64_t link,
                    Out<uint8_t> marked) {
  std::vector<Step> steps;
  std::fill(marked.begin(), marked.end(), uint8_t{0});
  each_flow(g, endpoint, [&](int64_t e, int32_t from, int32_t to) {
    steps.clear();
    routes.list(from, to, steps);
    for (const Step& step : steps) marked[e] |= step.link == link;
  });
}

int64_t hop_histogram(const AnyRoutes& routes, const Csr& g, In<int32_t> endpoint, Out<int64_t> flows,
                      Out<int64_t> amounts) {
  int64_t left_out = 0;
  each_flow(g, endpoint, [&](int64_t e, int32_t from, int32_t to) {
    const int64_t hops = routes.hops(from, to);
    if (hops < 0 || hops >= std::ssize(flows)) ++left_out;
    else ++flows[hops], amounts[hops] += g.w(e);
  });
  return left_out;
}

}  // namespace hopbytes
