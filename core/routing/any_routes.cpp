#include "routing/routes.hpp"

#include <array>

#include "graph/checked.hpp"
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

void expect_flows(const AnyRoutes& routes, In<int32_t> source, In<int32_t> target) {
  expect(source.size() == target.size(), "flows");
  expect_below(target, routes.endpoints(), "endpoints");
  expect_below(source, routes.sources(), "sources");
}

// Calls visit(arc, from, to) for the arcs whose ends are at different endpoints.
template <class Visit>
void each_flow(const AnyRoutes& routes, const Csr& g, In<int32_t> endpoint, Visit visit) {
  expect_rows(g, std::ssize(endpoint));
  expect_below(endpoint, routes.endpoints(), "endpoints");
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

void route_hops(const AnyRoutes& routes, In<int32_t> source, In<int32_t> target, Out<int64_t> hops) {
  expect_flows(routes, source, target);
  expect(hops.size() == source.size(), "flows");
  for (size_t i = 0; i < source.size(); ++i) hops[i] = routes.hops(source[i], target[i]);
}

void count_visits(const AnyRoutes& routes, In<int32_t> source, In<int32_t> target, Out<int64_t> start) {
  expect_flows(routes, source, target);
  expect(start.size() == source.size() + 1, "flows");
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
  expect_flows(routes, source, target);
  expect_offsets(start, link.size(), "routes");
  expect(start.size() == source.size() + 1 && numerator.size() == link.size() &&
             denominator.size() == link.size(),
         "routes");
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
  expect(hops.size() == endpoint.size() * endpoint.size(), "endpoints");
  expect_below(endpoint, routes.endpoints(), "endpoints");
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
  each_flow(routes, g, endpoint, [&](int64_t e, int32_t from, int32_t to) {
    if (!routes.add(from, to, g.w(e), shift, amount) && unrouted < 0) unrouted = e;
  });
  return unrouted;
}

void mark_arcs_over(const AnyRoutes& routes, const Csr& g, In<int32_t> endpoint, int64_t link,
                    Out<uint8_t> marked) {
  expect(marked.size() == g.target.size(), "marks of arcs");
  std::vector<Step> steps;
  std::fill(marked.begin(), marked.end(), uint8_t{0});
  each_flow(routes, g, endpoint, [&](int64_t e, int32_t from, int32_t to) {
    steps.clear();
    routes.list(from, to, steps);
    for (const Step& step : steps) marked[e] |= step.link == link;
  });
}

int64_t hop_histogram(const AnyRoutes& routes, const Csr& g, In<int32_t> endpoint, Out<int64_t> flows,
                      Out<int64_t> amounts) {
  expect(flows.size() == amounts.size(), "counts of hops");
  int64_t left_out = 0;
  each_flow(routes, g, endpoint, [&](int64_t e, int32_t from, int32_t to) {
    const int64_t hops = routes.hops(from, to);
    if (hops < 0 || hops >= std::ssize(flows)) ++left_out;
    else ++flows[hops], amounts[hops] += g.w(e);
  });
  return left_out;
}

}  // namespace hopbytes
