// Binds group.hpp and best_swap.hpp.
#include "assignment/best_swap.hpp"
#include "grouping/group.hpp"
#include "search_arguments.hpp"
#include "util/team.hpp"

using namespace hopbytes;

void bind_group(nb::module_& m) {
  define(
      m, "group_objects",
      [](const Csr& graph, int64_t arity, int64_t list_up_to, int64_t credit, Out<int32_t> group,
         int32_t threads) {
        expect_graph(graph);
        expect(std::ssize(group) == graph.n() && arity > 0 && (arity >= graph.n() || graph.n() % arity == 0),
               "groups");
        return static_cast<int>(group_objects(graph, arity, list_up_to, credit, group, TeamOfCall(threads)));
      });
  define(m, "best_swap",
         [](const Csr& graph, In<int64_t> table, int64_t k, Out<int32_t> pe, int64_t most, Control control) {
           expect_graph(graph);
           expect_placement(pe, graph.n(), k);
           expect(std::ssize(table) == k * k, "distances");
           return BestSwap(graph, table, k, pe, control).run(most);
         });
}
