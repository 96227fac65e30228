// Binds group.hpp and best_swap.hpp.
#include "arrays.hpp"
#include "assignment/best_swap.hpp"
#include "grouping/group.hpp"
#include "released_lock.hpp"
#include "util/team_of_call.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;
using Release = nb::call_guard<ReleasedLock>;

void bind_group(nb::module_& m) {
  m.def(
      "group_objects",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weight, int64_t arity,
         int64_t list_up_to, int64_t credit, OutArray<int32_t> group, int32_t threads) {
        TeamOfCall team(threads);
        const Csr graph{in(indptr), in(target), in(weight)};
        return static_cast<int>(group_objects(graph, arity, list_up_to, credit, out(group), team));
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "arity"_a, "list_up_to"_a,
      "credit"_a, "group"_a.noconvert(), "threads"_a, Release());
  m.def(
      "best_swap",
      [](InArray<int64_t> indptr, InArray<int32_t> target, InArray<int64_t> weight, InArray<int64_t> table,
         int64_t k, OutArray<int32_t> pe, int64_t most, OutArray<int32_t> control) {
        const Control polled(control.data());
        return BestSwap({in(indptr), in(target), in(weight)}, in(table), k, out(pe), polled).run(most);
      },
      "indptr"_a.noconvert(), "targets"_a.noconvert(), "weights"_a.noconvert(), "table"_a.noconvert(), "k"_a,
      "pe"_a.noconvert(), "most"_a, "control"_a.noconvert(), Release());
}
