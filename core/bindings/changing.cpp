// Binds core/changing: a graph under change, and its mapping.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <bit>
#include <tuple>

#include "arrays.hpp"
#include "changing/batch_update.hpp"
#include "graph_view.hpp"
#include "released_lock.hpp"

using namespace hopbytes;
using nb::literals::operator""_a;
using Release = nb::call_guard<ReleasedLock>;

namespace {

// As Python groups the arrays of engine/changing.py and engine/changing.py.
using RowArrays = std::tuple<OutArray<int64_t>, OutArray<int32_t>, OutArray<int32_t>, OutArray<int32_t>,
                             OutArray<int32_t>, OutArray<int64_t>, OutArray<int64_t>>;
using TaskArrays = std::tuple<OutArray<int32_t>, OutArray<int32_t>, OutArray<int64_t>, OutArray<int32_t>,
                              OutArray<int32_t>, OutArray<int32_t>, OutArray<int64_t>>;
using PeArrays =
    std::tuple<OutArray<int32_t>, OutArray<int64_t>, OutArray<int64_t>, OutArray<int64_t>, OutArray<int64_t>,
               OutArray<int64_t>, OutArray<int64_t>, OutArray<uint8_t>, OutArray<int64_t>>;
using DistanceArrays = std::tuple<InArray<uint64_t>, InArray<int64_t>, InArray<int64_t>>;
using PairArrays = std::tuple<InArray<int32_t>, InArray<int32_t>, InArray<int64_t>, InArray<int64_t>>;
using ChangedArrays =
    std::tuple<InArray<int32_t>, InArray<int32_t>, InArray<int64_t>, InArray<int32_t>, InArray<int32_t>,
               InArray<int32_t>, InArray<int32_t>, InArray<int32_t>, bool>;

ArcRows rows_of(const RowArrays& arrays) {
  const auto& [start, count, room, target, mate, weight, pool] = arrays;
  if (count.size() != start.size() || room.size() != start.size() || mate.size() != target.size() ||
      weight.size() != target.size() || pool.size() < 40)
    throw nb::value_error("rows whose arrays do not fit together");
  return {out(start), out(count), out(room), out(target), out(mate), out(weight), out(pool)};
}

PlacementArrays state_of(const TaskArrays& tasks, const PeArrays& pes) {
  const auto& [pe, home, load, next, previous, outer, mark] = tasks;
  const auto& [first, held, pe_load, most, least, weight_to, cap, usable, counter] = pes;
  const size_t n = pe.size(), k = held.size();
  const bool fits = home.size() == n && load.size() == n && next.size() == n && previous.size() == n &&
                    outer.size() == n && mark.size() == n && first.size() == 2 * k && pe_load.size() == k &&
                    most.size() == 2 * std::bit_ceil(k) && least.size() == most.size() &&
                    weight_to.size() == k && cap.size() == k && usable.size() == k &&
                    counter.size() == kPlacementCounters;
  if (!fits) throw nb::value_error("a state whose arrays do not fit together");
  return {out(pe),        out(home),  out(load),   out(next),    out(previous), out(outer),
          out(mark),      out(first), out(held),   out(pe_load), out(most),     out(least),
          out(weight_to), out(cap),   out(usable), out(counter)};
}

LocalSettings settings_of(InArray<int64_t> given) {
  if (given.size() != 7) throw nb::value_error("settings of the wrong length");
  return {given.data()[0], given.data()[1], given.data()[2], given.data()[3],
          given.data()[4], given.data()[5], given.data()[6]};
}

using Moves = std::tuple<bool, bool, int64_t, std::vector<int32_t>, std::vector<int32_t>>;

}  // namespace

void bind_changing(nb::module_& m) {
  m.def(
      "changing_pairs",
      [](const RowArrays& rows, InArray<int32_t> u, InArray<int32_t> v, InArray<int64_t> w,
         OutArray<int64_t> old, int64_t begin) {
        if (v.size() != u.size() || w.size() != u.size() || old.size() != u.size() || begin < 0)
          throw nb::value_error("pairs whose arrays do not fit together");
        return set_pairs(rows_of(rows), in(u), in(v), in(w), out(old), begin);
      },
      "rows"_a, "u"_a.noconvert(), "v"_a.noconvert(), "w"_a.noconvert(), "old"_a.noconvert(), "begin"_a,
      Release());
  m.def(
      "changing_update",
      [](const RowArrays& rows, const TaskArrays& tasks, const PeArrays& pes, const DistanceArrays& distances,
         InArray<int64_t> settings, const PairArrays& pairs, const ChangedArrays& changed) {
        const auto& [label, bit_cost, table] = distances;
        const auto& [u, v, old, now] = pairs;
        const auto& [vanished, loaded, load, arrived, lost, restored, sent, sent_to, caps_changed] = changed;
        const Changes changes{in(u),      in(v),       in(old),     in(now),  in(vanished),
                              in(loaded), in(load),    in(arrived), in(lost), in(restored),
                              in(sent),   in(sent_to), caps_changed};
        const PlacementArrays state = state_of(tasks, pes);
        const size_t k = state.held.size();
        const AnyDistance distance = any_distance(in(label), in(bit_cost), in(table), k);
        BatchUpdate update(rows_of(rows), state, distance, settings_of(settings));
        Moves result;
        auto& [met, agrees, forced, moved, from] = result;
        met = update.run(changes, forced);
        agrees = update.agrees(changes);
        update.report(moved, from);
        update.settle(changes);
        return result;
      },
      "rows"_a, "tasks"_a, "pes"_a, "distances"_a, "settings"_a.noconvert(), "pairs"_a, "changed"_a,
      Release());
}
