// Routes through a network as data: what all forms share. Every form (grid_routes.hpp, table_routes.hpp,
// hierarchy_routes.hpp) is a struct with endpoints(), single_path() and hops() as in AnyRoutes, and
//   bool walk(source, target, visit)   calls visit(link, numerator, denominator) for every link a flow takes;
//                                      returns false if there is no route.
// Sources and targets are endpoints (adapters). A flow on a single path uses every link with share 1/1. A
// flow that is spread over several paths may visit a link several times; the shares of links at equal depth
// sum to 1.
#pragma once
#include <memory>

#include "graph/csr.hpp"

namespace hopbytes {

// Shares of flows that split are multiples of 1 / kWholeFlow; later links take the remainders.
inline constexpr int64_t kWholeFlow = int64_t{1} << 40;

// Returns part number `turn` of `share` divided into `count` > turn parts that differ by at most one.
inline int64_t even_part(int64_t share, int64_t turn, int64_t count) {
  return share * (turn + 1) / count - share * turn / count;  // NOLINT(clang-analyzer-core.DivideZero)
}

// Routes as Python passes them. The contents of the arrays depend on the form and are described at each form.
struct RouteArrays {
  int64_t form = 0;  // its number in FORMS of kernels/routes.py
  In<int64_t> numbers;
  In<int32_t> table;
  In<int32_t> first;
  In<int32_t> head;
};

// One link of a route with the share of the flow it carries.
struct Step {
  int32_t link;
  int64_t part, parts;
};

// Routes whose form is known at run time only: what uses them is compiled once.
class AnyRoutes {
 public:
  virtual ~AnyRoutes() = default;
  virtual int64_t endpoints() const = 0;
  // Routes begin at numbers below this: at endpoints, or at any vertex if every one knows its next link.
  virtual int64_t sources() const = 0;
  // Whether every flow takes one path with its full volume.
  virtual bool single_path() const = 0;
  // Returns the number of links of a shortest route that the form offers, -1 if there is none.
  virtual int64_t hops(int64_t source, int64_t target) const = 0;
  // Appends the links that a flow takes. Returns false if there is no route.
  virtual bool list(int64_t source, int64_t target, std::vector<Step>& steps) const = 0;
  // Adds what a flow contributes to links, see share_of. Returns false if there is no route.
  virtual bool add(int64_t source, int64_t target, int64_t flow, int32_t shift,
                   Out<int64_t> amount) const = 0;
};

// Returns the routes that the arrays describe, which have to outlive them.
std::unique_ptr<AnyRoutes> any_routes(const RouteArrays& arrays);

// Returns what one flow of `amount` contributes to a link that carries numerator / denominator of it, in
// units of 2^-shift. The result is rounded half up and depends on this flow alone, so that removing the flow
// is exact. The denominator is positive.
inline int64_t share_of(int64_t amount, int64_t numerator, int64_t denominator, int32_t shift) {
  if (denominator == 1) return (amount * numerator) << shift;
  const __int128 scaled = static_cast<__int128>(amount) * numerator << (shift + 1);
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
  return static_cast<int64_t>((scaled + denominator) / (2 * denominator));
}

void route_hops(const AnyRoutes& routes, In<int32_t> source, In<int32_t> target, Out<int64_t> hops);

// Computes start: start[i + 1] - start[i] is the number of links that route i visits, 0 without a route.
void count_visits(const AnyRoutes& routes, In<int32_t> source, In<int32_t> target, Out<int64_t> start);

// Lists the links that the routes visit, from start[i] on, with the shares of the flow.
void list_visits(const AnyRoutes& routes, In<int32_t> source, In<int32_t> target, In<int64_t> start,
                 Out<int64_t> link, Out<int64_t> numerator, Out<int64_t> denominator);

// Computes the hops between all pairs of endpoints, 65535 for none or more. Returns the pairs without a
// route.
int64_t hop_table(const AnyRoutes& routes, In<int32_t> endpoint, Out<uint16_t> hops);

// Adds the flows of all arcs of a graph whose task i is at endpoint[i] to the amounts of the links. Arcs
// inside one endpoint use no link. Returns the first arc without a route, -1 if all have one; arcs without a
// route add nothing.
int64_t add_arcs(const AnyRoutes& routes, const Csr& g, In<int32_t> endpoint, int32_t shift,
                 Out<int64_t> amount);

void mark_arcs_over(const AnyRoutes& routes, const Csr& g, In<int32_t> endpoint, int64_t link,
                    Out<uint8_t> marked);

// Adds each arc between two endpoints to the entry of its number of hops: 1 in `flows`, its weight in
// `amounts`. Skips flows without a route and those longer than the arrays; returns their number.
int64_t hop_histogram(const AnyRoutes& routes, const Csr& g, In<int32_t> endpoint, Out<int64_t> flows,
                      Out<int64_t> amounts);

}  // namespace hopbytes
